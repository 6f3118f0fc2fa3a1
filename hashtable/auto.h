#ifndef TERN_HASHTABLE_AUTO_H
#define TERN_HASHTABLE_AUTO_H

/* TERN_VIA_AUTO: which ways the table's options leave, and batches. */

#include "hashtable/table.h"

tern_status tern_auto_make(tern_hashtable *table);

/* tern_hashtable_add_many, some keys at a time by the way that is the cheaper for these. */
tern_status tern_auto_add_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, tern_promise promise, size_t *added);

#endif
