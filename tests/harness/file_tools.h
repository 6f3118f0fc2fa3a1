/* A folder for the files of a test, in which one file is used. */

#ifndef TERN_TESTS_HARNESS_FILE_TOOLS_H
#define TERN_TESTS_HARNESS_FILE_TOOLS_H

#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

static char folder[64], path[160];

/* Collective: a folder of this test's own, known to all ranks. */
static inline void make_folder(void) {
    if (tern_test_rank() == 0) {
        snprintf(folder, sizeof folder, "/tmp/tern-test-XXXXXX");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/file", folder);
}

/* Collective: by rank 0, when nobody uses it any more. */
static inline void remove_folder(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (tern_test_rank() == 0) {
        (void)unlink(path);
        /* Not empty: a save left its new file behind. */
        CU_ASSERT_EQUAL(rmdir(folder), 0);
    }
}

#endif
