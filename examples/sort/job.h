#ifndef SORT_JOB_H
#define SORT_JOB_H

#include <stdio.h>
#include <stdlib.h>
#include <tern/tern.h>

#include "options.h"

/* The keys that a rank draws, and those that it has in the end. */
typedef struct job {
    tern_worker *worker;
    uint32_t rank, size;
    const options *options;
    uint64_t first; /* number of the first key that it draws */
    size_t drawn;   /* keys that it draws */
    uint32_t *keys;
    uint32_t *outgoing; /* the drawn keys, bucket after bucket */
    size_t *start; /* positions in outgoing where each bucket begins, and where the last one ends */
    uint32_t *mine;    /* this rank's bucket, with keys of all ranks */
    uint32_t *scratch; /* as large as mine */
    size_t have, room; /* number of keys in mine, and room of mine */
} job;

static inline size_t bucket_size(const job *j, uint32_t bucket) {
    return j->start[bucket + 1] - j->start[bucket];
}

/* Makes room for so many keys in mine, which is empty then. */
void job_expect(job *j, size_t keys);

/* Collective. Draws, sorts and verifies as the options say, and prints the times. Returns whether
 * all keys were in order. */
bool job_run(tern_worker *worker, const options *o);

/* If one rank cannot go on, no rank can: prints the reason and ends the job. */
static inline void give_up(const char *why) {
    fprintf(stderr, "sort: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static inline void check(tern_status status) {
    if (status != TERN_OK)
        give_up(tern_error_detail());
}

/* Ends the job if memory for count numbers of bytes each is NULL, unless count is 0. */
static inline void *need(void *memory, size_t count, size_t bytes) {
    void *room = count >= SIZE_MAX / bytes ? NULL : realloc(memory, (count + 1) * bytes);
    if (room == NULL)
        give_up("no memory for so many keys");
    return room;
}

#endif
