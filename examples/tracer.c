/* A tool that counts some of a program's calls of tern: it defines functions of the same names,
 * which count and go on to the library's own by their second names. A program links it in front of
 * libtern, or loads it with LD_PRELOAD. */
#include <stdio.h>
#include <tern/tern.h>

extern __typeof__(tern_fence) ptern_fence;
extern __typeof__(tern_queue_push) ptern_queue_push;
extern __typeof__(tern_context_destroy) ptern_context_destroy;

static _Thread_local int fences, pushes;

TERN_API tern_status tern_fence(tern_worker *worker, uint32_t rank) {
    fences++;
    return ptern_fence(worker, rank);
}

TERN_API tern_status tern_queue_push(tern_worker *worker, tern_queue *queue, const void *item,
                                     tern_flags flags) {
    pushes++;
    return ptern_queue_push(worker, queue, item, flags);
}

TERN_API tern_status tern_context_destroy(tern_context *context) {
    const uint32_t rank = context != NULL ? tern_context_rank(context) : 0;
    printf("tracer: rank %u has called tern_fence %d times, tern_queue_push %d\n", rank, fences,
           pushes);
    return ptern_context_destroy(context);
}
