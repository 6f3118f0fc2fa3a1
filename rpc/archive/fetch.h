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

/* Where a chunk is. */
typedef struct tern_chunk_source {
    tern_ptr place;   /* or null: in the origin's private memory, which only its node can read */
    uint64_t address; /* there */
    uint64_t bytes;
} tern_chunk_source;

/* What follows the arguments of such a call. */
typedef struct tern_chunk_list {
    tern_return_address back; /* of who waits to reuse the memory */
    uint32_t count;
    uint32_t index; /* 1: the first one is the archive itself, and there are no other arguments */
    tern_chunk_source chunk[];
} tern_chunk_list;

typedef struct tern_fetch tern_fetch;

/* What a fetch with a list of so many bytes takes. */
size_t tern_fetch_size(size_t bytes);

/* Begins with the list of so many bytes, a copy of which it keeps; origin: worker number. [out]
 * fetch: in memory of the size. TERN_ERR_AGAIN: not begun, as too much is being fetched already.
 * TERN_ERR_RANGE: the list is wrong. */
tern_status tern_fetch_begin(tern_worker *worker, uint32_t origin, const char *list, size_t bytes,
                             tern_fetch *fetch);

/* One look at all chunks. TERN_ERR_AGAIN: some are still on their way. TERN_OK: all are here. Any
 * other: some never will be, and none is on its way any more. */
tern_status tern_fetch_advance(tern_worker *worker, tern_fetch *fetch);

/* Tells the origin that its memory is free, and whether all is well. */
void tern_fetch_tell(tern_worker *worker, const tern_fetch *fetch, tern_status status);

/* What the function is given: chunks, and the archive, if it came as one. */
void tern_fetch_give(const tern_fetch *fetch, tern_call_info *call, const void **arguments,
                     size_t *bytes);

/* Lets go of what the function did not keep. Memory that MPI may still write is leaked. */
void tern_fetch_end(tern_worker *worker, tern_fetch *fetch);

/* Gives back the memory that was kept for the next call. Once there was no call in a round of
 * progress, a target that is fast enough for that needs it no more. */
void tern_fetch_spare_drop(tern_worker *worker);

/*
 * shipment.c: calls whose chunks have not been fetched. Each keeps the buffers that its chunks lie
 * in until its target says, in a reply cell, that it has them.
 */

/* Lets go of what has been fetched; how many. The progress of the layer. */
size_t tern_shipments_advance(tern_worker *worker);

/* A rank that gets chunks with help from here, and has not got them: rank, or any for TERN_ANYBODY;
 * TERN_NOBODY. */
uint32_t tern_shipments_unsent(const tern_worker *worker, uint32_t rank);

void tern_shipments_discard(tern_worker *worker);

#endif
