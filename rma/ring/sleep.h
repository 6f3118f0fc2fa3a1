#ifndef TERN_RMA_RING_SLEEP_H
#define TERN_RMA_RING_SLEEP_H

/*
 * How the target stops polling a ring into which the origin puts. No doorbell rings when such a put
 * lands, so the target has to poll the ring, and the cost of that would grow with every rank that
 * ever sent something. So a target that has found a ring empty for long, and polls many, asks the
 * origin whether it may stop:
 *
 *     target: question SLEEP, by a message, whose answer any thread of the origin's process gives
 *     answer: the ring is marked asleep, and p is the position up to which it is published
 *     origin: told = q after each publish; fence; takes the mark off if it is there: message WAKE
 *     target: polls on until it has consumed p; from then on nothing comes before WAKE
 *
 * No record is missed: a fence lies between setting the mark and reading p, and another between the
 * store of q and the look at the mark (as at direct rings, ring.h). So either p is at least q, and
 * the target polls until it is consumed, or the origin sees the mark, and a WAKE follows. Each
 * answer causes at most one WAKE, and the target asks again only after that. So a WAKE that
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

/* The origin's part. Called after a publish; _wake again as long as out->wake_due. */
void tern_sleep_published(tern_worker *worker, struct tern_out *out);
void tern_sleep_wake(tern_worker *worker, struct tern_out *out);

/* Serve the two messages, in any thread. [out] answer: whether the ring may sleep, and from which
 * position on. False: the message is malformed. */
bool tern_sleep_answer(tern_context *context, const tern_message *message, uint64_t answer[2]);
bool tern_sleep_serve_wake(tern_context *context, const tern_message *message);

#endif
