#ifndef TERN_RMA_PORT_PORT_H
#define TERN_RMA_PORT_PORT_H

/*
 * Port: a worker's door to the network. An operation under way is a posting; a large one is
 * several, of which the first stands for the whole. A port knows only those ranks that its worker
 * has talked to, and asks each of them (rma/port/question.h) for its end and for the keys of its
 * segment: one key for each piece of it that is used, so no more than that is registered.
 */

#include <mpi.h>

#include "rma/network/process.h"
#include "src/context.h"

struct tern_rkey;

typedef struct tern_port tern_port;
typedef struct tern_posting tern_posting;

/* NULL is fine. */
void tern_port_close(tern_port *port);

/* TERN_ERR_AGAIN until rank has told how a place in its segment is reached. */
tern_status tern_port_meet(tern_worker *worker, uint32_t rank, uint64_t place);

/* Whether meeting rank takes nothing but its listener and the network. */
bool tern_port_meets_alone(const tern_worker *worker, uint32_t rank);

/* Waits for the answers of ranks that were asked. TERN_ERR_PEER. */
tern_status tern_port_settle(tern_worker *worker);

/* What an operation moves. */
typedef struct tern_move {
    tern_network_act act; /* an atomic is copied: `here` has its tern_network_words, and gets old */
    bool copied;          /* a write of at most TERN_POSTING_COPY bytes: `here` is free at once */
    bool kept;            /* its end will be asked for */
    bool again;           /* where the network loses it, it may be posted again, however late */
    uint32_t rank;
    uint64_t place;        /* an offset in the segment of rank, or a place in a region of it */
    struct tern_rkey *key; /* of the region, held; released when the operation ends */
    void *here;
    uint64_t bytes;
    const struct tern_answer_to *answer; /* of a copied reply cell; NULL: it is none */
} tern_move;

/* A reply that the network loses goes by message, whose receiver compares it: put again, it could
 * overwrite the answer to a later question. */
typedef struct tern_answer_to {
    uint32_t worker, cell;
} tern_answer_to;

#define TERN_POSTING_COPY 1088u /* a reply cell */

/* Starts the next part of a move, from *moved on, which grows. whole: NULL before the first. Never
 * waits. TERN_ERR_AGAIN: nothing was started; the rank was asked, or room comes with completions.
 * After another error a whole that has begun is to be abandoned, and else the key is the caller's.
 */
tern_status tern_port_start(tern_worker *worker, const tern_move *move, uint64_t *moved,
                            tern_posting **whole);

bool tern_posting_landed(const tern_posting *whole);
/* Of one that is kept and has landed: gives it back. TERN_ERR_NETWORK: it has failed. */
tern_status tern_posting_end(tern_worker *worker, tern_posting *whole);
/* Nobody asks for its end any more. open: parts were still to be started. */
void tern_posting_abandon(tern_worker *worker, tern_posting *whole, bool open);

/* Completions; how many. */
size_t tern_port_poll(tern_worker *worker);
/* Operations of this worker on rank that are under way. */
uint32_t tern_port_under_way(const tern_worker *worker, uint32_t rank);
/* What went wrong, since it was last asked, with operations on rank that nobody keeps. */
tern_status tern_port_failed(tern_worker *worker, uint32_t rank);

#endif
