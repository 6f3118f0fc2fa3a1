/* Catches in memory what a function writes to standard error. */

#ifndef TERN_TESTS_HARNESS_CAUGHT_H
#define TERN_TESTS_HARNESS_CAUGHT_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

typedef struct caught {
    FILE *file;
    int kept;
} caught;

static inline caught caught_begin(void) {
    caught c = {tmpfile(), dup(STDERR_FILENO)};
    CU_ASSERT_FATAL(c.file != NULL && c.kept >= 0);
    CU_ASSERT_FATAL(dup2(fileno(c.file), STDERR_FILENO) >= 0);
    return c;
}

/* Ends the catching. Returns the text, which the caller frees. */
static inline char *caught_end(caught *c) {
    CU_ASSERT_FATAL(dup2(c->kept, STDERR_FILENO) >= 0);
    close(c->kept);
    fseek(c->file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(c->file);
    char *text = calloc(bytes + 1, 1);
    rewind(c->file);
    CU_ASSERT_FATAL(text != NULL && fread(text, 1, bytes, c->file) == bytes);
    fclose(c->file);
    return text;
}

#endif
