#ifndef TERN_SRC_ERROR_H
#define TERN_SRC_ERROR_H

/*
 * Errors: whoever first decides which error it is writes the detail here and returns what tern_fail
 * returns; callers pass the status on.
 */

#include "tern/status.h"

/* Sets this thread's detail and returns status. */
tern_status tern_fail(tern_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* The same with a text that lives as long as the program. For outcomes that are no surprise:
 * nothing is copied. */
tern_status tern_fail_plainly(tern_status status, const char *text);

/* The same for a failed MPI call, with MPI's own text. */
tern_status tern_fail_mpi(int code, const char *call) __attribute__((cold));

/* The same for a failed system call, with errno's text. */
tern_status tern_fail_system(const char *call) __attribute__((cold));

/* Forgets this thread's detail. */
void tern_error_clear(void);

#endif
