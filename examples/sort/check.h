#ifndef SORT_CHECK_H
#define SORT_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <tern/tern.h>

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
