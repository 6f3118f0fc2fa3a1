// tern-test: transports

/* Maps in files: what one number of ranks has saved, another loads; files that are damaged are
 * refused, and a save or a load that fails leaves what was there. */

#include <sys/resource.h>
#include <unistd.h>

#include "file_tools.h"
#include "map_tools.h"

enum {
    GIANT = 255,
    GIANT_BYTES = 700000
}; /* a number whose value has more bytes than two sections */

static unsigned char key[MAP_KEY_ROOM], value[GIANT_BYTES];
typedef struct content {
    uint64_t keys; /* the first numbers */
    bool giant;    /* and GIANT */
    uint64_t version;
} content;

static size_t make_any_value(uint64_t number, uint64_t version) {
    if (number != GIANT)
        return make_map_value(value, number, version);
    fill_bytes(value, sizeof value, version);
    return sizeof value;
}

static void insert_one(fixture *f, tern_map *map, uint64_t number, uint64_t version) {
    const size_t key_bytes = make_map_key(key, number), bytes = make_any_value(number, version);
    EXPECT_OK(tern_map_insert(f->worker, map, key, key_bytes, value, bytes,
                              TERN_WRITE_ONLY | fixture_path(number), NULL));
}

/* Collective: a map with the content, whose keys all ranks insert in turn. */
static tern_map *make(fixture *f, const content *c) {
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f->worker, &(tern_map_options){.capacity = c->keys + 1}, &map));
    for (uint64_t k = f->rank; k < c->keys; k += f->size)
        insert_one(f, map, k, c->version);
    if (c->giant && f->rank == 0)
        insert_one(f, map, GIANT, c->version);
    EXPECT_OK(tern_barrier(f->worker));
    return map;
}

typedef struct audit {
    const content *c;
    uint64_t keys, wrong, key_bytes, value_bytes;
} audit;

static uint64_t number_of(const tern_map_item *item) {
    return item->key_bytes == 0 ? 0 : *(const unsigned char *)item->key;
}

static int audit_one(const tern_map_item *item, void *argument) {
    audit *a = argument;
    const uint64_t number = number_of(item);
    const size_t key_bytes = make_map_key(key, number);
    const size_t bytes = make_any_value(number, a->c->version);
    a->wrong += !(number < a->c->keys || (a->c->giant && number == GIANT)) ||
                item->key_bytes != key_bytes || memcmp(item->key, key, key_bytes) != 0 ||
                item->value_bytes != bytes || memcmp(item->value, value, bytes) != 0;
    a->keys++;
    a->key_bytes += item->key_bytes;
    a->value_bytes += item->value_bytes;
    return 0;
}

/* Collective: the map has this content and nothing else, and file says so. Destroys it. */
static void expect_content(fixture *f, tern_map *map, const content *c, const tern_map_file *file) {
    audit mine = {.c = c};
    uint64_t size = 77, sums[2];
    EXPECT_OK(tern_map_for_each(f->worker, map, audit_one, &mine));
    CU_ASSERT_EQUAL(mine.wrong, 0);
    EXPECT_OK(tern_map_size(f->worker, map, &size));
    CU_ASSERT_EQUAL(size, c->keys + c->giant);
    if (file != NULL) {
        MPI_Allreduce(&mine.key_bytes, sums, 2, MPI_UINT64_T, MPI_SUM, f->comm);
        CU_ASSERT(file->keys == size && file->key_bytes == sums[0] && file->value_bytes == sums[1]);
        CU_ASSERT(file->note_bytes == 4 && memcmp(file->note, "note", 5) == 0);
    }
    EXPECT_OK(tern_map_destroy(f->worker, map));
}

/* Collective over the first ranks: save or load. */
static void on_some_ranks(uint32_t ranks, const content *c, const tern_map_options *options) {
    MPI_Comm some;
    fixture f;
    MPI_Comm_split(MPI_COMM_WORLD, (uint32_t)tern_test_rank() < ranks ? 0 : MPI_UNDEFINED, 0,
                   &some);
    if (some != MPI_COMM_NULL) {
        if (fixture_open_on(&f, some, NULL)) {
            tern_map *map = NULL;
            tern_map_file file, seen;
            if (options == NULL) {
                map = make(&f, c);
                EXPECT_OK(tern_map_save(f.worker, map, path, "note", 4));
                expect_content(&f, map, c, NULL);
            } else if (EXPECT_OK(tern_map_load(f.worker, path, options, &file, &map))) {
                EXPECT_OK(tern_map_file_read(path, &seen));
                CU_ASSERT_EQUAL(memcmp(&seen, &file, sizeof seen), 0);
                expect_content(&f, map, c, &file);
            }
            fixture_close(&f);
        }
        MPI_Comm_free(&some);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* No section, one and many; values that lie in several sections, and ranks in whose sections no
 * item begins. */
static void any_ranks_to_any_other(void) {
    static const content contents[] = {
        {60, true, 1}, {0, false, 2}, {1, false, 3}, {100, false, 4}, {0, true, 5}};
    const uint32_t size = (uint32_t)tern_test_size();
    uint64_t random = tern_test_seed();
    make_folder();
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i += 1 + below(&random, 2)) {
        const tern_map_options options = {.inline_bytes = below(&random, TERN_MAP_INLINE_MAX + 1),
                                          .capacity = below(&random, 1000),
                                          .grow = (int)below(&random, 2)};
        on_some_ranks(1 + (uint32_t)below(&random, size), &contents[i], NULL);
        on_some_ranks(1 + (uint32_t)below(&random, size), &contents[i], &options);
    }
    remove_folder();
}

/* Rank 0 alone: a file in which any byte is another one, is missing, or is too much. No call
 * changes its outputs, and no map is left. */
static void expect_refused(fixture *f, tern_status wanted, bool by_read) {
    tern_map *map = NULL;
    tern_map_file file = {.keys = 12345};
    if (by_read) {
        EXPECT(wanted, tern_map_file_read(path, &file));
        EXPECT_DETAIL(path);
    }
    const tern_status status = tern_map_load(f->worker, path, NULL, &file, &map);
    EXPECT_DETAIL(path);
    CU_ASSERT(status == wanted || (!by_read && status == TERN_ERR_UNSUPPORTED));
    CU_ASSERT_PTR_NULL(map);
    CU_ASSERT_EQUAL(file.keys, 12345);
}

static void refuse_damage(fixture *f) {
    static char bytes[8192];
    const content c = {4, false, 1};
    tern_map *map = make(f, &c);
    uint64_t random = tern_test_seed() + (uint64_t)tern_test_size();
    EXPECT_OK(tern_map_save(f->worker, map, path, "note", 4));
    EXPECT_OK(tern_map_destroy(f->worker, map));
    const size_t count = file_slurp(path, bytes, sizeof bytes), before = heap_in_use(f);
    CU_ASSERT(count > 100 && count < sizeof bytes);
    for (int i = 0; i < 12; i++) {
        const size_t at = below(&random, count);
        const char was = bytes[at];
        bytes[at] = (char)(was ^ (char)(1 + below(&random, 255)));
        file_spill(path, bytes, count);
        expect_refused(f, TERN_ERR_ARGUMENT, false);
        bytes[at] = was;
        file_spill(path, bytes, below(&random, count));
        expect_refused(f, TERN_ERR_ARGUMENT, true);
    }
    bytes[count] = 0;
    file_spill(path, bytes, count + 1);
    expect_refused(f, TERN_ERR_ARGUMENT, true);
    file_spill(path, bytes, count);
    CU_ASSERT_EQUAL(heap_in_use(f), before);
    tern_map_file file;
    if (EXPECT_OK(tern_map_load(f->worker, path, NULL, &file, &map)))
        expect_content(f, map, &c, &file);
}

static void refuse_tables(fixture *f) {
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1};
    tern_hashtable *table = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_load(f->worker, path, NULL, NULL, &table));
    EXPECT_DETAIL("holds a map; load it with tern_map_load");
    CU_ASSERT_PTR_NULL(table);
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    EXPECT_OK(tern_hashtable_save(f->worker, table, path, NULL, 0));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    expect_refused(f, TERN_ERR_ARGUMENT, true);
    EXPECT_DETAIL("holds a hash table; load it with tern_hashtable_load");
    CU_ASSERT_EQUAL(unlink(path), 0);
    expect_refused(f, TERN_ERR_NOT_FOUND, true);
}

static void damage_is_refused(void) {
    fixture f;
    make_folder();
    if (tern_test_rank() == 0 && fixture_open_on(&f, MPI_COMM_SELF, NULL)) {
        refuse_damage(&f);
        refuse_tables(&f);
        fixture_close(&f);
    }
    remove_folder();
}

/* Collective: a call that fails on some rank fails on all; the file that was there is whole. */
static void failed_saves_change_nothing(void) {
    fixture f;
    make_folder();
    if (!fixture_open(&f, NULL))
        return;
    const content old = {20, false, 1}, new = {30, true, 2};
    tern_map *map = make(&f, &old), *larger = make(&f, &new), *got = NULL;
    EXPECT_OK(tern_map_save(f.worker, map, path, "note", 4));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    struct rlimit limit, unlimited;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = 200000;
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const tern_status full = tern_map_save(f.worker, larger, path, NULL, 0);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    CU_ASSERT_EQUAL(full, TERN_ERR_SYSTEM);
    EXPECT_DETAIL("RLIMIT_FSIZE is 200000");
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_save(f.worker, larger, "/proc/no/such/map", NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_save(f.worker, larger, folder, NULL, 0));
    EXPECT_DETAIL("directory");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_save(NULL, larger, path, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_save(f.worker, NULL, path, NULL, 0));
    EXPECT_DETAIL("tern_map_save: map is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_save(f.worker, larger, NULL, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_save(f.worker, larger, path, NULL, 1));
    EXPECT_DETAIL("note is NULL");
    if (f.size > 1)
        EXPECT(TERN_ERR_MISMATCH,
               tern_map_save(f.worker, larger, path, f.rank == 0 ? "a" : "b", 1));
    tern_map_file file;
    if (EXPECT_OK(tern_map_load(f.worker, path, NULL, &file, &got)))
        expect_content(&f, got, &old, &file);
    EXPECT_OK(tern_map_save(f.worker, larger, path, "note", 4));
    if (EXPECT_OK(tern_map_load(f.worker, path, NULL, &file, &got)))
        expect_content(&f, got, &new, &file);
    expect_content(&f, larger, &new, NULL);
    fixture_close(&f);
    remove_folder();
}

static uint64_t one_owner(const void *of, size_t bytes, void *argument) {
    (void)of;
    (void)bytes;
    (void)argument;
    return 0;
}

/* Collective: the map is full when rank 0 has to take the keys of all ranks. */
static void load_into_full(fixture *f) {
    enum { KEYS = 1200 };
    static uint64_t numbers[KEYS];
    static tern_map_item items[KEYS];
    const tern_map_options options = {.capacity = KEYS}, skewed = {.key_owner = one_owner};
    tern_map *map = NULL, *got = NULL;
    size_t count = 0;
    for (uint64_t i = f->rank; i < KEYS; i += f->size) {
        numbers[count] = i;
        items[count] = (tern_map_item){.key = &numbers[count], .key_bytes = 8};
        count++;
    }
    EXPECT_OK(tern_map_create(f->worker, &options, &map));
    EXPECT_OK(tern_map_insert_many(f->worker, map, items, count, TERN_WRITE_ONLY, NULL));
    EXPECT_OK(tern_map_save(f->worker, map, path, NULL, 0));
    EXPECT_OK(tern_map_destroy(f->worker, map));
    const size_t before = heap_at_first(f);
    EXPECT(TERN_ERR_FULL, tern_map_load(f->worker, path, &skewed, NULL, &got));
    CU_ASSERT_PTR_NULL(got);
    CU_ASSERT_EQUAL(heap_in_use(f), before);
}

/* Collective: every segment has room for the map's table, and none for the giant. */
static void load_into_small_segments(fixture *f) {
    enum { PIECE = 300000, MOST = 100 };
    const content c = {10, true, 1};
    tern_ptr pieces[MOST];
    size_t count = 0;
    tern_map *map = make(f, &c), *got = NULL;
    EXPECT_OK(tern_map_save(f->worker, map, path, "note", 4));
    EXPECT_OK(tern_map_destroy(f->worker, map));
    while (count < MOST &&
           tern_alloc(f->worker, PIECE, 0, TERN_DOMAIN_GLOBAL, &pieces[count]) == TERN_OK)
        count++;
    CU_ASSERT_FATAL(count > 0 && count < MOST);
    EXPECT_OK(tern_free(f->worker, pieces[--count]));
    const size_t before = heap_at_first(f);
    EXPECT(TERN_ERR_MEMORY, tern_map_load(f->worker, path, NULL, NULL, &got));
    CU_ASSERT_PTR_NULL(got);
    CU_ASSERT_EQUAL(heap_in_use(f), before);
    while (count > 0)
        EXPECT_OK(tern_free(f->worker, pieces[--count]));
    EXPECT_OK(tern_barrier(f->worker));
    if (EXPECT_OK(tern_map_load(f->worker, path, NULL, NULL, &got)))
        expect_content(f, got, &c, NULL);
}

static void failed_loads_leave_nothing(void) {
    fixture f;
    tern_map *got = NULL;
    make_folder();
    if (!fixture_open(&f, NULL))
        return;
    EXPECT(TERN_ERR_ARGUMENT, tern_map_load(NULL, path, NULL, NULL, &got));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_load(f.worker, NULL, NULL, NULL, &got));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_load(f.worker, path, NULL, NULL, NULL));
    EXPECT_DETAIL("tern_map_load: map is NULL");
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_load(f.worker, path, NULL, NULL, &got));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_file_read(path, NULL));
    EXPECT_DETAIL("tern_map_file_read");
    if (f.size > 2)
        load_into_full(&f);
    load_into_small_segments(&f);
    fixture_close(&f);
    remove_folder();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"any_ranks_to_any_other", any_ranks_to_any_other},
        {"damage_is_refused", damage_is_refused},
        {"failed_saves_change_nothing", failed_saves_change_nothing},
        {"failed_loads_leave_nothing", failed_loads_leave_nothing},
    };
    return tern_test_main(argc, argv, "map_file", tests, sizeof tests / sizeof *tests);
}
