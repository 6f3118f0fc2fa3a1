// tern-test: transports

/* Quiescence: whatever calls make calls, after tern_quiesce all have run, everywhere. */

#include "fixture.h"

#include <stdlib.h>

/* Calls that a call makes follow from its seed, so any rank can work out the whole tree. */
typedef struct {
    uint64_t seed;
    uint32_t depth;
    uint32_t size;
} branch;

enum { MOST_CHILDREN = 3, RANKS = 64 };

static struct { uint64_t executed, failed; } here;

static uint32_t children_of(const branch *b) {
    uint64_t state = b->seed;
    return b->depth == 0 ? 0 : (uint32_t)below(&state, MOST_CHILDREN + 1);
}

static branch child_of(const branch *b, uint32_t i, uint32_t *rank) {
    uint64_t state = b->seed + (i + 1) * UINT64_C(0xd1342543de82ef95);
    *rank = (uint32_t)below(&state, b->size);
    return (branch){tern_test_random(&state), b->depth - 1, b->size};
}

static tern_status grow(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(grow)

static tern_status grow(tern_call_info *call, const void *arguments, size_t bytes) {
    branch b;
    memcpy(&b, arguments, sizeof b);
    (void)bytes;
    here.executed++;
    for (uint32_t i = 0; i < children_of(&b); i++) {
        uint32_t rank;
        branch child = child_of(&b, i, &rank);
        tern_worker_id to = {rank, 0};
        here.failed += tern_call(call->worker, to, &grow_function, &child, sizeof child) != TERN_OK;
    }
    return TERN_OK;
}

/* How many calls of the tree land on each rank. */
static void expect(const branch *b, uint32_t rank, uint64_t *counts) {
    counts[rank]++;
    for (uint32_t i = 0; i < children_of(b); i++) {
        uint32_t next;
        branch child = child_of(b, i, &next);
        expect(&child, next, counts);
    }
}

static bool open(fixture *f) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    /* Room for all that is ever under way: handlers cannot wait for it. */
    config.ring_size = (size_t)256 << 10;
    return fixture_open(f, &config);
}

/* Opens the ring of every pair, so that no handler meets one that is not there yet. */
static void meet(fixture *f) {
    branch leaf = {1, 0, f->size};
    for (uint32_t r = 0; r < f->size; r++) {
        tern_worker_id to = {r, 0};
        EXPECT_OK(
            tern_call_return(f->worker, to, &grow_function, &leaf, sizeof leaf, NULL, 0, NULL));
    }
    EXPECT_OK(tern_quiesce(f->worker));
    here.executed = 0;
    here.failed = 0;
    /* A rank that is out of the quiesce already must not call before all have forgotten. */
    EXPECT_OK(tern_barrier(f->worker));
}

static void trees(void) {
    fixture f;
    if (!open(&f))
        return;
    meet(&f);
    uint64_t random = fixture_seed(&f, 40), counts[RANKS] = {0}, total = 0, wrong = 0;
    uint64_t *all = calloc((size_t)f.size * RANKS, sizeof *all);
    int rounds = fixture_times(&f, 100);
    for (int round = 0; round < rounds; round++) {
        /* Some ranks start none, some several, of any depth. */
        for (uint64_t trees = below(&random, 3); trees > 0; trees--) {
            branch root = {tern_test_random(&random), (uint32_t)below(&random, 7), f.size};
            uint32_t rank = (uint32_t)below(&random, f.size);
            tern_worker_id to = {rank, 0};
            expect(&root, rank, counts);
            EXPECT_OK(tern_call(f.worker, to, &grow_function, &root, sizeof root));
        }
        EXPECT_OK(tern_quiesce(f.worker));
        /* Looked at before any other progress. */
        total = here.executed;
        fixture_share(&f, counts, sizeof counts, all);
        uint64_t due = 0;
        for (uint32_t r = 0; r < f.size; r++)
            due += all[r * RANKS + f.rank];
        wrong += total != due;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(here.failed, 0);
    free(all);
    fixture_close(&f);
}

/* A chain of calls around all ranks: at any time just one is under way, which a count of queues
 * that is not careful takes for none. */
static void long_chains(void) {
    fixture f;
    if (!open(&f))
        return;
    meet(&f);
    int rounds = fixture_times(&f, 20);
    uint64_t *all = calloc(f.size, sizeof *all);
    for (int round = 0; round < rounds; round++) {
        here.executed = 0;
        EXPECT_OK(tern_barrier(f.worker));
        /* A seed whose every descendant has children is looked for, so that the chain is long. */
        uint64_t counts[RANKS] = {0}, longest = 0, seed = 0, made = 0;
        for (uint64_t s = 0; s < 50; s++) {
            branch root = {s + (uint64_t)round * 1000, 9, f.size};
            uint64_t some[RANKS] = {0}, sum = 0;
            expect(&root, 0, some);
            for (uint32_t r = 0; r < f.size; r++)
                sum += some[r];
            if (sum > longest && sum < 400) {
                longest = sum;
                seed = root.seed;
                memcpy(counts, some, sizeof counts);
            }
        }
        branch root = {seed, 9, f.size};
        tern_worker_id first = {0, 0};
        if ((uint32_t)round % f.size == f.rank)
            EXPECT_OK(tern_call(f.worker, first, &grow_function, &root, sizeof root));
        EXPECT_OK(tern_quiesce(f.worker));
        made = here.executed;
        CU_ASSERT_EQUAL(made, counts[f.rank]);
        fixture_share(&f, &made, sizeof made, all);
    }
    CU_ASSERT_EQUAL(here.failed, 0);
    free(all);
    fixture_close(&f);
}

static void nothing_under_way(void) {
    fixture f;
    if (!open(&f))
        return;
    for (int i = 0; i < 20; i++)
        EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* Calls with results count too: the answer is there without any more waiting. */
static tern_status identity(tern_call_info *call, const void *arguments, size_t bytes) {
    memcpy(call->result, arguments, bytes);
    call->result_bytes = bytes;
    return TERN_OK;
}
TERN_FUNCTION(identity)

static void answers_are_there(void) {
    fixture f;
    if (!open(&f))
        return;
    tern_future futures[TERN_FUTURES];
    memset(futures, 0, sizeof futures);
    int rounds = fixture_times(&f, 50);
    for (int round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < TERN_FUTURES; i++) {
            tern_worker_id to = {(uint32_t)(i + f.rank) % f.size, 0};
            EXPECT_OK(tern_call_start(f.worker, to, &identity_function, &i, sizeof i, &futures[i]));
        }
        EXPECT_OK(tern_quiesce(f.worker));
        for (uint64_t i = 0; i < TERN_FUTURES; i++) {
            uint64_t back = 99;
            int done = 0;
            EXPECT_OK(tern_future_test(f.worker, &futures[i], &done));
            CU_ASSERT_EQUAL(done, 1);
            EXPECT_OK(tern_future_wait(f.worker, &futures[i], &back, sizeof back, NULL));
            CU_ASSERT_EQUAL(back, i);
        }
    }
    fixture_close(&f);
}

/* Workers that nobody has adopted get their progress from the one that quiesces. */
static void workers_without_an_owner(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.workers = 3;
    if (!fixture_open(&f, &config))
        return;
    here.executed = here.failed = 0;
    EXPECT_OK(tern_barrier(f.worker));
    branch leaf = {1, 0, f.size};
    for (int round = 0; round < 5; round++) {
        for (uint32_t r = 0; r < f.size; r++) {
            for (uint32_t w = 0; w < 3; w++) {
                tern_worker_id to = {r, w};
                EXPECT_OK(tern_call(f.worker, to, &grow_function, &leaf, sizeof leaf));
            }
        }
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(here.executed, 3 * f.size * ((uint64_t)round + 1));
        EXPECT_OK(tern_barrier(f.worker));
    }
    fixture_close(&f);
}

/* A hook that always finds something to do does not keep a rank from coming to rest. */
static size_t busy(tern_worker *worker, void *argument) {
    (void)worker;
    (void)argument;
    return 1;
}

static void a_busy_hook(void) {
    fixture f;
    if (!open(&f))
        return;
    EXPECT_OK(tern_progress_hook_add(f.context, busy, NULL));
    meet(&f);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_progress_hook_remove(f.context, busy, NULL));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"nothing_under_way", nothing_under_way},
        {"trees", trees},
        {"long_chains", long_chains},
        {"answers_are_there", answers_are_there},
        {"workers_without_an_owner", workers_without_an_owner},
        {"a_busy_hook", a_busy_hook},
    };
    return tern_test_main(argc, argv, "quiesce", tests, sizeof tests / sizeof tests[0]);
}
