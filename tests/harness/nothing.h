/* A function for calls, which does nothing, and a program that holds all futures of its worker. */

#ifndef TERN_TESTS_HARNESS_NOTHING_H
#define TERN_TESTS_HARNESS_NOTHING_H

#include "fixture.h"

static tern_status nothing(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(nothing)

static inline void hold_all_futures(fixture *f, uint32_t rank, tern_future held[TERN_FUTURES]) {
    for (int i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(tern_call_start(f->worker, (tern_worker_id){.rank = rank}, &nothing_function,
                                  NULL, 0, &held[i]));
}

static inline void let_futures_go(fixture *f, tern_future held[TERN_FUTURES]) {
    for (int i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(tern_future_wait(f->worker, &held[i], NULL, 0, NULL));
}

#endif
