/*
 * Shared by the suites of the tree search: a context with several workers, and runs in which each
 * worker takes part from a thread of its own.
 */

#ifndef TERN_TESTS_HARNESS_SEARCH_TOOLS_H
#define TERN_TESTS_HARNESS_SEARCH_TOOLS_H

#include <pthread.h>
#include <stdlib.h>

#include "fixture.h"
#include "games.h"
#include "mcts/search.h"

enum { WORKERS_MOST = 4, MOVES_MOST = 32 };

typedef struct search_job {
    tern_context *context;
    uint32_t index;
    tern_search *search;
    const tern_search_limits *limits;
    tern_search_result result;
    tern_status status;
    pthread_t thread;
} search_job;

static inline void *search_work(void *argument) {
    search_job *j = argument;
    tern_worker *worker = NULL;
    j->status = tern_worker_adopt(j->context, j->index, &worker);
    if (j->status == TERN_OK)
        j->status = tern_search_run(worker, j->search, j->limits, &j->result);
    if (worker != NULL)
        tern_ignore(tern_worker_release(worker));
    return NULL;
}

/* Creates a search that begins at this state. */
static inline tern_search *search_create(fixture *f, const tern_game *game,
                                         const tern_search_options *options, const void *state) {
    tern_search *search = NULL;
    EXPECT_OK(tern_search_create(f->worker, game, options, &search));
    EXPECT_OK(tern_search_reset(f->worker, search, state));
    return search;
}

/* Runs the search on all workers of this process. Returns the status of worker 0, with its detail
 * text. */
static inline tern_status search_run(fixture *f, tern_search *search,
                                     const tern_search_limits *limits, tern_search_result *result) {
    uint32_t workers = tern_context_workers(f->context);
    search_job jobs[WORKERS_MOST] = {{NULL}};
    for (uint32_t i = 1; i < workers; i++) {
        jobs[i].context = f->context;
        jobs[i].index = i;
        jobs[i].search = search;
        jobs[i].limits = limits;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&jobs[i].thread, NULL, search_work, &jobs[i]), 0);
    }
    tern_status status = tern_search_run(f->worker, search, limits, result);
    for (uint32_t i = 1; i < workers; i++) {
        pthread_join(jobs[i].thread, NULL);
        CU_ASSERT_EQUAL(jobs[i].status, status);
        if (status == TERN_OK)
            CU_ASSERT_EQUAL(jobs[i].result.rollouts, result->rollouts);
    }
    return status;
}

static inline bool search_open(fixture *f, uint32_t workers, size_t ring_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.workers = workers;
    if (ring_size != 0) {
        config.ring_size = ring_size;
        config.ring_growth = 1;
    }
    return fixture_open(f, &config);
}

/* Checks that all counts add up, and that the moves of the root have visits visits together. The
 * first visit of a tree has no move, because it simulates the root. */
static inline void search_check(fixture *f, tern_search *search, const tern_search_result *result,
                                uint64_t visits) {
    uint64_t sum = 0;
    EXPECT_OK(tern_mcts_check(f->worker, search));
    for (size_t i = 0; i < result->move_count; i++)
        sum += result->moves[i].visits;
    CU_ASSERT_EQUAL(sum, visits);
}

/* Stores the visits in the order of the moves that the game returns for state. */
static inline void search_visits(const tern_game *game, const void *state,
                                 const tern_search_result *result, uint64_t *visits) {
    uint32_t moves[MOVES_MOST], count = game->moves(state, moves, game->argument);
    for (uint32_t i = 0; i < count; i++) {
        visits[i] = 0;
        for (size_t k = 0; k < result->move_count; k++)
            if (result->moves[k].move == moves[i])
                visits[i] = result->moves[k].visits;
    }
}

#endif
