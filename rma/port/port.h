#ifndef TERN_RMA_PORT_PORT_H
#define TERN_RMA_PORT_PORT_H

/*
 * A port is a worker's access to the network. An operation under way is a posting; a large
 * operation is several postings, of which the first stands for the whole. A port knows only the
 * ranks to which its worker has talked. It asks each of them (rma/port/question.h) for its end and
 * for rkeys of its segment: one rkey for each piece of the segment that is used, so that no other
 * piece is registered.
 */

#include <mpi.h>

#include "rma/network/process.h"
#include "src/context.h"

struct tern_rkey;

typedef struct tern_port tern_port;
typedef struct tern_posting tern_posting;

/* Closes a port; port may be NULL. */
void tern_port_close(tern_port *port);

/* Makes first contact with rank. Returns TERN_ERR_AGAIN until rank has told how to reach that
 * offset in its segment. */
tern_status tern_port_meet(tern_worker *worker, uint32_t rank, uint64_t offset);

/* Whether first contact with rank needs only its listener and the network. */
bool tern_port_meets_alone(const tern_worker *worker, uint32_t rank);

/* Waits for the answers to all open questions of the port. TERN_ERR_PEER. */
tern_status tern_port_settle(tern_worker *worker);

/* Which call tells the program that the network has lost an operation that was not kept. */
typedef enum tern_loss {
    TERN_LOSS_FLUSH, /* the program's next flush: a put of the program */
    TERN_LOSS_ASKED, /* its caller asks (tern_port_lost_since), as for notified puts */
    TERN_LOSS_TOLD,  /* none: its caller has returned an error */
    TERN_LOSSES
} tern_loss;

/* An operation that a port is to start. */
typedef struct tern_move {
    tern_network_act act; /* an atomic is copied: `here` holds tern_network_words, and gets old */
    bool copied;          /* a write: `here` is free once all of it has been started */
    bool kept;            /* the caller will ask for its end (tern_posting_end) */
    bool again;           /* may be posted again, however late, if the network loses it */
    tern_loss loss;       /* not kept: what tells of its loss */
    uint32_t rank;
    uint64_t offset;        /* in the segment of rank, or in a region of it */
    struct tern_rkey *rkey; /* of the region, held; released when the operation ends */
    void *here;
    uint64_t bytes;
    const struct tern_answer_to *answer; /* the cell, if a reply is written; else NULL */
} tern_move;

/* The cell of a reply. If the network loses a reply, tern sends it by a message, whose receiver
 * compares its sequence: if it were put again, it could overwrite the answer to a later
 * question. */
typedef struct tern_answer_to {
    uint32_t worker, cell;
} tern_answer_to;

#define TERN_POSTING_COPY 1088u /* a move of so many bytes is one posting; holds a reply cell */
#define TERN_COPY_MAX 65536u    /* a port has copies for some moves of so many bytes */

/* Starts the next part of a move, from *moved on, and adds the part's bytes to *moved. whole: NULL
 * before the first part. Never waits. TERN_ERR_AGAIN: nothing was started: the rank has to answer a
 * question first, or other operations have to complete first. After another error the caller
 * abandons the whole if it has begun; otherwise the caller still owns the rkey. */
tern_status tern_port_start(tern_worker *worker, const tern_move *move, uint64_t *moved,
                            tern_posting **whole);

bool tern_posting_landed(const tern_posting *whole);
/* Gives back a kept posting that has landed. TERN_ERR_NETWORK: the operation failed. */
tern_status tern_posting_end(tern_worker *worker, tern_posting *whole);
/* Called when the caller will not ask for the end any more. open: not all parts were started. If
 * the rank is dead and the network can end operations (verbs), the operation no longer touches
 * `here`; otherwise it may still do so. */
void tern_posting_abandon(tern_worker *worker, tern_posting *whole, bool open);

/* Handles completions; returns how many. */
size_t tern_port_poll(tern_worker *worker);
/* From `on` to its end, and while the worker is corked, posts may wait for further ones, with which
 * they start together. The end starts them, unless the worker is corked; so does each poll. */
void tern_port_gather(tern_worker *worker, bool on);
/* Called before a wait for operations of this worker on rank that are not kept: the network may
 * complete them late otherwise. */
void tern_port_hasten(tern_worker *worker, uint32_t rank);
/* Operations of this worker on rank that are under way. */
uint32_t tern_port_under_way(const tern_worker *worker, uint32_t rank);

/*
 * Losses. A put that is copied returns before it has landed, so a later call tells that the network
 * has lost it: the program's next flush. tern flushes as well, for an operation that needs earlier
 * puts to have landed. Such a flush fails once for a loss, too, but the program's flush still
 * tells of it.
 */

typedef enum tern_flusher { TERN_FLUSHER_TERN, TERN_FLUSHER_PROGRAM, TERN_FLUSHERS } tern_flusher;

/* TERN_ERR_NETWORK or _PEER: a put to rank with TERN_LOSS_FLUSH was lost since this was last called
 * for the flusher, or for the program. */
tern_status tern_port_tell(tern_worker *worker, uint32_t rank, tern_flusher flusher);
/* Whether the program's next flush will tell of a loss. */
bool tern_port_is_untold(const tern_worker *worker, uint32_t rank);
/* Notes that a put to rank is lost, of which nothing else tells the program. */
void tern_port_lose(tern_worker *worker, uint32_t rank);
/* How many puts to rank with TERN_LOSS_ASKED were lost so far. */
uint64_t tern_port_losses(const tern_worker *worker, uint32_t rank);
/* TERN_ERR_NETWORK or _PEER: some more of them were lost since there were so many. */
tern_status tern_port_lost_since(const tern_worker *worker, uint32_t rank, uint64_t losses);

#endif
