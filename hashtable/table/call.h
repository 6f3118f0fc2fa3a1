#ifndef TERN_HASHTABLE_TABLE_CALL_H
#define TERN_HASHTABLE_TABLE_CALL_H

/* Calls on a table: whom an origin calls, and how the owner finds its table. Every message starts
 * with a head. */

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

/* table.c: in a handler, the table that a message of bytes is for, at least least of them. NULL:
 * there is none (any more), or the message is too short. */
tern_hashtable *tern_table_of_call(const tern_worker *worker, const void *message, size_t bytes,
                                   size_t least);

#endif
