#ifndef TERN_PMPI_WRAP_H
#define TERN_PMPI_WRAP_H

/*
 * The macros that make a wrapper of an MPI function in one line, and the code that all wrappers
 * share.
 *
 * A wrapper first checks whether a context exists, at the cost of one load and one branch. If no
 * context exists, the wrapper only calls MPI. It also only calls MPI if the thread is already
 * inside another wrapper: then one of MPI's callbacks (operations, attributes, error handlers)
 * calls, and tern must not run in it.
 */

#include <mpi.h>

#include "src/mpi/pmpi.h"

/* NULL while no context exists. */
extern _Atomic(const tern_pmpi_host *) tern_pmpi_current_host;

/* One call of MPI by the program. */
typedef struct tern_pmpi_call {
    const tern_pmpi_host *host; /* NULL: the wrapper only calls MPI */
    const char *function;
    bool locked; /* the wrapper holds the MPI lock */
} tern_pmpi_call;

tern_pmpi_call tern_pmpi_enter(const tern_pmpi_host *host, const char *function);
void tern_pmpi_leave(tern_pmpi_call call);

static inline tern_pmpi_call tern_pmpi_call_begin(const char *function) {
    /* R1: tern_pmpi_attach; the pointer is read before the host's table */
    const tern_pmpi_host *host =
        atomic_load_explicit(&tern_pmpi_current_host, memory_order_acquire);
    if (__builtin_expect(host == NULL, 1))
        return (tern_pmpi_call){NULL, NULL, false};
    return tern_pmpi_enter(host, function);
}

/* Makes progress once inside a call, after a test of MPI that found nothing. */
void tern_pmpi_pause(tern_pmpi_call call, tern_wait_state *wait);

/* Waits for the request that a call of MPI has started. code: the code of that call; if it is an
 * error, the function returns it at once, and otherwise the code of the wait. */
int tern_pmpi_finish(tern_pmpi_call call, int code, MPI_Request *request, MPI_Status *status);

/* Whether blocking collectives on comm become non-blocking ones. The answer is the same on all of
 * its ranks (collectives.c says why). */
bool tern_pmpi_qualifies(tern_pmpi_call call, MPI_Comm comm);

/* Waits until all ranks of comm have called it, if comm qualifies. Wrappers call it before a
 * collective that has no non-blocking form. */
int tern_pmpi_meet(tern_pmpi_call call, MPI_Comm comm);

/* Turn a list of parameter types into parameters and into arguments: (T2, T1) becomes "T2 a2,
 * T1 a1" and "a2, a1". The last parameter is always a1. */
#define TERN_PMPI_P1(t) t a1
#define TERN_PMPI_P2(t, ...) t a2, TERN_PMPI_P1(__VA_ARGS__)
#define TERN_PMPI_P3(t, ...) t a3, TERN_PMPI_P2(__VA_ARGS__)
#define TERN_PMPI_P4(t, ...) t a4, TERN_PMPI_P3(__VA_ARGS__)
#define TERN_PMPI_P5(t, ...) t a5, TERN_PMPI_P4(__VA_ARGS__)
#define TERN_PMPI_P6(t, ...) t a6, TERN_PMPI_P5(__VA_ARGS__)
#define TERN_PMPI_P7(t, ...) t a7, TERN_PMPI_P6(__VA_ARGS__)
#define TERN_PMPI_P8(t, ...) t a8, TERN_PMPI_P7(__VA_ARGS__)
#define TERN_PMPI_P9(t, ...) t a9, TERN_PMPI_P8(__VA_ARGS__)
#define TERN_PMPI_P10(t, ...) t a10, TERN_PMPI_P9(__VA_ARGS__)
#define TERN_PMPI_P11(t, ...) t a11, TERN_PMPI_P10(__VA_ARGS__)
#define TERN_PMPI_P12(t, ...) t a12, TERN_PMPI_P11(__VA_ARGS__)
#define TERN_PMPI_P13(t, ...) t a13, TERN_PMPI_P12(__VA_ARGS__)
#define TERN_PMPI_A1 a1
#define TERN_PMPI_A2 a2, TERN_PMPI_A1
#define TERN_PMPI_A3 a3, TERN_PMPI_A2
#define TERN_PMPI_A4 a4, TERN_PMPI_A3
#define TERN_PMPI_A5 a5, TERN_PMPI_A4
#define TERN_PMPI_A6 a6, TERN_PMPI_A5
#define TERN_PMPI_A7 a7, TERN_PMPI_A6
#define TERN_PMPI_A8 a8, TERN_PMPI_A7
#define TERN_PMPI_A9 a9, TERN_PMPI_A8
#define TERN_PMPI_A10 a10, TERN_PMPI_A9
#define TERN_PMPI_A11 a11, TERN_PMPI_A10
#define TERN_PMPI_A12 a12, TERN_PMPI_A11
#define TERN_PMPI_A13 a13, TERN_PMPI_A12
#define TERN_PMPI_NTH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define TERN_PMPI_COUNT(...) TERN_PMPI_NTH(__VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define TERN_PMPI_JOIN_(a, b) a##b
#define TERN_PMPI_JOIN(a, b) TERN_PMPI_JOIN_(a, b)
#define TERN_PMPI_PARAMETERS(...)                                                                  \
    TERN_PMPI_JOIN(TERN_PMPI_P, TERN_PMPI_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TERN_PMPI_ARGUMENTS(...) TERN_PMPI_JOIN(TERN_PMPI_A, TERN_PMPI_COUNT(__VA_ARGS__))

/* The body of the wrapper of function. plain: the call of MPI alone. attentive: the expression used
 * instead while a context exists; it may use `call`. */
#define TERN_PMPI_BODY(function, plain, attentive)                                                 \
    const tern_pmpi_call call = tern_pmpi_call_begin(function);                                    \
    if (call.host == NULL)                                                                         \
        return plain;                                                                              \
    const int code = (attentive);                                                                  \
    tern_pmpi_leave(call);                                                                         \
    return code;

#define TERN_PMPI_WRAP(name, attentive, ...)                                                       \
    TERN_API int MPI_##name(TERN_PMPI_PARAMETERS(__VA_ARGS__)) {                                   \
        TERN_PMPI_BODY("MPI_" #name, PMPI_##name(TERN_PMPI_ARGUMENTS(__VA_ARGS__)), attentive)     \
    }

/* A wrapper that only takes the MPI lock, if the lock is needed, and calls MPI. */
#define LOCKED(name, ...)                                                                          \
    TERN_PMPI_WRAP(name, PMPI_##name(TERN_PMPI_ARGUMENTS(__VA_ARGS__)), __VA_ARGS__)

/* Calls start, the non-blocking function with the same parameters and a request, and waits for the
 * request. */
#define TERN_PMPI_STARTED(start, ...)                                                              \
    __extension__({                                                                                \
        MPI_Request request;                                                                       \
        int started = PMPI_##start(TERN_PMPI_ARGUMENTS(__VA_ARGS__), &request);                    \
        tern_pmpi_finish(call, started, &request, MPI_STATUS_IGNORE);                              \
    })

/* Repeats look, a test of MPI, until it fails or done is true. */
#define TERN_PMPI_AWAIT(done, look)                                                                \
    __extension__({                                                                                \
        tern_wait_state wait = TERN_WAIT_IN(call.function);                                        \
        int looked;                                                                                \
        while ((looked = (look)) == MPI_SUCCESS && !(done))                                        \
            tern_pmpi_pause(call, &wait);                                                          \
        looked;                                                                                    \
    })

/* A wrapper in which all ranks of comm meet before the call of MPI. */
#define MEETING(name, comm, ...)                                                                   \
    TERN_PMPI_WRAP(                                                                                \
        name,                                                                                      \
        TERN_PMPI_THEN(tern_pmpi_meet(call, comm), PMPI_##name(TERN_PMPI_ARGUMENTS(__VA_ARGS__))), \
        __VA_ARGS__)

/* Makes the second call of MPI if the first one succeeds. */
#define TERN_PMPI_THEN(first, second)                                                              \
    __extension__({                                                                                \
        int met = (first);                                                                         \
        met == MPI_SUCCESS ? (second) : met;                                                       \
    })

#endif
