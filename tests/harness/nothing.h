/* A function for calls, which does nothing, and what puts all calls of a worker under way and waits
 * for them. */

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

static inline void start_all_calls(fixture *f, uint32_t rank,
                                   tern_request held[TERN_CALL_REQUESTS]) {
    for (int i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_call_start(f->worker, (tern_worker_id){.rank = rank}, &nothing_function,
                                  NULL, 0, NULL, 0, &held[i]));
}

static inline void wait_for_all_calls(fixture *f, tern_request held[TERN_CALL_REQUESTS]) {
    for (int i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_wait(f->worker, &held[i]));
}

#endif
