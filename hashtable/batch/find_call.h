#ifndef TERN_HASHTABLE_BATCH_FIND_CALL_H
#define TERN_HASHTABLE_BATCH_FIND_CALL_H

/* Batches of finds by call. */

#include "hashtable/table.h"

/* Arguments as tern_hashtable_find_many, found not NULL. local_in_place: parts of this node are
 * looked up in place. TERN_ERR_UNSUPPORTED: a value or a key is too large. */
tern_status tern_call_find_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                                size_t count, bool local_in_place, char *values,
                                unsigned char *found, size_t *present);

#endif
