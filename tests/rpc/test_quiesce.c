// tern-test: transports

/* Quiescence: whatever calls make calls, after tern_quiesce all have run, everywhere. */

#include "call_trees.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { RANKS = MOST_WORKERS };

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
    branch leaf = {1, 0, f->size, 1};
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

/* Starts some trees, none on some ranks and several on others, and counts where they land. */
static void plant(fixture *f, uint64_t *random, uint32_t workers, uint64_t *counts) {
    for (uint64_t trees = below(random, 3); trees > 0; trees--) {
        branch root = {tern_test_random(random), (uint32_t)below(random, 7), f->size, workers};
        uint32_t number = (uint32_t)below(random, (uint64_t)f->size * workers);
        expect(&root, number, counts);
        EXPECT_OK(
            tern_call(f->worker, worker_at(&root, number), &grow_function, &root, sizeof root));
    }
}

/* After each quiesce exactly what was due here has run. The workers but the first have no thread.
 */
static void grow_trees(fixture *f, uint32_t workers) {
    uint64_t random = fixture_seed(f, 40), counts[MOST_WORKERS] = {0}, wrong = 0;
    uint64_t *all = calloc((size_t)f->size * MOST_WORKERS, sizeof *all);
    int rounds = fixture_times(f, 100);
    for (int round = 0; round < rounds; round++) {
        plant(f, &random, workers, counts);
        EXPECT_OK(tern_quiesce(f->worker));
        /* Looked at before any other progress. */
        uint64_t total = here.executed, due = 0;
        fixture_share(f, counts, sizeof counts, all);
        for (uint32_t r = 0; r < f->size; r++)
            for (uint32_t w = 0; w < workers; w++)
                due += all[r * MOST_WORKERS + f->rank * workers + w];
        wrong += total != due;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(here.failed, 0);
    free(all);
}

static void trees(void) {
    fixture f;
    if (!open(&f))
        return;
    meet(&f);
    grow_trees(&f, 1);
    fixture_close(&f);
}

/* Through rings that are not there at first, and then full: handlers queue what they call. */
static void trees_of_workers(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1;
    config.workers = 3;
    if (!fixture_open(&f, &config))
        return;
    here.executed = here.failed = 0;
    EXPECT_OK(tern_barrier(f.worker));
    grow_trees(&f, 3);
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
            branch root = {s + (uint64_t)round * 1000, 9, f.size, 1};
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
        branch root = {seed, 9, f.size, 1};
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

/* As deep as there is time for: each call makes the next one, anywhere. */
static tern_status step(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(step)

static tern_status step(tern_call_info *call, const void *arguments, size_t bytes) {
    branch b;
    memcpy(&b, arguments, sizeof b);
    here.executed++;
    if (b.depth-- == 0)
        return TERN_OK;
    uint32_t number = (uint32_t)below(&b.seed, (uint64_t)b.size * b.workers);
    return tern_call(call->worker, worker_at(&b, number), &step_function, &b, bytes);
}

static void a_deep_chain(void) {
    fixture f;
    if (!open(&f))
        return;
    meet(&f);
    branch first = {fixture_seed(&f, 41), (uint32_t)fixture_times(&f, 20000), f.size, 1};
    uint64_t ran, *all = calloc(f.size, sizeof *all), sum = 0;
    EXPECT_OK(
        tern_call(f.worker, tern_worker_self(f.worker), &step_function, &first, sizeof first));
    EXPECT_OK(tern_quiesce(f.worker));
    ran = here.executed;
    fixture_share(&f, &ran, sizeof ran, all);
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    CU_ASSERT_EQUAL(sum, (uint64_t)f.size * (first.depth + 1));
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
    tern_request requests[TERN_CALL_REQUESTS] = {0};
    uint64_t back[TERN_CALL_REQUESTS];
    int rounds = fixture_times(&f, 50);
    for (int round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < TERN_CALL_REQUESTS; i++) {
            tern_worker_id to = {(uint32_t)(i + f.rank) % f.size, 0};
            EXPECT_OK(tern_call_start(f.worker, to, &identity_function, &i, sizeof i, &back[i],
                                      sizeof back[i], &requests[i]));
        }
        EXPECT_OK(tern_quiesce(f.worker));
        for (uint64_t i = 0; i < TERN_CALL_REQUESTS; i++) {
            int done = 0;
            EXPECT_OK(tern_test(f.worker, &requests[i], &done));
            CU_ASSERT_EQUAL(done, 1);
            CU_ASSERT_EQUAL(back[i], i);
            EXPECT_OK(tern_wait(f.worker, &requests[i]));
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
    branch leaf = {1, 0, f.size, 3};
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

/* A rank that has been counted runs a call and makes two, of which the caller has run one when it
 * is counted: then as many have been made as have run, though one is under way. */
static tern_worker_id first_rank, second_rank;
static atomic_int answers_run;

static tern_status run_answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    answers_run++;
    return TERN_OK;
}
TERN_FUNCTION(run_answer)

static void pause_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
}

static tern_status answer_twice(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments, (void)bytes;
    tern_status status = tern_call(call->worker, second_rank, &run_answer_function, NULL, 0);
    if (status == TERN_OK)
        status = tern_call_flush_all(call->worker);
    pause_a_little(); /* the caller runs the first and is counted */
    return status == TERN_OK ? tern_call(call->worker, second_rank, &run_answer_function, NULL, 0)
                             : status;
}
TERN_FUNCTION(answer_twice)

static void one_count_is_not_enough(void) {
    fixture f;
    if (!open(&f))
        return;
    meet(&f);
    first_rank = (tern_worker_id){0, 0};
    second_rank = (tern_worker_id){1, 0};
    for (int round = 0; round < 10; round++) {
        answers_run = 0;
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == 1) {
            pause_a_little(); /* the first rank is counted */
            EXPECT_OK(tern_call(f.worker, first_rank, &answer_twice_function, NULL, 0));
            EXPECT_OK(tern_call_flush_all(f.worker));
            pause_a_little(); /* and sends the first answer */
        }
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(answers_run, f.rank == 1 ? 2 : 0);
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"nothing_under_way", nothing_under_way},
        {"trees", trees},
        {"trees_of_workers", trees_of_workers},
        {"a_deep_chain", a_deep_chain},
        {"long_chains", long_chains},
        {"answers_are_there", answers_are_there},
        {"workers_without_an_owner", workers_without_an_owner},
        {"a_busy_hook", a_busy_hook},
        {"one_count_is_not_enough", one_count_is_not_enough},
    };
    return tern_test_main(argc, argv, "quiesce", tests, sizeof tests / sizeof tests[0]);
}
