#ifndef TERN_RMA_NETWORK_HELPER_H
#define TERN_RMA_NETWORK_HELPER_H

/*
 * The helper is a thread that makes a network's progress while no worker of the process does, so
 * that a put also lands while its target computes. It watches tern_network.rounds. While that
 * counter moves, the helper looks at it once in a millisecond and leaves the network alone. When
 * the counter stands still the helper makes progress, and then sleeps on a descriptor until the
 * network has work. It takes the network's lock only if that is free, and runs no handlers.
 */

#include "rma/network/network.h"

typedef struct tern_helper tern_helper;

/* Starts the helper of a network. descriptor: readable when the network has work. may_sleep: called
 * under the lock after progress; false: there is more to do. NULL: no thread could be started, and
 * no error is set. */
tern_helper *tern_helper_start(tern_network *network, int descriptor,
                               bool (*may_sleep)(tern_network *network));

/* Ends the helper. NULL: nothing to end. */
void tern_helper_stop(tern_helper *helper);

/* For tests: how often it has woken up, and the processor time that it has used, ns. */
uint64_t tern_helper_turns(const tern_helper *helper);
uint64_t tern_helper_processor_ns(const tern_helper *helper);

#endif
