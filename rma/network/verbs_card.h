#ifndef TERN_RMA_NETWORK_VERBS_CARD_H
#define TERN_RMA_NETWORK_VERBS_CARD_H

/*
 * The card that verbs uses, one of its ports, and the port's address. libibverbs is loaded at the
 * first use, so that a program also starts on machines without it.
 */

#include <infiniband/verbs.h>

#include "rma/network/network.h"

/* The functions that libibverbs exports. tern calls the others through the library's structures. */
typedef struct tern_verbs_library {
    int (*fork_init)(void);
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    const char *(*get_device_name)(struct ibv_device *device);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attributes);
    int (*query_port)(struct ibv_context *context, uint8_t port,
                      struct _compat_ibv_port_attr *attributes);
    int (*query_gid_ex)(struct ibv_context *context, uint32_t port, uint32_t index,
                        struct ibv_gid_entry *entry, uint32_t flags, size_t entry_bytes);
    int (*query_pkey)(struct ibv_context *context, uint8_t port, int index, __be16 *pkey);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *domain);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *domain, void *base, size_t bytes, int access);
    int (*dereg_mr)(struct ibv_mr *memory);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries, void *of,
                                struct ibv_comp_channel *channel, int vector);
    int (*destroy_cq)(struct ibv_cq *completions);
    struct ibv_qp *(*create_qp)(struct ibv_pd *domain, struct ibv_qp_init_attr *attributes);
    int (*modify_qp)(struct ibv_qp *queues, struct ibv_qp_attr *attributes, int mask);
    int (*destroy_qp)(struct ibv_qp *queues);
    const char *(*wc_status_str)(enum ibv_wc_status status);
    int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
    void (*ack_async_event)(struct ibv_async_event *event);
    const char *(*event_type_str)(enum ibv_event_type type);
} tern_verbs_library;

typedef struct tern_verbs_card {
    tern_verbs_library ibv;
    struct ibv_context *device;
    char name[64]; /* card:port */
    uint8_t port;
    uint8_t reads;      /* reads that may be under way between two queues */
    bool atomics;       /* the card claims to have atomics */
    bool coherent;      /* and that they are atomic with those of the processor */
    uint16_t lid;       /* 0 over RoCE */
    uint32_t mtu;       /* as enum ibv_mtu */
    uint16_t partition; /* index of the partition key in the port's table */
    uint8_t service_level, traffic_class;
    bool routes; /* every packet needs a global routing header, which names the GIDs */
    uint8_t gid_index;
    union ibv_gid gid;
} tern_verbs_card;

/* Opens the card that the options name; otherwise one near this thread's processors, otherwise any.
 * One of the card's ports must be active. TERN_ERR_UNSUPPORTED. */
tern_status tern_verbs_card_open(tern_verbs_card *card, const tern_network_options *options);
/* [out] path: from the card's port to the port with these addresses. */
void tern_verbs_card_path(const tern_verbs_card *card, uint16_t lid, const union ibv_gid *gid,
                          struct ibv_ah_attr *path);
/* Reads and logs what the card has reported: its port is down or active again, the card or a
 * connection has failed. Never waits. [out] trouble: unchanged if the card has reported nothing of
 * that. The network's lock is held. */
void tern_verbs_card_look(const tern_verbs_card *card, _Atomic uint32_t *trouble);
void tern_verbs_card_close(tern_verbs_card *card);

#endif
