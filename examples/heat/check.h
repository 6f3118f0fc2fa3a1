#ifndef HEAT_CHECK_H
#define HEAT_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <tern/tern.h>

/* If one rank cannot go on, no rank can: prints the reason and ends the job. */
static inline void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "heat: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#endif
