#ifndef TERN_STATS_H
#define TERN_STATS_H

/*
 * Statistics: counters of what a worker has done since it was made, for tests of cost claims, for
 * benchmarks and for people who look for the cause of a delay. Counting costs one increment in
 * memory that only the worker's thread writes.
 */

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(field, meaning) */
#define TERN_STATS_TABLE(X)                                                                        \
    X(puts, "puts to memory that is not reached by load/store")                                    \
    X(gets, "gets from such memory")                                                               \
    X(atomics, "atomics on such memory")                                                           \
    X(bytes_staged, "bytes of puts and gets copied through memory of tern's on their way")         \
    X(bytes_got, "bytes of chunks of calls copied to where their functions find them")             \
    X(flushes, "flushes that had something to wait for")                                           \
    X(trips, "waits for an answer from such memory: of a get, an atomic or a flush")               \
    X(settles, "waits for local completion of puts from circular buffers")                         \
    X(circulars_grown, "circular buffers that were full and grew")                                 \
    X(connections_evicted, "connections over verbs that were closed to make room for others")      \
    X(network_copies, "posts over ofi and verbs whose data goes through a buffer of tern's")       \
    X(network_registrations, "registrations of memory for what a worker posts over verbs")         \
    X(network_completions, "completions that a card made over verbs: one may end many posts")      \
    X(network_doorbells, "times that a card was told of posts over verbs, of one or more")         \
    X(messages_sent, "two-sided messages sent by tern")                                            \
    X(messages_served, "two-sided messages served for others")                                     \
    X(records_received, "records consumed from rings")                                             \
    X(runs_received, "looks at rings that found records; over records_received: how many a look")  \
    X(frames_sent, "frames of records published over rma or p2p")                                  \
    X(frames_torn, "polls that met a frame that did not validate yet")                             \
    X(rings_opened, "rings set up towards other workers")                                          \
    X(message_channels, "rings that had no memory at their target: records go by messages")        \
    X(rings_reclaimed, "rings whose memory the target took back, because they were idle")          \
    X(rings_grown, "rings that were full and followed by larger ones")                             \
    X(rings_outgrown, "rings that have grown, each counted once however often")                    \
    X(rings_idled, "rings left to their doorbell")                                                 \
    X(doorbells_rung, "doorbells rung at other workers")                                           \
    X(credits_waited, "times a full ring was met")                                                 \
    X(notices_packed, "notified puts that went with their data in one record")                     \
    X(notices_ledger, "notified puts and gets whose data went by itself")                          \
    X(notices_queued, "notified operations that had to wait before they were posted")              \
    X(calls_sent, "calls issued")                                                                  \
    X(calls_overflowed, "calls that waited for room in a ring without their caller")               \
    X(overflow_most, "the most bytes that such calls have taken")                                  \
    X(calls_executed, "calls executed for others and itself")                                      \
    X(calls_refused, "calls whose handler returned an error")                                      \
    X(notices_sent, "synchronizers of other nodes told of calls that ran")                         \
    X(notices_taken, "such notices taken in for this node")                                        \
    X(yields, "times the processor was given up after looks in a row that found nothing")          \
    X(records_malformed, "records refused as malformed")

/* A counter for each line of the table. */
typedef struct tern_stats {
#define X(field, meaning) uint64_t field;
    TERN_STATS_TABLE(X)
#undef X
} tern_stats;

/* Copies the worker's counters. [out] stats: the copy. Only the worker's own thread may call it. */
TERN_API void tern_stats_get(const tern_worker *worker, tern_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
