#ifndef TERN_RPC_SYNCHRONIZER_H
#define TERN_RPC_SYNCHRONIZER_H

/*
 * Lowering counters. Those of the own node by the processor's atomics. Those of others by a message
 * that their owner applies and does not answer; such notices are gathered by counter and sent at
 * the end of a round of progress. Quiescence counts them: sent here, taken there.
 */

#include "rpc/state.h"
#include "tern/synchronizer.h"

/* Whether a notice can be noted down now: to be asked before what it tells of is done. */
bool tern_notices_have_room(const tern_worker *worker);

/* Lowers a counter that has been checked; a notice if it is of another node. */
void tern_counter_lower(tern_worker *worker, tern_ptr counter, uint64_t by);

/* The same for a thread without a worker, whose notice is not gathered. Waits for a buffer. */
void tern_counter_lower_now(tern_worker *nobody, tern_ptr counter, uint64_t by);

/* TERN_ERR_RANGE, TERN_ERR_ARGUMENT. */
tern_status tern_counter_check(const tern_worker *worker, tern_ptr counter);

/* Lowers the counter, which is near, once what was just sent to target is published. */
void tern_counter_lower_when_sent(tern_worker *worker, tern_ptr counter, uint32_t target);

/* Sends notices and finds out what has been published: how many. The progress of the layer. */
size_t tern_synchronizers_advance(tern_worker *worker);
/* A rank to which notices wait: rank, or any for TERN_ANYBODY; TERN_NOBODY. */
uint32_t tern_synchronizers_unsent(const tern_worker *worker, uint32_t rank);

void tern_synchronizers_discard(tern_worker *worker);

#endif
