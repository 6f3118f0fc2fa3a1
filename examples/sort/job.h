#ifndef SORT_JOB_H
#define SORT_JOB_H

#include <tern/tern.h>

#include "options.h"

/* What a rank sorts: the keys that it draws, and those that it has in the end. */
typedef struct job {
    tern_worker *worker;
    uint32_t rank, size;
    const options *options;
    uint64_t first; /* number of the first key that it draws */
    size_t drawn;   /* keys that it draws */
    uint32_t *keys;
    uint32_t *outgoing; /* the same, bucket after bucket */
    size_t *start;      /* where in outgoing each bucket begins, and the last one ends */
    uint32_t *mine;     /* this rank's bucket, of all ranks' keys */
    uint32_t *scratch;  /* as large */
    size_t have, room;  /* keys there are in mine, and that it has memory for */
} job;

static inline size_t bucket_size(const job *j, uint32_t bucket) {
    return j->start[bucket + 1] - j->start[bucket];
}

/* Memory for a bucket of this rank with so many keys; it holds none yet. */
void job_expect(job *j, size_t keys);

/* Collective. Draws, sorts and verifies as the options say, and prints what it took. Whether all
 * was in order. */
bool job_run(tern_worker *worker, const options *o);

#endif
