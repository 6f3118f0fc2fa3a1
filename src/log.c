#include "src/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* The only mutable state that contexts share, except the MPI lock. */
static atomic_int current_level = TERN_LOG_WARN;
static atomic_int log_rank = -1;

void tern_log_set_level(tern_log_level level) {
    /* R4 */
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

tern_log_level tern_log_get_level(void) {
    /* R4 */
    return (tern_log_level)atomic_load_explicit(&current_level, memory_order_relaxed);
}

/* R4 */
void tern_log_set_rank(int rank) { atomic_store_explicit(&log_rank, rank, memory_order_relaxed); }

void tern_log_list(tern_log_level level, const char *format, va_list arguments) {
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    if (level > tern_log_get_level() || level == TERN_LOG_NONE)
        return;
    char line[1024];
    /* R4 */
    int rank = atomic_load_explicit(&log_rank, memory_order_relaxed);
    int used = rank < 0 ? snprintf(line, sizeof line, "tern: %s: ", names[level])
                        : snprintf(line, sizeof line, "tern[%d]: %s: ", rank, names[level]);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    if (more < 0)
        return;
    size_t length = (size_t)used + (size_t)more;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    /* One write, so that the lines of several ranks do not mix. There is no way to report a
     * failure. */
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written;
}

void tern_log(tern_log_level level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tern_log_list(level, format, arguments);
    va_end(arguments);
}
