/* Whole files, for tests that damage them. */

#ifndef TERN_TESTS_HARNESS_FILE_TOOLS_H
#define TERN_TESTS_HARNESS_FILE_TOOLS_H

#include <stdio.h>

#include <CUnit/CUnit.h>

/* Returns how many bytes it has read, at most room. */
static inline size_t file_slurp(const char *path, char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const size_t got = fread(bytes, 1, room, file);
    fclose(file);
    return got;
}

static inline void file_spill(const char *path, const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, count, file), count);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

#endif
