#include <stddef.h>

#include "hashtable/growth/growth.h"
#include "hashtable/bucket/scratch.h"
#include "hashtable/op/op.h"
#include "rma/transfer.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/profile/profile.h"

/*
 * The owner's side of growth: decides whether its part grows, and moves the keys. It runs as a
 * task, in progress, so nothing here waits: a step that would have to wait returns TERN_ERR_AGAIN,
 * and the next round of progress repeats it from the same position.
 */

enum { BUCKETS_PER_ROUND = 256, BYTES_PER_ROUND = 64 << 10 };

/* may_begin waits for a grace period for 1 ms, doubled ten times at most; for 10 s before a first
 * move. */
enum { PATIENCE_NS = 1000000, PATIENCE_MOST = 10 };
#define FIRST_PATIENCE_NS UINT64_C(10000000000)

/* Bucket count of the next array: small arrays grow fourfold, larger ones twofold. */
static uint64_t move_widened(uint64_t count) { return count < 4096 ? 4 * count : 2 * count; }

static tern_key_search search_at(tern_worker *worker, const tern_growth *growth,
                                 const tern_table_part *part, uint64_t index) {
    return (tern_key_search){worker, growth->table, part, NULL, 0, index, part->count};
}

/* [out] memory: for count buckets, of an array that all ranks have left, or else new memory. */
static tern_status take_memory(tern_worker *worker, tern_growth *growth, uint64_t count,
                               tern_ptr *memory) {
    const tern_hashtable *table = growth->table;
    const tern_table_part *first = &table->part[table->rank];
    if (tern_grace_is_over(growth) && count == first->count &&
        growth->from->buckets.offset != first->buckets.offset) {
        *memory = first->buckets;
        return TERN_OK;
    }
    if (growth->spare_count == count) {
        *memory = growth->spare;
        growth->spare_count = 0;
        growth->spare = TERN_NULL;
        return TERN_OK;
    }
    return tern_alloc(worker, count * table->shape.stride, 0, (tern_domain)first->buckets.domain,
                      memory);
}

static void give_memory(tern_worker *worker, const tern_growth *growth, tern_ptr memory) {
    const tern_hashtable *table = growth->table;
    if (memory.offset != table->part[table->rank].buckets.offset)
        tern_ignore(tern_free(worker, memory));
}

static tern_status move_refuse(tern_worker *worker, tern_growth *growth) {
    tern_array_descriptor descriptor = growth->descriptor;
    descriptor.refused++;
    return tern_growth_publish(worker, growth, &descriptor);
}

static tern_status move_begin(tern_worker *worker, tern_growth *growth, uint64_t count) {
    const tern_hashtable *table = growth->table;
    const uint64_t generation = growth->descriptor.generation;
    tern_ptr memory = TERN_NULL;
    tern_status status = take_memory(worker, growth, count, &memory);
    if (status == TERN_OK) {
        pthread_mutex_lock(&growth->lock);
        growth->to =
            tern_growth_describe(worker, growth, table->rank, generation + 1, memory.offset, count);
        pthread_mutex_unlock(&growth->lock);
        growth->cleared = growth->position = 0;
        if (growth->to != NULL)
            return TERN_OK;
        give_memory(worker, growth, memory);
    }
    return move_refuse(worker, growth);
}

/* Whether a move into an array of the same size may begin. The new array normally takes the memory
 * of an old one, once every rank has left that. If a rank takes too long, the move begins in new
 * memory instead, so it waits for no rank for ever. The patience doubles with each array that some
 * rank has not left, PATIENCE_MOST times at most: until then the memory in use grows with the
 * logarithm of the time that the slow rank takes, and from then on by one array each time. The
 * first move of a part that other ranks assume never to move needs all of them: operations that
 * wait for it are refused after FIRST_PATIENCE_NS, and later ones at once, until the grace period
 * is over. */
static bool may_begin(tern_worker *worker, tern_growth *growth, unsigned char urgency) {
    tern_peers *peers = &worker->context->peers;
    if (tern_grace_is_over(growth))
        return true;
    growth->needs_grace = true;
    tern_grace_advance(worker, growth);
    if (urgency != TERN_GROW_NOW)
        return false;
    tern_peers_look(peers);
    const bool dead = tern_peers_dead(peers) != TERN_NOBODY;
    const uint64_t now = tern_now();
    const uint32_t pending = tern_grace_pending(growth);
    const bool first = growth->descriptor.moves == 0;
    const uint32_t most = PATIENCE_MOST, doubled = pending < most ? pending : most;
    const uint64_t patience = first ? FIRST_PATIENCE_NS : (uint64_t)PATIENCE_NS << doubled;
    growth->since = growth->since == 0 ? now : growth->since;
    if (!dead && !growth->gave_up && now - growth->since < patience)
        return false;
    growth->since = 0;
    growth->gave_up = first;
    if (!first)
        return true;
    (void)move_refuse(worker, growth);
    return false;
}

/* Decides about a request for a larger part. Keys with a bad hash make long probes and ask for
 * growth again and again, although the part is nearly empty: each request that was declined doubles
 * the number of requests that are ignored before the next look. A part that is full is looked at
 * each time. */
static size_t move_consider(tern_worker *worker, tern_growth *growth, unsigned char urgency) {
    const tern_hashtable *table = growth->table;
    tern_fill fill;
    if (urgency == TERN_GROW_SOON && growth->ignored < (UINT32_C(1) << growth->declined)) {
        growth->ignored++;
        return 0;
    }
    growth->ignored = 0;
    if (tern_fill_look(worker, table, &fill) != TERN_OK)
        return 0;
    if (!tern_fill_is_full(&fill)) {
        growth->declined += growth->declined < 8;
        return 0;
    }
    const uint32_t declined = growth->declined;
    const uint64_t count = growth->from->count;
    const bool widens = table->grows && tern_fill_must_widen(&fill);
    if (!tern_fill_is_worth(table, &fill, urgency)) {
        growth->declined += growth->declined < 8;
        return urgency == TERN_GROW_NOW && move_refuse(worker, growth) == TERN_OK;
    }
    if (!widens && !may_begin(worker, growth, urgency))
        return 0;
    (void)move_begin(worker, growth, widens ? move_widened(count) : count);
    /* If there is no memory now, there will most likely be none at the next request either. */
    growth->declined = growth->to != NULL ? 0 : declined + (declined < 8);
    return 1;
}

/* Tells other ranks of the new array, which is clear now. The room for new keys is three quarters
 * of its buckets, less the buckets of the old array, whose keys are still to come. */
static tern_status move_announce(tern_worker *worker, tern_growth *growth) {
    const tern_hashtable *table = growth->table;
    const uint64_t most = growth->to->count / 4 * 3, kept = growth->from->count;
    tern_array_descriptor descriptor = growth->descriptor;
    descriptor.next_buckets = growth->to->buckets.offset;
    descriptor.next_count = growth->to->count;
    descriptor.refused = 0;
    tern_status status = tern_atomic_store(
        worker, tern_anchor_gaddr(table, table->rank, offsetof(tern_anchor, room)),
        most > kept ? most - kept : 0);
    return status == TERN_OK ? tern_growth_publish(worker, growth, &descriptor) : status;
}

static size_t clear_some(tern_worker *worker, tern_growth *growth) {
    const tern_hashtable *table = growth->table;
    tern_table_part *to = growth->to;
    const uint64_t stride = table->shape.stride, left = to->count - growth->cleared;
    uint64_t now = BYTES_PER_ROUND / stride > 0 ? BYTES_PER_ROUND / stride : 1;
    now = now < left ? now : left;
    char *buckets = tern_local(table->context, to->buckets);
    tern_table_clear(table, buckets + growth->cleared * stride, now);
    if (now == left && move_announce(worker, growth) != TERN_OK)
        return 0;
    growth->cleared += now;
    return 1;
}

/* Copies what p's bucket holds into the new array. A key that the array has stays as it is. */
static tern_status move_copy(const tern_growth *growth, const tern_key_search *p, tern_op *op,
                             bool grave) {
    tern_op_init(op, TERN_OP_COPY, p->worker, growth->table, p->key, p->hash, TERN_WRITE_ONLY);
    op->grave = grave;
    return tern_op_run_in(op, growth->to);
}

/* Puts the key and the value of entry, or the counter, into the new array. */
static tern_status move_insert(const tern_growth *growth, const tern_key_search *p,
                               const uint64_t *entry) {
    const tern_hashtable *table = growth->table;
    tern_op op = {.given = entry + 1 + table->shape.key_words,
                  .number = tern_counter_number(growth->counter),
                  .mine = tern_state_taken(p->hash, table->rank)};
    return move_copy(growth, p, &op, false);
}

/* Whether the state comes from damage: no rank leaves a bucket in it, not even a rank that dies. */
static bool move_is_damaged(const tern_key_search *p, uint64_t state) {
    return tern_state_writer(state) >= p->table->ranks || !tern_state_is_possible(state);
}

/* Puts a grave into the new array: an entry whose check is never right, in a bucket whose state
 * says that writer is writing it. If writer is alive, it denies that there again. */
static tern_status move_grave(const tern_growth *growth, const tern_key_search *p, uint32_t writer,
                              const uint64_t *entry) {
    tern_op op = {.given = entry, .mine = tern_state_locked(p->hash, writer)};
    return move_copy(growth, p, &op, true);
}

/* Gives the bucket its last state. The stamp of its entry says "moved" before that, so a rank that
 * sees the state, or the copy that the state leads to, sees the stamp. */
static tern_status move_leave(tern_growth *growth, const tern_key_search *p, const uint64_t *entry,
                              bool erased) {
    tern_shape s = growth->table->shape;
    const bool direct = p->part->direct != NULL;
    const uint64_t locked = tern_state_locked(p->hash, growth->table->rank);
    uint64_t seen, check = tern_entry_check(p->part->nonce, p->index, s, entry,
                                            erased ? TERN_STAMP_MOVED_ERASED : TERN_STAMP_MOVED);
    tern_status status = TERN_OK;
    if (direct)
        /* R7: tern_entry_copy; the copy is there before the mark, and is changed behind it */
        __atomic_store_n((uint64_t *)(void *)tern_bucket_direct(p, s, s.entry_at), check,
                         __ATOMIC_SEQ_CST);
    else
        status = tern_put(p->worker, tern_bucket_remote(p, s, s.entry_at), &check, sizeof check);
    if (status == TERN_OK && !direct)
        status = tern_puts_flush(p->worker, growth->table->rank);
    if (status == TERN_OK)
        status = tern_state_cas(p, s, direct, locked, tern_state_moved(p->hash), &seen);
    /* A liveness query from before the move may have marked the lock as suspicious, once. */
    if (status == TERN_OK && seen == (locked | TERN_STATE_SUSPICIOUS))
        status = tern_state_cas(p, s, direct, seen, tern_state_moved(p->hash), &seen);
    growth->held = growth->marked = growth->held && status != TERN_OK;
    return status;
}

/* Whether copying into the next array ended with a status that only damage can cause. Logs it. */
static bool has_no_place(const tern_growth *growth, tern_status status) {
    const uint32_t rank = growth->table->rank;
    if (status != TERN_ERR_FULL && status != TERN_ERR_CORRUPT && status != TERN_MOVED &&
        status != TERN_BEYOND)
        return false;
    tern_log(TERN_LOG_ERROR,
             "a key is lost, since rank %u's next array of a hash table, which has room for it, "
             "is damaged; look for what writes into rank %u's segment",
             rank, rank);
    return true;
}

static void move_log_lost(const tern_growth *growth) {
    const uint32_t rank = growth->table->rank;
    tern_log(TERN_LOG_ERROR,
             "a key is lost, since rank %u's part of a hash table is damaged; look for what writes "
             "into rank %u's segment",
             rank, rank);
}

/* Deals with a bucket whose entry is not whole, and whose writer died or is not writing it. If
 * an insert was to write it, the insert has not happened: the bucket becomes aborted. If an update
 * was, the key stays, but nobody knows its value: the bucket stays as it is, and the new array gets
 * a grave. In both arrays a rank that needs the key learns of the death or of the damage. */
static tern_status move_bury(tern_growth *growth, tern_key_search *p, uint64_t state,
                             uint64_t *entry) {
    tern_shape s = growth->table->shape;
    tern_status status;
    if ((state & TERN_KIND) == TERN_LOCKED && entry[0] != 0) {
        uint64_t now;
        /* The dead rank may have unlocked the bucket before it died. Then the entry is torn by
         * another rank, which is alive. */
        status = tern_state_reload(p, s, p->part->direct != NULL, &now);
        if (status != TERN_OK || now != state)
            return status == TERN_OK ? TERN_ERR_AGAIN : status;
        p->key = entry + 1;
        p->hash = tern_key_hash(growth->table, p->key);
        status = move_grave(growth, p, tern_state_rank(state), entry);
        if (status == TERN_OK)
            return status;
        if (!has_no_place(growth, status))
            return status;
    }
    uint64_t was;
    status = tern_state_cas(p, s, p->part->direct != NULL, state, TERN_ABORTED, &was);
    if (status == TERN_OK && was == state && move_is_damaged(p, state))
        move_log_lost(growth);
    return status == TERN_OK && was != state ? TERN_ERR_AGAIN : status;
}

/* Whether nobody will make the bucket's entry whole: the rank that state names died, is not writing
 * the bucket or does not exist; or state names no rank, and yet the entry does not become whole. */
static bool is_orphan(const tern_key_search *p, uint64_t state) {
    tern_peers *peers = &p->worker->context->peers;
    const uint32_t writer = tern_state_writer(state);
    if (writer == TERN_NOBODY)
        return tern_bucket_look_again(p, state) == TERN_ERR_CORRUPT;
    if (move_is_damaged(p, state))
        return true;
    tern_peers_look(peers);
    if (!tern_peer_is_dead(peers, writer))
        tern_bucket_query_liveness(p, state);
    return tern_peer_is_dead(peers, writer);
}

/* Stops the service of put-ifs (rma/put_if.c) until move_lets_puts. False: one may be in
 * service. A put-if is served to its end even if its origin died, perhaps by another thread; then
 * the state that names the dead rank is that put-if's. Where owners serve none, there is nothing to
 * stop. */
static bool move_stops_puts(const tern_key_search *p) {
    return !p->table->owners_put || tern_mpi_trylock();
}

static void move_lets_puts(const tern_key_search *p) {
    if (p->table->owners_put)
        tern_mpi_unlock();
}

/* Locks the bucket, whose entry is whole. */
static tern_status move_hold(tern_growth *growth, const tern_key_search *p, uint64_t state) {
    tern_shape s = growth->table->shape;
    const bool locked = (state & TERN_KIND) == TERN_LOCKED;
    uint64_t seen = 0;
    if (locked && (!is_orphan(p, state) || !move_stops_puts(p)))
        return TERN_ERR_AGAIN;
    tern_status status = tern_state_cas(p, s, p->part->direct != NULL, state,
                                        tern_state_locked(p->hash, growth->table->rank), &seen);
    if (locked)
        move_lets_puts(p);
    if (status == TERN_OK)
        growth->held = seen == state;
    return status == TERN_OK && seen != state ? TERN_ERR_AGAIN : status;
}

/* Aborts a bucket that the move has locked. A store suffices: no other rank changes it. */
static tern_status move_give_up(tern_growth *growth, const tern_key_search *p) {
    move_log_lost(growth);
    const tern_status status =
        tern_atomic_store(p->worker, tern_bucket_remote(p, growth->table->shape, 0), TERN_ABORTED);
    growth->held = growth->marked = growth->held && status != TERN_OK;
    return status;
}

/* Deals with a bucket whose entry was not whole, and whose writer is dead. Reads the entry once
 * more first, since the writer may have finished it before it died. */
static tern_status move_orphan(tern_growth *growth, tern_key_search *p, uint64_t state,
                               uint64_t *entry) {
    if (!move_stops_puts(p))
        return TERN_ERR_AGAIN;
    tern_status status = tern_entry_get(p, growth->table->shape, p->part->direct != NULL, entry);
    const bool whole = tern_entry_judge(p->part->nonce, p->index, growth->table->shape, entry,
                                        entry + 1) != TERN_ENTRY_INVALID;
    if (status == TERN_OK)
        status = whole ? TERN_ERR_AGAIN : move_bury(growth, p, state, entry);
    move_lets_puts(p);
    return status;
}

/* Moves the key in the bucket at p. state: of the bucket, when it was seen. */
static tern_status move_keys(tern_growth *growth, tern_key_search *p, uint64_t state,
                             uint64_t *entry) {
    tern_shape s = growth->table->shape;
    const bool direct = p->part->direct != NULL;
    /* The entry is read again once the bucket is locked: it may have changed before. */
    for (;;) {
        tern_status status = tern_entry_get(p, s, direct, entry);
        if (status != TERN_OK)
            return status;
        if (tern_entry_judge(p->part->nonce, p->index, s, entry, entry + 1) == TERN_ENTRY_INVALID) {
            if (growth->held) /* by this move, so another rank has written over the entry */
                return move_give_up(growth, p);
            p->key = entry + 1;
            return is_orphan(p, state) ? move_orphan(growth, p, state, entry) : TERN_ERR_AGAIN;
        }
        p->key = entry + 1;
        p->hash = tern_key_hash(growth->table, p->key);
        if (growth->held)
            break;
        status = move_hold(growth, p, state);
        if (status != TERN_OK)
            return status;
    }
    tern_status status = TERN_OK;
    if (tern_shape_counts(s) && !growth->marked)
        status = tern_atomic_fetch_or(p->worker, tern_bucket_remote(p, s, 8), TERN_COUNTER_MOVED,
                                      &growth->counter);
    if (status != TERN_OK)
        return status;
    growth->marked = true;
    const bool erased = tern_shape_counts(s) ? tern_counter_erased(growth->counter)
                                             : (entry[0] & TERN_STAMP) == TERN_STAMP_ERASED;
    if (!erased)
        status = move_insert(growth, p, entry);
    const bool dropped = has_no_place(growth, status);
    return status == TERN_OK || dropped ? move_leave(growth, p, entry, erased || dropped) : status;
}

/* Handles the bucket at growth->position: freezes it if it is free, else moves its key. */
static tern_status move_empty(tern_worker *worker, tern_growth *growth) {
    tern_shape s = growth->table->shape;
    tern_key_search p = search_at(worker, growth, growth->from, growth->position);
    const bool direct = p.part->direct != NULL;
    uint64_t state;
    tern_status status = tern_state_load(&p, s, direct, &state);
    if (status == TERN_OK && state == TERN_FREE)
        status = tern_state_cas(&p, s, direct, TERN_FREE, TERN_FROZEN, &state);
    if (status != TERN_OK || state == TERN_FREE)
        return status;
    tern_scratch scratch;
    uint64_t *entry = tern_scratch_take(&scratch, 8 * tern_entry_words(s));
    status = entry != NULL ? move_keys(growth, &p, state, entry) : TERN_ERR_MEMORY;
    tern_scratch_free(&scratch);
    return status;
}

static size_t move_end(tern_worker *worker, tern_growth *growth) {
    const tern_array_descriptor descriptor = {.generation = growth->to->generation,
                                              .buckets = growth->to->buckets.offset,
                                              .count = growth->to->count,
                                              .moves = 1};
    if (tern_growth_publish(worker, growth, &descriptor) != TERN_OK)
        return 0;
    growth->from = growth->to;
    growth->to = NULL;
    growth->since = 0;
    return 1;
}

static size_t growth_run(tern_worker *worker, tern_growth *growth) {
    const tern_hashtable *table = growth->table;
    /* R4 */
    if (__builtin_expect(atomic_load_explicit(&growth->publish_again, memory_order_relaxed), 0)) {
        const tern_array_descriptor descriptor = growth->descriptor;
        atomic_store_explicit(&growth->publish_again, false, memory_order_relaxed);
        tern_ignore(tern_growth_publish(worker, growth, &descriptor));
    }
    if (growth->to == NULL) {
        tern_ptr gaddr =
            tern_anchor_gaddr(table, table->rank, offsetof(tern_anchor, growth_request));
        unsigned char *request = tern_local(table->context, gaddr);
        /* R4 */
        const unsigned char urgency = __atomic_load_n(request, __ATOMIC_RELAXED);
        tern_grace_advance(worker, growth);
        if (__builtin_expect(urgency == 0, 1))
            return 0;
        __atomic_store_n(request, 0, __ATOMIC_RELAXED);
        return move_consider(worker, growth, urgency);
    }
    if (growth->cleared < growth->to->count)
        return clear_some(worker, growth);
    size_t moved = 0;
    for (; moved < BUCKETS_PER_ROUND && growth->position < growth->from->count; moved++) {
        if (move_empty(worker, growth) != TERN_OK)
            return moved;
        growth->position++;
    }
    return growth->position < growth->from->count ? moved : move_end(worker, growth);
}

size_t tern_growth_run(tern_worker *worker, tern_task *task) {
    tern_growth *growth = (tern_growth *)(void *)task;
    if (__builtin_expect(worker->profile == NULL || growth->to == NULL, 1))
        return growth_run(worker, growth);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_GROWTH, TERN_NO_FUNCTION);
    const size_t moved = growth_run(worker, growth);
    tern_span_end(worker, &span, TERN_NOBODY, 0, moved > 0 ? TERN_OK : TERN_ERR_EMPTY);
    return moved;
}
