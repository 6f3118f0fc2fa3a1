#include "queue/ticket.h"
#include "rma/transfer.h"

enum { STEPS_PER_LOOK = 16 }; /* of a wait, at the queue's words for damage */

tern_status tern_queue_wait(tern_worker *worker, tern_queue *q, tern_queue_waiting *wait,
                            uint64_t until, tern_queue_due due, uint64_t ticket) {
    tern_context *context = worker->context;
    (void)tern_queue_settle(worker, q); /* this process's own ticket may be the one waited for */
    const bool comes_back = worker->in_handler || worker->in_progress;
    /* A look reads the cache lines that pushes and pops write, so this looks only now and then. */
    const tern_status damage =
        comes_back || wait->step.rounds % STEPS_PER_LOOK == STEPS_PER_LOOK - 1
            ? tern_queue_look_for_damage(worker, q, &wait->watch, due, ticket)
            : TERN_OK;
    if (damage != TERN_OK)
        return damage;
    if (comes_back) {
        /* The caller of an operation by call waits for the host alone, and so does not notice
         * that another rank is dead. The host tells it here. */
        tern_peers_look(&context->peers);
        uint32_t dead = tern_peers_dead(&context->peers);
        return dead != TERN_NOBODY
                   ? tern_peer_fail(dead)
                   : tern_fail(
                         TERN_ERR_AGAIN,
                         "no room or no item now, and a handler does not wait; try again later");
    }
    /* A round trip to the host may take long, and tern_wait_step looks at the peers only now and
     * then. */
    if (due == TERN_DUE_NEVER && wait->step.rounds % STEPS_PER_LOOK == 0)
        tern_peers_look(&context->peers);
    if (due == TERN_DUE_NEVER && tern_peers_dead(&context->peers) != TERN_NOBODY)
        return tern_peer_fail(tern_peers_dead(&context->peers));
    if (until != TERN_QUEUE_TRY && until != TERN_QUEUE_FOREVER && tern_now() >= until)
        return TERN_ERR_TIMEOUT;
    tern_status status = tern_puts_deliver(worker);
    if (status != TERN_OK)
        return status;
    wait->step.what = due == TERN_DUE_ITEM ? "an item, ticket" : "room, ticket";
    wait->step.number = ticket;
    /* Other ranks that wait by call keep this rank's progress busy. The wait must not start anew
     * because of that, or it would never check whether a peer has died. */
    (void)tern_progress_round(worker);
    return tern_wait_step(context, &wait->step, TERN_ANYBODY);
}
