#ifndef TERN_RMA_RING_RECLAIM_H
#define TERN_RMA_RING_RECLAIM_H

/*
 * Ring memory as a cache. A target that gets records of loose rings (rma/ring/loose.h), so of pairs
 * that found no ring memory, takes back a ring whose pair is quiet:
 *
 *     target: picks a ring that has been quiet; message RECLAIM{line, ring} to its origin
 *     origin: between two operations, if the line still has that ring and nothing is under way in
 *             it: waits until what it has put is there; message CLOSED{line, p}: the ring ends at
 *             position p, and the pair goes on as a loose one
 *     target: has consumed up to p: gives the ring's pieces back, goes on in the loose ring
 *
 * A busy loose pair asks for a ring as one that grows does (rma/ring/growth.c), and a MOVED record
 * ends the loose ring. So the records of a pair have one order, whatever carries them.
 *
 * Nothing late lands in pieces that another pair has: only the origin ends a ring, after all its
 * puts are there, and messages come in order. A ring is closed once: its pieces are not given back
 * before p is consumed, so an old RECLAIM names a ring that the line has no more, or one that it
 * has again, which is then closed like any other.
 *
 * The target asks for one ring for each TERN_RECLAIM_BATCHES batches of loose rings: where no pair
 * is quiet, or where too many take turns, the pairs that have rings keep most of them.
 *
 * Model: tests/spin/reclaim.pml.
 */

#include "rma/message/message.h"

struct tern_in;

#define TERN_RECLAIM_BATCHES 16u
#define TERN_RECLAIM_QUIET 1024u /* batches of loose rings in which a quiet one carries nothing */

/* A ring that records come through: the worker may ask for it later. */
void tern_reclaim_list(tern_worker *worker, struct tern_in *in);

/* The target's part of a round now and then: asks for a ring if one is wanted. */
void tern_reclaim_ask(tern_worker *worker);

/* After a doorbell: whether the ring's end has been told. */
void tern_reclaim_hear(tern_worker *worker, struct tern_in *in);
/* For a ring that is empty and whose end has been told: goes on in the loose ring, if it has been
 * consumed up to there. */
void tern_reclaim_leave(tern_worker *worker, struct tern_in *in);

/* The origin's part of a round: closes the rings that were asked for. */
void tern_reclaim_close(tern_worker *worker);

/* Serving, with the MPI lock. False: the message is malformed. [out] served: false if there is no
 * memory for it now. */
bool tern_reclaim_serve_ask(tern_context *context, uint32_t source, const tern_message *message);
bool tern_reclaim_serve_closed(tern_context *context, uint32_t source, const tern_message *message,
                               bool *served);

#endif
