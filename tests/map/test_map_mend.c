// tern-test: transports least=2

/* One damaged bit in a bucket of a map: the state says that the key is erased, and the entry that
 * it is not, or the other way round. What changes the value has to say so, and not to try again for
 * ever. */

#include "map_tools.h"

#include "hashtable/bucket.h"
#include "map/map.h"
#include "tern/map_modify.h"

static const tern_flags ways[] = {TERN_BY_RMA, TERN_BY_CALL};

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
static void change(fixture *f, tern_map *map, uint64_t number, tern_flags via, bool erased) {
    tern_worker *w = f->worker;
    uint64_t before = 0;
    tern_request request = {0};
    expect_corrupt(tern_map_add(w, map, &number, 8, 1, via, &before), "tern_map_add");
    expect_corrupt(tern_map_modify(w, map, &number, 8, &leave_it_modifier, NULL, 0,
                                   TERN_ABSENT_INSERT, via, NULL, 0, NULL, NULL),
                   "tern_map_modify");
    tern_status status = tern_map_add_start(w, map, &number, 8, 1, via, &request);
    if (status == TERN_OK)
        status = tern_wait(w, &request);
    expect_corrupt(status, "tern_map_add_start");
    if (!erased)
        expect_corrupt(tern_map_compare_swap(w, map, &number, 8, 5, 6, via, &before),
                       "tern_map_compare_swap");
    if (!erased)
        expect_corrupt(tern_map_modify(w, map, &number, 8, &leave_it_modifier, NULL, 0,
                                       TERN_ABSENT_FAIL, via, NULL, 0, NULL, NULL),
                       "tern_map_modify of what is there");
}

/* Rank 1 damages rank 0's part. */
static void a_state_is_wrong(bool erased) {
    fixture f;
    tern_map *map = NULL;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 100}, &map));
    uint64_t number = 0, other = 0, old;
    while (tern_map_owner(map, &number, sizeof number) != 0)
        number++;
    other = number + 1;
    while (tern_map_owner(map, &other, sizeof other) != 0)
        other++;
    EXPECT_OK(tern_barrier(f.worker));
    for (int way = 0; way < 2 && f.rank == 1; way++) {
        const tern_ptr state = state_of(map, number);
        uint64_t five = 5;
        EXPECT_OK(tern_map_insert(f.worker, map, &number, 8, &five, 8, ways[way], NULL));
        EXPECT_OK(tern_map_insert(f.worker, map, &number, 8, &five, 8, ways[way], NULL));
        if (erased)
            EXPECT_OK(tern_map_erase(f.worker, map, &number, 8, ways[way]));
        EXPECT_OK(tern_atomic_fetch_xor(f.worker, state, TERN_ERASED, &old));
        CU_ASSERT_EQUAL(old & TERN_KIND, TERN_TAKEN);
        CU_ASSERT_EQUAL((old & TERN_ERASED) != 0, erased);
        change(&f, map, number, ways[way], erased);
        /* Nothing stays at the head of the ring. */
        EXPECT_OK(tern_map_insert(f.worker, map, &other, 8, &five, 8, TERN_BY_CALL, NULL));
        EXPECT_OK(tern_atomic_fetch_xor(f.worker, state, TERN_ERASED, &old));
        EXPECT_OK(tern_map_add(f.worker, map, &number, 8, 1, ways[way], &old));
        CU_ASSERT_EQUAL(old, erased ? 0 : 5);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

static void a_live_key_is_called_erased(void) { a_state_is_wrong(false); }
static void an_erased_key_is_called_live(void) { a_state_is_wrong(true); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_live_key_is_called_erased", a_live_key_is_called_erased},
        {"an_erased_key_is_called_live", an_erased_key_is_called_live},
    };
    return tern_test_main(argc, argv, "map_mend", tests, sizeof tests / sizeof tests[0]);
}
