// tern-test: ranks least=2

/* Damaged buckets of a hash table whose keys are being moved. */

#include "damage_tools.h"

#include "hashtable/growth/growth.h"
#include "src/mpi/mpi.h"

static struct {
    uint64_t key;
    uint64_t *entry; /* its bucket's; NULL: leave it alone */
} torn;

static uint64_t tear_and_hash(const void *key, size_t bytes, void *argument) {
    uint64_t number;
    memcpy(&number, key, sizeof number);
    (void)bytes;
    (void)argument;
    if (torn.entry != NULL && number == torn.key)
        scribble(torn.entry + 2, 12345);
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

/* The owner hashes a key when it is about to lock its bucket. */
static void a_moved_entry_is_torn(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table =
        make(&f, (tern_hashtable_options){.grow = 1, .key_hash = tear_and_hash});
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        torn.key = number_owned_by(table, 0, 0);
        uint64_t *state = bucket_at(&f, table, torn.key), key = torn.key;
        EXPECT_OK(insert(&f, table, torn.key, 1));
        torn.entry = state + 1;
        while (tern_table_part_of(table, 0) == &table->part[0]) {
            key = number_owned_by(table, 0, key + 1);
            EXPECT_OK(insert(&f, table, key, 1));
            tern_progress(f.worker);
        }
        torn.entry = NULL;
        CU_ASSERT_EQUAL(word_at(state), TERN_ABORTED);
        CU_ASSERT_EQUAL(value_of(&f, table, torn.key), UINT64_MAX);
        EXPECT_OK(insert(&f, table, torn.key, 3));
        CU_ASSERT_EQUAL(value_of(&f, table, torn.key), 3);
    }
    end(&f, table);
}

/* Of two keys whose entries are torn, the move takes the one along whose value was being changed:
 * operations on it still end with the error. The other one was never there. */
static void damaged_buckets_move(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){.grow = 1});
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        uint64_t key = 0, keys[3], *word[3];
        for (int i = 0; i < 3; i++) {
            do
                key = number_owned_by(table, 0, key + 1);
            while (word_at(word[i] = bucket_at(&f, table, key)) != TERN_FREE);
            EXPECT_OK(insert(&f, table, keys[i] = key, 1));
        }
        scribble(word[0] + 3, 2); /* the value */
        scribble(word[1] + 3, 2);
        scribble(word[0], tern_state_locked(hash_of(table, &keys[0]), 0));
        scribble(word[2], tern_state_locked(hash_of(table, &keys[2]), 0));
        for (int i = 0; i < 3; i++)
            EXPECT(TERN_ERR_CORRUPT, insert(&f, table, keys[i], 2));
        while (tern_table_part_of(table, 0) == &table->part[0]) {
            key = number_owned_by(table, 0, key + 1);
            EXPECT_OK(insert(&f, table, key, 1));
            tern_progress(f.worker);
        }
        EXPECT(TERN_ERR_CORRUPT, insert(&f, table, keys[0], 2));
        CU_ASSERT_EQUAL(value_of(&f, table, keys[1]), UINT64_MAX);
        EXPECT_OK(insert(&f, table, keys[1], 3));
        CU_ASSERT_EQUAL(value_of(&f, table, keys[1]), 3);
        CU_ASSERT_EQUAL(value_of(&f, table, keys[2]), 1); /* its entry was whole */
        EXPECT_OK(insert(&f, table, keys[2], 3));
    }
    end(&f, table);
}

static struct {
    const tern_hashtable *table; /* NULL: leave it alone */
    uint64_t key;
    uint64_t *state; /* of the bucket that the key would get in the next array */
} frozen;

static uint64_t freeze_and_hash(const void *key, size_t bytes, void *argument) {
    uint64_t number;
    memcpy(&number, key, sizeof number);
    (void)bytes;
    (void)argument;
    const uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15);
    const tern_table_part *to = frozen.table != NULL ? frozen.table->growth->to : NULL;
    if (to != NULL && number == frozen.key) {
        /* No put is served meanwhile. */
        CU_ASSERT_EQUAL(tern_mpi_locked(), frozen.table->owners_put);
        const uint64_t index = tern_part_bucket(to, XXH3_64bits(&hash, sizeof hash));
        const tern_key_search p = {NULL, frozen.table, to, NULL, 0, index, to->count};
        frozen.state = (uint64_t *)(void *)tern_bucket_direct(&p, frozen.table->shape, 0);
        scribble(frozen.state, TERN_FROZEN);
    }
    return hash;
}

/* The owner hashes the key of a bucket whose writer there is not when it is about to take one for
 * it in the next array. */
static void an_orphan_has_no_place_in(bool (*open)(fixture *f)) {
    fixture f;
    if (!open(&f))
        return;
    tern_hashtable *table =
        make(&f, (tern_hashtable_options){.grow = 1, .key_hash = freeze_and_hash});
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        frozen.key = number_owned_by(table, 0, 0);
        uint64_t *state = bucket_at(&f, table, frozen.key), key = frozen.key;
        EXPECT_OK(insert(&f, table, frozen.key, 1));
        scribble(state + 3, 12345);
        scribble(state, tern_state_locked(hash_of(table, &key), f.size));
        frozen.table = table;
        while (tern_table_part_of(table, 0) == &table->part[0]) {
            key = number_owned_by(table, 0, key + 1);
            EXPECT_OK(insert(&f, table, key, 1));
            tern_progress(f.worker);
        }
        frozen.table = NULL;
        CU_ASSERT_PTR_NOT_NULL_FATAL(frozen.state);
        scribble(frozen.state, TERN_FREE);
        CU_ASSERT_EQUAL(word_at(state), TERN_ABORTED);
        EXPECT_OK(insert(&f, table, frozen.key, 3));
        CU_ASSERT_EQUAL(value_of(&f, table, frozen.key), 3);
    }
    end(&f, table);
}

static void an_orphan_has_no_place(void) {
    an_orphan_has_no_place_in(open_scene);
    an_orphan_has_no_place_in(open_remote_scene);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_moved_entry_is_torn", a_moved_entry_is_torn},
        {"damaged_buckets_move", damaged_buckets_move},
        {"an_orphan_has_no_place", an_orphan_has_no_place},
    };
    tern_liveness_query_ns = INTERVAL;
    return tern_test_main(argc, argv, "hashtable_damage_moves", tests,
                          sizeof tests / sizeof tests[0]);
}
