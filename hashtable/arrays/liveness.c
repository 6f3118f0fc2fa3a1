#include "base/process.h"
#include "hashtable/table/call.h"
#include "hashtable/arrays/arrays.h"
#include "hashtable/bucket/scratch.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

/*
 * Liveness queries. If a bucket says for long that a rank is writing it, it may be damaged. Only
 * that rank knows: it writes a bucket that it reaches by load and store in one go, so a handler of
 * its only worker never runs in the middle. Two cases are different, and the rank knows of them:
 * while a modifier has a bucket, the modifier may make progress (modify.c), and the move of keys
 * keeps a bucket from one round to the next (growth/move.c). A rank that waits for the bucket asks
 * that rank. If the bucket names it wrongly, the rank marks the state as wrong, and every operation
 * that meets the mark ends with TERN_ERR_CORRUPT. Nothing is repaired. A rank that is slow answers
 * late, and a query does no harm if no rank waits for the bucket any more.
 *
 * In a process of several workers the query goes from worker to worker. A worker that runs the
 * handler is not in the middle of a write, and neither is a worker that no thread has. But a worker
 * that was not asked yet may unlock the bucket, and one that was asked may lock it again, in the
 * same state. So the first worker marks the state as suspicious. A worker that has the lock stores
 * over the mark when it unlocks, and no worker can take a lock that is marked. If the last worker
 * still finds the mark, none of them had the lock. The state of a bucket whose key is being
 * inserted never comes back and needs no such mark. Not marked are tables that grow and, in a part
 * that has moved, locks of the owner: the move relies on the state of a bucket that it has locked.
 *
 * Where owners serve put-ifs, the owner writes the new keys of ranks of other nodes for them, in
 * one go and under the lock of MPI. So the owner is asked instead.
 *
 * In the same way a rank asks the owner of a part to write its array descriptor again if that fails
 * its check: a reader cannot tell whether it was just being written or is damaged.
 */

uint64_t tern_liveness_query_ns = 1000000000u;

#define ARRAY_DESCRIPTOR UINT64_MAX

typedef struct liveness_query {
    tern_table_head head;
    uint64_t index; /* of the bucket; ARRAY_DESCRIPTOR: of the part's descriptor */
    uint64_t state;
    uint32_t owner, generation;
    uint32_t worker, unused; /* index of the worker that is asked */
} liveness_query;

static tern_status tern_hashtable_on_liveness_query(tern_call_info *call, const void *message,
                                                    size_t bytes);
TERN_FUNCTION(tern_hashtable_on_liveness_query)

static bool liveness_is_whole(const tern_key_search *p) {
    const tern_shape s = p->table->shape;
    tern_scratch room;
    uint64_t *entry = tern_scratch_take(&room, 8 * tern_entry_words(s));
    if (entry == NULL)
        return true; /* others ask again */
    (void)tern_entry_get(p, s, true, entry);
    const bool whole =
        tern_entry_judge(p->part->nonce, p->index, s, entry, entry + 1) != TERN_ENTRY_INVALID;
    tern_scratch_free(&room);
    return whole;
}

/* This rank is not writing the bucket. Marks it as damaged if it still has the state that others
 * wait for. An unlocked bucket whose entry is whole stays as it is: nobody waits for it. */
static void liveness_deny(const tern_key_search *p, uint64_t state) {
    const tern_growth *growth = p->table->growth;
    /* With several workers is_left_alone has looked after this. */
    if (p->table->context->workers == 1 && growth->held && growth->from == p->part &&
        growth->position == p->index)
        return; /* the move has it */
    if ((state & TERN_KIND) != TERN_LOCKED && liveness_is_whole(p))
        return;
    if (tern_bucket_mark(p, state, tern_state_wrong(state)) == state)
        tern_log(TERN_LOG_ERROR,
                 "bucket %llu of rank %u's part of a hash table has the state %#llx, as if rank %u "
                 "were writing it, which it is not; operations on its key end with "
                 "TERN_ERR_CORRUPT; look for what writes into rank %u's segment",
                 (unsigned long long)p->index, p->part->buckets.rank, (unsigned long long)state,
                 tern_state_writer(state), p->part->buckets.rank);
}

static const tern_table_part *liveness_part_of(const tern_hashtable *table, uint32_t owner,
                                               uint32_t generation) {
    const tern_table_part *part = owner < table->ranks ? &table->part[owner] : NULL;
    while (part != NULL && part->generation != generation)
        /* R1: growth_apply */
        part = atomic_load_explicit(&part->next, memory_order_acquire);
    return part;
}

/* Learns of an array that this rank does not know: a rank that a state names falsely may never have
 * looked for a key there. NULL: load and store do not reach the array, or it does not exist. */
static const tern_table_part *liveness_learn_part(tern_worker *worker, const tern_hashtable *table,
                                                  const liveness_query *query) {
    const bool known = query->owner < table->ranks;
    const tern_table_part *first = known ? &table->part[query->owner] : NULL;
    bool moving;
    if (first == NULL || first->direct == NULL)
        return NULL;
    const tern_key_search p = {worker, table, first, NULL, 0, 0, first->count};
    if (tern_growth_moves(&p, &moving) != TERN_OK)
        tern_error_clear(); /* others ask again */
    return liveness_part_of(table, query->owner, query->generation);
}

/* Marks a lock as suspicious. Returns whether the bucket still is in the state of the query. */
static bool liveness_mark(const tern_key_search *p, uint64_t state) {
    const bool locked = (state & TERN_KIND) == TERN_LOCKED;
    const uint64_t marked = locked ? state | TERN_STATE_SUSPICIOUS : state;
    const uint64_t seen = tern_bucket_mark(p, state, marked);
    return seen == state || seen == marked;
}

/* Passes the query on behind query.worker, which runs this. A worker that no thread has is
 * borrowed, which shows that it is in no operation. The first worker that cannot be borrowed is
 * asked by a call, and this returns false. True: all workers have answered. */
static bool liveness_ask_workers(tern_worker *worker, liveness_query query) {
    tern_context *context = worker->context;
    while (++query.worker < context->workers) {
        tern_worker *next = context->worker[query.worker];
        if (!tern_worker_borrow(next)) {
            if (tern_call_queue(worker, (tern_worker_id){context->rank, query.worker},
                                &tern_hashtable_on_liveness_query_function, &query,
                                sizeof query) != TERN_OK)
                tern_error_clear(); /* others ask again */
            return false;
        }
        tern_worker_give_back(next);
    }
    return true;
}

/* In a process of several workers: whether the lock may be the move's, or one that the move relies
 * on. The owner announces a move before it locks a bucket, so a query that has marked a lock of
 * the move finds the announcement when it looks again. */
static bool is_left_alone(const tern_key_search *p, uint64_t state) {
    const tern_hashtable *table = p->table;
    tern_growth *growth = table->growth;
    if (table->grows || tern_state_writer(state) != p->part->buckets.rank)
        return table->grows;
    pthread_mutex_lock(&growth->lock);
    const bool moved = growth->descriptor.generation > 0 || growth->descriptor.next_buckets != 0;
    pthread_mutex_unlock(&growth->lock);
    return moved;
}

static void liveness_in_turn(const tern_key_search *p, const liveness_query *query) {
    uint64_t state = query->state;
    if (p->table->context->workers > 1) {
        state &= ~TERN_STATE_SUSPICIOUS;
        if (is_left_alone(p, state) || (query->worker == 0 && !liveness_mark(p, state)) ||
            !liveness_ask_workers(p->worker, *query) || is_left_alone(p, state))
            return;
        if ((state & TERN_KIND) == TERN_LOCKED)
            state |= TERN_STATE_SUSPICIOUS;
    }
    liveness_deny(p, state);
}

/* Whether all keys have moved out of the array, as far as this rank knows. Then no operation waits
 * there any more, and the owner may have used the memory for another array, since a grace period
 * told it that this rank knows (growth/grace.c). */
static bool liveness_is_left(const tern_hashtable *table, const tern_table_part *part) {
    return part->generation < tern_table_part_of(table, part->buckets.rank)->generation;
}

/* The rank that knows whether the state of a bucket in owner's part is right: the rank that the
 * state names. If that rank is on another node and the bucket is taken for a new key, it is the
 * owner, which serves the put-if in one go (rma/put_if.c). Only the holder of a lock knows about
 * it: it may keep the lock over several trips (op/remote.c). */
static uint32_t liveness_knower(const tern_hashtable *table, uint32_t owner, uint64_t state) {
    const uint32_t *node = table->context->node, writer = tern_state_writer(state);
    const bool served =
        table->owners_put && (state & TERN_KIND) == TERN_TAKEN && node[writer] != node[owner];
    return served ? owner : writer;
}

/* Answers for a bucket of this rank's part, if its state says that a rank of another node writes
 * it. Any thread may serve such a put-if, under the lock of MPI, so this takes the lock. */
static void liveness_served(const tern_key_search *p, uint64_t state) {
    tern_mpi_lock();
    liveness_deny(p, state);
    tern_mpi_unlock();
}

static void liveness_answer(tern_worker *worker, const tern_hashtable *table,
                            const liveness_query *query) {
    /* R5: modify_see; of this thread's own modifiers, which make progress while they have a bucket
     */
    if (atomic_load_explicit(&table->modifiers, memory_order_relaxed) > 0)
        return;
    const tern_table_part *part = liveness_part_of(table, query->owner, query->generation);
    if (part == NULL && query->index != ARRAY_DESCRIPTOR)
        part = liveness_learn_part(worker, table, query);
    if (query->index == ARRAY_DESCRIPTOR) {
        if (query->owner == table->rank)
            /* R4; a later round looks again */
            atomic_store_explicit(&table->growth->publish_again, true, memory_order_relaxed);
    } else if (part != NULL && part->direct != NULL && query->index < part->count &&
               !liveness_is_left(table, part)) {
        const tern_key_search p = {worker, table, part, NULL, 0, query->index, part->count};
        const uint32_t writer = tern_state_writer(query->state);
        if (writer == table->rank)
            liveness_in_turn(&p, query);
        else if (writer < table->ranks &&
                 liveness_knower(table, query->owner, query->state) == table->rank)
            liveness_served(&p, query->state);
    }
}

static tern_status tern_hashtable_on_liveness_query(tern_call_info *call, const void *message,
                                                    size_t bytes) {
    liveness_query query;
    const tern_hashtable *table = tern_table_of_call(call->worker, message, bytes, sizeof query);
    if (table == NULL || bytes != sizeof query)
        return TERN_OK; /* nobody waits any more */
    tern_read_once(&query, message, sizeof query);
    if (query.worker != call->worker->index)
        return TERN_OK;
    liveness_answer(call->worker, table, &query);
    return TERN_OK;
}

static void liveness_ask(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                         const liveness_query *query) {
    _Atomic uint64_t *asked = &((tern_hashtable *)(uintptr_t)table)->asked;
    const uint64_t now = tern_now();
    /* R4 */
    uint64_t last = atomic_load_explicit(asked, memory_order_relaxed);
    if (now - last < tern_liveness_query_ns ||
        !atomic_compare_exchange_strong_explicit(asked, &last, now, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    if (last == 0)
        return; /* before its first query, too, a process waits for tern_liveness_query_ns */
    if (rank == table->rank && table->context->workers == 1)
        liveness_answer(worker, table, query);
    else if (tern_call_queue(worker, (tern_worker_id){rank, 0},
                             &tern_hashtable_on_liveness_query_function, query,
                             sizeof *query) != TERN_OK)
        tern_error_clear();
}

void tern_bucket_query_liveness(const tern_key_search *p, uint64_t state) {
    const uint32_t writer = tern_state_writer(state);
    const liveness_query query = {
        tern_table_head_to(p->table), p->index, state, p->part->buckets.rank,
        p->part->generation,          0,        0};
    if ((p->part->direct != NULL || p->table->owners_put) && writer < p->table->ranks)
        liveness_ask(p->worker, p->table, liveness_knower(p->table, query.owner, state), &query);
}

void tern_growth_query_descriptor(tern_worker *worker, const tern_hashtable *table, uint32_t rank) {
    const liveness_query query = {tern_table_head_to(table), ARRAY_DESCRIPTOR, 0, rank, 0, 0, 0};
    liveness_ask(worker, table, rank, &query);
}
