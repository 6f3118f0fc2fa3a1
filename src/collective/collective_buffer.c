#include "src/collective/collective_buffer.h"

#include <stdlib.h>

#include "base/error.h"

/* The reserves: one for each context whose creation is failing, and for each context that left its
 * reserve to MPI. They are static, since a stack or a thread may end before MPI writes. */
enum { RESERVES = 64 };

static _Alignas(16) char reserve[RESERVES][TERN_COLLECTIVE_BUFFER_RESERVE];
static _Atomic uint64_t reserves_used; /* a bit for each reserve */

static char *reserve_take(void) {
    for (int i = 0; i < RESERVES; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        /* R6: tern_collective_buffer_close */
        if ((atomic_fetch_or_explicit(&reserves_used, bit, memory_order_acquire) & bit) == 0)
            return reserve[i];
    }
    return NULL;
}

tern_status tern_collective_buffer_open(tern_context *context, size_t bytes) {
    context->collective_buffer = malloc(bytes);
    context->collective_buffer_bytes = bytes;
    if (context->collective_buffer != NULL)
        return TERN_OK;
    context->collective_buffer = reserve_take();
    context->collective_buffer_bytes = TERN_COLLECTIVE_BUFFER_RESERVE;
    return tern_fail(TERN_ERR_MEMORY, "no memory for %zu bytes that collectives work in", bytes);
}

void tern_collective_buffer_leave(tern_context *context) { context->collective_buffer = NULL; }

void tern_collective_buffer_close(tern_context *context) {
    if (context->collective_buffer_bytes != TERN_COLLECTIVE_BUFFER_RESERVE)
        free(context->collective_buffer);
    else if (context->collective_buffer != NULL)
        /* R6: reserve_take */
        atomic_fetch_and_explicit(
            &reserves_used,
            ~(UINT64_C(1) << ((size_t)(context->collective_buffer - reserve[0]) /
                              TERN_COLLECTIVE_BUFFER_RESERVE)),
            memory_order_release);
    context->collective_buffer = NULL;
}
