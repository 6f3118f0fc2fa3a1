#include "queue/ticket.h"
#include "queue/queue.h"
#include "queue/slot.h"
#include "src/collective/collective.h"

/*
 * The end of a phase of pops alone. During the phase, ranks draw tickets and do not mark them as
 * done, except by turns that a store reaches. At the end all tickets are done. Each
 * process therefore raises the word popped past its own last ticket; after the barrier the word is
 * past every rank's last ticket.
 */

tern_status tern_queue_settle(tern_worker *worker, tern_queue *q) {
    uint64_t mine = tern_queue_known(&q->phase_popped), now = 0;
    if (mine == 0)
        return TERN_OK;
    tern_status status = tern_atomic_load(worker, q->popped, &now);
    while (status == TERN_OK && now < mine) {
        uint64_t seen;
        status = tern_atomic_cas(worker, q->popped, now, mine, &seen);
        now = seen == now ? mine : seen;
    }
    /* Another worker of this process may have raised phase_popped meanwhile; then it stays. */
    if (status == TERN_OK)
        /* R9: tern_phase_end */
        atomic_compare_exchange_strong_explicit(&q->phase_popped, &mine, 0, memory_order_relaxed,
                                                memory_order_relaxed);
    return status;
}

static tern_status queue_settle(tern_worker *worker, tern_phase_hook *hook) {
    return tern_queue_settle(worker,
                             (tern_queue *)(void *)((char *)hook - offsetof(tern_queue, hook)));
}

void tern_queue_join_phases(tern_queue *q) {
    q->hook.run = queue_settle;
    tern_phase_add(q->context, &q->hook);
}

void tern_queue_leave_phases(tern_queue *q) { tern_phase_remove(q->context, &q->hook); }
