#include "queue/ending.h"

#include <stdlib.h>

#include "base/process.h"
#include "tern/call.h"
#include "tern/transfer.h"

typedef struct ending_message {
    uint64_t nonce, round;
    tern_ending_sums sums;
    uint32_t child;
    uint32_t ended; /* of a verdict */
} ending_message;

/* The worker that makes progress inside calls of MPI shares the line of the first worker. */
static tern_ending_line *line_of(const tern_worker *worker, const tern_ending *ending) {
    return &ending->lines[worker->index == TERN_NO_WORKER ? 0 : worker->index];
}

static uint32_t first_child(const tern_context *context) {
    return context->rank * TERN_ENDING_CHILDREN + 1;
}

static uint32_t children(const tern_context *context) {
    const uint64_t first = (uint64_t)context->rank * TERN_ENDING_CHILDREN + 1;
    const uint64_t after = first >= context->size ? 0 : context->size - first;
    return after < TERN_ENDING_CHILDREN ? (uint32_t)after : TERN_ENDING_CHILDREN;
}

static tern_ending *ending_of_call(const tern_call_info *call, const void *arguments, size_t bytes,
                                   ending_message *message) {
    if (bytes != sizeof *message)
        return NULL;
    tern_read_once(message, arguments, sizeof *message);
    return tern_callee_find(call->worker->context, TERN_CALLEE_ENDING, message->nonce);
}

/* Drops a report for a queue that is gone: the work has ended, or a rank has died. */
static tern_status tern_ending_on_report(tern_call_info *call, const void *arguments,
                                         size_t bytes) {
    ending_message m;
    tern_ending *ending = ending_of_call(call, arguments, bytes, &m);
    if (ending == NULL || m.child >= TERN_ENDING_CHILDREN)
        return TERN_OK;
    ending->child[m.child].sums = m.sums;
    /* R1: all_reported */
    atomic_store_explicit(&ending->child[m.child].round, m.round, memory_order_release);
    return TERN_OK;
}
TERN_FUNCTION(tern_ending_on_report)

static tern_status tern_ending_on_verdict(tern_call_info *call, const void *arguments,
                                          size_t bytes) {
    ending_message m;
    tern_ending *ending = ending_of_call(call, arguments, bytes, &m);
    if (ending != NULL)
        /* R1: report_and_pass_verdict */
        atomic_store_explicit(&ending->verdict, 2 * m.round + m.ended, memory_order_release);
    return TERN_OK;
}
TERN_FUNCTION(tern_ending_on_verdict)

tern_status tern_ending_open(tern_context *context, tern_ending *ending, tern_queue *parts) {
    const size_t bytes = context->workers * sizeof *ending->lines;
    ending->lines = aligned_alloc(_Alignof(tern_ending_line), bytes);
    if (ending->lines == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for what %u workers hold of a queue",
                         context->workers);
    memset(ending->lines, 0, bytes);
    ending->context = context;
    ending->parts = parts;
    ending->nonce = parts[0].nonce;
    ending->round = 1;
    /* R9: tern_callee_add; nobody has the queue yet */
    atomic_flag_clear_explicit(&ending->stepping, memory_order_relaxed);
    tern_callee_add(context, &ending->callee, TERN_CALLEE_ENDING, ending->nonce, ending);
    return TERN_OK;
}

void tern_ending_close(tern_ending *ending) {
    if (ending->context != NULL)
        tern_callee_remove(ending->context, &ending->callee);
    free(ending->lines);
}

void tern_ending_take(tern_worker *worker, tern_ending *ending, size_t items) {
    /* R4 */
    atomic_fetch_add_explicit(&line_of(worker, ending)->held, items, memory_order_relaxed);
}

void tern_ending_finish(tern_worker *worker, tern_ending *ending) {
    tern_ending_line *line = line_of(worker, ending);
    /* R4 */
    const uint64_t held =
        worker->in_handler ? 0 : atomic_load_explicit(&line->held, memory_order_relaxed);
    /* R4 */
    atomic_fetch_sub_explicit(&line->held, held, memory_order_relaxed);
    /* R8: count; what the work has pushed comes before */
    atomic_fetch_add_explicit(&line->finished, held, memory_order_release);
}

void tern_ending_hold(const tern_worker *worker, tern_ending *ending) {
    /* R8: count */
    atomic_fetch_add_explicit(&line_of(worker, ending)->holds, 1, memory_order_release);
}

void tern_ending_release(const tern_worker *worker, tern_ending *ending) {
    /* R8: count */
    atomic_fetch_add_explicit(&line_of(worker, ending)->finished, 1, memory_order_release);
}

bool tern_ending_has_come(const tern_worker *worker, tern_ending *ending) {
    tern_ending_line *line = line_of(worker, ending);
    /* R1: report_and_pass_verdict */
    if (line->seen == atomic_load_explicit(&ending->ends, memory_order_acquire))
        return false;
    line->seen++;
    return true;
}

/* [out] sums: this rank's own numbers. */
static tern_status count(tern_worker *worker, const tern_ending *ending, tern_ending_sums *sums) {
    uint64_t pushed = 0;
    tern_status status =
        tern_atomic_load(worker, ending->parts[ending->context->rank].tail, &pushed);
    *sums = (tern_ending_sums){.begun = pushed};
    for (uint32_t i = 0; i < ending->context->workers; i++) {
        /* R8: tern_ending_finish, tern_ending_release */
        sums->finished += atomic_load_explicit(&ending->lines[i].finished, memory_order_acquire);
        /* R8: tern_ending_hold */
        sums->begun += atomic_load_explicit(&ending->lines[i].holds, memory_order_acquire);
    }
    return status;
}

/* Whether all children have reported in this round. [in,out] sums: their sums are added. */
static bool all_reported(const tern_ending *ending, tern_ending_sums *sums) {
    for (uint32_t c = 0; c < children(ending->context); c++) {
        /* R1: tern_ending_on_report */
        if (atomic_load_explicit(&ending->child[c].round, memory_order_acquire) != ending->round)
            return false;
        sums->begun += ending->child[c].sums.begun;
        sums->finished += ending->child[c].sums.finished;
    }
    return true;
}

/* At rank 0: compares the sums and sets the verdict of the round. */
static void decide(tern_ending *ending, tern_ending_sums sums) {
    const bool ended = ending->counted && sums.begun == ending->finished;
    ending->counted = !ended;
    ending->finished = sums.finished;
    /* R9: report_and_pass_verdict; the thread that steps reads it */
    atomic_store_explicit(&ending->verdict, 2 * ending->round + ended, memory_order_relaxed);
}

static tern_status tell(tern_worker *worker, uint32_t rank, const tern_function *function,
                        const tern_ending *ending, ending_message message) {
    const tern_queue *part = &ending->parts[rank];
    message.nonce = ending->nonce;
    message.round = ending->round;
    return tern_call_try(worker, tern_container_worker(ending->context, rank, part->host_worker),
                         function, &message, sizeof message);
}

static tern_status report(tern_worker *worker, tern_ending *ending) {
    const uint32_t rank = worker->context->rank;
    tern_ending_sums sums;
    tern_status status = count(worker, ending, &sums);
    if (status != TERN_OK || !all_reported(ending, &sums))
        return status;
    if (rank == 0)
        decide(ending, sums);
    else
        status =
            tell(worker, (rank - 1) / TERN_ENDING_CHILDREN, &tern_ending_on_report_function, ending,
                 (ending_message){.sums = sums, .child = (rank - 1) % TERN_ENDING_CHILDREN});
    ending->reported = status == TERN_OK;
    return status;
}

/* Reports to the parent if that is due. If the verdict on the round has come, passes it to the
 * children and begins the next round. The caller holds ending->stepping. */
static tern_status report_and_pass_verdict(tern_worker *worker, tern_ending *ending) {
    const tern_context *context = worker->context;
    tern_status status = ending->reported ? TERN_OK : report(worker, ending);
    /* R1: tern_ending_on_verdict */
    const uint64_t verdict = atomic_load_explicit(&ending->verdict, memory_order_acquire);
    if (verdict / 2 != ending->round) /* no verdict of this round yet */
        return status;
    const ending_message message = {.ended = verdict % 2};
    for (; ending->told < children(context) && status == TERN_OK; ending->told += status == TERN_OK)
        status = tell(worker, first_child(context) + ending->told, &tern_ending_on_verdict_function,
                      ending, message);
    if (status == TERN_OK && message.ended)
        status = tern_call_flush_all(worker); /* the program may make no progress any more */
    if (status != TERN_OK)
        return status;
    ending->reported = false;
    ending->told = 0;
    ending->round++;
    /* R8: tern_ending_has_come */
    atomic_fetch_add_explicit(&ending->ends, verdict % 2, memory_order_release);
    return TERN_OK;
}

tern_status tern_ending_step(tern_worker *worker, tern_ending *ending) {
    /* R6: tern_ending_step */
    if (atomic_flag_test_and_set_explicit(&ending->stepping, memory_order_acquire))
        return TERN_OK;
    const tern_status status = report_and_pass_verdict(worker, ending);
    /* R6: tern_ending_step */
    atomic_flag_clear_explicit(&ending->stepping, memory_order_release);
    return status == TERN_ERR_AGAIN ? TERN_OK : status;
}
