#include "rma/network/ofi.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/error.h"

/* The ends of ofi: how they are opened, register memory, and post and complete operations. */

#define COMPLETIONS 1024u

/* The content of a post's context. */
typedef struct ofi_context {
    struct fi_context2 fi; /* for libfabric */
    struct fid_mr *local;  /* registered for this post alone; or NULL */
} ofi_context;
_Static_assert(sizeof(ofi_context) <= TERN_NETWORK_CONTEXT, "a context has room for it");

tern_status tern_ofi_fail(const tern_ofi *ofi, const char *what, long code) {
    return tern_fail(TERN_ERR_NETWORK, "libfabric: %s: %s", what, ofi->fi.strerror((int)-code));
}

void tern_ofi_end_close(tern_ofi_end *end) {
    struct fid *const parts[] = {(struct fid *)end->endpoint, (struct fid *)end->completions,
                                 (struct fid *)end->addresses, (struct fid *)end->domain};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] != NULL)
            fi_close(parts[i]);
    if (end->info != NULL)
        end->ofi->fi.freeinfo(end->info);
    *end = (tern_ofi_end){.ofi = end->ofi};
}

/* A provider that has no queue of that size chooses one. While it is full, posts wait
 * (FI_RM_ENABLED). */
static int open_completions(tern_ofi_end *end, bool waits) {
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT,
                            .size = COMPLETIONS,
                            .wait_obj = waits ? FI_WAIT_FD : FI_WAIT_NONE};
    const int code = fi_cq_open(end->domain, &cq, &end->completions, NULL);
    cq.size = 0;
    return code == -FI_EINVAL ? fi_cq_open(end->domain, &cq, &end->completions, NULL) : code;
}

static int end_make(tern_ofi_end *end, bool waits, const char **what) {
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    int code = fi_domain(end->ofi->fabric, end->info, &end->domain, NULL);
    *what = "fi_domain";
    if (code == 0)
        *what = "fi_cq_open", code = open_completions(end, waits);
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

tern_status tern_ofi_end_open(const tern_ofi *ofi, bool waits, tern_ofi_end *end) {
    const char *what = "fi_dupinfo";
    *end = (tern_ofi_end){.ofi = ofi, .info = ofi->fi.dupinfo(ofi->info)};
    int code = -FI_ENOMEM;
    if (end->info != NULL)
        code = end_make(end, waits, &what);
    if (code == 0) {
        end->next_rkey = first_rkey(end->info->domain_attr);
        return TERN_OK;
    }
    tern_ofi_end_close(end);
    return tern_fail(TERN_ERR_NETWORK,
                     "libfabric: %s of %s: %s; FI_PROVIDER names another provider", what,
                     ofi->info->fabric_attr->prov_name, ofi->fi.strerror(-code));
}

tern_status tern_ofi_register(tern_ofi_end *end, const void *base, size_t bytes, uint64_t access,
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
                                 bytes, end->ofi->fi.strerror(-code));
}

tern_status tern_ofi_add_local(tern_network_end *handle, void *base, size_t bytes,
                               tern_network_memory **memory) {
    tern_ofi_end *end = tern_ofi_end_of(handle);
    struct fid_mr *mr = NULL;
    tern_status status = tern_ofi_register(end, base, bytes, FI_READ | FI_WRITE, &mr);
    *memory = (tern_network_memory *)(void *)mr;
    return status;
}

tern_status tern_ofi_offer(tern_network_end *handle, uint64_t *peer, tern_network_name *offer) {
    tern_ofi_end *end = tern_ofi_end_of(handle);
    (void)end;
    *peer = FI_ADDR_UNSPEC;
    *offer = (tern_network_name){.bytes = 1};
    return TERN_OK;
}

tern_status tern_ofi_reach(tern_network_end *handle, const tern_network_name *name,
                           uint64_t *peer) {
    tern_ofi_end *end = tern_ofi_end_of(handle);
    fi_addr_t address;
    int code = fi_av_insert(end->addresses, name->text, 1, &address, 0, NULL);
    if (code != 1)
        return tern_ofi_fail(end->ofi, "fi_av_insert", code < 0 ? code : -FI_EINVAL);
    *peer = address;
    return TERN_OK;
}

static ssize_t ofi_start(tern_ofi_end *end, const tern_network_post *post, uint64_t remote,
                         void *desc) {
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

static bool is_atomic(const tern_network_post *post) {
    return post->act == TERN_NETWORK_ADD || post->act == TERN_NETWORK_CAS;
}

tern_status tern_ofi_post(tern_network_end *handle, const tern_network_post *post) {
    tern_ofi_end *end = tern_ofi_end_of(handle);
    const uint64_t remote = post->there.base + post->offset;
    ofi_context *context = post->context;
    struct fid_mr *local = (struct fid_mr *)(void *)post->local;
    context->local = NULL;
    if (local == NULL && end->ofi->network.local_memory) {
        const size_t bytes = is_atomic(post) ? sizeof(tern_network_words) : post->bytes;
        tern_status status = tern_ofi_register(end, post->here, bytes, FI_READ | FI_WRITE, &local);
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
    return code == -FI_EAGAIN ? TERN_ERR_AGAIN
                              : tern_ofi_fail(end->ofi, "starting an operation", code);
}

static tern_network_done ofi_done(ofi_context *context, tern_status status) {
    if (context->local != NULL)
        fi_close(&context->local->fid);
    return (tern_network_done){context, status};
}

size_t tern_ofi_complete(tern_network_end *handle, tern_network_done *done, size_t most) {
    tern_ofi_end *end = tern_ofi_end_of(handle);
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
