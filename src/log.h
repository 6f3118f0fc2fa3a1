#ifndef TERN_SRC_LOG_H
#define TERN_SRC_LOG_H

/* Writing the log: one line, one write, prefixed with the rank in MPI_COMM_WORLD where known. */

#include <stdarg.h>

#include "tern/config.h"

void tern_log(tern_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* The same with a list of arguments. */
void tern_log_list(tern_log_level level, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0), cold));

/* The rank that log lines of this process carry. */
void tern_log_set_rank(int rank);

#endif
