/*
 * A network as it may be on a bad day, between tern and the real one: it refuses posts, completes
 * operations late and in another order, and, where a test asks for it, takes operations for lost
 * that have landed, and others that have not; or that registers no memory, or completes nothing.
 * Or it has connections, of which an end gets few, as a card of verbs.
 */

#ifndef TERN_TESTS_HARNESS_FLAKY_H
#define TERN_TESTS_HARNESS_FLAKY_H

#include <stdbool.h>
#include <stdint.h>

/* From the next context on. seed 0: as it is; odd: it moves registered memory only. */
void flaky_network(uint64_t seed);
/* From now on one operation in so many is said to be lost; 0: none. */
void flaky_network_lose(uint64_t one_in);

/* From now on no memory can be registered. */
void flaky_network_refuse_memory(bool refuse);
/* From now on operations are taken and never complete. */
void flaky_network_swallow(bool swallow);

/* From now on some atomics are said to be done and are not. */
void flaky_network_lose_updates(bool lose);

/* From the next context on an end has connections, so many at most as it says itself (0: any
 * number). One on which an operation is lost fails all others until it is made again. */
void flaky_network_connect(uint64_t says);
/* From now on a further connection of an end that has so many is refused. */
void flaky_network_refuse_connections(uint64_t from);

/* Operations that were refused, came in another order, and were said to be lost; ends of other
 * processes that were dismissed; the most connections that an end has had; operations that were
 * posted at or were under way on a connection that had been left. */
typedef struct flaky_counts {
    uint64_t refused, reordered, lost, dismissed, connections_most, astray;
} flaky_counts;
flaky_counts flaky_network_counts(void);

#endif
