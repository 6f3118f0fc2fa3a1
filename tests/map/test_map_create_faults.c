// tern-test: ranks survivors least=3

/* As test_hashtable_create_faults.c, of a map. */

#include "last_barrier.h"
#include "map_tools.h"

static void fill(fixture *f, tern_map *map) {
    static unsigned char value[3000], found[3000];
    for (uint64_t i = 0; i < 40; i++) {
        const uint64_t key = f->rank * 1000 + i;
        const tern_flags insert = fixture_path(i % 2), find = fixture_path(i / 2 % 2);
        size_t bytes = 0;
        if (tern_map_owner(map, &key, 8) == f->size - 1)
            continue;
        fill_bytes(value, sizeof value, key);
        EXPECT_OK(tern_map_insert(f->worker, map, &key, 8, value, sizeof value, insert, NULL));
        EXPECT_OK(tern_map_find(f->worker, map, &key, 8, find, found, sizeof found, &bytes));
        CU_ASSERT(bytes == sizeof value && memcmp(found, value, bytes) == 0);
    }
}

static void a_rank_dies_in_the_last_barrier(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    tern_map *map = NULL;
    const tern_map_options options = {.capacity = 500};
    count_meetings(&f);
    EXPECT_OK(tern_map_create(f.worker, &options, &map));
    const int meetings = last_barrier.met;
    EXPECT_OK(tern_map_destroy(f.worker, map));
    map = NULL;
    last_barrier.in = meetings;
    tern_status status = tern_map_create(f.worker, &options, &map);
    EXPECT(f.rank == 0 ? TERN_ERR_PEER : TERN_OK, status);
    let_rank_0_return(&f);
    if (map != NULL)
        fill(&f, map);
    fixture_meet_living(&f);
    if (map != NULL)
        EXPECT(TERN_ERR_PEER, tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_in_the_last_barrier", a_rank_dies_in_the_last_barrier},
    };
    return tern_test_main(argc, argv, "map_create_faults", tests, 1);
}
