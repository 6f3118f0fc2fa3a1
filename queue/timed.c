#include "queue/queue.h"

#include "src/broken.h"
#include "src/progress/wait.h"

/* Push and pop with a deadline. They draw a ticket only once they know that they can use it, so an
 * operation that gives up leaves nothing behind. */

tern_status tern_queue_deadline(double seconds, uint64_t *until, const char *name) {
    if (!(seconds >= 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: seconds are %g; allowed are 0 and more", name,
                         seconds);
    /* The clock has no room for more than some centuries: a longer wait ends with the clock. */
    const uint64_t end = TERN_QUEUE_FOREVER - 1, now = tern_now();
    *until = seconds < 1e9 ? now + (uint64_t)(seconds * 1e9) : end;
    return TERN_OK;
}

tern_status tern_queue_push_timed(tern_worker *worker, tern_queue *queue, const void *item,
                                  double seconds, tern_flags flags) {
    static const char name[] = "tern_queue_push_timed";
    size_t done;
    tern_queue_run run = {.count = 1};
    tern_status status = tern_queue_deadline(seconds, &run.until, name);
    return status == TERN_OK ? tern_queue_push_by(worker, queue, item, run, flags, &done, name)
                             : status;
}

tern_status tern_queue_pop_timed(tern_worker *worker, tern_queue *queue, void *item, double seconds,
                                 tern_flags flags) {
    static const char name[] = "tern_queue_pop_timed";
    size_t done;
    tern_queue_run run = {.count = 1};
    tern_status status = tern_queue_deadline(seconds, &run.until, name);
    if (status == TERN_OK)
        status = tern_queue_pop_by(worker, queue, item, run, flags, &done, name);
    if (TERN_BROKEN(TERN_BREAK_LATE) && status == TERN_OK && tern_now() > run.until)
        status = TERN_ERR_TIMEOUT;
    return status;
}
