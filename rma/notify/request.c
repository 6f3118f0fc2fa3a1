#include "rma/notify/request.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/port/port.h"
#include "rma/region/cma.h"
#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"
#include "rma/transport/transport.h"
#include "src/log.h"
#include "src/profile/trace.h"
#include "src/progress/wait.h"

#define GET_PIECE ((uint64_t)1 << 30) /* the most bytes of one get: MPI takes an int */

size_t tern_operation_record(const tern_operation *operation) {
    size_t cid = tern_words(operation->cid_bytes);
    if (operation->type == TERN_NOTICE_PURE)
        return cid;
    return 8 + cid + (operation->type == TERN_NOTICE_PACKED ? tern_words(operation->bytes) : 0);
}

uint64_t tern_operation_compose(const tern_operation *operation, void *payload) {
    char *at = payload;
    size_t padding = 0;
    if (operation->type != TERN_NOTICE_PURE) {
        bool packed = operation->type == TERN_NOTICE_PACKED;
        memcpy(at, packed ? &operation->offset : &operation->bytes, 8);
        at += 8;
    }
    if (operation->cid_bytes > 0)
        memcpy(at, operation->cid, operation->cid_bytes);
    at += tern_words(operation->cid_bytes);
    if (operation->type == TERN_NOTICE_PACKED) {
        memcpy(at, operation->memory, operation->bytes);
        padding = tern_words(operation->bytes) - operation->bytes;
    }
    return tern_notice_header(operation->type, operation->cid_bytes, padding,
                              tern_operation_record(operation));
}

void tern_operation_trace_sent(tern_worker *worker, const tern_out *out) {
    if (__builtin_expect(worker->profile != NULL, 0))
        tern_trace_arrow(worker, TERN_TRACE_ARROW_FROM,
                         tern_arrow(TERN_CHANNEL_NOTIFY, out->origin, out->target, out->lane.write),
                         tern_now());
}

tern_status tern_operation_move_direct(tern_worker *worker, const tern_operation *o) {
    if (!tern_operation_moves(o))
        return TERN_OK;
    if (o->rows != NULL)
        return tern_rows_copy(worker, o->rows, true);
    uint32_t rank = tern_rank_of(worker->context, o->target);
    bool get = o->type == TERN_NOTICE_GET;
    if (tern_offset_in_region(o->offset))
        return tern_cma_copy_by_system(worker, rank, o->offset, o->memory, o->bytes,
                                       get ? TERN_GET_FROM : TERN_PUT_INTO);
    char *there = tern_rma_of(worker->context)->reach[rank].base + o->offset;
    tern_internal_copy(get ? o->memory : there, get ? there : o->memory, o->bytes);
    return TERN_OK;
}

/* Returns where the data goes or comes from as an offset in the segment, or in a region. */
static uint64_t offset_of(const tern_worker *worker, const tern_operation *operation) {
    if (tern_offset_in_region(operation->offset))
        return operation->offset;
    return tern_rma_of(worker->context)->layout.heap + operation->offset;
}

/* Whether the moving transfer of w can be tested by itself: a get, or a put by messages. Only a
 * flush tells that any other put is complete. */
static bool tells_itself(const tern_waiting *w) {
    return w->transfer.under_way ||
           (w->flight != NULL && w->operation.type == TERN_NOTICE_GET && w->state == TERN_MOVING);
}

static const tern_transport_ops *transport_of(const tern_worker *worker, const tern_out *out) {
    return tern_transport_to(worker->context, tern_rank_of(worker->context, out->target));
}

/* Starts a get of no bytes behind a put by messages. Messages are served in order, so its answer
 * tells that the put has arrived. */
static tern_status ask_after_put(tern_worker *worker, tern_waiting *w) {
    const tern_operation *o = &w->operation;
    tern_status status = tern_transport_p2p.get(worker, tern_rank_of(worker->context, o->target),
                                                o->offset, o->memory, 0, &w->transfer);
    w->state = status == TERN_OK ? TERN_MOVING : TERN_WAITING;
    return status;
}

/* The data that has not been posted yet, up to the end of its row. [out] offset: where it goes.
 * Returns how many bytes these are. */
static uint64_t next_to_post(const tern_worker *worker, const tern_waiting *w, uint64_t *offset,
                             const char **from) {
    const tern_operation *o = &w->operation;
    if (w->flight != NULL) {
        const tern_rows *rows = &w->flight->rows;
        *offset = rows->offset + rows->taken;
        *from = rows->local + rows->taken;
        return tern_rows_rest(rows);
    }
    *offset = offset_of(worker, o) + w->moved;
    *from = o->memory + w->moved;
    return o->bytes - w->moved;
}

/* Posts the rest of the data, as far as the transport accepts it. */
static tern_status start_put(tern_worker *worker, const tern_out *out, tern_waiting *w) {
    const tern_operation *o = &w->operation;
    uint32_t rank = tern_rank_of(worker->context, o->target);
    if (w->moved == 0)
        w->losses = tern_port_losses(worker, rank);
    while (w->moved < o->bytes) {
        uint64_t piece = 0, offset;
        const char *from;
        const uint64_t rest = next_to_post(worker, w, &offset, &from);
        const bool begins = w->flight != NULL ? w->flight->rows.taken == 0 : w->moved == 0;
        tern_status status =
            transport_of(worker, out)->post(worker, rank, offset, from, rest, true, &piece);
        worker->stats.puts += begins && piece > 0;
        w->moved += piece;
        if (w->flight != NULL && piece > 0)
            tern_rows_take(&w->flight->rows, piece);
        if (status != TERN_OK)
            return status;
    }
    w->state = transport_of(worker, out)->posts_in_order ? TERN_LANDED : TERN_MOVING;
    const uint64_t somewhere =
        w->flight != NULL && w->flight->rows.in_regions ? TERN_OFFSET_IN_REGION : o->offset;
    bool by_messages = w->state == TERN_MOVING && tern_window_by_messages(worker, somewhere);
    return by_messages ? ask_after_put(worker, w) : TERN_OK;
}

/* Tests the gets of rows that are under way, and starts others. */
static tern_status request_advance_rows(tern_worker *worker, tern_waiting *w) {
    bool done = false;
    const tern_status status = tern_rows_flight_advance(worker, w->flight, &done);
    if (done && status == TERN_OK)
        w->state = TERN_LANDED;
    return status;
}

/* Starts the get of the next piece of at most GET_PIECE bytes, or of the first rows. */
static tern_status request_start_get(tern_worker *worker, const tern_out *out, tern_waiting *w) {
    const tern_operation *o = &w->operation;
    if (w->flight != NULL) {
        w->state = TERN_MOVING;
        return request_advance_rows(worker, w);
    }
    uint64_t piece = o->bytes - w->moved < GET_PIECE ? o->bytes - w->moved : GET_PIECE;
    tern_status status =
        transport_of(worker, out)
            ->get(worker, tern_rank_of(worker->context, o->target), offset_of(worker, o) + w->moved,
                  o->memory + w->moved, piece, &w->transfer);
    if (status != TERN_OK)
        return status;
    worker->stats.gets += w->moved == 0;
    w->moved += piece;
    w->state = TERN_MOVING;
    return TERN_OK;
}

/* Starts to move the request's data, if it has any. TERN_ERR_AGAIN: no room; try again later. */
static tern_status request_start(tern_worker *worker, const tern_out *out, tern_waiting *w) {
    const tern_operation *o = &w->operation;
    if (tern_operation_moves(o) && !tern_target_is_direct(worker, out))
        return o->type == TERN_NOTICE_GET ? request_start_get(worker, out, w)
                                          : start_put(worker, out, w);
    w->state = TERN_LANDED;
    return tern_operation_move_direct(worker, o);
}

/* Appends w to the target's queue. If w is the first, holds the ring, since later operations must
 * not overtake queued ones. */
static void request_append(tern_worker *worker, tern_out *out, tern_waiting *w) {
    tern_notify *n = tern_notify_of(worker);
    tern_requests *requests = out->requests;
    if (requests->last != NULL) {
        requests->last->next = w;
    } else {
        requests->first = w;
        requests->next = n->waiting;
        n->waiting = out;
        tern_ring_hold(worker, out, !n->relaxed);
    }
    requests->last = w;
    requests->count++;
    requests->unlanded += w->state != TERN_LANDED;
    n->done_reserved += w->operation.local;
    worker->stats.notices_queued++;
    worker->view.unsent = 1;
}

/* A get that is still under way is given up: its memory is the application's again. */
static void request_drop(tern_worker *worker, tern_waiting *w) {
    if (w->transfer.under_way && w->transfer.flies)
        tern_posting_abandon(worker, w->transfer.posting, false);
    if (w->flight != NULL)
        tern_rows_flight_abandon(worker, w->flight);
    if (w->rkey != NULL)
        tern_rkey_release(worker, w->rkey, false);
    free(w->flight);
    free(w);
}

/* Takes over what the operation points to: the cid, which the payload holds, and the rows, of which
 * a transfer to another node needs a copy; other rows are moved before the caller returns.
 * TERN_ERR_MEMORY; errors of tern_rkey_hold. */
static tern_status request_keep(tern_worker *worker, const tern_out *out, tern_waiting *w) {
    const tern_operation *o = &w->operation;
    const uint32_t rank = tern_rank_of(worker->context, o->target);
    w->operation.cid = NULL;
    if (tern_target_is_direct(worker, out) || !tern_operation_moves(o))
        return TERN_OK;
    /* Extents may lie in several regions; each of their transfers holds its rkey. */
    const bool holds = o->rows == NULL || o->rows->extents == NULL;
    const uint64_t bytes = o->rows != NULL ? o->rows->box_bytes : o->bytes;
    if (o->rows != NULL && (w->flight = tern_rows_flight_create(o->rows)) == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to queue a notified operation");
    w->operation.rows = NULL;
    return holds && tern_offset_in_region(o->offset)
               ? tern_rkey_hold(worker, rank, o->offset, bytes, &w->rkey)
               : TERN_OK;
}

tern_status tern_request_queue(tern_worker *worker, tern_out *out,
                               const tern_operation *operation) {
    uint32_t rank = tern_rank_of(worker->context, operation->target);
    size_t limit = worker->context->config.notify_queue;
    if (out->requests != NULL && out->requests->count >= limit) {
        tern_status status = tern_glance(worker, rank);
        return status != TERN_OK
                   ? status
                   : tern_fail(TERN_ERR_AGAIN,
                               "%zu notified operations wait for worker %u to probe or for "
                               "progress here; make progress, or raise TERN_NOTIFY_QUEUE",
                               limit, operation->target);
    }
    tern_waiting *w = calloc(1, sizeof *w + tern_operation_record(operation));
    if (out->requests == NULL)
        out->requests = calloc(1, sizeof *out->requests);
    if (w == NULL || out->requests == NULL) {
        free(w);
        return tern_fail(TERN_ERR_MEMORY, "no memory to queue a notified operation");
    }
    w->operation = *operation;
    w->header = tern_operation_compose(operation, w->payload);
    tern_status status = request_keep(worker, out, w);
    if (status != TERN_OK) {
        request_drop(worker, w);
        return status;
    }
    /* The transfer starts now, unless the request before it found no room in the transport. */
    status = TERN_ERR_AGAIN;
    if (out->requests->last == NULL || out->requests->last->state != TERN_WAITING ||
        tern_target_is_direct(worker, out))
        status = request_start(worker, out, w);
    if (status != TERN_OK && status != TERN_ERR_AGAIN) {
        request_drop(worker, w);
        return status;
    }
    w->operation.rows = NULL;
    request_append(worker, out, w);
    tern_error_clear_again();
    return TERN_OK;
}

/* Ends a request with this status, and queues its local event. */
static void request_finish(tern_worker *worker, tern_requests *requests, tern_waiting *w,
                           tern_status status) {
    tern_notify *n = tern_notify_of(worker);
    requests->count--;
    if (w->operation.local) {
        n->done_reserved--;
        tern_done_push(n, w->operation.target, w->operation.local_cid, w->operation.bytes,
                       w->operation.type == TERN_NOTICE_GET, status);
    }
    request_drop(worker, w);
}

/* Tests once whether a transfer under way is complete. */
static tern_status request_look(tern_worker *worker, const tern_out *out, tern_waiting *w) {
    int done = 0;
    if (w->flight != NULL && w->operation.type == TERN_NOTICE_GET)
        return request_advance_rows(worker, w);
    tern_status status = transport_of(worker, out)->test(worker, &w->transfer, &done);
    if (done)
        w->transfer.under_way = false;
    if (status != TERN_OK || !done)
        return status;
    if (w->flight != NULL)
        return TERN_OK; /* a flush covers the rows that did not go by messages */
    w->state = w->moved < w->operation.bytes ? TERN_WAITING : TERN_LANDED;
    return TERN_OK;
}

/* Makes one flush for all moving puts that only a flush completes. The losses of other puts are not
 * told here, so the program's flush still tells of them. */
static tern_status flush_puts(tern_worker *worker, const tern_out *out) {
    const uint32_t rank = tern_rank_of(worker->context, out->target);
    tern_status status = transport_of(worker, out)->flush(worker, rank);
    for (const tern_waiting *w = out->requests->first; w != NULL && status == TERN_OK; w = w->next)
        if (w->state == TERN_MOVING && !tells_itself(w))
            status = tern_port_lost_since(worker, rank, w->losses);
    return status;
}

/* Starts waiting transfers, tests moving ones, and flushes puts. An error fails the whole queue,
 * since no operation may overtake a failed one. */
static tern_status request_land(tern_worker *worker, tern_out *out) {
    tern_requests *requests = out->requests;
    bool flush = false, blocked = false;
    tern_status status = TERN_OK;
    for (tern_waiting *w = requests->first; w != NULL && status == TERN_OK; w = w->next) {
        if (w->state == TERN_MOVING && tells_itself(w))
            status = request_look(worker, out, w);
        if (w->state == TERN_WAITING && !blocked && status == TERN_OK) {
            status = request_start(worker, out, w);
            blocked = status == TERN_ERR_AGAIN;
            if (blocked)
                status = TERN_OK;
        }
        flush = flush || (w->state == TERN_MOVING && !tells_itself(w));
    }
    if (flush && status == TERN_OK)
        status = flush_puts(worker, out);
    requests->unlanded = 0;
    for (tern_waiting *w = requests->first; w != NULL; w = w->next) {
        if (flush && status == TERN_OK && w->state == TERN_MOVING && !tells_itself(w))
            w->state = TERN_LANDED;
        requests->unlanded += w->state != TERN_LANDED;
    }
    return status;
}

/* Commits the request's record; the caller publishes it together with others. TERN_ERR_AGAIN: no
 * room. */
static tern_status request_post(tern_worker *worker, tern_out *out, const tern_waiting *w) {
    size_t bytes = tern_record_bytes(w->header);
    if (!w->operation.remote)
        return TERN_OK;
    void *room = NULL;
    tern_status status = tern_ring_try(worker, out, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, w->payload, bytes);
    tern_operation_trace_sent(worker, out);
    tern_ring_commit(out, w->header);
    return TERN_OK;
}

/* Posts the records of landed requests, in order, and finishes these requests. With
 * TERN_ORDER=relaxed they pass requests that have not landed. Returns how many were finished. */
static size_t post_landed(tern_worker *worker, tern_out *out) {
    bool relaxed = tern_notify_of(worker)->relaxed;
    tern_requests *requests = out->requests;
    tern_waiting **link = &requests->first, *before = NULL;
    size_t posted = 0;
    while (*link != NULL) {
        tern_waiting *w = *link;
        if (w->state == TERN_LANDED) {
            tern_status status = request_post(worker, out, w);
            if (status == TERN_ERR_AGAIN)
                break;
            *link = w->next;
            if (requests->last == w)
                requests->last = before;
            request_finish(worker, requests, w, status);
            posted++;
        } else if (relaxed) {
            before = w;
            link = &w->next;
        } else {
            break;
        }
    }
    tern_ring_publish(worker, out);
    return posted;
}

/* A put without a local event leaves it to the program's next flush to tell that a network has lost
 * it. */
static void lose_untold(tern_worker *worker, const tern_waiting *w, uint32_t rank,
                        tern_status status) {
    if (status != TERN_ERR_NETWORK || w->operation.local || !w->moved ||
        w->operation.type != TERN_NOTICE_PUT)
        return;
    tern_port_lose(worker, rank);
    tern_dirty_mark(tern_rma_worker_of(worker), rank, TERN_DIRTY_RECORDS);
}

/* Ends all requests of a target with this status. */
static size_t fail_all(tern_worker *worker, tern_out *out, tern_status status) {
    tern_requests *requests = out->requests;
    const uint32_t rank = tern_rank_of(worker->context, out->target);
    size_t count = requests->count;
    tern_log(TERN_LOG_WARN, "%zu notified operations on rank %u are given up: %s", count, rank,
             tern_strerror(status));
    while (requests->first != NULL) {
        tern_waiting *w = requests->first;
        requests->first = w->next;
        lose_untold(worker, w, rank, status);
        request_finish(worker, requests, w, status);
    }
    requests->last = NULL;
    requests->unlanded = 0;
    return count;
}

/* Advances the requests to one target. Returns how many were finished. */
static size_t request_advance(tern_worker *worker, tern_out *out) {
    uint32_t rank = tern_rank_of(worker->context, out->target);
    tern_requests *requests = out->requests;
    tern_status status = tern_glance(worker, rank);
    if (status == TERN_OK && out->opening) {
        tern_out *opened = NULL;
        status = tern_ring_open_channel(worker, TERN_CHANNEL_NOTIFY, out->target, &opened);
    }
    if (status == TERN_OK && requests->unlanded > 0)
        status = request_land(worker, out);
    if (status == TERN_ERR_AGAIN) /* the ring is still being opened */
        return 0;
    return status == TERN_OK ? post_landed(worker, out) : fail_all(worker, out, status);
}

size_t tern_requests_advance(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    tern_out **link = &n->waiting;
    size_t finished = 0;
    while (*link != NULL) {
        tern_out *out = *link;
        finished += request_advance(worker, out);
        if (out->requests->first == NULL) {
            *link = out->requests->next;
            tern_ring_hold(worker, out, false);
        } else {
            link = &out->requests->next;
        }
    }
    return finished;
}

/* Whether a flush would cover all puts of the queue: all have started, and none goes by
 * messages. */
static bool are_moving(const tern_requests *requests) {
    for (const tern_waiting *w = requests->first; w != NULL; w = w->next)
        if (w->operation.type == TERN_NOTICE_PUT &&
            (w->state == TERN_WAITING || (w->state == TERN_MOVING && tells_itself(w))))
            return false;
    return true;
}

bool tern_requests_moving(const tern_worker *worker, uint32_t rank) {
    for (const tern_out *out = tern_notify_of(worker)->waiting; out != NULL;
         out = out->requests->next)
        if (tern_rank_of(worker->context, out->target) == rank && !are_moving(out->requests))
            return false;
    return true;
}

uint32_t tern_requests_unmoved(const tern_worker *worker) {
    for (const tern_out *out = tern_notify_of(worker)->waiting; out != NULL;
         out = out->requests->next)
        if (!tern_target_is_direct(worker, out) && !are_moving(out->requests))
            return tern_rank_of(worker->context, out->target);
    return TERN_NOBODY;
}

uint32_t tern_requests_unsent(const tern_worker *worker, uint32_t rank) {
    for (const tern_out *out = tern_notify_of(worker)->waiting; out != NULL;
         out = out->requests->next) {
        const uint32_t theirs = tern_rank_of(worker->context, out->target);
        if ((rank == TERN_ANYBODY || rank == theirs) && out->target != worker->id)
            return theirs;
    }
    return TERN_NOBODY;
}

/* Tests the transfers under way that can be tested; returns whether all are over. One that has
 * failed is over. Does not start requests that still wait. */
static bool gets_are_over(tern_worker *worker) {
    for (tern_out *out = tern_notify_of(worker)->waiting; out != NULL; out = out->requests->next)
        for (tern_waiting *w = out->requests->first; w != NULL; w = w->next) {
            if (w->state != TERN_MOVING || !tells_itself(w))
                continue;
            if (request_look(worker, out, w) != TERN_OK) {
                tern_error_clear();
                w->state = TERN_LANDED;
            }
            if (w->state == TERN_MOVING)
                return false;
        }
    return true;
}

tern_status tern_requests_settle(tern_worker *worker) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    const tern_transport_ops *remote = tern_rma_of(worker->context)->remote;
    while (status == TERN_OK && !gets_are_over(worker)) {
        remote->poll(worker);
        status = tern_wait_step(worker->context, &wait, TERN_ANYBODY);
    }
    return status;
}

void tern_requests_discard(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    while (n->waiting != NULL) {
        tern_requests *requests = n->waiting->requests;
        while (requests->first != NULL) {
            tern_waiting *w = requests->first;
            requests->first = w->next;
            free(w->flight);
            free(w);
        }
        n->waiting = requests->next;
    }
}
