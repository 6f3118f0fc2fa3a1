#ifndef TERN_RMA_REGION_RKEY_H
#define TERN_RMA_REGION_RKEY_H

/*
 * An rkey is what this process knows of a region on another node: its address, its length, and the
 * network's number for it (the memory descriptors of paper 001, III A). The process asks the
 * region's owner for the rkey once. The owner takes the rkey back before it ends the region. This
 * process refuses to give back an rkey that is in use: held by an operation, or needed by puts
 * through MPI's window that no flush has covered. Puts that were sent by messages do not count as a
 * use, because the owner is told how many messages were sent and waits for them.
 */

#include <mpi.h>

#include "rma/region/region.h"

typedef struct tern_rkey {
    _Atomic uint64_t state; /* see rkey.c */
    _Atomic uint64_t name;  /* rank and region */
    /* Valid while the rkey is known: */
    uint64_t base, bytes;
    tern_network_rkey network;
    /* Used with the lock held: */
    bool asked;
    bool stale; /* the owner has taken the rkey back before its answer came */
    tern_region_rkey answer;
    MPI_Request request;
    struct tern_rkey *next; /* set once */
} tern_rkey;

/* Gets the rkey of [offset, offset + bytes) and holds it. [out] rkey: NULL on an error. Never
 * waits. TERN_ERR_AGAIN: the owner was asked and has not answered yet; try again after progress.
 * TERN_ERR_RANGE: not registered, or beyond the end of the region. TERN_ERR_PEER. Any thread. */
tern_status tern_rkey_hold(tern_worker *worker, uint32_t rank, uint64_t offset, uint64_t bytes,
                           tern_rkey **rkey);
/* Makes the same check, but holds nothing after the call. */
tern_status tern_rkey_check(tern_worker *worker, uint32_t rank, uint64_t offset, uint64_t bytes);
/* Returns the address of the offset in its owner's process. The caller holds the region's rkey. */
uint64_t tern_rkey_address(const tern_worker *worker, uint32_t rank, uint64_t offset);
/* unflushed: the operation has put something through the window. */
void tern_rkey_release(tern_worker *worker, tern_rkey *rkey, bool unflushed);

/* _unflushed: whether puts through the window to regions of rank wait for a flush. _flushed: notes
 * that a flush has covered them; called under the same MPI lock as the flush. */
bool tern_rkeys_unflushed(tern_context *context, uint32_t rank);
void tern_rkeys_flushed(tern_context *context, uint32_t rank);

/* Serves the owner, rank, which takes an rkey back. False: the rkey is in use and stays. */
bool tern_rkey_revoke(tern_context *context, uint32_t rank, uint64_t offset);

/* Waits for the answers to all requests for rkeys. */
tern_status tern_rkeys_settle(tern_worker *worker);
/* Frees the rkeys. Leaks those into which MPI may still write an answer. */
void tern_rkeys_close(tern_regions *regions);

#endif
