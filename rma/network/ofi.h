#ifndef TERN_RMA_NETWORK_OFI_H
#define TERN_RMA_NETWORK_OFI_H

/*
 * ofi uses libfabric's reliable datagrams with remote memory. The library is loaded at the first
 * use, so that a program also starts on machines without it. The end at which other ranks reach
 * this process has a domain of its own, and so has each port. So only one thread at a time uses a
 * domain, and no two workers compete for a lock of libfabric.
 */

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include "rma/network/helper.h"
#include "rma/network/network.h"

/* ofi_provider.c: the library, and the providers that it has. */

typedef struct tern_ofi_library {
    uint32_t version; /* of the interface that tern asks for */
    uint32_t (*loaded)(void);
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int code);
    char *(*tostr)(const void *data, enum fi_type type);
} tern_ofi_library;

/* Loads the library. TERN_ERR_UNSUPPORTED: it is missing or too old. */
tern_status tern_ofi_load(tern_ofi_library *fi);

/* Lists the providers that have what tern needs, the best first. by_itself: only those that make
 * progress by themselves. [out] list: of one description for each provider, to be freed.
 * TERN_ERR_UNSUPPORTED: no provider has it. */
tern_status tern_ofi_list(const tern_ofi_library *fi, bool one_machine, bool by_itself,
                          struct fi_info **list);

/* Returns a description of the same provider and card whose operations progress in calls alone, to
 * be freed, or NULL. */
struct fi_info *tern_ofi_by_calls(const tern_ofi_library *fi, const struct fi_info *info,
                                  bool one_machine);

/* ofi_end.c: an end, with its domain, which posts operations or is reached by them. */

typedef struct tern_ofi tern_ofi;

typedef struct tern_ofi_end {
    const tern_ofi *ofi;
    struct fi_info *info;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *completions;
    struct fid_ep *endpoint;
    uint64_t next_rkey;
} tern_ofi_end;

struct tern_ofi {
    tern_network network; /* first */
    tern_ofi_library fi;
    struct fi_info *info;
    struct fid_fabric *fabric;
    tern_ofi_end end;    /* where other ranks reach this process */
    tern_helper *helper; /* NULL: progress is automatic, or needs the workers */
};

tern_status tern_ofi_fail(const tern_ofi *ofi, const char *what, long code);

/* Opens an end. waits: its completions have a descriptor to sleep on (FI_GETWAIT). */
tern_status tern_ofi_end_open(const tern_ofi *ofi, bool waits, tern_ofi_end *end);
void tern_ofi_end_close(tern_ofi_end *end);

/* Registers memory. access: such as FI_READ. */
tern_status tern_ofi_register(tern_ofi_end *end, const void *base, size_t bytes, uint64_t access,
                              struct fid_mr **mr);

/* Operations of a port (tern_network_ops). */
tern_status tern_ofi_add_local(tern_network_end *handle, void *base, size_t bytes,
                               tern_network_memory **memory);
tern_status tern_ofi_offer(tern_network_end *handle, uint64_t *peer, tern_network_name *offer);
tern_status tern_ofi_reach(tern_network_end *handle, const tern_network_name *name, uint64_t *peer);
tern_status tern_ofi_post(tern_network_end *handle, const tern_network_post *post);
size_t tern_ofi_complete(tern_network_end *handle, tern_network_done *done, size_t most);

/* The end that a handle stands for. */
static inline tern_ofi_end *tern_ofi_end_of(tern_network_end *handle) {
    return (tern_ofi_end *)(void *)handle;
}

#endif
