#ifndef TERN_HASHTABLE_BATCH_BATCH_CALL_H
#define TERN_HASHTABLE_BATCH_BATCH_CALL_H

/* Many adds by calls. Arguments as tern_hashtable_add_many; [out] added. Keys that find no room are
 * passed over without an error. local_in_place: keys of this node's parts are counted in place. */

#include "hashtable/table.h"

tern_status tern_call_add_many(tern_worker *worker, const tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, bool local_in_place, size_t *added,
                               bool *far_put);

#endif
