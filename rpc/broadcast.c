#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/port/port.h"
#include "rma/region/region.h"
#include "rpc/call/extended.h"
#include "rpc/call/send.h"
#include "src/log.h"
#include "src/progress/wait.h"

/*
 * Passing a broadcast on (paper 000, table 1). If a broadcast puts a buffer, the buffer is at its
 * place on this rank when the call arrives. From there this rank puts it to the same place of each
 * child, before it sends the call to the child and before a function on this rank may change the
 * buffer. Nothing here waits for room: if a ring is full, progress tries again.
 */

/* Returns the worker number of child i. Ranks are counted from the origin's rank, which is 0. Rank
 * r sends to ranks r * arity + 1 to r * arity + arity, on each to the worker that has the origin's
 * index. This worker sends to the other workers of its rank. */
static uint32_t broadcast_child_of(const tern_worker *worker, const tern_extension *e, uint32_t i,
                                   uint32_t ranks) {
    const tern_context *context = worker->context;
    uint32_t root = e->origin / context->workers;
    if (i >= ranks) { /* another worker of this rank */
        uint32_t index = i - ranks;
        return context->rank * context->workers + index + (index >= worker->index);
    }
    uint64_t mine = (context->rank + context->size - root) % context->size;
    uint32_t rank = (uint32_t)((mine * e->arity + 1 + i + root) % context->size);
    return rank * context->workers + e->origin % context->workers;
}

/* Returns how many ranks this rank passes the broadcast on to. */
static uint32_t ranks_below(const tern_worker *worker, const tern_extension *e) {
    const tern_context *context = worker->context;
    uint64_t mine = (context->rank + context->size - e->origin / context->workers) % context->size;
    uint64_t first = mine * e->arity + 1;
    uint64_t ranks = first < context->size ? context->size - first : 0;
    return ranks < e->arity ? (uint32_t)ranks : e->arity;
}

/* Puts the rest of the buffer, as far as it can now. Over rma puts and frames arrive in any order,
 * so a flush completes the puts before the call is sent. TERN_ERR_AGAIN: try again later. */
static tern_status broadcast_put_remote(tern_worker *worker, tern_ptr gaddr, const char *from,
                                        uint64_t bytes, tern_passing *passing) {
    const tern_transport_ops *transport = tern_transport_to(worker->context, gaddr.rank);
    uint64_t offset = 0;
    tern_status status = tern_segment_check(worker->context, gaddr, bytes, &offset);
    tern_ring_warm(worker);
    if (passing->put == 0)
        passing->losses = tern_port_losses(worker, gaddr.rank);
    while (status == TERN_OK && passing->put < bytes) {
        uint64_t piece = 0;
        status = transport->post(worker, gaddr.rank, offset + passing->put, from + passing->put,
                                 bytes - passing->put, true, &piece);
        worker->stats.puts += passing->put == 0 && piece > 0;
        passing->put += piece;
    }
    if (status == TERN_OK && !transport->posts_in_order)
        status = transport->flush(worker, gaddr.rank);
    if (status == TERN_OK)
        status = tern_port_lost_since(worker, gaddr.rank, passing->losses);
    if (status == TERN_ERR_AGAIN && tern_glance(worker, gaddr.rank) != TERN_OK)
        status = TERN_ERR_PEER;
    return status;
}

/* Puts the buffer to one child. If this rank has no such place, it puts nothing: the child has no
 * such place either and reports the error. */
static tern_status put_to(tern_worker *worker, const tern_extension *e, uint32_t rank,
                          tern_passing *passing) {
    tern_ptr here = e->gaddr, there = e->gaddr;
    here.rank = worker->context->rank;
    there.rank = rank;
    const char *from = tern_internal_reach_address(worker, here, e->buffer_bytes);
    char *direct = tern_internal_reach_address(worker, there, e->buffer_bytes);
    if (from == NULL || passing->put == e->buffer_bytes)
        return TERN_OK;
    if (direct == NULL)
        return broadcast_put_remote(worker, there, from, e->buffer_bytes, passing);
    memcpy(direct, from, e->buffer_bytes);
    passing->put = e->buffer_bytes;
    return TERN_OK;
}

bool tern_broadcast_pass(tern_worker *worker, const tern_extension *e, uint32_t id,
                         const char *rest, size_t bytes, bool own, tern_passing *passing) {
    const tern_context *context = worker->context;
    uint32_t ranks = ranks_below(worker, e), count = ranks + (own ? context->workers - 1 : 0);
    for (; passing->told < count; passing->told++, passing->put = 0) {
        bool is_rank = passing->told < ranks;
        tern_extension theirs = *e;
        if (!is_rank)
            theirs.arity = 0;
        tern_outgoing call = {{broadcast_child_of(worker, e, passing->told, ranks),
                               (e->flags & TERN_CALL_BY_MESSAGE) != 0},
                              tern_record_header(TERN_RECORD_CALL_EXTENDED, id, 0),
                              {{&theirs, sizeof theirs}, {rest, bytes}}};
        tern_status status = TERN_OK;
        if (is_rank && e->transfer == TERN_BUFFER_PUT)
            status = put_to(worker, e, tern_rank_of(context, call.to.target), passing);
        if (status == TERN_OK)
            status = tern_outgoing_send(worker, &call, TERN_FULL_QUEUE);
        if (status == TERN_ERR_AGAIN)
            return false;
        if (status != TERN_OK)
            tern_log(TERN_LOG_ERROR, "a broadcast does not reach worker %u: %s", call.to.target,
                     tern_error_detail());
    }
    return true;
}
