#ifndef TERN_RMA_REPLY_ANSWER_H
#define TERN_RMA_REPLY_ANSWER_H

/*
 * How an origin waits for the answer to a call, or for room in a ring, where shared memory may be
 * damaged. A record that another rank has overwritten is never answered: the target stops before
 * it, or refuses it and closes the ring. An overwritten answer is not recognized. The origin can
 * tell both cases from a slow target by what only it knows:
 *
 *     ring   Between the position that the target consumed last and the end of the published
 *            part, one record follows the other, and no correct rank writes there. The origin knows
 *            the end and walks along the headers. A target that refuses a record stores a consumed
 *            position that cannot exist.
 *            A target that hears its doorbell says how far it has consumed. It stores the answer to
 *            a call before it says that the call's record is consumed. So if it has said that, and
 *            the answer is not there, the answer never comes.
 *     cell   Until the answer comes, the sequence is what it was when the cell was reserved.
 *
 * If the rank shares memory, the origin checks this whenever it checks its peers, which is every
 * few milliseconds of a wait, even if the polls of the wait always find something else. The origin
 * also rings the doorbell of a ring that holds records, since the mark by which the target asks for
 * the doorbell may be damaged, too.
 */

#include "rma/reply/reply.h"
#include "rma/ring/ring.h"
#include "src/progress/wait.h"

/* Makes a tern_wait_round, for a caller that waits until worker number target answers or, with back
 * NULL, makes room; checks for damage now and then. rank: the death of this rank ends the wait; or
 * TERN_ANYBODY. TERN_ERR_CORRUPT: the answer or the room will never come. */
tern_status tern_answer_round(tern_worker *worker, tern_wait_state *wait, size_t found,
                              uint32_t rank, uint32_t target, const tern_return_address *back);

/* Makes a tern_glance, for a caller that tests whether target has answered; checks for damage now
 * and then. */
tern_status tern_answer_glance(tern_worker *worker, uint32_t target,
                               const tern_return_address *back);

/* Checks all rings of the worker to ranks that share memory. Each damaged ring counts once in
 * records_malformed. */
void tern_answer_look_everywhere(tern_worker *worker);

#endif
