#include "tern/collective.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "rma/notify/notify.h"
#include "rma/notify/reduce.h"
#include "rma/state.h"
#include "rma/transport/inbox.h"
#include "src/collective/collective.h"
#include "src/progress/wait.h"

/*
 * Collectives over notifications of tern's own: records that progress consumes. The payload of one
 * is {number, data}; the number of a part is that of its collective, which every rank counts alike.
 * The record's id is {round:8, kind:8, type:8}. What arrives before it is waited for is kept. What
 * tells of meetings is a message (rma/transport/inbox.h), which needs no memory.
 * Nobody is far ahead: a barrier or an all-reduce ends for no rank before all have come to it, and
 * every AHEAD_MAX-th collective, if it is a broadcast, begins with a barrier.
 *
 * Ranks may be in different collectives. Then all come to a meeting (src/collective/collective.h),
 * where each learns what the others are in, and all count the collective over notifications as
 * ended. A rank that meets a part of another kind calls the others there. No rank waits for ever:
 * one that has waited for HAIL_NS tells the rank that it waits for what it is in. A rank answers
 * that it waits in a meeting to which the other has not come, or until it may come to one. So does
 * a rank on which that collective has failed: it was in a meeting with other workers of some ranks.
 * Suppose that nobody meets another kind, and nobody waits in a meeting. Then all ranks that wait
 * for each other in a chain are in the same kind, and the first of them to stop waits for a rank
 * that has not come yet or that has been through; and a rank that has been through has sent the
 * part.
 *
 * A rank that lacks memory for its rings calls the others to a meeting and fails there. It opens
 * them before it sends any part, so no rank has been through a barrier or an all-reduce by then.
 * The parts of one collective find room in spare memory. Others stay in their rings if there is no
 * memory for them, and hails are dropped and come again.
 */

enum { AHEAD_MAX = 16, ROUND_EXTRA = 64, ROUND_BACK = 65, ROUND_AHEAD = 128 };
enum { WORDS = TERN_COLLECTIVE_MAX / 8, REASON_MAX = 256 };

/* A part of the collective; that its sender waits for this rank, with the number of the meeting
 * that it comes to next; that the collective has failed on its sender. */
enum { TYPE_PART, TYPE_HAIL, TYPE_FAILED, TYPES };

/* With the number of a meeting: that its sender waits in it; that all ranks have been called to it.
 */
enum { MEETING_MEETS, MEETING_CALL, MEETING_TYPES };

static const char *const kind_names[TERN_NOTIFY_KINDS] = {
    [TERN_NOTIFY_BARRIER] = "tern_notify_barrier",
    [TERN_NOTIFY_BROADCAST] = "tern_notify_broadcast",
    [TERN_NOTIFY_ALLREDUCE] = "tern_notify_allreduce",
};

#define HAIL_NS 10000000u

/* The answer may be lost for want of memory. */
#define HAIL_AGAIN_NS 1000000000u

/* What has arrived: parts and hails. */
typedef struct tern_notified_part {
    struct tern_notified_part *next;
    uint64_t sequence;
    uint32_t origin, round, kind, type; /* origin: rank */
    size_t bytes;
    uint64_t data[];
} tern_notified_part;

/* The number of the meeting that all ranks come to next. */
static uint64_t next_meeting(const tern_worker *worker) {
    /* R4 */
    return atomic_load_explicit(&worker->context->meetings, memory_order_relaxed);
}

/* No more parts of one collective come to a rank that counts in 20 bits. */
enum { SPARES = 24, SPARE_BYTES = sizeof(tern_notified_part) + TERN_COLLECTIVE_MAX };

tern_status tern_collectives_open(tern_notify *n) {
    n->spare = malloc((size_t)SPARES * SPARE_BYTES);
    return n->spare != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for a worker");
}

static tern_notified_part *take_spare(tern_notify *n) {
    const unsigned at = (unsigned)__builtin_ctz(~n->spare_used);
    if (at >= SPARES)
        return NULL;
    n->spare_used |= 1u << at;
    return (void *)(n->spare + (size_t)at * SPARE_BYTES);
}

static void free_part(tern_notify *n, tern_notified_part *part) {
    const uintptr_t at = ((uintptr_t)part - (uintptr_t)n->spare) / SPARE_BYTES;
    if (at < SPARES)
        n->spare_used &= ~(1u << at);
    else
        free(part);
}

static bool keep_part(tern_notify *n, const tern_in *in, uint32_t id, uint64_t sequence,
                      size_t bytes, bool wanted) {
    tern_notified_part *part = malloc(sizeof *part + bytes);
    if (part == NULL && wanted)
        part = take_spare(n);
    if (part == NULL)
        return false;
    *part = (tern_notified_part){.next = n->parts,
                                 .sequence = sequence,
                                 .origin = in->origin_id.rank,
                                 .round = id & 255,
                                 .kind = id >> 8 & 255,
                                 .type = id >> 16,
                                 .bytes = bytes};
    memcpy(part->data, tern_ring_payload(in) + 8, bytes);
    n->parts = part;
    return true;
}

/* Whether it is one of the last collectives, and has failed here. */
static bool notified_has_failed(const tern_worker *worker, uint64_t sequence) {
    const uint64_t age = worker->notified - sequence;
    return age >= 1 && age <= 64 && (tern_notify_of(worker)->failures >> (age - 1) & 1) != 0;
}

size_t tern_collectives_consume(tern_worker *worker, tern_in *in) {
    tern_notify *n = tern_notify_of(worker);
    uint64_t header = tern_ring_peek(worker, in), number = 0;
    const size_t record = tern_record_bytes(header);
    const uint32_t id = tern_record_id(header), type = id >> 16;
    const uint64_t here = worker->notified;
    bool good = tern_ring_check(in, header) && record >= 8 && record <= 8 + TERN_COLLECTIVE_MAX &&
                in->origin_id.index == worker->index && (id >> 8 & 255) < TERN_NOTIFY_KINDS &&
                type < TYPES && (type != TYPE_HAIL || record == 16);
    if (good)
        memcpy(&number, tern_ring_payload(in), 8);
    const bool over = good && (int64_t)(number - here) < 0 &&
                      !(type == TYPE_HAIL && notified_has_failed(worker, number));
    if (!good || (!over && (int64_t)(number - here) > 2 * AHEAD_MAX)) {
        tern_ring_refuse(worker, in, header, "no part of a collective");
        return 0;
    }
    const bool wanted = type != TYPE_HAIL && number == here;
    if (!over && !keep_part(n, in, id, number, record - 8, wanted) && type != TYPE_HAIL)
        return 0; /* later */
    tern_ring_advance(in, header);
    return 1;
}

bool tern_collectives_told(tern_context *context, const tern_message *message) {
    const tern_worker *worker = context->worker[message->target % context->workers];
    tern_notify *n = tern_notify_of(worker);
    const uint64_t number = message->offset, type = message->operand[0];
    if (type >= MEETING_TYPES || (int64_t)(number - next_meeting(worker)) > 1)
        return false;
    _Atomic uint64_t *told = type == MEETING_CALL ? &n->called_to : &n->met_by;
    /* R4; the MPI lock keeps other writers away */
    if (number + 1 > atomic_load_explicit(told, memory_order_relaxed))
        atomic_store_explicit(told, number + 1, memory_order_relaxed);
    return true;
}

/* Drops what belongs to collectives before `sequence`, but for hails that are to be answered. */
static void discard_before(tern_worker *worker, uint64_t sequence) {
    tern_notify *n = tern_notify_of(worker);
    for (tern_notified_part **link = &n->parts, *part; (part = *link) != NULL;) {
        if (part->sequence >= sequence ||
            (part->type == TYPE_HAIL && notified_has_failed(worker, part->sequence))) {
            link = &part->next;
            continue;
        }
        *link = part->next;
        free_part(n, part);
    }
}

void tern_collectives_discard(tern_worker *worker) {
    tern_notify_of(worker)->failures = 0;
    discard_before(worker, UINT64_MAX);
}

/* One round of waiting for a rank. */
static tern_status notified_step(tern_worker *worker, tern_wait_state *wait) {
    return tern_wait_round(worker->context, wait, tern_progress_process(worker), TERN_ANYBODY);
}

static tern_status notified_try_send(tern_worker *worker, uint32_t rank, uint32_t type,
                                     uint32_t round, uint64_t number, const void *data,
                                     size_t bytes) {
    tern_context *context = worker->context;
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status = tern_ring_open(worker, rank * context->workers + worker->index, &out);
    if (status == TERN_OK)
        status = tern_ring_reserve(worker, out, 8 + bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, &number, 8);
    if (bytes > 0)
        memcpy((char *)room + 8, data, bytes);
    const uint32_t id = round | tern_notify_of(worker)->kind << 8 | type << 16;
    tern_ring_commit(out, tern_record_header(TERN_RECORD_COLLECTIVE, id, 8 + bytes));
    tern_ring_publish(worker, out);
    return TERN_OK;
}

/* Tells a rank of a meeting, once. */
static tern_status tell(tern_worker *worker, uint32_t rank, uint32_t type, uint64_t meeting) {
    const tern_message message = {.kind = TERN_MESSAGE_MEETING,
                                  .origin = worker->id,
                                  .target = rank * worker->context->workers + worker->index,
                                  .offset = meeting,
                                  .operand = {type}};
    return tern_inbox_notice(worker, &message, NULL, 0);
}

size_t tern_collectives_answer(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    const uint64_t meeting = next_meeting(worker);
    size_t answered = 0;
    for (tern_notified_part **link = &n->parts, *part; (part = *link) != NULL;) {
        const bool failed = notified_has_failed(worker, part->sequence);
        const bool meets = part->type == TYPE_HAIL && worker->in_meeting && !worker->in_notified &&
                           part->sequence >= worker->notified && part->data[0] <= meeting;
        if (part->type != TYPE_HAIL || (!failed && !meets) ||
            (failed
                 ? notified_try_send(worker, part->origin, TYPE_FAILED, 0, part->sequence, NULL, 0)
                 : tell(worker, part->origin, MEETING_MEETS, meeting)) != TERN_OK) {
            link = &part->next; /* an answer that could not be sent is, later */
            continue;
        }
        *link = part->next;
        free_part(n, part);
        answered++;
    }
    return answered;
}

static bool is_ahead(const tern_worker *worker, const _Atomic uint64_t *told) {
    /* R4 */
    return atomic_load_explicit(told, memory_order_relaxed) > next_meeting(worker);
}

static bool is_called(const tern_worker *worker) {
    return is_ahead(worker, &tern_notify_of(worker)->called_to);
}

static bool is_missed(const tern_worker *worker) {
    return is_ahead(worker, &tern_notify_of(worker)->met_by);
}

/* TERN_OK: this collective goes on. */
static tern_status notified_meet(tern_worker *worker, tern_status status) {
    tern_notify_of(worker)->hailed = 0; /* the other may wait elsewhere again */
    return tern_collective_agree(worker->context, worker, status,
                                 kind_names[tern_notify_of(worker)->kind]);
}

/* Calls all ranks to the next meeting. */
static tern_status call_all(tern_worker *worker) {
    const tern_context *context = worker->context;
    const uint64_t meeting = next_meeting(worker);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    for (uint32_t r = 0; r < context->size && status == TERN_OK;) {
        if (r != context->rank)
            status = tell(worker, r, MEETING_CALL, meeting);
        if (status == TERN_ERR_AGAIN)
            status = notified_step(worker, &wait);
        else
            r++;
    }
    return status;
}

/* Comes to a meeting that another rank has called, or waits in: unless this rank has been there by
 * another worker, meanwhile. */
static tern_status come_to_meeting(tern_worker *worker) {
    tern_status status = tern_collective_claim(worker);
    tern_notify_of(worker)->hailed = 0; /* an answer to it may be used up */
    if (status == TERN_OK && is_called(worker)) {
        status = notified_meet(worker, TERN_OK);
    } else if (status == TERN_OK && is_missed(worker)) {
        status = call_all(worker);
        if (status == TERN_OK)
            status = notified_meet(worker, TERN_OK);
    }
    tern_collective_yield(worker);
    return status;
}

/* Calls a meeting and fails there. */
static tern_status notified_refuse(tern_worker *worker, tern_status why, const char *reason) {
    tern_status status = tern_collective_claim(worker);
    if (status == TERN_OK)
        status = call_all(worker);
    if (status == TERN_OK)
        status = notified_meet(worker, tern_fail(why, "%s", reason));
    tern_collective_yield(worker);
    return status;
}

static tern_status refuse_kind(tern_worker *worker, uint32_t rank, uint32_t kind) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason,
             "rank %u is in %s and rank %u is in %s; all ranks call the same collective functions "
             "in the same order",
             worker->context->rank, kind_names[tern_notify_of(worker)->kind], rank,
             kind_names[kind]);
    return notified_refuse(worker, TERN_ERR_MISMATCH, reason);
}

static tern_status refuse_bytes(tern_worker *worker, size_t bytes, uint32_t rank,
                                size_t other_bytes) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason, "%s has %zu bytes on rank %u and %zu bytes on rank %u",
             kind_names[tern_notify_of(worker)->kind], bytes, worker->context->rank, other_bytes,
             rank);
    return notified_refuse(worker, TERN_ERR_MISMATCH, reason);
}

static tern_status refuse_failed(tern_worker *worker, uint32_t rank) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason,
             "rank %u is in %s, which has failed on rank %u, as ranks were in different collective "
             "functions",
             worker->context->rank, kind_names[tern_notify_of(worker)->kind], rank);
    return notified_refuse(worker, TERN_ERR_MISMATCH, reason);
}

/* A failure of this rank's own, which the detail tells. TERN_OK: the others are in a collective
 * before this one, which ends. */
static tern_status refuse_failure(tern_worker *worker, tern_status why) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason, "%s", tern_error_detail());
    return notified_refuse(worker, why, reason);
}

/* Of an attempt that may be made again: a round of waiting, or what all learn. */
static tern_status attempt_again(tern_worker *worker, tern_wait_state *wait, tern_status status) {
    if (status == TERN_ERR_AGAIN)
        return notified_step(worker, wait);
    return status == TERN_ERR_PEER ? status : refuse_failure(worker, status);
}

/* Opens the ring to rank, before the first part is sent to anyone. */
static tern_status open_ring(tern_worker *worker, uint32_t rank) {
    const uint32_t target = rank * worker->context->workers + worker->index;
    tern_wait_state wait = TERN_WAIT_START;
    tern_out *out = NULL;
    tern_status status;
    while ((status = tern_ring_open(worker, target, &out)) != TERN_OK)
        if ((status = attempt_again(worker, &wait, status)) != TERN_OK)
            break;
    return status;
}

/* Waits for room. */
static tern_status notified_send(tern_worker *worker, uint32_t rank, uint32_t round,
                                 const void *data, size_t bytes) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = notified_try_send(worker, rank, TYPE_PART, round, worker->notified, data,
                                       bytes)) != TERN_OK)
        if ((status = attempt_again(worker, &wait, status)) != TERN_OK)
            break;
    return status;
}

/* Whether the ranks are, for all that is known here, in the same collective. Comes to a meeting
 * otherwise, and if another rank has called one. */
static tern_status look_for_conflict(tern_worker *worker) {
    const tern_notify *n = tern_notify_of(worker);
    if (is_called(worker) || is_missed(worker))
        return come_to_meeting(worker);
    for (const tern_notified_part *part = n->parts; part != NULL; part = part->next) {
        if (part->sequence == worker->notified && part->type == TYPE_FAILED)
            return refuse_failed(worker, part->origin);
        if (part->sequence == worker->notified && part->kind != n->kind)
            return refuse_kind(worker, part->origin, part->kind);
    }
    return TERN_OK;
}

/* The link to the part among those that have arrived; to NULL: it has not. */
static tern_notified_part **find_part(tern_worker *worker, uint32_t rank, uint32_t round) {
    tern_notify *n = tern_notify_of(worker);
    tern_notified_part **link = &n->parts;
    for (tern_notified_part *part; (part = *link) != NULL; link = &part->next)
        if (part->sequence == worker->notified && part->kind == n->kind &&
            part->type == TYPE_PART && part->origin == rank && part->round == round)
            break;
    return link;
}

static void notified_hail(tern_worker *worker, uint32_t rank) {
    tern_notify *n = tern_notify_of(worker);
    const uint64_t meeting = next_meeting(worker);
    const uint64_t now = tern_now();
    if (n->hailed != 0 && now - n->hailed < HAIL_AGAIN_NS)
        return;
    if (notified_try_send(worker, rank, TYPE_HAIL, 0, worker->notified, &meeting, sizeof meeting) ==
        TERN_OK)
        n->hailed = now;
}

/* Waits until the part has come or the collective has failed. [out] data: exactly bytes. */
static tern_status notified_receive(tern_worker *worker, uint32_t rank, uint32_t round, void *data,
                                    size_t bytes) {
    enum { ROUNDS_PER_LOOK = 64 }; /* at the clock */
    tern_wait_state wait = TERN_WAIT_START;
    tern_notify_of(worker)->hailed = 0;
    tern_status status = TERN_OK;
    for (uint32_t i = 1; status == TERN_OK; i++) {
        status = look_for_conflict(worker);
        if (status != TERN_OK)
            break;
        tern_notified_part **link = find_part(worker, rank, round), *part = *link;
        if (part != NULL && part->bytes == bytes) {
            if (bytes > 0)
                memcpy(data, part->data, bytes);
            *link = part->next;
            free_part(tern_notify_of(worker), part);
            break;
        }
        if (part != NULL) {
            status = refuse_bytes(worker, bytes, rank, part->bytes);
            continue;
        }
        if (i % ROUNDS_PER_LOOK == 0 && wait.began != 0 && tern_now() - wait.began >= HAIL_NS)
            notified_hail(worker, rank);
        status = notified_step(worker, &wait);
    }
    return status;
}

/* Whether the caller may begin one. */
static tern_status notified_check(const tern_worker *worker, uint32_t kind) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", kind_names[kind]);
    tern_status status = tern_worker_may_wait(worker, kind_names[kind]);
    return status == TERN_OK ? tern_collective_may_begin(worker->context) : status;
}

static void notified_begin(tern_worker *worker, uint32_t kind) {
    tern_notify *n = tern_notify_of(worker);
    n->sequence = worker->notified;
    n->kind = kind;
    worker->in_notified = true;
}

/* Whatever became of it, every rank has counted it once. */
static tern_status notified_end(tern_worker *worker, tern_status status) {
    tern_notify *n = tern_notify_of(worker);
    worker->in_notified = false;
    worker->notified = n->sequence + 1;
    n->failures = n->failures << 1 | (status != TERN_OK);
    if (n->parts != NULL)
        discard_before(worker, worker->notified);
    return status;
}

/* Dissemination: after round k each rank has heard, of itself or through others, of the 2^(k+1)
 * ranks up to its own. */
static tern_status notified_barrier(tern_worker *worker, uint32_t round) {
    uint32_t rank = worker->context->rank, size = worker->context->size;
    tern_status status = TERN_OK;
    for (uint32_t reach = 1; reach < size && status == TERN_OK; reach *= 2)
        status = open_ring(worker, (rank + reach) % size);
    for (uint32_t reach = 1; reach < size && status == TERN_OK; reach *= 2, round++) {
        status = notified_send(worker, (rank + reach) % size, round, NULL, 0);
        if (status == TERN_OK)
            status = notified_receive(worker, (rank + size - reach) % size, round, NULL, 0);
    }
    return status;
}

tern_status tern_notify_barrier(tern_worker *worker) {
    TERN_COLLECTIVE(worker, kind_names[TERN_NOTIFY_BARRIER]);
    tern_status status = notified_check(worker, TERN_NOTIFY_BARRIER);
    if (status != TERN_OK)
        return status;
    notified_begin(worker, TERN_NOTIFY_BARRIER);
    return notified_end(worker, notified_barrier(worker, 0));
}

/* Binomial: in rank numbers that count from root, a rank hears from the one without its lowest bit
 * and tells those with one lower bit more. */
static tern_status notified_broadcast(tern_worker *worker, uint32_t root, void *data,
                                      size_t bytes) {
    uint32_t rank = worker->context->rank, size = worker->context->size;
    tern_status status = look_for_conflict(worker); /* the root waits for nobody */
    if (status == TERN_OK && tern_notify_of(worker)->sequence % AHEAD_MAX == AHEAD_MAX - 1)
        status = notified_barrier(worker, ROUND_AHEAD);
    uint32_t mine = (rank + size - root) % size, bit = 1;
    while (bit < size && (mine & bit) == 0)
        bit *= 2;
    for (uint32_t child = bit / 2; child > 0 && status == TERN_OK; child /= 2)
        if (mine + child < size)
            status = open_ring(worker, (mine + child + root) % size);
    if (mine != 0 && status == TERN_OK)
        status = notified_receive(worker, (mine - bit + root) % size, 0, data, bytes);
    for (bit /= 2; bit > 0 && status == TERN_OK; bit /= 2)
        if (mine + bit < size)
            status = notified_send(worker, (mine + bit + root) % size, 0, data, bytes);
    return status;
}

tern_status tern_notify_broadcast(tern_worker *worker, uint32_t root, void *data, size_t bytes) {
    TERN_COLLECTIVE(worker, kind_names[TERN_NOTIFY_BROADCAST]);
    tern_status status = notified_check(worker, TERN_NOTIFY_BROADCAST);
    if (status != TERN_OK)
        return status;
    uint32_t size = worker->context->size;
    if (root >= size || bytes > TERN_COLLECTIVE_MAX || (data == NULL && bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_broadcast: %zu bytes from rank %u of %u; %u bytes are the "
                         "limit",
                         bytes, root, size, TERN_COLLECTIVE_MAX);
    notified_begin(worker, TERN_NOTIFY_BROADCAST);
    return notified_end(worker, notified_broadcast(worker, root, data, bytes));
}

/* Recursive doubling among the first 2^k ranks; those beyond hand theirs in before and get the
 * result after. */
static tern_status notified_allreduce(tern_worker *worker, tern_number type, tern_reduction op,
                                      uint64_t *values, size_t count) {
    uint32_t rank = worker->context->rank, size = worker->context->size, most = 1;
    uint64_t other[WORDS];
    size_t bytes = count * 8;
    while (most * 2 <= size)
        most *= 2;
    tern_status status = rank >= most ? open_ring(worker, rank - most) : TERN_OK;
    for (uint32_t bit = 1; rank < most && bit < most && status == TERN_OK; bit *= 2)
        status = open_ring(worker, rank ^ bit);
    if (rank + most < size && status == TERN_OK)
        status = open_ring(worker, rank + most);
    if (status != TERN_OK)
        return status;
    if (rank >= most) {
        status = notified_send(worker, rank - most, ROUND_EXTRA, values, bytes);
        return status == TERN_OK ? notified_receive(worker, rank - most, ROUND_BACK, values, bytes)
                                 : status;
    }
    if (rank + most < size) {
        status = notified_receive(worker, rank + most, ROUND_EXTRA, other, bytes);
        if (status == TERN_OK)
            tern_numbers_reduce(type, op, values, values, other, count);
    }
    uint32_t round = 0;
    for (uint32_t bit = 1; bit < most && status == TERN_OK; bit *= 2, round++) {
        status = notified_send(worker, rank ^ bit, round, values, bytes);
        if (status == TERN_OK)
            status = notified_receive(worker, rank ^ bit, round, other, bytes);
        if (status == TERN_OK)
            tern_numbers_reduce(type, op, values, (rank & bit) == 0 ? values : other,
                                (rank & bit) == 0 ? other : values, count);
    }
    if (rank + most < size && status == TERN_OK)
        status = notified_send(worker, rank + most, ROUND_BACK, values, bytes);
    return status;
}

tern_status tern_notify_allreduce(tern_worker *worker, tern_number type, tern_reduction op,
                                  void *values, size_t count) {
    TERN_COLLECTIVE(worker, kind_names[TERN_NOTIFY_ALLREDUCE]);
    tern_status status = notified_check(worker, TERN_NOTIFY_ALLREDUCE);
    if (status != TERN_OK)
        return status;
    if ((unsigned)type > TERN_DOUBLE || (unsigned)op > TERN_REDUCE_MAX || count > WORDS ||
        (values == NULL && count > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_allreduce: %zu numbers of type %d, operation %d; %d numbers "
                         "are the limit",
                         count, (int)type, (int)op, WORDS);
    uint64_t words[WORDS];
    if (count > 0)
        memcpy(words, values, count * 8);
    notified_begin(worker, TERN_NOTIFY_ALLREDUCE);
    status = notified_end(worker, notified_allreduce(worker, type, op, words, count));
    if (status == TERN_OK && count > 0)
        memcpy(values, words, count * 8);
    return status;
}
