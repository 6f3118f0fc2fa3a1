#include <stddef.h>

#include "hashtable/growth/growth.h"
#include "src/collective/collective.h"

/* The growth state of a table: makes and frees it, and ends moves in collective calls. */

tern_status tern_growth_make(tern_hashtable *table) {
    tern_growth *growth = calloc(1, sizeof *growth);
    if (growth == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a table that grows");
    growth->task.run = tern_growth_run;
    growth->table = table;
    growth->spare = TERN_NULL;
    growth->from = &table->part[table->rank];
    pthread_mutex_init(&growth->lock, NULL);
    table->growth = growth;
    return TERN_OK;
}

void tern_growth_forget(tern_worker *worker, tern_growth *growth, uint32_t rank,
                        uint64_t generation, bool keep) {
    const tern_hashtable *table = growth->table;
    const tern_table_part *start = tern_table_part_of(table, rank);
    pthread_mutex_lock(&growth->lock);
    tern_array **at = &growth->arrays;
    while (*at != NULL) {
        tern_array *a = *at;
        const tern_ptr memory = a->part.buckets;
        if (memory.rank != rank || a->part.generation >= generation) {
            at = &a->older;
            continue;
        }
        /* The memory of the first array belongs to the part and is not freed here. */
        if (rank == table->rank && memory.offset != table->part[rank].buckets.offset) {
            if (keep && growth->spare_count == 0 && a->part.count == start->count) {
                growth->spare = memory;
                growth->spare_count = a->part.count;
            } else {
                tern_ignore(tern_free(worker, memory));
            }
        }
        *at = a->older;
        free(a);
    }
    if (!keep && rank == table->rank) {
        tern_ignore(tern_free(worker, growth->spare));
        growth->spare = TERN_NULL;
        growth->spare_count = 0;
    }
    pthread_mutex_unlock(&growth->lock);
}

void tern_growth_free(tern_worker *worker, tern_growth *growth) {
    if (growth == NULL)
        return;
    tern_task_remove(growth->table->context, &growth->task);
    for (uint32_t r = 0; r < growth->table->ranks; r++)
        tern_growth_forget(worker, growth, r, UINT64_MAX, false);
    pthread_mutex_destroy(&growth->lock);
    free(growth);
}

tern_status tern_growth_come_to_rest(tern_worker *worker, tern_hashtable *table) {
    tern_ptr gaddr = tern_anchor_gaddr(table, table->rank, offsetof(tern_anchor, growth_request));
    unsigned char *request = tern_local(table->context, gaddr);
    tern_wait_state wait = TERN_WAIT_START;
    for (;;) {
        tern_status status = tern_growth_rest(worker, table, table->rank);
        if (status != TERN_OK)
            return status;
        tern_tasks_stop(table->context);
        const bool rests = table->growth->to == NULL;
        if (rests)
            /* R4 */
            __atomic_store_n(request, 0, __ATOMIC_RELAXED);
        tern_tasks_go(table->context);
        if (rests)
            return TERN_OK;
        /* The move is clearing the next array, which is not in the descriptor yet. */
        status = tern_growth_wait(worker, table->rank, &wait);
        if (status != TERN_OK)
            return status;
    }
}

void tern_growth_cut(tern_hashtable *table, uint32_t rank) {
    const tern_table_part *start = tern_table_part_of(table, rank);
    tern_table_part *first = &table->part[rank];
    if (start != first)
        /* R1: tern_op_leave, act_for_next */
        atomic_store_explicit(&first->next, start, memory_order_release);
}

tern_status tern_growth_end_moves(tern_worker *worker, tern_hashtable *table) {
    static const char name[] = "a table that grows";
    tern_context *context = table->context;
    tern_growth *growth = table->growth;
    tern_status status = tern_growth_come_to_rest(worker, table);
    tern_array_descriptor *all = calloc(table->ranks, sizeof *all);
    if (all == NULL && status == TERN_OK)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", table->ranks);
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, &growth->descriptor, sizeof *all, all);
    for (uint32_t r = 0; r < table->ranks && status == TERN_OK; r++)
        status = tern_growth_apply(worker, growth, r, &all[r]);
    free(all);
    /* Old arrays go only if all ranks have learned of the new ones: a rank that has not would still
     * use an old one. */
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        return status;
    tern_tasks_stop(context);
    for (uint32_t r = 0; r < table->ranks; r++) {
        tern_growth_cut(table, r);
        tern_growth_forget(worker, growth, r, tern_table_part_of(table, r)->generation,
                           !table->grows);
    }
    tern_tasks_go(context);
    return TERN_OK;
}

/* Drops all keys of the array. Ranks whose probes still start there go on in the next one. */
static void freeze(const tern_hashtable *table, const tern_table_part *part) {
    char *buckets = tern_local(table->context, part->buckets);
    tern_table_clear(table, buckets, part->count);
    for (uint64_t i = 0; i < part->count; i++)
        /* R9: tern_barrier; nobody uses the array before it */
        __atomic_store_n((uint64_t *)(void *)(buckets + i * table->shape.stride), TERN_FROZEN,
                         __ATOMIC_RELAXED);
}

bool tern_growth_shrink(tern_worker *worker, tern_hashtable *table) {
    tern_growth *growth = table->growth;
    const tern_table_part *first = &table->part[table->rank];
    bool shrinks = false;
    tern_tasks_stop(table->context);
    if (growth->from->count > first->count) {
        const uint64_t generation = growth->from->generation + UINT64_C(1);
        const tern_array_descriptor descriptor = {.generation = generation,
                                                  .buckets = first->buckets.offset,
                                                  .count = first->count,
                                                  .moves = 1};
        pthread_mutex_lock(&growth->lock);
        tern_table_part *to = tern_growth_describe(worker, growth, table->rank, generation,
                                                   descriptor.buckets, descriptor.count);
        pthread_mutex_unlock(&growth->lock);
        if (to != NULL)
            tern_table_clear(table, tern_local(table->context, to->buckets), to->count);
        shrinks = to != NULL && tern_growth_publish(worker, growth, &descriptor) == TERN_OK;
        if (shrinks) {
            freeze(table, growth->from);
            growth->from = to;
        }
    }
    tern_tasks_go(table->context);
    return shrinks;
}
