#include "rma/network/port.h"

#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "rma/memory/rkey.h"
#include "rma/network/question.h"
#include "rma/state.h"
#include "rma/transport/message.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

#define UNDER_WAY 256u          /* flights of a port, besides those to dead ranks */
#define BLOCK 64u               /* flights that are allocated together */
#define TRY_NS 1000000u         /* between two tries of what the network has lost */
#define PATIENCE_NS 5000000000u /* after which it is given up */
#define COMPLETIONS 16u         /* per poll */

/* A rank that a port talks to. */
typedef struct remote {
    struct remote *next;
    uint32_t rank;
    bool reached;          /* its end has an address here */
    bool met;              /* and a read from its segment has come back */
    tern_flight *greeting; /* that read; NULL: not under way */
    uint64_t greeted[2];   /* magic and nonce of its segment */
    bool lost;             /* dead, and its flights are counted no more */
    uint64_t peer;         /* reached */
    uint32_t under_way;    /* flights */
    tern_status failed;
    uint64_t known; /* a bit for each piece whose key is here */
    tern_network_key key[TERN_PIECES_MAX];
    tern_question question; /* what it was asked, for the piece below */
    uint64_t asked;
    tern_contact answer;
} remote;

struct tern_flight {
    _Alignas(TERN_LINE) char context[TERN_LINE]; /* first: the network's while it is under way */
    tern_flight *next;                           /* free ones */
    tern_flight *whole;
    remote *to;
    /* Of the whole. */
    uint32_t pieces; /* under way, and one more as long as others may be started */
    bool kept;       /* its end will be asked for */
    tern_status status;
    tern_rkey *key;
    /* Of the piece. */
    struct copy *copy; /* what a small write puts; or NULL */
    tern_network_post post;
    bool again;
    bool answers;
    tern_answer_to answer;
    uint64_t lost_at; /* the clock when the network lost it first; 0: it has not */
};

typedef struct copy {
    struct copy *next, *next_free;
    char bytes[TERN_FLIGHT_COPY];
} copy;

typedef struct block {
    struct block *next;
    tern_flight flight[BLOCK];
} block;

struct tern_port {
    tern_native *native;
    tern_network_end *end;
    remote **by_rank;   /* NULL: not talked to */
    remote *remotes;    /* the others */
    uint32_t under_way; /* flights, without those that are lost */
    tern_flight *free;
    block *blocks;
    copy *copies, *free_copies;
    tern_flight *lost; /* which the network has lost, to be tried again */
    uint64_t next_try; /* at this time */
};

/* Ports. */

static bool add_block(tern_port *port) {
    block *fresh = aligned_alloc(TERN_LINE, sizeof *fresh);
    if (fresh == NULL)
        return false;
    fresh->next = port->blocks;
    port->blocks = fresh;
    for (uint32_t i = BLOCK; i-- > 0;) {
        fresh->flight[i].next = port->free;
        port->free = &fresh->flight[i];
    }
    return true;
}

static tern_status open_port(tern_worker *worker, tern_port **port) {
    tern_context *context = worker->context;
    tern_port *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a port");
    fresh->native = tern_rma_of(context)->native;
    fresh->by_rank = (remote **)(void *)tern_rma_worker_of(worker)->remotes;
    tern_status status =
        add_block(fresh) ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for a port");
    if (status == TERN_OK)
        status = fresh->native->network->ops->open_end(fresh->native->network, &fresh->end);
    if (status == TERN_OK)
        *port = fresh;
    else
        tern_port_close(fresh);
    return status;
}

void tern_port_close(tern_port *port) {
    if (port == NULL)
        return;
    if (port->end != NULL)
        port->native->network->ops->close_end(port->end);
    while (port->remotes != NULL) {
        remote *r = port->remotes;
        port->remotes = r->next;
        if (tern_question_abandon(&r->question)) /* else MPI may still write there */
            free(r);
    }
    while (port->blocks != NULL) {
        block *b = port->blocks;
        port->blocks = b->next;
        free(b);
    }
    while (port->copies != NULL) {
        copy *c = port->copies;
        port->copies = c->next;
        free(c);
    }
    free(port);
}

/* First contact. */

static remote *find_remote(tern_port *port, uint32_t rank) {
    if (port->by_rank[rank] != NULL)
        return port->by_rank[rank];
    remote *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->next = port->remotes;
    r->rank = rank;
    r->question = TERN_QUESTION_NONE;
    port->remotes = port->by_rank[rank] = r;
    return r;
}

static tern_status ask(tern_worker *worker, remote *to, uint64_t piece) {
    const tern_message message = {
        .kind = TERN_MESSAGE_CONTACT, .origin = worker->id, .offset = piece};
    to->asked = piece;
    to->answer.status = TERN_ERR_RANGE; /* what a refusal without an answer leaves */
    return tern_question_start(worker, to->rank, &message, NULL, 0, &to->answer, sizeof to->answer,
                               &to->question);
}

/* Takes the answer of a rank that was asked. TERN_ERR_AGAIN: not yet. */
static tern_status hear(tern_worker *worker, remote *to) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    const tern_contact *answer = &to->answer;
    tern_status status = tern_question_test(worker, &to->question);
    if (status != TERN_OK)
        return status;
    if (answer->status != TERN_OK || answer->name.bytes > TERN_NETWORK_NAME_MAX)
        return tern_fail(TERN_ERR_NETWORK,
                         "rank %u cannot register its memory with the network; its log says why",
                         to->rank);
    if (!to->reached) {
        status = port->native->network->ops->reach(port->end, &answer->name, &to->peer);
        if (status != TERN_OK)
            return status;
        to->reached = true;
    }
    to->key[to->asked] = answer->key;
    to->known |= (uint64_t)1 << to->asked;
    return TERN_OK;
}

/* Flights. */

/* Flights to dead ranks may never land. */
static void forget_lost(const tern_context *context, tern_port *port) {
    for (remote *r = port->remotes; r != NULL; r = r->next) {
        if (r->lost || !tern_peer_is_dead(&context->peers, r->rank))
            continue;
        r->lost = true;
        port->under_way -= r->under_way;
    }
}

static copy *take_copy(tern_port *port) {
    copy *c = port->free_copies;
    if (c != NULL) {
        port->free_copies = c->next_free;
    } else if ((c = malloc(sizeof *c)) != NULL) {
        c->next = port->copies;
        port->copies = c;
    }
    return c;
}

static void give_copy(tern_port *port, tern_flight *flight) {
    if (flight->copy == NULL)
        return;
    flight->copy->next_free = port->free_copies;
    port->free_copies = flight->copy;
    flight->copy = NULL;
}

static void give_flight(tern_port *port, tern_flight *flight) {
    give_copy(port, flight);
    flight->next = port->free;
    port->free = flight;
}

/* Room may come when others land. */
static tern_status no_room(const tern_port *port) {
    return port->under_way > 0
               ? TERN_ERR_AGAIN
               : tern_fail(TERN_ERR_MEMORY, "no memory for an operation over the network");
}

/* Flights that have landed and are kept are the program's to end: there may be any number. */
static tern_status take_flight(tern_worker *worker, tern_port *port, bool copied,
                               tern_flight **flight) {
    if (port->under_way >= UNDER_WAY)
        forget_lost(worker->context, port);
    if (port->under_way >= UNDER_WAY)
        return TERN_ERR_AGAIN;
    if (port->free == NULL && !add_block(port))
        return no_room(port);
    *flight = port->free;
    port->free = port->free->next;
    (*flight)->copy = copied ? take_copy(port) : NULL;
    if (!copied || (*flight)->copy != NULL)
        return TERN_OK;
    give_flight(port, *flight);
    return no_room(port);
}

/* A process that dies closes its connections first, some time before it is seen to be dead. */
static bool is_dying(tern_peers *peers, uint32_t rank) {
    enum { LOOKS = 100 };
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < LOOKS && !tern_peer_is_dead(peers, rank); i++) {
        const tern_peer_state state = tern_peer_look(peers, rank);
        if (state == TERN_PEER_UNKNOWN)
            return false;
        if (state == TERN_PEER_ALIVE)
            nanosleep(&pause, NULL);
    }
    return tern_peer_is_dead(peers, rank);
}

static tern_status network_fail(const tern_worker *worker, uint32_t rank) {
    return is_dying(&worker->context->peers, rank)
               ? tern_peer_fail(rank)
               : tern_fail(TERN_ERR_NETWORK, "the network has lost an operation on rank %u", rank);
}

static void whole_lands(tern_worker *worker, tern_port *port, tern_flight *whole) {
    if (whole->key != NULL)
        tern_rkey_release(worker, whole->key, false);
    whole->key = NULL;
    if (whole->kept)
        return;
    if (whole->status != TERN_OK)
        whole->to->failed = whole->status;
    give_flight(port, whole);
}

/* Whether an operation that the network has lost is tried again. */
static bool may_go_again(const tern_worker *worker, tern_flight *flight) {
    const uint64_t now = tern_now();
    if (!(flight->again || flight->answers) ||
        tern_peer_is_dead(&worker->context->peers, flight->to->rank))
        return false;
    if (flight->lost_at == 0)
        flight->lost_at = now;
    return now - flight->lost_at < PATIENCE_NS;
}

static void piece_lands(tern_worker *worker, tern_port *port, tern_flight *flight,
                        tern_status status) {
    tern_flight *whole = flight->whole;
    if (status != TERN_OK && may_go_again(worker, flight)) {
        flight->next = port->lost;
        port->lost = flight;
        port->next_try = tern_now() + TRY_NS;
        return;
    }
    flight->to->under_way--;
    port->under_way -= !flight->to->lost;
    give_copy(port, flight);
    if (status != TERN_OK)
        whole->status = status;
    if (flight != whole)
        give_flight(port, flight);
    if (--whole->pieces == 0)
        whole_lands(worker, port, whole);
}

/* What the next post moves: up to the end of a piece of the segment, and what the network takes. */
static uint64_t cut(const tern_port *port, const tern_move *move, uint64_t moved) {
    const tern_native *native = port->native;
    uint64_t bytes = move->bytes - moved;
    if (move->key == NULL) {
        const uint64_t at = (move->place + moved) % native->piece_bytes;
        if (bytes > native->piece_bytes - at)
            bytes = native->piece_bytes - at;
    }
    return bytes < native->network->post_max ? bytes : native->network->post_max;
}

static tern_status post_piece(tern_port *port, const remote *to, const tern_move *move,
                              uint64_t moved, uint64_t bytes, tern_flight *flight) {
    const uint64_t place = move->place + moved, size = port->native->piece_bytes;
    tern_network_post *post = &flight->post;
    *post = (tern_network_post){.write = move->write,
                                .peer = to->peer,
                                .here = (char *)move->here + moved,
                                .bytes = bytes,
                                .context = flight};
    if (move->key != NULL) {
        post->there = move->key->network;
        post->offset = place & TERN_PLACE_BYTE;
    } else {
        post->there = to->key[place / size];
        post->offset = place % size;
    }
    if (move->copied)
        post->here = memcpy(flight->copy->bytes, post->here, bytes);
    flight->again = move->again;
    flight->answers = move->answer != NULL;
    if (flight->answers)
        flight->answer = *move->answer;
    flight->lost_at = 0;
    return port->native->network->ops->post(port->end, post);
}

/* The reply of a lost flight, by message. */
static tern_status answer_by_message(tern_worker *worker, const tern_flight *flight) {
    tern_cell image;
    memcpy(&image, flight->copy->bytes, flight->post.bytes);
    const tern_message message = {
        .kind = TERN_MESSAGE_REPLY,
        .origin = worker->id,
        .target = flight->answer.worker,
        .offset = flight->answer.cell,
        /* R5: tern_reply_send */
        .operand = {atomic_load_explicit(&image.sequence, memory_order_relaxed), image.status}};
    return tern_message_send(worker, flight->to->rank, &message, image.payload, image.bytes);
}

/* Each flight that the network has lost, once. */
static void try_again(tern_worker *worker, tern_port *port) {
    tern_flight *lost = port->lost;
    if (tern_now() < port->next_try)
        return;
    port->lost = NULL;
    port->next_try = tern_now() + TRY_NS;
    while (lost != NULL) {
        tern_flight *flight = lost;
        lost = flight->next;
        tern_status status = flight->answers
                                 ? answer_by_message(worker, flight)
                                 : port->native->network->ops->post(port->end, &flight->post);
        if (status == TERN_ERR_AGAIN && may_go_again(worker, flight)) {
            flight->next = port->lost;
            port->lost = flight;
        } else if (status != TERN_OK || flight->answers) {
            piece_lands(worker, port, flight, status == TERN_ERR_AGAIN ? TERN_ERR_NETWORK : status);
        }
    }
}

/* That one more piece might be started is over. */
static void close_whole(tern_worker *worker, tern_port *port, tern_flight *whole) {
    if (--whole->pieces == 0)
        whole_lands(worker, port, whole);
}

/* Starts the next part of a move to a rank that was met, or is greeted. */
static tern_status start_part(tern_worker *worker, remote *to, const tern_move *move,
                              uint64_t *moved, tern_flight **whole) {
    tern_port *port = tern_rma_worker_of(worker)->port;
    tern_flight *flight = NULL;
    tern_status status = take_flight(worker, port, move->copied, &flight);
    if (status != TERN_OK)
        return status;
    if (to->lost) {
        give_flight(port, flight);
        return tern_peer_fail(to->rank);
    }
    const uint64_t bytes = cut(port, move, *moved);
    status = post_piece(port, to, move, *moved, bytes, flight);
    if (status != TERN_OK) {
        give_flight(port, flight);
        return status;
    }
    flight->to = to;
    to->under_way++;
    port->under_way += !to->lost;
    if (*whole == NULL) {
        *whole = flight;
        flight->pieces = 1;
        flight->kept = move->kept;
        flight->status = TERN_OK;
        flight->key = move->key;
    }
    flight->whole = *whole;
    flight->whole->pieces++;
    *moved += bytes;
    if (*moved == move->bytes)
        close_whole(worker, port, *whole);
    return TERN_OK;
}

/* Reads what its segment begins with: a network connects at the first operation, so later ones are
 * taken at once, and the rank is known to be the right one. TERN_ERR_AGAIN: not yet. */
static tern_status greet(tern_worker *worker, remote *to) {
    if (to->greeting == NULL) {
        const tern_move move = {.kept = true,
                                .again = true,
                                .rank = to->rank,
                                .here = to->greeted,
                                .bytes = sizeof to->greeted};
        uint64_t moved = 0;
        tern_status status = start_part(worker, to, &move, &moved, &to->greeting);
        return status == TERN_OK ? TERN_ERR_AGAIN : status;
    }
    if (!tern_flight_landed(to->greeting))
        return TERN_ERR_AGAIN;
    tern_status status = tern_flight_end(worker, to->greeting);
    to->greeting = NULL;
    if (status == TERN_OK &&
        (to->greeted[0] != TERN_SEGMENT_MAGIC || to->greeted[1] != worker->context->nonce))
        status = tern_fail(TERN_ERR_NETWORK,
                           "what the network reaches as rank %u is another memory", to->rank);
    to->met = status == TERN_OK;
    return status;
}

/* TERN_ERR_AGAIN: it has been asked for the key of the piece, or is being greeted. */
static tern_status meet(tern_worker *worker, remote *to, uint64_t piece) {
    tern_status status = TERN_OK;
    const uint64_t next =
        to->known == 0 ? 0 : piece; /* the first piece has the greeting's memory */
    if (to->met && (to->known >> piece & 1) != 0)
        return TERN_OK;
    if (tern_question_is_open(&to->question) && (status = hear(worker, to)) != TERN_OK)
        return status;
    if (to->known != 0 && !to->met && (status = greet(worker, to)) != TERN_OK)
        return status;
    if ((to->known >> next & 1) != 0)
        return to->met ? TERN_OK : TERN_ERR_AGAIN;
    status = ask(worker, to, next);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

/* The port is opened by the first that needs it. [out] to. */
static tern_status find_way(tern_worker *worker, uint32_t rank, remote **to) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_status status = mine->port != NULL ? TERN_OK : open_port(worker, &mine->port);
    if (status != TERN_OK)
        return status;
    *to = find_remote(mine->port, rank);
    return *to != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory to talk to rank %u", rank);
}

tern_status tern_port_meet(tern_worker *worker, uint32_t rank, uint64_t place) {
    const tern_native *native = tern_rma_of(worker->context)->native;
    remote *to = NULL;
    tern_status status = find_way(worker, rank, &to);
    return status == TERN_OK ? meet(worker, to, place / native->piece_bytes) : status;
}

tern_status tern_port_settle(tern_worker *worker) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    tern_wait_state wait = TERN_WAIT_IN("the answer of a rank that was asked for its memory");
    tern_status status = TERN_OK;
    for (remote *to = port == NULL ? NULL : port->remotes; to != NULL; to = to->next)
        while (status == TERN_OK && tern_question_is_open(&to->question)) {
            status = hear(worker, to);
            if (status == TERN_ERR_AGAIN)
                status =
                    tern_wait_round(worker->context, &wait, tern_progress_round(worker), to->rank);
        }
    return status;
}

tern_status tern_port_start(tern_worker *worker, const tern_move *move, uint64_t *moved,
                            tern_flight **whole) {
    const tern_native *native = tern_rma_of(worker->context)->native;
    remote *to = NULL;
    tern_status status = find_way(worker, move->rank, &to);
    /* A region's key has come with its address. */
    if (status == TERN_OK)
        status =
            meet(worker, to, move->key != NULL ? 0 : (move->place + *moved) / native->piece_bytes);
    return status == TERN_OK ? start_part(worker, to, move, moved, whole) : status;
}

void tern_flight_abandon(tern_worker *worker, tern_flight *whole, bool open) {
    whole->kept = false;
    if (open)
        close_whole(worker, tern_rma_worker_of(worker)->port, whole);
    else if (whole->pieces == 0)
        give_flight(tern_rma_worker_of(worker)->port, whole);
}

bool tern_flight_landed(const tern_flight *flight) { return flight->pieces == 0; }

tern_status tern_flight_end(tern_worker *worker, tern_flight *flight) {
    const tern_status status = flight->status;
    const uint32_t rank = flight->to->rank;
    give_flight(tern_rma_worker_of(worker)->port, flight);
    return status == TERN_OK ? TERN_OK : network_fail(worker, rank);
}

size_t tern_port_poll(tern_worker *worker) {
    tern_port *port = tern_rma_worker_of(worker)->port;
    tern_network *network = tern_rma_of(worker->context)->native->network;
    if (network->ops->progress != NULL && pthread_mutex_trylock(&network->lock) == 0) {
        network->ops->progress(network);
        pthread_mutex_unlock(&network->lock);
    }
    if (port == NULL)
        return 0;
    if (port->lost != NULL)
        try_again(worker, port);
    tern_network_done done[COMPLETIONS];
    const size_t count = network->ops->complete(port->end, done, COMPLETIONS);
    for (size_t i = 0; i < count; i++)
        piece_lands(worker, port, done[i].context, done[i].status);
    return count;
}

uint32_t tern_port_under_way(const tern_worker *worker, uint32_t rank) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    return port == NULL || port->by_rank[rank] == NULL ? 0 : port->by_rank[rank]->under_way;
}

tern_status tern_port_failed(tern_worker *worker, uint32_t rank) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    remote *to = port == NULL ? NULL : port->by_rank[rank];
    if (to == NULL || to->failed == TERN_OK)
        return TERN_OK;
    to->failed = TERN_OK;
    return network_fail(worker, rank);
}
