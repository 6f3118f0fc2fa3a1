#ifndef TERN_HASHTABLE_FAR_PIPELINE_H
#define TERN_HASHTABLE_FAR_PIPELINE_H

/*
 * Window: a batch by RMA of which some parts are far. Several keys are under way at once
 * (hashtable/far/flight.h), each of which takes round trips. Items are begun and ended in their
 * order, and no two of one key are under way together, so of several values the last stays. What
 * flights do not take is done apart, when nothing is under way: it may wait for others, who may
 * wait for this.
 */

#include "hashtable/batch/run.h"

/* As tern_run_insert and tern_run_find. Nothing is flushed. */
tern_status tern_pipeline_insert(tern_worker *worker, tern_hashtable *table,
                                 const tern_items *items, size_t *stored);
tern_status tern_pipeline_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               tern_flags promise, char *values, unsigned char *found,
                               size_t *present);

#endif
