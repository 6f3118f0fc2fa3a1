#ifndef TERN_STATUS_H
#define TERN_STATUS_H

/*
 * Status: what every function of tern that can fail returns. A status says which kind of failure it
 * was; for the last failure in this thread, tern_error_detail() says what failed, where, and what
 * to do. A function that fails leaves its outputs and the state of its objects as they were, unless
 * its comment says otherwise.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Not for applications: marks the functions that the libraries export. */
#if defined(__GNUC__)
#define TERN_API __attribute__((visibility("default")))
#else
#error "tern needs a compiler with GNU extensions (gcc or clang)"
#endif

/* Makes the compiler warn if a program drops the result. Every function that returns a status has
 * it, also functions that destroy and free, since these can fail too. The only exceptions are the
 * functions that write and read the items of an archive: its writer or reader keeps the first
 * failure until tern_writer_finish() or tern_reader_close() returns it. */
#define TERN_NODISCARD __attribute__((warn_unused_result))

/* Not for applications: an inline function of a header. Each library of tern also has a copy of
 * each for languages that call functions by their symbols, and defines this otherwise where it
 * compiles these copies. A program that is compiled with TERN_NO_INLINE calls the copies, so that
 * profilers and tools see these calls (docs/profiling.md). */
#ifndef TERN_INLINE
#ifndef TERN_NO_INLINE
#define TERN_INLINE static inline
#elif defined(__clang__) || defined(__cplusplus)
#define TERN_INLINE extern inline __attribute__((gnu_inline, noinline))
#else
#define TERN_INLINE inline __attribute__((noinline))
#endif
#if defined(TERN_NO_INLINE) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wattributes" /* of TERN_API and this together */
#endif
#endif

/* The statuses. */
typedef enum tern_status {
    TERN_OK = 0,
    TERN_ERR_ARGUMENT,    /* an argument is invalid by itself: NULL, bad rank, bad size */
    TERN_ERR_CONFIG,      /* an option is unknown, malformed, or impossible here */
    TERN_ERR_RANGE,       /* a global pointer or length lies outside its segment or limit */
    TERN_ERR_MEMORY,      /* a segment, an arena or the process is out of memory */
    TERN_ERR_FULL,        /* a bounded container has no room */
    TERN_ERR_EMPTY,       /* a container has no item to return */
    TERN_ERR_NOT_FOUND,   /* no such key, function or object */
    TERN_ERR_EXISTS,      /* the thing is there already */
    TERN_ERR_AGAIN,       /* a limit is reached that progress will lift: make progress and try again
                           */
    TERN_ERR_TIMEOUT,     /* the deadline passed first */
    TERN_ERR_PEER,        /* a rank that is needed has died */
    TERN_ERR_STATE,       /* the call is not allowed here: in a handler, after destroy, ... */
    TERN_ERR_MISMATCH,    /* ranks disagree on something that must be equal everywhere */
    TERN_ERR_UNSUPPORTED, /* cannot be done on this transport or system */
    TERN_ERR_MPI,         /* MPI reported an error */
    TERN_ERR_SYSTEM,      /* the operating system reported an error */
    TERN_ERR_CORRUPT,     /* memory that ranks share holds what no rank has written */
    TERN_ERR_NETWORK,     /* a network has lost an operation on a rank that is alive */
    TERN_ERR_DONE,        /* all work of a queue is done, and no rank will push more */
    TERN_STATUS_COUNT
} tern_status;

/* Drops a status on purpose; a cast to void does not silence gcc's warning. */
TERN_INLINE void tern_ignore(tern_status status) { (void)status; }

/* Returns the meaning of a status in a few words. Never NULL, also for values that are no status.
 * Static memory. Any thread, never blocks. */
TERN_API const char *tern_strerror(tern_status status);

/* Returns the text of the last failure that a function of tern reported to this thread: what
 * failed, with which value, and what to do. An empty string before the first failure.
 *
 * A successful call never leaves a text, even if it met a failure and recovered (refused huge
 * pages, a full ring, an error of another rank's call that this thread's progress answered). After
 * a successful call the detail is therefore empty, or still that of an earlier failure, because a
 * call that succeeds at once spends no time on clearing it. tern_context_create and the collective
 * functions that create objects clear it.
 *
 * Valid until this thread's next call of tern. Any thread, never blocks. */
TERN_API const char *tern_error_detail(void);

#ifdef __cplusplus
}
#endif

#endif
