#include "hashtable/op/op.h"

#include "hashtable/bucket/scratch.h"

/*
 * The direct path: by load, store and the processor's atomics. bucket/probe.h has the words, their
 * memory order, and the points at which operations take effect.
 *
 * The state of a bucket is looked at before the entry, whose cache line it shares. Where a compare
 * and swap fails, another op has changed the bucket meanwhile, and the bucket is looked at again.
 */

/* Looks at buckets until one ends the search. [out] entry: of that bucket. */
static tern_sight direct_search(tern_op *op, tern_shape s, uint64_t *entry) {
    tern_key_search *p = &op->probe;
    for (; p->left > 0; tern_probe_next(p, s)) {
        (void)tern_state_load(p, s, true, &op->state);
        if (op->state == TERN_FREE)
            return TERN_SIGHT_FREE;
        if (op->state == TERN_FROZEN)
            return TERN_SIGHT_FROZEN;
        if (!tern_state_may_hold(op->state, p->hash))
            continue;
        (void)tern_entry_get(p, s, true, entry);
        switch (tern_probe_judge(p, s, entry)) {
        case TERN_ENTRY_MINE:
            return TERN_SIGHT_LIVE;
        case TERN_ENTRY_ERASED:
            return TERN_SIGHT_ERASED;
        case TERN_ENTRY_MOVED:
            return TERN_SIGHT_MOVED;
        case TERN_ENTRY_OTHER:
            continue;
        case TERN_ENTRY_INVALID:
            break;
        }
        /* The state is loaded after the entry was read. So if it says "never updated", no update
         * tore the entry: it belongs to an insert that had not arrived, hence has not returned. */
        (void)tern_state_reload(p, s, true, &op->state);
        if (!tern_op_passes(op, op->state))
            return TERN_SIGHT_BUSY;
    }
    return TERN_SIGHT_END;
}

void tern_direct_look(tern_op *op) {
    const tern_shape s = op->probe.table->shape;
    tern_scratch scratch;
    uint64_t *entry = tern_scratch_take(&scratch, 8 * tern_entry_words(s));
    if (entry == NULL) {
        tern_op_finish(op, TERN_ERR_MEMORY);
        return;
    }
    op->seen = entry;
    tern_op_meet(op, direct_search(op, s, entry));
    op->seen = NULL;
    tern_scratch_free(&scratch);
}

static void direct_look_again(tern_op *op) { op->stage = TERN_OP_LOOK; }

/* Writes an entry into a bucket that is locked, and unlocks it. */
static void direct_write(tern_op *op, uint64_t *entry, bool erased) {
    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    tern_entry_seal(p, s, entry, erased ? TERN_STAMP_ERASED : TERN_STAMP_UPDATED);
    (void)tern_entry_replace(p, s, true, entry);
    tern_state_unlock(p, s, tern_state_unlocked(p->hash, erased));
}

/* Fills a new bucket with a value that a hook makes. The bucket is locked from the start, so other
 * ops wait as for any lock. If the hook refuses, the key is left erased. */
static void direct_make(tern_op *op, uint64_t *entry) {
    uint64_t *value = entry + 1 + op->probe.table->shape.key_words;
    const tern_status status = tern_op_fill(op, NULL, value);
    if (status != TERN_OK)
        memset(value, 0, 8 * (size_t)op->probe.table->shape.value_words);
    direct_write(op, entry, status != TERN_OK);
    if (status == TERN_OK)
        tern_op_report(op);
    else
        tern_op_finish(op, status);
}

static void direct_create(tern_op *op, uint64_t *entry) {
    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    const uint32_t rank = p->table->rank;
    const bool makes = op->hook != NULL && op->hook->makes;
    const uint64_t mine = op->kind == TERN_OP_COPY ? op->mine
                          : makes                  ? tern_state_locked(p->hash, rank)
                                                   : tern_state_taken(p->hash, rank);
    (void)tern_state_cas(p, s, true, TERN_FREE, mine, &op->state);
    if (op->state != TERN_FREE) {
        direct_look_again(op);
        return;
    }
    if (makes) {
        direct_make(op, entry);
        return;
    }
    if (tern_shape_counts(s))
        /* R9: tern_entry_put; before its release of the check */
        __atomic_store_n(tern_counter_direct(p, s), tern_counter_word(op->number),
                         __ATOMIC_RELAXED);
    else if (!op->grave)
        tern_ignore(tern_op_fill(op, NULL, entry + 1 + s.key_words)); /* nothing is shown */
    const bool strict = tern_promise_is_strict(op->promise);
    if (op->grave) {
        (void)tern_entry_put(p, s, true, strict, op->given);
    } else {
        tern_entry_seal(p, s, entry, tern_stamp_inserted(rank));
        (void)tern_entry_put(p, s, true, strict, entry);
    }
    tern_op_report(op);
}

void tern_direct_create(tern_op *op) {
    tern_scratch scratch;
    uint64_t *entry = tern_scratch_take(&scratch, 8 * tern_entry_words(op->probe.table->shape));
    if (entry != NULL)
        direct_create(op, entry);
    else
        tern_op_finish(op, TERN_ERR_MEMORY);
    tern_scratch_free(&scratch);
}

/* Replaces the entry of a bucket that the op has locked, whose state was op->state before. entry:
 * has the value, unless there is a hook. */
static void direct_replace(tern_op *op, uint64_t *entry) {
    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    uint64_t *value = entry + 1 + s.key_words;
    const bool live = (op->state & TERN_ERASED) == 0;
    tern_status status = TERN_OK;
    if (op->hook != NULL && live) {
        (void)tern_entry_get(p, s, true, entry);
        if (tern_probe_judge(p, s, entry) != TERN_ENTRY_MINE)
            status = tern_bucket_torn(p);
    }
    if (status == TERN_OK && op->hook != NULL)
        status = tern_op_fill(op, live ? value : NULL, value);
    if (status != TERN_OK) {
        tern_state_unlock(p, s, op->state);
        tern_op_finish(op, status);
        return;
    }
    direct_write(op, entry, op->kind == TERN_OP_ERASE);
    op->result = live;
    tern_op_finish(op, TERN_OK);
}

void tern_direct_replace(tern_op *op, bool erased) {
    enum { LOOKS = 64 };

    const tern_key_search *p = &op->probe;
    const tern_shape s = p->table->shape;
    if (((op->state & TERN_ERASED) != 0) != erased) {
        if (tern_op_suspects(op, op->state, LOOKS))
            tern_op_finish(op, tern_bucket_contradictory(p, op->state));
        else
            direct_look_again(op);
        return;
    }
    tern_scratch scratch;
    uint64_t *entry = tern_scratch_take(&scratch, 8 * tern_entry_words(s)), seen;
    if (entry == NULL) {
        tern_op_finish(op, TERN_ERR_MEMORY);
        return;
    }
    if (op->hook == NULL)
        tern_ignore(tern_op_fill(op, NULL, entry + 1 + s.key_words)); /* nothing is shown */
    (void)tern_state_cas(p, s, true, op->state, tern_state_locked(p->hash, p->table->rank), &seen);
    if (seen == op->state)
        direct_replace(op, entry);
    else
        direct_look_again(op);
    tern_scratch_free(&scratch);
}

/* An erased counter becomes the number that is added. The add takes effect at this compare and swap
 * or, if another rank has brought the counter back, at the next fetch-and-add. */
static void direct_add(tern_op *op) {
    const tern_key_search *p = &op->probe;
    uint64_t *counter = tern_counter_direct(p, p->table->shape);
    const uint64_t step = tern_counter_word(op->number);
    for (;;) {
        uint64_t word = tern_counter_add(counter, step);
        if (!tern_counter_gone(word)) {
            op->result = tern_counter_number(word);
            break;
        }
        word += step;
        while (tern_counter_erased(word) && !tern_counter_moved(word))
            /* R7: tern_counter_add */
            if (__atomic_compare_exchange_n(counter, &word, step, 0, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST)) {
                op->result = 0;
                tern_op_finish(op, TERN_OK);
                return;
            }
        if (tern_counter_moved(word)) {
            tern_op_leave_counter(op);
            return;
        }
    }
    tern_op_finish(op, TERN_OK);
}

void tern_direct_count(tern_op *op) {
    const tern_key_search *p = &op->probe;
    uint64_t *counter = tern_counter_direct(p, p->table->shape), word;
    if (op->kind == TERN_OP_ADD) {
        direct_add(op);
        return;
    }
    /* R7: tern_counter_add */
    if (op->kind == TERN_OP_ERASE) {
        word = __atomic_fetch_or(counter, TERN_COUNTER_ERASED, __ATOMIC_SEQ_CST);
    } else if (op->kind == TERN_OP_COMPARE_SWAP) {
        word = tern_counter_word(op->number);
        __atomic_compare_exchange_n(counter, &word, tern_counter_word(op->desired), 0,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    } else {
        word = __atomic_load_n(counter, __ATOMIC_SEQ_CST);
    }
    tern_op_counted(op, word);
}
