#include "queue/algorithm.h"
#include "queue/phase.h"
#include "queue/slot.h"
#include "src/phase.h"

/*
 * The end of a phase of pushes alone or of pops alone. During the phase, ranks draw tickets and
 * leave no mark that the tickets are done. At the end all tickets are done. Each process therefore
 * raises the words pushed and popped past its own last ticket; after the barrier the words are past
 * every rank's last ticket.
 */

static tern_status raise(tern_worker *worker, tern_ptr word, _Atomic uint64_t *left) {
    uint64_t mine = tern_queue_known(left), now = 0;
    if (mine == 0)
        return TERN_OK;
    tern_status status = tern_atomic_load(worker, word, &now);
    while (status == TERN_OK && now < mine) {
        uint64_t seen;
        status = tern_atomic_cas(worker, word, now, mine, &seen);
        now = seen == now ? mine : seen;
    }
    /* Another worker of this process may have raised left meanwhile; then it stays. */
    if (status == TERN_OK)
        /* R9: tern_phase_end */
        atomic_compare_exchange_strong_explicit(left, &mine, 0, memory_order_relaxed,
                                                memory_order_relaxed);
    return status;
}

tern_status tern_queue_settle(tern_worker *worker, tern_queue *q) {
    tern_status status = raise(worker, q->pushed, &q->phase_pushed);
    return status == TERN_OK ? raise(worker, q->popped, &q->phase_popped) : status;
}

static tern_status settle(tern_worker *worker, tern_phase_hook *hook) {
    return tern_queue_settle(worker,
                             (tern_queue *)(void *)((char *)hook - offsetof(tern_queue, hook)));
}

void tern_queue_join_phases(tern_queue *q) {
    q->hook.run = settle;
    tern_phase_add(q->context, &q->hook);
}

void tern_queue_leave_phases(tern_queue *q) { tern_phase_remove(q->context, &q->hook); }
