// tern-test: ranks survivors least=3

/* A rank dies in the last barrier of tern_hashtable_create, which tells rank 0 of it and others
 * that the table is there: what rank 0 keeps for them is all that they need. */

#include "last_barrier.h"
#include "table_tools.h"

#include "hashtable/table/table.h"

/* More keys of rank 0's part than it has room for at first. */
static void fill(fixture *f, tern_hashtable *table) {
    uint64_t value = 0, wrong = 0;
    for (uint64_t i = 0; i < 400; i++) {
        const uint64_t key = number_owned_by(table, 0, (uint64_t)f->rank << 32 | i * 1000);
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, &i, fixture_path(i % 2), NULL));
    }
    for (uint64_t i = 0; i < 400; i++) {
        const uint64_t key = number_owned_by(table, 0, (uint64_t)f->rank << 32 | i * 1000);
        wrong += tern_hashtable_find(f->worker, table, &key, fixture_path(i / 2 % 2), &value) !=
                     TERN_OK ||
                 value != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(tern_table_part_of(table, 0)->generation > 0);
}

static void a_rank_dies_in_the_last_barrier(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = 8, .capacity = 40, .grow = 1};
    tern_hashtable *table = NULL;
    count_meetings(&f);
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    const int meetings = last_barrier.met;
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    table = NULL;
    last_barrier.in = meetings;
    tern_status status = tern_hashtable_create(f.worker, &options, &table);
    EXPECT(f.rank == 0 ? TERN_ERR_PEER : TERN_OK, status);
    let_rank_0_return(&f);
    if (table != NULL)
        fill(&f, table);
    fixture_meet_living(&f);
    if (table != NULL)
        EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_in_the_last_barrier", a_rank_dies_in_the_last_barrier},
    };
    return tern_test_main(argc, argv, "hashtable_create_faults", tests, 1);
}
