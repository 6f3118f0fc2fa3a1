#ifndef TERN_HASHTABLE_TABLE_CALL_H
#define TERN_HASHTABLE_TABLE_CALL_H

/* Calls on a table: which worker an origin calls, and how the owner finds the table. Every message
 * starts with a head that names the table. */

#include "hashtable/table/table.h"
#include "tern/call.h"

typedef struct tern_table_head {
    uint64_t nonce; /* of the table */
} tern_table_head;

static inline tern_table_head tern_table_head_to(const tern_hashtable *table) {
    return (tern_table_head){table->nonce};
}

static inline tern_worker_id tern_table_worker(const tern_hashtable *table, uint32_t owner) {
    return tern_container_worker(table->context, owner, table->part[owner].worker);
}

/* table.c: for handlers: returns the table that a message is for. NULL if that table does not exist
 * (any more), or if bytes is below least. */
tern_hashtable *tern_table_of_call(const tern_worker *worker, const void *message, size_t bytes,
                                   size_t least);

#endif
