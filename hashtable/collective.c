#include "hashtable/growth/growth.h"
#include "hashtable/batch/batch.h"
#include "src/collective/collective.h"

/*
 * Operations on a table as a whole, by all ranks together. A barrier at the start ends all
 * operations under way. A barrier or a sum at the end holds each rank back until all are done.
 */

static tern_status table_collective_begin(tern_worker *worker, tern_hashtable *table, bool missing,
                                          const char *name) {
    tern_status status = tern_visit_check(worker, table, missing, name);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    if (status == TERN_OK)
        status = tern_barrier(worker);
    return status == TERN_OK ? tern_growth_end_moves(worker, table) : status;
}

tern_status tern_hashtable_size(tern_worker *worker, tern_hashtable *table, uint64_t *count) {
    TERN_COLLECTIVE(worker, "tern_hashtable_size");
    tern_status status =
        table_collective_begin(worker, table, count == NULL, "tern_hashtable_size");
    if (status != TERN_OK)
        return status;
    uint64_t keys = 0;
    status = tern_collective_agree(table->context, worker,
                                   tern_hashtable_local_size(worker, table, &keys),
                                   "tern_hashtable_size");
    if (status == TERN_OK)
        status = tern_collective_sum(table->context, worker, &keys, 1);
    if (status == TERN_OK)
        *count = keys;
    return status;
}

void tern_table_clear_own(tern_worker *worker, tern_hashtable *table) {
    const tern_table_part *part = tern_table_part_of(table, table->rank);
    if (!tern_growth_shrink(worker, table))
        tern_table_clear(table, tern_local(table->context, part->buckets), part->count);
    /* R4 */
    atomic_store_explicit(&table->meets_keys, false, memory_order_relaxed);
}

tern_status tern_hashtable_clear(tern_worker *worker, tern_hashtable *table) {
    TERN_COLLECTIVE(worker, "tern_hashtable_clear");
    tern_status status = table_collective_begin(worker, table, false, "tern_hashtable_clear");
    if (status != TERN_OK)
        return status;
    tern_table_clear_own(worker, table);
    return tern_barrier(worker);
}
