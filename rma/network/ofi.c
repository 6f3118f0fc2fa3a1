#include "rma/network/ofi.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "src/log.h"

#define REQUESTS_NS 20000000u /* time in which requests for connections are read at the end */

static tern_ofi *ofi_of(tern_network *network) { return (tern_ofi *)(void *)network; }

/* Reads the completions. This end has none, but reading drives the endpoint. */
static void ofi_progress(tern_network *network) {
    struct fid_cq *completions = ofi_of(network)->end.completions;
    struct fi_cq_entry none;
    struct fi_cq_err_entry failed = {0};
    if (fi_cq_read(completions, &none, 1) == -FI_EAVAIL)
        (void)fi_cq_readerr(completions, &failed, 0); /* an unread error blocks the queue */
}

/* An endpoint of ofi_rxm (1.17) that is closed leaks the socket of a connection whose request it
 * has not read. It looks for requests every 10 ms. */
static void read_requests(tern_ofi *ofi) {
    /* R4 */
    if (atomic_load_explicit(&ofi->network.welcomed, memory_order_relaxed) == 0)
        return;
    for (const uint64_t end = tern_now() + REQUESTS_NS; tern_now() < end;)
        ofi_progress(&ofi->network);
}

/* Leaves the provider. */
static void leave_provider(tern_ofi *ofi) {
    tern_helper_stop(ofi->helper);
    if (ofi->helper != NULL)
        read_requests(ofi);
    ofi->helper = NULL;
    ofi->network.helped = false;
    tern_ofi_end_close(&ofi->end);
    if (ofi->fabric != NULL)
        fi_close(&ofi->fabric->fid);
    ofi->fabric = NULL;
    if (ofi->info != NULL)
        ofi->fi.freeinfo(ofi->info);
    ofi->info = NULL;
}

static void ofi_close(tern_network *network) {
    tern_ofi *ofi = ofi_of(network);
    leave_provider(ofi);
    pthread_mutex_destroy(&network->lock);
    free(ofi);
}

static bool ofi_has_atomics(const tern_ofi_end *end, enum fi_datatype type) {
    size_t count = 0;
    return (end->info->caps & FI_ATOMIC) != 0 &&
           fi_fetch_atomicvalid(end->endpoint, type, FI_SUM, &count) == 0 && count > 0 &&
           fi_compare_atomicvalid(end->endpoint, type, FI_CSWAP, &count) == 0 && count > 0;
}

static void describe(tern_ofi *ofi) {
    tern_network *network = &ofi->network;
    const struct fi_info *info = ofi->info;
    network->name = info->fabric_attr->prov_name;
    network->card = info->domain_attr->name;
    network->one_sided = info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    network->local_memory = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    network->says_ordered = (info->tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) != 0;
    network->has_atomics = ofi_has_atomics(&ofi->end, FI_UINT64);
    network->has_narrow = ofi_has_atomics(&ofi->end, FI_UINT32);
    network->inline_max = info->tx_attr->inject_size;
    network->post_max = info->ep_attr->max_msg_size;
}

/* Takes the provider that info describes. info: belongs to ofi from now on; NULL: no memory.
 * waits: there must be a descriptor to sleep on. */
static tern_status take_provider(tern_ofi *ofi, struct fi_info *info, bool waits) {
    if (info == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a network");
    ofi->info = info;
    const int code = ofi->fi.fabric(info->fabric_attr, &ofi->fabric, NULL);
    tern_status status = code == 0 ? tern_ofi_end_open(ofi, waits, &ofi->end)
                                   : tern_ofi_fail(ofi, "fi_fabric", code);
    if (status == TERN_OK)
        describe(ofi);
    else
        leave_provider(ofi);
    return status;
}

/* Whether nothing is left to do until the descriptor is readable. The lock is held. */
static bool ofi_may_sleep(tern_network *network) {
    tern_ofi *ofi = ofi_of(network);
    struct fid *completions = &ofi->end.completions->fid;
    return fi_trywait(ofi->fabric, &completions, 1) == 0;
}

/* Takes the provider with progress by calls and a helper. That is faster than the provider's own
 * progress, where no worker polls and a thread has to wake up for each packet. False: it is not
 * possible. */
static bool take_with_helper(tern_ofi *ofi, const struct fi_info *listed, bool one_machine) {
    struct fi_info *info = tern_ofi_by_calls(&ofi->fi, listed, one_machine);
    int descriptor = -1;
    if (info == NULL)
        return false;
    if (take_provider(ofi, info, true) == TERN_OK &&
        fi_control(&ofi->end.completions->fid, FI_GETWAIT, &descriptor) == 0 && descriptor >= 0)
        ofi->helper = tern_helper_start(&ofi->network, descriptor, ofi_may_sleep);
    if (ofi->helper == NULL) {
        leave_provider(ofi);
        tern_error_clear();
        return false;
    }
    ofi->network.one_sided = ofi->network.helped = true;
    return true;
}

static tern_status no_helper(void) {
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "TERN_OFI_PROGRESS=manual needs a thread (MPI_THREAD_FUNNELED or more) and a "
                     "provider with a descriptor to sleep on (FI_WAIT_FD); use auto");
}

/* Takes the first provider of the list that works. */
static tern_status take_first(tern_ofi *ofi, const struct fi_info *list,
                              const tern_network_options *options) {
    tern_status status = TERN_ERR_UNSUPPORTED;
    for (; list != NULL && status != TERN_OK; list = list->next) {
        if (options->threads && options->progress != TERN_OFI_PROGRESS_AUTOMATIC &&
            take_with_helper(ofi, list, options->one_machine))
            return TERN_OK;
        status = options->progress == TERN_OFI_PROGRESS_MANUAL
                     ? no_helper()
                     : take_provider(ofi, ofi->fi.dupinfo(list), false);
        if (status != TERN_OK && list->next != NULL)
            tern_log(TERN_LOG_WARN, "%s; the next provider is tried", tern_error_detail());
    }
    return status;
}

static tern_status ofi_open(const tern_network_options *options, tern_network **network) {
    tern_ofi *ofi = calloc(1, sizeof *ofi);
    if (ofi == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a network");
    pthread_mutex_init(&ofi->network.lock, NULL);
    ofi->network.ops = &tern_network_ofi;
    struct fi_info *list = NULL;
    tern_status status = tern_ofi_load(&ofi->fi);
    if (status == TERN_OK)
        status = tern_ofi_list(&ofi->fi, options->one_machine,
                               options->progress == TERN_OFI_PROGRESS_AUTOMATIC, &list);
    if (status == TERN_OK)
        status = take_first(ofi, list, options);
    if (list != NULL)
        ofi->fi.freeinfo(list);
    if (status == TERN_OK)
        *network = &ofi->network;
    else
        ofi_close(&ofi->network);
    return status;
}

/* Answers with the endpoint's name. An origin needs no more, so the offer is ignored. */
static tern_status ofi_welcome(tern_network *network, uint64_t from, const tern_network_name *offer,
                               tern_network_name *name) {
    const tern_ofi *ofi = ofi_of(network);
    (void)from, (void)offer;
    size_t bytes = sizeof name->text;
    int code = fi_getname(&ofi->end.endpoint->fid, name->text, &bytes);
    if (code != 0)
        return tern_ofi_fail(ofi, "fi_getname", code);
    name->bytes = bytes;
    return TERN_OK;
}

static tern_status ofi_add_memory(tern_network *network, void *base, size_t bytes,
                                  tern_network_memory **memory, tern_network_rkey *rkey) {
    tern_ofi *ofi = ofi_of(network);
    struct fid_mr *mr = NULL;
    tern_status status =
        tern_ofi_register(&ofi->end, base, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, &mr);
    if (status != TERN_OK)
        return status;
    const bool by_address = (ofi->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    *memory = (tern_network_memory *)(void *)mr;
    *rkey = (tern_network_rkey){fi_mr_key(mr), by_address ? (uintptr_t)base : 0};
    return TERN_OK;
}

static void ofi_remove_memory(tern_network *network, tern_network_memory *memory) {
    (void)network;
    fi_close(&((struct fid_mr *)(void *)memory)->fid);
}

static tern_status ofi_open_end(tern_network *network, tern_network_end **end) {
    tern_ofi_end *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a port");
    tern_status status = tern_ofi_end_open(ofi_of(network), false, fresh);
    if (status != TERN_OK)
        free(fresh);
    else
        *end = (tern_network_end *)(void *)fresh;
    return status;
}

static void ofi_close_end(tern_network_end *handle) {
    tern_ofi_end *end = tern_ofi_end_of(handle);
    tern_ofi_end_close(end);
    free(end);
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
    .add_local = tern_ofi_add_local,
    .offer = tern_ofi_offer,
    .reach = tern_ofi_reach,
    .post = tern_ofi_post,
    .complete = tern_ofi_complete,
};
