/* What the suites of results share: a function that gives results of any size. */

#ifndef TERN_TESTS_HARNESS_RESULT_TOOLS_H
#define TERN_TESTS_HARNESS_RESULT_TOOLS_H

#include "call_tools.h"

/* What a caller asks for: a result whose content follows from the seed. */
typedef struct {
    uint64_t bytes;
    uint32_t seed;
    uint32_t room; /* more than the result that the handler asks for */
} wish;

static unsigned char letter(const wish *w, size_t i) {
    return (unsigned char)(w->seed * 29 + i * 7 + (i >> 8));
}

static uint64_t given;

static tern_status give(tern_call_info *call, const void *arguments, size_t bytes) {
    wish w;
    if (bytes != sizeof w)
        return tern_call_fail(call, TERN_ERR_RANGE, "a wish of %zu bytes", bytes);
    memcpy(&w, arguments, sizeof w);
    tern_status status = tern_call_result(call, w.bytes + w.room);
    if (status != TERN_OK)
        return status;
    unsigned char *at = call->result;
    for (size_t i = 0; i < w.bytes; i++)
        at[i] = letter(&w, i);
    if (w.room > 0)
        memset(at + w.bytes, 0x5a, w.room);
    call->result_bytes = w.bytes;
    given++;
    return (uintptr_t)at % 8 == 0 ? TERN_OK : TERN_ERR_ARGUMENT;
}
TERN_FUNCTION(give)

static inline void expect_result(const wish *w, const unsigned char *result, size_t got) {
    uint64_t wrong = 0;
    CU_ASSERT_EQUAL(got, w->bytes);
    for (size_t i = 0; i < w->bytes; i++)
        wrong += result[i] != letter(w, i);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Returns how many bytes of this rank's segment are allocated. */
static inline size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

#endif
