/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "baselines.h"

#define TAKEN UINT64_C(1)
#define LOCKED UINT64_C(2)
#define TAG UINT64_C(0xffffff00)
#define READER (UINT64_C(1) << 54)
#define READERS (UINT64_MAX << 54)

enum { KEY_AT = 8, VALUE_AT = 16, STRIDE_UNIT = 32 };

/* One rank's share. table: the address of its baseline_table, for handlers there. */
typedef struct part {
    tern_ptr buckets;
    uint64_t table;
} part;

struct baseline_table {
    uint32_t rank, ranks;
    size_t value_bytes, stride;
    uint64_t buckets; /* of each rank */
    part parts[];
};

/* An operation on one key, which stands at a bucket. */
typedef struct probe {
    tern_worker *worker;
    const baseline_table *table;
    uint64_t key, taken; /* taken: the state of a bucket with this key at rest */
    uint32_t owner;
    uint64_t index;
    tern_flags promise;
    bool in_handler;
} probe;

static uint64_t table_hash(uint64_t key) {
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

uint32_t baseline_table_owner(const baseline_table *table, uint64_t key) {
    return (uint32_t)((table_hash(key) >> 32) * table->ranks >> 32);
}

static probe table_probe(tern_worker *worker, const baseline_table *table, uint64_t key,
                         tern_flags promise, bool in_handler) {
    const uint64_t hash = table_hash(key);
    return (probe){.worker = worker,
                   .table = table,
                   .key = key,
                   .taken = TAKEN | (hash * UINT64_C(0x9e3779b97f4a7c15) >> 32 & TAG),
                   .owner = baseline_table_owner(table, key),
                   .index = (hash & UINT32_MAX) * table->buckets >> 32,
                   .promise = promise,
                   .in_handler = in_handler};
}

static tern_ptr probe_place(const probe *p, uint64_t offset) {
    tern_ptr place = p->table->parts[p->owner].buckets;
    place.offset += p->index * p->table->stride + offset;
    return place;
}

static void probe_advance(probe *p) {
    if (++p->index == p->table->buckets)
        p->index = 0;
}

static tern_status probe_unlock(const probe *p) {
    /* The fetch-and-AND may not overtake the put before it. */
    tern_status status = tern_fence(p->worker, p->owner);
    return status == TERN_OK ? tern_atomic_fetch_and(p->worker, probe_place(p, 0), ~LOCKED, NULL)
                             : status;
}

static tern_status probe_put_entry(const probe *p, const void *value) {
    char entry[8 + BASELINE_VALUE_MAX];
    memcpy(entry, &p->key, 8);
    memcpy(entry + 8, value, p->table->value_bytes);
    return tern_put(p->worker, probe_place(p, KEY_AT), entry, 8 + p->table->value_bytes);
}

/* Puts value into the bucket, which has the key, once nobody reads or writes it. */
static tern_status probe_replace(const probe *p, const void *value) {
    for (;;) {
        uint64_t seen;
        tern_status status =
            tern_atomic_cas(p->worker, probe_place(p, 0), p->taken, p->taken | LOCKED, &seen);
        if (status == TERN_OK && seen == p->taken) {
            status = tern_put(p->worker, probe_place(p, VALUE_AT), value, p->table->value_bytes);
            return status == TERN_OK ? probe_unlock(p) : status;
        }
        if (status == TERN_OK)
            status = baseline_pause(p->worker, p->in_handler);
        if (status != TERN_OK)
            return status;
    }
}

/* TERN_ERR_NOT_FOUND: the bucket has another key. */
static tern_status probe_insert_here(const probe *p, const void *value, int *existed) {
    for (;;) {
        uint64_t seen, key;
        tern_status status =
            tern_atomic_cas(p->worker, probe_place(p, 0), 0, p->taken | LOCKED, &seen);
        if (status == TERN_OK && seen == 0) {
            *existed = 0;
            status = probe_put_entry(p, value);
            return status == TERN_OK ? probe_unlock(p) : status;
        }
        if (status == TERN_OK && (seen & TAKEN) != 0) {
            if ((seen & TAG) != (p->taken & TAG))
                return TERN_ERR_NOT_FOUND;
            if ((seen & LOCKED) == 0) {
                status = tern_get(p->worker, &key, probe_place(p, KEY_AT), sizeof key);
                if (status != TERN_OK || key != p->key)
                    return status == TERN_OK ? TERN_ERR_NOT_FOUND : status;
                *existed = 1;
                return probe_replace(p, value);
            }
        }
        if (status == TERN_OK)
            status = baseline_pause(p->worker, p->in_handler);
        if (status != TERN_OK)
            return status;
    }
}

static tern_status probe_insert_in_phase(const probe *p, const void *value, int *existed) {
    uint64_t seen;
    tern_status status = tern_atomic_cas(p->worker, probe_place(p, 0), 0, p->taken, &seen);
    if (status != TERN_OK || seen != 0)
        return status == TERN_OK ? TERN_ERR_NOT_FOUND : status;
    *existed = 0;
    return probe_put_entry(p, value);
}

static tern_status table_insert(probe p, const void *value, int *existed) {
    for (uint64_t i = 0; i < p.table->buckets; i++, probe_advance(&p)) {
        tern_status status = p.promise == TERN_READ_WRITE
                                 ? probe_insert_here(&p, value, existed)
                                 : probe_insert_in_phase(&p, value, existed);
        if (status != TERN_ERR_NOT_FOUND)
            return status;
    }
    return TERN_ERR_FULL;
}

/* Reads the bucket, from its state on, while no insert writes it. A free one is not read. */
static tern_status probe_read(const probe *p, char *bucket) {
    uint64_t state;
    for (;;) {
        tern_status status = tern_atomic_fetch_add(p->worker, probe_place(p, 0), READER, &state);
        if (status == TERN_OK && (state & (TAKEN | LOCKED)) == TAKEN)
            status = tern_get(p->worker, bucket + KEY_AT, probe_place(p, KEY_AT),
                              8 + p->table->value_bytes);
        if (status == TERN_OK)
            status = tern_atomic_fetch_add(p->worker, probe_place(p, 0), -READER, NULL);
        if (status == TERN_OK && (state & LOCKED) == 0)
            break;
        for (; status == TERN_OK && (state & LOCKED) != 0;) {
            status = baseline_pause(p->worker, p->in_handler);
            if (status == TERN_OK)
                status = tern_atomic_load(p->worker, probe_place(p, 0), &state);
        }
        if (status != TERN_OK)
            return status;
    }
    state &= ~READERS;
    memcpy(bucket, &state, sizeof state);
    return TERN_OK;
}

static tern_status table_find(probe p, void *value) {
    char bucket[VALUE_AT + BASELINE_VALUE_MAX];
    const size_t bytes = VALUE_AT + p.table->value_bytes;
    for (uint64_t i = 0; i < p.table->buckets; i++, probe_advance(&p)) {
        uint64_t state, key;
        tern_status status = p.promise == TERN_READ_WRITE
                                 ? probe_read(&p, bucket)
                                 : tern_get(p.worker, bucket, probe_place(&p, 0), bytes);
        if (status != TERN_OK)
            return status;
        memcpy(&state, bucket, sizeof state);
        if ((state & TAKEN) == 0)
            break;
        memcpy(&key, bucket + KEY_AT, sizeof key);
        if (key == p.key) {
            memcpy(value, bucket + VALUE_AT, p.table->value_bytes);
            return TERN_OK;
        }
    }
    return TERN_ERR_NOT_FOUND;
}

/* ---- By call ---- */

typedef struct table_call {
    uint64_t table; /* at the owner */
    uint64_t key;
    uint32_t promise;
    char value[BASELINE_VALUE_MAX]; /* of an insert: value_bytes of it are sent */
} table_call;

static probe table_probe_of(const tern_call_info *call, const table_call *c) {
    const baseline_table *table =
        (const baseline_table *)(uintptr_t)c->table; /* NOLINT(performance-no-int-to-ptr) */
    return table_probe(call->worker, table, c->key, c->promise, true);
}

static tern_status baseline_table_insert_called(tern_call_info *call, const void *arguments,
                                                size_t bytes) {
    const table_call *c = arguments;
    int existed = 0;
    (void)bytes;
    tern_status status = table_insert(table_probe_of(call, c), c->value, &existed);
    memcpy(call->result, &existed, sizeof existed);
    call->result_bytes = sizeof existed;
    return status;
}
TERN_FUNCTION(baseline_table_insert_called)

static tern_status baseline_table_find_called(tern_call_info *call, const void *arguments,
                                              size_t bytes) {
    const table_call *c = arguments;
    const probe p = table_probe_of(call, c);
    (void)bytes;
    call->result_bytes = p.table->value_bytes;
    return table_find(p, call->result);
}
TERN_FUNCTION(baseline_table_find_called)

static tern_status table_call_owner(const probe *p, const tern_function *function,
                                    const void *value, void *result, size_t result_bytes) {
    table_call c;
    c.table = p->table->parts[p->owner].table;
    c.key = p->key;
    c.promise = p->promise;
    const size_t value_bytes = value != NULL ? p->table->value_bytes : 0;
    if (value != NULL)
        memcpy(c.value, value, value_bytes);
    return tern_call_return(p->worker, (tern_worker_id){.rank = p->owner}, function, &c,
                            offsetof(table_call, value) + value_bytes, result, result_bytes, NULL);
}

/* Whether to call the owner. The owner itself does the operation at once, with a round of progress.
 */
static bool table_calls(const probe *p, tern_flags flags) {
    if ((flags & TERN_BY_CALL) != 0 && p->owner == p->table->rank)
        (void)tern_progress(p->worker);
    return (flags & TERN_BY_CALL) != 0 && p->owner != p->table->rank;
}

tern_status baseline_table_insert(tern_worker *worker, baseline_table *table, uint64_t key,
                                  const void *value, tern_flags flags, int *existed) {
    const probe p = table_probe(worker, table, key, flags & TERN_PROMISES, false);
    int was_there = 0;
    tern_status status = table_calls(&p, flags)
                             ? table_call_owner(&p, &baseline_table_insert_called_function, value,
                                                &was_there, sizeof was_there)
                             : table_insert(p, value, &was_there);
    if (status == TERN_OK && existed != NULL)
        *existed = was_there;
    return status;
}

tern_status baseline_table_find(tern_worker *worker, baseline_table *table, uint64_t key,
                                tern_flags flags, void *value) {
    const probe p = table_probe(worker, table, key, flags & TERN_PROMISES, false);
    return table_calls(&p, flags) ? table_call_owner(&p, &baseline_table_find_called_function, NULL,
                                                     value, table->value_bytes)
                                  : table_find(p, value);
}

/* ---- Life ---- */

tern_status baseline_table_create(tern_worker *worker, MPI_Comm comm, size_t value_bytes,
                                  uint64_t buckets, baseline_table **table) {
    tern_context *context = tern_worker_context(worker);
    const uint32_t ranks = tern_context_size(context);
    if (value_bytes == 0 || value_bytes > BASELINE_VALUE_MAX || buckets == 0)
        return TERN_ERR_ARGUMENT;
    baseline_table *t = malloc(sizeof *t + ranks * sizeof *t->parts);
    if (t == NULL)
        abort();
    *t = (baseline_table){.rank = tern_context_rank(context),
                          .ranks = ranks,
                          .value_bytes = value_bytes,
                          .stride = (VALUE_AT + value_bytes + STRIDE_UNIT - 1) / STRIDE_UNIT *
                                    STRIDE_UNIT,
                          .buckets = buckets};
    part mine = {TERN_NULL, (uintptr_t)t};
    tern_status status =
        tern_alloc(worker, buckets * t->stride, 0, TERN_DOMAIN_GLOBAL, &mine.buckets);
    if (status == TERN_OK)
        memset(tern_local(context, mine.buckets), 0, buckets * t->stride);
    /* Behind the barrier nobody needs this rank's progress. */
    status = tern_barrier(worker);
    tern_mpi_lock();
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, t->parts, sizeof mine, MPI_BYTE, comm);
    tern_mpi_unlock();
    for (uint32_t r = 0; r < ranks && status == TERN_OK; r++)
        if (tern_ptr_is_null(t->parts[r].buckets))
            status = TERN_ERR_MEMORY;
    if (status == TERN_OK) {
        *table = t;
        return TERN_OK;
    }
    if (tern_free(worker, mine.buckets) != TERN_OK)
        abort();
    free(t);
    return status;
}

tern_status baseline_table_destroy(tern_worker *worker, baseline_table *table) {
    tern_status status = tern_barrier(worker);
    if (status == TERN_OK)
        status = tern_free(worker, table->parts[table->rank].buckets);
    free(table);
    return status;
}
