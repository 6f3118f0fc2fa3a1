#include <sys/random.h>

#include "hashtable/batch/ask.h"
#include "hashtable/growth/growth.h"
#include "hashtable/batch/deferred.h"
#include "hashtable/op/pool.h"
#include "src/collective/collective.h"
#include "tern/transfer.h"

/* What each rank tells all others when a table is created. */
typedef struct table_introduction {
    uint64_t random;
    tern_ptr memory;
    uint32_t worker;
    uint32_t unused;
} table_introduction;

/* From the static library the linker takes a file only if something refers to it. A program that
 * creates a table serves the operations of others, even if it has none of its own. */
static __attribute__((used)) const tern_handler serves = tern_hashtable_on_ops;

static tern_status table_check_options(const tern_hashtable_options *o, tern_hashtable **table) {
    if (o == NULL || table == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_hashtable_create: %s is NULL",
                         o == NULL ? "options" : "table");
    if (o->key_bytes < 1 || o->key_bytes > TERN_KEY_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "key_bytes is %zu; allowed are 1 to %d", o->key_bytes,
                         TERN_KEY_MAX);
    if (o->value_bytes > TERN_VALUE_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "value_bytes is %zu; allowed are 0 to %d",
                         o->value_bytes, TERN_VALUE_MAX);
    if (o->counter != 0 && o->counter != 1)
        return tern_fail(TERN_ERR_ARGUMENT, "counter is %d; allowed are 0 and 1", o->counter);
    if (o->counter == 1 && o->value_bytes != 0)
        return tern_fail(TERN_ERR_ARGUMENT, "value_bytes is %zu; with counter = 1 it must be 0",
                         o->value_bytes);
    if (o->capacity == 0)
        return tern_fail(TERN_ERR_ARGUMENT, "capacity is 0; a table holds at least one key");
    if (o->call_only != 0 && o->call_only != 1)
        return tern_fail(TERN_ERR_ARGUMENT, "call_only is %d; allowed are 0 and 1", o->call_only);
    if (o->grow != 0 && o->grow != 1)
        return tern_fail(TERN_ERR_ARGUMENT, "grow is %d; allowed are 0 and 1", o->grow);
    if (o->key_equal != NULL && o->key_hash == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "key_equal is given without key_hash: keys that are the same must have "
                         "the same hash");
    if (o->call_only == 1 && o->value_bytes > TERN_RESULT_MAX)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "value_bytes is %zu and a call returns at most %u bytes; create the table "
                         "without call_only and find by TERN_BY_RMA",
                         o->value_bytes, TERN_RESULT_MAX);
    return TERN_OK;
}

/* Refuses more ranks than a state word has bits for. */
static tern_status check_context(const tern_context *context) {
    if (context->size > TERN_STATE_RANKS)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "the context has %u ranks; a hash table spreads over at most %u",
                         context->size, TERN_STATE_RANKS);
    return TERN_OK;
}

static uint32_t table_words(size_t bytes) { return (uint32_t)((bytes + 7) / 8); }

/* Small buckets are a power of two in size, so none lies in two cache lines; others fill lines. */
static tern_shape shape_of(const tern_hashtable_options *o) {
    tern_shape s = {table_words(o->key_bytes), table_words(o->value_bytes), o->counter ? 16 : 8,
                    16};
    size_t bytes = s.entry_at + 8 * tern_entry_words(s);
    while (s.stride < bytes)
        s.stride = s.stride < 64 ? 2 * s.stride : s.stride + 64;
    return s;
}

/* Buckets of one part. The number of keys of a part scatters around its share of all keys, with the
 * square root of the share as standard deviation. It never exceeds the share by more than six times
 * that (taken up to twice too large) and a few more. Two thirds of the buckets are full then:
 * filling a table took 42 ns a key, 48 with three quarters, 30 with one third. */
static uint64_t buckets_of(uint64_t capacity, uint32_t ranks, tern_shape shape) {
    const uint64_t limit = UINT64_C(1) << 43;
    uint64_t keys = capacity < limit ? capacity : limit;
    uint64_t share = (keys + ranks - 1) / ranks;
    uint64_t root = UINT64_C(1) << ((65 - __builtin_clzll(share)) / 2);
    uint64_t most = share + 6 * root + 8;
    most = ranks == 1 || most > keys ? keys : most;
    uint64_t line = tern_shape_line(shape);
    return (most + most / 2 + line) / line * line;
}

static size_t part_bytes(const tern_hashtable *t) {
    return sizeof(tern_anchor) + t->buckets * t->shape.stride;
}

static tern_status table_allocate(tern_worker *worker, const tern_hashtable *t, tern_ptr *memory) {
    tern_domain domain = t->call_only ? TERN_DOMAIN_OWNER : TERN_DOMAIN_GLOBAL;
    size_t bytes = part_bytes(t);
    tern_status status = tern_alloc(worker, bytes, 0, domain, memory);
    if (status == TERN_ERR_MEMORY)
        return tern_fail(status,
                         "the hash table takes %zu bytes (%.1f MiB) in the segment of every rank; "
                         "raise TERN_SEGMENT_SIZE (now %zu)",
                         bytes, (double)bytes / (1 << 20), t->context->config.segment_size);
    return status;
}

static tern_status table_no_memory(const tern_context *context) {
    return tern_fail(TERN_ERR_MEMORY, "no memory for a table over %u ranks", context->size);
}

/* Learns where the parts are. This rank's own part is at memory. */
static void table_learn_parts(tern_worker *worker, tern_hashtable *t, tern_ptr memory,
                              const table_introduction *all) {
    t->all_direct = true;
    for (uint32_t r = 0; r < t->ranks; r++) {
        tern_table_part *part = &t->part[r];
        t->nonce ^= all[r].random;
        part->buckets = tern_ptr_add(all[r].memory, sizeof(tern_anchor));
        part->worker = all[r].worker;
        part->direct =
            tern_internal_reach_address(worker, part->buckets, t->buckets * t->shape.stride);
        if (tern_internal_atomic_address(worker, part->buckets, 8) == NULL)
            part->direct = NULL;
        t->all_direct = t->all_direct && part->direct != NULL;
    }
    t->nonce = t->nonce == 0 ? 1 : t->nonce;
    for (uint32_t r = 0; r < t->ranks; r++) {
        t->part[r].count = t->buckets;
        t->part[r].nonce = t->nonce;
    }
    memset(tern_local(t->context, memory), 0, sizeof(tern_anchor));
}

/* Allocates this rank's part and learns where the others' are. [out] memory: to be freed on an
 * error too, unless it is null. */
static tern_status table_introduce(tern_worker *worker, tern_hashtable *t, tern_ptr *memory) {
    tern_context *context = worker->context;
    table_introduction me = {0, TERN_NULL, worker->index, 0};
    table_introduction *all = calloc(context->size, sizeof *all);
    tern_status status =
        all != NULL ? table_allocate(worker, t, &me.memory) : table_no_memory(context);
    if (status == TERN_OK) {
        *memory = me.memory;
        tern_table_clear(t, (char *)tern_local(context, me.memory) + sizeof(tern_anchor),
                         t->buckets);
        if (getrandom(&me.random, sizeof me.random, 0) != (ssize_t)sizeof me.random)
            status = tern_fail_system("getrandom");
    }
    status = tern_collective_agree(context, worker, status, "tern_hashtable_create");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, &me, sizeof me, all);
    if (status == TERN_OK)
        table_learn_parts(worker, t, me.memory, all);
    free(all);
    if (status != TERN_OK)
        return status;
    tern_callee_add(context, &t->callee, TERN_CALLEE_TABLE, t->nonce, t);
    tern_array_descriptor descriptor = {.buckets = t->part[t->rank].buckets.offset,
                                        .count = t->buckets};
    uint64_t direct = t->all_direct;
    status = tern_collective_sum(context, worker, &direct, 1);
    tern_grace_init(t, direct == t->ranks);
    descriptor.moves = !t->asks;
    return status == TERN_OK ? tern_growth_publish(worker, t->growth, &descriptor) : status;
}

/* Whether all ranks may create a table, and want the same one. */
static tern_status table_agree(tern_worker *worker, const tern_hashtable_options *options,
                               tern_hashtable **table, const char *name) {
    tern_context *context = worker->context;
    tern_status status = table_check_options(options, table);
    if (status == TERN_OK)
        status = check_context(context);
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        return status;
    const tern_field agreed[] = {{"key_bytes", options->key_bytes},
                                 {"value_bytes", options->value_bytes},
                                 {"counter", (uint64_t)options->counter},
                                 {"capacity", options->capacity},
                                 {"call_only", (uint64_t)options->call_only},
                                 {"the presence of key_hash", options->key_hash != NULL},
                                 {"the presence of key_equal", options->key_equal != NULL},
                                 {"grow", (uint64_t)options->grow},
                                 {"the presence of key_owner", options->key_owner != NULL}};
    return tern_collective_same_fields(context, worker, agreed, sizeof agreed / sizeof *agreed,
                                       name);
}

/* Sets the members that follow from the options, which all ranks agreed on. */
static void table_describe(tern_hashtable *t, const tern_hashtable_options *options) {
    t->rank = t->context->rank;
    t->ranks = t->context->size;
    t->grows = options->grow != 0;
    t->shape = shape_of(options);
    t->buckets = buckets_of(options->capacity, t->ranks, t->shape);
    t->key_bytes = options->key_bytes;
    t->value_bytes = options->value_bytes;
    t->call_only = options->call_only != 0;
    t->users_hash = options->key_hash != NULL || options->key_owner != NULL;
    t->owners_put = tern_owners_put(t->context) && t->shape.stride <= TERN_PUT_IF_MAX;
    t->words_seen = tern_gets_see_words(t->context);
    t->plain = t->key_bytes == 8 && t->value_bytes == (options->counter ? 0 : 8) && !t->call_only &&
               !t->users_hash;
    t->key_hash = options->key_hash;
    t->key_equal = options->key_equal;
    t->key_owner = options->key_owner;
    t->key_argument = options->key_argument;
}

/* Frees what table_make has allocated, except the table itself. */
static void table_free_members(tern_worker *worker, tern_hashtable *t) {
    if (t->requests != NULL)
        tern_pools_free(t); /* only now, as the handler of grace periods looks at the pools */
    tern_growth_free(worker, t->growth);
    if (t->deferred != NULL)
        tern_deferred_free(t);
    free(t->part);
    free(t->inside);
}

/* NULL: no memory, which the detail says. */
static tern_hashtable *table_make(tern_worker *worker, const tern_hashtable_options *options) {
    tern_context *context = worker->context;
    tern_hashtable *t = calloc(1, sizeof *t);
    if (t == NULL) {
        tern_ignore(table_no_memory(context));
        return NULL;
    }
    t->context = context;
    t->part = calloc(context->size, sizeof *t->part);
    t->requests = calloc(context->workers, sizeof *t->requests);
    t->deferred = calloc(context->workers, sizeof *t->deferred);
    t->inside = calloc(context->workers, sizeof *t->inside);
    table_describe(t, options);
    if (t->part != NULL && t->requests != NULL && t->deferred != NULL && t->inside != NULL &&
        tern_growth_make(t) == TERN_OK)
        return t;
    table_free_members(worker, t);
    free(t);
    tern_ignore(table_no_memory(context));
    return NULL;
}

tern_status tern_hashtable_create(tern_worker *worker, const tern_hashtable_options *options,
                                  tern_hashtable **table) {
    static const char name[] = "tern_hashtable_create";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status == TERN_OK)
        status = table_agree(worker, options, table, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    tern_ptr memory = TERN_NULL;
    tern_hashtable *t = table_make(worker, options);
    status = tern_collective_agree(context, worker, t != NULL ? TERN_OK : TERN_ERR_MEMORY, name);
    if (status == TERN_OK)
        status = table_introduce(worker, t, &memory);
    /* A call may come as soon as another rank has returned, so every anchor is in place before. If
     * a death ends the barrier, other ranks may have returned: this rank's part stays for them. */
    const bool introduced = status == TERN_OK;
    if (introduced)
        status = tern_collective_barrier(context, worker);
    if (introduced && (status == TERN_OK || status == TERN_ERR_PEER)) {
        tern_task_add(context, &t->growth->task);
        if (status == TERN_OK) {
            tern_object_add(context, &t->object, "hash table");
            *table = t;
        }
        return status;
    }
    if (t != NULL) {
        /* Calls may name the table if the barrier succeeded on other ranks. */
        tern_callee_remove(context, &t->callee);
        table_free_members(worker, t);
    }
    tern_ignore(tern_free(worker, memory));
    free(t);
    return status;
}

void tern_table_leave(tern_hashtable *table) { tern_object_remove(table->context, &table->object); }

tern_status tern_hashtable_destroy(tern_worker *worker, tern_hashtable *table) {
    if (table == NULL)
        return TERN_OK;
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_hashtable_destroy: worker is NULL");
    if (worker->context != table->context)
        return tern_object_refuse(table->context, "tern_hashtable_destroy", "table");
    TERN_COLLECTIVE(worker, "tern_hashtable_destroy");
    tern_status status = tern_worker_may_wait(worker, "tern_hashtable_destroy");
    if (status != TERN_OK)
        return status;
    tern_pool_drain(worker, table);
    /* Behind the barrier the puts of all ranks are complete and no rank calls any more. After a
     * death the barrier fails, and the table is destroyed without it. */
    tern_peers_look(&worker->context->peers);
    status = tern_barrier(worker);
    if (status == TERN_ERR_MISMATCH)
        return status; /* the others have not come to destroy it */
    tern_object_remove(table->context, &table->object);
    tern_ptr memory = tern_ptr_add(table->part[table->rank].buckets, -(int64_t)sizeof(tern_anchor));
    tern_callee_remove(table->context, &table->callee);
    table_free_members(worker, table);
    tern_status freed = tern_free(worker, memory);
    tern_destroyed_keep_object(table, sizeof *table);
    return status == TERN_OK ? freed : status;
}
