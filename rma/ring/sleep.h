#ifndef TERN_RMA_RING_SLEEP_H
#define TERN_RMA_RING_SLEEP_H

/*
 * How the target stops polling a ring into which the origin puts. No doorbell rings when such a put
 * lands, so the target has to poll the ring, and the cost of polling would grow with every rank
 * that ever sent something. So a target that has long found a ring empty, and polls many rings,
 * asks the origin whether it may stop polling:
 *
 *     target: question SLEEP, by a message, whose answer any thread of the origin's process gives
 *     answer: the ring is marked asleep, and p is the position up to which it is published
 *     origin: told = q after each publish; fence; if the mark is set, clears it: message WAKE
 *     target: polls on until it has consumed up to p; from then on nothing comes before WAKE
 *
 * No record is missed: a fence lies between setting the mark and reading p, and another between the
 * store of q and the look at the mark (as at direct rings, ring.h). So either p is at least q, and
 * the target polls until it has consumed up to q, or the origin sees the mark and sends a WAKE.
 * Each answer causes at most one WAKE, and the target asks again only after that. So a WAKE that
 * overtakes the answer ends the sleep that this answer would begin.
 *
 * Models: tests/memory/sleep.cpp, tests/spin/sleep.pml.
 */

#include "rma/message/message.h"

struct tern_in;
struct tern_out;
struct tern_sleep_ask;

/* State of a ring at its target. */
enum { TERN_SLEEP_AWAKE, TERN_SLEEP_ASKED, TERN_SLEEP_ALLOWED };

/* The target's part, for a ring that was found empty for long. Returns true if the target need not
 * poll it until tern_sleep_woken. */
bool tern_sleep_rest(tern_worker *worker, struct tern_in *in);
void tern_sleep_woken(struct tern_in *in);
/* Whether no answer about in is under way any more. */
bool tern_sleep_answered(tern_worker *worker, struct tern_in *in);
/* Waits for the answers that are under way. TERN_ERR_PEER. */
tern_status tern_sleep_settle(tern_worker *worker);

/* The origin's part. _published is called after a publish, and sends a WAKE if the target sleeps.
 * If no buffer is free, out->wake_due is set, and progress calls _wake again. */
void tern_sleep_published(tern_worker *worker, struct tern_out *out);
void tern_sleep_wake(tern_worker *worker, struct tern_out *out);

/* These serve SLEEP and WAKE; any thread. [out] answer: whether the target may stop polling, and
 * the position from which on. False: the message is malformed. */
bool tern_sleep_answer(tern_context *context, const tern_message *message, uint64_t answer[2]);
bool tern_sleep_serve_wake(tern_context *context, const tern_message *message);

#endif
