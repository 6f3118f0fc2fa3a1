// tern-test: transports

/* Map: what hardly ever happens, brought about by hand: two keys with one fingerprint, a block that
 * was given back and used again, one that was written over, a bucket with a damaged bit. */

#include "map_tools.h"

#include "hashtable/table/bucket.h"
#include "map/op/message.h"

static const tern_flags paths[] = {TERN_BY_RMA, TERN_BY_CALL};
static unsigned char found[4096];

static tern_map *make(fixture *f) {
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f->worker, &(tern_map_options){.capacity = 1000}, &map));
    return map;
}

static void end(fixture *f, tern_map *map) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_map_destroy(f->worker, map));
    fixture_close(f);
}

static tern_map_key key_of(const tern_map *map, const uint64_t *number) {
    tern_map_key key;
    tern_map_key_make(map, number, 8, &key);
    return key;
}

static void put_descriptor(fixture *f, const tern_map *map, const tern_map_key *key,
                           const tern_map_descriptor *d) {
    EXPECT_OK(tern_hashtable_insert(f->worker, map->table, key->fingerprint, d->words, TERN_BY_RMA,
                                    NULL));
}

static tern_map_descriptor descriptor_of(fixture *f, const tern_map *map, const uint64_t *number) {
    tern_map_key key = key_of(map, number);
    tern_map_descriptor d;
    EXPECT_OK(tern_hashtable_find(f->worker, map->table, key.fingerprint, TERN_BY_RMA, d.words));
    return d;
}

/* A number of this rank's own whose owner is the next rank. */
static uint64_t number_of(const fixture *f, const tern_map *map, uint64_t start) {
    uint64_t number = ((uint64_t)f->rank << 32) + start;
    while (tern_map_owner(map, &number, 8) != (f->rank + 1) % f->size)
        number++;
    return number;
}

/* Another key lies under this one's fingerprint, small or large. */
static void fingerprints_meet(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = make(&f);
    size_t before = heap_at_first(&f);
    for (size_t value_bytes = 8; value_bytes <= 800; value_bytes += 792) {
        uint64_t number = number_of(&f, map, value_bytes), other = ~number, count = 0;
        tern_map_key key = key_of(map, &number), others = key_of(map, &other);
        tern_map_descriptor d;
        tern_map_descriptor_make(map, &others, found, value_bytes, &d);
        if (!tern_map_descriptor_is_small(map, d.words))
            EXPECT_OK(tern_block_make(f.worker, map, &others, found, value_bytes, &d));
        put_descriptor(&f, map, &key, &d);
        for (int p = 0; p < 2; p++) {
            const tern_flags path = paths[p];
            int existed = 77;
            EXPECT(TERN_ERR_NOT_FOUND,
                   tern_map_find(f.worker, map, &number, 8, path, found, sizeof found, NULL));
            EXPECT(TERN_ERR_NOT_FOUND, tern_map_erase(f.worker, map, &number, 8, path));
            EXPECT(TERN_ERR_EXISTS,
                   tern_map_insert(f.worker, map, &number, 8, found, 100, path, &existed));
            EXPECT_DETAIL("the same fingerprint");
            EXPECT(TERN_ERR_EXISTS,
                   tern_map_insert_new(f.worker, map, &number, 8, found, 100, path, &existed));
            EXPECT(TERN_ERR_EXISTS, tern_map_add(f.worker, map, &number, 8, 1, path, &count));
            EXPECT_DETAIL("the same fingerprint");
            EXPECT(TERN_ERR_NOT_FOUND,
                   tern_map_compare_swap(f.worker, map, &number, 8, 1, 2, path, &count));
            CU_ASSERT_EQUAL(existed, 77);
        }
        CU_ASSERT(memcmp(descriptor_of(&f, map, &number).words, d.words, 32) == 0);
        EXPECT_OK(tern_map_local_size(f.worker, map, &count));
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    end(&f, map);
}

/* Tag and check of a key do not tell it from another one: a find compares the keys. */
static void tags_meet_too(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = make(&f);
    uint64_t number = number_of(&f, map, 0), other = ~number;
    tern_map_key key = key_of(map, &number), others = key_of(map, &other);
    tern_map_descriptor d;
    tern_map_descriptor_make(map, &others, found, 800, &d);
    EXPECT_OK(tern_block_make(f.worker, map, &others, found, 800, &d));
    d.words[1] = key.seed << 32 | (uint32_t)d.words[1];
    put_descriptor(&f, map, &key, &d);
    for (int p = 0; p < 2; p++) {
        uint64_t before;
        EXPECT(TERN_ERR_NOT_FOUND,
               tern_map_find(f.worker, map, &number, 8, paths[p], found, sizeof found, NULL));
        EXPECT(TERN_ERR_EXISTS, tern_map_add(f.worker, map, &number, 8, 1, paths[p], &before));
        EXPECT(TERN_ERR_NOT_FOUND,
               tern_map_compare_swap(f.worker, map, &number, 8, 1, 2, paths[p], &before));
    }
    end(&f, map);
}

/* A descriptor whose block holds something else: a find that reads it asks again, and gives up if
 * nothing changes. */
static void memory_is_written_over(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = make(&f);
    uint64_t number = number_of(&f, map, 0), spoilt = 12345, right = 0;
    fill_bytes(found, 1000, number);
    EXPECT_OK(tern_map_insert(f.worker, map, &number, 8, found, 1000, TERN_BY_RMA, NULL));
    tern_map_descriptor d = descriptor_of(&f, map, &number);
    CU_ASSERT_EQUAL(tern_block_gaddr(d.words).rank, f.rank);
    uint64_t *word = tern_local(f.context, tern_ptr_add(tern_block_gaddr(d.words), 16));
    right = *word;
    *word = spoilt;
    size_t bytes = 77;
    EXPECT(TERN_ERR_CORRUPT,
           tern_map_find(f.worker, map, &number, 8, TERN_BY_RMA, found, sizeof found, &bytes));
    EXPECT_DETAIL("written over");
    CU_ASSERT_EQUAL(bytes, 77);
    tern_map_slot slot = {.key = &number, .key_bytes = 8, .value = found, .room = sizeof found};
    EXPECT(TERN_ERR_CORRUPT, tern_map_find_many(f.worker, map, &slot, 1, TERN_BY_CALL, NULL));
    EXPECT_DETAIL("written over");
    *word = right;
    EXPECT_OK(tern_map_find(f.worker, map, &number, 8, TERN_BY_CALL, found, sizeof found, &bytes));
    CU_ASSERT_EQUAL(bytes, 1000);
    end(&f, map);
}

/* A block that was read behind a descriptor that is not the key's any more. */
static void a_block_goes_to_another_key(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = make(&f);
    uint64_t first = number_of(&f, map, 0), second = number_of(&f, map, first + 1);
    tern_map_key key = key_of(map, &first);
    static unsigned char old[1000], new[1000];
    fill_bytes(old, sizeof old, first);
    fill_bytes(new, sizeof new, second);
    EXPECT_OK(tern_map_insert(f.worker, map, &first, 8, old, sizeof old, TERN_BY_RMA, NULL));
    tern_map_descriptor d = descriptor_of(&f, map, &first);
    tern_block_verdict verdict;
    EXPECT_OK(tern_block_read(f.worker, map, d.words, &key, found, &verdict));
    CU_ASSERT(verdict == TERN_BLOCK_MINE && memcmp(found, old, sizeof old) == 0);
    EXPECT_OK(tern_map_erase(f.worker, map, &first, 8, TERN_BY_RMA));
    EXPECT_OK(tern_map_insert(f.worker, map, &second, 8, new, sizeof new, TERN_BY_RMA, NULL));
    tern_map_descriptor now = descriptor_of(&f, map, &second);
    if (!tern_ptr_equal(tern_block_gaddr(d.words), tern_block_gaddr(now.words))) {
        tern_test_skip("the heap did not give the same block again");
        end(&f, map);
        return;
    }
    EXPECT_OK(tern_block_read(f.worker, map, d.words, &key, found, &verdict));
    CU_ASSERT_EQUAL(verdict, TERN_BLOCK_STALE);
    /* The old bytes in the old place are what the descriptor spoke of: it does not matter which
     * rank put them there. */
    EXPECT_OK(tern_map_erase(f.worker, map, &second, 8, TERN_BY_RMA));
    EXPECT_OK(tern_map_insert(f.worker, map, &first, 8, old, sizeof old, TERN_BY_RMA, NULL));
    EXPECT_OK(tern_block_read(f.worker, map, d.words, &key, found, &verdict));
    CU_ASSERT_EQUAL(verdict, TERN_BLOCK_MINE);
    end(&f, map);
}

/* A message of a wrong rank may name a table of the program's. */
static void a_table_is_no_map(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = make(&f);
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 10};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    tern_table_head head = tern_table_head_to(map->table);
    CU_ASSERT_PTR_EQUAL(tern_map_of_call(f.worker, &head, sizeof head, sizeof head), map);
    head = tern_table_head_to(table);
    CU_ASSERT_PTR_NULL(tern_map_of_call(f.worker, &head, sizeof head, sizeof head));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    end(&f, map);
}

/* One damaged bit in a bucket: the state says that the key is erased, and the entry that it is not,
 * or the other way round. An operation that changes the value has to say so, and not to try again
 * for ever. */

static tern_status leave_it(tern_map_modify_info *info) {
    memset(info->value, 1, info->value_bytes);
    return TERN_OK;
}
TERN_MAP_MODIFIER(leave_it)

/* Where the state of the key's bucket lies, in a map in which nothing else is. */
static tern_ptr state_of(const tern_map *map, uint64_t number) {
    tern_map_key key;
    tern_map_key_make(map, &number, sizeof number, &key);
    const tern_hashtable *table = map->table;
    const uint64_t index = tern_hash_bucket(table, key.hash);
    return tern_ptr_add(table->part[tern_hash_owner(table, key.hash)].buckets,
                        (int64_t)(index * table->shape.stride));
}

static void expect_corrupt(tern_status status, const char *what) {
    char bucket[64];
    snprintf(bucket, sizeof bucket, "rank %d's part of a hash table", 0);
    if (status != TERN_ERR_CORRUPT)
        fprintf(stderr, "map_mend: %s gave '%s'\n", what, tern_strerror(status));
    CU_ASSERT_EQUAL(status, TERN_ERR_CORRUPT);
    EXPECT_DETAIL(bucket);
    EXPECT_DETAIL("bucket ");
}

/* What needs the value. erased: what the entry says. */
static void change(fixture *f, tern_map *map, uint64_t number, tern_flags path, bool erased) {
    tern_worker *w = f->worker;
    uint64_t before = 0;
    tern_request request = {0};
    expect_corrupt(tern_map_add(w, map, &number, 8, 1, path, &before), "tern_map_add");
    expect_corrupt(tern_map_modify(w, map, &number, 8, &leave_it_modifier,
                                   &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, path,
                                   NULL),
                   "tern_map_modify");
    tern_status status = tern_map_add_start(w, map, &number, 8, 1, path, &request);
    if (status == TERN_OK)
        status = tern_wait(w, &request);
    expect_corrupt(status, "tern_map_add_start");
    if (!erased)
        expect_corrupt(tern_map_compare_swap(w, map, &number, 8, 5, 6, path, &before),
                       "tern_map_compare_swap");
    if (!erased)
        expect_corrupt(tern_map_modify(w, map, &number, 8, &leave_it_modifier, NULL, path, NULL),
                       "tern_map_modify of what is there");
}

/* Rank 1 damages rank 0's part. */
static void a_state_is_wrong(bool erased) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("another rank damages the bucket");
        return;
    }
    if (!fixture_enter(&f))
        return;
    tern_map *map = make(&f);
    uint64_t number = 0, other = 0, old;
    while (tern_map_owner(map, &number, sizeof number) != 0)
        number++;
    other = number + 1;
    while (tern_map_owner(map, &other, sizeof other) != 0)
        other++;
    EXPECT_OK(tern_barrier(f.worker));
    for (int p = 0; p < 2 && f.rank == 1; p++) {
        const tern_ptr state = state_of(map, number);
        uint64_t five = 5;
        EXPECT_OK(tern_map_insert(f.worker, map, &number, 8, &five, 8, paths[p], NULL));
        EXPECT_OK(tern_map_insert(f.worker, map, &number, 8, &five, 8, paths[p], NULL));
        if (erased)
            EXPECT_OK(tern_map_erase(f.worker, map, &number, 8, paths[p]));
        EXPECT_OK(tern_atomic_fetch_xor(f.worker, state, TERN_ERASED, &old));
        CU_ASSERT_EQUAL(old & TERN_KIND, TERN_TAKEN);
        CU_ASSERT_EQUAL((old & TERN_ERASED) != 0, erased);
        change(&f, map, number, paths[p], erased);
        /* Nothing stays at the head of the ring. */
        EXPECT_OK(tern_map_insert(f.worker, map, &other, 8, &five, 8, TERN_BY_CALL, NULL));
        EXPECT_OK(tern_atomic_fetch_xor(f.worker, state, TERN_ERASED, &old));
        EXPECT_OK(tern_map_add(f.worker, map, &number, 8, 1, paths[p], &old));
        CU_ASSERT_EQUAL(old, erased ? 0 : 5);
    }
    end(&f, map);
}

static void a_live_key_is_called_erased(void) { a_state_is_wrong(false); }
static void an_erased_key_is_called_live(void) { a_state_is_wrong(true); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"fingerprints_meet", fingerprints_meet},
        {"tags_meet_too", tags_meet_too},
        {"memory_is_written_over", memory_is_written_over},
        {"a_block_goes_to_another_key", a_block_goes_to_another_key},
        {"a_table_is_no_map", a_table_is_no_map},
        {"a_live_key_is_called_erased", a_live_key_is_called_erased},
        {"an_erased_key_is_called_live", an_erased_key_is_called_live},
    };
    return tern_test_main(argc, argv, "map_hidden", tests, sizeof tests / sizeof tests[0]);
}
