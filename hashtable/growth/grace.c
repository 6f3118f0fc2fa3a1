#include "hashtable/table/call.h"

#include "base/process.h"
#include "hashtable/growth/growth.h"
#include "hashtable/op/pool.h"
#include "tern/message.h"

/*
 * Grace periods (quiescent-state reclamation): how the owner of a part learns that no worker uses
 * its old arrays any more. Their memory then becomes the next array, so a part in which keys come
 * and go for ever stays of the same size.
 *
 * A grace period begins when the owner sends a message, which visits every worker of every rank,
 * one after the other. It is over when the message is back at the owner. Each visit tells the rank
 * where probes of the owner's part start, if the rank does not know yet. The message goes on to the
 * next worker only when this one is quiescent: in no operation on the table that began before the
 * visit. Every later operation of the worker starts in that array or a later one. So after the
 * grace period no rank touches an older array: no get, put, compare-and-swap or fetch-and-add comes
 * too late. (A generation number in each word would not do: it could not refuse a late
 * fetch-and-add.)
 *
 * An operation that waits for the owner to begin a move holds no array meanwhile (op/follow.c), so
 * it does not hold up the grace period that the move needs. The short path (bucket/short.h) makes
 * no progress, so it has ended when the handler of the message runs. All other operations are
 * counted (tern_table_enter), and tern_ops_hold says which arrays are held by ops that are under
 * way while their caller does something else.
 *
 * No hot path has code for grace periods. They need the progress of every rank, so a move does not
 * wait for one for ever (may_begin in move.c). If a rank has no memory to send the message on, the
 * message is lost, and the owner sends it again after a while; a message that comes twice does no
 * harm. It needs no ring, and does not queue behind a call that waits for the move.
 *
 * Where a table does not grow, and not all ranks reach it by load and store, the ranks assume that
 * its keys never move until the first message tells them otherwise. Before that a find in a phase
 * of reads and an insert in a phase of writes cost less.
 */

/* The owner sends the message again after 1 s if it is not back. The time doubles 10 times. */
enum { AGAIN_NS = 1000000000, AGAIN_MOST = 10 };

typedef struct grace_message {
    tern_table_head head;
    uint64_t generation, buckets, count; /* of the array that the owner's probes start in */
    uint32_t owner;
    uint32_t worker;   /* index of the worker that is visited */
    uint32_t waits;    /* 1: at its last visit this worker was in an operation */
    uint32_t returned; /* 1: the message is back at the owner */
    uint64_t begun;    /* what inside->begun of the worker was at that visit */
} grace_message;

static tern_status tern_hashtable_on_grace(tern_call_info *call, const void *message, size_t bytes);
TERN_FUNCTION(tern_hashtable_on_grace)

/* Sends the message to a rank. A message that cannot be sent is lost. */
static void grace_send(tern_worker *worker, uint32_t rank, const grace_message *m) {
    const tern_worker_id next = tern_by_message((tern_worker_id){rank, m->worker});
    if (tern_call_queue(worker, next, &tern_hashtable_on_grace_function, m, sizeof *m) != TERN_OK)
        tern_error_clear();
}

/* Whether the visited worker has left every operation that it was in at the first visit. The worker
 * does nothing meanwhile but run this handler. Requests may be under way all the time, so each of
 * their ops is asked which array it holds (op/op.h); these ops always expect moves. */
static bool worker_is_quiescent(const tern_hashtable *table, grace_message *m) {
    const tern_table_inside *inside = &table->inside[m->worker];
    const bool waits = m->waits != 0;
    if (tern_ops_hold(table, m->worker, m->owner, m->generation))
        return false;
    if (inside->operations == 0 || (waits && inside->begun != m->begun)) {
        m->waits = 0;
        return true;
    }
    m->waits = 1;
    m->begun = inside->begun;
    return false;
}

/* Visits this rank's workers from m->worker on, up to the first one that is not quiescent. Borrows
 * workers that no thread has, one at a time. [out] m->worker: the worker to visit next, or
 * context->workers after the last one. */
static void grace_visit_workers(const tern_hashtable *table, grace_message *m) {
    const tern_context *context = table->context;
    bool quiescent = worker_is_quiescent(table, m);
    while (quiescent && ++m->worker < context->workers) {
        tern_worker *next = context->worker[m->worker];
        if (!tern_worker_borrow(next))
            return;
        quiescent = worker_is_quiescent(table, m);
        tern_worker_give_back(next);
    }
}

static void grace_visit_rank(tern_worker *worker, tern_hashtable *table, grace_message *m) {
    const tern_context *context = table->context;
    tern_growth *growth = table->growth;
    const tern_array_descriptor descriptor = {
        .generation = m->generation, .buckets = m->buckets, .count = m->count};
    uint32_t rank = table->rank;
    /* R4; operations that begin after the visit see it, as the visit does */
    atomic_store_explicit(&table->moves, true, memory_order_relaxed);
    if (tern_growth_apply(worker, growth, m->owner, &descriptor) != TERN_OK) {
        tern_error_clear(); /* no memory: the message is lost */
        return;
    }
    tern_growth_cut(table, m->owner);
    grace_visit_workers(table, m);
    if (m->worker == context->workers) {
        if (m->owner != rank) /* other ranks may still use the owner's arrays */
            tern_growth_forget(worker, growth, m->owner, m->generation, false);
        rank = (rank + 1) % table->ranks;
        m->worker = 0;
        m->returned = rank == m->owner;
    }
    grace_send(worker, rank, m);
}

/* Notes that a message is back. The message of an older grace period may come back after that of a
 * newer one, and is ignored then. */
static void grace_note_return(tern_growth *growth, uint64_t about) {
    /* R5; all messages come back to one worker */
    if (atomic_load_explicit(&growth->grace_returned, memory_order_relaxed) < about)
        /* R1: tern_grace_is_over */
        atomic_store_explicit(&growth->grace_returned, about, memory_order_release);
}

static tern_status tern_hashtable_on_grace(tern_call_info *call, const void *message,
                                           size_t bytes) {
    grace_message m;
    tern_hashtable *table = tern_table_of_call(call->worker, message, bytes, sizeof m);
    if (table == NULL || bytes != sizeof m)
        return TERN_OK; /* the table is gone */
    tern_read_once(&m, message, sizeof m);
    if (m.worker != call->worker->index || m.owner >= table->ranks)
        return TERN_OK;
    if (m.returned == 0)
        grace_visit_rank(call->worker, table, &m);
    else if (m.owner == table->rank)
        grace_note_return(table->growth, m.generation + 1);
    return TERN_OK;
}

void tern_grace_init(tern_hashtable *table, bool direct) {
    const bool moves = direct || table->grows || table->call_only;
    /* R9: tern_hashtable_create; nobody uses the table yet */
    atomic_store_explicit(&table->moves, moves, memory_order_relaxed);
    atomic_store_explicit(&table->growth->grace_returned, moves, memory_order_relaxed);
    table->asks = !moves;
}

bool tern_grace_is_over(const tern_growth *growth) {
    /* R1: tern_hashtable_on_grace */
    return atomic_load_explicit(&growth->grace_returned, memory_order_acquire) >
           growth->from->generation;
}

void tern_grace_advance(tern_worker *worker, tern_growth *growth) {
    const tern_hashtable *table = growth->table;
    const tern_table_part *from = growth->from;
    const uint64_t about = from->generation + UINT64_C(1);
    if (growth->grace_for == 0 && growth->grace_done == about)
        return;
    if (tern_grace_is_over(growth)) {
        tern_array_descriptor descriptor = growth->descriptor;
        descriptor.moves = 1;
        if (growth->descriptor.moves == 0 &&
            tern_growth_publish(worker, growth, &descriptor) != TERN_OK)
            return;
        tern_growth_forget(worker, growth, table->rank, from->generation, true);
        growth->grace_done = about;
        growth->grace_for = 0;
        return;
    }
    if (from->generation == 0 && !growth->needs_grace)
        return;
    const uint64_t now = tern_now();
    growth->times = growth->grace_for == about ? growth->times : 0;
    if (growth->times > 0 && now - growth->sent < (uint64_t)AGAIN_NS << (growth->times - 1))
        return;
    growth->grace_for = about;
    growth->sent = now;
    growth->times += growth->times <= AGAIN_MOST;
    const grace_message m = {.head = tern_table_head_to(table),
                             .generation = from->generation,
                             .buckets = from->buckets.offset,
                             .count = from->count,
                             .owner = table->rank};
    grace_send(worker, table->rank, &m);
}

uint32_t tern_grace_pending(tern_growth *growth) {
    uint32_t pending = 0;
    pthread_mutex_lock(&growth->lock);
    for (const tern_array *a = growth->arrays; a != NULL; a = a->older)
        pending += a->part.buckets.rank == growth->table->rank && &a->part != growth->from;
    pthread_mutex_unlock(&growth->lock);
    return pending;
}
