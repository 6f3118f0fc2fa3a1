/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "fabric.h"

#ifdef TERN_HAVE_OFI

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNDER_WAY = 64, FLAG = 0, DATA = 64 }; /* offsets of the word that ends, and of data */

struct ceiling_fabric {
    MPI_Comm comm;
    int other;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *completions;
    struct fid_ep *endpoint;
    struct fid_mr *memory;
    fi_addr_t peer;
    uint64_t key, base;  /* of the other side */
    uint64_t count;      /* each side has its own */
    char *here, *source; /* the other side writes to here; this side writes from source */
    size_t bytes;        /* of each */
    uint64_t under_way;
    void *unused[UNDER_WAY]; /* contexts, as many as are not under way */
    struct fi_context2 context[UNDER_WAY];
};

static void stop(const char *call, long code) {
    fprintf(stderr, "tern-bench: %s: %s\n", call, fi_strerror((int)-code));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define FI(call)                                                                                   \
    do {                                                                                           \
        const long fi_code = (call);                                                               \
        if (fi_code < 0)                                                                           \
            stop(#call, fi_code);                                                                  \
    } while (0)

/* The provider that tern takes, too: one that progresses by itself comes first. */
static struct fi_info *find_provider(void) {
    struct fi_info *info = NULL;
    for (int manual = 0; manual <= 1 && info == NULL; manual++) {
        struct fi_info *hints = fi_allocinfo();
        if (hints == NULL)
            return NULL;
        hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
        hints->mode = FI_CONTEXT | FI_CONTEXT2;
        hints->ep_attr->type = FI_EP_RDM;
        hints->domain_attr->mr_mode =
            FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
        hints->domain_attr->data_progress = manual ? FI_PROGRESS_UNSPEC : FI_PROGRESS_AUTO;
        hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
        if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) != 0)
            info = NULL;
        fi_freeinfo(hints);
    }
    return info;
}

static void open_endpoint(ceiling_fabric *fabric) {
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .size = 2 * UNDER_WAY};
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    FI(fi_fabric(fabric->info->fabric_attr, &fabric->fabric, NULL));
    FI(fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL));
    FI(fi_cq_open(fabric->domain, &cq, &fabric->completions, NULL));
    FI(fi_av_open(fabric->domain, &av, &fabric->addresses, NULL));
    FI(fi_endpoint(fabric->domain, fabric->info, &fabric->endpoint, NULL));
    FI(fi_ep_bind(fabric->endpoint, &fabric->completions->fid, FI_TRANSMIT | FI_RECV));
    FI(fi_ep_bind(fabric->endpoint, &fabric->addresses->fid, 0));
    FI(fi_enable(fabric->endpoint));
    FI(fi_mr_reg(fabric->domain, fabric->here, fabric->bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                 1, 0, &fabric->memory, NULL));
    if ((fabric->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        FI(fi_mr_bind(fabric->memory, &fabric->endpoint->fid, 0));
        FI(fi_mr_enable(fabric->memory));
    }
}

static char *make_memory(size_t bytes) {
    char *memory = aligned_alloc(DATA, bytes);
    if (memory == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(memory, 0, bytes);
    return memory;
}

ceiling_fabric *ceiling_fabric_open(MPI_Comm comm, int other, size_t most, const char **name) {
    struct {
        char text[128];
        uint64_t key, base;
    } mine = {{0}, 0, 0}, theirs;
    ceiling_fabric *fabric = calloc(1, sizeof *fabric);
    struct fi_info *info = fabric != NULL ? find_provider() : NULL;
    int here = info != NULL, both = 0;
    MPI_Allreduce(&here, &both, 1, MPI_INT, MPI_MIN, comm);
    if (!both) {
        if (info != NULL)
            fi_freeinfo(info);
        free(fabric);
        return NULL;
    }
    fabric->comm = comm;
    fabric->other = other;
    fabric->info = info;
    fabric->bytes = DATA + (most + DATA - 1) / DATA * DATA;
    fabric->here = make_memory(fabric->bytes);
    fabric->source = make_memory(fabric->bytes);
    for (size_t i = 0; i < UNDER_WAY; i++)
        fabric->unused[i] = &fabric->context[i];
    open_endpoint(fabric);
    size_t bytes = sizeof mine.text;
    FI(fi_getname(&fabric->endpoint->fid, mine.text, &bytes));
    mine.key = fi_mr_key(fabric->memory);
    mine.base = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)fabric->here : 0;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, other, 0, &theirs, sizeof theirs, MPI_BYTE, other, 0,
                 comm, MPI_STATUS_IGNORE);
    FI(fi_av_insert(fabric->addresses, theirs.text, 1, &fabric->peer, 0, NULL));
    fabric->key = theirs.key;
    fabric->base = theirs.base;
    *name = info->fabric_attr->prov_name;
    return fabric;
}

void ceiling_fabric_close(ceiling_fabric *fabric) {
    if (fabric == NULL)
        return;
    MPI_Barrier(fabric->comm);
    fi_close(&fabric->endpoint->fid);
    fi_close(&fabric->memory->fid);
    fi_close(&fabric->completions->fid);
    fi_close(&fabric->addresses->fid);
    fi_close(&fabric->domain->fid);
    fi_close(&fabric->fabric->fid);
    fi_freeinfo(fabric->info);
    free(fabric->here);
    free(fabric->source);
    free(fabric);
}

static void take_completions(ceiling_fabric *fabric) {
    struct fi_cq_entry entry[16];
    const ssize_t count = fi_cq_read(fabric->completions, entry, 16);
    if (count < 0 && count != -FI_EAGAIN)
        stop("fi_cq_read", count);
    for (ssize_t i = 0; i < count; i++)
        fabric->unused[UNDER_WAY - fabric->under_way--] = entry[i].op_context;
}

static void land(ceiling_fabric *fabric) {
    while (fabric->under_way > 0)
        take_completions(fabric);
}

static ssize_t start(ceiling_fabric *fabric, int is_write, uint64_t at, uint64_t bytes,
                     void *context) {
    const uint64_t there = fabric->base + at;
    return is_write ? fi_write(fabric->endpoint, fabric->source + at, bytes, NULL, fabric->peer,
                               there, fabric->key, context)
                    : fi_read(fabric->endpoint, fabric->source + at, bytes, NULL, fabric->peer,
                              there, fabric->key, context);
}

/* The context is the last unused one: a completion makes others unused, so each try takes it anew.
 */
static void post(ceiling_fabric *fabric, int is_write, uint64_t at, uint64_t bytes) {
    ssize_t code = -FI_EAGAIN;
    while (code == -FI_EAGAIN) {
        if (fabric->under_way < UNDER_WAY)
            code = start(fabric, is_write, at, bytes,
                         fabric->unused[UNDER_WAY - 1 - fabric->under_way]);
        if (code == -FI_EAGAIN)
            take_completions(fabric);
    }
    FI(code);
    fabric->under_way++;
}

/* The last word of [at, at + bytes), by which the other side knows that all of it is there. */
static uint64_t *last_word(char *memory, uint64_t at, uint64_t bytes) {
    return (uint64_t *)(void *)(memory + at + bytes - sizeof(uint64_t));
}

static void send_counted(ceiling_fabric *fabric, uint64_t at, uint64_t bytes) {
    land(fabric);
    *last_word(fabric->source, at, bytes) = fabric->count;
    post(fabric, 1, at, bytes);
}

static void await_counted(ceiling_fabric *fabric, uint64_t at, uint64_t bytes) {
    const uint64_t *word = last_word(fabric->here, at, bytes);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != fabric->count)
        take_completions(fabric);
}

void ceiling_fabric_ask(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        fabric->count++;
        send_counted(fabric, DATA, bytes);
        await_counted(fabric, DATA, bytes);
    }
}

void ceiling_fabric_answer(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        fabric->count++;
        await_counted(fabric, DATA, bytes);
        send_counted(fabric, DATA, bytes);
    }
    land(fabric);
}

/* The word that ends the target's part. */
static void end_operations(ceiling_fabric *fabric) {
    fabric->count++;
    send_counted(fabric, FLAG, sizeof(uint64_t));
    land(fabric);
}

void ceiling_fabric_write(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        post(fabric, 1, DATA, bytes);
        land(fabric);
    }
    end_operations(fabric);
}

void ceiling_fabric_read(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        post(fabric, 0, DATA, bytes);
        land(fabric);
    }
    end_operations(fabric);
}

void ceiling_fabric_stream(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    while (n-- > 0)
        post(fabric, 1, DATA, bytes);
    land(fabric);
    end_operations(fabric);
}

void ceiling_fabric_attend(ceiling_fabric *fabric) {
    fabric->count++;
    await_counted(fabric, FLAG, sizeof(uint64_t));
}

#else

/* Built without libfabric. */

#include <stddef.h>

ceiling_fabric *ceiling_fabric_open(MPI_Comm comm, int other, size_t most, const char **name) {
    (void)comm, (void)other, (void)most, (void)name;
    return NULL;
}

void ceiling_fabric_close(ceiling_fabric *fabric) { (void)fabric; }
void ceiling_fabric_ask(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    (void)fabric, (void)bytes, (void)n;
}
void ceiling_fabric_answer(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    (void)fabric, (void)bytes, (void)n;
}
void ceiling_fabric_write(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    (void)fabric, (void)bytes, (void)n;
}
void ceiling_fabric_read(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    (void)fabric, (void)bytes, (void)n;
}
void ceiling_fabric_stream(ceiling_fabric *fabric, uint64_t bytes, uint64_t n) {
    (void)fabric, (void)bytes, (void)n;
}
void ceiling_fabric_attend(ceiling_fabric *fabric) { (void)fabric; }

#endif
