#ifndef TERN_PLAYED_VERBS_H
#define TERN_PLAYED_VERBS_H

/*
 * Cards of verbs that a test plays: the functions of libibverbs, for cards[] and what follows it.
 * A program that includes this is about them alone.
 */

#include <CUnit/CUnit.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rma/network/library.h"
#include "rma/network/network.h"
#include "tern/config.h"

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
static uint32_t entries; /* of the completion queue that was made last */
static bool registers;   /* the card registers memory */
static int registered;
static struct ibv_qp_attr started; /* what a queue pair was last told */

/* Operations that are posted and not polled, in their order. What is not signaled and succeeds
 * makes no completion. */
enum { POSTED_MAX = 8192 };
static uint64_t posted[POSTED_MAX];
static uint32_t posts, polled;
static unsigned post_flags; /* of the last one */
static enum ibv_wc_status outcome;

/* What the card has reported and nobody has read; reads, and events that were read and not
 * acknowledged. */
enum { EVENTS = 8 };
static struct ibv_async_event event[EVENTS];
static int events, event_reads, events_open;

static inline void play_event(enum ibv_event_type type, int port) {
    CU_ASSERT_FATAL(events < EVENTS);
    event[events++] = (struct ibv_async_event){.element.port_num = port, .event_type = type};
}

/* As a real card, this one would let the reader wait if its descriptor did. */
static int play_get_async_event(struct ibv_context *context, struct ibv_async_event *first) {
    CU_ASSERT((fcntl(context->async_fd, F_GETFL) & O_NONBLOCK) != 0);
    event_reads++;
    if (events == 0)
        return -1;
    *first = event[0];
    events--;
    for (int i = 0; i < events; i++)
        event[i] = event[i + 1];
    events_open++;
    return 0;
}

static void play_ack_async_event(struct ibv_async_event *read) {
    (void)read;
    events_open--;
}

static const char *play_event_type_str(enum ibv_event_type type) {
    return type == IBV_EVENT_DEVICE_FATAL ? "a fatal event" : "another event";
}

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
    struct ibv_context *context = &cards[device != &cards[0].device].driver.context;
    cards_open++;
    context->async_fd = eventfd(0, 0);
    return context;
}

static int play_close_device(struct ibv_context *context) {
    (void)card_of(context);
    cards_open--;
    return close(context->async_fd);
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
    registered += registers;
    return registers ? calloc(1, sizeof(struct ibv_mr)) : NULL;
}

static int play_dereg_mr(struct ibv_mr *memory) {
    CU_ASSERT(registered > 0);
    registered--;
    free(memory);
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
    for (; request != NULL; request = request->next) {
        CU_ASSERT_FATAL(posts < POSTED_MAX);
        if ((request->send_flags & IBV_SEND_SIGNALED) == 0 && outcome == IBV_WC_SUCCESS)
            continue;
        posted[posts++] = request->wr_id;
        post_flags = request->send_flags;
    }
    return 0;
}

static int play_poll_cq(struct ibv_cq *completions, int most, struct ibv_wc *entry) {
    (void)completions;
    int count = 0;
    for (; count < most && polled < posts; count++)
        entry[count] = (struct ibv_wc){.wr_id = posted[polled++], .status = outcome};
    return count;
}

/* The linker gives this name (tests/CMakeLists.txt). */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count);

tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count) {
    static const struct {
        const char *name;
        void (*function)(void);
    } played[] = {
#define PLAYED(name) {"ibv_" #name, (void (*)(void))play_##name}
        PLAYED(fork_init),
        PLAYED(get_device_list),
        PLAYED(free_device_list),
        PLAYED(open_device),
        PLAYED(get_device_name),
        PLAYED(close_device),
        PLAYED(query_port),
        PLAYED(query_device),
        PLAYED(query_pkey),
        PLAYED(alloc_pd),
        PLAYED(dealloc_pd),
        PLAYED(reg_mr),
        PLAYED(dereg_mr),
        PLAYED(create_cq),
        PLAYED(destroy_cq),
        PLAYED(create_qp),
        PLAYED(modify_qp),
        PLAYED(destroy_qp),
        PLAYED(wc_status_str),
        PLAYED(get_async_event),
        PLAYED(ack_async_event),
        PLAYED(event_type_str),
        {"_ibv_query_gid_ex", (void (*)(void))play_query_gid_ex}};
    CU_ASSERT_STRING_EQUAL(transport, "verbs");
    CU_ASSERT_STRING_EQUAL(library, "libibverbs.so.1");
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < sizeof played / sizeof *played; j++)
            if (strcmp(symbols[i].name, played[j].name) == 0) {
                memcpy(symbols[i].at, &played[j].function, sizeof played[j].function);
                found = true;
            }
        CU_ASSERT_FATAL(found);
    }
    return TERN_OK;
}
/* NOLINTEND(bugprone-reserved-identifier) */

typedef enum address { ZERO, LINK_LOCAL, IPV6, IPV4 } address;

static inline struct ibv_gid_entry gid_of(uint32_t type, address kind, uint8_t last) {
    static const uint8_t begin[][12] = {[LINK_LOCAL] = {0xfe, 0x80},
                                        [IPV6] = {0x20, 0x01, 0x0d, 0xb8},
                                        [IPV4] = {[10] = 0xff, [11] = 0xff}};
    struct ibv_gid_entry entry = {.gid_type = type};
    if (kind == ZERO)
        return entry;
    memcpy(entry.gid.raw, begin[kind], sizeof begin[kind]);
    entry.gid.raw[15] = last;
    return entry;
}

/* One card with one active port of RoCE and no address. */
static inline played_port *play_roce(void) {
    memset(cards, 0, sizeof cards);
    card_count = 1;
    inline_limit = 128;
    registers = false;
    registered = 0;
    posts = polled = 0;
    events = event_reads = events_open = 0;
    outcome = IBV_WC_SUCCESS;
    for (int i = 0; i < CARDS; i++) {
        cards[i].driver.context.ops.post_send = play_post_send;
        cards[i].driver.context.ops.poll_cq = play_poll_cq;
        cards[i].driver.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        cards[i].driver.sz = sizeof cards[i].driver;
        cards[i].driver.query_port = driver_query_port;
    }
    played_port *port = &cards[0].port[0];
    *port = (played_port){
        .active = true, .link_layer = IBV_LINK_LAYER_ETHERNET, .keys = 1, .key = {0xffff}};
    return port;
}

static const tern_network_options any = {.device = "", .gid_index = TERN_VERBS_GID_ANY};

static inline void play_address(played_port *port) {
    port->gids = 1;
    port->gid[0] = gid_of(IBV_GID_TYPE_ROCE_V2, IPV4, 1);
}

#endif
