#include "src/collective/room.h"

#include <stdlib.h>

#include "base/error.h"

/* The reserves: one for each context whose creation is failing, and for each context that left its
 * reserve to MPI. They are static, since a stack or a thread may end before MPI writes. */
enum { RESERVES = 64 };

static _Alignas(16) char reserve[RESERVES][TERN_ROOM_RESERVE];
static _Atomic uint64_t reserves_used; /* a bit for each reserve */

static char *reserve_take(void) {
    for (int i = 0; i < RESERVES; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        /* R6: tern_room_close */
        if ((atomic_fetch_or_explicit(&reserves_used, bit, memory_order_acquire) & bit) == 0)
            return reserve[i];
    }
    return NULL;
}

tern_status tern_room_open(tern_context *context, size_t bytes) {
    context->room = malloc(bytes);
    context->room_bytes = bytes;
    if (context->room != NULL)
        return TERN_OK;
    context->room = reserve_take();
    context->room_bytes = TERN_ROOM_RESERVE;
    return tern_fail(TERN_ERR_MEMORY, "no memory for %zu bytes that collectives work in", bytes);
}

void tern_room_leave(tern_context *context) { context->room = NULL; }

void tern_room_close(tern_context *context) {
    if (context->room_bytes != TERN_ROOM_RESERVE)
        free(context->room);
    else if (context->room != NULL)
        /* R6: reserve_take */
        atomic_fetch_and_explicit(
            &reserves_used,
            ~(UINT64_C(1) << ((size_t)(context->room - reserve[0]) / TERN_ROOM_RESERVE)),
            memory_order_release);
    context->room = NULL;
}
