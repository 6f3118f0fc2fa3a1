#ifndef TERN_TESTS_HARNESS_PLAYED_OFI_H
#define TERN_TESTS_HARNESS_PLAYED_OFI_H

/*
 * A provider of libfabric that one process plays: it moves data at the post, and completes at the
 * next read of the queue. It demands what the test sets (mode bits, sizes of keys and queues) and
 * counts in `played.broken` each call that does not keep to its demands. It has no functions for
 * vectors, messages with flags and inject, so a call of one of these is a crash. All its ends lie
 * in one process, so the only address is 0.
 */

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { PLAYED_MEMORY = 64, PLAYED_QUEUE = 64 };

typedef struct played_domain {
    struct fid_domain fid; /* first */
    struct fi_ops_mr mr;
} played_domain;

typedef struct played_end {
    struct fid_ep fid; /* first */
    played_domain *domain;
    void *done[PLAYED_QUEUE]; /* contexts of completed operations */
    size_t count;
} played_end;

typedef struct played_memory {
    struct fid_mr fid; /* first */
    played_domain *domain;
    char *base;
    size_t bytes;
    uint64_t access;
    bool open, bound, enabled;
} played_memory;

static struct {
    uint64_t mode;    /* demands of fi_info.mode */
    int memory_mode;  /* and of domain_attr.mr_mode */
    size_t key_bytes; /* of an rkey */
    size_t post_max;  /* bytes of an operation */
    size_t sends;     /* operations of an end at a time */
    size_t entries;   /* the largest size of a completion queue that may be asked for */
    bool by_calls;    /* it makes progress in calls alone */
    bool no_wait;     /* it has no descriptor to sleep on */
    size_t failing;   /* so many first providers fail at fi_domain */
    size_t providers; /* "first", "second", ... */
    uint64_t broken;  /* calls that do not keep to the demands */
    uint64_t next_key;
    uint64_t moves;  /* operations */
    uint64_t full;   /* operations that found no room */
    bool took_calls; /* the open domain progresses in calls alone */
    char taken[16];  /* provider whose domain was opened last */
    played_memory memory[PLAYED_MEMORY];
} played;

static const char *const played_names[] = {"first", "second", "third"};

static struct fi_info *(*played_dupinfo)(const struct fi_info *info);

static bool played_demands(int bit) { return (played.memory_mode & bit) != 0; }

static int played_nothing(struct fid *fid) {
    (void)fid;
    return 0;
}

static int played_bind_nothing(struct fid *fid, struct fid *other, uint64_t flags) {
    (void)fid, (void)other, (void)flags;
    return 0;
}

static int played_control_nothing(struct fid *fid, int command, void *argument) {
    (void)fid, (void)argument;
    return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

/* Memory. */

static int played_memory_close(struct fid *fid) {
    played_memory *memory = (played_memory *)(void *)fid;
    played.broken += !memory->open;
    memory->open = false;
    return 0;
}

static int played_memory_bind(struct fid *fid, struct fid *other, uint64_t flags) {
    played_memory *memory = (played_memory *)(void *)fid;
    const played_end *end = (const played_end *)(const void *)other;
    (void)flags;
    played.broken += !played_demands(FI_MR_ENDPOINT) || end->domain != memory->domain;
    memory->bound = true;
    return 0;
}

static int played_memory_control(struct fid *fid, int command, void *argument) {
    played_memory *memory = (played_memory *)(void *)fid;
    (void)argument;
    played.broken += command != FI_ENABLE || !memory->bound;
    memory->enabled = true;
    return 0;
}

static struct fi_ops played_memory_ops = {.size = sizeof(struct fi_ops),
                                          .close = played_memory_close,
                                          .bind = played_memory_bind,
                                          .control = played_memory_control};

static int played_register(struct fid *fid, const void *base, size_t bytes, uint64_t access,
                           uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
                           void *context) {
    size_t i = 0;
    (void)context;
    played.broken += offset != 0 || flags != 0;
    while (i < PLAYED_MEMORY && played.memory[i].open)
        i++;
    if (i == PLAYED_MEMORY)
        return -FI_ENOMEM;
    played_memory *memory = &played.memory[i];
    *memory = (played_memory){.domain = (played_domain *)(void *)fid,
                              .base = (char *)(uintptr_t)base,
                              .bytes = bytes,
                              .access = access,
                              .open = true,
                              .bound = !played_demands(FI_MR_ENDPOINT),
                              .enabled = !played_demands(FI_MR_ENDPOINT)};
    memory->fid.fid.ops = &played_memory_ops;
    memory->fid.mem_desc = &memory->fid;
    memory->fid.key = played_demands(FI_MR_PROV_KEY) ? played.next_key += 7919 : key;
    *mr = &memory->fid;
    return 0;
}

/* Posts. */

/* The memory that an operation names there, or NULL. */
static char *played_there(uint64_t address, uint64_t key, size_t bytes, uint64_t access) {
    for (size_t i = 0; i < PLAYED_MEMORY; i++) {
        const played_memory *m = &played.memory[i];
        const uint64_t at =
            played_demands(FI_MR_VIRT_ADDR) ? address - (uintptr_t)m->base : address;
        if (m->open && m->enabled && m->fid.key == key && (m->access & access) == access &&
            at <= m->bytes && bytes <= m->bytes - at)
            return m->base + at;
    }
    return NULL;
}

/* Whether the descriptor covers memory of this process that an operation moves. */
static bool played_covers(const played_end *end, const void *desc, const void *here, size_t bytes) {
    const played_memory *m = desc;
    if (!played_demands(FI_MR_LOCAL))
        return true;
    return m != NULL && m->open && m->enabled && m->domain == end->domain &&
           (const char *)here >= m->base && (const char *)here + bytes <= m->base + m->bytes;
}

static bool played_is_full(const played_end *end) {
    const bool full = end->count >= played.sends;
    played.full += full;
    return full;
}

/* A provider may write into a context as long as the operation is under way. */
static ssize_t played_done(played_end *end, void *context) {
    played.broken += context == NULL;
    if (context != NULL && (played.mode & FI_CONTEXT2) != 0)
        memset(context, 0x5a, sizeof(struct fi_context2));
    else if (context != NULL && (played.mode & FI_CONTEXT) != 0)
        memset(context, 0x5a, sizeof(struct fi_context));
    end->done[end->count++] = context;
    played.moves++;
    return 0;
}

static ssize_t played_move(struct fid_ep *ep, void *here, size_t bytes, void *desc, fi_addr_t peer,
                           uint64_t address, uint64_t key, bool writes, void *context) {
    played_end *end = (played_end *)(void *)ep;
    char *there = played_there(address, key, bytes, writes ? FI_REMOTE_WRITE : FI_REMOTE_READ);
    if (played_is_full(end))
        return -FI_EAGAIN;
    played.broken += bytes > played.post_max || there == NULL || peer != 0 ||
                     !played_covers(end, desc, here, bytes);
    if (there != NULL)
        memcpy(writes ? there : here, writes ? here : there, bytes);
    return played_done(end, context);
}

static ssize_t played_read(struct fid_ep *ep, void *here, size_t bytes, void *desc, fi_addr_t peer,
                           uint64_t address, uint64_t key, void *context) {
    return played_move(ep, here, bytes, desc, peer, address, key, false, context);
}

static ssize_t played_write(struct fid_ep *ep, const void *here, size_t bytes, void *desc,
                            fi_addr_t peer, uint64_t address, uint64_t key, void *context) {
    return played_move(ep, (void *)(uintptr_t)here, bytes, desc, peer, address, key, true, context);
}

static ssize_t played_add(struct fid_ep *ep, const void *operand, size_t count, void *desc,
                          void *old, void *old_desc, fi_addr_t peer, uint64_t address, uint64_t key,
                          enum fi_datatype type, enum fi_op op, void *context) {
    played_end *end = (played_end *)(void *)ep;
    const size_t bytes = type == FI_UINT32 ? 4 : 8;
    char *there = played_there(address, key, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE);
    uint64_t word = 0, more = 0;
    if (played_is_full(end))
        return -FI_EAGAIN;
    played.broken += there == NULL || peer != 0 || count != 1 || op != FI_SUM ||
                     !played_covers(end, desc, operand, bytes) ||
                     !played_covers(end, old_desc, old, bytes);
    if (there != NULL) {
        memcpy(&word, there, bytes);
        memcpy(&more, operand, bytes);
        memcpy(old, &word, bytes);
        word += more;
        memcpy(there, &word, bytes);
    }
    return played_done(end, context);
}

static int played_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count) {
    (void)ep, (void)type, (void)op;
    *count = 1;
    return 0;
}

static struct fi_ops_rma played_rma = {
    .size = sizeof(struct fi_ops_rma), .read = played_read, .write = played_write};
static struct fi_ops_atomic played_atomic = {.size = sizeof(struct fi_ops_atomic),
                                             .readwrite = played_add,
                                             .readwritevalid = played_valid,
                                             .compwritevalid = played_valid};

/* Queues, addresses and ends. */

static ssize_t played_take(struct fid_cq *cq, void *buffer, size_t most) {
    played_end *end = cq->fid.context;
    struct fi_cq_entry *entries = buffer;
    size_t taken = 0;
    if (end == NULL)
        return -FI_EAGAIN;
    for (; taken < most && end->count > 0; taken++)
        entries[taken].op_context = end->done[--end->count];
    return taken > 0 ? (ssize_t)taken : -FI_EAGAIN;
}

static int played_insert(struct fid_av *av, const void *name, size_t count, fi_addr_t *address,
                         uint64_t flags, void *context) {
    (void)av, (void)flags, (void)context;
    played.broken += count != 1 || strcmp(name, "played") != 0;
    *address = 0;
    return 1;
}

static int played_getname(fid_t fid, void *name, size_t *bytes) {
    (void)fid;
    snprintf(name, *bytes, "played");
    *bytes = sizeof "played";
    return 0;
}

static struct fi_ops played_fid_ops = {.size = sizeof(struct fi_ops),
                                       .close = played_nothing,
                                       .bind = played_bind_nothing,
                                       .control = played_control_nothing};
static struct fi_ops_cq played_cq_ops = {.size = sizeof(struct fi_ops_cq), .read = played_take};
static struct fi_ops_av played_av_ops = {.size = sizeof(struct fi_ops_av), .insert = played_insert};
static struct fi_ops_cm played_cm_ops = {.size = sizeof(struct fi_ops_cm),
                                         .getname = played_getname};

static int played_free(struct fid *fid) {
    free(fid);
    return 0;
}

static struct fi_ops played_free_ops = {
    .size = sizeof(struct fi_ops), .close = played_free, .control = played_control_nothing};

static int played_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                          void *context) {
    (void)domain, (void)context;
    if (attr->size > played.entries)
        return -FI_EINVAL;
    if (attr->wait_obj != FI_WAIT_NONE && played.no_wait)
        return -FI_ENOSYS;
    *cq = calloc(1, sizeof **cq);
    CU_ASSERT_FATAL(*cq != NULL);
    (*cq)->fid.ops = &played_free_ops;
    (*cq)->ops = &played_cq_ops;
    return 0;
}

static int played_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                          void *context) {
    (void)domain, (void)attr, (void)context;
    *av = calloc(1, sizeof **av);
    CU_ASSERT_FATAL(*av != NULL);
    (*av)->fid.ops = &played_free_ops;
    (*av)->ops = &played_av_ops;
    return 0;
}

/* The queue that is bound to an end gets its completions. */
static int played_end_bind(struct fid *fid, struct fid *other, uint64_t flags) {
    if (flags != 0)
        other->context = fid;
    return 0;
}

static struct fi_ops played_end_ops = {.size = sizeof(struct fi_ops),
                                       .close = played_free,
                                       .bind = played_end_bind,
                                       .control = played_control_nothing};

static int played_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                           void *context) {
    (void)info, (void)context;
    played_end *end = calloc(1, sizeof *end);
    CU_ASSERT_FATAL(end != NULL);
    end->domain = (played_domain *)(void *)domain;
    end->fid.fid.ops = &played_end_ops;
    end->fid.cm = &played_cm_ops;
    end->fid.rma = &played_rma;
    end->fid.atomic = &played_atomic;
    *ep = &end->fid;
    return 0;
}

static struct fi_ops_domain played_domain_ops = {.size = sizeof(struct fi_ops_domain),
                                                 .cq_open = played_cq_open,
                                                 .av_open = played_av_open,
                                                 .endpoint = played_endpoint};

static int played_domain_open(struct fid_fabric *fabric, struct fi_info *info,
                              struct fid_domain **domain, void *context) {
    (void)fabric, (void)context;
    for (size_t i = 0; i < played.failing; i++)
        if (strcmp(info->fabric_attr->prov_name, played_names[i]) == 0)
            return -FI_ENODEV;
    played_domain *fresh = calloc(1, sizeof *fresh);
    CU_ASSERT_FATAL(fresh != NULL);
    fresh->fid.fid.ops = &played_free_ops;
    fresh->fid.ops = &played_domain_ops;
    fresh->mr = (struct fi_ops_mr){.size = sizeof(struct fi_ops_mr), .reg = played_register};
    fresh->fid.mr = &fresh->mr;
    played.took_calls = info->domain_attr->data_progress == FI_PROGRESS_MANUAL;
    snprintf(played.taken, sizeof played.taken, "%s", info->fabric_attr->prov_name);
    *domain = &fresh->fid;
    return 0;
}

static struct fi_ops_fabric played_fabric_ops = {.size = sizeof(struct fi_ops_fabric),
                                                 .domain = played_domain_open};

static int played_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context) {
    (void)attr, (void)context;
    static struct fid_fabric one = {.fid = {.ops = &played_fid_ops}, .ops = &played_fabric_ops};
    *fabric = &one;
    return 0;
}

static int played_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                          const struct fi_info *hints, struct fi_info **info) {
    (void)version, (void)node, (void)service, (void)flags;
    *info = NULL;
    if ((played.mode & ~hints->mode) != 0 ||
        (played.memory_mode & ~hints->domain_attr->mr_mode) != 0 ||
        (played.by_calls && hints->domain_attr->data_progress == FI_PROGRESS_AUTO))
        return -FI_ENODATA;
    for (size_t i = 0; i < played.providers; i++) {
        struct fi_info *one = played_dupinfo(NULL);
        CU_ASSERT_FATAL(one != NULL);
        one->fabric_attr->prov_name = strdup(played_names[i]);
        one->domain_attr->name = strdup("card");
        one->caps = hints->caps;
        one->mode = played.mode;
        one->domain_attr->mr_mode = played.memory_mode;
        one->domain_attr->mr_key_size = played.key_bytes;
        one->domain_attr->data_progress =
            played.by_calls || hints->domain_attr->data_progress == FI_PROGRESS_MANUAL
                ? FI_PROGRESS_MANUAL
                : FI_PROGRESS_AUTO;
        one->ep_attr->max_msg_size = played.post_max;
        one->tx_attr->size = played.sends;
        one->tx_attr->iov_limit = one->tx_attr->rma_iov_limit = 1;
        *info = one;
        info = &one->next;
    }
    return 0;
}

#endif
