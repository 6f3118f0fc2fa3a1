#include "rma/memory/state.h"
#include "rma/reply/owner_service.h"
#include "rpc/archive/archive.h"
#include "rpc/archive/buffer.h"
#include "tern/memory.h"

/* Buffers in segments. Any thread may free such a buffer, since giving its memory back takes the
 * heap's lock. */

static void release_segment(void *data, size_t bytes, void *user) {
    tern_context *context = user;
    const tern_rma *rma = tern_rma_of(context);
    (void)bytes;
    (void)tern_memory_give(context, (uint64_t)((char *)data - rma->mine) - rma->layout.heap);
}

tern_status tern_buffer_create_in_segment(tern_worker *worker, size_t bytes, tern_buffer **buffer) {
    tern_ptr gaddr = TERN_NULL;
    tern_buffer *made = NULL;
    tern_status status = tern_alloc(worker, bytes > 0 ? bytes : 1, 0, TERN_DOMAIN_GLOBAL, &gaddr);
    if (status != TERN_OK)
        return status;
    status = tern_buffer_wrap(tern_local(worker->context, gaddr), bytes, release_segment,
                              worker->context, &made);
    if (status != TERN_OK) {
        tern_ignore(tern_free(worker, gaddr));
        return status;
    }
    made->gaddr = gaddr;
    *buffer = made;
    return TERN_OK;
}
