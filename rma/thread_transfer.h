#ifndef TERN_RMA_THREAD_TRANSFER_H
#define TERN_RMA_THREAD_TRANSFER_H

/*
 * Puts and gets of threads without a worker, for what their calls by message carry. Where
 * load/store reaches the memory they copy; else the owner's process does, asked by messages. A put
 * is in order with the messages that the thread sends later.
 */

#include "src/context.h"
#include "tern/ptr.h"

/* The source may be reused at once. Waits for buffers of messages. TERN_ERR_RANGE,
 * TERN_ERR_UNSUPPORTED: registered memory of another node; TERN_ERR_PEER; TERN_ERR_MEMORY. */
tern_status tern_thread_put(tern_context *context, tern_ptr place, const void *from, size_t bytes);

/* Of memory of a segment. TERN_ERR_RANGE, TERN_ERR_PEER, TERN_ERR_MEMORY; to is the caller's
 * again in any case. */
tern_status tern_thread_get(tern_context *context, void *to, tern_ptr from, size_t bytes);

#endif
