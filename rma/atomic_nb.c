#include "rma/state.h"

#include "rma/transport/remote.h"
#include "rma/transport/mpi_rma.h"
#include "src/progress/wait.h"

/* Whether it is a word of another node that takes atomics from there. */
static bool is_far(const tern_context *context, tern_ptr p) {
    return p.rank < context->size && !tern_is_near(context, p.rank) && p.segment == 0 &&
           (p.domain == TERN_DOMAIN_OWNER || p.domain == TERN_DOMAIN_GLOBAL);
}

/* Whether its owner applies it on receipt of a message. */
static bool by_message(const tern_context *context, tern_ptr p) {
    const tern_window *window = tern_rma_of(context)->window;
    return p.domain == TERN_DOMAIN_OWNER || window == NULL || !tern_window_has_atomics(window);
}

tern_status tern_atomic_nb(tern_worker *worker, tern_ptr p, tern_atomic_op op, uint64_t operand,
                           uint64_t expected, uint64_t *old, tern_request *request) {
    tern_context *context = worker->context;
    const tern_transport_ops *far = tern_rma_of(context)->far;
    uint64_t offset = 0;
    request->state[0] = 0;
    void *word = tern_atomic_address(worker, p, 8);
    if (word != NULL) {
        *old = tern_atomic_apply(word, op, 8, operand, expected);
        return TERN_OK;
    }
    if (p.offset % 8 != 0 || worker->in_handler || !is_far(context, p))
        return tern_atomic_far(worker, p, op, 8, operand, expected, old);
    tern_status status = tern_segment_check(context, p, 8, &offset);
    if (status != TERN_OK)
        return status;
    if (!by_message(context, p)) {
        worker->stats.atomics++;
        return far->atomic(worker, p.rank, offset, op, 8, operand, expected, old);
    }
    tern_message message = {.kind = TERN_MESSAGE_ATOMIC,
                            .origin = worker->id,
                            .offset = offset,
                            .bytes = (uint64_t)op | UINT64_C(8) << 8,
                            .operand = {operand, expected}};
    MPI_Request answer;
    tern_wait_state wait = TERN_WAIT_IN("an atomic on another node");
    worker->stats.atomics++;
    while ((status = tern_message_ask(worker, p.rank, &message, old, sizeof *old, &answer)) ==
           TERN_ERR_AGAIN) {
        if (tern_progress_round(worker) + far->poll(worker) > 0)
            continue;
        status = tern_wait_step(context, &wait, p.rank);
        if (status != TERN_OK)
            return status;
    }
    if (status == TERN_OK)
        tern_request_set(request, p.rank, answer, NULL);
    return status;
}
