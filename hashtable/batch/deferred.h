#ifndef TERN_HASHTABLE_BATCH_DEFERRED_H
#define TERN_HASHTABLE_BATCH_DEFERRED_H

/*
 * Deferred: how far the owner has done a message of changes when one of them meets a bucket that
 * another rank is just writing, or a part that has to be moved first. Such a call stays at the head
 * of its ring (TERN_ERR_AGAIN), so the calls behind it wait, and changes of one key keep their
 * order. When it runs again, it goes on from there and changes nothing twice. An origin has at most
 * one such call. Its calls come to one worker, which has its own list (docs/decisions/0140).
 */

#include "hashtable/table/table.h"
#include "tern/call.h"

typedef struct tern_deferred {
    struct tern_deferred *next;
    tern_worker_id origin;
    size_t bytes;
    uint64_t state[];
} tern_deferred;

/* Takes what is kept for a call's origin off the list. bytes: at most. False: nothing is kept. */
bool tern_deferred_take(const tern_call_info *call, tern_hashtable *table, void *state,
                        size_t bytes);
/* Keeps a state. False: no memory. */
bool tern_deferred_put(const tern_call_info *call, tern_hashtable *table, const void *state,
                       size_t bytes);
/* Frees the lists, with the states of origins that have died. */
void tern_deferred_free(tern_hashtable *table);

#endif
