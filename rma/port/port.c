#include "rma/port/posting.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/region/rkey.h"
#include "rma/memory/state.h"
#include "rma/message/message.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/peers/peers.h"

#define UNDER_WAY 256u          /* postings of a port under way, without those to dead ranks */
#define TRY_NS 1000000u         /* between two tries of a lost operation */
#define PATIENCE_NS 5000000000u /* after this time a lost operation is given up */
#define COMPLETIONS 16u         /* completions taken in one poll */
#define LOOK 4096u              /* polls, without posts under way, until the card is asked */
#define RETIRE_NS 1000000000u   /* the longest wait for the end of operations on a dead rank */

/* Ports. */

_Static_assert(TERN_POSTING_COPY <= TERN_COPY_UNIT, "a copy has room for a reply");
_Static_assert(TERN_COPY_MAX <= TERN_COPY_UNIT * TERN_COPY_UNITS_MAX, "a copied move is one post");

static tern_status open_port(tern_worker *worker, tern_port **port) {
    tern_context *context = worker->context;
    tern_port *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a port");
    fresh->native = tern_rma_of(context)->native;
    fresh->by_rank = (tern_route **)(void *)tern_rma_worker_of(worker)->remotes;
    tern_status status = fresh->native->network->ops->open_end(fresh->native->network, &fresh->end);
    if (status == TERN_OK && fresh->native->network->ops->count != NULL)
        fresh->native->network->ops->count(fresh->end, &worker->stats);
    tern_locals_open(&fresh->locals, fresh->native, fresh->end, tern_regions_of(context));
    if (status == TERN_OK)
        *port = fresh;
    else
        tern_port_close(fresh);
    return status;
}

void tern_port_close(tern_port *port) {
    if (port == NULL)
        return;
    tern_farewells_close(port);
    /* Before the end, whose memory some networks count. */
    tern_locals_close(&port->locals);
    tern_copies_withdraw(port);
    if (port->end != NULL)
        port->native->network->ops->close_end(port->end);
    tern_postings_close(port);
    while (port->routes != NULL) {
        tern_route *r = port->routes;
        port->routes = r->next;
        if (tern_question_abandon(&r->question)) /* else MPI may still write there */
            free(r);
    }
    free(port);
}

/* Postings. */

/* Stops counting the postings to dead ranks, which may never land. */
static void forget_lost(const tern_context *context, tern_port *port) {
    for (tern_route *r = port->routes; r != NULL; r = r->next) {
        if (r->lost || !tern_peer_is_dead(&context->peers, r->rank))
            continue;
        r->lost = true;
        port->under_way -= r->under_way;
        port->units_taken -= r->units_taken;
        port->units_lost += r->units_taken;
    }
}

/* Fails for lack of memory. TERN_ERR_AGAIN if other postings are under way, since they free memory
 * when they land. */
static tern_status no_room(const tern_port *port) {
    return port->under_way > 0
               ? TERN_ERR_AGAIN
               : tern_fail(TERN_ERR_MEMORY, "no memory for an operation over the network");
}

/* Takes a posting, with a copy of so many bytes or as many as there is room for. The limit does not
 * count kept postings that have landed: only their callers end them, so there may be any number of
 * them. */
static tern_status take_posting(tern_worker *worker, tern_port *port, uint64_t copied,
                                tern_posting **posting) {
    if (port->under_way >= UNDER_WAY)
        forget_lost(worker->context, port);
    if (port->under_way >= UNDER_WAY)
        return TERN_ERR_AGAIN;
    *posting = tern_posting_take(port, copied);
    if (*posting == NULL) {
        forget_lost(worker->context, port);
        *posting = tern_posting_take(port, copied);
    }
    return *posting != NULL ? TERN_OK : no_room(port);
}

static tern_status network_fail(const tern_worker *worker, uint32_t rank) {
    char trouble[128];
    if (tern_lost_is_death(worker->context, rank))
        return tern_peer_fail(rank);
    return tern_fail(TERN_ERR_NETWORK, "the network has lost an operation on rank %u%s", rank,
                     tern_network_trouble_text(tern_rma_of(worker->context)->native->network,
                                               trouble, sizeof trouble));
}

/* Ends an operation of which all postings are complete. */
static void whole_lands(tern_worker *worker, tern_port *port, tern_posting *whole) {
    if (whole->rkey != NULL)
        tern_rkey_release(worker, whole->rkey, false);
    whole->rkey = NULL;
    if (whole->kept)
        return;
    if (whole->status != TERN_OK && whole->post.act != TERN_NETWORK_READ) /* else given up */
        whole->to->losses[whole->loss]++;
    tern_posting_give(port, whole);
}

/* Whether no caller wants the result of a read any more. It may not be tried again, since it would
 * write to memory that its caller uses for something else. */
static bool is_vain(const tern_posting *posting) {
    return posting->post.act == TERN_NETWORK_READ && !posting->whole->kept;
}

/* Whether to try an operation again that the network has lost. */
static bool may_go_again(const tern_worker *worker, tern_posting *posting) {
    const uint64_t now = tern_now();
    if (!(posting->again || posting->answers) || is_vain(posting) ||
        tern_peer_is_dead(&worker->context->peers, posting->to->rank))
        return false;
    if (posting->lost_at == 0)
        posting->lost_at = now;
    return now - posting->lost_at < PATIENCE_NS;
}

/* Handles a posting that is complete or that the network has lost. A lost one may be tried again;
 * otherwise this ends the posting. The result of an abandoned read is dropped. */
static void piece_lands(tern_worker *worker, tern_port *port, tern_posting *posting,
                        tern_status status) {
    tern_posting *whole = posting->whole;
    if (status == TERN_ERR_NETWORK && port->native->network->connects)
        posting->to->reached = posting->to->met = false;
    if (status != TERN_OK && may_go_again(worker, posting)) {
        posting->next = port->lost;
        port->lost = posting;
        port->next_try = tern_now() + TRY_NS;
        return;
    }
    posting->to->under_way--;
    port->under_way -= !posting->to->lost;
    posting->to->units_taken -= posting->copy.units;
    *(posting->to->lost ? &port->units_lost : &port->units_taken) -= posting->copy.units;
    if (status != TERN_OK)
        whole->status = status;
    else if (posting->back != NULL && whole->kept)
        memcpy(posting->back, posting->copy.bytes, posting->post.bytes);
    tern_posting_give_copy(port, posting);
    if (posting->local != NULL)
        tern_local_landed(&port->locals, posting->local);
    if (posting != whole)
        tern_posting_give(port, posting);
    if (--whole->pieces == 0)
        whole_lands(worker, port, whole);
}

/* The bytes that the next post moves: up to the end of a piece of the segment, and at most what the
 * network takes. */
static uint64_t cut(const tern_port *port, const tern_move *move, uint64_t moved) {
    const tern_native *native = port->native;
    uint64_t bytes = move->bytes - moved;
    if (move->rkey == NULL) {
        const uint64_t at = (move->offset + moved) % native->piece_bytes;
        if (bytes > native->piece_bytes - at)
            bytes = native->piece_bytes - at;
    }
    return bytes < native->network->post_max ? bytes : native->network->post_max;
}

/* Where the network takes the data of a part of a move from, or brings it to. */
typedef struct port_part {
    uint64_t bytes;
    bool copied;              /* a copy buffer */
    bool more;                /* further posts follow, of this call or of a corked worker */
    tern_network_memory *key; /* of the caller's memory; NULL: not registered, or not needed */
    tern_local_region *local; /* the region of the key; or NULL */
} port_part;

/* A small copy costs no more than finding a key. Frames of rings lie in memory of tern's own, so
 * they are not registered for each publication. */
static port_part part_of(tern_port *port, const tern_move *move, uint64_t moved) {
    port_part p = {.bytes = cut(port, move, moved), .copied = move->copied};
    if (!port->native->network->local_memory)
        return p;
    if (!move->copied && move->bytes > TERN_POSTING_COPY)
        p.key = tern_local_key(&port->locals, (char *)move->here + moved, &p.bytes, &p.local);
    const bool is_frame = move->again && move->act == TERN_NETWORK_WRITE;
    p.copied = p.key == NULL &&
               (move->copied || is_frame || move->bytes <= TERN_COPY_MAX || port->locals.refused);
    return p;
}

static tern_status post_piece(tern_port *port, const tern_route *to, const tern_move *move,
                              uint64_t moved, const port_part *part, tern_posting *posting) {
    const uint64_t offset = move->offset + moved, size = port->native->piece_bytes;
    tern_network_post *post = &posting->post;
    *post = (tern_network_post){.act = move->act,
                                .peer = to->peer,
                                .here = (char *)move->here + moved,
                                .local = part->key,
                                .bytes = part->bytes,
                                .context = posting};
    posting->local = part->local;
    if (move->rkey != NULL) {
        post->there = move->rkey->network;
        post->offset = offset & TERN_OFFSET_BYTE;
    } else {
        post->there = to->rkey[offset / size];
        post->offset = offset % size;
    }
    /* The end of the last part tells of those before it. */
    post->late =
        move->act == TERN_NETWORK_WRITE && (!move->kept || moved + part->bytes < move->bytes);
    post->more = part->more;
    posting->back = NULL;
    if (posting->copy.slab != NULL) {
        if (move->act != TERN_NETWORK_WRITE)
            posting->back = post->here;
        if (move->act == TERN_NETWORK_WRITE)
            memcpy(posting->copy.bytes, post->here, part->bytes);
        else if (move->act != TERN_NETWORK_READ)
            memcpy(posting->copy.bytes, post->here, sizeof(tern_network_words));
        post->here = posting->copy.bytes;
        post->local = posting->copy.slab->local;
    }
    posting->again = move->again;
    posting->answers = move->answer != NULL;
    if (posting->answers)
        posting->answer = *move->answer;
    posting->lost_at = 0;
    return port->native->network->ops->post(port->end, post);
}

/* Sends the reply of a lost posting by message. */
static tern_status answer_by_message(tern_worker *worker, const tern_posting *posting) {
    tern_cell image;
    memcpy(&image, posting->copy.bytes, posting->post.bytes);
    const tern_message message = {
        .kind = TERN_MESSAGE_REPLY,
        .origin = worker->id,
        .target = posting->answer.worker,
        .offset = posting->answer.cell,
        /* R5: tern_reply_send */
        .operand = {atomic_load_explicit(&image.sequence, memory_order_relaxed), image.status}};
    return tern_message_send(worker, posting->to->rank, &message, image.payload, image.bytes);
}

static tern_status post_again(tern_worker *worker, tern_port *port, tern_posting *posting) {
    tern_status status = tern_route_reach(worker, posting->to);
    posting->post.peer = posting->to->peer;
    posting->post.more = false;
    return status == TERN_OK ? port->native->network->ops->post(port->end, &posting->post) : status;
}

/* Tries each lost posting once more. */
static void try_again(tern_worker *worker, tern_port *port) {
    tern_posting *lost = port->lost;
    if (tern_now() < port->next_try)
        return;
    port->lost = NULL;
    port->next_try = tern_now() + TRY_NS;
    while (lost != NULL) {
        tern_posting *posting = lost;
        lost = posting->next;
        tern_status status = is_vain(posting)   ? TERN_ERR_NETWORK
                             : posting->answers ? answer_by_message(worker, posting)
                                                : post_again(worker, port, posting);
        if (status != TERN_OK)
            tern_error_clear(); /* the end of the posting reports the failure */
        if (status == TERN_ERR_AGAIN && may_go_again(worker, posting)) {
            posting->next = port->lost;
            port->lost = posting;
        } else if (status != TERN_OK || posting->answers) {
            piece_lands(worker, port, posting,
                        status == TERN_ERR_AGAIN ? TERN_ERR_NETWORK : status);
        }
    }
}

/* Notes that no further piece of the whole will be started. */
static void close_whole(tern_worker *worker, tern_port *port, tern_posting *whole) {
    if (--whole->pieces == 0)
        whole_lands(worker, port, whole);
}

tern_status tern_posting_start(tern_worker *worker, tern_route *to, const tern_move *move,
                               uint64_t *moved, tern_posting **whole) {
    const tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_port *port = mine->port;
    tern_posting *posting = NULL;
    port_part part = part_of(port, move, *moved);
    tern_status status = take_posting(worker, port, part.copied ? part.bytes : 0, &posting);
    if (status != TERN_OK)
        return status;
    if (to->lost) {
        tern_posting_give(port, posting);
        return tern_peer_fail(to->rank);
    }
    const uint64_t room = (uint64_t)posting->copy.units * TERN_COPY_UNIT;
    if (part.copied && part.bytes > room)
        part.bytes = room;
    part.more = mine->corked || port->gathers || *moved + part.bytes < move->bytes;
    port->waits |= part.more;
    status = post_piece(port, to, move, *moved, &part, posting);
    port->refused = status == TERN_ERR_AGAIN;
    if (status == TERN_ERR_MEMORY && !port->locals.refused) {
        tern_locals_refuse(&port->locals);
        status = TERN_ERR_AGAIN;
    }
    if (status != TERN_OK) {
        tern_posting_give(port, posting);
        return status;
    }
    worker->stats.network_copies += part.copied;
    if (part.local != NULL)
        part.local->under_way++;
    posting->to = to;
    to->used = ++port->uses;
    to->under_way++;
    port->under_way += !to->lost;
    to->units_taken += posting->copy.units;
    *(to->lost ? &port->units_lost : &port->units_taken) += posting->copy.units;
    if (*whole == NULL) {
        *whole = posting;
        posting->pieces = 1;
        posting->kept = move->kept;
        posting->loss = move->loss;
        posting->status = TERN_OK;
        posting->rkey = move->rkey;
    }
    posting->whole = *whole;
    posting->whole->pieces++;
    *moved += part.bytes;
    if (*moved == move->bytes)
        close_whole(worker, port, *whole);
    return TERN_OK;
}

/* Finds the route to rank; opens the port if this is the worker's first operation. [out] to. */
static tern_status find_route(tern_worker *worker, uint32_t rank, tern_route **to) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_status status = tern_native_works(tern_rma_of(worker->context)->native);
    if (status == TERN_OK && mine->port == NULL)
        status = open_port(worker, &mine->port);
    if (status != TERN_OK)
        return status;
    *to = tern_route_find(mine->port, rank);
    return *to != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory to talk to rank %u", rank);
}

tern_status tern_port_meet(tern_worker *worker, uint32_t rank, uint64_t offset) {
    const tern_native *native = tern_rma_of(worker->context)->native;
    tern_route *to = NULL;
    tern_status status = find_route(worker, rank, &to);
    return status == TERN_OK ? tern_route_meet(worker, to, offset / native->piece_bytes) : status;
}

tern_status tern_port_start(tern_worker *worker, const tern_move *move, uint64_t *moved,
                            tern_posting **whole) {
    const tern_native *native = tern_rma_of(worker->context)->native;
    tern_route *to = NULL;
    tern_status status = find_route(worker, move->rank, &to);
    /* For a region no piece of the segment is needed: its rkey has come with its address. */
    if (status == TERN_OK)
        status = tern_route_meet(
            worker, to, move->rkey != NULL ? 0 : (move->offset + *moved) / native->piece_bytes);
    return status == TERN_OK ? tern_posting_start(worker, to, move, moved, whole) : status;
}

/* Handles what the network says to be complete. */
static size_t take_completions(tern_worker *worker, tern_port *port) {
    tern_network_done done[COMPLETIONS];
    const size_t count = port->native->network->ops->complete(port->end, done, COMPLETIONS);
    for (size_t i = 0; i < count; i++)
        piece_lands(worker, port, done[i].context, done[i].status);
    return count;
}

/* Ends what is under way to a dead rank, if the network can: otherwise a get that was given up
 * could still write into memory that its caller uses for something else. A card that has failed may
 * never end it. */
static void retire_lost(tern_worker *worker, tern_route *to) {
    tern_port *port = tern_rma_worker_of(worker)->port;
    const uint64_t began = tern_now();
    if (port->native->network->ops->retire == NULL || !to->held ||
        !tern_peer_is_dead(&worker->context->peers, to->rank))
        return;
    port->native->network->ops->retire(port->end, to->peer);
    while (to->under_way > 0 && tern_now() - began < RETIRE_NS) {
        if (port->lost != NULL)
            try_again(worker, port);
        take_completions(worker, port);
    }
}

void tern_posting_abandon(tern_worker *worker, tern_posting *whole, bool open) {
    tern_route *to = whole->kept && whole->pieces > 0 ? whole->to : NULL;
    if (whole->kept)
        whole->loss = TERN_LOSS_TOLD;
    whole->kept = false;
    if (open)
        close_whole(worker, tern_rma_worker_of(worker)->port, whole);
    else if (whole->pieces == 0)
        tern_posting_give(tern_rma_worker_of(worker)->port, whole);
    if (to != NULL)
        retire_lost(worker, to);
}

bool tern_posting_landed(const tern_posting *posting) { return posting->pieces == 0; }

tern_status tern_posting_end(tern_worker *worker, tern_posting *posting) {
    const tern_status status = posting->status;
    const uint32_t rank = posting->to->rank;
    tern_posting_give(tern_rma_worker_of(worker)->port, posting);
    return status == TERN_OK ? TERN_OK : network_fail(worker, rank);
}

size_t tern_port_poll(tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_port *port = mine->port;
    tern_network *network = tern_rma_of(worker->context)->native->network;
    /* Some networks make room and connect only when completions are read. */
    const bool busy = port != NULL && (port->under_way > 0 || port->refused);
    /* A network that needs no help of the target is still faster with it. But some networks take
     * time for each end that is connected to this process, so a quiet worker helps the less often
     * the more ends there are. */
    /* R4 */
    const uint32_t ends = atomic_load_explicit(&network->welcomed, memory_order_relaxed);
    const uint32_t polls = ++mine->port_polls;
    if (!network->one_sided || busy || mine->warm > 0 || polls % (ends / 4 + 1) == 0)
        tern_network_progress(network);
    if (port != NULL && port->farewells != NULL)
        tern_farewells_poll(worker, port);
    if (port != NULL)
        tern_locals_poll(&port->locals);
    if (!busy) {
        if (network->ops->look != NULL && polls % LOOK == 0)
            network->ops->look(network);
        return 0;
    }
    if (port->lost != NULL)
        try_again(worker, port);
    return take_completions(worker, port);
}

void tern_port_gather(tern_worker *worker, bool on) {
    const tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_port *port = mine->port;
    if (port == NULL)
        return;
    port->gathers = on;
    if (on || mine->corked || !port->waits)
        return;
    port->waits = false;
    if (port->native->network->ops->start != NULL)
        port->native->network->ops->start(port->end);
}

void tern_port_hasten(tern_worker *worker, uint32_t rank) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    const tern_route *to = port == NULL ? NULL : port->by_rank[rank];
    if (to != NULL && to->under_way > 0 && to->held && port->native->network->ops->hasten != NULL)
        port->native->network->ops->hasten(port->end, to->peer);
}

uint32_t tern_port_under_way(const tern_worker *worker, uint32_t rank) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    return port == NULL || port->by_rank[rank] == NULL ? 0 : port->by_rank[rank]->under_way;
}

static tern_route *route_of(const tern_worker *worker, uint32_t rank) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    return port == NULL ? NULL : port->by_rank[rank];
}

tern_status tern_port_tell(tern_worker *worker, uint32_t rank, tern_flusher flusher) {
    tern_route *to = route_of(worker, rank);
    if (to == NULL || to->told[flusher] == to->losses[TERN_LOSS_FLUSH])
        return TERN_OK;
    to->told[TERN_FLUSHER_TERN] = to->losses[TERN_LOSS_FLUSH];
    if (flusher == TERN_FLUSHER_PROGRAM)
        to->told[TERN_FLUSHER_PROGRAM] = to->losses[TERN_LOSS_FLUSH];
    return network_fail(worker, rank);
}

bool tern_port_is_untold(const tern_worker *worker, uint32_t rank) {
    const tern_route *to = route_of(worker, rank);
    return to != NULL && to->told[TERN_FLUSHER_PROGRAM] != to->losses[TERN_LOSS_FLUSH];
}

void tern_port_lose(tern_worker *worker, uint32_t rank) {
    tern_route *to = route_of(worker, rank);
    if (to != NULL)
        to->losses[TERN_LOSS_FLUSH]++;
}

uint64_t tern_port_losses(const tern_worker *worker, uint32_t rank) {
    const tern_route *to = route_of(worker, rank);
    return to == NULL ? 0 : to->losses[TERN_LOSS_ASKED];
}

tern_status tern_port_lost_since(const tern_worker *worker, uint32_t rank, uint64_t losses) {
    return tern_port_losses(worker, rank) == losses ? TERN_OK : network_fail(worker, rank);
}
