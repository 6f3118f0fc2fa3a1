#ifndef TERN_CIRCULAR_H
#define TERN_CIRCULAR_H

/*
 * Circular buffers: memory that streams of puts go out from (Seriema, paper 000, 4.1 and 4.2). A
 * program takes a piece of the buffer, fills it and puts it; or has data copied and put in one call
 * (tern_circular_put). When the put no longer needs the piece its memory is used again, with no
 * more ado: the program waits for no put and flushes only where it wants to know that its data has
 * arrived.
 *
 * Over rma a piece is under way until a wait for local completion covers it, and one such wait
 * serves all puts to a rank: it is made when flush_every of them were posted, or when the buffer
 * has come round to a piece under way. tern_put, in contrast, waits for each put. Over shm and p2p
 * a piece is free as soon as it is put, and nothing is ever waited for. tern_stats counts the waits
 * as settles: for each rank at most one for flush_every puts to it or one for a lap of the buffer.
 *
 * Pieces come free in the order in which they were taken: one that is held for long holds up those
 * behind it, and so do puts to a rank that is slow. A program that minds makes a buffer for each
 * peer; a worker may have as many as it likes. A buffer belongs to the worker that made it, with
 * the worker's thread rules, and must be destroyed before the context.
 *
 * Puts are ordered and complete as those of tern_put (tern/transfer.h): tern_fence and tern_flush
 * cover them. Those to registered memory (tern/registration.h) wait as tern_put does.
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
    size_t grow_by;    /* units that are added when all are taken [as many as there are] */
    size_t flush_every; /* puts to one rank that are posted before they are waited for [16];
                           SIZE_MAX: as many as the buffer takes */
    int linear; /* pieces of one unit are cut to the size asked for, in steps of 8 bytes [0: a
                   piece takes a unit] */
} tern_circular_options;

/* Makes a buffer of memory in this rank's segment, near the worker. options NULL: the defaults.
 * [out] circular. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_circular_create(tern_worker *worker,
                                                         const tern_circular_options *options,
                                                         tern_circular **circular);
/* Waits until no put needs the memory any more, and frees it, held pieces too. NULL is fine.
 * TERN_ERR_STATE in a handler; TERN_ERR_MPI: the buffer is still there. */
TERN_NODISCARD TERN_API tern_status tern_circular_destroy(tern_worker *worker,
                                                          tern_circular *circular);

/* A piece that the program holds: its own memory until it is put or given back. */
typedef struct tern_piece {
    void *memory; /* 8-byte aligned; at the start of a unit 64 */
    size_t bytes; /* as asked for */
    uint64_t id;  /* not for applications */
} tern_piece;

/* Takes a piece of 0 to unit_bytes bytes; the content is undefined. If none is free the buffer
 * grows; at units_max, and where the segment has no memory left, waits for the oldest put, but in
 * handlers TERN_ERR_AGAIN. [out] piece. TERN_ERR_RANGE: bytes; TERN_ERR_FULL: the program holds the
 * oldest piece, so waiting would be of no use. */
TERN_NODISCARD TERN_API tern_status tern_piece_take(tern_worker *worker, tern_circular *circular,
                                                    size_t bytes, tern_piece *piece);
/* The same without ever waiting: TERN_ERR_AGAIN; the next tern_progress then waits for the puts
 * that are in the way. */
TERN_NODISCARD TERN_API tern_status tern_piece_try(tern_worker *worker, tern_circular *circular,
                                                   size_t bytes, tern_piece *piece);
/* Gives a piece back unused. TERN_ERR_ARGUMENT: it is not held. */
TERN_NODISCARD TERN_API tern_status tern_piece_give(tern_worker *worker, tern_circular *circular,
                                                    const tern_piece *piece);

/* Puts the first bytes of a piece to a global place; the piece is no longer the program's. Over p2p
 * it waits for a message buffer as tern_put does, over rma for the puts before if flush_every of
 * them have been posted (in handlers progress does that). On an error the piece is still held.
 * TERN_ERR_ARGUMENT: it is not held; TERN_ERR_RANGE: bytes are more than it has, or the place;
 * TERN_ERR_PEER, TERN_ERR_MPI. */
TERN_NODISCARD TERN_API tern_status tern_piece_put(tern_worker *worker, tern_circular *circular,
                                                   const tern_piece *piece, tern_ptr to,
                                                   size_t bytes);

/* Not for applications. */
TERN_NODISCARD TERN_API tern_status tern_internal_circular_put_far(tern_worker *worker,
                                                                   tern_circular *circular,
                                                                   tern_ptr to, const void *from,
                                                                   size_t bytes);

/* Copies bytes to a global place as tern_put does, by way of the buffer where that is what makes
 * the source reusable at once; what is larger than a unit goes without. Errors as tern_piece_take
 * and tern_piece_put; nothing is put then. */
TERN_NODISCARD TERN_INLINE tern_status tern_circular_put(tern_worker *worker,
                                                         tern_circular *circular, tern_ptr to,
                                                         const void *from, size_t bytes) {
    if (__builtin_expect(tern_internal_reach_address(worker, to, bytes) == NULL, 0))
        return tern_internal_circular_put_far(worker, circular, to, from, bytes);
    return tern_put(worker, to, from, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
