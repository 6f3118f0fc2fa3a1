#ifndef TERN_HASHTABLE_BATCH_BATCH_H
#define TERN_HASHTABLE_BATCH_BATCH_H

/* Parts of batches, which the functions on many keys are made of. */

#include "hashtable/batch/run.h"
#include "hashtable/table/table.h"
#include "tern/transfer.h"

/* visit.c: a check that all functions on many keys share. */

/* TERN_ERR_ARGUMENT if an argument is NULL, or worker and table are of different contexts. missing:
 * another argument is NULL; name: of the function. */
tern_status tern_visit_check(const tern_worker *worker, const tern_hashtable *table, bool missing,
                             const char *name);

/*
 * regions.c: a large batch on a large table works on one region of the table's memory after the
 * other. A region is as large as the processor's TLB reaches (2 MiB: 512 pages of 4 KiB). In the
 * order in which keys come, nearly all of them miss the TLB, which costs more than the rest.
 */

/* How many keys are sorted together at most. */
enum { TERN_REGION_KEYS = 1 << 20 };

/* How many of count keys are sorted together. */
size_t tern_regions_together(const tern_hashtable *table, size_t count);

/* Whether sorting by region pays for count keys of 8 bytes, all in direct memory. */
bool tern_regions_pay(const tern_hashtable *table, size_t count);

/* [out] sorted: the keys by region, room for count of them; at most TERN_REGION_KEYS. */
void tern_regions_sort(const tern_hashtable *table, const char *keys, size_t count,
                       uint64_t *sorted);

#endif
