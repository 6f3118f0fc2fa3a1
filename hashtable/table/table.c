#include "base/process.h"
#include "hashtable/table/call.h"
#include "src/progress/progress.h"

/* Only words that are read before they are written have to be zero: states and counters, and
 * checks, since a zero check tells at once that the entry is not whole. */
void tern_table_clear(const tern_hashtable *table, char *buckets, uint64_t count) {
    if (table->shape.stride <= 64) {
        memset(buckets, 0, count * table->shape.stride);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        memset(buckets + i * table->shape.stride, 0, table->shape.entry_at + 8);
}

void tern_table_pay(tern_worker *worker, const tern_hashtable *table) {
    tern_table_inside *inside = &table->inside[worker->index];
    if (inside->operations > 0 || worker->in_handler || worker->in_progress)
        return;
    inside->owes = false;
    (void)tern_progress_round(worker);
}

tern_hashtable *tern_table_of_call(const tern_worker *worker, const void *message, size_t bytes,
                                   size_t least) {
    tern_table_head head;
    if (bytes < least || bytes < sizeof head)
        return NULL;
    tern_read_once(&head, message, sizeof head);
    return tern_callee_find(worker->context, TERN_CALLEE_TABLE, head.nonce);
}
