#include "hashtable/table/call.h"

#include "base/process.h"
#include "hashtable/growth/growth.h"
#include "hashtable/op/pool.h"
#include "tern/message.h"

/*
 * Tours: how the owner of a part learns that nobody uses its old arrays any more. Their memory then
 * becomes the next array, so a part in which keys come and go for ever stays of the same size.
 *
 * A tour is a message that visits every worker of every rank, one after the other, and comes back
 * to the owner. Its visit tells the rank where probes of the owner's part start, if the rank does
 * not know yet. It goes on to the next worker only when this one is in no operation on the table
 * that began before the visit. So every later operation of the worker starts in that array or a
 * later one, and when the tour is back, no rank will touch an older array: no get, put,
 * compare-and-swap or fetch-and-add comes too late. (A generation number in each word would not do:
 * it could not refuse a late fetch-and-add.)
 *
 * An operation that waits for the owner to begin a move holds no array meanwhile (op/follow.c), so
 * the tour that the move needs may pass. The short way (near/near.h) makes no progress, so it is
 * over when the handler of a tour runs. All others are counted (tern_table_enter), and
 * tern_ops_hold says which arrays ops hold that are under way and not waited for.
 *
 * No hot path has code for tours. A tour needs the progress of every rank, so a move does not wait
 * for one for ever (may_begin in move.c). If a tour is lost, because a rank had no memory to send
 * it on, the owner sends it again after a while; a tour that comes twice does no harm. Tours are
 * messages: they need no ring, and do not queue behind a call that waits for the move.
 *
 * Where a table does not grow, and not all ranks reach it by load and store, the ranks assume that
 * its keys never move until the first tour tells them otherwise. Before that tour a find in a phase
 * of reads and an insert in a phase of writes cost less.
 */

/* The owner repeats a tour that is not back after 1 s, doubled each time, 10 times at most. */
enum { AGAIN_NS = 1000000000, AGAIN_MOST = 10 };

typedef struct grace_message {
    tern_table_head head;
    uint64_t generation, buckets, count; /* of the array that the owner's probes start in */
    uint32_t owner;
    uint32_t worker;   /* index of the worker that is visited */
    uint32_t waits;    /* 1: it has visited this worker before, which was in an operation */
    uint32_t returned; /* 1: it is back at the owner */
    uint64_t begun;    /* what inside->begun of the worker was then */
} grace_message;

static tern_status tern_hashtable_on_grace(tern_call_info *call, const void *message, size_t bytes);
TERN_FUNCTION(tern_hashtable_on_grace)

/* Sends the tour to a rank. A tour that cannot be sent is lost. */
static void grace_send(tern_worker *worker, uint32_t rank, const grace_message *m) {
    const tern_worker_id next = tern_by_message((tern_worker_id){rank, m->worker});
    if (tern_call_queue(worker, next, &tern_hashtable_on_grace_function, m, sizeof *m) != TERN_OK)
        tern_error_clear();
}

/* Whether the visited worker has left every operation that it was in when the tour first came. The
 * worker does nothing meanwhile but run this handler. Requests may be under way all the time, so
 * each of their ops is asked what it holds (op/op.h); these ops always expect moves. */
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

/* Visits this rank's workers from m->worker on until one holds the tour up. Borrows workers that no
 * thread has, one at a time. [out] m->worker: to visit next; context->workers: all are done. */
static void grace_visit_workers(const tern_hashtable *table, grace_message *m) {
    const tern_context *context = table->context;
    bool passes = worker_is_quiescent(table, m);
    while (passes && ++m->worker < context->workers) {
        tern_worker *next = context->worker[m->worker];
        if (!tern_worker_borrow(next))
            return;
        passes = worker_is_quiescent(table, m);
        tern_worker_give_back(next);
    }
}

static void grace_visit_rank(tern_worker *worker, tern_hashtable *table, grace_message *m) {
    const tern_context *context = table->context;
    tern_growth *growth = table->growth;
    const tern_news news = {.generation = m->generation, .buckets = m->buckets, .count = m->count};
    uint32_t rank = table->rank;
    /* R4; operations that begin after the visit see it, as the visit does */
    atomic_store_explicit(&table->moves, true, memory_order_relaxed);
    if (tern_growth_apply(worker, growth, m->owner, &news) != TERN_OK) {
        tern_error_clear(); /* no memory: the tour is lost */
        return;
    }
    tern_growth_cut(table, m->owner);
    grace_visit_workers(table, m);
    if (m->worker == context->workers) {
        if (m->owner != rank) /* other ranks may still use the owner's */
            tern_growth_forget(worker, growth, m->owner, m->generation, false);
        rank = (rank + 1) % table->ranks;
        m->worker = 0;
        m->returned = rank == m->owner;
    }
    grace_send(worker, rank, m);
}

/* Notes that a tour is back. An older tour may come back after a newer one, and is ignored then. */
static void grace_note_return(tern_growth *growth, uint64_t about) {
    /* R5; all come back to one worker */
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

void tern_grace_init(tern_hashtable *table, bool near) {
    const bool moves = near || table->grows || table->call_only;
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
        tern_news news = growth->news;
        news.moves = 1;
        if (growth->news.moves == 0 && tern_growth_publish(worker, growth, &news) != TERN_OK)
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
    uint32_t behind = 0;
    pthread_mutex_lock(&growth->lock);
    for (const tern_array *a = growth->arrays; a != NULL; a = a->older)
        behind += a->part.buckets.rank == growth->table->rank && &a->part != growth->from;
    pthread_mutex_unlock(&growth->lock);
    return behind;
}
