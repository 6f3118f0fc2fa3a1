#ifndef TERN_RMA_NOTIFY_COLLECTIVES_H
#define TERN_RMA_NOTIFY_COLLECTIVES_H

/*
 * The inside of collectives over notifications. Ranks exchange vectors in fragments, records of
 * tern's own, which progress consumes:
 *
 *     header | number | word | data ...     header's id: {round:8, kind:8, type:8}
 *
 * number is the number of the collective, which every rank counts alike. word is the length of the
 * whole vector on the sender. In a hail (a question to a rank that lets others wait, conflict.c),
 * word is the number of a meeting.
 *
 *     collectives.c   the algorithms: which rank sends what to which rank
 *     stream.c        sends a vector to another rank in fragments of at most `fragment_max` bytes
 *     fragments.c     takes fragments, keeps those that arrive early, and answers hails
 *     conflict.c      ranks in different collectives, or with vectors of different length: meetings
 *
 * Progress copies a fragment that the worker waits for from the ring straight to the caller's
 * memory, and keeps a fragment that arrives earlier. A rank sends at most TERN_STREAM_CREDIT
 * fragments of a stream before it waits for the other rank, so the memory for kept fragments does
 * not depend on the length of the vector. No rank gets far ahead of another: a barrier or an
 * all-reduce ends for no rank before all have come to it, and every TERN_NOTIFIED_AHEAD_MAX-th
 * collective, if it is a broadcast, begins with a barrier.
 *
 * Only the worker's own thread touches this state, but for the two words that tell of meetings
 * (rma/notify/notify.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "rma/notify/notify.h"
#include "src/context.h"
#include "src/progress/wait.h"
#include "tern/collective.h"

enum { TERN_NOTIFIED_AHEAD_MAX = 16, TERN_STREAM_CREDIT = 16 };

/* A vector of at most this many bytes is all-reduced as a whole, and a fragment of at most this
 * many bytes fits into spare memory. */
enum { TERN_NOTIFIED_SMALL = 1024 };

/* Types of fragments: data of the collective; a hail, by which the sender says that it waits for
 * this rank, and which meeting it comes to next; a notice that the collective has failed on the
 * sender. */
enum { TERN_FRAGMENT_DATA, TERN_FRAGMENT_HAIL, TERN_FRAGMENT_FAILED, TERN_FRAGMENT_TYPES };

/* What a message with the number of a meeting says: the sender waits in that meeting, or the sender
 * calls all ranks to it. */
enum { TERN_MEETING_MEETS, TERN_MEETING_CALL, TERN_MEETING_TYPES };

/* A fragment or a hail that the worker keeps because it came before the worker waits for it, in a
 * list in the order of arrival. */
typedef struct tern_notified_fragment {
    struct tern_notified_fragment *next;
    uint64_t sequence, word;
    uint32_t origin, round, kind, type; /* origin: rank */
    size_t bytes;
    uint64_t data[];
} tern_notified_fragment;

/* A vector that this rank waits for from another one. */
typedef struct tern_notified_stream {
    struct tern_notified_stream *next; /* the next one that the worker waits for */
    uint32_t origin, round;
    bool reduces;      /* reduces arriving numbers into data; otherwise they replace data */
    bool theirs_first; /* the origin is the lower rank */
    tern_number type;
    tern_reduction op;
    char *data;
    size_t bytes;
    size_t taken; /* number of fragments that have come */
} tern_notified_stream;

/* fragments.c. Returns the link to the first kept fragment of data of a round from rank, or a link
 * that holds NULL if no such fragment is kept. */
tern_notified_fragment **tern_notified_fragment_find(tern_worker *worker, uint32_t rank,
                                                     uint32_t round);
void tern_notified_fragment_free(tern_notify *n, tern_notified_fragment *fragment);
/* Drops the fragments of collectives before `sequence`, but not hails that are still to be
 * answered. */
void tern_notified_fragments_discard(tern_worker *worker, uint64_t sequence);
/* Tries once to send a fragment. Its kind is that of the collective that the worker is in. Returns
 * the errors of tern_ring_open and tern_ring_reserve. */
tern_status tern_notified_fragment_send(tern_worker *worker, uint32_t rank, uint32_t type,
                                        uint32_t round, uint64_t number, uint64_t word,
                                        const void *data, size_t bytes);

/* conflict.c */
extern const char *const tern_notified_names[TERN_NOTIFY_KINDS];
/* The number of the meeting that all ranks come to next. */
uint64_t tern_notified_next_meeting(const tern_worker *worker);
/* Tries once to tell a rank of a meeting. */
tern_status tern_notified_tell(tern_worker *worker, uint32_t rank, uint32_t type, uint64_t meeting);
/* One round of waiting for a rank. */
tern_status tern_notified_step(tern_worker *worker, tern_wait_state *wait);
/* Checks whether, as far as this rank knows, all ranks are in the same collective with vectors of
 * one length. If not, calls a meeting and fails there. If another rank has called a meeting or
 * waits in one, comes to it. Returns the result of the meeting. */
tern_status tern_notified_look(tern_worker *worker);
/* Calls a meeting and fails there: rank has sent a fragment of another length than bytes. */
tern_status tern_notified_refuse_bytes(tern_worker *worker, size_t bytes, uint32_t rank,
                                       size_t other_bytes);
/* Handles the failure of an attempt: after TERN_ERR_AGAIN makes one round of waiting, so that the
 * caller can try again; after another error calls a meeting, where all ranks learn of it. */
tern_status tern_notified_again(tern_worker *worker, tern_wait_state *wait, tern_status status);
/* Sends a hail to rank, for which this rank has waited long, unless it has just sent one: tells
 * rank which collective this rank is in. */
void tern_notified_hail(tern_worker *worker, uint32_t rank);

/* stream.c. These return how many fragments a stream of `bytes` bytes has, and the length of
 * fragment `at`. */
size_t tern_stream_fragments(const tern_notify *n, size_t bytes);
size_t tern_stream_fragment_bytes(const tern_notify *n, size_t bytes, size_t at);
/* Takes the data of the stream's next fragment: copies it to the vector, or reduces it into it. */
void tern_stream_take(tern_notify *n, tern_notified_stream *stream, const void *data, size_t bytes);
/* Lets progress take the fragments of a stream. The caller has filled in all members except `next`
 * and `taken`, and keeps the stream in place until tern_stream_end. */
void tern_stream_begin(tern_worker *worker, tern_notified_stream *stream);
void tern_stream_end(tern_worker *worker, const tern_notified_stream *stream);
/* Waits until `fragments` fragments have come, or the collective has failed. */
tern_status tern_stream_wait(tern_worker *worker, tern_notified_stream *stream, size_t fragments);
/* Sends fragment `at` of a stream to rank. Waits for room in the ring, and for an acknowledgement
 * of rank if a whole credit of fragments is unacknowledged. */
tern_status tern_stream_send_fragment(tern_worker *worker, uint32_t rank, uint32_t round,
                                      const void *data, size_t bytes, size_t at);
/* Tells the sender that fragment `at` has been taken, if the sender will wait for that. */
tern_status tern_stream_acknowledge(tern_worker *worker, const tern_notified_stream *stream,
                                    size_t at);
/* These send or receive all fragments of a stream. */
tern_status tern_stream_send(tern_worker *worker, uint32_t rank, uint32_t round, const void *data,
                             size_t bytes);
tern_status tern_stream_receive(tern_worker *worker, tern_notified_stream *stream);
/* Exchanges vectors with one rank in one round: sends data to the rank from which stream comes. The
 * two lengths differ by less than a fragment, and the memory does not overlap. */
tern_status tern_stream_exchange(tern_worker *worker, const void *data, size_t bytes,
                                 tern_notified_stream *stream);

#endif
