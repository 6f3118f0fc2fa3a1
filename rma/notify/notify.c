#include "rma/notify/notify.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/notify/request.h"
#include "rma/memory/state.h"
#include "src/context.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"

/*
 * Begins notified operations. The hot path is a packed put over shm: it checks bounds and room for
 * the local event, finds the pair's ring, and writes cid, data and two header words straight into
 * the target's memory. It makes no system call, takes no lock, allocates nothing, and touches no
 * cache line of the target but those of the record. Guarded by `tern-bench notify`.
 */

enum { PAUSES = 1000 }; /* looks of wait_a_moment at a full ring */

tern_status tern_done_make_room(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    if (tern_done_has_room(n))
        return TERN_OK;
    uint64_t limit = worker->context->config.notify_events;
    uint64_t size = n->done == NULL ? 0 : n->done_mask + 1;
    if (n->done_room >= limit)
        return tern_fail(TERN_ERR_AGAIN,
                         "%llu local events have not been probed for; probe, or raise "
                         "TERN_NOTIFY_EVENTS",
                         (unsigned long long)limit);
    uint64_t larger = size == 0 ? 64 : size * 2;
    tern_done *done = malloc(larger * sizeof *done);
    if (done == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %llu local events",
                         (unsigned long long)larger);
    for (uint64_t i = n->done_head; i != n->done_tail; i++)
        done[i & (larger - 1)] = n->done[i & n->done_mask];
    free(n->done);
    n->done = done;
    n->done_mask = larger - 1;
    n->done_room = larger < limit ? larger : limit;
    return TERN_OK;
}

/* Queues the local event of an operation whose data is moved and whose record, if any, is
 * committed. */
static void notify_conclude(tern_worker *worker, const tern_operation *o) {
    if (o->local)
        tern_done_push(tern_notify_of(worker), o->target, o->local_cid, o->bytes,
                       o->type == TERN_NOTICE_GET, TERN_OK);
}

/* Completes the operation at once, unless its data has to move over a network or its record finds
 * no room. TERN_ERR_AGAIN: it has to wait, and nothing was done. */
static tern_status post_try(tern_worker *worker, tern_out *out, const tern_operation *o) {
    const bool shares = tern_target_is_direct(worker, out);
    if (!shares && tern_operation_moves(o))
        return TERN_ERR_AGAIN;
    size_t bytes = tern_operation_record(o);
    void *room = NULL;
    tern_status status = TERN_OK;
    if (o->remote) {
        status = tern_ring_try(worker, out, bytes, &room);
        if (status != TERN_OK)
            return status;
    }
    /* The data moves before the record is published: the record's release store tells the target
     * that the data is there. */
    if (shares)
        status = tern_operation_move_direct(worker, o);
    if (status != TERN_OK)
        return status;
    if (o->remote) {
        tern_operation_trace_sent(worker, out);
        tern_ring_commit(out, tern_operation_compose(o, room));
        tern_ring_publish(worker, out);
    }
    notify_conclude(worker, o);
    return TERN_OK;
}

/* Waits for room in a full direct ring for some microseconds, the time in which a target consumes
 * half a ring of small records. If the target is only a little slower than this worker, this is
 * cheaper than the queue. Only the first operation that finds the ring full waits; later ones find
 * a queue and join it. */
static bool wait_a_moment(tern_worker *worker, tern_out *out, const tern_operation *o) {
    if (!out->direct || worker->in_progress || o->target == worker->id || tern_requests_wait(out))
        return false;
    uint64_t size = tern_record_size(tern_operation_record(o)) + 8;
    for (int i = 0; i < PAUSES; i++) {
        if (tern_ring_has_room(worker, out, size))
            return true;
        tern_relax();
    }
    return false;
}

/* Completes the operation at once, or queues it as a request. */
static tern_status notify_post(tern_worker *worker, const tern_operation *o) {
    tern_context *context = worker->context;
    tern_notify *n = tern_notify_of(worker);
    uint32_t rank = tern_rank_of(context, o->target);
    if (tern_peer_is_dead(&context->peers, rank))
        return tern_peer_fail(rank);
    tern_status status = o->local ? tern_done_make_room(worker) : TERN_OK;
    if (status != TERN_OK)
        return status;
    tern_out *out = NULL;
    status = tern_ring_open_channel(worker, TERN_CHANNEL_NOTIFY, o->target, &out);
    if (status == TERN_ERR_AGAIN) {
        out = n->out[o->target];
        /* An operation whose data travels in the record waits for the opening and is sent now, if
         * the target need not help to open the ring. */
        if (out != NULL && !tern_operation_moves(o))
            status = tern_ring_await_opening(worker, out);
    }
    const bool opening = status == TERN_ERR_AGAIN;
    if ((status != TERN_OK && !opening) || out == NULL)
        return status;
    bool behind = tern_requests_wait(out) && !n->relaxed;
    if (behind && out->direct) {
        (void)tern_requests_advance(worker);
        behind = tern_requests_wait(out);
        if (tern_peer_is_dead(&context->peers, rank))
            return tern_peer_fail(rank);
    }
    status = opening || behind ? TERN_ERR_AGAIN : post_try(worker, out, o);
    if (status == TERN_ERR_AGAIN && !opening && wait_a_moment(worker, out, o))
        status = post_try(worker, out, o);
    if (status == TERN_ERR_AGAIN)
        status = tern_request_queue(worker, out, o);
    if (status != TERN_OK)
        return status;
    worker->stats.notices_packed += o->type == TERN_NOTICE_PACKED;
    worker->stats.notices_ledger += o->type == TERN_NOTICE_PUT || o->type == TERN_NOTICE_GET;
    return TERN_OK;
}

/* The arguments of tern_put_notify and tern_get_notify. */
typedef struct notify_question {
    const char *function;
    tern_worker_id other;
    tern_ptr gaddr;
    const void *memory;
    size_t bytes;
    uint64_t local_cid;
    const void *cid;
    size_t cid_bytes;
    unsigned flags;
    bool is_get;
    const tern_rows *rows; /* of a non-contiguous transfer, checked; NULL: contiguous */
} notify_question;

static tern_status notify_check(tern_worker *worker, const notify_question *q) {
    if (worker == NULL || (q->cid == NULL && q->cid_bytes > 0) ||
        (q->memory == NULL && q->bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: worker is NULL, or memory or cid is NULL although its size is not 0",
                         q->function);
    const tern_context *context = worker->context;
    tern_status status = tern_worker_check(context, q->other, q->function);
    if (status != TERN_OK)
        return status;
    if (q->cid_bytes > TERN_CID_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: the cid has %zu bytes; at most %u are allowed",
                         q->function, q->cid_bytes, TERN_CID_MAX);
    if ((q->flags & ~(TERN_NOTIFY_NO_LOCAL | TERN_NOTIFY_NO_REMOTE)) != 0)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "%s: flags is %#x; only TERN_NOTIFY_NO_LOCAL and TERN_NOTIFY_NO_REMOTE are "
            "allowed",
            q->function, q->flags);
    if (q->rows != NULL && q->rows->rank == q->other.rank)
        return tern_rows_check_rkeys(worker, q->rows);
    if (q->bytes == 0)
        return TERN_OK;
    if (q->gaddr.rank != q->other.rank)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: the address is memory of rank %u, but the worker is one of rank %u",
                         q->function, q->gaddr.rank, q->other.rank);
    uint64_t offset = 0;
    status = tern_segment_check(context, q->gaddr, q->bytes, &offset);
    if (status == TERN_OK && q->gaddr.segment != 0 && !tern_rank_is_direct(context, q->gaddr.rank))
        status = tern_rkey_check(worker, q->gaddr.rank, offset, q->bytes);
    return status;
}

static tern_status notify_check_and_post(tern_worker *worker, const notify_question *q) {
    tern_status status = notify_check(worker, q);
    if (status != TERN_OK)
        return status;
    const tern_notify *n = tern_notify_of(worker);
    tern_operation o = {.target = tern_worker_number(worker->context, q->other),
                        .type = q->is_get ? TERN_NOTICE_GET : TERN_NOTICE_PUT,
                        .remote = (q->flags & TERN_NOTIFY_NO_REMOTE) == 0,
                        .local = (q->flags & TERN_NOTIFY_NO_LOCAL) == 0,
                        .memory = (char *)(uintptr_t)q->memory,
                        .bytes = q->bytes,
                        .local_cid = q->local_cid,
                        .cid = q->cid,
                        .cid_bytes = q->cid_bytes,
                        .rows = q->rows};
    uint64_t most =
        tern_rank_is_direct(worker->context, q->other.rank) ? n->packed_direct : n->packed_remote;
    if (q->rows != NULL) {
        o.offset = q->rows->offset;
        most = 0;
    } else if (q->bytes > 0 && q->gaddr.segment != 0) {
        (void)tern_region_offset(q->gaddr, &o.offset); /* notify_check has checked it */
    } else if (q->bytes > 0) {
        o.offset = q->gaddr.offset - TERN_PTR_ORIGIN;
    } else if (!q->is_get) {
        o.type = TERN_NOTICE_PURE;
    }
    if (o.type == TERN_NOTICE_PUT && o.remote && q->bytes <= most)
        o.type = TERN_NOTICE_PACKED;
    return notify_post(worker, &o);
}

static tern_status notify_ask(tern_worker *worker, const notify_question *q) {
    if (__builtin_expect(worker == NULL || worker->profile == NULL, 1))
        return notify_check_and_post(worker, q);
    const tern_span span = tern_span_begin(
        worker, q->is_get ? TERN_SPAN_NOTIFY_GET : TERN_SPAN_NOTIFY_PUT, TERN_NO_FUNCTION);
    const tern_status status = notify_check_and_post(worker, q);
    tern_span_end(worker, &span, q->other.rank, q->bytes, status);
    return status;
}

/* Copies bytes. The size 8 is a constant for the compiler, so that copy needs no call. */
static inline __attribute__((always_inline)) void copy_words(char *to, const void *from,
                                                             size_t bytes) {
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

/* The short path of ledger mode over shm: copies the data straight to its place, then writes the
 * record. False: the short path is shut or an argument is invalid, and nothing was done. */
static bool move_and_tell(tern_worker *worker, const notify_question *q) {
    tern_notify *n = worker != NULL ? tern_notify_of(worker) : NULL;
    if (n == NULL || q->bytes == 0 || q->memory == NULL || q->cid_bytes > TERN_CID_MAX ||
        (q->cid == NULL && q->cid_bytes > 0) || (q->flags & ~TERN_NOTIFY_NO_LOCAL) != 0 ||
        q->other.rank >= n->short_ranks || q->other.index >= n->workers ||
        q->gaddr.rank != q->other.rank || q->gaddr.segment != 0 ||
        (!q->is_get && q->bytes <= n->packed_direct))
        return false;
    const tern_reach *reach = &n->reach[q->other.rank];
    uint64_t offset = q->gaddr.offset - TERN_PTR_ORIGIN;
    uint32_t number = q->other.rank * n->workers + q->other.index;
    tern_out *out = n->out[number];
    bool local = q->flags == 0;
    if (q->bytes > reach->bytes || offset > reach->bytes - q->bytes || out == NULL ||
        (local && !tern_done_has_room(n)))
        return false;
    uint64_t size = 16 + tern_words(q->cid_bytes);
    char *record = tern_lane_reserve(&out->lane, size);
    if (record == NULL)
        return false;
    if (q->is_get)
        tern_internal_copy((char *)(uintptr_t)q->memory, reach->base + offset, q->bytes);
    else
        tern_internal_copy(reach->base + offset, q->memory, q->bytes);
    memcpy(record + 8, &q->bytes, 8);
    copy_words(record + 16, q->cid, q->cid_bytes);
    uint64_t header = tern_notice_header(q->is_get ? TERN_NOTICE_GET : TERN_NOTICE_PUT,
                                         q->cid_bytes, 0, size - 8);
    /* The release store of the record tells the target that the data is there, or has been read. */
    if (__builtin_expect(tern_lane_send(&out->lane, record, size, header), 0))
        tern_ring_ring_doorbell(worker, out);
    if (local)
        tern_done_push(n, number, q->local_cid, q->bytes, q->is_get, TERN_OK);
    worker->stats.notices_ledger++;
    return true;
}

/* For puts that the short path of packed mode does not take: tries the short path of ledger mode,
 * then goes the general path. */
static __attribute__((noinline)) tern_status put_notify_general(tern_worker *worker,
                                                                const notify_question *q) {
    return move_and_tell(worker, q) ? TERN_OK : notify_ask(worker, q);
}

static const tern_notify_options no_options;

tern_status tern_put_notify(tern_worker *worker, tern_worker_id target, tern_ptr to,
                            const void *from, size_t bytes, const tern_notify_options *options) {
    if (options == NULL)
        options = &no_options;
    const void *cid = options->cid;
    const size_t cid_bytes = options->cid_bytes;
    const unsigned flags = options->flags;
    tern_notify *n = worker != NULL ? tern_notify_of(worker) : NULL;
    if (__builtin_expect(n == NULL || bytes - 1 >= n->packed_direct || cid_bytes > TERN_CID_MAX ||
                             (flags & ~TERN_NOTIFY_NO_LOCAL) != 0 ||
                             target.rank >= n->short_ranks || target.index >= n->workers ||
                             to.rank != target.rank || to.segment != 0 || from == NULL ||
                             (cid == NULL && cid_bytes > 0),
                         0))
        goto general;
    uint64_t offset = to.offset - TERN_PTR_ORIGIN, reach = n->reach[to.rank].bytes;
    uint32_t number = target.rank * n->workers + target.index;
    tern_out *out = n->out[number];
    bool local = flags == 0;
    if (__builtin_expect(bytes > reach || offset > reach - bytes || out == NULL ||
                             (local && !tern_done_has_room(n)),
                         0))
        goto general;
    size_t cid_room = tern_words(cid_bytes), data_room = tern_words(bytes);
    uint64_t size = 16 + cid_room + data_room;
    char *record = tern_lane_reserve(&out->lane, size);
    if (__builtin_expect(record == NULL, 0))
        goto general;
    memcpy(record + 8, &offset, 8);
    copy_words(record + 16, cid, cid_bytes);
    copy_words(record + 16 + cid_room, from, bytes);
    uint64_t header =
        tern_notice_header(TERN_NOTICE_PACKED, cid_bytes, data_room - bytes, size - 8);
    if (__builtin_expect(tern_lane_send(&out->lane, record, size, header), 0))
        tern_ring_ring_doorbell(worker, out);
    if (local)
        tern_done_push(n, number, options->local_cid, bytes, false, TERN_OK);
    worker->stats.notices_packed++;
    return TERN_OK;
general:;
    const notify_question q = {
        "tern_put_notify", target, to,    from, bytes, options->local_cid, cid,
        cid_bytes,         flags,  false, NULL};
    return put_notify_general(worker, &q);
}

tern_status tern_get_notify(tern_worker *worker, tern_worker_id owner, void *to, tern_ptr from,
                            size_t bytes, const tern_notify_options *options) {
    const tern_notify_options *o = options != NULL ? options : &no_options;
    const notify_question q = {"tern_get_notify", owner,    from, to,  bytes, o->local_cid, o->cid,
                               o->cid_bytes,      o->flags, true, NULL};
    return move_and_tell(worker, &q) ? TERN_OK : notify_ask(worker, &q);
}

tern_status tern_notify_rows(tern_worker *worker, const char *function, tern_worker_id other,
                             const tern_rows *rows, const tern_notify_options *options) {
    const tern_notify_options *o = options != NULL ? options : &no_options;
    tern_ptr remote = {.rank = rows->rank};
    const bool contiguous = rows->bytes == 0 || tern_rows_is_one(rows, &remote);
    const notify_question q = {.function = function,
                               .other = other,
                               .gaddr = remote,
                               .memory = rows->bytes > 0 ? rows->local : NULL,
                               .bytes = rows->bytes,
                               .local_cid = o->local_cid,
                               .cid = o->cid,
                               .cid_bytes = o->cid_bytes,
                               .flags = o->flags,
                               .is_get = rows->is_get,
                               .rows = contiguous ? NULL : rows};
    return notify_ask(worker, &q);
}
