#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/network/verbs_queue.h"

/*
 * verbs uses libibverbs, for InfiniBand and RoCE. The connection of a worker to a process is a
 * reliable connection between two queue pairs. The worker's queue pair uses the completion queue of
 * the worker's end. The queue pair of the process only answers. No two workers compete for a lock
 * of this file.
 */

#define TIMEOUT 16u /* 4.096 us << 16: 0.27 s until a packet is sent again */
#define RETRIES 6u  /* repeats before it fails. To software cards 7 means "for ever" */
#define LOOK 4096u  /* polls in vain until the card's events are read */
#define POST_MAX ((size_t)1 << 30)
#define LISTS 16u /* of guests, at first */

/* What one side of a connection tells the other side. */
typedef struct verbs_name {
    uint64_t number;         /* of the offer; later offers of a process have larger ones */
    uint32_t queues, packet; /* numbers of the queue pair and of its first packet */
    uint32_t mtu;            /* as enum ibv_mtu */
    uint16_t lid;            /* 0 over RoCE */
    union ibv_gid gid;
} verbs_name;
_Static_assert(sizeof(verbs_name) <= TERN_NETWORK_NAME_MAX, "it is a network's name");

/* The queue pair at which a worker of another process reaches this one. */
typedef struct verbs_guest {
    struct verbs_guest *next;
    uint64_t from;
    struct ibv_qp *queues;
    verbs_name offer, answer;
} verbs_guest;

typedef struct verbs_network {
    tern_network network; /* first */
    tern_verbs_card card;
    struct ibv_pd *domain;
    uint64_t names;
    struct ibv_cq *nothing; /* for the guests' queues, which complete nothing */
    verbs_guest **guests;   /* lists, by a hash of the worker */
    uint32_t lists;         /* number of these, a power of two */
    uint32_t guest_count;
} verbs_network;

/* A connection from an end to another process. */
typedef struct verbs_connection {
    tern_verbs_queue queue; /* first: it is the peer of posts */
    struct verbs_connection *next;
    verbs_name self;
    bool connected;
} verbs_connection;

typedef struct verbs_end {
    tern_verbs_posts posts;
    verbs_network *of;
    verbs_connection *connections;
    tern_stats unseen; /* what nobody counts */
    bool inline_known; /* what a post can carry is known after the first connection */
    uint32_t in_vain;  /* polls in a row that found no completion of what is posted */
} verbs_end;

static verbs_network *verbs_of(tern_network *network) { return (verbs_network *)(void *)network; }

/* The end that a handle stands for. */
static verbs_end *verbs_end_of(tern_network_end *handle) { return (verbs_end *)(void *)handle; }

static verbs_connection *connection_of(uint64_t peer) {
    return (verbs_connection *)(uintptr_t)peer;
}

static tern_status verbs_fail(tern_status status, const char *what) {
    return tern_fail(status, "verbs: %s: %s", what, strerror(errno));
}

/* Queues. */

static struct ibv_qp *make_queues(verbs_network *v, struct ibv_cq *completions, uint32_t depth,
                                  uint32_t inline_max) {
    struct ibv_qp_init_attr attributes = {.send_cq = completions,
                                          .recv_cq = completions,
                                          .cap = {.max_send_wr = depth,
                                                  .max_recv_wr = 1,
                                                  .max_send_sge = 1,
                                                  .max_recv_sge = 1,
                                                  .max_inline_data = inline_max},
                                          .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr start = {.qp_state = IBV_QPS_INIT,
                                .pkey_index = v->card.partition,
                                .port_num = v->card.port,
                                .qp_access_flags =
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
    struct ibv_qp *queues = v->card.ibv.create_qp(v->domain, &attributes);
    if (queues == NULL)
        return NULL;
    if (v->card.ibv.modify_qp(queues, &start,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                  IBV_QP_ACCESS_FLAGS) == 0)
        return queues;
    v->card.ibv.destroy_qp(queues);
    return NULL;
}

static verbs_name name_queues(verbs_network *v, const struct ibv_qp *queues) {
    verbs_name name = {.mtu = v->card.mtu, .lid = v->card.lid, .gid = v->card.gid};
    name.number = ++v->names;
    name.queues = queues->qp_num;
    /* Late packets of an earlier connection between the same numbers do not fit, and strangers
     * cannot guess them. */
    if (getrandom(&name.packet, sizeof name.packet, 0) != (ssize_t)sizeof name.packet)
        name.packet = (uint32_t)tern_now();
    name.packet &= 0xffffffu;
    return name;
}

/* Makes the queues receive from the other side. */
static int hear_queues(verbs_network *v, struct ibv_qp *queues, const verbs_name *other) {
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR,
                                     .path_mtu =
                                         other->mtu < v->card.mtu ? other->mtu : v->card.mtu,
                                     .dest_qp_num = other->queues,
                                     .rq_psn = other->packet,
                                     .max_dest_rd_atomic = v->card.reads,
                                     .min_rnr_timer = 12};
    tern_verbs_card_path(&v->card, other->lid, &other->gid, &attributes.ah_attr);
    return v->card.ibv.modify_qp(queues, &attributes,
                                 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                     IBV_QP_MIN_RNR_TIMER);
}

/* Makes the queues send to the other side. */
static int start_queues(verbs_network *v, struct ibv_qp *queues, const verbs_name *self) {
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS,
                                     .timeout = TIMEOUT,
                                     .retry_cnt = RETRIES,
                                     .rnr_retry = 7,
                                     .sq_psn = self->packet,
                                     .max_rd_atomic = v->card.reads};
    return v->card.ibv.modify_qp(queues, &attributes,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void put_name(tern_network_name *to, const verbs_name *name) {
    to->bytes = sizeof *name;
    memcpy(to->text, name, sizeof *name);
}

static bool get_name(const tern_network_name *from, verbs_name *name) {
    memcpy(name, from->text, sizeof *name);
    return from->bytes == sizeof *name && name->mtu >= IBV_MTU_256 && name->mtu <= IBV_MTU_4096;
}

/* Guests. */

static void close_guest(verbs_network *v, verbs_guest **link) {
    verbs_guest *guest = *link;
    *link = guest->next;
    v->guest_count--;
    v->card.ibv.destroy_qp(guest->queues);
    free(guest);
}

static verbs_guest **list_of(verbs_network *v, uint64_t from) {
    return &v->guests[from * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (v->lists - 1)];
}

static verbs_guest **find_guest(verbs_network *v, uint64_t from) {
    verbs_guest **link = list_of(v, from);
    while (*link != NULL && (*link)->from != from)
        link = &(*link)->next;
    return link;
}

static void add_guest(verbs_network *v, verbs_guest *guest) {
    verbs_guest **list = list_of(v, guest->from);
    guest->next = *list;
    *list = guest;
    v->guest_count++;
}

/* Spreads the guests over twice as many lists. Without memory for that the lists get longer. */
static void spread_guests(verbs_network *v) {
    verbs_guest **old = v->guests, **fresh = calloc((size_t)2 * v->lists, sizeof(verbs_guest *));
    const uint32_t count = v->lists;
    if (fresh == NULL)
        return;
    v->guests = fresh;
    v->lists = 2 * count;
    v->guest_count = 0;
    for (uint32_t i = 0; i < count; i++)
        while (old[i] != NULL) {
            verbs_guest *guest = old[i];
            old[i] = guest->next;
            add_guest(v, guest);
        }
    free(old);
}

/* The network. */

static void verbs_close(tern_network *network) {
    verbs_network *v = verbs_of(network);
    for (uint32_t i = 0; i < v->lists; i++)
        while (v->guests[i] != NULL)
            close_guest(v, &v->guests[i]);
    free(v->guests);
    if (v->nothing != NULL)
        v->card.ibv.destroy_cq(v->nothing);
    if (v->domain != NULL)
        v->card.ibv.dealloc_pd(v->domain);
    tern_verbs_card_close(&v->card);
    pthread_mutex_destroy(&network->lock);
    free(v);
}

static tern_status verbs_open(const tern_network_options *options, tern_network **network) {
    verbs_network *v = calloc(1, sizeof *v);
    if (v == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a network");
    pthread_mutex_init(&v->network.lock, NULL);
    v->network.ops = &tern_network_verbs;
    v->network.name = "verbs";
    v->network.card = v->card.name;
    v->network.one_sided = v->network.local_memory = v->network.connects = true;
    v->network.shares_keys = true;
    v->network.says_ordered = true;
    v->network.connections_max = options->queue_pairs;
    v->network.post_max = POST_MAX;
    v->network.inline_max = TERN_VERBS_INLINE;
    tern_status status = tern_verbs_card_open(&v->card, options);
    if (status == TERN_OK && (v->domain = v->card.ibv.alloc_pd(v->card.device)) == NULL)
        status = verbs_fail(TERN_ERR_SYSTEM, "ibv_alloc_pd");
    if (status == TERN_OK &&
        (v->nothing = v->card.ibv.create_cq(v->card.device, 1, NULL, NULL, 0)) == NULL)
        status = verbs_fail(TERN_ERR_SYSTEM, "ibv_create_cq");
    v->guests = calloc(LISTS, sizeof(verbs_guest *));
    v->lists = v->guests != NULL ? LISTS : 0;
    if (status == TERN_OK && v->guests == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a network");
    v->network.has_atomics = v->card.atomics;
    v->network.coherent = v->card.coherent;
    if (status == TERN_OK)
        *network = &v->network;
    else
        verbs_close(&v->network);
    return status;
}

static void verbs_dismiss(tern_network *network, uint64_t from, const tern_network_name *offer) {
    verbs_network *v = verbs_of(network);
    verbs_guest **link = find_guest(v, from);
    verbs_name other;
    if (get_name(offer, &other) && *link != NULL && (*link)->offer.number == other.number)
        close_guest(v, link);
}

/* Lets a worker's queues reach this process. A worker that makes a new offer has lost or left its
 * old connection, so this closes the old queues. */
static tern_status verbs_welcome(tern_network *network, uint64_t from,
                                 const tern_network_name *offer, tern_network_name *name) {
    verbs_network *v = verbs_of(network);
    verbs_name other;
    if (!get_name(offer, &other))
        return tern_fail(TERN_ERR_NETWORK, "verbs: an offer of a worker is malformed");
    verbs_guest **link = find_guest(v, from);
    if (*link != NULL && (*link)->offer.number > other.number)
        return tern_fail(TERN_ERR_NETWORK,
                         "verbs: the offer of a worker came after a later one of the same worker");
    if (*link != NULL && (*link)->offer.number == other.number) {
        put_name(name, &(*link)->answer);
        return TERN_OK;
    }
    if (*link != NULL)
        close_guest(v, link);
    verbs_guest *guest = calloc(1, sizeof *guest);
    if (guest == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the connection of a worker");
    guest->queues = make_queues(v, v->nothing, 1, 0);
    if (guest->queues != NULL && hear_queues(v, guest->queues, &other) == 0) {
        guest->from = from;
        guest->offer = other;
        guest->answer = name_queues(v, guest->queues);
        if (v->guest_count == v->lists)
            spread_guests(v);
        add_guest(v, guest);
        put_name(name, &guest->answer);
        return TERN_OK;
    }
    tern_status status = verbs_fail(TERN_ERR_NETWORK, "queues for a worker");
    if (guest->queues != NULL)
        v->card.ibv.destroy_qp(guest->queues);
    free(guest);
    return status;
}

static tern_status verbs_add_memory(tern_network *network, void *base, size_t bytes,
                                    tern_network_memory **memory, tern_network_rkey *rkey) {
    struct ibv_mr *mr;
    verbs_network *v = verbs_of(network);
    tern_status status = tern_verbs_register(&v->card, v->domain, base, bytes,
                                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                                 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
                                             &mr);
    if (status != TERN_OK)
        return status;
    *memory = (tern_network_memory *)(void *)mr;
    *rkey = (tern_network_rkey){mr->rkey, (uintptr_t)base};
    return TERN_OK;
}

static void verbs_remove_memory(tern_network *network, tern_network_memory *memory) {
    (void)verbs_of(network)->card.ibv.dereg_mr((struct ibv_mr *)(void *)memory);
}

/* Ends. */

static tern_status verbs_open_end(tern_network *network, tern_network_end **end) {
    verbs_network *v = verbs_of(network);
    verbs_end *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a port");
    fresh->of = v;
    fresh->posts.card = &v->card;
    fresh->posts.domain = v->domain;
    fresh->posts.stats = &fresh->unseen;
    fresh->posts.completions =
        v->card.ibv.create_cq(v->card.device, TERN_VERBS_COMPLETIONS, NULL, NULL, 0);
    if (fresh->posts.completions != NULL) {
        *end = (tern_network_end *)(void *)fresh;
        return TERN_OK;
    }
    free(fresh);
    return verbs_fail(TERN_ERR_SYSTEM, "ibv_create_cq");
}

static void verbs_close_end(tern_network_end *handle) {
    verbs_end *end = verbs_end_of(handle);
    while (end->connections != NULL) {
        verbs_connection *connection = end->connections;
        end->connections = connection->next;
        if (connection->queue.pair != NULL)
            end->of->card.ibv.destroy_qp(connection->queue.pair);
        tern_verbs_give_up(&end->posts, &connection->queue);
        free(connection);
    }
    end->of->card.ibv.destroy_cq(end->posts.completions);
    free(end);
}

static void verbs_count(tern_network_end *handle, tern_stats *stats) {
    verbs_end_of(handle)->posts.stats = stats;
}

static tern_status verbs_add_local(tern_network_end *handle, void *base, size_t bytes,
                                   tern_network_memory **memory) {
    verbs_end *end = verbs_end_of(handle);
    struct ibv_mr *mr;
    tern_status status = tern_verbs_register(&end->of->card, end->of->domain, base, bytes,
                                             IBV_ACCESS_LOCAL_WRITE, &mr);
    *memory = (tern_network_memory *)(void *)mr;
    end->posts.stats->network_registrations += status == TERN_OK;
    return status;
}

/* Makes the queues of a connection. A card refuses queues whose posts would carry more data than it
 * can. So the first connection asks for half as much after each refusal, and at last for posts
 * without data. */
static tern_status open_connection(verbs_end *end, verbs_connection *connection) {
    verbs_network *v = end->of;
    uint32_t most = end->inline_known ? end->posts.inline_max : TERN_VERBS_INLINE;
    connection->queue.pair = make_queues(v, end->posts.completions, TERN_VERBS_DEPTH, most);
    while (connection->queue.pair == NULL && !end->inline_known && most > 0) {
        most = most > 16 ? most / 2 : 0;
        connection->queue.pair = make_queues(v, end->posts.completions, TERN_VERBS_DEPTH, most);
    }
    if (connection->queue.pair == NULL)
        return verbs_fail(TERN_ERR_MEMORY, "queues to a rank");
    end->inline_known = true;
    end->posts.inline_max = most;
    pthread_mutex_lock(&v->network.lock);
    connection->self = name_queues(v, connection->queue.pair);
    pthread_mutex_unlock(&v->network.lock);
    return TERN_OK;
}

static void close_queue(verbs_end *end, verbs_connection *connection) {
    end->of->card.ibv.destroy_qp(connection->queue.pair);
    connection->queue.pair = NULL;
    connection->queue.failed = false;
    connection->connected = false;
}

/* Whether all posts of a connection have ended. A port does not poll for an empty write, so this
 * does. */
static bool has_ended(verbs_end *end, const verbs_connection *connection) {
    const tern_verbs_queue *queue = &connection->queue;
    if (queue->first == &queue->empty)
        tern_verbs_poll(&end->posts, 16);
    return queue->posted == 0;
}

/* A queue pair in the error state completes all its posts as failed. */
static void verbs_retire(tern_network_end *handle, uint64_t peer) {
    verbs_end *end = verbs_end_of(handle);
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
    const verbs_connection *connection = connection_of(peer);
    if (!connection->connected)
        return;
    tern_verbs_start(&end->posts);
    (void)end->of->card.ibv.modify_qp(connection->queue.pair, &attributes, IBV_QP_STATE);
}

static tern_status verbs_offer(tern_network_end *handle, uint64_t *peer, tern_network_name *offer) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = connection_of(*peer);
    if (connection == NULL) {
        connection = calloc(1, sizeof *connection);
        if (connection == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a connection to a rank");
        connection->next = end->connections;
        end->connections = connection;
        *peer = (uintptr_t)connection;
    }
    if (connection->connected) {
        verbs_retire(handle, *peer);
        /* The port takes the failure of a post for one of the connection that there is then. */
        if (!has_ended(end, connection) || end->posts.ended != NULL)
            return TERN_ERR_AGAIN;
        close_queue(end, connection);
    }
    tern_status status =
        connection->queue.pair != NULL ? TERN_OK : open_connection(end, connection);
    if (status == TERN_OK)
        put_name(offer, &connection->self);
    return status;
}

/* Only an empty write can be under way, and only if it has failed. Its queues are closed later, by
 * the next offer or with the end. */
static void verbs_leave(tern_network_end *handle, uint64_t peer, tern_network_name *offer) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = connection_of(peer);
    put_name(offer, &connection->self);
    if (connection->queue.pair != NULL && has_ended(end, connection))
        close_queue(end, connection);
}

static tern_status verbs_reach(tern_network_end *handle, const tern_network_name *name,
                               uint64_t *peer) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = connection_of(*peer);
    verbs_name other;
    if (!get_name(name, &other))
        return tern_fail(TERN_ERR_NETWORK, "verbs: the answer to an offer is malformed");
    if (hear_queues(end->of, connection->queue.pair, &other) != 0 ||
        start_queues(end->of, connection->queue.pair, &connection->self) != 0)
        return verbs_fail(TERN_ERR_NETWORK, "connecting queues");
    connection->connected = true;
    return TERN_OK;
}

static tern_status verbs_post(tern_network_end *handle, const tern_network_post *post) {
    return tern_verbs_post_send(&verbs_end_of(handle)->posts, post);
}

static void verbs_start(tern_network_end *handle) {
    tern_verbs_start(&verbs_end_of(handle)->posts);
}

static void verbs_hasten(tern_network_end *handle, uint64_t peer) {
    tern_verbs_hasten(&verbs_end_of(handle)->posts, &connection_of(peer)->queue);
}

/* Reads what the card has reported. This makes a system call, so it happens after a failure and in
 * long waits alone. */
static void verbs_look(tern_network *network) {
    pthread_mutex_lock(&network->lock);
    tern_verbs_card_look(&verbs_of(network)->card, &network->trouble);
    pthread_mutex_unlock(&network->lock);
}

static size_t verbs_complete(tern_network_end *handle, tern_network_done *done, size_t most) {
    verbs_end *end = verbs_end_of(handle);
    const uint64_t failures = end->posts.failures;
    const size_t count = tern_verbs_complete(&end->posts, done, most);
    end->in_vain = count == 0 && end->posts.held > 0 ? end->in_vain + 1 : 0;
    if (end->posts.failures != failures || end->in_vain % LOOK == LOOK - 1)
        verbs_look(&end->of->network);
    return count;
}

const tern_network_ops tern_network_verbs = {
    .open = verbs_open,
    .close = verbs_close,
    .welcome = verbs_welcome,
    .dismiss = verbs_dismiss,
    .add_memory = verbs_add_memory,
    .remove_memory = verbs_remove_memory,
    .open_end = verbs_open_end,
    .close_end = verbs_close_end,
    .count = verbs_count,
    .add_local = verbs_add_local,
    .offer = verbs_offer,
    .leave = verbs_leave,
    .reach = verbs_reach,
    .post = verbs_post,
    .start = verbs_start,
    .hasten = verbs_hasten,
    .retire = verbs_retire,
    .complete = verbs_complete,
    .look = verbs_look,
};
