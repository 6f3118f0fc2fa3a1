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

static void open_endpoint(ceiling_fabric *way) {
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .size = 2 * UNDER_WAY};
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    FI(fi_fabric(way->info->fabric_attr, &way->fabric, NULL));
    FI(fi_domain(way->fabric, way->info, &way->domain, NULL));
    FI(fi_cq_open(way->domain, &cq, &way->completions, NULL));
    FI(fi_av_open(way->domain, &av, &way->addresses, NULL));
    FI(fi_endpoint(way->domain, way->info, &way->endpoint, NULL));
    FI(fi_ep_bind(way->endpoint, &way->completions->fid, FI_TRANSMIT | FI_RECV));
    FI(fi_ep_bind(way->endpoint, &way->addresses->fid, 0));
    FI(fi_enable(way->endpoint));
    FI(fi_mr_reg(way->domain, way->here, way->bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0,
                 &way->memory, NULL));
    if ((way->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        FI(fi_mr_bind(way->memory, &way->endpoint->fid, 0));
        FI(fi_mr_enable(way->memory));
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
    ceiling_fabric *way = calloc(1, sizeof *way);
    struct fi_info *info = way != NULL ? find_provider() : NULL;
    int here = info != NULL, both = 0;
    MPI_Allreduce(&here, &both, 1, MPI_INT, MPI_MIN, comm);
    if (!both) {
        if (info != NULL)
            fi_freeinfo(info);
        free(way);
        return NULL;
    }
    way->comm = comm;
    way->other = other;
    way->info = info;
    way->bytes = DATA + (most + DATA - 1) / DATA * DATA;
    way->here = make_memory(way->bytes);
    way->source = make_memory(way->bytes);
    for (size_t i = 0; i < UNDER_WAY; i++)
        way->unused[i] = &way->context[i];
    open_endpoint(way);
    size_t bytes = sizeof mine.text;
    FI(fi_getname(&way->endpoint->fid, mine.text, &bytes));
    mine.key = fi_mr_key(way->memory);
    mine.base = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)way->here : 0;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, other, 0, &theirs, sizeof theirs, MPI_BYTE, other, 0,
                 comm, MPI_STATUS_IGNORE);
    FI(fi_av_insert(way->addresses, theirs.text, 1, &way->peer, 0, NULL));
    way->key = theirs.key;
    way->base = theirs.base;
    *name = info->fabric_attr->prov_name;
    return way;
}

void ceiling_fabric_close(ceiling_fabric *way) {
    if (way == NULL)
        return;
    MPI_Barrier(way->comm);
    fi_close(&way->endpoint->fid);
    fi_close(&way->memory->fid);
    fi_close(&way->completions->fid);
    fi_close(&way->addresses->fid);
    fi_close(&way->domain->fid);
    fi_close(&way->fabric->fid);
    fi_freeinfo(way->info);
    free(way->here);
    free(way->source);
    free(way);
}

static void take_completions(ceiling_fabric *way) {
    struct fi_cq_entry entry[16];
    const ssize_t count = fi_cq_read(way->completions, entry, 16);
    if (count < 0 && count != -FI_EAGAIN)
        stop("fi_cq_read", count);
    for (ssize_t i = 0; i < count; i++)
        way->unused[UNDER_WAY - way->under_way--] = entry[i].op_context;
}

static void land(ceiling_fabric *way) {
    while (way->under_way > 0)
        take_completions(way);
}

static void post(ceiling_fabric *way, int is_write, uint64_t at, uint64_t bytes) {
    ssize_t code;
    while (way->under_way == UNDER_WAY)
        take_completions(way);
    void *context = way->unused[UNDER_WAY - 1 - way->under_way];
    const uint64_t there = way->base + at;
    while ((code = is_write ? fi_write(way->endpoint, way->source + at, bytes, NULL, way->peer,
                                       there, way->key, context)
                            : fi_read(way->endpoint, way->source + at, bytes, NULL, way->peer,
                                      there, way->key, context)) == -FI_EAGAIN)
        take_completions(way);
    FI(code);
    way->under_way++;
}

/* The last word of [at, at + bytes), by which the other side knows that all of it is there. */
static uint64_t *last_word(char *memory, uint64_t at, uint64_t bytes) {
    return (uint64_t *)(void *)(memory + at + bytes - sizeof(uint64_t));
}

static void send_counted(ceiling_fabric *way, uint64_t at, uint64_t bytes) {
    land(way);
    *last_word(way->source, at, bytes) = way->count;
    post(way, 1, at, bytes);
}

static void await_counted(ceiling_fabric *way, uint64_t at, uint64_t bytes) {
    const uint64_t *word = last_word(way->here, at, bytes);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != way->count)
        take_completions(way);
}

void ceiling_fabric_ask(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        way->count++;
        send_counted(way, DATA, bytes);
        await_counted(way, DATA, bytes);
    }
}

void ceiling_fabric_answer(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        way->count++;
        await_counted(way, DATA, bytes);
        send_counted(way, DATA, bytes);
    }
    land(way);
}

/* The word that ends the target's part. */
static void end_operations(ceiling_fabric *way) {
    way->count++;
    send_counted(way, FLAG, sizeof(uint64_t));
    land(way);
}

void ceiling_fabric_write(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        post(way, 1, DATA, bytes);
        land(way);
    }
    end_operations(way);
}

void ceiling_fabric_read(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    while (n-- > 0) {
        post(way, 0, DATA, bytes);
        land(way);
    }
    end_operations(way);
}

void ceiling_fabric_stream(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    while (n-- > 0)
        post(way, 1, DATA, bytes);
    land(way);
    end_operations(way);
}

void ceiling_fabric_attend(ceiling_fabric *way) {
    way->count++;
    await_counted(way, FLAG, sizeof(uint64_t));
}

#else

/* Built without libfabric. */

#include <stddef.h>

ceiling_fabric *ceiling_fabric_open(MPI_Comm comm, int other, size_t most, const char **name) {
    (void)comm, (void)other, (void)most, (void)name;
    return NULL;
}

void ceiling_fabric_close(ceiling_fabric *way) { (void)way; }
void ceiling_fabric_ask(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    (void)way, (void)bytes, (void)n;
}
void ceiling_fabric_answer(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    (void)way, (void)bytes, (void)n;
}
void ceiling_fabric_write(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    (void)way, (void)bytes, (void)n;
}
void ceiling_fabric_read(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    (void)way, (void)bytes, (void)n;
}
void ceiling_fabric_stream(ceiling_fabric *way, uint64_t bytes, uint64_t n) {
    (void)way, (void)bytes, (void)n;
}
void ceiling_fabric_attend(ceiling_fabric *way) { (void)way; }

#endif
