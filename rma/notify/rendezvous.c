#include "rma/notify/rendezvous.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "src/context.h"
#include "src/progress/request.h"
#include "src/progress/wait.h"

/* The functions of tern/rendezvous.h: posts, takes descriptors, and finishes them. */

/* Ends the request of a post, if the post is over. TERN_ERR_AGAIN: the post is still open. */
static tern_status post_look(tern_worker *worker, tern_request *request) {
    tern_rendezvous *v = tern_notify_of(worker)->rendezvous;
    tern_slot *s = tern_slot_find(v, request->own[0]);
    if (s == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "the request is of a post of another worker; pass the worker that posted");
    tern_status status = s->status;
    if (status != TERN_OK && tern_peer_is_dead(&worker->context->peers, request->rank))
        status = tern_peer_fail(request->rank);
    else if (status != TERN_ERR_AGAIN && status != TERN_OK)
        status =
            tern_fail(status, "the post of %llu bytes to rank %u was finished with %llu bytes: %s",
                      (unsigned long long)s->posted, request->rank, (unsigned long long)s->moved,
                      tern_strerror(status));
    if (status == TERN_ERR_AGAIN)
        return status;
    const uint64_t moved = s->moved;
    tern_slot_give(v, s);
    return tern_request_end(request, status, moved);
}

static bool post_request_look(tern_worker *worker, tern_request *request) {
    tern_status status = post_look(worker, request);
    if (status == TERN_ERR_AGAIN && tern_glance(worker, request->rank) != TERN_OK)
        status = post_look(worker, request);
    return status != TERN_ERR_AGAIN;
}

static tern_status post_request_wait(tern_worker *worker, tern_request *request) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = post_look(worker, request)) == TERN_ERR_AGAIN)
        if (tern_wait_round(worker->context, &wait, tern_progress_round(worker), TERN_ANYBODY) !=
            TERN_OK)
            tern_error_clear(); /* post_look reports the death of the post's rank */
    return status;
}

static const tern_request_kind post_request = {post_request_look, post_request_wait, NULL};

/* Posts a buffer: takes a slot for it, holds its region, and sends the offer to peer. */
static tern_status post_buffer(tern_worker *worker, tern_worker_id peer, uint32_t type,
                               const tern_offer *offered, tern_request *request) {
    const char *function = type == TERN_OFFER_SEND ? "tern_post_send" : "tern_post_receive";
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", function);
    tern_context *context = worker->context;
    tern_status status = tern_worker_check(context, peer, function);
    if (status == TERN_OK)
        status = tern_request_check(request, function);
    uint64_t offset = 0;
    tern_hold hold = {NULL, NULL};
    if (status == TERN_OK && offered->bytes > 0 && offered->gaddr.rank != context->rank)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: the buffer is memory of rank %u; offer your own",
                           function, offered->gaddr.rank);
    else if (status == TERN_OK && offered->bytes > 0)
        status = tern_segment_check(context, offered->gaddr, offered->bytes, &offset);
    if (status == TERN_OK)
        status = tern_glance(worker, peer.rank);
    tern_rendezvous *v = status == TERN_OK ? tern_rendezvous_of(worker) : NULL;
    uint32_t target = tern_worker_number(context, peer);
    if (status == TERN_OK && v == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for posts to other workers");
    else if (status == TERN_OK && v->with[target].open >= TERN_POSTS_MAX)
        status = tern_fail(TERN_ERR_AGAIN,
                           "%s: %u posts to worker %u of rank %u have not been waited for; wait "
                           "for one",
                           function, TERN_POSTS_MAX, peer.index, peer.rank);
    uint64_t id = 0;
    if (status == TERN_OK)
        status = tern_slot_take(v, target, offered->bytes, &id);
    if (status == TERN_OK && tern_offset_in_region(offset)) {
        status = tern_region_hold(context, context->rank, offset, offered->bytes, &hold);
        if (status != TERN_OK)
            tern_slot_give(v, tern_slot_find(v, id));
    }
    if (status != TERN_OK)
        return status;
    tern_slot_find(v, id)->hold = hold;
    tern_parcel p = {.target = target, .type = type, .payload.offer = *offered};
    p.payload.offer.id = id;
    if (offered->bytes == 0) /* a post of no bytes, which only takes transfers of no bytes */
        p.payload.offer.gaddr = (tern_ptr){context->rank, 0, 0, TERN_PTR_ORIGIN};
    status = tern_parcel_send(worker, v, &p);
    if (status != TERN_OK) {
        tern_slot_give(v, tern_slot_find(v, id));
        return status;
    }
    tern_request_begin(request, &post_request, peer.rank);
    request->own[0] = id;
    return TERN_OK;
}

tern_status tern_post_receive(tern_worker *worker, tern_worker_id peer, uint64_t tag,
                              tern_ptr buffer, size_t bytes, tern_request *request) {
    tern_offer o = {0, tag, buffer, bytes};
    return post_buffer(worker, peer, TERN_OFFER_RECEIVE, &o, request);
}

tern_status tern_post_send(tern_worker *worker, tern_worker_id peer, uint64_t tag, tern_ptr buffer,
                           size_t bytes, tern_request *request) {
    tern_offer o = {0, tag, buffer, bytes};
    return post_buffer(worker, peer, TERN_OFFER_SEND, &o, request);
}

/* Called when no descriptor was there: makes progress, and checks whether rank is alive. */
static void rendezvous_stir(tern_worker *worker, uint32_t rank) {
    tern_progress_round(worker);
    tern_look_vainly(worker);
    if (rank < worker->context->size && tern_glance(worker, rank) != TERN_OK)
        tern_error_clear(); /* the caller reports a death after its next look */
}

static bool is_anybody(tern_worker_id id) {
    return id.rank == UINT32_MAX && id.index == UINT32_MAX;
}

static tern_status check_source(const tern_worker *worker, const char *function,
                                tern_worker_id source, unsigned which, const void *descriptor) {
    if (worker == NULL || descriptor == NULL || which == 0 || which > TERN_POSTED_ANY)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: an argument is NULL, or which is %#x and not TERN_POSTED_RECEIVE, "
                         "TERN_POSTED_SEND or TERN_POSTED_ANY",
                         function, which);
    if (tern_is_destroyed(worker->context))
        return tern_destroyed_fail(function);
    return is_anybody(source) ? TERN_OK : tern_worker_check(worker->context, source, function);
}

/* Takes the oldest descriptor that matches. Whether there was one. */
static bool rendezvous_take(tern_worker *worker, tern_worker_id source, unsigned which,
                            uint64_t tag, tern_descriptor *descriptor) {
    tern_rendezvous *v = tern_notify_of(worker)->rendezvous;
    if (v == NULL)
        return false;
    uint32_t b = tern_tag_bucket(tag);
    tern_arrival **link = &v->bucket[b].first, *a;
    for (; (a = *link) != NULL; link = &a->next) {
        const tern_descriptor *d = &a->descriptor;
        if (d->tag == tag && (d->which & which) != 0 &&
            (is_anybody(source) || (d->peer.rank == source.rank && d->peer.index == source.index)))
            break;
    }
    if (a == NULL)
        return false;
    *link = a->next;
    if (a->next == NULL)
        v->bucket[b].last = link;
    v->with[tern_worker_number(worker->context, a->descriptor.peer)].arrived--;
    *descriptor = a->descriptor;
    free(a);
    return true;
}

tern_status tern_descriptor_test(tern_worker *worker, tern_worker_id source, unsigned which,
                                 uint64_t tag, tern_descriptor *descriptor) {
    tern_status status = check_source(worker, "tern_descriptor_test", source, which, descriptor);
    if (status != TERN_OK || rendezvous_take(worker, source, which, tag, descriptor))
        return status;
    rendezvous_stir(worker, source.rank);
    if (rendezvous_take(worker, source, which, tag, descriptor))
        return TERN_OK;
    return !is_anybody(source) && tern_peer_is_dead(&worker->context->peers, source.rank)
               ? tern_peer_fail(source.rank)
               : TERN_ERR_EMPTY;
}

tern_status tern_descriptor_wait(tern_worker *worker, tern_worker_id source, unsigned which,
                                 uint64_t tag, tern_descriptor *descriptor) {
    tern_status status = check_source(worker, "tern_descriptor_wait", source, which, descriptor);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, "tern_descriptor_wait");
    tern_wait_state wait = TERN_WAIT_FOR("a buffer with tag", NULL, tag);
    while (status == TERN_OK && !rendezvous_take(worker, source, which, tag, descriptor))
        status = tern_wait_round(worker->context, &wait, tern_progress_round(worker),
                                 is_anybody(source) ? TERN_ANYBODY : source.rank);
    return status;
}

tern_status tern_rendezvous_finish(tern_worker *worker, tern_descriptor *descriptor,
                                   uint64_t bytes) {
    const char *function = "tern_rendezvous_finish";
    if (worker == NULL || descriptor == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker or descriptor is NULL", function);
    if (descriptor->id == 0)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "%s: the descriptor is empty or already finished; finish each descriptor once",
            function);
    tern_status status = tern_worker_check(worker->context, descriptor->peer, function);
    if (status != TERN_OK)
        return status;
    if (bytes > descriptor->bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "%s: bytes is %llu, but the buffer of rank %u has only %llu", function,
                         (unsigned long long)bytes, descriptor->peer.rank,
                         (unsigned long long)descriptor->bytes);
    status = tern_glance(worker, descriptor->peer.rank);
    tern_rendezvous *v = status == TERN_OK ? tern_rendezvous_of(worker) : NULL;
    if (status == TERN_OK && v == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for rendezvous");
    if (status != TERN_OK)
        return status;
    tern_parcel p = {.target = tern_worker_number(worker->context, descriptor->peer),
                     .type = TERN_END,
                     .payload.end = {descriptor->id, bytes}};
    status = tern_parcel_send(worker, v, &p);
    if (status == TERN_OK)
        memset(descriptor, 0, sizeof *descriptor);
    return status;
}
