#ifndef TERN_RPC_SYNCHRONIZER_H
#define TERN_RPC_SYNCHRONIZER_H

/*
 * Lowering the counters of synchronizers. A worker lowers counters of its own node with the
 * processor's atomics. For a counter of another node it sends its owner a message (a notice), which
 * the owner applies and does not answer. A worker adds up the notices to one counter and sends them
 * at the end of a round of progress. Quiescence counts notices as sent here and as taken at the
 * owner.
 */

#include "rpc/state.h"
#include "tern/synchronizer.h"

/* Returns whether there is room for a notice. Ask this before the operation whose end the notice
 * tells. */
bool tern_notices_have_room(const tern_worker *worker);

/* Lowers a counter that has been checked. If it is on another node, its owner lowers it after a
 * notice. */
void tern_counter_lower(tern_worker *worker, tern_ptr counter, uint64_t by);

/* Does the same for a thread without a worker, whose notice is sent at once. Waits for a message
 * buffer. */
void tern_counter_lower_by_nobody(tern_worker *nobody, tern_ptr counter, uint64_t by);

/* Checks that a counter is aligned and lies in a segment. Otherwise returns TERN_ERR_ARGUMENT or
 * TERN_ERR_RANGE. */
tern_status tern_counter_check(const tern_worker *worker, tern_ptr counter);

/* Lowers the counter, which load/store reaches, when the call that was just sent to target is
 * published. */
void tern_counter_lower_when_sent(tern_worker *worker, tern_ptr counter, uint32_t target);

/* Sends notices, and lowers the counters of calls that have been published. Returns how many
 * notices and calls these were. Part of the layer's progress. */
size_t tern_synchronizers_advance(tern_worker *worker);
/* Returns a rank to which notices wait to be sent, or TERN_NOBODY. Considers only rank, or all
 * ranks if rank is TERN_ANYBODY. */
uint32_t tern_synchronizers_unsent(const tern_worker *worker, uint32_t rank);

void tern_synchronizers_discard(tern_worker *worker);

#endif
