#ifndef TERN_HASHTABLE_BATCH_VISIT_H
#define TERN_HASHTABLE_BATCH_VISIT_H

/* What calls that are about many keys have in common. */

#include "hashtable/table.h"
#include "tern/transfer.h"

/* TERN_ERR_ARGUMENT if anything is missing or of different contexts; name is the function's. */
tern_status tern_visit_check(const tern_worker *worker, const tern_hashtable *table, bool missing,
                             const char *name);

#endif
