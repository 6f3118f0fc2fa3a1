#ifndef TERN_RMA_THREAD_TRANSFER_H
#define TERN_RMA_THREAD_TRANSFER_H

/*
 * Puts and gets of threads without a worker, for the data of their calls, which go by message.
 * If load/store reaches the memory, they copy; otherwise messages ask the owner's process to copy.
 * A put is done before any message that the thread sends later to the same rank is served.
 */

#include "src/context.h"
#include "tern/ptr.h"

/* Puts; the source may be reused at once. Waits for send buffers. TERN_ERR_RANGE;
 * TERN_ERR_UNSUPPORTED: registered memory of another node; TERN_ERR_PEER; TERN_ERR_MEMORY. */
tern_status tern_thread_put(tern_context *context, tern_ptr gaddr, const void *from, size_t bytes);

/* Gets from memory of a segment. TERN_ERR_RANGE, TERN_ERR_PEER, TERN_ERR_MEMORY. Even after
 * an error nothing writes to `to` any more. */
tern_status tern_thread_get(tern_context *context, void *to, tern_ptr from, size_t bytes);

#endif
