/* A folder for the one file of a test. */

#ifndef TERN_TESTS_HARNESS_FILE_TOOLS_H
#define TERN_TESTS_HARNESS_FILE_TOOLS_H

#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

static char folder[64], path[160];

/* Collective: makes a folder of this test's own, and tells all ranks its name. */
static inline void make_folder(void) {
    if (tern_test_rank() == 0) {
        snprintf(folder, sizeof folder, "/tmp/tern-test-XXXXXX");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/file", folder);
}

/* Collective: rank 0 removes the folder when no rank uses it any more. */
static inline void remove_folder(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (tern_test_rank() == 0) {
        (void)unlink(path);
        /* If this fails the folder is not empty: a save has left its new file behind. */
        CU_ASSERT_EQUAL(rmdir(folder), 0);
    }
}

#endif
