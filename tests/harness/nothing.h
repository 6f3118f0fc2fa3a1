/* A function for calls, which does nothing. */

#ifndef TERN_TESTS_HARNESS_NOTHING_H
#define TERN_TESTS_HARNESS_NOTHING_H

#include "tern/call.h"

static tern_status nothing(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(nothing)

#endif
