#ifndef TERN_RMA_REPLY_ANSWER_H
#define TERN_RMA_REPLY_ANSWER_H

/*
 * Waiting for the answer to a call, or for room in a ring, where shared memory may be damaged. A
 * record that was written over is never answered: the target stops before it, or refuses it and
 * closes the ring. An answer that was written over is not recognized. The origin can tell both from
 * slowness by what only it knows:
 *
 *     ring   From the position that the target has consumed last to the end of what is published,
 *            one record follows the other, and no correct rank writes there. The origin, who knows
 *            the end, walks along the headers. A target that refuses a record says that it has
 *            consumed what is no position.
 *            A target that hears its doorbell says how much it has consumed. Once that is
 *            the record of a call whose answer is stored before, and the answer is not there, it
 *            never comes.
 *     cell   Until the answer comes, the sequence is what it was when the cell was reserved.
 *
 * The origin looks when it looks after its peers, every few milliseconds of a wait, also of one
 * whose polls always find something else, and only where the rank shares memory. It also rings the
 * doorbell of a ring that holds something, as the mark by which the target asks for the doorbell
 * may be damaged, too.
 */

#include "rma/reply/reply.h"
#include "rma/ring/ring.h"
#include "src/progress/wait.h"

/* tern_wait_round of a wait for worker number target to answer, or, with back NULL, to make room.
 * rank: whose death ends the wait; TERN_ANYBODY. TERN_ERR_CORRUPT: the answer or the room will
 * never come. */
tern_status tern_answer_round(tern_worker *worker, tern_wait_state *wait, size_t found,
                              uint32_t rank, uint32_t target, const tern_return_address *back);

/* tern_glance of a test whether target has answered. */
tern_status tern_answer_glance(tern_worker *worker, uint32_t target,
                               const tern_return_address *back);

/* Looks at all rings of the worker to ranks that share memory; those that are damaged count as
 * records_malformed, once each. */
void tern_answer_look_everywhere(tern_worker *worker);

#endif
