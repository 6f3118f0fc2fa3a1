#ifndef TERN_HASHTABLE_BATCH_BATCH_H
#define TERN_HASHTABLE_BATCH_BATCH_H

/* Parts of batches, which the functions on many keys are made of. */

#include "hashtable/batch/run.h"
#include "hashtable/table/table.h"
#include "tern/transfer.h"

/* visit.c: what calls that are about many keys have in common. */

/* TERN_ERR_ARGUMENT if anything is missing or of different contexts; name is the function's. */
tern_status tern_visit_check(const tern_worker *worker, const tern_hashtable *table, bool missing,
                             const char *name);

/*
 * regions.c: a large batch on a large table is worked on region by region of the table's memory,
 * each of which the processor's translations reach (2 MiB: 512 pages of 4 KiB). In the order in
 * which keys come nearly every one of them misses these, which costs more than all the rest.
 */

/* Keys that are put in order together, at most. */
enum { TERN_REGION_KEYS = 1 << 20 };

/* So many of count keys are put in order together. */
size_t tern_regions_together(const tern_hashtable *table, size_t count);

/* Whether it pays for so many keys of 8 bytes, all near. */
bool tern_regions_pay(const tern_hashtable *table, size_t count);

/* [out] sorted: the keys by region, room for count of them; at most TERN_REGION_KEYS. */
void tern_regions_sort(const tern_hashtable *table, const char *keys, size_t count,
                       uint64_t *sorted);

#endif
