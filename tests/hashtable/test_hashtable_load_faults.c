// tern-test: ranks survivors least=3

/* A rank dies in the last meeting of tern_hashtable_load, which tells rank 0 of it and others that
 * the table is there: what rank 0 keeps for them is all that they need. */

#include "last_barrier.h"
#include "table_tools.h"

#include <unistd.h>

#include "tern/hashtable.h"

enum { KEYS = 200 };

static const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .grow = 1};
static char path[64];

/* Leaves a file of KEYS keys behind. */
static void save(fixture *f) {
    tern_hashtable_options first = options;
    tern_hashtable *table = NULL;
    first.capacity = KEYS;
    if (f->rank == 0)
        snprintf(path, sizeof path, "/tmp/tern-test-%ld", (long)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    EXPECT_OK(tern_hashtable_create(f->worker, &first, &table));
    for (uint64_t key = f->rank; key < KEYS; key += f->size)
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, &key, 0, NULL));
    EXPECT_OK(tern_hashtable_save(f->worker, table, path, NULL, 0));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

/* Takes what rank 0 had given back. */
static tern_ptr write_over(fixture *f) {
    tern_ptr p = TERN_NULL;
    const size_t bytes = (size_t)1 << 20;
    EXPECT_OK(tern_alloc(f->worker, bytes, 0, TERN_DOMAIN_GLOBAL, &p));
    memset(tern_local(f->context, p), 0xff, bytes);
    return p;
}

/* Old keys, and more of rank 0's part than it has room for at first. */
static void use(fixture *f, tern_hashtable *table) {
    uint64_t value = 0, wrong = 0;
    for (uint64_t key = 0; key < KEYS; key++)
        wrong +=
            tern_hashtable_owner(table, &key) == 0 &&
            (tern_hashtable_find(f->worker, table, &key, fixture_path(key), &value) != TERN_OK ||
             value != key);
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t key = number_owned_by(table, 0, (uint64_t)f->rank << 32 | i * 1000);
        wrong +=
            tern_hashtable_insert(f->worker, table, &key, &i, fixture_path(i), NULL) != TERN_OK;
        wrong +=
            tern_hashtable_find(f->worker, table, &key, fixture_path(i / 3), &value) != TERN_OK ||
            value != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void a_rank_dies_in_the_last_meeting(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    tern_hashtable *table = NULL;
    save(&f);
    count_meetings(&f);
    EXPECT_OK(tern_hashtable_load(f.worker, path, &options, NULL, &table));
    const int meetings = last_barrier.met;
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    table = NULL;
    last_barrier.in = meetings;
    tern_status status = tern_hashtable_load(f.worker, path, &options, NULL, &table);
    EXPECT(f.rank == 0 ? TERN_ERR_PEER : TERN_OK, status);
    const tern_ptr over = f.rank == 0 ? write_over(&f) : TERN_NULL;
    fixture_meet_living(&f);
    if (table != NULL)
        use(&f, table);
    fixture_meet_living(&f);
    if (f.rank == 0)
        (void)unlink(path);
    if (!tern_ptr_is_null(over))
        EXPECT_OK(tern_free(f.worker, over));
    if (table != NULL)
        EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    /* The context takes away the parts that are left to the others. */
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_in_the_last_meeting", a_rank_dies_in_the_last_meeting},
    };
    return tern_test_main(argc, argv, "hashtable_load_faults", tests, 1);
}
