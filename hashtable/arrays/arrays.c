#include "hashtable/arrays/arrays.h"

#include <stddef.h>

#include "hashtable/bucket/scratch.h"
#include "rma/transfer.h"

/* Learns of the arrays of other ranks, publishes those of this rank, and waits for owners. */

/* After so many operations that met a moved key, the worker asks the owner whether all keys of the
 * part have moved. */
enum { REDIRECTS_PER_LOOK = 16 };

static uint64_t descriptor_check(const tern_hashtable *table,
                                 const tern_array_descriptor *descriptor) {
    return XXH3_64bits_withSeed(&descriptor->generation,
                                sizeof *descriptor - sizeof descriptor->check, table->nonce);
}

tern_table_part *tern_growth_describe(tern_worker *worker, tern_growth *growth, uint32_t rank,
                                      uint64_t generation, uint64_t offset, uint64_t count) {
    const tern_hashtable *table = growth->table;
    tern_table_part *first = &table->part[rank];
    if (generation == 0)
        return first;
    for (tern_array *a = growth->arrays; a != NULL; a = a->older)
        if (a->part.buckets.rank == rank && a->part.generation == generation)
            return &a->part;
    tern_array *a = calloc(1, sizeof *a);
    if (a == NULL) {
        (void)tern_fail(TERN_ERR_MEMORY, "no memory for a table that grows");
        return NULL;
    }
    tern_table_part *part = &a->part;
    part->buckets = first->buckets;
    part->buckets.offset = offset;
    part->count = count;
    part->nonce = XXH3_64bits_withSeed(&table->nonce, sizeof table->nonce, generation);
    part->worker = first->worker;
    part->generation = (uint32_t)generation;
    if (first->direct != NULL)
        part->direct =
            tern_internal_reach_address(worker, part->buckets, count * table->shape.stride);
    a->older = growth->arrays;
    growth->arrays = a;
    return part;
}

/* Links arrays before it moves the start of probes: a probe always finds the link of its array. */
static tern_status growth_apply(tern_worker *worker, tern_growth *growth, uint32_t rank,
                                const tern_array_descriptor *descriptor) {
    tern_table_part *first = &growth->table->part[rank], *next = NULL;
    if (descriptor->generation < tern_table_part_of(growth->table, rank)->generation)
        return TERN_OK; /* older than what is known here */
    tern_table_part *start = tern_growth_describe(worker, growth, rank, descriptor->generation,
                                                  descriptor->buckets, descriptor->count);
    if (start != NULL && descriptor->next_buckets != 0)
        next = tern_growth_describe(worker, growth, rank, descriptor->generation + 1,
                                    descriptor->next_buckets, descriptor->next_count);
    if (start == NULL || (next == NULL && descriptor->next_buckets != 0))
        return TERN_ERR_MEMORY;
    if (next != NULL)
        /* R1: tern_op_leave, act_for_next */
        atomic_store_explicit(&start->next, next, memory_order_release);
    for (tern_array *a = growth->arrays; a != NULL; a = a->older)
        /* R1: tern_op_leave, act_for_next */
        if (a->part.buckets.rank == rank && a->part.generation < start->generation &&
            atomic_load_explicit(&a->part.next, memory_order_relaxed) == NULL)
            atomic_store_explicit(&a->part.next, start, memory_order_release);
    if (start == first)
        return TERN_OK;
    /* R1: tern_probe_start, tern_table_part_of; links are there before anybody starts behind them
     */
    if (atomic_load_explicit(&first->next, memory_order_relaxed) == NULL)
        atomic_store_explicit(&first->next, start, memory_order_release);
    atomic_store_explicit(&first->start, start, memory_order_release);
    return TERN_OK;
}

tern_status tern_growth_apply(tern_worker *worker, tern_growth *growth, uint32_t rank,
                              const tern_array_descriptor *descriptor) {
    pthread_mutex_lock(&growth->lock);
    tern_status status = growth_apply(worker, growth, rank, descriptor);
    pthread_mutex_unlock(&growth->lock);
    return status;
}

tern_status tern_growth_publish(tern_worker *worker, tern_growth *growth,
                                const tern_array_descriptor *descriptor) {
    const tern_hashtable *table = growth->table;
    tern_array_descriptor sealed = *descriptor;
    sealed.check = descriptor_check(table, descriptor);
    pthread_mutex_lock(&growth->lock);
    growth->descriptor = sealed;
    tern_status status = growth_apply(worker, growth, table->rank, descriptor);
    pthread_mutex_unlock(&growth->lock);
    tern_ptr gaddr = tern_anchor_gaddr(table, table->rank, offsetof(tern_anchor, descriptor));
    /* R2: tern_growth_learn; a reader may use the new array at once, so that is clear before */
    atomic_thread_fence(memory_order_release);
    if (status == TERN_OK)
        status = tern_put(worker, gaddr, &sealed, sizeof sealed);
    /* After the flush, a rank that meets a bucket of the move finds the move in the descriptor. */
    return status == TERN_OK ? tern_puts_flush(worker, table->rank) : status;
}

tern_status tern_growth_learn_from(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                                   const tern_array_descriptor *descriptor, bool *known) {
    *known = descriptor->check == descriptor_check(table, descriptor);
    /* R2: tern_growth_publish; the array that it describes is read after it */
    atomic_thread_fence(memory_order_acquire);
    if (*known)
        return tern_growth_apply(worker, table->growth, rank, descriptor);
    tern_growth_query_descriptor(worker, table, rank);
    return TERN_OK;
}

tern_status tern_growth_learn(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                              tern_array_descriptor *descriptor, bool *known) {
    tern_growth *growth = table->growth;
    *known = true;
    if (rank == table->rank) {
        pthread_mutex_lock(&growth->lock);
        *descriptor = growth->descriptor;
        pthread_mutex_unlock(&growth->lock);
        return TERN_OK;
    }
    tern_ptr gaddr = tern_anchor_gaddr(table, rank, offsetof(tern_anchor, descriptor));
    tern_status status = tern_get(worker, descriptor, gaddr, sizeof *descriptor);
    return status == TERN_OK ? tern_growth_learn_from(worker, table, rank, descriptor, known)
                             : status;
}

bool tern_growth_looks(const tern_hashtable *table) {
    /* R4 */
    return atomic_fetch_add_explicit(&table->growth->redirected, 1, memory_order_relaxed) %
               REDIRECTS_PER_LOOK ==
           0;
}

tern_status tern_growth_wait(tern_worker *worker, uint32_t owner, tern_wait_state *wait) {
    tern_status status = TERN_OK;
    if (!worker->in_handler && !worker->in_progress)
        status = tern_puts_flush(worker, owner);
    return status == TERN_OK ? tern_probe_wait(worker, wait, tern_state_locked(0, owner)) : status;
}

/* Only the owner knows how full its part is. Other ranks assume that it would refuse again. */
bool tern_growth_is_refused(const tern_key_search *p, const tern_array_descriptor *descriptor) {
    return descriptor->refused > 0 &&
           (descriptor->moves == 0 || p->part->buckets.rank != p->table->rank ||
            tern_fill_is_hopeless(p->worker, p->table));
}

bool tern_growth_is_between(const tern_worker *worker, const tern_hashtable *table,
                            const tern_array_descriptor *descriptor) {
    return descriptor->moves == 0 && !worker->in_handler && !worker->in_progress &&
           table->inside[worker->index].operations > 1;
}

tern_status tern_growth_moves(const tern_key_search *p, bool *moving) {
    tern_array_descriptor descriptor;
    bool known;
    tern_status status =
        tern_growth_learn(p->worker, p->table, p->part->buckets.rank, &descriptor, &known);
    *moving =
        !known || (descriptor.generation == p->part->generation && descriptor.next_buckets != 0);
    return status;
}

tern_status tern_growth_rest(tern_worker *worker, tern_hashtable *table, uint32_t rank) {
    tern_wait_state wait = TERN_WAIT_IN("an operation on a hash table");
    for (;;) {
        tern_array_descriptor descriptor;
        bool known;
        tern_status status = tern_growth_learn(worker, table, rank, &descriptor, &known);
        if (status != TERN_OK || (known && descriptor.next_buckets == 0))
            return status;
        status = tern_growth_wait(worker, rank, &wait);
        if (status != TERN_OK)
            return status;
    }
}
