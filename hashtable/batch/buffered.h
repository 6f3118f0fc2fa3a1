#ifndef TERN_HASHTABLE_BATCH_BUFFERED_H
#define TERN_HASHTABLE_BATCH_BUFFERED_H

/* What buffers of tables and of maps have in common: a scatter whose items come one by one. */

#include "hashtable/batch/scatter.h"

enum {
    TERN_BUFFERED_KEYS = TERN_BUNDLE_ITEMS, /* a full buffer is a full bundle */
    /* How many bundles: keeps an owner busy while others answer, leaves the program some calls. */
    TERN_BUFFERED_UNDER_WAY = 16
};

tern_status tern_buffered_check_keys(size_t keys, const char *name);

/* Whether the worker may use a buffer. scatter: the buffer's; NULL: no buffer. */
tern_status tern_buffered_check(tern_worker *worker, const tern_scatter *scatter, const char *name);

/* Names a buffer in the warnings of its worker, until it is closed. flush: the function that sends
 * its keys. */
void tern_buffered_open(tern_scatter *scatter, const char *flush);
void tern_buffered_close(const tern_scatter *scatter);

/* Reports on a buffer of which everything is sent and answered. taken, stored, refused: keys since
 * the last report, which are set to 0; kind: "table". [out] told: keys that were refused; may be
 * NULL. */
tern_status tern_buffered_report(tern_scatter *scatter, uint64_t *taken, uint64_t *stored,
                                 uint64_t *refused, const char *kind, uint64_t *told);

#endif
