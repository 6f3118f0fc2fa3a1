#ifndef TERN_RMA_REGION_RKEY_H
#define TERN_RMA_REGION_RKEY_H

/*
 * Keys: what a process knows of regions of ranks of other nodes, address and length (the memory
 * descriptors of paper 001, III A). A key is asked for once, and the owner takes it back before it
 * ends the region; it is refused as long as the key is in use here: held by an operation, or by
 * puts through MPI's window that no flush has covered. Puts by messages are the owner's to wait
 * for: it is told how many messages there were.
 */

#include <mpi.h>

#include "rma/region/region.h"

typedef struct tern_rkey {
    _Atomic uint64_t state; /* see rkey.c */
    _Atomic uint64_t name;  /* rank and region */
    /* While known: */
    uint64_t base, bytes;
    tern_network_key network;
    /* The lock is held: */
    bool asked;
    bool stale; /* the answer on its way has been taken back already */
    tern_region_key answer;
    MPI_Request request;
    struct tern_rkey *next; /* set once */
} tern_rkey;

/* [out] key: of [place, place + bytes), held; NULL on an error. Never waits. TERN_ERR_AGAIN: its
 * owner has been asked and has not answered; try again after progress. TERN_ERR_RANGE: not
 * registered, or beyond its end. TERN_ERR_PEER. Any thread. */
tern_status tern_rkey_hold(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes,
                           tern_rkey **key);
/* The same, held no longer than the call. */
tern_status tern_rkey_check(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes);
/* Where a place is in its owner's process; its key is held. */
uint64_t tern_rkey_address(const tern_worker *worker, uint32_t rank, uint64_t place);
/* unflushed: something was put through the window. */
void tern_rkey_release(tern_worker *worker, tern_rkey *key, bool unflushed);

/* Whether puts through the window to regions of rank wait for a flush; and: one has covered them,
 * under the same lock of MPI. */
bool tern_rkeys_unflushed(tern_context *context, uint32_t rank);
void tern_rkeys_flushed(tern_context *context, uint32_t rank);

/* Serves the owner, rank. False: the key is in use, and stays. */
bool tern_rkey_revoke(tern_context *context, uint32_t rank, uint64_t place);

/* Waits for the answers to what was asked for. */
tern_status tern_rkeys_settle(tern_worker *worker);
/* Those that MPI may still write into are leaked. */
void tern_rkeys_close(tern_regions *regions);

#endif
