#include "rma/memory/number.h"
#include "rma/notify/collectives.h"
#include "rma/memory/number.h"

/*
 * A stream is a vector that goes from one rank to another, in fragments of n->fragment_max bytes
 * and a rest. A vector of no bytes is one empty fragment.
 *
 * Hot path: a fragment that the receiver waits for is copied twice, into the ring and out of it,
 * without allocation or lock. Guarded by `tern-bench collective`.
 *
 * The sender of a stream has a credit of TERN_STREAM_CREDIT fragments. The receiver gives back half
 * of it at a time by an acknowledgement. It sends no acknowledgement for which the sender will not
 * wait, so a vector of up to TERN_STREAM_CREDIT fragments takes no more messages than its
 * fragments. When two ranks exchange vectors, the fragments of one rank acknowledge those of the
 * other.
 */

/* Ranks that share a core switch each time the credit is used up, so the credit must not be small:
 * with half as many fragments a broadcast of 16 MiB by 4 ranks on 2 busy cores took three times as
 * long. */
enum { STREAM_HALF = TERN_STREAM_CREDIT / 2 };

/* This bit of a round's number marks acknowledgements of its stream. */
enum { ROUND_ACKNOWLEDGES = 128 };

#define HAIL_NS 10000000u /* a rank that has waited this many ns for a stream sends a hail */

size_t tern_stream_fragments(const tern_notify *n, size_t bytes) {
    return bytes == 0 ? 1 : (bytes - 1) / n->fragment_max + 1;
}

size_t tern_stream_fragment_bytes(const tern_notify *n, size_t bytes, size_t at) {
    const size_t left = bytes - at * n->fragment_max;
    return left < n->fragment_max ? left : n->fragment_max;
}

void tern_stream_take(tern_notify *n, tern_notified_stream *stream, const void *data,
                      size_t bytes) {
    char *to = bytes > 0 ? stream->data + stream->taken * n->fragment_max : NULL;
    stream->taken++;
    if (bytes == 0)
        return;
    if (!stream->reduces)
        memcpy(to, data, bytes);
    else if (stream->theirs_first)
        tern_numbers_reduce(stream->type, stream->op, to, data, to, bytes / 8);
    else
        tern_numbers_reduce(stream->type, stream->op, to, to, data, bytes / 8);
}

void tern_stream_begin(tern_worker *worker, tern_notified_stream *stream) {
    tern_notify *n = tern_notify_of(worker);
    stream->taken = 0;
    stream->next = n->awaited;
    n->awaited = stream;
}

void tern_stream_end(tern_worker *worker, const tern_notified_stream *stream) {
    tern_notified_stream **link = &tern_notify_of(worker)->awaited;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
}

/* Takes the fragments that came before the worker waited for the stream. */
static tern_status stream_take_kept(tern_worker *worker, tern_notified_stream *stream) {
    tern_notify *n = tern_notify_of(worker);
    const size_t fragments = tern_stream_fragments(n, stream->bytes);
    while (stream->taken < fragments) {
        tern_notified_fragment **link =
            tern_notified_fragment_find(worker, stream->origin, stream->round);
        tern_notified_fragment *fragment = *link;
        if (fragment == NULL)
            break;
        const size_t bytes = tern_stream_fragment_bytes(n, stream->bytes, stream->taken);
        if (fragment->bytes != bytes)
            return tern_notified_refuse_bytes(worker, bytes, stream->origin, fragment->bytes);
        tern_stream_take(n, stream, fragment->data, bytes);
        *link = fragment->next;
        tern_notified_fragment_free(n, fragment);
    }
    return TERN_OK;
}

tern_status tern_stream_wait(tern_worker *worker, tern_notified_stream *stream, size_t fragments) {
    enum { ROUNDS_PER_LOOK = 64 }; /* rounds of waiting for one look at the clock */
    tern_wait_state wait = TERN_WAIT_START;
    tern_notify_of(worker)->hailed = 0;
    for (uint32_t i = 1;; i++) {
        tern_status status = tern_notified_look(worker);
        if (status == TERN_OK)
            status = stream_take_kept(worker, stream);
        if (status != TERN_OK || stream->taken >= fragments)
            return status;
        if (i % ROUNDS_PER_LOOK == 0 && wait.began != 0 && tern_now() - wait.began >= HAIL_NS)
            tern_notified_hail(worker, stream->origin);
        status = tern_notified_step(worker, &wait);
        if (status != TERN_OK)
            return status;
    }
}

/* Sends a fragment; waits for room in the ring, and comes to meetings meanwhile. */
static tern_status stream_put_fragment(tern_worker *worker, uint32_t rank, uint32_t round,
                                       const void *data, size_t bytes) {
    tern_wait_state wait = TERN_WAIT_START;
    for (;;) {
        tern_status status =
            tern_notified_fragment_send(worker, rank, TERN_FRAGMENT_DATA, round, worker->notified,
                                        tern_notify_of(worker)->bytes, data, bytes);
        if (status == TERN_OK)
            return status;
        status = tern_notified_again(worker, &wait, status);
        if (status == TERN_OK)
            status = tern_notified_look(worker);
        if (status != TERN_OK)
            return status;
    }
}

/* Waits for the acknowledgement without which the at-th fragment may not be sent yet. */
static tern_status stream_wait_for_credit(tern_worker *worker, uint32_t rank, uint32_t round,
                                          size_t at) {
    if (at < TERN_STREAM_CREDIT || at % STREAM_HALF != 0)
        return TERN_OK;
    tern_notified_stream stream = {.origin = rank, .round = round | ROUND_ACKNOWLEDGES};
    return tern_stream_receive(worker, &stream);
}

tern_status tern_stream_acknowledge(tern_worker *worker, const tern_notified_stream *stream,
                                    size_t at) {
    if ((at + 1) % STREAM_HALF != 0 ||
        at + 1 + STREAM_HALF >= tern_stream_fragments(tern_notify_of(worker), stream->bytes))
        return TERN_OK;
    return stream_put_fragment(worker, stream->origin, stream->round | ROUND_ACKNOWLEDGES, NULL, 0);
}

tern_status tern_stream_send_fragment(tern_worker *worker, uint32_t rank, uint32_t round,
                                      const void *data, size_t bytes, size_t at) {
    const tern_notify *n = tern_notify_of(worker);
    const tern_status status = stream_wait_for_credit(worker, rank, round, at);
    if (status != TERN_OK)
        return status;
    return stream_put_fragment(worker, rank, round,
                               bytes == 0 ? NULL : (const char *)data + at * n->fragment_max,
                               tern_stream_fragment_bytes(n, bytes, at));
}

tern_status tern_stream_send(tern_worker *worker, uint32_t rank, uint32_t round, const void *data,
                             size_t bytes) {
    const size_t fragments = tern_stream_fragments(tern_notify_of(worker), bytes);
    tern_status status = TERN_OK;
    for (size_t at = 0; at < fragments && status == TERN_OK; at++)
        status = tern_stream_send_fragment(worker, rank, round, data, bytes, at);
    return status;
}

tern_status tern_stream_receive(tern_worker *worker, tern_notified_stream *stream) {
    const size_t fragments = tern_stream_fragments(tern_notify_of(worker), stream->bytes);
    tern_status status = TERN_OK;
    tern_stream_begin(worker, stream);
    for (size_t at = 0; at < fragments && status == TERN_OK; at++) {
        status = tern_stream_wait(worker, stream, at + 1);
        if (status == TERN_OK)
            status = tern_stream_acknowledge(worker, stream, at);
    }
    tern_stream_end(worker, stream);
    return status;
}

tern_status tern_stream_exchange(tern_worker *worker, const void *data, size_t bytes,
                                 tern_notified_stream *stream) {
    const tern_notify *n = tern_notify_of(worker);
    const size_t sent = tern_stream_fragments(n, bytes),
                 expected = tern_stream_fragments(n, stream->bytes);
    tern_status status = TERN_OK;
    tern_stream_begin(worker, stream);
    for (size_t at = 0; at < sent && status == TERN_OK; at++) {
        if (at >= TERN_STREAM_CREDIT) {
            const size_t needed = at - TERN_STREAM_CREDIT + 1;
            status = tern_stream_wait(worker, stream, needed < expected ? needed : expected);
        }
        if (status == TERN_OK)
            status =
                stream_put_fragment(worker, stream->origin, stream->round,
                                    bytes == 0 ? NULL : (const char *)data + at * n->fragment_max,
                                    tern_stream_fragment_bytes(n, bytes, at));
    }
    if (status == TERN_OK)
        status = tern_stream_wait(worker, stream, expected);
    tern_stream_end(worker, stream);
    return status;
}
