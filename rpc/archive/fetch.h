#ifndef TERN_RPC_ARCHIVE_FETCH_H
#define TERN_RPC_ARCHIVE_FETCH_H

/*
 * Fetching: the target of a call with chunks gets them all at once, each into a buffer that the
 * function may keep, and tells the origin when it has them (paper 004, 3.3).
 */

#include "rma/reply/reply.h"
#include "rpc/state.h"
#include "src/context.h"
#include "tern/call.h"
#include "tern/archive.h"

/* Where the target of a call finds a chunk. */
typedef struct tern_chunk_source {
    tern_ptr gaddr; /* null: the chunk is in the origin's private memory, which only ranks of its
                       node can read, at address */
    uint64_t address;
    uint64_t bytes;
} tern_chunk_source;

/* The list of chunks, which follows the arguments of a call with chunks. */
typedef struct tern_chunk_list {
    tern_return_address back; /* the reply cell of the origin, which waits to reuse the memory */
    uint32_t count;
    uint32_t index; /* 1: the first chunk is the archive itself, and there are no other arguments */
    tern_chunk_source chunk[];
} tern_chunk_list;

typedef struct tern_fetch tern_fetch;

/* Returns the size of a tern_fetch for a list of so many bytes. */
size_t tern_fetch_size(size_t bytes);

/* Begins to fetch the chunks of a list, of which it keeps a copy. origin: number of the calling
 * worker. [out] fetch: memory of tern_fetch_size bytes. TERN_ERR_AGAIN: not begun, because this
 * worker is fetching too much already. TERN_ERR_RANGE: the list is wrong. */
tern_status tern_fetch_begin(tern_worker *worker, uint32_t origin, const char *list, size_t bytes,
                             tern_fetch *fetch);

/* Checks once which chunks have arrived. TERN_ERR_AGAIN: some are still on their way. TERN_OK: all
 * have arrived. Any other status: some will never arrive, and no get is under way any more. */
tern_status tern_fetch_advance(tern_worker *worker, tern_fetch *fetch);

/* Tells the origin the status of the fetch, and that it may reuse the memory of the chunks. */
void tern_fetch_tell(tern_worker *worker, const tern_fetch *fetch, tern_status status);

/* Fills in what the function of the call gets: the chunks, and the archive if it came as a chunk.
 */
void tern_fetch_give(const tern_fetch *fetch, tern_call_info *call, const void **arguments,
                     size_t *bytes);

/* Drops this worker's references to the buffers of the chunks, so that those that the function did
 * not keep are freed. Memory that MPI may still write is leaked. */
void tern_fetch_end(tern_worker *worker, tern_fetch *fetch);

/* Frees the buffer that the target has kept for its next call with chunks. Progress calls this
 * after a round without such a call: a target that has caught up with its callers does not need the
 * buffer. */
void tern_fetch_spare_drop(tern_worker *worker);

/*
 * shipment.c: the origin's side of calls whose chunks have not been fetched. Each shipment holds
 * references to the buffers of its chunks until the target says, in a reply cell, that it has the
 * chunks.
 */

/* Drops the shipments that have been fetched, and returns their number. Part of the layer's
 * progress. */
size_t tern_shipments_advance(tern_worker *worker);

/* Returns a rank that still has to get chunks and needs this rank's help for that, or TERN_NOBODY.
 * Considers only rank, or all ranks if rank is TERN_ANYBODY. */
uint32_t tern_shipments_unsent(const tern_worker *worker, uint32_t rank);

void tern_shipments_discard(tern_worker *worker);

#endif
