#ifndef TERN_CIRCULAR_H
#define TERN_CIRCULAR_H

/*
 * Circular buffers: memory for the sources of a stream of puts (Seriema, paper 000, 4.1 and 4.2). A
 * program takes a piece of the buffer, fills it and puts it; or copies and puts data in one call
 * (tern_circular_put). tern uses the memory of a piece again when the put no longer needs it. So
 * the program waits for no put, and flushes only where it wants to know that its data has arrived.
 *
 * Over rma MPI may read a piece until a wait for local completion. One such wait covers all puts to
 * a rank: the buffer waits when flush_every puts to the rank were posted, or when it has come round
 * to a piece that MPI may still read. tern_put, in contrast, waits for each put. Over shm and p2p a
 * piece is free as soon as it is put, and the buffer never waits. tern_stats counts these waits as
 * settles: for each rank at most one for flush_every puts to it, or one each time the whole buffer
 * has been used.
 *
 * Pieces become free in the order in which they were taken. So a piece that the program holds for
 * long delays all pieces taken after it, and so do puts to a slow rank. To avoid that, make a
 * buffer for each peer; a worker may have any number of buffers. A buffer belongs to the worker
 * that made it, with the worker's thread rules, and must be destroyed before the context.
 *
 * Order and completion of the puts are those of tern_put (tern/transfer.h): tern_fence and
 * tern_flush cover them. Puts to registered memory (tern/registration.h) wait as tern_put does.
 */

#include "tern/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A circular buffer of one worker. Its members are tern's own. */
typedef struct tern_circular tern_circular;

/* Zeroed fields take the defaults in brackets. */
typedef struct tern_circular_options {
    size_t unit_bytes; /* the largest piece [4,096]; rounded up to 64, at most 1 GiB */
    size_t units;      /* at first [16] */
    size_t units_max;  /* [as many as make 1 MiB, at most 1,024 and at least units]; at most 2^30 */
    size_t grow_by;    /* units added when all are taken [as many as there are] */
    size_t flush_every; /* puts to one rank that are posted before the buffer waits for them [16];
                           SIZE_MAX: as many as the buffer has room for */
    int linear; /* 1: several pieces share a unit, each rounded up to 8 bytes [0: a piece takes a
                   whole unit] */
} tern_circular_options;

/* Makes a buffer of memory in this rank's segment, on the worker's NUMA node. options NULL: the
 * defaults. [out] circular. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_circular_create(tern_worker *worker,
                                                         const tern_circular_options *options,
                                                         tern_circular **circular);
/* Waits until no put needs the memory any more, and frees the buffer, with the pieces that the
 * program holds. NULL is fine. TERN_ERR_STATE: in a handler. TERN_ERR_MPI: MPI failed, and the
 * buffer is not freed. */
TERN_NODISCARD TERN_API tern_status tern_circular_destroy(tern_worker *worker,
                                                          tern_circular *circular);

/* A piece that the program holds: its own memory until it is put or given back. */
typedef struct tern_piece {
    void *memory; /* 8-byte aligned; at the start of a unit 64 */
    size_t bytes; /* as asked for */
    uint64_t id;  /* not for applications */
} tern_piece;

/* Takes a piece of 0 to unit_bytes bytes; the content is undefined. If no piece is free the buffer
 * grows. If it has units_max units, or the segment has no memory left, the call waits for the
 * oldest put; in handlers it returns TERN_ERR_AGAIN instead. [out] piece. TERN_ERR_RANGE: bytes is
 * more than unit_bytes; TERN_ERR_FULL: the program itself holds the oldest piece, so no wait could
 * free it. */
TERN_NODISCARD TERN_API tern_status tern_piece_take(tern_worker *worker, tern_circular *circular,
                                                    size_t bytes, tern_piece *piece);
/* Takes a piece as tern_piece_take does, but never waits: it returns TERN_ERR_AGAIN instead, and
 * the next tern_progress waits for the puts that occupy the memory. */
TERN_NODISCARD TERN_API tern_status tern_piece_try(tern_worker *worker, tern_circular *circular,
                                                   size_t bytes, tern_piece *piece);
/* Gives a piece back unused. TERN_ERR_ARGUMENT: it is not held. */
TERN_NODISCARD TERN_API tern_status tern_piece_give(tern_worker *worker, tern_circular *circular,
                                                    const tern_piece *piece);

/* Puts the first bytes of a piece to a global address and gives the piece back. Over p2p it waits
 * for a message buffer as tern_put does. Over rma it waits for the puts before if flush_every of
 * them have been posted; in handlers it leaves that wait to progress. On an error the program still
 * holds the piece. TERN_ERR_ARGUMENT: the program does not hold it; TERN_ERR_RANGE: the piece has
 * fewer bytes, or the address is out of range; TERN_ERR_PEER, TERN_ERR_MPI. */
TERN_NODISCARD TERN_API tern_status tern_piece_put(tern_worker *worker, tern_circular *circular,
                                                   const tern_piece *piece, tern_ptr to,
                                                   size_t bytes);

/* Not for applications. */
TERN_NODISCARD TERN_API tern_status tern_internal_circular_put_remote(tern_worker *worker,
                                                                      tern_circular *circular,
                                                                      tern_ptr to, const void *from,
                                                                      size_t bytes);

/* Copies bytes to a global address as tern_put does. Where tern_put would have to wait until the
 * source is reusable, the bytes go through the buffer; data larger than a unit goes without it.
 * Returns the same errors as tern_piece_take and tern_piece_put; nothing is put then. */
TERN_NODISCARD TERN_INLINE tern_status tern_circular_put(tern_worker *worker,
                                                         tern_circular *circular, tern_ptr to,
                                                         const void *from, size_t bytes) {
    if (__builtin_expect(tern_internal_reach_address(worker, to, bytes) == NULL, 0))
        return tern_internal_circular_put_remote(worker, circular, to, from, bytes);
    return tern_put(worker, to, from, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
