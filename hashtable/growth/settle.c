#include <stddef.h>

#include "hashtable/growth/growth.h"
#include "src/collective/collective.h"

/* The life of what a table that grows has beside its parts, and its collective part. */

tern_status tern_growth_make(tern_hashtable *table) {
    tern_growth *growth = calloc(1, sizeof *growth);
    if (growth == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a table that grows");
    growth->task.run = tern_growth_run;
    growth->table = table;
    growth->from = &table->part[table->rank];
    pthread_mutex_init(&growth->lock, NULL);
    table->growth = growth;
    return TERN_OK;
}

/* Forgets arrays, all or those that keys have left; the owner frees their memory. */
static void settle_forget(tern_worker *worker, tern_growth *growth, bool all) {
    const tern_hashtable *table = growth->table;
    tern_array **at = &growth->arrays;
    while (*at != NULL) {
        tern_array *a = *at;
        const uint32_t rank = a->part.buckets.rank;
        if (!all && a->part.generation >= tern_table_part_of(table, rank)->generation) {
            at = &a->older;
            continue;
        }
        if (rank == table->rank)
            tern_ignore(tern_free(worker, a->part.buckets));
        *at = a->older;
        free(a);
    }
}

void tern_growth_free(tern_worker *worker, tern_growth *growth) {
    if (growth == NULL)
        return;
    tern_task_remove(growth->table->context, &growth->task);
    settle_forget(worker, growth, true);
    pthread_mutex_destroy(&growth->lock);
    free(growth);
}

/* Ends this rank's move, and forgets a wish that would begin another one. Nobody wishes any more.
 */
static tern_status come_to_rest(tern_worker *worker, tern_hashtable *table) {
    tern_ptr place = tern_anchor_place(table, table->rank, offsetof(tern_anchor, wish));
    unsigned char *wish = tern_local(table->context, place);
    tern_wait_state wait = TERN_WAIT_START;
    for (;;) {
        tern_status status = tern_growth_rest(worker, table, table->rank);
        if (status != TERN_OK)
            return status;
        tern_tasks_stop(table->context);
        const bool rests = table->growth->to == NULL;
        if (rests)
            /* R4 */
            __atomic_store_n(wish, 0, __ATOMIC_RELAXED);
        tern_tasks_go(table->context);
        if (rests)
            return TERN_OK;
        /* The next array is being cleared, and the news do not tell of it yet. */
        status = tern_growth_wait(worker, table->rank, &wait);
        if (status != TERN_OK)
            return status;
    }
}

/* Links lead past what is forgotten. */
static void settle_cut(tern_hashtable *table, uint32_t rank) {
    const tern_table_part *start = tern_table_part_of(table, rank);
    tern_table_part *first = &table->part[rank];
    if (start != first)
        /* R1: growth_pursue, tern_growth_follow */
        atomic_store_explicit(&first->next, start, memory_order_release);
}

tern_status tern_growth_settle(tern_worker *worker, tern_hashtable *table) {
    static const char name[] = "a table that grows";
    tern_context *context = table->context;
    tern_growth *growth = table->growth;
    if (growth == NULL)
        return TERN_OK;
    tern_status status = come_to_rest(worker, table);
    tern_news *all = calloc(table->ranks, sizeof *all);
    if (all == NULL && status == TERN_OK)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", table->ranks);
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, &growth->news, sizeof *all, all);
    for (uint32_t r = 0; r < table->ranks && status == TERN_OK; r++)
        status = tern_growth_apply(worker, growth, r, &all[r]);
    free(all);
    /* All or none: who does not know a new array still needs the old one. */
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        return status;
    tern_tasks_stop(context);
    for (uint32_t r = 0; r < table->ranks; r++)
        settle_cut(table, r);
    settle_forget(worker, growth, false);
    tern_tasks_go(context);
    return TERN_OK;
}
