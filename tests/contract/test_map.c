// tern-test: transports

/* Map: keys and values of all sizes, every operation by RMA and by call. */

#include <sys/resource.h>

#include "map_tools.h"
#include "table_tools.h"

static unsigned char key[TERN_MAP_KEY_MAX + 1], value[MAP_VALUE_ROOM + 8],
    found[MAP_VALUE_ROOM + 8];

/* A promise excludes what it does, two of a kind exclude each other, and nothing is done. */
static void flags_are_checked(fixture *f, tern_map *map) {
    static const tern_flags wrong[] = {TERN_READ_ONLY, TERN_READ_ONLY | TERN_WRITE_ONLY,
                                       TERN_BY_RMA | TERN_BY_CALL, 1u << 20};
    tern_worker *w = f->worker;
    const tern_map_item item = {key, value, 8, 8};
    tern_map_slot slot = {.key = key, .key_bytes = 8, .value = found, .room = 8};
    tern_request request = {0};
    uint64_t before = 77, size = 77;
    size_t done = 77;
    int existed = 77;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const tern_flags flags = wrong[i];
        EXPECT(TERN_ERR_ARGUMENT, tern_map_insert(w, map, key, 8, value, 8, flags, &existed));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_new(w, map, key, 8, value, 8, flags, &existed));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_erase(w, map, key, 8, flags));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_add(w, map, key, 8, 1, flags, &before));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_compare_swap(w, map, key, 8, 0, 1, flags, &before));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, &item, 1, flags, &done));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_add_many(w, map, &item, 1, 1, flags, &done));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_start(w, map, key, 8, value, 8, flags, &request));
        EXPECT(TERN_ERR_ARGUMENT,
               tern_map_insert_new_start(w, map, key, 8, value, 8, flags, &request));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_add_start(w, map, key, 8, 1, flags, &request));
        const tern_flags reads = i == 0 ? TERN_WRITE_ONLY : flags;
        EXPECT(TERN_ERR_ARGUMENT, tern_map_find(w, map, key, 8, reads, found, 8, &done));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_find_many(w, map, &slot, 1, reads, &done));
        EXPECT(TERN_ERR_ARGUMENT, tern_map_find_start(w, map, key, 8, reads, found, 8, &request));
    }
    CU_ASSERT(existed == 77 && before == 77 && done == 77 && request.kind == NULL);
    EXPECT_OK(tern_map_local_size(w, map, &size));
    CU_ASSERT_EQUAL(size, 0);
}

/* A text of any room is cut, and ends with a zero byte; refusals write nothing. */
static void explanation_is_checked(fixture *f, tern_map *map) {
    char whole[2048], text[2048];
    size_t bytes = 0, same = 77;
    EXPECT_OK(tern_map_explain(f->worker, map, 0, whole, sizeof whole, &bytes));
    CU_ASSERT(bytes > 0 && bytes == strlen(whole) && strstr(whole, "insert") != NULL);
    memset(text, '?', sizeof text);
    EXPECT_OK(tern_map_explain(f->worker, map, 0, text, 5, NULL));
    CU_ASSERT(memcmp(text, whole, 4) == 0 && text[4] == 0 && text[5] == '?');
    EXPECT(TERN_ERR_ARGUMENT, tern_map_explain(f->worker, map, f->size, text, 9, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_explain(NULL, map, 0, text, 9, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_explain(f->worker, NULL, 0, text, 9, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_explain(f->worker, map, 0, NULL, 9, &same));
    CU_ASSERT(same == 77 && memcmp(text, whole, 4) == 0 && text[5] == '?');
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = NULL;
    tern_worker *w = f.worker;
    size_t bytes = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_map_create(NULL, &(tern_map_options){.capacity = 1}, &map));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_create(w, NULL, &map));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_create(w, &(tern_map_options){.capacity = 0}, &map));
    EXPECT_DETAIL("capacity is 0");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_create(w, &(tern_map_options){.capacity = 1, .inline_bytes = 961}, &map));
    EXPECT_DETAIL("inline_bytes is 961");
    EXPECT(TERN_ERR_MEMORY, tern_map_create(w, &(tern_map_options){.capacity = 1ul << 40}, &map));
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH,
               tern_map_create(w, &(tern_map_options){.capacity = 10 + f.rank}, &map));
    }
    CU_ASSERT_PTR_NULL(map);
    map = map_make(&f, (tern_map_options){.capacity = 10});
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert(w, NULL, key, 8, value, 8, TERN_BY_RMA, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert(NULL, map, key, 8, value, 8, TERN_BY_RMA, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert(w, map, NULL, 8, value, 8, TERN_BY_RMA, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert(w, map, key, 8, NULL, 8, TERN_BY_RMA, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_insert(w, map, key, 8, value, 8, TERN_READ_ONLY | TERN_BY_RMA, NULL));
    EXPECT_DETAIL("TERN_READ_ONLY");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_insert(w, map, key, 8, value, 8, TERN_WRITE_ONLY | TERN_READ_ONLY, NULL));
    EXPECT(TERN_ERR_RANGE,
           tern_map_insert(w, map, key, TERN_MAP_KEY_MAX + 1, value, 8, TERN_BY_RMA, NULL));
    EXPECT_DETAIL("65537");
    EXPECT(TERN_ERR_RANGE, tern_map_insert_new(w, map, key, 8, value, TERN_MAP_VALUE_MAX + 1ul,
                                               TERN_BY_CALL, NULL));
    EXPECT_DETAIL("1073741825");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_find(w, map, key, 8, TERN_WRITE_ONLY | TERN_BY_RMA, found, 8, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find(w, map, key, 8, TERN_BY_RMA, NULL, 8, &bytes));
    EXPECT(TERN_ERR_RANGE,
           tern_map_find(w, map, key, TERN_MAP_KEY_MAX + 1, TERN_BY_RMA, found, 8, &bytes));
    void *copy = key;
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_alloc(w, map, key, 8, TERN_BY_RMA, NULL, &bytes));
    EXPECT_DETAIL("value is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_alloc(w, map, key, 8, TERN_BY_RMA, &copy, NULL));
    EXPECT_DETAIL("value_bytes is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_alloc(w, map, key, 8, TERN_WRITE_ONLY, &copy, &bytes));
    EXPECT(TERN_ERR_RANGE,
           tern_map_find_alloc(w, map, key, TERN_MAP_KEY_MAX + 1, TERN_BY_RMA, &copy, &bytes));
    CU_ASSERT_PTR_EQUAL(copy, key);
    EXPECT(TERN_ERR_RANGE, tern_map_erase(w, map, key, TERN_MAP_KEY_MAX + 1, TERN_BY_RMA));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_erase(w, map, NULL, 1, TERN_BY_RMA));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_for_each(w, map, NULL, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_local_size(w, map, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_size(w, NULL, NULL));
    CU_ASSERT_EQUAL(bytes, 77);
    CU_ASSERT_EQUAL(tern_map_owner(NULL, key, 1), UINT32_MAX);
    CU_ASSERT_EQUAL(tern_map_owner(map, key, TERN_MAP_KEY_MAX + 1), UINT32_MAX);
    CU_ASSERT(tern_map_owner(map, NULL, 0) < f.size);
    explanation_is_checked(&f, map);
    flags_are_checked(&f, map);
    EXPECT_OK(tern_map_destroy(w, NULL));
    clear_and_expect_heap(&f, map, heap_in_use(&f));
    map_end(&f, map);
    fixture_close(&f);
}

/* The value that find_alloc gives is this one, in memory of its own. */
static void find_allocated(fixture *f, tern_map *map, size_t key_bytes, const void *wanted,
                           size_t wanted_bytes, tern_flags path) {
    void *copy = NULL;
    size_t bytes = 77;
    EXPECT_OK(tern_map_find_alloc(f->worker, map, key, key_bytes, path, &copy, &bytes));
    CU_ASSERT_PTR_NOT_NULL(copy);
    CU_ASSERT(bytes == wanted_bytes && copy != NULL && memcmp(copy, wanted, bytes) == 0);
    free(copy);
}

/* One key of one size with one value of another, through its whole life. */
static void one_life(fixture *f, tern_map *map, size_t key_bytes, size_t value_bytes,
                     tern_flags path) {
    tern_worker *w = f->worker;
    size_t bytes = 77;
    int existed = 77;
    fill_bytes(key, key_bytes, 1 + f->rank);
    fill_bytes(value, value_bytes, 2 + f->rank);
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_find(w, map, key, key_bytes, path, found, 8, &bytes));
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_erase(w, map, key, key_bytes, path));
    CU_ASSERT_EQUAL(bytes, 77);
    void *copy = key;
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_find_alloc(w, map, key, key_bytes, path, &copy, &bytes));
    CU_ASSERT(copy == key && bytes == 77);
    EXPECT_OK(tern_map_insert_new(w, map, key, key_bytes, value, value_bytes, path, &existed));
    CU_ASSERT_EQUAL(existed, 0);
    EXPECT_OK(tern_map_insert_new(w, map, key, key_bytes, "other", 5, path, &existed));
    CU_ASSERT_EQUAL(existed, 1);
    for (uint64_t p = 0; p < 3; p++) {
        const tern_flags path = fixture_path(p);
        memset(found, 0xee, sizeof found);
        EXPECT_OK(tern_map_find(w, map, key, key_bytes, path, found, value_bytes, &bytes));
        CU_ASSERT_EQUAL(bytes, value_bytes);
        CU_ASSERT(memcmp(found, value, value_bytes) == 0 && found[value_bytes] == 0xee);
        find_allocated(f, map, key_bytes, value, value_bytes, path);
        if (value_bytes > 0) {
            EXPECT(TERN_ERR_RANGE,
                   tern_map_find(w, map, key, key_bytes, path, found, value_bytes - 1, &bytes));
            EXPECT_DETAIL("there is room for");
            CU_ASSERT_EQUAL(bytes, value_bytes);
        }
    }
    EXPECT_OK(tern_map_insert(w, map, key, key_bytes, "other", 5, path, &existed));
    CU_ASSERT_EQUAL(existed, 1);
    EXPECT_OK(tern_map_find(w, map, key, key_bytes, path, found, 5, &bytes));
    CU_ASSERT(bytes == 5 && memcmp(found, "other", 5) == 0);
    EXPECT_OK(tern_map_erase(w, map, key, key_bytes, path));
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_find(w, map, key, key_bytes, path, NULL, 0, NULL));
    EXPECT_OK(tern_map_insert(w, map, key, key_bytes, value, value_bytes, path, &existed));
    CU_ASSERT_EQUAL(existed, 0);
    EXPECT_OK(tern_map_find(w, map, key, key_bytes, path, found, sizeof found, &bytes));
    CU_ASSERT(bytes == value_bytes && memcmp(found, value, value_bytes) == 0);
    EXPECT_OK(tern_map_erase(w, map, key, key_bytes, path));
}

/* Short keys of two ranks may be the same one: rank 0 alone has them. */
static void sizes_at_the_limits(void) {
    static const struct {
        size_t key, value;
    } sizes[] = {{0, 0},     {0, 24},  {0, 25},    {1, 0},     {8, 16},
                 {8, 17},    {24, 0},  {25, 0},    {60, 40},   {60, 41},
                 {512, 480}, {8, 983}, {65536, 0}, {65536, 9}, {8, 100 << 10}};
    fixture f;
    if (!fixture_enter(&f))
        return;
    const size_t most = fixture_all_direct(&f) ? 100 : 0;
    for (size_t inline_bytes = 0; inline_bytes <= most; inline_bytes += 100) {
        tern_map *map =
            map_make(&f, (tern_map_options){.capacity = 1000, .inline_bytes = inline_bytes});
        size_t before = heap_at_first(&f);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            tern_flags path = (i + inline_bytes / 100 + f.rank) % 2 ? TERN_BY_CALL : TERN_BY_RMA;
            if (f.rank == 0 || sizes[i].key >= 8)
                one_life(&f, map, sizes[i].key, sizes[i].value, path);
        }
        EXPECT_OK(tern_barrier(f.worker));
        clear_and_expect_heap(&f, map, before);
        map_end(&f, map);
    }
    fixture_close(&f);
}

enum { KEYS = 60 };

static size_t own_key(const fixture *f, uint64_t number) {
    size_t bytes = 12 + make_map_key(key + 12, number);
    memcpy(key, &number, 8);
    memcpy(key + 8, &f->rank, 4);
    return bytes;
}

static void find_own(fixture *f, tern_map *map, size_t key_bytes, uint64_t number, uint64_t version,
                     tern_flags flags) {
    size_t bytes = 0;
    tern_status status =
        tern_map_find(f->worker, map, key, key_bytes, flags, found, sizeof found, &bytes);
    EXPECT(version == 0 ? TERN_ERR_NOT_FOUND : TERN_OK, status);
    if (status == TERN_OK)
        CU_ASSERT(is_map_value(found, bytes, number, version));
    void *copy = NULL;
    EXPECT(status, tern_map_find_alloc(f->worker, map, key, key_bytes, flags, &copy, &bytes));
    if (status == TERN_OK)
        CU_ASSERT(copy != NULL && is_map_value(copy, bytes, number, version));
    free(copy);
}

/* Whatever is found was inserted, whole, and inserts and erases tell what was there before. */
static void everybody_replaces_and_finds(void) {
    enum { SHARED = 4 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = SHARED});
    size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 2), wrong = 0;
    int64_t lives[SHARED] = {0}, all[64][SHARED];
    for (int i = fixture_times(&f, 4000); i > 0; i--) {
        uint64_t number = 1 + below(&random, SHARED), what = below(&random, 8);
        size_t key_bytes = make_map_key(key, number), bytes = 0;
        tern_flags path = any_path(&random);
        int existed = 1;
        if (what < 4) {
            tern_status status =
                tern_map_find(f.worker, map, key, key_bytes, path, found, sizeof found, &bytes);
            wrong += status == TERN_OK ? !is_some_map_value(found, bytes, number)
                                       : status != TERN_ERR_NOT_FOUND;
        } else if (what < 7) {
            bytes = make_map_value(value, number, (uint64_t)i * 64 + f.rank);
            EXPECT_OK((what == 4 ? tern_map_insert_new : tern_map_insert)(
                f.worker, map, key, key_bytes, value, bytes, path, &existed));
            lives[number - 1] += !existed;
        } else {
            tern_status status = tern_map_erase(f.worker, map, key, key_bytes, path);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
            lives[number - 1] -= status == TERN_OK;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_share(&f, lives, sizeof lives, all);
    for (uint64_t k = 0; k < SHARED; k++) {
        int64_t sum = 0;
        for (uint32_t r = 0; r < f.size; r++)
            sum += all[r][k];
        size_t key_bytes = make_map_key(key, k + 1);
        EXPECT(
            sum == 1 ? TERN_OK : TERN_ERR_NOT_FOUND,
            tern_map_find(f.worker, map, key, key_bytes, TERN_BY_RMA, found, sizeof found, NULL));
        CU_ASSERT(sum == 0 || sum == 1);
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Half of the ranks replace a large value, whose blocks are used again at once, and half read it:
 * long copies in which much can happen. */
static void blocks_change_while_they_are_read(void) {
    enum { LARGE = 100 << 10 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1});
    size_t before = heap_at_first(&f), bytes = 0;
    uint64_t random = fixture_seed(&f, 3), wrong = 0;
    for (int i = fixture_times(&f, fixture_all_direct(&f) ? 4000 : 600); i > 0; i--) {
        tern_flags path = below(&random, 8) ? TERN_BY_RMA : TERN_BY_CALL;
        if (f.rank % 2 == 0) {
            memset(value, (int)(i * 4) + (int)f.rank, LARGE);
            EXPECT_OK(tern_map_insert(f.worker, map, "key", 3, value, LARGE, path, NULL));
            continue;
        }
        tern_status status =
            tern_map_find(f.worker, map, "key", 3, path, found, sizeof found, &bytes);
        if (status != TERN_ERR_NOT_FOUND)
            wrong +=
                status != TERN_OK || bytes != LARGE || memcmp(found, found + 1, LARGE - 1) != 0;
        if (i % 16 != 1)
            continue;
        void *copy = NULL;
        status = tern_map_find_alloc(f.worker, map, "key", 3, path, &copy, &bytes);
        if (status != TERN_ERR_NOT_FOUND)
            wrong += status != TERN_OK || bytes != LARGE ||
                     memcmp(copy, (char *)copy + 1, LARGE - 1) != 0;
        free(copy);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

#ifndef __SANITIZE_ADDRESS__
/* Takes what malloc can still give, and gives it back. */
static void *take_all_memory(void) {
    void *held = NULL;
    for (void **more; (more = malloc(1 << 20)) != NULL; held = more)
        *more = held;
    return held;
}

static void give_memory_back(void *held) {
    while (held != NULL) {
        void *next = *(void **)held;
        free(held);
        held = next;
    }
}

/* A process that may take no more memory cannot have a copy of a value. */
static void a_find_without_memory(void) {
    enum { HUGE = 4 << 20 };
    static unsigned char huge[HUGE];
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10});
    if (f.rank == 0) {
        void *copy = huge;
        size_t bytes = 77;
        uint64_t mine = 0;
        while (tern_map_owner(map, &mine, 8) != 0)
            mine++;
        struct rlimit usual;
        EXPECT_OK(tern_map_insert(f.worker, map, &mine, 8, huge, HUGE, TERN_BY_RMA, NULL));
        CU_ASSERT_EQUAL(getrlimit(RLIMIT_AS, &usual), 0);
        const struct rlimit none = {.rlim_cur = 1, .rlim_max = usual.rlim_max};
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &none), 0);
        void *held = take_all_memory();
        tern_status status =
            tern_map_find_alloc(f.worker, map, &mine, 8, TERN_BY_RMA, &copy, &bytes);
        give_memory_back(held);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &usual), 0);
        EXPECT(TERN_ERR_MEMORY, status);
        EXPECT_DETAIL("4194304 bytes");
        CU_ASSERT(copy == huge && bytes == 77);
        EXPECT_OK(tern_map_find_alloc(f.worker, map, &mine, 8, TERN_BY_RMA, &copy, &bytes));
        CU_ASSERT(bytes == HUGE && copy != huge);
        free(copy);
    }
    map_end(&f, map);
    fixture_close(&f);
}
#endif

/* By RMA it is the caller's segment that is full, by call the owner's. */
static void a_full_segment_changes_nothing(void) {
    fixture f;
    if (!map_open(&f, (size_t)1 << 20))
        return;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_map *map = map_make(&f, (tern_map_options){.capacity = 1000});
        size_t before = heap_at_first(&f), bytes = 0;
        uint64_t stored = 0, number = (uint64_t)f.rank << 32, count = 0;
        tern_status status = TERN_OK;
        memset(value, (int)f.rank, 20000);
        while (status == TERN_OK && stored < 1000) {
            number++;
            status = tern_map_insert(f.worker, map, &number, 8, value, 20000, path, NULL);
            stored += status == TERN_OK;
        }
        EXPECT(TERN_ERR_MEMORY, status);
        EXPECT_DETAIL("TERN_SEGMENT_SIZE");
        EXPECT(TERN_ERR_NOT_FOUND,
               tern_map_find(f.worker, map, &number, 8, path, found, sizeof found, NULL));
        /* Once nobody gives anything back, what is full stays so. */
        EXPECT_OK(tern_barrier(f.worker));
        uint64_t first = ((uint64_t)f.rank << 32) + 1;
        EXPECT_OK(tern_map_size(f.worker, map, &count));
        if (path == TERN_BY_RMA && stored > 0) {
            EXPECT(TERN_ERR_MEMORY,
                   tern_map_insert(f.worker, map, &first, 8, value, 20000, path, NULL));
            EXPECT_OK(tern_map_find(f.worker, map, &first, 8, path, found, sizeof found, &bytes));
            CU_ASSERT(bytes == 20000 && memcmp(found, value, bytes) == 0);
            EXPECT_OK(tern_map_erase(f.worker, map, &first, 8, path));
            EXPECT_OK(tern_map_insert(f.worker, map, &first, 8, value, 20000, path, NULL));
        }
        uint64_t all[64], total = 0, now = 0;
        fixture_share(&f, &stored, sizeof stored, all);
        for (uint32_t r = 0; r < f.size; r++)
            total += all[r];
        EXPECT_OK(tern_map_size(f.worker, map, &now));
        CU_ASSERT(count == total && now == total);
        clear_and_expect_heap(&f, map, before);
        map_end(&f, map);
    }
    fixture_close(&f);
}

static void a_map_by_call_only(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1000, .call_only = 1});
    size_t before = heap_at_first(&f);
    EXPECT(TERN_ERR_UNSUPPORTED,
           tern_map_insert(f.worker, map, key, 8, value, 8, TERN_BY_RMA, NULL));
    EXPECT_DETAIL("call_only");
    for (uint64_t number = 0; number < KEYS; number++) {
        size_t key_bytes = own_key(&f, number), bytes = make_map_value(value, number, 1);
        tern_flags path = number % 2 ? TERN_BY_CALL : TERN_AUTO;
        EXPECT_OK(tern_map_insert(f.worker, map, key, key_bytes, value, bytes, path, NULL));
        find_own(&f, map, key_bytes, number, 1, path);
        bytes = make_map_value(value, number, 2);
        EXPECT_OK(tern_map_insert(f.worker, map, key, key_bytes, value, bytes, path, NULL));
        find_own(&f, map, key_bytes, number, 2, path);
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Memory for a single ring into each rank: of several ranks that replace its blocks only one can
 * have the ring by which blocks are given back. */
static void blocks_go_home_without_a_ring(void) {
    enum { KEYS = 8, BYTES = 640 };
    tern_config config;
    fixture f;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.ring_size = config.ring_memory = 4096;
    if (!fixture_open(&f, &config))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1000});
    size_t before = heap_at_first(&f);
    for (uint64_t turn = 0; turn < f.size; turn++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            memset(found, (int)(turn + key), BYTES);
            if ((key + turn) % f.size == f.rank)
                EXPECT_OK(tern_map_insert(f.worker, map, &key, sizeof key, found, BYTES,
                                          TERN_BY_RMA, NULL));
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

static void archives_go_in_and_out(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 100ul * f.size});
    char name[32];
    double samples[500], *seen = NULL;
    const char *text = NULL;
    const void *archive = NULL;
    size_t bytes = 0, count = 0;
    tern_writer writer;
    tern_reader reader;
    uint64_t room[1024];
    snprintf(name, sizeof name, "station %u", f.rank);
    for (size_t i = 0; i < 500; i++)
        samples[i] = (double)i * f.rank;
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1 << 20));
    EXPECT_OK(tern_write_string(&writer, name));
    EXPECT_OK(TERN_WRITE(&writer, samples, 500));
    EXPECT_OK(tern_writer_finish(&writer, &archive, &bytes));
    EXPECT_OK(
        tern_map_insert(f.worker, map, name, strlen(name), archive, bytes, TERN_BY_RMA, NULL));
    tern_writer_close(&writer);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++) {
        snprintf(name, sizeof name, "station %u", r);
        EXPECT_OK(tern_map_find(f.worker, map, name, strlen(name), TERN_READ_ONLY, room,
                                sizeof room, &bytes));
        EXPECT_OK(tern_reader_open(&reader, room, bytes));
        EXPECT_OK(tern_read_string(&reader, &text, NULL));
        EXPECT_OK(TERN_READ_ARRAY(&reader, &seen, &count));
        EXPECT_OK(tern_reader_close(&reader));
        CU_ASSERT(strcmp(text, name) == 0 && count == 500 && seen[499] == 499.0 * r);
    }
    map_end(&f, map);
    fixture_close(&f);
}

/* The first key from number on whose owner is, or is not, this rank. */
static uint64_t number_owned(const fixture *f, const tern_map *map, uint64_t number, bool own) {
    while ((tern_map_owner(map, &number, 8) == f->rank) != own)
        number++;
    return number;
}

/* Nothing of a key that another rank owns is done with TERN_LOCAL. */
static void local_refuses_others(fixture *f, tern_map *map, tern_flags flags) {
    tern_worker *w = f->worker;
    const uint64_t other = number_owned(f, map, 1, false), seven = 7;
    const tern_map_item item = {&other, &seven, 8, 8};
    tern_map_slot slot = {.key = &other, .key_bytes = 8, .value = found, .room = 8};
    tern_request request = {0};
    uint64_t before = 77;
    size_t done = 77;
    int existed = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert(w, map, &other, 8, &seven, 8, flags, &existed));
    EXPECT_DETAIL("TERN_LOCAL");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_new(w, map, &other, 8, &seven, 8, flags, &existed));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_erase(w, map, &other, 8, flags));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_add(w, map, &other, 8, 1, flags, &before));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_compare_swap(w, map, &other, 8, 0, 1, flags, &before));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find(w, map, &other, 8, flags, found, 8, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_start(w, map, &other, 8, &seven, 8, flags, &request));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_add_start(w, map, &other, 8, 1, flags, &request));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_start(w, map, &other, 8, flags, found, 8, &request));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_many(w, map, &slot, 1, flags, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, &item, 1, flags, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_add_many(w, map, &item, 1, 1, flags, NULL));
    CU_ASSERT(existed == 77 && before == 77 && done == 77 && request.kind == NULL);
}

/* Each rank changes its own part alone, and behind the barrier all find what it has put there. */
static void each_rank_in_its_own_part(void) {
    enum { NUMBERS = 60 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_worker *w = f.worker;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1, .grow = 1});
    EXPECT_OK(tern_barrier(w));
    for (uint64_t i = 0, number = 0; i < NUMBERS; i++, number++) {
        const tern_flags flags = TERN_LOCAL | fixture_path(i);
        tern_request request = {0};
        uint64_t before = 77, count = 77;
        size_t bytes = 77;
        int existed = 77;
        number = number_owned(&f, map, number, true);
        EXPECT_OK(tern_map_insert(w, map, &number, 8, value, 2000, flags, &existed));
        CU_ASSERT_EQUAL(existed, 0);
        EXPECT_OK(tern_map_insert_start(w, map, &number, 8, &i, 8, flags, &request));
        EXPECT_OK(tern_wait(w, &request));
        const tern_map_item item = {&number, &i, 8, 8};
        EXPECT_OK(tern_map_add_many(w, map, &item, 1, 2, flags, NULL));
        EXPECT_OK(tern_map_add(w, map, &number, 8, 1, flags, &before));
        CU_ASSERT_EQUAL(before, i + 2);
        EXPECT_OK(tern_map_find(w, map, &number, 8, flags, &count, 8, &bytes));
        CU_ASSERT(count == i + 3 && bytes == 8);
        if (i % 4 == 0)
            EXPECT_OK(tern_map_erase(w, map, &number, 8, flags));
        if (f.size > 1)
            local_refuses_others(&f, map, flags);
    }
    EXPECT_OK(tern_barrier(w));
    uint64_t size = 0;
    EXPECT_OK(tern_map_size(w, map, &size));
    CU_ASSERT_EQUAL(size, (uint64_t)f.size * (NUMBERS - NUMBERS / 4));
    map_end(&f, map);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"sizes_at_the_limits", sizes_at_the_limits},
        {"everybody_replaces_and_finds", everybody_replaces_and_finds},
        {"blocks_change_while_they_are_read", blocks_change_while_they_are_read},
#ifndef __SANITIZE_ADDRESS__
        {"a_find_without_memory", a_find_without_memory},
#endif
        {"a_full_segment_changes_nothing", a_full_segment_changes_nothing},
        {"a_map_by_call_only", a_map_by_call_only},
        {"blocks_go_home_without_a_ring", blocks_go_home_without_a_ring},
        {"archives_go_in_and_out", archives_go_in_and_out},
        {"each_rank_in_its_own_part", each_rank_in_its_own_part},
    };
    return tern_test_main(argc, argv, "map", tests, sizeof tests / sizeof tests[0]);
}
