#include "hashtable/op/op.h"

#include "hashtable/arrays/arrays.h"

/*
 * The remote path. Each stage is one round trip. Where the owner serves put-ifs (rma/transfer.h:
 * the owner compares the state of a bucket, puts its entry and sets the state), an op whose first
 * bucket is free or holds the key takes:
 *
 *     find                GET; of a counter that is 0: GET COUNT
 *     insert, new key     STORE
 *     insert, known key   STORE STORE
 *     erase               GET STORE
 *     add                 STORE; known key: STORE COUNT
 *     compare and swap    GET COUNT
 *
 * An insert or an add begins with the STORE of a new entry, as if the bucket were free. If it is
 * not, the answer has all that a get would have brought. So a new key costs one trip and a known
 * one two, whatever came before. Where the bucket is larger than GUESS bytes, a GET comes first.
 *
 * Elsewhere (atomics of the network or of MPI, large buckets) an op claims or locks the bucket
 * first:
 *
 *     insert, new key     CLAIM, put; one failed CLAIM or one GET more if the last one met its key
 *     insert, known key   GET LOCK, put, UNLOCK; a CLAIM more if the last one met a new key
 *     erase               GET LOCK, put, UNLOCK
 *     add, new key        GET CLAIM BEGIN, put; known key: GET COUNT
 *
 * A value that is compared, or made by a hook, is written under the lock on any network:
 *
 *     replace             GET LOCK READ, put, UNLOCK
 *
 * Why a find may believe a state that a get has brought. The state may be older or newer than the
 * entry in the same get. But a bucket is free only once, until a rank takes it: if the state was
 * seen free, the bucket was free at some moment of the find, and its key was absent then. The same
 * is true of frozen. If a counter is not 0, its first add had come before. For anything else that a
 * state may say about an entry which is not whole, the op needs a state that is newer than the
 * entry (bucket/probe.h), and loads it: STATE.
 *
 * Why STORE is right. The owner's compare-and-swap of the state decides, as it does for ranks of
 * its node. The state that it is compared with may be old, which does no harm: a free bucket has
 * had no other key yet; a taken one has the same key for good, and its state says whether the key
 * is erased. It makes no difference to an insert whether the entry was changed and changed back
 * meanwhile, since it replaces any entry. The owner serves a put-if in one go, so no op ever waits
 * for its origin. But the origin of a claim or a lock may die while it has the bucket: then ops
 * that wait for the bucket get TERN_ERR_PEER.
 */

enum { GUESS = 256 };

static bool remote_counts(const tern_op *op) { return tern_shape_counts(op->probe.table->shape); }
static bool remote_makes(const tern_op *op) { return op->hook != NULL && op->hook->makes; }

/* Whether it writes by put-ifs, which may replace a value that a REPLACE or hook has not seen. */
static bool remote_stores(const tern_op *op) {
    return op->probe.table->owners_put && op->kind != TERN_OP_REPLACE && !remote_makes(op);
}

/* Whether nobody writes meanwhile, and no keys are moved. */
static bool remote_is_still(const tern_op *op) {
    return op->promise == TERN_READ_ONLY && !tern_table_moves(op->probe.table);
}

/* Whether gets may read words that atomics change, which MPI forbids. */
static bool remote_sees_words(const tern_op *op) { return op->probe.table->words_seen; }

static tern_put_if *remote_put(const tern_op *op) {
    const tern_shape s = op->probe.table->shape;
    return (tern_put_if *)(void *)(op->room + tern_remote_buckets(s) * s.stride / 8);
}

/* ---- Looking ---- */

/* Gets the bucket that the probe is at and those behind it, each time twice as many. */
void tern_remote_look(tern_op *op) {
    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    const uint32_t line = (uint32_t)tern_shape_line(s), most = (uint32_t)tern_remote_buckets(s);
    const uint32_t least = remote_is_still(op) && most > line ? most / line * line : line;
    op->run = op->run == 0 ? least : 2 * op->run < most ? 2 * op->run : most;
    op->first = p->index & ~(uint64_t)(line - 1);
    const uint64_t left = p->part->count - op->first;
    op->count = left < op->run ? (uint32_t)left : op->run;
    const tern_ptr from = tern_ptr_add(p->part->buckets, (int64_t)(op->first * s.stride));
    const size_t bytes =
        op->count > 1 ? (size_t)op->count * s.stride : s.entry_at + 8 * tern_entry_words(s);
    tern_op_started(op, TERN_OP_GET,
                    tern_transfer_get(p->worker, op->room, from, bytes, &op->transfer));
}

static void remote_walk(tern_op *op);

static void remote_move_on(tern_op *op) {
    tern_probe_next(&op->probe, op->probe.table->shape);
    remote_walk(op);
}

/* Acts on a bucket whose entry is not whole. state: at least as new as the entry. */
static void remote_judge_state(tern_op *op, uint64_t state) {
    op->state = state;
    if (state == TERN_FROZEN)
        tern_op_meet(op, TERN_SIGHT_FROZEN);
    else if (state == TERN_FREE)
        tern_op_meet(op, TERN_SIGHT_FREE);
    else if (tern_op_passes(op, state))
        remote_move_on(op);
    else
        tern_op_meet(op, TERN_SIGHT_BUSY);
}

/* Acts on a bucket whose entry is not whole. state: came with the entry, so it may be older. An op
 * that creates acts on it all the same, since it ends in a compare and swap of the state. */
static void remote_meet_nothing(tern_op *op, uint64_t state) {
    const bool seen = remote_sees_words(op) || remote_is_still(op);
    if (seen && (state == TERN_FREE || state == TERN_FROZEN || tern_op_creates(op)))
        remote_judge_state(op, state);
    else
        tern_op_atomic(op, TERN_OP_STATE, TERN_ATOMIC_LOAD, 0, 0, 0);
}

/* Notes whether an op that creates has met its key, which decides what the next one tries first. */
static void remote_remember(const tern_op *op, bool meets) {
    tern_hashtable *table = (tern_hashtable *)(uintptr_t)op->probe.table;
    if (tern_op_creates(op) && op->kind != TERN_OP_COPY)
        /* R4 */
        atomic_store_explicit(&table->meets_keys, meets, memory_order_relaxed);
}

/* Acts on a bucket with the key's entry. state: came with the entry. */
static void remote_meet_entry(tern_op *op, uint64_t state, tern_verdict verdict) {
    op->state = remote_sees_words(op) ? state : tern_state_of_check(op->seen[0], op->probe.hash);
    if (!op->probe.table->owners_put)
        remote_remember(op, true);
    tern_op_meet(op, verdict == TERN_ENTRY_MOVED    ? TERN_SIGHT_MOVED
                     : verdict == TERN_ENTRY_ERASED ? TERN_SIGHT_ERASED
                                                    : TERN_SIGHT_LIVE);
}

/* Looks through the buckets that the get has brought. */
static void remote_walk(tern_op *op) {
    tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    tern_verdict verdict = TERN_ENTRY_OTHER;
    const uint64_t *bucket = op->room;
    for (; p->left > 0 && p->index - op->first < op->count; tern_probe_next(p, s)) {
        bucket = op->room + (p->index - op->first) * s.stride / 8;
        op->seen = bucket + s.entry_at / 8;
        verdict = tern_probe_judge(p, s, op->seen);
        if (verdict != TERN_ENTRY_OTHER)
            break;
    }
    if (verdict == TERN_ENTRY_INVALID)
        remote_meet_nothing(op, bucket[0]);
    else if (verdict != TERN_ENTRY_OTHER)
        remote_meet_entry(op, bucket[0], verdict);
    else if (p->left == 0)
        tern_op_meet(op, TERN_SIGHT_END);
    else
        op->stage = TERN_OP_LOOK;
}

/* ---- Writing ---- */

static uint64_t *remote_entry(const tern_op *op) {
    return remote_put(op)->words + remote_counts(op);
}

/* Starts a put-if of the entry, whose value is set, sealed with stamp. expected: the state. */
static void remote_store(tern_op *op, uint64_t expected, uint64_t during, uint64_t then,
                         uint64_t stamp) {
    const tern_shape s = op->probe.table->shape;
    const bool counter = remote_counts(op);
    tern_put_if *put = remote_put(op);
    uint64_t *entry = remote_entry(op);
    const tern_put_if head = {expected, during, then, 8, counter, op->hook != NULL};
    *put = head;
    if (counter)
        put->words[0] = tern_counter_word(op->number);
    tern_entry_seal(&op->probe, s, entry, stamp);
    op->expected = expected;
    op->first = op->probe.index;
    op->count = 1;
    tern_op_started(op, TERN_OP_STORE,
                    tern_transfer_put_if(op->probe.worker, tern_bucket_remote(&op->probe, s, 0),
                                         put, counter + tern_entry_words(s), op->room,
                                         s.entry_at + 8 * tern_entry_words(s), &op->transfer));
}

static void step_store(tern_op *op) {
    const tern_shape s = op->probe.table->shape;
    if (op->room[0] != op->expected) {
        op->result = 0;
        if (tern_probe_passes_by())
            remote_move_on(op);
        else
            remote_walk(op);
        return;
    }
    if (op->hook != NULL)
        tern_ignore(op->hook->see(
            op->hook, op->result != 0 ? op->room + s.entry_at / 8 + 1 + s.key_words : NULL, NULL));
    if (op->expected == TERN_FREE)
        tern_op_report(op);
    else
        tern_op_finish(op, TERN_OK);
}

/* Puts the entry, sealed with stamp. flushes: it has to arrive before anything that follows. */
static tern_status remote_put_entry(tern_op *op, uint64_t stamp, bool flushes) {
    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    const uint64_t *entry = op->given;
    if (!op->grave) {
        entry = remote_entry(op);
        tern_entry_seal(p, s, remote_entry(op), stamp);
    }
    tern_status status =
        tern_put(p->worker, tern_bucket_remote(p, s, s.entry_at), entry, 8 * tern_entry_words(s));
    if (status == TERN_OK && flushes)
        status = tern_puts_flush(p->worker, p->part->buckets.rank);
    return status;
}

/* Unlocks the bucket: the last stage of an op that has written it, or whose hook has refused. */
static void remote_unlock(tern_op *op, uint64_t state) {
    const uint64_t locked = tern_state_locked(op->probe.hash, op->probe.table->rank);
    tern_op_atomic(op, TERN_OP_UNLOCK, TERN_ATOMIC_CAS, 0, state, locked);
}

static void remote_write(tern_op *op, bool erased) {
    const tern_key_search *p = &op->probe;
    tern_status status =
        remote_put_entry(op, erased ? TERN_STAMP_ERASED : TERN_STAMP_UPDATED, false);
    /* The put of the next rank that locks the bucket must not arrive before this one. */
    if (status == TERN_OK)
        status = tern_fence(p->worker, p->part->buckets.rank);
    if (status == TERN_OK)
        remote_unlock(op, tern_state_unlocked(p->hash, erased));
    else
        tern_op_finish(op, status);
}

/* ---- New keys ---- */

void tern_remote_create(tern_op *op) {
    const tern_key_search *p = &op->probe;
    const uint32_t rank = p->table->rank;
    const uint64_t taken = tern_state_taken(p->hash, rank);
    uint64_t *value = remote_entry(op) + 1 + p->table->shape.key_words;
    op->state = TERN_FREE;
    if (!remote_counts(op) && !remote_makes(op) && !op->grave)
        tern_ignore(tern_op_fill(op, NULL, value)); /* nothing is shown */
    if (remote_stores(op))
        remote_store(op, TERN_FREE, taken, taken, tern_stamp_inserted(rank));
    else
        tern_op_atomic(op, TERN_OP_CLAIM, TERN_ATOMIC_CAS, 0,
                       op->kind == TERN_OP_COPY ? op->mine
                       : remote_makes(op)       ? tern_state_locked(p->hash, rank)
                                                : taken,
                       TERN_FREE);
}

/* Puts the entry of a new key. The op has claimed the bucket, and a counter has its number. */
static void remote_fill(tern_op *op) {
    const tern_hashtable *table = op->probe.table;
    /* The put need not have arrived when the op ends: until then a find takes the insert for one
     * that has not returned. */
    const tern_status status = remote_put_entry(op, tern_stamp_inserted(table->rank),
                                                tern_growth_flushes(table, op->promise));
    if (status == TERN_OK)
        tern_op_report(op);
    else
        tern_op_finish(op, status);
}

static void remote_make(tern_op *op) {
    uint64_t *value = remote_entry(op) + 1 + op->probe.table->shape.key_words;
    op->outcome = tern_op_fill(op, NULL, value);
    if (op->outcome != TERN_OK)
        memset(value, 0, 8 * (size_t)op->probe.table->shape.value_words);
    remote_write(op, op->outcome != TERN_OK);
}

static void step_claim(tern_op *op) {
    if (op->word != TERN_FREE) {
        op->state = op->word;
        op->run = 0;
        op->stage = TERN_OP_LOOK;
        if (op->word == TERN_FROZEN)
            tern_op_meet(op, TERN_SIGHT_FROZEN);
        else if (!tern_state_may_hold(op->word, op->probe.hash))
            tern_probe_next(&op->probe, op->probe.table->shape);
        return;
    }
    remote_remember(op, false);
    op->outcome = TERN_OK;
    if (remote_makes(op))
        remote_make(op);
    else if (remote_counts(op))
        tern_op_atomic(op, TERN_OP_BEGIN, TERN_ATOMIC_ADD, 8, tern_counter_word(op->number), 0);
    else
        remote_fill(op);
}

/* ---- Keys that are there ---- */

static void remote_lock(tern_op *op, uint64_t expected) {
    op->expected = expected;
    tern_op_atomic(op, TERN_OP_LOCK, TERN_ATOMIC_CAS, 0,
                   tern_state_locked(op->probe.hash, op->probe.table->rank), expected);
}

void tern_remote_replace(tern_op *op, bool erased) {
    enum { LOOKS = 64 };

    const tern_hashtable *table = op->probe.table;
    const bool erases = op->kind == TERN_OP_ERASE;
    const uint64_t hash = op->probe.hash, state = op->state;
    const bool fits = ((state & TERN_ERASED) != 0) == erased;
    const uint64_t expected = fits ? state : tern_state_unlocked(hash, erased);
    const bool stores = remote_stores(op);
    tern_status status = TERN_OK;
    op->result = !erased;
    if (stores)
        status = tern_op_fill(op, erased ? NULL : op->seen + 1 + table->shape.key_words,
                              remote_entry(op) + 1 + table->shape.key_words);
    /* State and entry contradict each other. If the bucket is damaged, each STORE brings the same
     * contradiction again; otherwise only if other ranks change the bucket each time. */
    if (status == TERN_OK && !fits && tern_op_suspects(op, state, LOOKS))
        status = tern_bucket_contradictory(&op->probe, state);
    if (status != TERN_OK)
        tern_op_finish(op, status);
    else if (stores)
        remote_store(op, expected, tern_state_locked(hash, table->rank),
                     tern_state_unlocked(hash, erases),
                     erases ? TERN_STAMP_ERASED : TERN_STAMP_UPDATED);
    else
        remote_lock(op, expected);
}

/* Replaces the entry of a bucket that the op has locked. shown: the value there, or NULL. */
static void remote_replace(tern_op *op, const uint64_t *shown) {
    const uint32_t key_words = op->probe.table->shape.key_words;
    op->outcome = tern_op_fill(op, shown, remote_entry(op) + 1 + key_words);
    op->result = (op->expected & TERN_ERASED) == 0;
    if (op->outcome == TERN_OK)
        remote_write(op, op->kind == TERN_OP_ERASE);
    else
        remote_unlock(op, op->expected);
}

/* A LOCK has found another state than expected. Where gets do not show states, the op tries again
 * with this one, as long as it agrees with the entry on whether the key is erased. */
static void remote_lock_again(tern_op *op) {
    enum { LOOKS = 64 };

    const uint64_t state = op->word;
    const bool agrees = ((state ^ op->expected) & TERN_ERASED) == 0;
    op->state = state;
    op->run = 0;
    op->stage = TERN_OP_LOOK;
    if ((state & TERN_KIND) == TERN_LOCKED)
        tern_op_wait_for(op, state);
    else if (remote_sees_words(op) || (state & TERN_KIND) != TERN_TAKEN)
        return;
    else if (!tern_state_is_possible(state))
        tern_op_finish(op, tern_bucket_check(&op->probe, state));
    else if (agrees)
        remote_lock(op, state);
    else if (tern_op_suspects(op, state, LOOKS))
        tern_op_finish(op, tern_bucket_contradictory(&op->probe, state));
}

static void step_lock(tern_op *op) {
    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    if (op->word != op->expected) {
        remote_lock_again(op);
        return;
    }
    op->outcome = TERN_OK;
    if (op->hook != NULL && (op->expected & TERN_ERASED) == 0)
        tern_op_started(op, TERN_OP_READ,
                        tern_transfer_get(p->worker, op->room, tern_bucket_remote(p, s, s.entry_at),
                                          8 * tern_entry_words(s), &op->transfer));
    else
        remote_replace(op, NULL);
}

static void step_read(tern_op *op) {
    const tern_shape s = op->probe.table->shape;
    if (tern_probe_judge(&op->probe, s, op->room) == TERN_ENTRY_MINE) {
        remote_replace(op, op->room + 1 + s.key_words);
    } else {
        tern_remote_give_up(op, tern_bucket_torn(&op->probe));
    }
}

void tern_remote_give_up(tern_op *op, tern_status outcome) {
    op->outcome = outcome;
    remote_unlock(op, op->expected);
}

/* ---- Counters ---- */

static void remote_add(tern_op *op) {
    tern_op_atomic(op, TERN_OP_COUNT, TERN_ATOMIC_ADD, 8, tern_counter_word(op->number), 0);
}

static void remote_revive(tern_op *op, uint64_t expected) {
    op->expected = expected;
    tern_op_atomic(op, TERN_OP_REVIVE, TERN_ATOMIC_CAS, 8, tern_counter_word(op->number), expected);
}

/* Works on a counter that is there. For a find, the counter may have come with its entry. */
void tern_remote_count(tern_op *op) {
    const uint64_t number = op->seen[-1];
    const bool seen = remote_sees_words(op);
    switch ((tern_op_kind)op->kind) {
    case TERN_OP_ADD:
        remote_add(op);
        break;
    case TERN_OP_ERASE:
        tern_op_atomic(op, TERN_OP_COUNT, TERN_ATOMIC_OR, 8, TERN_COUNTER_ERASED, 0);
        break;
    case TERN_OP_COMPARE_SWAP:
        tern_op_atomic(op, TERN_OP_COUNT, TERN_ATOMIC_CAS, 8, tern_counter_word(op->desired),
                       tern_counter_word(op->number));
        break;
    default:
        if (remote_is_still(op) || (seen && number != 0))
            tern_op_counted(op, number);
        else
            tern_op_atomic(op, TERN_OP_COUNT, TERN_ATOMIC_LOAD, 8, 0, 0);
    }
}

static void step_count(tern_op *op) {
    const bool erased = tern_counter_erased(op->word) && !tern_counter_moved(op->word);
    if (op->kind == TERN_OP_ADD && erased)
        remote_revive(op, op->word + tern_counter_word(op->number));
    else
        tern_op_counted(op, op->word);
}

/* An erased counter becomes the number that is added, as in direct_add. */
static void step_revive(tern_op *op) {
    op->result = 0;
    if (op->word == op->expected)
        tern_op_finish(op, TERN_OK);
    else if (tern_counter_moved(op->word))
        tern_op_leave_counter(op);
    else if (tern_counter_erased(op->word))
        remote_revive(op, op->word);
    else
        remote_add(op);
}

/* ---- Stages ---- */

void tern_remote_step(tern_op *op) {
    switch ((tern_op_stage)op->stage) {
    case TERN_OP_GET:
        remote_walk(op);
        break;
    case TERN_OP_STORE:
        step_store(op);
        break;
    case TERN_OP_STATE:
        remote_judge_state(op, op->word);
        break;
    case TERN_OP_COUNT:
        step_count(op);
        break;
    case TERN_OP_REVIVE:
        step_revive(op);
        break;
    case TERN_OP_CLAIM:
        step_claim(op);
        break;
    case TERN_OP_BEGIN:
        remote_fill(op);
        break;
    case TERN_OP_LOCK:
        step_lock(op);
        break;
    case TERN_OP_READ:
        step_read(op);
        break;
    default: /* UNLOCK */
        tern_op_finish(op, op->outcome);
    }
}

void tern_remote_set_out(tern_op *op) {
    const tern_hashtable *table = op->probe.table;
    /* R4 */
    const bool meets = atomic_load_explicit(&table->meets_keys, memory_order_relaxed);
    const bool looks =
        table->owners_put ? table->shape.stride > GUESS : meets || op->kind == TERN_OP_ADD;
    op->seen = NULL;
    if (tern_op_creates(op) && op->permitted && !looks)
        tern_remote_create(op);
    else
        op->stage = TERN_OP_LOOK;
}
