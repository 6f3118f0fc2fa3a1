/* Stands between a program that is compiled with TERN_NO_INLINE and the library, for functions that
 * headers inline elsewhere. The headers define these functions, so they are taken in a way that
 * lets this file define them again. */

#define TERN_INLINE extern inline __attribute__((gnu_inline))
#include <stdio.h>
#include <tern/tern.h>

extern __typeof__(tern_put) ptern_put;
extern __typeof__(tern_get) ptern_get;
extern __typeof__(tern_flush) ptern_flush;
extern __typeof__(tern_atomic_fetch_add) ptern_atomic_fetch_add;
extern __typeof__(tern_call) ptern_call;
extern __typeof__(tern_context_destroy) ptern_context_destroy;

static int puts_seen, gets_seen, flushes_seen, adds_seen, calls_seen;

tern_status tern_put(tern_worker *worker, tern_ptr to, const void *from, size_t bytes) {
    puts_seen++;
    return ptern_put(worker, to, from, bytes);
}

tern_status tern_get(tern_worker *worker, void *to, tern_ptr from, size_t bytes) {
    gets_seen++;
    return ptern_get(worker, to, from, bytes);
}

tern_status tern_flush(tern_worker *worker, uint32_t rank) {
    flushes_seen++;
    return ptern_flush(worker, rank);
}

tern_status tern_atomic_fetch_add(tern_worker *worker, tern_ptr p, uint64_t operand,
                                  uint64_t *old) {
    adds_seen++;
    return ptern_atomic_fetch_add(worker, p, operand, old);
}

tern_status tern_call(tern_worker *worker, tern_worker_id target, const tern_function *function,
                      const void *arguments, size_t bytes) {
    calls_seen++;
    return ptern_call(worker, target, function, arguments, bytes);
}

TERN_API tern_status tern_context_destroy(tern_context *context) {
    printf("puts %d gets %d flushes %d adds %d calls %d\n", puts_seen, gets_seen, flushes_seen,
           adds_seen, calls_seen);
    return ptern_context_destroy(context);
}
