#include "rma/network/verbs_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "rma/network/library.h"
#include "rma/network/locality.h"
#include "tern/config.h"

#define LIBRARY "libibverbs.so.1"
#define READS_MAX 16

static tern_status verbs_load(tern_verbs_library *ibv) {
    const tern_symbol symbols[] = {{"ibv_get_device_list", &ibv->get_device_list},
                                   {"ibv_free_device_list", &ibv->free_device_list},
                                   {"ibv_get_device_name", &ibv->get_device_name},
                                   {"ibv_open_device", &ibv->open_device},
                                   {"ibv_close_device", &ibv->close_device},
                                   {"ibv_query_device", &ibv->query_device},
                                   {"ibv_query_port", &ibv->query_port},
                                   {"ibv_query_gid", &ibv->query_gid},
                                   {"ibv_alloc_pd", &ibv->alloc_pd},
                                   {"ibv_dealloc_pd", &ibv->dealloc_pd},
                                   {"ibv_reg_mr", &ibv->reg_mr},
                                   {"ibv_dereg_mr", &ibv->dereg_mr},
                                   {"ibv_create_cq", &ibv->create_cq},
                                   {"ibv_destroy_cq", &ibv->destroy_cq},
                                   {"ibv_create_qp", &ibv->create_qp},
                                   {"ibv_modify_qp", &ibv->modify_qp},
                                   {"ibv_destroy_qp", &ibv->destroy_qp},
                                   {"ibv_wc_status_str", &ibv->wc_status_str}};
    return tern_library_load("verbs", LIBRARY, symbols, sizeof symbols / sizeof *symbols);
}

static bool is_ipv4(const union ibv_gid *gid) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid->raw, mapped, sizeof mapped) == 0;
}

static bool is_zero(const union ibv_gid *gid) {
    static const union ibv_gid zero;
    return memcmp(gid, &zero, sizeof zero) == 0;
}

/* Chooses the given GID; otherwise one that maps an IPv4 address, which over RoCE can be routed
 * (version 2); otherwise the first that is not zero. */
static bool choose_gid(tern_verbs_card *card, size_t given, int count) {
    card->gid_index = -1;
    for (int i = 0; i < count; i++) {
        union ibv_gid gid;
        if ((given != TERN_VERBS_GID_ANY && (size_t)i != given) ||
            card->ibv.query_gid(card->device, card->port, i, &gid) != 0 || is_zero(&gid))
            continue;
        if (card->gid_index < 0 || (is_ipv4(&gid) && !is_ipv4(&card->gid))) {
            card->gid_index = i;
            card->gid = gid;
        }
    }
    return card->gid_index >= 0;
}

static uint32_t mtu_of(size_t bytes) {
    uint32_t mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 128u << (mtu + 1) <= bytes)
        mtu++;
    return mtu;
}

static bool use_port(tern_verbs_card *card, uint8_t port, const tern_network_options *options) {
    struct ibv_port_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    if (card->ibv.query_port(card->device, port,
                             (struct _compat_ibv_port_attr *)(void *)&attributes) != 0 ||
        attributes.state != IBV_PORT_ACTIVE)
        return false;
    card->port = port;
    card->lid = attributes.lid;
    card->mtu = attributes.active_mtu;
    if (options->mtu != 0 && mtu_of(options->mtu) < card->mtu)
        card->mtu = mtu_of(options->mtu);
    return choose_gid(card, options->gid_index, attributes.gid_tbl_len);
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
    if (letters > 0)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "verbs: TERN_VERBS_DEVICE=%s: no such card, or no active port of it with "
                         "such a GID; ibv_devinfo lists what there is",
                         options->device);
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "verbs: no card with an active port here; ibv_devinfo lists what there is");
}

tern_status tern_verbs_card_open(tern_verbs_card *card, const tern_network_options *options) {
    *card = (tern_verbs_card){0};
    tern_status status = verbs_load(&card->ibv);
    return status == TERN_OK ? find_card(card, options) : status;
}

void tern_verbs_card_close(tern_verbs_card *card) {
    if (card->device != NULL)
        card->ibv.close_device(card->device);
}
