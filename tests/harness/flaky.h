/*
 * A bad network between tern and the real one. It refuses posts, and completes operations late and
 * in another order. If a test asks for it, it reports operations as lost, of which some have landed
 * and some have not; or it registers no memory, or completes nothing; or it has connections, of
 * which an end gets few, as with a card of verbs.
 */

#ifndef TERN_TESTS_HARNESS_FLAKY_H
#define TERN_TESTS_HARNESS_FLAKY_H

#include <stdbool.h>
#include <stdint.h>

/* Puts this network between tern and the real one, from the next context on. seed 0: it does what
 * the real one does; odd: it moves registered memory only. */
void flaky_network(uint64_t seed);
/* From now on the network reports one operation in so many as lost; 0: none. */
void flaky_network_lose(uint64_t one_in);

/* From now on no memory can be registered. */
void flaky_network_refuse_memory(bool refuse);
/* From now on the network accepts operations and never completes them. */
void flaky_network_swallow(bool swallow);

/* From now on the network completes nothing; what it has done meanwhile it completes later. */
void flaky_network_silence(bool silent);

/* From now on the network reports some atomics as done that it has not done. */
void flaky_network_lose_updates(bool lose);

/* From the next context on the network has no atomics of 4 bytes. */
void flaky_network_wide_only(bool wide);
/* From the next context on the network says that its atomics and the processor's are atomic with
 * each other. */
void flaky_network_coherent(bool claims);
/* From now on it loses some updates of words that the processor changes, too. */
void flaky_network_lose_to_processor(bool lose);

/* From the next context on an end has connections, and says that it may have at most so many (0:
 * any number). A connection on which an operation is lost fails all its other operations until it
 * is made again. */
void flaky_network_connect(uint64_t says);
/* From now on the network refuses a further connection to an end that has so many. */
void flaky_network_refuse_connections(uint64_t from);

/* Counts: operations that were refused, came in another order, and were reported as lost; ends of
 * other processes that were dismissed; the most connections that an end has had; operations that
 * were posted at or were under way on a connection that had been left. */
typedef struct flaky_counts {
    uint64_t refused, reordered, lost, dismissed, connections_most, astray;
} flaky_counts;
flaky_counts flaky_network_counts(void);

#endif
