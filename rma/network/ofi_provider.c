#include "rma/network/ofi.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "rma/network/library.h"
#include "rma/network/locality.h"

/* The library, and which of its providers tern takes. */

#define LIBRARY "libfabric.so.1"
#define VERSION_MIN FI_VERSION(1, 15)
#define VERSION_BUILT FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)
/* What tern does if a provider demands it. */
#define MODES (FI_CONTEXT | FI_CONTEXT2)
#define MEMORY_MODES                                                                               \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)
#define KEY_BYTES_MAX 8u

/* For each endpoint ofi_rxm allocates 90 MiB of buffers for messages, which tern never sends.
 * ofi_rxm reads this variable when libfabric is first used, so an MPI that has used libfabric
 * before keeps its own size. */
static void keep_buffers_small(void) { setenv("FI_OFI_RXM_BUFFER_SIZE", "1024", 0); }

/* The structures are those of the headers that tern was built with, so a newer library is asked for
 * that interface. */
static tern_status choose_version(tern_ofi_library *fi) {
    const uint32_t loaded = fi->loaded();
    fi->version = FI_VERSION_LT(loaded, VERSION_BUILT) ? loaded : VERSION_BUILT;
    return FI_VERSION_GE(loaded, VERSION_MIN)
               ? TERN_OK
               : tern_fail(TERN_ERR_UNSUPPORTED,
                           "ofi: %s is libfabric %u.%u; install 1.15 or newer, or set another "
                           "TERN_TRANSPORT",
                           LIBRARY, FI_MAJOR(loaded), FI_MINOR(loaded));
}

tern_status tern_ofi_load(tern_ofi_library *fi) {
    keep_buffers_small();
    const tern_symbol symbols[] = {{"fi_version", &fi->loaded},    {"fi_getinfo", &fi->getinfo},
                                   {"fi_freeinfo", &fi->freeinfo}, {"fi_dupinfo", &fi->dupinfo},
                                   {"fi_fabric", &fi->fabric},     {"fi_strerror", &fi->strerror},
                                   {"fi_tostr", &fi->tostr}};
    tern_status status =
        tern_library_load("ofi", LIBRARY, symbols, sizeof symbols / sizeof *symbols);
    return status == TERN_OK ? choose_version(fi) : status;
}

/* Whether the card is near this thread's processors. True if it is not known where the card is. */
static bool is_near(const struct fi_info *info) {
    const struct fi_bus_attr *bus = info->nic != NULL ? info->nic->bus_attr : NULL;
    char path[64];
    if (bus == NULL || bus->bus_type != FI_BUS_PCI)
        return true;
    const struct fi_pci_attr *pci = &bus->attr.pci;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/local_cpus", pci->domain_id,
             pci->bus_id, pci->device_id, pci->function_id);
    return tern_locality_is_near(path);
}

static bool same_kind(const struct fi_info *a, const struct fi_info *b) {
    return strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) == 0 &&
           (a->nic == NULL) == (b->nic == NULL);
}

/* Returns the description of one card of first's provider: a card near this thread's processors,
 * otherwise first. list: the one that first is in. */
static const struct fi_info *choose_card(const struct fi_info *list, const struct fi_info *first) {
    while (list != NULL && (!same_kind(list, first) || !is_near(list)))
        list = list->next;
    return list != NULL ? list : first;
}

/* What is asked of a provider's progress. */
typedef enum progress_kind { BY_ITSELF, BY_CALLS, ANY_PROGRESS } progress_kind;

/* Asks for what tern needs. NULL: no memory. */
static struct fi_info *make_hints(const tern_ofi_library *fi, bool one_machine,
                                  progress_kind progress, bool atomics) {
    struct fi_info *hints = fi->dupinfo(NULL);
    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG | FI_RMA | (atomics ? FI_ATOMIC : 0);
    if (!one_machine)
        hints->caps |= FI_REMOTE_COMM;
    hints->mode = MODES;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = MEMORY_MODES;
    /* A provider that makes progress by itself uses a thread of its own. */
    hints->domain_attr->threading = progress == BY_ITSELF ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = progress == BY_ITSELF  ? FI_PROGRESS_AUTO
                                        : progress == BY_CALLS ? FI_PROGRESS_MANUAL
                                                               : FI_PROGRESS_UNSPEC;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    return hints;
}

/* What a provider demands and tern does not do; "": nothing. The text is valid until the next call
 * of libfabric. */
static const char *find_demand(const tern_ofi_library *fi, const struct fi_info *info) {
    const uint64_t mode = info->mode & ~MODES;
    const int memory = info->domain_attr->mr_mode & ~MEMORY_MODES;
    if (mode != 0)
        return fi->tostr(&mode, FI_TYPE_MODE);
    if (memory != 0)
        return fi->tostr(&memory, FI_TYPE_MR_MODE);
    return info->domain_attr->mr_key_size > KEY_BYTES_MAX ? "keys of more than 8 bytes" : "";
}

/* Returns the first provider that works for its own card, from there on, or NULL. */
static const struct fi_info *find_own_card(const struct fi_info *list) {
    static const char *const providers[] = {"cxi", "efa", "psm3", "opx"};
    for (; list != NULL; list = list->next)
        for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
            if (strcmp(list->fabric_attr->prov_name, providers[i]) == 0 && list->nic != NULL)
                return list;
    return NULL;
}

/* Appends a provider unless the list has it. */
static int append(const tern_ofi_library *fi, const struct fi_info *from,
                  const struct fi_info *provider, struct fi_info **list) {
    if (find_demand(fi, provider)[0] != 0)
        return 0;
    while (*list != NULL && !same_kind(*list, provider))
        list = &(*list)->next;
    if (*list == NULL)
        *list = fi->dupinfo(choose_card(from, provider));
    return *list != NULL ? 0 : -FI_ENOMEM;
}

/* The order: the providers of a card's maker, then the others. Most of the makers' providers make
 * progress in calls alone; TCP, which makes it by itself, is a poor use of such a card. Among
 * equals those with atomics come first, since tcp with ofi_rxm (1.17) completes nothing if a
 * program does not ask for atomics. Then come those that make progress by themselves. */
static int sort_providers(const tern_ofi_library *fi, struct fi_info *const lists[4],
                          struct fi_info **sorted) {
    int code = 0;
    for (int i = 0; i < 4 && code == 0; i++)
        for (const struct fi_info *p = find_own_card(lists[i]); p != NULL && code == 0;
             p = find_own_card(p->next))
            code = append(fi, lists[i], p, sorted);
    for (int i = 0; i < 4 && code == 0; i++)
        for (const struct fi_info *p = lists[i]; p != NULL && code == 0; p = p->next)
            code = append(fi, lists[i], p, sorted);
    return code;
}

/* Says why tern takes no provider. */
static tern_status no_provider(const tern_ofi_library *fi, bool one_machine, bool by_itself,
                               int code) {
    struct fi_info *hints = make_hints(fi, one_machine, ANY_PROGRESS, false), *any = NULL;
    if (hints != NULL) {
        hints->mode = UINT64_MAX;
        hints->domain_attr->mr_mode = MEMORY_MODES | FI_MR_RAW | FI_MR_MMU_NOTIFY |
                                      FI_MR_RMA_EVENT | FI_MR_HMEM | FI_MR_COLLECTIVE;
        if (fi->getinfo(fi->version, NULL, NULL, 0, hints, &any) != 0)
            any = NULL;
        fi->freeinfo(hints);
    }
    if (any == NULL || find_demand(fi, any)[0] == 0)
        tern_fail(TERN_ERR_UNSUPPORTED,
                  "ofi: libfabric has no provider with remote memory here%s (%s); FI_PROVIDER may "
                  "exclude it, and fi_info lists what there is",
                  by_itself ? " that makes progress by itself (TERN_OFI_PROGRESS=automatic)" : "",
                  fi->strerror(-code));
    else
        tern_fail(TERN_ERR_UNSUPPORTED,
                  "ofi: the provider %s demands %s, which tern does not do; FI_PROVIDER names "
                  "another one",
                  any->fabric_attr->prov_name, find_demand(fi, any));
    if (any != NULL)
        fi->freeinfo(any);
    return TERN_ERR_UNSUPPORTED;
}

tern_status tern_ofi_list(const tern_ofi_library *fi, bool one_machine, bool by_itself,
                          struct fi_info **list) {
    struct fi_info *lists[4] = {NULL}, *sorted = NULL;
    int code = 0;
    for (int i = 0; i < 4; i += by_itself ? 2 : 1) {
        struct fi_info *hints =
            make_hints(fi, one_machine, i % 2 == 0 ? BY_ITSELF : ANY_PROGRESS, i < 2);
        code =
            hints == NULL ? -FI_ENOMEM : fi->getinfo(fi->version, NULL, NULL, 0, hints, &lists[i]);
        if (code != 0)
            lists[i] = NULL;
        if (hints != NULL)
            fi->freeinfo(hints);
    }
    const int sorting = sort_providers(fi, lists, &sorted);
    for (int i = 0; i < 4; i++)
        if (lists[i] != NULL)
            fi->freeinfo(lists[i]);
    if (sorted == NULL)
        return no_provider(fi, one_machine, by_itself,
                           sorting != 0 ? sorting
                           : code != 0  ? code
                                        : -FI_ENODATA);
    *list = sorted;
    return TERN_OK;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

struct fi_info *tern_ofi_by_calls(const tern_ofi_library *fi, const struct fi_info *info,
                                  bool one_machine) {
    if (info->domain_attr->data_progress == FI_PROGRESS_MANUAL)
        return fi->dupinfo(info);
    struct fi_info *hints = make_hints(fi, one_machine, BY_CALLS, (info->caps & FI_ATOMIC) != 0);
    struct fi_info *list = NULL, *found = NULL;
    if (hints == NULL)
        return NULL;
    hints->fabric_attr->prov_name = strdup(info->fabric_attr->prov_name);
    if (hints->fabric_attr->prov_name != NULL &&
        fi->getinfo(fi->version, NULL, NULL, 0, hints, &list) == 0) {
        const struct fi_info *same = list;
        while (same != NULL && (same->domain_attr->data_progress != FI_PROGRESS_MANUAL ||
                                !same_kind(same, info) || find_demand(fi, same)[0] != 0 ||
                                !same_text(same->domain_attr->name, info->domain_attr->name)))
            same = same->next;
        found = same != NULL ? fi->dupinfo(same) : NULL;
        fi->freeinfo(list);
    }
    fi->freeinfo(hints);
    return found;
}
