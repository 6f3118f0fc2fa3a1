#include <stdio.h>

#include "base/error.h"
#include "rma/notify/collectives.h"
#include "rma/message/inbox.h"
#include "src/collective/collective.h"

/*
 * Ranks may be in different collectives by mistake. Then all ranks come to a meeting
 * (src/collective/collective.h), where each learns which collective the others are in, and all
 * count the collective over notifications as ended. All-reduces of different types of numbers or by
 * different operations are different kinds. A rank that receives a fragment of another kind, or of
 * a vector of another length, calls all ranks to the meeting.
 *
 * No rank waits for ever: a rank that has waited for a while sends a hail with its kind of
 * collective to the rank for which it waits. The other rank answers if it waits in a meeting to
 * which the sender has not come, or waits until it may come to one. It also answers if that
 * collective has failed on it: the sender may not know, since another worker of its rank may have
 * been in the meeting where the collective failed. Ranks tell of meetings by messages
 * (rma/message/inbox.h), which need no memory.
 *
 * Why this is enough: suppose that no rank receives a fragment of another kind, and no rank waits
 * in a meeting. Then all ranks that wait for each other in a chain are in the same kind of
 * collective. The last rank of the chain waits for a rank that either has not come to the
 * collective yet or has ended it; and a rank that has ended it has sent the fragment.
 *
 * Ranks with vectors of different length may send fragments to different partners. Still some rank
 * receives a fragment of another length. A broadcast has one tree for all lengths, so the root's
 * fragments reach every rank, or a rank above it in the tree refuses them. In an all-reduce a rank
 * sends to each partner before it waits for that partner, and no rank ends before all its partners
 * have sent it vectors of its own length.
 *
 * A rank that lacks memory for its rings calls the others to a meeting and fails there. It opens
 * its rings before it sends any fragment, so no other rank has ended that barrier or all-reduce by
 * then.
 */

enum { REASON_MAX = 256 }; /* bytes of the text of a failure */

/* A rank repeats a hail that was not answered for this many ns, since the other rank drops a hail
 * for which it has no memory. */
#define HAIL_AGAIN_NS 1000000000u

const char *const tern_notified_names[TERN_NOTIFY_KINDS] = {
    [TERN_NOTIFY_BARRIER] = "tern_notify_barrier",
    [TERN_NOTIFY_BROADCAST] = "tern_notify_broadcast",
#define OF(type, op, text)                                                                         \
    [TERN_NOTIFY_ALLREDUCE + (type)*TERN_REDUCTIONS + (op)] = "tern_notify_allreduce (" text ")"
    OF(TERN_UINT64, TERN_REDUCE_SUM, "sum of TERN_UINT64"),
    OF(TERN_UINT64, TERN_REDUCE_MIN, "minimum of TERN_UINT64"),
    OF(TERN_UINT64, TERN_REDUCE_MAX, "maximum of TERN_UINT64"),
    OF(TERN_INT64, TERN_REDUCE_SUM, "sum of TERN_INT64"),
    OF(TERN_INT64, TERN_REDUCE_MIN, "minimum of TERN_INT64"),
    OF(TERN_INT64, TERN_REDUCE_MAX, "maximum of TERN_INT64"),
    OF(TERN_DOUBLE, TERN_REDUCE_SUM, "sum of TERN_DOUBLE"),
    OF(TERN_DOUBLE, TERN_REDUCE_MIN, "minimum of TERN_DOUBLE"),
    OF(TERN_DOUBLE, TERN_REDUCE_MAX, "maximum of TERN_DOUBLE"),
#undef OF
};

uint64_t tern_notified_next_meeting(const tern_worker *worker) {
    /* R4 */
    return atomic_load_explicit(&worker->context->meetings, memory_order_relaxed);
}

bool tern_collectives_told(tern_context *context, const tern_message *message) {
    const tern_worker *worker = context->worker[message->target % context->workers];
    tern_notify *n = tern_notify_of(worker);
    const uint64_t number = message->offset, type = message->operand[0];
    if (type >= TERN_MEETING_TYPES || (int64_t)(number - tern_notified_next_meeting(worker)) > 1)
        return false;
    _Atomic uint64_t *told = type == TERN_MEETING_CALL ? &n->called_to : &n->met_by;
    /* R4; the MPI lock keeps other writers away */
    if (number + 1 > atomic_load_explicit(told, memory_order_relaxed))
        atomic_store_explicit(told, number + 1, memory_order_relaxed);
    return true;
}

tern_status tern_notified_step(tern_worker *worker, tern_wait_state *wait) {
    return tern_wait_round(worker->context, wait, tern_progress_process(worker), TERN_ANYBODY);
}

tern_status tern_notified_tell(tern_worker *worker, uint32_t rank, uint32_t type,
                               uint64_t meeting) {
    const tern_message message = {.kind = TERN_MESSAGE_MEETING,
                                  .origin = worker->id,
                                  .target = rank * worker->context->workers + worker->index,
                                  .offset = meeting,
                                  .operand = {type}};
    return tern_inbox_notice(worker, &message, NULL, 0);
}

static bool is_ahead(const tern_worker *worker, const _Atomic uint64_t *told) {
    /* R4 */
    return atomic_load_explicit(told, memory_order_relaxed) > tern_notified_next_meeting(worker);
}

/* Whether a rank has called all ranks to a meeting to which this rank has not come yet. */
static bool is_called(const tern_worker *worker) {
    return is_ahead(worker, &tern_notify_of(worker)->called_to);
}

/* Whether another rank waits in a meeting to which this rank has not come yet. */
static bool is_missed(const tern_worker *worker) {
    return is_ahead(worker, &tern_notify_of(worker)->met_by);
}

/* Comes to a meeting with this rank's status. TERN_OK: this collective goes on. */
static tern_status notified_meet(tern_worker *worker, tern_status status) {
    tern_notify_of(worker)->hailed = 0; /* the other rank may need another hail after it */
    return tern_collective_agree(worker->context, worker, status,
                                 tern_notified_names[tern_notify_of(worker)->kind]);
}

/* Calls all ranks to the next meeting. */
static tern_status call_all(tern_worker *worker) {
    const tern_context *context = worker->context;
    const uint64_t meeting = tern_notified_next_meeting(worker);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    for (uint32_t r = 0; r < context->size && status == TERN_OK;) {
        if (r != context->rank)
            status = tern_notified_tell(worker, r, TERN_MEETING_CALL, meeting);
        if (status == TERN_ERR_AGAIN)
            status = tern_notified_step(worker, &wait);
        else
            r++;
    }
    return status;
}

/* Comes to the meeting to which another rank has called this one, or in which another rank waits,
 * unless another worker of this rank has been there while this one waited for its turn. If the
 * other rank only waits there, this rank first calls all ranks. */
static tern_status come_to_meeting(tern_worker *worker) {
    tern_status status = tern_collective_claim(worker);
    tern_notify_of(worker)->hailed = 0; /* this may use up the answer to the last hail */
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

/* Calls a meeting and fails there with `why`. TERN_OK: the meeting ended an earlier collective. */
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
             worker->context->rank, tern_notified_names[tern_notify_of(worker)->kind], rank,
             tern_notified_names[kind]);
    return notified_refuse(worker, TERN_ERR_MISMATCH, reason);
}

tern_status tern_notified_refuse_bytes(tern_worker *worker, size_t bytes, uint32_t rank,
                                       size_t other_bytes) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason, "%s has %zu bytes on rank %u and %zu bytes on rank %u",
             tern_notified_names[tern_notify_of(worker)->kind], bytes, worker->context->rank,
             other_bytes, rank);
    return notified_refuse(worker, TERN_ERR_MISMATCH, reason);
}

static tern_status refuse_failed(tern_worker *worker, uint32_t rank) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason,
             "rank %u is in %s, which has failed on rank %u, as ranks were in different collective "
             "functions",
             worker->context->rank, tern_notified_names[tern_notify_of(worker)->kind], rank);
    return notified_refuse(worker, TERN_ERR_MISMATCH, reason);
}

/* Calls a meeting and fails there with an error of this rank, which the error detail describes.
 * TERN_OK: the meeting ended an earlier collective, in which the other ranks still were. */
static tern_status refuse_failure(tern_worker *worker, tern_status why) {
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason, "%s", tern_error_detail());
    return notified_refuse(worker, why, reason);
}

tern_status tern_notified_again(tern_worker *worker, tern_wait_state *wait, tern_status status) {
    if (status == TERN_ERR_AGAIN)
        return tern_notified_step(worker, wait);
    return status == TERN_ERR_PEER ? status : refuse_failure(worker, status);
}

tern_status tern_notified_look(tern_worker *worker) {
    const tern_notify *n = tern_notify_of(worker);
    if (is_called(worker) || is_missed(worker))
        return come_to_meeting(worker);
    for (const tern_notified_fragment *fragment = n->fragments; fragment != NULL;
         fragment = fragment->next) {
        if (fragment->sequence == worker->notified && fragment->type == TERN_FRAGMENT_FAILED)
            return refuse_failed(worker, fragment->origin);
        if (fragment->sequence == worker->notified && fragment->kind != n->kind)
            return refuse_kind(worker, fragment->origin, fragment->kind);
        if (fragment->sequence == worker->notified && fragment->type == TERN_FRAGMENT_DATA &&
            n->bytes != fragment->word)
            return tern_notified_refuse_bytes(worker, n->bytes, fragment->origin, fragment->word);
    }
    return TERN_OK;
}

void tern_notified_hail(tern_worker *worker, uint32_t rank) {
    tern_notify *n = tern_notify_of(worker);
    const uint64_t meeting = tern_notified_next_meeting(worker);
    const uint64_t now = tern_now();
    if (n->hailed != 0 && now - n->hailed < HAIL_AGAIN_NS)
        return;
    if (tern_notified_fragment_send(worker, rank, TERN_FRAGMENT_HAIL, 0, worker->notified, meeting,
                                    NULL, 0) == TERN_OK)
        n->hailed = now;
}
