#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "rma/network/library.h"
#include "rma/network/locality.h"
#include "rma/network/network.h"

/*
 * ofi uses libfabric's reliable datagrams with remote memory. The library is loaded at the first
 * use, so that a program also starts on machines without it. The end at which other ranks reach
 * this process has a domain of its own, and so has each port. So only one thread at a time uses a
 * domain, and no two workers compete for a lock of libfabric.
 */

#define VERSION FI_VERSION(1, 17)
#define LIBRARY "libfabric.so.1"
#define MODES (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)
#define COMPLETIONS 1024u

typedef struct ofi_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int code);
} ofi_library;

typedef struct ofi_end {
    const struct tern_ofi *of;
    struct fi_info *info;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *completions;
    struct fid_ep *endpoint;
    uint64_t next_rkey;
} ofi_end;

/* The content of a post's context. */
typedef struct ofi_context {
    struct fi_context2 fi; /* for libfabric */
    struct fid_mr *local;  /* registered for this post alone; or NULL */
} ofi_context;
_Static_assert(sizeof(ofi_context) <= TERN_NETWORK_CONTEXT, "a context has room for it");

typedef struct tern_ofi {
    tern_network network; /* first */
    ofi_library fi;
    struct fi_info *info;
    struct fid_fabric *fabric;
    ofi_end end; /* where other ranks reach this process */
} tern_ofi;

static tern_ofi *ofi_of(tern_network *network) { return (tern_ofi *)(void *)network; }

/* The end that a handle stands for. */
static ofi_end *ofi_end_of(tern_network_end *handle) { return (ofi_end *)(void *)handle; }

static tern_status ofi_fail(const tern_ofi *ofi, const char *what, long code) {
    return tern_fail(TERN_ERR_NETWORK, "libfabric: %s: %s", what, ofi->fi.strerror((int)-code));
}

/* For each endpoint ofi_rxm allocates 90 MiB of buffers for messages, which tern never sends.
 * ofi_rxm reads this variable when libfabric is first used, so an MPI that has used libfabric
 * before keeps its own size. */
static void keep_buffers_small(void) { setenv("FI_OFI_RXM_BUFFER_SIZE", "1024", 0); }

static tern_status ofi_load(ofi_library *fi) {
    keep_buffers_small();
    const tern_symbol symbols[] = {{"fi_getinfo", &fi->getinfo},
                                   {"fi_freeinfo", &fi->freeinfo},
                                   {"fi_dupinfo", &fi->dupinfo},
                                   {"fi_fabric", &fi->fabric},
                                   {"fi_strerror", &fi->strerror}};
    return tern_library_load("ofi", LIBRARY, symbols, sizeof symbols / sizeof *symbols);
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

/* Gives a copy of the description of one card of first's provider: a card near this thread's
 * processors, otherwise first. list: the one that first is in. */
static int choose_card(const ofi_library *fi, const struct fi_info *list,
                       const struct fi_info *first, struct fi_info **info) {
    const char *provider = first->fabric_attr->prov_name;
    while (list != NULL && (strcmp(list->fabric_attr->prov_name, provider) != 0 ||
                            (list->nic == NULL) != (first->nic == NULL) || !is_near(list)))
        list = list->next;
    *info = fi->dupinfo(list != NULL ? list : first);
    return *info != NULL ? 0 : -FI_ENOMEM;
}

/* Lists the providers that have what tern needs. by_itself: and that make progress by themselves;
 * atomics: and that have atomics. */
static int list_providers(const ofi_library *fi, bool one_machine, bool by_itself, bool atomics,
                          struct fi_info **all) {
    struct fi_info *hints = fi->dupinfo(NULL);
    if (hints == NULL)
        return -FI_ENOMEM;
    hints->caps = FI_MSG | FI_RMA | (atomics ? FI_ATOMIC : 0);
    if (!one_machine)
        hints->caps |= FI_REMOTE_COMM;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = MODES;
    /* A provider that makes progress by itself uses a thread of its own. */
    hints->domain_attr->threading = by_itself ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = by_itself ? FI_PROGRESS_AUTO : FI_PROGRESS_UNSPEC;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    const int code = fi->getinfo(VERSION, NULL, NULL, 0, hints, all);
    fi->freeinfo(hints);
    return code;
}

/* Returns the first description of a card whose maker wrote the provider for it, or NULL. */
static const struct fi_info *find_own_card(const struct fi_info *list) {
    static const char *const providers[] = {"cxi", "efa", "psm3", "opx"};
    for (; list != NULL; list = list->next)
        for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
            if (strcmp(list->fabric_attr->prov_name, providers[i]) == 0 && list->nic != NULL)
                return list;
    return NULL;
}

/* Finds a provider: one of a card's maker, otherwise any. Most of the makers' providers make
 * progress in calls alone; TCP, which makes it by itself, is a poor use of such a card. Among
 * equals those with atomics come first, since tcp with ofi_rxm (1.17) completes nothing if a
 * program does not ask for atomics. Then come those that make progress by themselves. */
static int find_provider(const ofi_library *fi, bool one_machine, struct fi_info **info) {
    struct fi_info *lists[4] = {NULL};
    const struct fi_info *list = NULL, *first = NULL;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        code = list_providers(fi, one_machine, i % 2 == 0, i < 2, &lists[i]);
        if (code != 0)
            lists[i] = NULL;
    }
    for (int i = 0; i < 4 && first == NULL; i++)
        first = find_own_card(list = lists[i]);
    for (int i = 0; i < 4 && first == NULL; i++)
        first = list = lists[i];
    if (first != NULL)
        code = choose_card(fi, list, first, info);
    for (int i = 0; i < 4; i++)
        if (lists[i] != NULL)
            fi->freeinfo(lists[i]);
    return code;
}

static void end_close(ofi_end *end) {
    struct fid *const parts[] = {(struct fid *)end->endpoint, (struct fid *)end->completions,
                                 (struct fid *)end->addresses, (struct fid *)end->domain};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] != NULL)
            fi_close(parts[i]);
    if (end->info != NULL)
        end->of->fi.freeinfo(end->info);
    *end = (ofi_end){.of = end->of};
}

static int end_make(ofi_end *end, const char **what) {
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .size = COMPLETIONS};
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    int code = fi_domain(end->of->fabric, end->info, &end->domain, NULL);
    *what = "fi_domain";
    if (code == 0)
        *what = "fi_cq_open", code = fi_cq_open(end->domain, &cq, &end->completions, NULL);
    if (code == 0)
        *what = "fi_av_open", code = fi_av_open(end->domain, &av, &end->addresses, NULL);
    if (code == 0)
        *what = "fi_endpoint", code = fi_endpoint(end->domain, end->info, &end->endpoint, NULL);
    if (code == 0)
        *what = "fi_ep_bind",
        code = fi_ep_bind(end->endpoint, &end->completions->fid, FI_TRANSMIT | FI_RECV);
    if (code == 0)
        code = fi_ep_bind(end->endpoint, &end->addresses->fid, 0);
    if (code == 0)
        *what = "fi_enable", code = fi_enable(end->endpoint);
    return code;
}

/* If the provider lets tern choose the rkeys, any process that knows an rkey and reaches the
 * endpoint can use the memory. So the first rkey is random, if rkeys have 64 bits. */
static uint64_t first_rkey(const struct fi_domain_attr *domain) {
    uint64_t rkey = 0;
    if ((domain->mr_mode & FI_MR_PROV_KEY) == 0 && domain->mr_key_size >= sizeof rkey &&
        getrandom(&rkey, sizeof rkey, 0) == (ssize_t)sizeof rkey)
        return rkey >> 1; /* later ones are larger */
    return 0;
}

static tern_status end_open(const tern_ofi *ofi, ofi_end *end) {
    const char *what = "fi_dupinfo";
    *end = (ofi_end){.of = ofi, .info = ofi->fi.dupinfo(ofi->info)};
    int code = -FI_ENOMEM;
    if (end->info != NULL)
        code = end_make(end, &what);
    if (code == 0) {
        end->next_rkey = first_rkey(end->info->domain_attr);
        return TERN_OK;
    }
    end_close(end);
    return tern_fail(TERN_ERR_NETWORK,
                     "libfabric: %s of %s: %s; FI_PROVIDER names another provider", what,
                     ofi->info->fabric_attr->prov_name, ofi->fi.strerror(-code));
}

static void ofi_close(tern_network *network) {
    tern_ofi *ofi = ofi_of(network);
    end_close(&ofi->end);
    if (ofi->fabric != NULL)
        fi_close(&ofi->fabric->fid);
    if (ofi->info != NULL)
        ofi->fi.freeinfo(ofi->info);
    pthread_mutex_destroy(&network->lock);
    free(ofi);
}

static bool ofi_has_atomics(const ofi_end *end, enum fi_datatype type) {
    size_t count = 0;
    return (end->info->caps & FI_ATOMIC) != 0 &&
           fi_fetch_atomicvalid(end->endpoint, type, FI_SUM, &count) == 0 && count > 0 &&
           fi_compare_atomicvalid(end->endpoint, type, FI_CSWAP, &count) == 0 && count > 0;
}

static tern_status ofi_open(const tern_network_options *options, tern_network **network) {
    tern_ofi *ofi = calloc(1, sizeof *ofi);
    if (ofi == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a network");
    pthread_mutex_init(&ofi->network.lock, NULL);
    ofi->network.ops = &tern_network_ofi;
    tern_status status = ofi_load(&ofi->fi);
    int code = status == TERN_OK ? find_provider(&ofi->fi, options->one_machine, &ofi->info) : 0;
    if (code != 0)
        status = tern_fail(TERN_ERR_UNSUPPORTED,
                           "ofi: libfabric has no provider with remote memory here (%s); "
                           "FI_PROVIDER may exclude it, and fi_info lists what there is",
                           ofi->fi.strerror(-code));
    if (status == TERN_OK &&
        (code = ofi->fi.fabric(ofi->info->fabric_attr, &ofi->fabric, NULL)) != 0)
        status = ofi_fail(ofi, "fi_fabric", code);
    if (status == TERN_OK)
        status = end_open(ofi, &ofi->end);
    if (status != TERN_OK) {
        ofi_close(&ofi->network);
        return status;
    }
    ofi->network.name = ofi->info->fabric_attr->prov_name;
    ofi->network.card = ofi->info->domain_attr->name;
    ofi->network.one_sided = ofi->info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    ofi->network.local_memory = (ofi->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    ofi->network.says_ordered =
        (ofi->info->tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) != 0;
    ofi->network.has_atomics = ofi_has_atomics(&ofi->end, FI_UINT64);
    ofi->network.has_narrow = ofi_has_atomics(&ofi->end, FI_UINT32);
    ofi->network.inline_max = ofi->info->tx_attr->inject_size;
    ofi->network.post_max = ofi->info->ep_attr->max_msg_size;
    *network = &ofi->network;
    return TERN_OK;
}

/* Answers with the endpoint's name. An origin needs no more, so the offer is ignored. */
static tern_status ofi_welcome(tern_network *network, uint64_t from, const tern_network_name *offer,
                               tern_network_name *name) {
    const tern_ofi *ofi = ofi_of(network);
    (void)from, (void)offer;
    size_t bytes = sizeof name->text;
    int code = fi_getname(&ofi->end.endpoint->fid, name->text, &bytes);
    if (code != 0)
        return ofi_fail(ofi, "fi_getname", code);
    name->bytes = bytes;
    return TERN_OK;
}

static tern_status ofi_register(ofi_end *end, const void *base, size_t bytes, uint64_t access,
                                struct fid_mr **mr) {
    int code = fi_mr_reg(end->domain, base, bytes, access, 0, ++end->next_rkey, 0, mr, NULL);
    if (code == 0 && (end->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        code = fi_mr_bind(*mr, &end->endpoint->fid, 0);
        if (code == 0)
            code = fi_mr_enable(*mr);
        if (code != 0)
            fi_close(&(*mr)->fid);
    }
    return code == 0 ? TERN_OK
                     : tern_fail(TERN_ERR_MEMORY,
                                 "libfabric cannot register %zu bytes: %s; is RLIMIT_MEMLOCK "
                                 "(ulimit -l) too low?",
                                 bytes, end->of->fi.strerror(-code));
}

static tern_status ofi_add_memory(tern_network *network, void *base, size_t bytes,
                                  tern_network_memory **memory, tern_network_rkey *rkey) {
    tern_ofi *ofi = ofi_of(network);
    struct fid_mr *mr = NULL;
    tern_status status =
        ofi_register(&ofi->end, base, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, &mr);
    if (status != TERN_OK)
        return status;
    const bool by_address = (ofi->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    *memory = (tern_network_memory *)(void *)mr;
    *rkey = (tern_network_rkey){fi_mr_key(mr), by_address ? (uintptr_t)base : 0};
    return TERN_OK;
}

static tern_status ofi_add_local(tern_network_end *handle, void *base, size_t bytes,
                                 tern_network_memory **memory) {
    ofi_end *end = ofi_end_of(handle);
    struct fid_mr *mr = NULL;
    tern_status status = ofi_register(end, base, bytes, FI_READ | FI_WRITE, &mr);
    *memory = (tern_network_memory *)(void *)mr;
    return status;
}

static void ofi_remove_memory(tern_network *network, tern_network_memory *memory) {
    (void)network;
    fi_close(&((struct fid_mr *)(void *)memory)->fid);
}

/* Reads the completions. This end has none, but reading drives the endpoint. */
static void ofi_progress(tern_network *network) {
    struct fid_cq *completions = ofi_of(network)->end.completions;
    struct fi_cq_entry none;
    struct fi_cq_err_entry failed = {0};
    if (fi_cq_read(completions, &none, 1) == -FI_EAVAIL)
        (void)fi_cq_readerr(completions, &failed, 0); /* an unread error blocks the queue */
}

static tern_status ofi_open_end(tern_network *network, tern_network_end **end) {
    ofi_end *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a port");
    tern_status status = end_open(ofi_of(network), fresh);
    if (status != TERN_OK)
        free(fresh);
    else
        *end = (tern_network_end *)(void *)fresh;
    return status;
}

static void ofi_close_end(tern_network_end *handle) {
    ofi_end *end = ofi_end_of(handle);
    end_close(end);
    free(end);
}

static tern_status ofi_offer(tern_network_end *handle, uint64_t *peer, tern_network_name *offer) {
    ofi_end *end = ofi_end_of(handle);
    (void)end;
    *peer = FI_ADDR_UNSPEC;
    *offer = (tern_network_name){.bytes = 1};
    return TERN_OK;
}

static tern_status ofi_reach(tern_network_end *handle, const tern_network_name *name,
                             uint64_t *peer) {
    ofi_end *end = ofi_end_of(handle);
    fi_addr_t address;
    int code = fi_av_insert(end->addresses, name->text, 1, &address, 0, NULL);
    if (code != 1)
        return ofi_fail(end->of, "fi_av_insert", code < 0 ? code : -FI_EINVAL);
    *peer = address;
    return TERN_OK;
}

static ssize_t ofi_start(ofi_end *end, const tern_network_post *post, uint64_t remote, void *desc) {
    tern_network_words *words = post->here;
    struct fid_ep *endpoint = end->endpoint;
    const enum fi_datatype type = post->bytes == 4 ? FI_UINT32 : FI_UINT64;
    switch (post->act) {
    case TERN_NETWORK_WRITE:
        return fi_write(endpoint, post->here, post->bytes, desc, post->peer, remote,
                        post->there.rkey, post->context);
    case TERN_NETWORK_ADD:
        return fi_fetch_atomic(endpoint, &words->operand, 1, desc, &words->old, desc, post->peer,
                               remote, post->there.rkey, type, FI_SUM, post->context);
    case TERN_NETWORK_CAS:
        return fi_compare_atomic(endpoint, &words->operand, 1, desc, &words->expected, desc,
                                 &words->old, desc, post->peer, remote, post->there.rkey, type,
                                 FI_CSWAP, post->context);
    case TERN_NETWORK_READ:
        break;
    }
    return fi_read(endpoint, post->here, post->bytes, desc, post->peer, remote, post->there.rkey,
                   post->context);
}

static tern_status ofi_post(tern_network_end *handle, const tern_network_post *post) {
    ofi_end *end = ofi_end_of(handle);
    const uint64_t remote = post->there.base + post->offset;
    ofi_context *context = post->context;
    struct fid_mr *local = (struct fid_mr *)(void *)post->local;
    context->local = NULL;
    if (local == NULL && end->of->network.local_memory) {
        tern_status status = ofi_register(end, post->here, post->bytes, FI_READ | FI_WRITE, &local);
        if (status != TERN_OK)
            return status;
        context->local = local;
    }
    void *desc = local == NULL ? NULL : fi_mr_desc(local);
    const ssize_t code = ofi_start(end, post, remote, desc);
    if (code == 0)
        return TERN_OK;
    if (context->local != NULL)
        fi_close(&context->local->fid);
    return code == -FI_EAGAIN ? TERN_ERR_AGAIN : ofi_fail(end->of, "starting an operation", code);
}

static tern_network_done ofi_done(ofi_context *context, tern_status status) {
    if (context->local != NULL)
        fi_close(&context->local->fid);
    return (tern_network_done){context, status};
}

static size_t ofi_complete(tern_network_end *handle, tern_network_done *done, size_t most) {
    ofi_end *end = ofi_end_of(handle);
    struct fi_cq_entry entry[16];
    const size_t room = sizeof entry / sizeof *entry;
    const ssize_t count = fi_cq_read(end->completions, entry, most < room ? most : room);
    for (ssize_t i = 0; i < count; i++)
        done[i] = ofi_done(entry[i].op_context, TERN_OK);
    if (count != -FI_EAVAIL)
        return count > 0 ? (size_t)count : 0;
    struct fi_cq_err_entry failed = {0};
    /* Some errors belong to no operation. */
    if (fi_cq_readerr(end->completions, &failed, 0) != 1 || failed.op_context == NULL)
        return 0;
    done[0] = ofi_done(failed.op_context, TERN_ERR_NETWORK);
    return 1;
}

const tern_network_ops tern_network_ofi = {
    .open = ofi_open,
    .close = ofi_close,
    .welcome = ofi_welcome,
    .add_memory = ofi_add_memory,
    .remove_memory = ofi_remove_memory,
    .progress = ofi_progress,
    .open_end = ofi_open_end,
    .close_end = ofi_close_end,
    .add_local = ofi_add_local,
    .offer = ofi_offer,
    .reach = ofi_reach,
    .post = ofi_post,
    .complete = ofi_complete,
};
