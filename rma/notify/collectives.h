#ifndef TERN_RMA_NOTIFY_COLLECTIVES_H
#define TERN_RMA_NOTIFY_COLLECTIVES_H

/*
 * Collectives over notifications from inside. They are made of parts, records of tern's own that
 * progress consumes:
 *
 *     header | number | word | data ...     header's id: {round:8, kind:8, type:8}
 *
 * number is that of the collective, which every rank counts alike. word is the length of the whole
 * vector on the sender; of a hail it is the number of a meeting.
 *
 *     collectives.c   the algorithms: who sends what to whom
 *     stream.c        a vector goes from one rank to another in parts of at most `part_max` bytes
 *     parts.c         arriving parts, those that came before they were waited for, and the answers
 *     conflict.c      ranks in different collectives, or with vectors of different length: meetings
 *
 * What is waited for goes from the ring straight to the caller's memory, by any progress of the
 * worker. What arrives before is kept. A rank sends at most TERN_STREAM_WINDOW parts of a stream
 * before it waits for the other rank, so what is kept does not depend on the length of the vector.
 * Nobody is far ahead: a barrier or an all-reduce ends for no rank before all have come to
 * it, and every AHEAD_MAX-th collective, if it is a broadcast, begins with a barrier.
 *
 * All of it is the worker's own, but for the two words that tell of meetings (rma/notify/notify.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "rma/notify/notify.h"
#include "src/context.h"
#include "src/progress/wait.h"
#include "tern/collective.h"

enum { TERN_NOTIFIED_AHEAD_MAX = 16, TERN_STREAM_WINDOW = 16 };

/* A vector of up to so many bytes is all-reduced as a whole. A part of so many bytes finds room in
 * spare memory. */
enum { TERN_NOTIFIED_SMALL = 1024 };

/* A part of the collective; that its sender waits for this rank, with the number of the meeting
 * that it comes to next; that the collective has failed on its sender. */
enum { TERN_PART_DATA, TERN_PART_HAIL, TERN_PART_FAILED, TERN_PART_TYPES };

/* With the number of a meeting: that its sender waits in it; that all ranks have been called to it.
 */
enum { TERN_MEETING_MEETS, TERN_MEETING_CALL, TERN_MEETING_TYPES };

/* What has arrived and is not waited for yet: parts and hails, in the order of arrival. */
typedef struct tern_notified_part {
    struct tern_notified_part *next;
    uint64_t sequence, word;
    uint32_t origin, round, kind, type; /* origin: rank */
    size_t bytes;
    uint64_t data[];
} tern_notified_part;

/* What a rank waits for from another one. */
typedef struct tern_notified_stream {
    struct tern_notified_stream *next; /* others that the worker waits for */
    uint32_t origin, round;
    bool reduces;      /* numbers into what lies there, instead of taking its place */
    bool theirs_first; /* the origin is the lower rank */
    tern_number type;
    tern_reduction op;
    char *data;
    size_t bytes;
    size_t taken; /* parts */
} tern_notified_stream;

/* parts.c. The link to the first part of a round from rank that was kept; to NULL: there is none.
 */
tern_notified_part **tern_notified_part_find(tern_worker *worker, uint32_t rank, uint32_t round);
void tern_notified_part_free(tern_notify *n, tern_notified_part *part);
/* Drops what belongs to collectives before `sequence`, but for hails that are to be answered. */
void tern_notified_parts_discard(tern_worker *worker, uint64_t sequence);
/* Sends a part, once. Returns what tern_ring_open and tern_ring_reserve do. */
tern_status tern_notified_part_send(tern_worker *worker, uint32_t rank, uint32_t type,
                                    uint32_t round, uint64_t number, uint64_t word,
                                    const void *data, size_t bytes);

/* conflict.c */
extern const char *const tern_notified_names[TERN_NOTIFY_KINDS];
/* The number of the meeting that all ranks come to next. */
uint64_t tern_notified_next_meeting(const tern_worker *worker);
/* Tells a rank of a meeting, once. */
tern_status tern_notified_tell(tern_worker *worker, uint32_t rank, uint32_t type, uint64_t meeting);
/* One round of waiting for a rank. */
tern_status tern_notified_step(tern_worker *worker, tern_wait_state *wait);
/* Whether the ranks are, for all that is known here, in the same collective with vectors of one
 * length. Comes to a meeting otherwise, and if another rank has called one. */
tern_status tern_notified_look(tern_worker *worker);
/* Calls a meeting and fails there: rank has sent a part of another length than bytes. */
tern_status tern_notified_refuse_bytes(tern_worker *worker, size_t bytes, uint32_t rank,
                                       size_t other_bytes);
/* Of an attempt that may be made again: a round of waiting, or what all learn. */
tern_status tern_notified_again(tern_worker *worker, tern_wait_state *wait, tern_status status);
/* Tells rank, which this one has waited for, what it is in. */
void tern_notified_hail(tern_worker *worker, uint32_t rank);

/* stream.c. How many parts a stream of so many bytes has, and the bytes of the at-th. */
size_t tern_stream_parts(const tern_notify *n, size_t bytes);
size_t tern_stream_part_bytes(const tern_notify *n, size_t bytes, size_t at);
/* The data of the next part. */
void tern_stream_take(tern_notify *n, tern_notified_stream *stream, const void *data, size_t bytes);
/* Begins to wait: the stream is filled in, but for `next` and `taken`, and stays where it is until
 * its end. */
void tern_stream_begin(tern_worker *worker, tern_notified_stream *stream);
void tern_stream_end(tern_worker *worker, const tern_notified_stream *stream);
/* Waits until so many parts have come, or the collective has failed. */
tern_status tern_stream_wait(tern_worker *worker, tern_notified_stream *stream, size_t parts);
/* Sends the at-th part of a stream to rank, waiting for room in its ring, and for rank if it is a
 * window behind. */
tern_status tern_stream_send_part(tern_worker *worker, uint32_t rank, uint32_t round,
                                  const void *data, size_t bytes, size_t at);
/* Tells the sender that the at-th part has been taken, if it waits for that. */
tern_status tern_stream_acknowledge(tern_worker *worker, const tern_notified_stream *stream,
                                    size_t at);
/* All of a stream. */
tern_status tern_stream_send(tern_worker *worker, uint32_t rank, uint32_t round, const void *data,
                             size_t bytes);
tern_status tern_stream_receive(tern_worker *worker, tern_notified_stream *stream);
/* Sends one to the rank that the other comes from, in the same round. Their lengths differ by less
 * than a part, and their memory does not overlap. */
tern_status tern_stream_exchange(tern_worker *worker, const void *data, size_t bytes,
                                 tern_notified_stream *stream);

#endif
