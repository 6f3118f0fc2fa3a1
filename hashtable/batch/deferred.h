#ifndef TERN_HASHTABLE_BATCH_DEFERRED_H
#define TERN_HASHTABLE_BATCH_DEFERRED_H

/*
 * Deferred: how far changes got that came in one message, one of which meets a bucket that another
 * rank is just writing, or a part that has to be moved first. Such a call is left at the head of
 * its ring (TERN_ERR_AGAIN), so that the calls behind it wait and changes of one key keep their
 * order; when it runs again it goes on from there, and changes nothing twice. One origin has one at
 * most, and its calls come to one worker, which has a list of its own (docs/decisions/0140).
 */

#include "hashtable/table/table.h"
#include "tern/call.h"

typedef struct tern_deferred {
    struct tern_deferred *next;
    tern_worker_id origin;
    size_t bytes;
    uint64_t state[];
} tern_deferred;

/* Takes what is deferred of a call's origin out: a state of so many bytes at most. False, and the
 * state as it was: nothing is. */
bool tern_deferred_take(const tern_call_info *call, tern_hashtable *table, void *state,
                        size_t bytes);
/* False: no memory. */
bool tern_deferred_put(const tern_call_info *call, tern_hashtable *table, const void *state,
                       size_t bytes);
/* Frees the lists, and what was left in them by origins that have died. */
void tern_deferred_free(tern_hashtable *table);

#endif
