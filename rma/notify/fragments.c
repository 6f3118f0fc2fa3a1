#include <stdlib.h>

#include "base/error.h"
#include "rma/notify/collectives.h"
#include "rma/memory/state.h"

/*
 * Fragments of collectives. If a stream waits for a fragment, the fragment is copied to the
 * stream's memory. Any other fragment is kept until a stream waits for it.
 *
 * If malloc fails, small fragments of the present collective go to spare memory, and other
 * fragments stay in their rings. That does not stop the collective: fragments from one rank come in
 * the order in which this rank waits for them, so the worker takes the fragment at the head of a
 * ring once it waits for it. Hails are dropped; their sender repeats them.
 */

/* Rank numbers have 20 bits, so with short vectors no more than SPARES fragments of one collective
 * come to a rank. */
enum { SPARES = 24, SPARE_BYTES = sizeof(tern_notified_fragment) + TERN_NOTIFIED_SMALL };
_Static_assert(SPARES *SPARE_BYTES <= TERN_TABLE_SPARE, "a worker's tables have room for them");

void tern_collectives_open(tern_worker *worker) {
    const tern_rma *rma = tern_rma_of(worker->context);
    tern_notify *n = tern_notify_of(worker);
    /* At most a quarter of a ring, so that the sender can write a fragment while the receiver reads
     * another. */
    n->fragment_max = (worker->context->config.ring_size / 4 - 64) & ~(size_t)7;
    n->spare =
        tern_tables_of_worker(&rma->tables, rma->table_base, worker->index) + rma->tables.spare;
}

/* Takes a piece of the spare memory. NULL: all are in use. */
static tern_notified_fragment *take_spare(tern_notify *n) {
    const unsigned at = (unsigned)__builtin_ctz(~n->spare_used);
    if (at >= SPARES)
        return NULL;
    n->spare_used |= 1u << at;
    return (void *)(n->spare + (size_t)at * SPARE_BYTES);
}

void tern_notified_fragment_free(tern_notify *n, tern_notified_fragment *fragment) {
    const uintptr_t at = ((uintptr_t)fragment - (uintptr_t)n->spare) / SPARE_BYTES;
    if (at < SPARES)
        n->spare_used &= ~(1u << at);
    else
        free(fragment);
}

/* Keeps a fragment. fragment was read from the record; data is still in the ring. wanted: it is of
 * the present collective and may use spare memory. False: no memory. */
static bool keep_fragment(tern_notify *n, const tern_notified_fragment *fragment, const char *data,
                          bool wanted) {
    tern_notified_fragment *kept = malloc(sizeof *kept + fragment->bytes);
    if (kept == NULL && wanted && fragment->bytes <= TERN_NOTIFIED_SMALL)
        kept = take_spare(n);
    if (kept == NULL)
        return false;
    *kept = *fragment;
    memcpy(kept->data, data, fragment->bytes);
    tern_notified_fragment **link = &n->fragments;
    while (*link != NULL)
        link = &(*link)->next;
    *link = kept;
    return true;
}

tern_notified_fragment **tern_notified_fragment_find(tern_worker *worker, uint32_t rank,
                                                     uint32_t round) {
    tern_notify *n = tern_notify_of(worker);
    tern_notified_fragment **link = &n->fragments;
    for (tern_notified_fragment *fragment; (fragment = *link) != NULL; link = &fragment->next)
        if (fragment->sequence == worker->notified && fragment->kind == n->kind &&
            fragment->type == TERN_FRAGMENT_DATA && fragment->origin == rank &&
            fragment->round == round)
            break;
    return link;
}

/* If a stream waits for the fragment, gives it the data and returns true. */
static bool fragment_hand_over(tern_worker *worker, const tern_notified_fragment *fragment,
                               const char *data) {
    tern_notify *n = tern_notify_of(worker);
    if (fragment->type != TERN_FRAGMENT_DATA || fragment->sequence != worker->notified ||
        fragment->kind != n->kind || fragment->word != n->bytes)
        return false;
    for (tern_notified_stream *s = n->awaited; s != NULL; s = s->next) {
        if (s->origin != fragment->origin || s->round != fragment->round)
            continue;
        if (s->taken == tern_stream_fragments(n, s->bytes) ||
            fragment->bytes != tern_stream_fragment_bytes(n, s->bytes, s->taken) ||
            *tern_notified_fragment_find(worker, s->origin, s->round) != NULL)
            return false;
        tern_stream_take(n, s, data, fragment->bytes);
        return true;
    }
    return false;
}

/* Whether collective number sequence is one of the last 64 and has failed on this rank. */
static bool notified_has_failed(const tern_worker *worker, uint64_t sequence) {
    const uint64_t age = worker->notified - sequence;
    return age >= 1 && age <= 64 && (tern_notify_of(worker)->failures >> (age - 1) & 1) != 0;
}

/* Reads the record at the head of in. False: the record is malformed. */
static bool fragment_parse(const tern_worker *worker, const tern_in *in, uint64_t header,
                           tern_notified_fragment *fragment) {
    const size_t record = tern_record_bytes(header);
    const uint32_t id = tern_record_id(header);
    uint64_t words[2];
    if (!tern_ring_check(in, header) || record < sizeof words ||
        record > sizeof words + tern_notify_of(worker)->fragment_max ||
        in->origin_id.index != worker->index)
        return false;
    memcpy(words, tern_ring_payload(in), sizeof words);
    *fragment = (tern_notified_fragment){.sequence = words[0],
                                         .word = words[1],
                                         .origin = in->origin_id.rank,
                                         .round = id & 255,
                                         .kind = id >> 8 & 255,
                                         .type = id >> 16,
                                         .bytes = record - sizeof words};
    return fragment->kind < TERN_NOTIFY_KINDS && fragment->type < TERN_FRAGMENT_TYPES &&
           (fragment->type == TERN_FRAGMENT_DATA || fragment->bytes == 0);
}

/* Consumes a fragment or a hail: gives it to the stream that waits for it, keeps it for later, or
 * drops it if its collective is over. */
size_t tern_collectives_consume(tern_worker *worker, tern_in *in) {
    tern_notify *n = tern_notify_of(worker);
    const uint64_t header = tern_ring_peek(worker, in), here = worker->notified;
    tern_notified_fragment fragment;
    const bool good = fragment_parse(worker, in, header, &fragment);
    const bool hail = good && fragment.type == TERN_FRAGMENT_HAIL;
    const bool over = good && (int64_t)(fragment.sequence - here) < 0 &&
                      !(hail && notified_has_failed(worker, fragment.sequence));
    if (!good || (!over && (int64_t)(fragment.sequence - here) > 2 * TERN_NOTIFIED_AHEAD_MAX)) {
        tern_ring_refuse(worker, in, header, "it is no valid fragment of a collective");
        return 0;
    }
    const char *data = tern_ring_payload(in) + 16;
    const bool wanted = !hail && fragment.sequence == here;
    if (!over && !fragment_hand_over(worker, &fragment, data) &&
        !keep_fragment(n, &fragment, data, wanted) && !hail)
        return 0; /* stays in the ring until there is memory */
    tern_ring_advance(in, header);
    return 1;
}

void tern_notified_fragments_discard(tern_worker *worker, uint64_t sequence) {
    tern_notify *n = tern_notify_of(worker);
    for (tern_notified_fragment **link = &n->fragments, *fragment; (fragment = *link) != NULL;) {
        if (fragment->sequence >= sequence || (fragment->type == TERN_FRAGMENT_HAIL &&
                                               notified_has_failed(worker, fragment->sequence))) {
            link = &fragment->next;
            continue;
        }
        *link = fragment->next;
        tern_notified_fragment_free(n, fragment);
    }
}

void tern_collectives_discard(tern_worker *worker) {
    tern_notify_of(worker)->failures = 0;
    tern_notified_fragments_discard(worker, UINT64_MAX);
}

tern_status tern_notified_fragment_send(tern_worker *worker, uint32_t rank, uint32_t type,
                                        uint32_t round, uint64_t number, uint64_t word,
                                        const void *data, size_t bytes) {
    const uint64_t words[2] = {number, word};
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status =
        tern_ring_open(worker, rank * worker->context->workers + worker->index, &out);
    if (status == TERN_OK)
        status = tern_ring_reserve(worker, out, sizeof words + bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, words, sizeof words);
    if (bytes > 0)
        memcpy((char *)room + sizeof words, data, bytes);
    const uint32_t id = round | tern_notify_of(worker)->kind << 8 | type << 16;
    tern_ring_commit(out, tern_record_header(TERN_RECORD_COLLECTIVE, id, sizeof words + bytes));
    tern_ring_publish(worker, out);
    return TERN_OK;
}

size_t tern_collectives_answer(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    const uint64_t meeting = tern_notified_next_meeting(worker);
    size_t answered = 0;
    for (tern_notified_fragment **link = &n->fragments, *fragment; (fragment = *link) != NULL;) {
        const bool failed = notified_has_failed(worker, fragment->sequence);
        const bool meets = fragment->type == TERN_FRAGMENT_HAIL && worker->in_meeting &&
                           !worker->in_notified && fragment->sequence >= worker->notified &&
                           fragment->word <= meeting;
        if (fragment->type != TERN_FRAGMENT_HAIL || (!failed && !meets) ||
            (failed ? tern_notified_fragment_send(worker, fragment->origin, TERN_FRAGMENT_FAILED, 0,
                                                  fragment->sequence, 0, NULL, 0)
                    : tern_notified_tell(worker, fragment->origin, TERN_MEETING_MEETS, meeting)) !=
                TERN_OK) {
            link = &fragment->next; /* the hail stays; it may be answered later */
            continue;
        }
        *link = fragment->next;
        tern_notified_fragment_free(n, fragment);
        answered++;
    }
    return answered;
}
