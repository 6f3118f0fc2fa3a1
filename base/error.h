#ifndef TERN_BASE_ERROR_H
#define TERN_BASE_ERROR_H

/*
 * Errors: the code that first decides which error it is writes the detail here and returns what
 * tern_fail returns; callers pass the status on.
 *
 * Each of tern's libraries contains this code. The state of a thread is exported, so the dynamic
 * linker makes all of a program's libraries use one instance of it: tern_error_detail of any of
 * them returns the text that another one has set.
 */

#include <stdarg.h>
#include <stdint.h>

#include "tern/status.h"

enum { TERN_DETAIL_BYTES = 1024 };

/* The failures of a thread. Code that recovers from failures reads count and last in hot paths:
 * with this model of thread-local storage that is one load. Only status.c uses the text. */
typedef struct tern_failures {
    uint32_t count;
    tern_status last;  /* whose text is the detail; TERN_OK: the detail is empty */
    const char *plain; /* the detail, if it lives as long as the program; else NULL */
    char detail[TERN_DETAIL_BYTES];
} tern_failures;

TERN_API extern _Thread_local tern_failures tern_thread_failures
    __attribute__((tls_model("initial-exec")));

/* Sets this thread's detail and returns status. */
tern_status tern_fail(tern_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

tern_status tern_fail_list(tern_status status, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0), cold));

/* Sets the detail to a text that lives as long as the program, and returns status. It copies
 * nothing, so it suits outcomes that are expected. */
tern_status tern_fail_static_text(tern_status status, const char *text);

/* Sets the detail for a failed system call: errno's text and, if a limit of this process was too
 * low, what to do about that. */
tern_status tern_fail_system(const char *call) __attribute__((cold));

/* Forgets this thread's detail. Code that recovers from a failure calls this: a successful call
 * must leave no text of its own behind. */
void tern_error_clear(void) __attribute__((cold));

/* Forgets the detail if the last failure was TERN_ERR_AGAIN; the text of any other failure stays. A
 * caller that waits for room, or has queued what found no room, has recovered from that failure. */
static inline void tern_error_clear_again(void) {
    if (__builtin_expect(tern_thread_failures.last == TERN_ERR_AGAIN, 0))
        tern_error_clear();
}

#endif
