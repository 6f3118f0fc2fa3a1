#ifndef TERN_RMA_MEMORY_RKEY_H
#define TERN_RMA_MEMORY_RKEY_H

/*
 * Keys: what a process knows of regions of ranks of other nodes, address and length (the memory
 * descriptors of paper 001, III A). A key is asked for once, and the owner takes it back before it
 * ends the region; it is refused as long as the key is in use here: held by an operation, or by
 * puts through MPI's window that no flush has covered. Puts by messages are the owner's to wait
 * for: it is told how many messages there were.
 */

#include <mpi.h>

#include "rma/memory/region.h"

typedef struct tern_key {
    struct tern_key *next;
    uint32_t rank;
    uint64_t region; /* tern_place_region */
    bool known, asked;
    bool stale;           /* the answer on its way has been taken back already */
    uint64_t base, bytes; /* known */
    uint32_t holds;
    bool unflushed;
    int64_t answer[3]; /* status, base, bytes */
    MPI_Request request;
} tern_key;

/* [out] key: of [place, place + bytes), held; NULL on an error. Never waits. TERN_ERR_AGAIN: its
 * owner has been asked and has not answered; try again after progress. TERN_ERR_RANGE: not
 * registered, or beyond its end. TERN_ERR_PEER. Any thread. */
tern_status tern_key_hold(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes,
                          tern_key **key);
/* The same, held no longer than the call. */
tern_status tern_key_check(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes);
/* Where a place is in its owner's process; its key is held. */
uint64_t tern_key_address(const tern_worker *worker, uint32_t rank, uint64_t place);
/* unflushed: something was put through the window. */
void tern_key_release(tern_worker *worker, tern_key *key, bool unflushed);

/* Whether puts through the window to regions of rank wait for a flush; and: one has covered them,
 * under the same lock of MPI. */
bool tern_keys_unflushed(tern_context *context, uint32_t rank);
void tern_keys_flushed(tern_context *context, uint32_t rank);

/* Serves the owner, rank. False: the key is in use, and stays. */
bool tern_key_revoke(tern_context *context, uint32_t rank, uint64_t place);

/* Waits for the answers to what was asked for. */
tern_status tern_keys_settle(tern_worker *worker);
/* Those that MPI may still write into are leaked. */
void tern_keys_close(tern_regions *regions);

#endif
