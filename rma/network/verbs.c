#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "rma/network/verbs_card.h"
#include "src/log.h"

/*
 * verbs uses libibverbs, for InfiniBand and RoCE. The connection of a worker to a process is a
 * reliable connection between two queue pairs. The worker's queue pair uses the completion queue of
 * the worker's end. The queue pair of the process only answers. No two workers compete for a lock
 * of this file.
 */

#define DEPTH 256u        /* operations under way on a connection */
#define COMPLETIONS 4096u /* entries of an end's completion queue */
#define INLINE_MAX 128u   /* bytes that a post carries itself, if the card supports it */
#define TIMEOUT 16u       /* 4.096 us << 16: 0.27 s until a packet is sent again */
#define RETRIES 6u        /* repeats before it fails. To software cards 7 means "for ever" */
#define POST_MAX ((size_t)1 << 30)

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
    verbs_guest *guests;
} verbs_network;

/* A connection from an end to another process. */
typedef struct verbs_connection {
    struct verbs_connection *next;
    struct ibv_qp *queues;
    verbs_name self;
    bool connected;
    uint32_t posted; /* operations that are posted and not complete */
} verbs_connection;

typedef struct verbs_end {
    verbs_network *of;
    struct ibv_cq *completions;
    verbs_connection *connections;
    uint32_t posted; /* of all connections: as many as the completion queue has room for */
    uint32_t
        inline_max; /* bytes that the card lets a post carry; known after the first connection */
    bool inline_known;
} verbs_end;

/* The content of a post's context. */
typedef struct verbs_post_context {
    verbs_connection *connection;
    struct ibv_mr *local; /* registered for this post alone; or NULL */
} verbs_post_context;

static verbs_network *verbs_of(tern_network *network) { return (verbs_network *)(void *)network; }

/* The end that a handle stands for. */
static verbs_end *verbs_end_of(tern_network_end *handle) { return (verbs_end *)(void *)handle; }

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
    name.packet = (uint32_t)name.number * 0x9e3779u & 0xffffffu;
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

/* The network. */

static void verbs_close(tern_network *network) {
    verbs_network *v = verbs_of(network);
    while (v->guests != NULL) {
        verbs_guest *guest = v->guests;
        v->guests = guest->next;
        v->card.ibv.destroy_qp(guest->queues);
        free(guest);
    }
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
    v->network.says_ordered = true;
    v->network.connections_max = options->queue_pairs;
    v->network.post_max = POST_MAX;
    v->network.inline_max = INLINE_MAX;
    tern_status status = tern_verbs_card_open(&v->card, options);
    if (status == TERN_OK && (v->domain = v->card.ibv.alloc_pd(v->card.device)) == NULL)
        status = verbs_fail(TERN_ERR_SYSTEM, "ibv_alloc_pd");
    if (status == TERN_OK &&
        (v->nothing = v->card.ibv.create_cq(v->card.device, 1, NULL, NULL, 0)) == NULL)
        status = verbs_fail(TERN_ERR_SYSTEM, "ibv_create_cq");
    v->network.has_atomics = v->card.atomics;
    if (status == TERN_OK)
        *network = &v->network;
    else
        verbs_close(&v->network);
    return status;
}

static void close_guest(verbs_network *v, verbs_guest **link) {
    verbs_guest *guest = *link;
    *link = guest->next;
    v->card.ibv.destroy_qp(guest->queues);
    free(guest);
}

static verbs_guest **find_guest(verbs_network *v, uint64_t from) {
    verbs_guest **link = &v->guests;
    while (*link != NULL && (*link)->from != from)
        link = &(*link)->next;
    return link;
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
        guest->next = v->guests;
        v->guests = guest;
        put_name(name, &guest->answer);
        return TERN_OK;
    }
    tern_status status = verbs_fail(TERN_ERR_NETWORK, "queues for a worker");
    if (guest->queues != NULL)
        v->card.ibv.destroy_qp(guest->queues);
    free(guest);
    return status;
}

static tern_status verbs_register(verbs_network *v, void *base, size_t bytes, int access,
                                  struct ibv_mr **mr) {
    *mr = v->card.ibv.reg_mr(v->domain, base, bytes, access);
    return *mr != NULL
               ? TERN_OK
               : tern_fail(
                     TERN_ERR_MEMORY,
                     "verbs cannot register %zu bytes: %s; is RLIMIT_MEMLOCK (ulimit -l) too low?",
                     bytes, strerror(errno));
}

static tern_status verbs_add_memory(tern_network *network, void *base, size_t bytes,
                                    tern_network_memory **memory, tern_network_rkey *rkey) {
    struct ibv_mr *mr;
    tern_status status = verbs_register(verbs_of(network), base, bytes,
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
    fresh->completions = v->card.ibv.create_cq(v->card.device, COMPLETIONS, NULL, NULL, 0);
    if (fresh->completions != NULL) {
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
        if (connection->queues != NULL)
            end->of->card.ibv.destroy_qp(connection->queues);
        free(connection);
    }
    end->of->card.ibv.destroy_cq(end->completions);
    free(end);
}

static tern_status verbs_add_local(tern_network_end *handle, void *base, size_t bytes,
                                   tern_network_memory **memory) {
    verbs_end *end = verbs_end_of(handle);
    struct ibv_mr *mr;
    tern_status status = verbs_register(end->of, base, bytes, IBV_ACCESS_LOCAL_WRITE, &mr);
    *memory = (tern_network_memory *)(void *)mr;
    return status;
}

/* Makes the queues of a connection. A card refuses queues whose posts would carry more data than it
 * can. So the first connection asks for half as much after each refusal, and at last for posts
 * without data. */
static tern_status open_connection(verbs_end *end, verbs_connection *connection) {
    verbs_network *v = end->of;
    uint32_t most = end->inline_known ? end->inline_max : INLINE_MAX;
    connection->queues = make_queues(v, end->completions, DEPTH, most);
    while (connection->queues == NULL && !end->inline_known && most > 0) {
        most = most > 16 ? most / 2 : 0;
        connection->queues = make_queues(v, end->completions, DEPTH, most);
    }
    if (connection->queues == NULL)
        return verbs_fail(TERN_ERR_MEMORY, "queues to a rank");
    end->inline_known = true;
    end->inline_max = most;
    pthread_mutex_lock(&v->network.lock);
    connection->self = name_queues(v, connection->queues);
    pthread_mutex_unlock(&v->network.lock);
    return TERN_OK;
}

static tern_status verbs_offer(tern_network_end *handle, uint64_t *peer, tern_network_name *offer) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = (verbs_connection *)(uintptr_t)*peer;
    if (connection == NULL) {
        connection = calloc(1, sizeof *connection);
        if (connection == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a connection to a rank");
        connection->next = end->connections;
        end->connections = connection;
        *peer = (uintptr_t)connection;
    }
    if (connection->connected) {
        struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
        (void)end->of->card.ibv.modify_qp(connection->queues, &attributes, IBV_QP_STATE);
        if (connection->posted > 0)
            return TERN_ERR_AGAIN;
        end->of->card.ibv.destroy_qp(connection->queues);
        connection->queues = NULL;
        connection->connected = false;
    }
    tern_status status = connection->queues != NULL ? TERN_OK : open_connection(end, connection);
    if (status == TERN_OK)
        put_name(offer, &connection->self);
    return status;
}

static void verbs_leave(tern_network_end *handle, uint64_t peer, tern_network_name *offer) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = (verbs_connection *)(uintptr_t)peer;
    put_name(offer, &connection->self);
    if (connection->queues != NULL)
        end->of->card.ibv.destroy_qp(connection->queues);
    connection->queues = NULL;
    connection->connected = false;
}

static tern_status verbs_reach(tern_network_end *handle, const tern_network_name *name,
                               uint64_t *peer) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = (verbs_connection *)(uintptr_t)*peer;
    verbs_name other;
    if (!get_name(name, &other))
        return tern_fail(TERN_ERR_NETWORK, "verbs: the answer to an offer is malformed");
    if (hear_queues(end->of, connection->queues, &other) != 0 ||
        start_queues(end->of, connection->queues, &connection->self) != 0)
        return verbs_fail(TERN_ERR_NETWORK, "connecting queues");
    connection->connected = true;
    return TERN_OK;
}

static tern_status verbs_post(tern_network_end *handle, const tern_network_post *post) {
    verbs_end *end = verbs_end_of(handle);
    verbs_connection *connection = (verbs_connection *)(uintptr_t)post->peer;
    verbs_post_context *context = post->context;
    const bool carried = post->act == TERN_NETWORK_WRITE && post->bytes <= end->inline_max;
    struct ibv_mr *local = (struct ibv_mr *)(void *)post->local;
    if (connection->posted == DEPTH || end->posted == COMPLETIONS)
        return TERN_ERR_AGAIN;
    *context = (verbs_post_context){.connection = connection};
    if (local == NULL && !carried) {
        tern_status status =
            verbs_register(end->of, post->here, post->bytes, IBV_ACCESS_LOCAL_WRITE, &local);
        if (status != TERN_OK)
            return status;
        context->local = local;
    }
    struct ibv_sge piece = {.addr = (uintptr_t)post->here,
                            .length = (uint32_t)post->bytes,
                            .lkey = local != NULL ? local->lkey : 0};
    static const enum ibv_wr_opcode codes[] = {[TERN_NETWORK_READ] = IBV_WR_RDMA_READ,
                                               [TERN_NETWORK_WRITE] = IBV_WR_RDMA_WRITE,
                                               [TERN_NETWORK_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                               [TERN_NETWORK_CAS] = IBV_WR_ATOMIC_CMP_AND_SWP};
    struct ibv_send_wr request = {.wr_id = (uintptr_t)context,
                                  .sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = codes[post->act],
                                  .send_flags =
                                      IBV_SEND_SIGNALED | (carried ? IBV_SEND_INLINE : 0u)};
    const uint64_t remote = post->there.base + post->offset;
    const uint32_t rkey = (uint32_t)post->there.rkey;
    const tern_network_words *words = post->here;
    if (post->act == TERN_NETWORK_ADD)
        request.wr.atomic.compare_add = words->operand;
    if (post->act == TERN_NETWORK_CAS) {
        request.wr.atomic.compare_add = words->expected;
        request.wr.atomic.swap = words->operand;
    }
    if (post->act == TERN_NETWORK_ADD || post->act == TERN_NETWORK_CAS) {
        request.wr.atomic.remote_addr = remote;
        request.wr.atomic.rkey = rkey;
    } else {
        request.wr.rdma.remote_addr = remote;
        request.wr.rdma.rkey = rkey;
    }
    struct ibv_send_wr *bad = NULL;
    const int code = ibv_post_send(connection->queues, &request, &bad);
    if (code == 0) {
        connection->posted++;
        end->posted++;
        return TERN_OK;
    }
    if (context->local != NULL)
        end->of->card.ibv.dereg_mr(context->local);
    return code == ENOMEM ? TERN_ERR_AGAIN
                          : tern_fail(TERN_ERR_NETWORK, "verbs: ibv_post_send: %s", strerror(code));
}

static size_t verbs_complete(tern_network_end *handle, tern_network_done *done, size_t most) {
    verbs_end *end = verbs_end_of(handle);
    struct ibv_wc entry[16];
    const size_t room = sizeof entry / sizeof *entry;
    const int count = ibv_poll_cq(end->completions, (int)(most < room ? most : room), entry);
    for (int i = 0; i < count; i++) {
        verbs_post_context *context = (verbs_post_context *)(uintptr_t)entry[i].wr_id;
        const bool good = entry[i].status == IBV_WC_SUCCESS;
        context->connection->posted--;
        end->posted--;
        if (context->local != NULL)
            end->of->card.ibv.dereg_mr(context->local);
        if (!good && entry[i].status != IBV_WC_WR_FLUSH_ERR)
            tern_log(TERN_LOG_INFO, "verbs: an operation failed: %s",
                     end->of->card.ibv.wc_status_str(entry[i].status));
        done[i] = (tern_network_done){context, good ? TERN_OK : TERN_ERR_NETWORK};
    }
    return count > 0 ? (size_t)count : 0;
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
    .add_local = verbs_add_local,
    .offer = verbs_offer,
    .leave = verbs_leave,
    .reach = verbs_reach,
    .post = verbs_post,
    .complete = verbs_complete,
};
