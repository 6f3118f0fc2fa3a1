#ifndef TERN_HASHTABLE_PARKED_H
#define TERN_HASHTABLE_PARKED_H

/*
 * Parked: how far batches of inserts got here that met a bucket that another rank is just writing.
 * Such a call is left at the head of its ring (TERN_ERR_AGAIN), so that the batches behind it wait
 * and inserts of one key keep their order; when it runs again it goes on from there, and changes
 * nothing twice. One origin has one at most. Used by the owner's worker alone.
 */

#include "hashtable/table.h"

typedef struct tern_parked {
    struct tern_parked *next;
    tern_worker_id origin;
    size_t done, stored;
} tern_parked;

/* Takes what is parked of an origin out; 0 and 0 if nothing is. */
void tern_parked_take(tern_hashtable *table, tern_worker_id origin, size_t *done, size_t *stored);
/* False: no memory. */
bool tern_parked_put(tern_hashtable *table, tern_worker_id origin, size_t done, size_t stored);
/* Frees what was left by origins that have died. */
void tern_parked_free(tern_hashtable *table);

#endif
