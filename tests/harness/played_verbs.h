#ifndef TERN_PLAYED_VERBS_H
#define TERN_PLAYED_VERBS_H

/*
 * Cards of verbs that a test plays: the functions of libibverbs, for cards[] and what follows it.
 * A program that includes this is about them alone.
 */

#include <CUnit/CUnit.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { CARDS = 2, PORTS = 2, GIDS = 16, KEYS = 4 };

typedef struct played_port {
    bool active;
    uint16_t lid;
    uint8_t link_layer;
    uint8_t flags;
    int gids, keys;
    struct ibv_gid_entry gid[GIDS];
    uint16_t key[KEYS];
} played_port;

typedef struct played_card {
    struct ibv_device device;
    struct verbs_context driver;
    played_port port[PORTS];
} played_card;

static played_card cards[CARDS];
static int card_count, cards_open, forks_prepared;
static uint32_t inline_limit; /* of a queue pair */
static int queue_pairs, queue_attempts, completion_queues;
static uint32_t entries;           /* of the completion queue that was made last */
static struct ibv_qp_attr started; /* what a queue pair was last told */

/* Operations that are posted and not polled, in their order. What is not signaled and succeeds
 * makes no completion. */
enum { POSTED_MAX = 8192 };
static uint64_t posted[POSTED_MAX];
static uint32_t posts, polled;
static unsigned post_flags; /* of the last one */
static enum ibv_wc_status outcome;

static played_card *card_of(const struct ibv_context *context) {
    for (int i = 0; i < card_count; i++)
        if (context == &cards[i].driver.context)
            return &cards[i];
    CU_FAIL_FATAL("a function of verbs got no card");
    return NULL;
}

static int play_fork_init(void) {
    CU_ASSERT_EQUAL(cards_open, 0);
    forks_prepared++;
    return EINVAL; /* memory is registered already; that is no reason to do without the card */
}

static struct ibv_device **play_get_device_list(int *count) {
    struct ibv_device **list = calloc(CARDS + 1, sizeof *list);
    CU_ASSERT_FATAL(list != NULL);
    for (int i = 0; i < card_count; i++)
        list[i] = &cards[i].device;
    *count = card_count;
    return list;
}

static void play_free_device_list(struct ibv_device **list) { free(list); }

static const char *play_get_device_name(struct ibv_device *device) {
    return device == &cards[0].device ? "first" : "second";
}

static struct ibv_context *play_open_device(struct ibv_device *device) {
    cards_open++;
    return &cards[device != &cards[0].device].driver.context;
}

static int play_close_device(struct ibv_context *context) {
    (void)card_of(context);
    cards_open--;
    return 0;
}

static int play_query_device(struct ibv_context *context, struct ibv_device_attr *attributes) {
    (void)card_of(context);
    *attributes = (struct ibv_device_attr){.phys_port_cnt = PORTS,
                                           .max_qp_rd_atom = 4,
                                           .max_qp_init_rd_atom = 8,
                                           .atomic_cap = IBV_ATOMIC_HCA};
    return 0;
}

static int driver_query_port(struct ibv_context *context, uint8_t port,
                             struct ibv_port_attr *attributes, size_t bytes) {
    const played_port *p = &card_of(context)->port[port - 1];
    CU_ASSERT_EQUAL(bytes, sizeof *attributes);
    *attributes = (struct ibv_port_attr){.state = p->active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
                                         .active_mtu = IBV_MTU_1024,
                                         .gid_tbl_len = p->gids,
                                         .pkey_tbl_len = (uint16_t)p->keys,
                                         .lid = p->lid,
                                         .link_layer = p->link_layer,
                                         .flags = p->flags};
    return 0;
}

/* The library's own function does not set what was added later, the flags among it. */
static int play_query_port(struct ibv_context *context, uint8_t port,
                           struct _compat_ibv_port_attr *attributes) {
    struct ibv_port_attr *to = (struct ibv_port_attr *)(void *)attributes;
    const int status = driver_query_port(context, port, to, sizeof *to);
    to->flags = 0;
    return status;
}

static int play_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                             struct ibv_gid_entry *entry, uint32_t flags, size_t entry_bytes) {
    const played_port *p = &card_of(context)->port[port - 1];
    CU_ASSERT_EQUAL(flags, 0);
    CU_ASSERT_EQUAL(entry_bytes, sizeof *entry);
    if (index >= (uint32_t)p->gids)
        return EINVAL;
    *entry = p->gid[index];
    return 0;
}

static int play_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey) {
    const played_port *p = &card_of(context)->port[port - 1];
    *pkey = htobe16(p->key[index]);
    return 0;
}

static struct ibv_pd *play_alloc_pd(struct ibv_context *context) {
    struct ibv_pd *domain = calloc(1, sizeof *domain);
    CU_ASSERT_FATAL(domain != NULL);
    domain->context = context;
    return domain;
}

static int play_dealloc_pd(struct ibv_pd *domain) {
    free(domain);
    return 0;
}

static struct ibv_mr *play_reg_mr(struct ibv_pd *domain, void *base, size_t bytes, int access) {
    (void)domain, (void)base, (void)bytes, (void)access;
    errno = ENOMEM;
    return NULL;
}

static int play_dereg_mr(struct ibv_mr *memory) {
    (void)memory;
    CU_FAIL("no memory was registered");
    return 0;
}

static struct ibv_cq *play_create_cq(struct ibv_context *context, int count, void *of,
                                     struct ibv_comp_channel *channel, int vector) {
    (void)of, (void)channel, (void)vector;
    struct ibv_cq *completions = calloc(1, sizeof *completions);
    CU_ASSERT_FATAL(completions != NULL);
    completions->context = context;
    entries = (uint32_t)count;
    completion_queues++;
    return completions;
}

static int play_destroy_cq(struct ibv_cq *completions) {
    free(completions);
    completion_queues--;
    return 0;
}

static struct ibv_qp *play_create_qp(struct ibv_pd *domain, struct ibv_qp_init_attr *attributes) {
    queue_attempts++;
    if (attributes->cap.max_inline_data > inline_limit) {
        errno = EINVAL;
        return NULL;
    }
    struct ibv_qp *queues = calloc(1, sizeof *queues);
    CU_ASSERT_FATAL(queues != NULL);
    queues->context = domain->context;
    queue_pairs++;
    return queues;
}

static int play_modify_qp(struct ibv_qp *queues, struct ibv_qp_attr *attributes, int mask) {
    (void)queues;
    if ((mask & IBV_QP_PKEY_INDEX) != 0)
        started.pkey_index = attributes->pkey_index;
    if ((mask & IBV_QP_AV) != 0)
        started.ah_attr = attributes->ah_attr;
    return 0;
}

static int play_destroy_qp(struct ibv_qp *queues) {
    free(queues);
    queue_pairs--;
    return 0;
}

static const char *play_wc_status_str(enum ibv_wc_status status) {
    return status == IBV_WC_SUCCESS ? "success" : "failure";
}

static int play_post_send(struct ibv_qp *queues, struct ibv_send_wr *request,
                          struct ibv_send_wr **bad) {
    (void)queues, (void)bad;
    CU_ASSERT_FATAL(posts < POSTED_MAX);
    if ((request->send_flags & IBV_SEND_SIGNALED) == 0 && outcome == IBV_WC_SUCCESS)
        return 0;
    posted[posts++] = request->wr_id;
    post_flags = request->send_flags;
    return 0;
}

static int play_poll_cq(struct ibv_cq *completions, int most, struct ibv_wc *entry) {
    (void)completions;
    int count = 0;
    for (; count < most && polled < posts; count++)
        entry[count] = (struct ibv_wc){.wr_id = posted[polled++], .status = outcome};
    return count;
}

#endif
