// tern-test: ranks least=2

/* Words of a hash table that say what is not so: which of them the rank that they name marks as
 * wrong, which it leaves alone because it is writing, and which are an error at once. */

#include "damage_tools.h"

#include "hashtable/growth/growth.h"
#include "hashtable/op/op.h"
#include "tern/hashtable.h"

/* ---- A writer that is alive ---- */

static const uint64_t *held; /* the state of the bucket that the modifier has */

/* Stores the argument, and makes progress before that until others have asked about the bucket. */
static tern_status linger(tern_hashtable_modify_info *info, void *value) {
    enum { QUESTIONS = 3 };

    const uint64_t state = word_at(held);
    tern_stats before, now;
    tern_stats_get(info->worker, &before);
    do {
        tern_progress(info->worker);
        sched_yield();
        tern_stats_get(info->worker, &now);
    } while (now.calls_executed < before.calls_executed + QUESTIONS);
    CU_ASSERT_EQUAL(state & TERN_KIND, TERN_LOCKED);
    CU_ASSERT_EQUAL(word_at(held), state);
    memcpy(value, info->argument, sizeof(uint64_t));
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(linger)

/* Rank 0's modifier has the bucket of a key, which rank 1 inserts meanwhile. */
static void modify_and_insert(fixture *f, tern_hashtable *table, uint64_t key) {
    const uint64_t modified = 7, inserted = 8;
    held = bucket_at(f, table, key);
    if (f->rank == 0)
        EXPECT_OK(tern_hashtable_modify(f->worker, table, &key, &linger_modifier,
                                        &(tern_modify_options){.argument = &modified,
                                                               .argument_bytes = sizeof modified,
                                                               .absent = TERN_ABSENT_INSERT},
                                        rw, NULL));
    while (f->rank == 1 && (word_at(held) & TERN_KIND) != TERN_LOCKED) {
        tern_progress(f->worker);
        sched_yield();
    }
    if (f->rank == 1)
        EXPECT_OK(insert(f, table, key, inserted));
    EXPECT_OK(tern_barrier(f->worker));
    CU_ASSERT_EQUAL(value_of(f, table, key), inserted);
}

static void a_modifier_makes_progress(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    const uint64_t old = number_owned_by(table, 0, 0), new = number_owned_by(table, 0, old + 1);
    if (f.rank == 1)
        EXPECT_OK(insert(&f, table, old, 1));
    if (f.rank == 1)
        EXPECT_OK(insert(&f, table, old, 2));
    EXPECT_OK(tern_barrier(f.worker));
    modify_and_insert(&f, table, old);
    modify_and_insert(&f, table, new);
    CU_ASSERT_EQUAL(total_keys(&f, table), 2);
    end(&f, table);
}

/* Rank 0 asks itself. */
static void the_move_has_a_bucket(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){.grow = 1});
    const uint64_t key = number_owned_by(table, 0, 0), hash = hash_of(table, &key),
                   state = tern_state_locked(hash, 0);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        uint64_t *word = bucket_at(&f, table, key);
        const tern_key_search p = tern_probe_start(f.worker, table, &key, hash);
        tern_growth *growth = table->growth;
        EXPECT_OK(insert(&f, table, key, 1));
        scribble(word, state);
        growth->position = p.index;
        growth->held = true;
        tern_liveness_query_ns = 0;
        tern_bucket_query_liveness(&p, state);
        tern_bucket_query_liveness(&p, state); /* a first wait is given time */
        CU_ASSERT_EQUAL(word_at(word), state);
        growth->held = false;
        tern_bucket_query_liveness(&p, state);
        CU_ASSERT_EQUAL(word_at(word), tern_state_wrong(state));
        growth->position = 0;
        tern_liveness_query_ns = INTERVAL;
    }
    end(&f, table);
}

/* Inserts and erases keys of this rank's part, and others make progress meanwhile, until the part
 * lies in the memory of its first array again. */
static void churn_into_first_memory(fixture *f, tern_hashtable *table) {
    const tern_table_part *first = &table->part[f->rank], *start;
    uint64_t key = 0;
    do {
        key = number_owned_by(table, f->rank, key + 1);
        EXPECT_OK(insert(f, table, key, key));
        EXPECT_OK(tern_hashtable_erase(f->worker, table, &key, TERN_BY_RMA));
        tern_progress(f->worker);
        start = tern_table_part_of(table, f->rank);
    } while (start == first || start->buckets.offset != first->buckets.offset);
}

/* A rank asks about a bucket, and is answered when another array lies there, in which the same rank
 * has inserted the same key. */
static void a_question_comes_after_a_move(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    if (f.rank == 0) {
        churn_into_first_memory(&f, table);
        const uint64_t key = number_owned_by(table, 0, (uint64_t)1 << 40);
        tern_key_search p = tern_probe_start(f.worker, table, &key, hash_of(table, &key));
        EXPECT_OK(insert(&f, table, key, 1));
        const uint64_t *word = (const uint64_t *)(void *)tern_bucket_direct(&p, table->shape, 0),
                       state = word_at(word);
        CU_ASSERT_EQUAL(state, tern_state_taken(p.hash, 0));
        p.part = &table->part[0];
        tern_liveness_query_ns = 0;
        tern_bucket_query_liveness(&p, state);
        tern_bucket_query_liveness(&p, state); /* a first wait is given time */
        tern_liveness_query_ns = INTERVAL;
        CU_ASSERT_EQUAL(word_at(word), state);
        CU_ASSERT_EQUAL(value_of(&f, table, key), 1);
    }
    end(&f, table);
}

/* ---- Words that name a rank which is not writing ---- */

/* The bucket stays as the rank that it names has marked it. Others work as ever. */
static void expect_damaged(fixture *f, tern_hashtable *table, uint64_t key, const uint64_t *word,
                           uint64_t state) {
    const uint64_t other = number_owned_by(table, 0, key + 1000);
    EXPECT(TERN_ERR_CORRUPT, insert(f, table, key, 77));
    EXPECT_DETAIL("of rank 0's part of a hash table");
    EXPECT_DETAIL("which names a rank that is not writing the bucket");
    CU_ASSERT_EQUAL(word_at(word), tern_state_wrong(state));
    EXPECT_OK(insert(f, table, other, 78));
    CU_ASSERT_EQUAL(value_of(f, table, other), 78);
    EXPECT_OK(tern_hashtable_erase(f->worker, table, &other, TERN_BY_RMA));
}

/* Damage by rank 1, which then operates on keys. All others are in a barrier meanwhile. An entry
 * that is whole is found. */
static void others_of_a_crowd_are_named(crowd crowd) {
    fixture f;
    if (!open_scene_of(&f, crowd))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    uint64_t key = 0;
    for (uint32_t named = 0; named < f.size && f.rank == 1; named++)
        for (int erased = 0; erased < 2; erased++) {
            key = number_owned_by(table, 0, key + 1);
            uint64_t *word = bucket_at(&f, table, key);
            const uint64_t state = tern_state_locked(hash_of(table, &key), named);
            if (word_at(word) != TERN_FREE)
                continue; /* another key's bucket */
            EXPECT_OK(insert(&f, table, key, named));
            if (erased)
                EXPECT_OK(tern_hashtable_erase(f.worker, table, &key, TERN_BY_RMA));
            scribble(word, state);
            expect_damaged(&f, table, key, word, state);
            EXPECT(erased ? TERN_ERR_NOT_FOUND : TERN_ERR_CORRUPT,
                   tern_hashtable_erase(f.worker, table, &key, TERN_BY_RMA));
            CU_ASSERT_EQUAL(value_of(&f, table, key), erased ? UINT64_MAX : named);
        }
    end(&f, table);
}

static void others_are_named(void) {
    for (int i = 0; i < CROWDS; i++)
        others_of_a_crowd_are_named(crowds[i]);
}

/* A find tells of a bucket that is marked, too. */
static void torn_entries_of_a_crowd(crowd crowd) {
    fixture f;
    if (!open_scene_of(&f, crowd))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    uint64_t key = 0;
    for (uint32_t named = 0; named < f.size && f.rank == 1; named++)
        for (int taken = 0; taken < 2; taken++) {
            key = number_owned_by(table, 0, key + 1);
            const uint64_t hash = hash_of(table, &key);
            uint64_t *word = bucket_at(&f, table, key), value;
            const uint64_t state =
                taken ? tern_state_taken(hash, named) : tern_state_locked(hash, named);
            if (word_at(word) != TERN_FREE)
                continue; /* another key's bucket */
            EXPECT_OK(insert(&f, table, key, 5));
            scribble(word + 2, key + 1);
            scribble(word, state);
            expect_damaged(&f, table, key, word, state);
            EXPECT(TERN_ERR_CORRUPT,
                   tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &value));
            EXPECT(TERN_ERR_CORRUPT, tern_hashtable_erase(f.worker, table, &key, TERN_BY_RMA));
        }
    end(&f, table);
}

static void entries_are_torn(void) {
    for (int i = 0; i < CROWDS; i++)
        torn_entries_of_a_crowd(crowds[i]);
}

static void ask_about(const tern_key_search *p, uint64_t state, tern_worker *worker) {
    tern_bucket_query_liveness(p, state);
    tern_bucket_query_liveness(p, state); /* a first wait is given time */
    tern_progress(worker);
}

/* Between the answers of two workers the second one unlocks the bucket and locks it again. Rank 0
 * asks itself, and makes progress for both. */
static void a_bucket_is_locked_again(void) {
    const crowd two = {2, 0};
    fixture f;
    if (!open_scene_of(&f, two))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    const uint64_t key = number_owned_by(table, 0, 0), hash = hash_of(table, &key),
                   state = tern_state_locked(hash, 0);
    tern_worker *second = NULL;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0 && EXPECT_OK(tern_worker_adopt(f.context, 1, &second))) {
        uint64_t *word = bucket_at(&f, table, key);
        const tern_key_search p = tern_probe_start(f.worker, table, &key, hash);
        EXPECT_OK(insert(&f, table, key, 1));
        scribble(word, state);
        tern_liveness_query_ns = 0;
        ask_about(&p, state, f.worker);
        CU_ASSERT_EQUAL(word_at(word), state | TERN_STATE_SUSPICIOUS);
        scribble(word, tern_state_unlocked(hash, false));
        scribble(word, state);
        tern_progress(second);
        CU_ASSERT_EQUAL(word_at(word), state);
        ask_about(&p, state, f.worker);
        tern_progress(second);
        CU_ASSERT_EQUAL(word_at(word), tern_state_wrong(state));
        tern_liveness_query_ns = INTERVAL;
        EXPECT_OK(tern_worker_release(second));
    }
    end(&f, table);
}

/* In a phase of reads all ranks are told, by each path. */
static void expect_corrupt_in_a_phase(fixture *f, tern_hashtable *table, uint64_t key) {
    const tern_flags flags = TERN_BY_RMA | TERN_READ_ONLY;
    uint64_t found;
    tern_request request;
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT(TERN_ERR_CORRUPT, tern_hashtable_find(f->worker, table, &key, flags, &found));
    tern_status status = tern_hashtable_find_start(f->worker, table, &key, flags, &found, &request);
    if (status == TERN_OK)
        status = tern_wait(f->worker, &request);
    EXPECT(TERN_ERR_CORRUPT, status);
    EXPECT(TERN_ERR_CORRUPT,
           tern_hashtable_find_many(f->worker, table, &key, 1, flags, &found, NULL, NULL));
    EXPECT_OK(tern_barrier(f->worker));
}

/* user: the rank that meets a bucket of rank 0's part then, whose entry rank 1, of another node, is
 * said to be writing. Rank 0 has written it for rank 1, and so knows that nobody is. */
static void a_remote_rank_is_named_to(uint32_t user, tern_flags path) {
    fixture f;
    if (!open_remote_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    const uint64_t key = number_owned_by(table, 0, 0), value = 6,
                   state = tern_state_taken(hash_of(table, &key), 1);
    uint64_t *word = tern_local(f.context, bucket_of(table, &key));
    if (f.rank == 1)
        EXPECT_OK(insert(&f, table, key, 5));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        scribble(word + 2, key + 1);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == user)
        EXPECT(TERN_ERR_CORRUPT, tern_hashtable_insert(f.worker, table, &key, &value, path, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(f.rank != 0 || word_at(word) == tern_state_wrong(state));
    expect_corrupt_in_a_phase(&f, table, key);
    end(&f, table);
}

static void a_remote_rank_is_named(void) {
    a_remote_rank_is_named_to(0, TERN_BY_RMA);
    a_remote_rank_is_named_to(1, TERN_BY_RMA);
    a_remote_rank_is_named_to(1, TERN_BY_CALL);
}

/* The owner publishes its array descriptor again. */
static void the_descriptor_is_published_again(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){.grow = 1});
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1) {
        const tern_ptr place = tern_anchor_gaddr(table, 0, offsetof(tern_anchor, descriptor));
        uint64_t *descriptor = (uint64_t *)(void *)tern_internal_reach_address(f.worker, place, 8);
        scribble(descriptor + 1, 12345);
        EXPECT_OK(tern_growth_rest(f.worker, table, 0));
        CU_ASSERT_NOT_EQUAL(word_at(descriptor + 1), 12345);
    }
    end(&f, table);
}

/* The rank that is named has never looked for a key in the part, and does not know where it lies
 * since it has grown. */
static void a_stranger_is_named(void) {
    fixture f;
    if (tern_test_size() < 3) {
        tern_test_skip("an owner, a rank that waits and a stranger");
        return;
    }
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){.grow = 1});
    uint64_t key = 0;
    tern_table_enter(f.worker, table); /* no grace period tells the others */
    while (f.rank == 0 && tern_table_part_of(table, 0) == &table->part[0]) {
        key = number_owned_by(table, 0, key + 1);
        EXPECT_OK(insert(&f, table, key, 1));
        tern_progress(f.worker);
    }
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT((f.rank == 0) == (tern_table_part_of(table, 0) != &table->part[0]));
    if (f.rank == 1) {
        key = number_owned_by(table, 0, 1);
        CU_ASSERT_EQUAL(value_of(&f, table, key), 1);
        uint64_t value, hash = hash_of(table, &key);
        tern_op op;
        tern_op_init(&op, TERN_OP_FIND, f.worker, table, &key, hash, TERN_READ_WRITE);
        op.taken = &value;
        EXPECT_OK(tern_op_run_in(&op, NULL)); /* the probe is at its bucket then */
        uint64_t *state = (uint64_t *)(void *)tern_bucket_direct(&op.probe, table->shape, 0);
        scribble(state, tern_state_locked(hash, 2));
        EXPECT(TERN_ERR_CORRUPT, insert(&f, table, key, 2));
        CU_ASSERT_EQUAL(word_at(state), tern_state_wrong(tern_state_locked(hash, 2)));
        CU_ASSERT_EQUAL(value_of(&f, table, key), 1);
    }
    tern_table_exit(f.worker, table);
    end(&f, table);
}

/* ---- Words that no rank stores ---- */

static void damage_is_an_error(void) {
    fixture f;
    if (!open_scene(&f))
        return;
    tern_hashtable *table = make(&f, (tern_hashtable_options){0});
    const uint64_t key = number_owned_by(table, 0, 0), hash = hash_of(table, &key);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1) {
        uint64_t *state = bucket_at(&f, table, key);
        EXPECT_OK(insert(&f, table, key, 5));
        EXPECT_OK(insert(&f, table, key, 6));
        const uint64_t whole = word_at(state + 3);
        const uint64_t words[] = {
            tern_state_locked(hash, f.size),                /* by a rank that there is not */
            tern_state_locked(hash, 0) | UINT64_C(1) << 56, /* and with a bit that no rank sets */
            tern_state_unlocked(hash, false) | TERN_STATE_UNUSED,
            tern_state_unlocked(hash, false) | TERN_STATE_SUSPICIOUS, /* a mark of locked ones */
            tern_state_moved(hash),          /* in a table that does not grow */
            tern_state_unlocked(hash, false) /* nobody writes, and the entry is torn */
        };
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            if (i >= 2)
                scribble(state + 3, whole + 1);
            scribble(state, words[i]);
            EXPECT(TERN_ERR_CORRUPT, insert(&f, table, key, 7));
            EXPECT_DETAIL("rank 0's segment");
            if (i >= 1 && i <= 3)
                EXPECT_DETAIL("bits that no rank sets");
            CU_ASSERT_EQUAL(word_at(state), words[i]);
        }
    }
    end(&f, table);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_modifier_makes_progress", a_modifier_makes_progress},
        {"the_move_has_a_bucket", the_move_has_a_bucket},
        {"a_question_comes_after_a_move", a_question_comes_after_a_move},
        {"others_are_named", others_are_named},
        {"entries_are_torn", entries_are_torn},
        {"a_bucket_is_locked_again", a_bucket_is_locked_again},
        {"a_remote_rank_is_named", a_remote_rank_is_named},
        {"the_descriptor_is_published_again", the_descriptor_is_published_again},
        {"a_stranger_is_named", a_stranger_is_named},
        {"damage_is_an_error", damage_is_an_error},
    };
    tern_liveness_query_ns = INTERVAL;
    return tern_test_main(argc, argv, "hashtable_damage", tests, sizeof tests / sizeof tests[0]);
}
