#include "rma/network/verbs_card.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "rma/network/library.h"
#include "rma/network/locality.h"
#include "src/log.h"
#include "tern/config.h"

#define LIBRARY "libibverbs.so.1"
#define READS_MAX 16
#define MEMBER 0x7fffu /* the bits of a partition key but the one for full members */

static tern_status verbs_load(tern_verbs_library *ibv) {
    const tern_symbol symbols[] = {{"ibv_fork_init", &ibv->fork_init},
                                   {"ibv_get_device_list", &ibv->get_device_list},
                                   {"ibv_free_device_list", &ibv->free_device_list},
                                   {"ibv_get_device_name", &ibv->get_device_name},
                                   {"ibv_open_device", &ibv->open_device},
                                   {"ibv_close_device", &ibv->close_device},
                                   {"ibv_query_device", &ibv->query_device},
                                   {"ibv_query_port", &ibv->query_port},
                                   {"_ibv_query_gid_ex", &ibv->query_gid_ex},
                                   {"ibv_query_pkey", &ibv->query_pkey},
                                   {"ibv_alloc_pd", &ibv->alloc_pd},
                                   {"ibv_dealloc_pd", &ibv->dealloc_pd},
                                   {"ibv_reg_mr", &ibv->reg_mr},
                                   {"ibv_dereg_mr", &ibv->dereg_mr},
                                   {"ibv_create_cq", &ibv->create_cq},
                                   {"ibv_destroy_cq", &ibv->destroy_cq},
                                   {"ibv_create_qp", &ibv->create_qp},
                                   {"ibv_modify_qp", &ibv->modify_qp},
                                   {"ibv_destroy_qp", &ibv->destroy_qp},
                                   {"ibv_wc_status_str", &ibv->wc_status_str},
                                   {"ibv_get_async_event", &ibv->get_async_event},
                                   {"ibv_ack_async_event", &ibv->ack_async_event},
                                   {"ibv_event_type_str", &ibv->event_type_str}};
    return tern_library_load("verbs", LIBRARY, symbols, sizeof symbols / sizeof *symbols);
}

/* How well an address of a port serves; 0: not at all. RoCE version 2 crosses routers and is what
 * switches are set up for, so it comes before version 1, which the tables of cards list first. An
 * address that maps an IPv4 address comes before one of IPv6, and link-local addresses come last.
 * InfiniBand has one kind alone. */
static int gid_merit(const struct ibv_gid_entry *entry) {
    static const union ibv_gid zero;
    static const uint8_t ipv4[12] = {[10] = 0xff, [11] = 0xff};
    const uint8_t *raw = entry->gid.raw;
    if (memcmp(&entry->gid, &zero, sizeof zero) == 0)
        return 0;
    if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
        return 1;
    const bool link_local = raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
    return memcmp(raw, ipv4, sizeof ipv4) == 0 ? 4 : link_local ? 2 : 3;
}

/* Chooses the given GID, or else the first of the best ones. */
static bool choose_gid(tern_verbs_card *card, size_t given, int count) {
    int best = 0;
    for (int i = 0; i < count && i < (int)TERN_VERBS_GID_ANY; i++) {
        struct ibv_gid_entry entry = {0};
        if ((given != TERN_VERBS_GID_ANY && (size_t)i != given) ||
            card->ibv.query_gid_ex(card->device, card->port, (uint32_t)i, &entry, 0,
                                   sizeof entry) != 0 ||
            gid_merit(&entry) <= best)
            continue;
        best = gid_merit(&entry);
        card->gid_index = (uint8_t)i;
        card->gid = entry.gid;
    }
    return best > 0;
}

/* Chooses the partition with the given key, or else the first of the port's table. The highest bit
 * of a key says whether the port is a full member, and is not compared. Unused entries are 0. */
static bool choose_partition(tern_verbs_card *card, size_t given, int count) {
    card->partition = 0;
    for (int i = 0; i < count && given != 0; i++) {
        __be16 key = 0;
        if (card->ibv.query_pkey(card->device, card->port, i, &key) == 0 &&
            (be16toh(key) & MEMBER) != 0 && ((be16toh(key) ^ given) & MEMBER) == 0) {
            card->partition = (uint16_t)i;
            return true;
        }
    }
    return given == 0;
}

static uint32_t mtu_of(size_t bytes) {
    uint32_t mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 128u << (mtu + 1) <= bytes)
        mtu++;
    return mtu;
}

/* The function that libibverbs exports leaves out the flags, so this calls that of the card's
 * driver if there is one. */
static bool query_port(const tern_verbs_card *card, uint8_t port,
                       struct ibv_port_attr *attributes) {
    const struct verbs_context *driver = verbs_get_ctx_op(card->device, query_port);
    memset(attributes, 0, sizeof *attributes);
    return (driver != NULL
                ? driver->query_port(card->device, port, attributes, sizeof *attributes)
                : card->ibv.query_port(card->device, port,
                                       (struct _compat_ibv_port_attr *)(void *)attributes)) == 0;
}

static bool use_port(tern_verbs_card *card, uint8_t port, const tern_network_options *options) {
    struct ibv_port_attr attributes;
    if (!query_port(card, port, &attributes) || attributes.state != IBV_PORT_ACTIVE)
        return false;
    card->port = port;
    card->lid = attributes.lid;
    card->routes = attributes.link_layer == IBV_LINK_LAYER_ETHERNET || attributes.lid == 0 ||
                   (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
    card->mtu = attributes.active_mtu;
    if (options->mtu != 0 && mtu_of(options->mtu) < card->mtu)
        card->mtu = mtu_of(options->mtu);
    return choose_gid(card, options->gid_index, attributes.gid_tbl_len) &&
           choose_partition(card, options->partition_key, attributes.pkey_tbl_len);
}

/* Opens the card if the given port is active or, with port 0, any of its ports. */
static bool use_device(tern_verbs_card *card, struct ibv_device *device, uint8_t port,
                       const tern_network_options *options) {
    struct ibv_device_attr attributes;
    card->device = card->ibv.open_device(device);
    if (card->device == NULL)
        return false;
    if (card->ibv.query_device(card->device, &attributes) == 0) {
        const int reads = attributes.max_qp_rd_atom < attributes.max_qp_init_rd_atom
                              ? attributes.max_qp_rd_atom
                              : attributes.max_qp_init_rd_atom;
        card->atomics = attributes.atomic_cap != IBV_ATOMIC_NONE;
        card->coherent = attributes.atomic_cap == IBV_ATOMIC_GLOB;
        card->reads = (uint8_t)(reads < READS_MAX ? reads : READS_MAX);
        for (uint8_t p = 1; p <= attributes.phys_port_cnt; p++) {
            if ((port != 0 && p != port) || !use_port(card, p, options))
                continue;
            snprintf(card->name, sizeof card->name, "%s:%u", card->ibv.get_device_name(device), p);
            return true;
        }
    }
    card->ibv.close_device(card->device);
    card->device = NULL;
    return false;
}

static bool card_is_near(const tern_verbs_card *card, struct ibv_device *device) {
    char path[128];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/local_cpus",
             card->ibv.get_device_name(device));
    return tern_locality_is_near(path);
}

/* named: the options name a card. */
static tern_status card_missing(const tern_network_options *options, bool named) {
    char address[64] = "", key[64] = "";
    if (options->gid_index != TERN_VERBS_GID_ANY)
        snprintf(address, sizeof address, " at TERN_VERBS_GID_INDEX=%zu", options->gid_index);
    if (options->partition_key != 0)
        snprintf(key, sizeof key, " and with the key TERN_VERBS_PKEY=%zu", options->partition_key);
    if (named)
        return tern_fail(
            TERN_ERR_UNSUPPORTED,
            "verbs: TERN_VERBS_DEVICE=%s: no such card, or no active port of it with an "
            "address%s%s; ibv_devinfo -v lists what there is",
            options->device, address, key);
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "verbs: no card here has an active port with an address%s%s; ibv_devinfo -v "
                     "lists what there is",
                     address, key);
}

/* Opens the card that the options name; otherwise one near this thread's processors, otherwise any.
 */
static tern_status find_card(tern_verbs_card *card, const tern_network_options *options) {
    const char *colon = strchr(options->device, ':');
    const size_t letters =
        colon != NULL ? (size_t)(colon - options->device) : strlen(options->device);
    const uint8_t port = colon != NULL ? (uint8_t)strtoul(colon + 1, NULL, 10) : 0;
    int count = 0;
    struct ibv_device **list = card->ibv.get_device_list(&count);
    for (int pass = 0; list != NULL && pass < 2 && card->device == NULL; pass++)
        for (int i = 0; i < count && card->device == NULL; i++) {
            const char *name = card->ibv.get_device_name(list[i]);
            if (letters > 0 ? strlen(name) == letters && memcmp(name, options->device, letters) == 0
                            : pass == 1 || count == 1 || card_is_near(card, list[i]))
                (void)use_device(card, list[i], port, options);
        }
    if (list != NULL)
        card->ibv.free_device_list(list);
    if (card->device != NULL)
        return TERN_OK;
    return card_missing(options, letters > 0);
}

/* Lets a read of the card's events return at once if the card has reported nothing. */
static tern_status do_not_wait_for_events(const tern_verbs_card *card) {
    const int fd = card->device->async_fd, flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return TERN_OK;
    return tern_fail(TERN_ERR_SYSTEM,
                     "verbs: cannot read the events of card %s without waiting: %s", card->name,
                     strerror(errno));
}

tern_status tern_verbs_card_open(tern_verbs_card *card, const tern_network_options *options) {
    *card = (tern_verbs_card){.service_level = (uint8_t)options->service_level,
                              .traffic_class = (uint8_t)options->traffic_class};
    tern_status status = verbs_load(&card->ibv);
    if (status != TERN_OK)
        return status;
    /* Kernels before 5.12 take registered pages from a process that forks. libibverbs then marks
     * them for the parent; it does nothing on later kernels, and refuses once memory is registered.
     */
    (void)card->ibv.fork_init();
    status = find_card(card, options);
    if (status == TERN_OK)
        status = do_not_wait_for_events(card);
    if (status != TERN_OK)
        tern_verbs_card_close(card);
    return status;
}

/* Logs an event. Returns what it says about the card, or else the trouble that is known. */
static uint32_t judge(const tern_verbs_card *card, const struct ibv_async_event *event,
                      uint32_t trouble) {
    const char *what = card->ibv.event_type_str(event->event_type);
    switch (event->event_type) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
        tern_log(TERN_LOG_ERROR,
                 "verbs: card %s has failed: %s; operations over it end with an error", card->name,
                 what);
        return TERN_NETWORK_FAILED;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
        if (event->element.port_num != card->port)
            return trouble;
        tern_log(TERN_LOG_WARN, "verbs: port %s is %s", card->name,
                 event->event_type == IBV_EVENT_PORT_ERR ? "down" : "active again");
        if (trouble == TERN_NETWORK_FAILED)
            return trouble;
        return event->event_type == IBV_EVENT_PORT_ERR ? TERN_NETWORK_PORT_DOWN : TERN_NETWORK_FINE;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        tern_log(TERN_LOG_WARN, "verbs: a connection over %s has failed: %s", card->name, what);
        return trouble;
    default:
        tern_log(TERN_LOG_INFO, "verbs: card %s reports: %s", card->name, what);
        return trouble;
    }
}

void tern_verbs_card_look(const tern_verbs_card *card, _Atomic uint32_t *trouble) {
    struct ibv_async_event event;
    while (card->ibv.get_async_event(card->device, &event) == 0) {
        /* R4; the network's lock is held */
        const uint32_t known = atomic_load_explicit(trouble, memory_order_relaxed);
        /* R4 */
        atomic_store_explicit(trouble, judge(card, &event, known), memory_order_relaxed);
        card->ibv.ack_async_event(&event);
    }
}

void tern_verbs_card_path(const tern_verbs_card *card, uint16_t lid, const union ibv_gid *gid,
                          struct ibv_ah_attr *path) {
    *path = (struct ibv_ah_attr){.is_global = card->routes || gid->global.subnet_prefix !=
                                                                  card->gid.global.subnet_prefix,
                                 .grh = {.dgid = *gid,
                                         .sgid_index = card->gid_index,
                                         .hop_limit = 64,
                                         .traffic_class = card->traffic_class},
                                 .dlid = lid,
                                 .sl = card->service_level,
                                 .port_num = card->port};
}

void tern_verbs_card_close(tern_verbs_card *card) {
    if (card->device != NULL)
        card->ibv.close_device(card->device);
    card->device = NULL;
}
