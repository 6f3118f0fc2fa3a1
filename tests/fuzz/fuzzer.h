/* What fuzzers share: TERN_FUZZ_SEEDS=FOLDER has them write inputs to begin with, and end. */

#ifndef TERN_TESTS_FUZZER_H
#define TERN_TESTS_FUZZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes);

static inline void require(bool condition) {
    if (!condition)
        abort();
}

/* By each fuzzer. */
static void write_seeds(const char *folder);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *folder = getenv("TERN_FUZZ_SEEDS");
    if (folder != NULL) {
        write_seeds(folder);
        exit(0);
    }
    return 0;
}

#endif
