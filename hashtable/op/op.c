#include "hashtable/op/op.h"

#include <stdlib.h>

#include "hashtable/arrays/arrays.h"
#include "hashtable/bucket/short.h"
#include "rma/transfer.h"

void tern_op_finish(tern_op *op, tern_status outcome) {
    op->stage = TERN_OP_DONE;
    op->outcome = outcome;
}

/* ---- How an op acts on each sight ---- */

void tern_op_create(tern_op *op) {
    if (!op->permitted)
        tern_op_ask_room(op);
    else if (op->remote)
        tern_remote_create(op);
    else
        tern_direct_create(op);
}

static void op_count(tern_op *op) {
    if (op->remote)
        tern_remote_count(op);
    else
        tern_direct_count(op);
}

static void op_replace(tern_op *op, bool erased) {
    if ((op->state & TERN_KIND) == TERN_LEFT)
        tern_op_leave(op, TERN_MOVED);
    else if ((op->state & TERN_KIND) == TERN_LOCKED)
        tern_op_wait_for(op, op->state);
    else if (op->remote)
        tern_remote_replace(op, erased);
    else
        tern_direct_replace(op, erased);
}

/* Whether the op leaves a key that is there as it is. */
static bool op_only_creates(const tern_op *op) {
    const bool makes = op->hook != NULL && op->hook->makes;
    return op->kind == TERN_OP_INSERT_NEW ||
           (op->kind == TERN_OP_INSERT && op->probe.table->value_bytes == 0 && !makes);
}

static void op_meet_key(tern_op *op, bool erased) {
    const tern_hashtable *table = op->probe.table;
    if (op->kind == TERN_OP_COPY || (op_only_creates(op) && !erased)) {
        op->result = 1;
        tern_op_finish(op, TERN_OK);
    } else if (erased && !tern_op_creates(op)) {
        tern_op_finish(op, TERN_ERR_NOT_FOUND);
    } else if (tern_shape_counts(table->shape)) {
        op_count(op);
    } else if (op->kind == TERN_OP_FIND) {
        if (table->value_bytes > 0)
            memcpy(op->taken, op->seen + 1 + table->shape.key_words, table->value_bytes);
        tern_op_finish(op, TERN_OK);
    } else {
        op_replace(op, erased);
    }
}

void tern_op_meet(tern_op *op, tern_sight sight) {
    switch (sight) {
    case TERN_SIGHT_FREE:
        if (tern_op_creates(op))
            tern_op_create(op);
        else
            tern_op_finish(op, TERN_ERR_NOT_FOUND);
        break;
    case TERN_SIGHT_FROZEN:
        tern_op_leave(op, TERN_BEYOND);
        break;
    case TERN_SIGHT_BUSY:
        tern_op_wait_for(op, op->state);
        break;
    case TERN_SIGHT_LIVE:
        op_meet_key(op, false);
        break;
    case TERN_SIGHT_ERASED:
        op_meet_key(op, true);
        break;
    case TERN_SIGHT_MOVED:
        tern_op_leave(op, TERN_MOVED);
        break;
    case TERN_SIGHT_END:
        tern_op_leave(op, tern_op_creates(op) ? TERN_ERR_FULL : TERN_ERR_NOT_FOUND);
        break;
    }
}

/* An entry that has not arrived yet belongs to an insert that, to a find, has not returned: the
 * find goes on as if the key were not there. An op that changes the key waits for the entry, since
 * in a phase of writes that insert may have returned before. */
bool tern_op_passes(const tern_op *op, uint64_t state) {
    const bool arriving = (state & (TERN_KIND | TERN_UPDATED | TERN_STATE_WRONG)) == TERN_TAKEN;
    const bool finds = op->kind == TERN_OP_FIND;
    return !tern_state_may_hold(state, op->probe.hash) || state == TERN_ABORTED ||
           (finds && (arriving || TERN_BROKEN(TERN_BREAK_UPDATE))) ||
           (!finds && tern_probe_passes_by());
}

bool tern_op_suspects(tern_op *op, uint64_t state, uint32_t looks) {
    op->suspicious_looks = state == op->suspicious_state ? op->suspicious_looks + 1 : 0;
    op->suspicious_state = state;
    return op->suspicious_looks >= looks;
}

/* If the state names no writer, an update between the looks at entry and state tore the entry. So
 * the next look finds another state or a whole entry, unless an update comes between each time. */
void tern_op_wait_for(tern_op *op, uint64_t state) {
    enum { LOOKS = 4096, REMOTE_LOOKS = 64 };

    tern_status status = tern_bucket_check(&op->probe, state);
    op->stage = TERN_OP_LOOK;
    op->state = state;
    op->run = 0;
    if (status == TERN_OK && tern_state_writer(state) == TERN_NOBODY) {
        if (tern_op_suspects(op, state, op->remote ? REMOTE_LOOKS : LOOKS))
            status = tern_bucket_not_whole(&op->probe, state);
        tern_relax();
    } else if (status == TERN_OK) {
        op->suspicious_state = 0;
        op->waits = true;
        tern_bucket_query_liveness(&op->probe, state);
    }
    if (status != TERN_OK)
        tern_op_finish(op, status);
}

tern_status tern_op_fill(tern_op *op, const uint64_t *shown, uint64_t *value) {
    const tern_hashtable *table = op->probe.table;
    const uint32_t words = table->shape.value_words;
    tern_op_hook *hook = op->hook;
    if (hook != NULL && hook->makes) {
        if (shown == NULL)
            memset(value, 0, 8 * (size_t)words);
        else if (shown != value)
            memcpy(value, shown, 8 * (size_t)words);
        return hook->see(hook, shown, value);
    }
    const tern_status status =
        hook != NULL && shown != NULL ? hook->see(hook, shown, NULL) : TERN_OK;
    if (status != TERN_OK)
        return status;
    if (op->kind == TERN_OP_ERASE)
        memset(value, 0, 8 * (size_t)words);
    else if (op->kind == TERN_OP_COPY)
        memcpy(value, op->given, 8 * (size_t)words);
    else
        tern_words_fill(value, words, op->given, table->value_bytes);
    return TERN_OK;
}

void tern_op_counted(tern_op *op, uint64_t word) {
    const uint64_t number = tern_counter_number(word);
    op->result = number;
    if (tern_counter_moved(word)) {
        tern_op_leave_counter(op);
        return;
    }
    if (op->kind == TERN_OP_FIND && !tern_counter_erased(word))
        memcpy(op->taken, &number, sizeof number);
    tern_op_finish(op, tern_counter_erased(word) ? TERN_ERR_NOT_FOUND : TERN_OK);
}

/* ---- Steps ---- */

/* A transfer has failed. If it was a growth request that is not urgent, the op is done already. */
static void op_fail(tern_op *op, tern_status status) {
    const bool hint = op->stage == TERN_OP_REQUEST_GROWTH && op->growth_request == TERN_GROW_SOON;
    if (op->stage == TERN_OP_READ && !op->transfer.under_way) {
        tern_remote_give_up(op, status);
        return;
    }
    if (hint)
        tern_error_clear();
    tern_op_finish(op, hint ? TERN_OK : status);
}

void tern_op_started(tern_op *op, tern_op_stage stage, tern_status status) {
    op->stage = (uint8_t)stage;
    if (status != TERN_OK)
        op_fail(op, status);
}

void tern_op_atomic(tern_op *op, tern_op_stage stage, tern_atomic_op what, uint32_t at,
                    uint64_t operand, uint64_t expected) {
    const tern_ptr gaddr = tern_bucket_remote(&op->probe, op->probe.table->shape, at);
    tern_op_started(op, stage,
                    tern_transfer_atomic(op->probe.worker, gaddr, what, operand, expected,
                                         &op->word, &op->transfer));
}

static void op_take_step(tern_op *op) {
    switch ((tern_op_stage)op->stage) {
    case TERN_OP_LOOK:
        if (op->remote)
            tern_remote_look(op);
        else
            tern_direct_look(op);
        break;
    case TERN_OP_GET_DESCRIPTOR:
    case TERN_OP_GOT_DESCRIPTOR:
    case TERN_OP_LEFT:
    case TERN_OP_LOADED:
    case TERN_OP_RESERVE:
    case TERN_OP_REQUEST_GROWTH:
        tern_op_step_follow(op);
        break;
    default:
        tern_remote_step(op);
        break;
    }
}

size_t tern_op_step(tern_op *op) {
    /* After a transfer that is complete at once the next step follows, up to STEPS in a row. */
    enum { STEPS = 8 };

    size_t steps = 0;
    op->waits = false;
    for (; op->stage != TERN_OP_DONE && !op->waits && steps < STEPS; steps++) {
        if (op->transfer.under_way) {
            int done = 0;
            const tern_status status = tern_transfer_test(op->probe.worker, &op->transfer, &done);
            op->probe.worker->stats.trips += (uint64_t)done;
            if (status != TERN_OK) {
                op_fail(op, status);
                continue;
            }
            if (!done)
                break;
        }
        op_take_step(op);
    }
    return steps;
}

void tern_op_set_out(tern_op *op) {
    op->result = 0;
    op->waits = op->outside = false;
    op->suspicious_state = op->suspicious_looks = 0;
    op->run = 0;
    op->stage = TERN_OP_LOOK;
    if (op->remote)
        tern_remote_set_out(op);
}

static void op_start(tern_op *op, uint64_t *room) {
    op->remote = op->probe.part->direct == NULL;
    op->room = room;
    op->transfer = (tern_transfer){0};
    op->permitted = true;
    op->asked = false;
    op->refused = UINT64_MAX;
    op->generation = op->probe.part->generation;
    tern_op_set_out(op);
}

void tern_op_start(tern_op *op, uint64_t *room) {
    tern_probe_restart(&op->probe);
    op_start(op, room);
}

size_t tern_op_room(const tern_hashtable *table) {
    const tern_shape s = table->shape;
    return tern_remote_buckets(s) * s.stride + sizeof(tern_put_if) + 8 * (1 + tern_entry_words(s));
}

/* ---- Waiting for one ---- */

/* Takes one turn of a wait for another rank. An op that waits outside holds up no grace period. */
static tern_status op_turn(const tern_op *op, tern_wait_state *wait) {
    tern_worker *worker = op->probe.worker;
    const tern_hashtable *table = op->probe.table;
    if (op->outside)
        tern_table_exit(worker, table);
    const tern_status status = tern_probe_wait(worker, wait, op->state);
    if (op->outside)
        tern_table_reenter(worker, table);
    return status;
}

/* A transfer returns its error only once. If it has ended, this function has got the error, and the
 * op fails; if it is still under way, the next step gets the error. */
void tern_op_await(tern_op *op) {
    if (!op->transfer.under_way)
        return;
    const tern_status status = tern_transfer_wait(op->probe.worker, &op->transfer);
    if (status != TERN_OK && !op->transfer.under_way)
        op_fail(op, status);
}

static __attribute__((noinline)) tern_status op_drive(tern_op *op) {
    tern_wait_state wait = TERN_WAIT_IN("an operation on a hash table");
    for (;;) {
        (void)tern_op_step(op);
        if (op->stage == TERN_OP_DONE)
            return op->outcome;
        const tern_status status = op->waits ? op_turn(op, &wait) : TERN_OK;
        if (status != TERN_OK)
            return status;
        tern_op_await(op);
    }
}

/* part: the only array that the op works in; NULL: it begins where probes start. */
static tern_status op_run(tern_op *op, const tern_table_part *part, uint64_t *room) {
    if (part == NULL) {
        tern_op_start(op, room);
    } else {
        op->follows = false;
        op->probe.part = part;
        op->probe.index = tern_part_bucket(part, op->probe.hash);
        op->probe.left = part->count;
        op_start(op, room);
    }
    /* Most direct ops are done after one look. */
    if (!op->remote)
        tern_direct_look(op);
    return op->stage == TERN_OP_DONE ? op->outcome : op_drive(op);
}

static __attribute__((noinline)) tern_status run_remote(tern_op *op, const tern_table_part *part) {
    /* Enough for all but large values and keys. */
    uint64_t small[512], *room = small;
    const size_t bytes = tern_op_room(op->probe.table);
    if (bytes > sizeof small && (room = malloc(bytes)) == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an entry of %zu bytes",
                         8 * tern_entry_words(op->probe.table->shape));
    const tern_status status = op_run(op, part, room);
    tern_transfer_forget(&op->transfer);
    if (room != small && !tern_op_leaks_room(op))
        free(room);
    return status;
}

tern_status tern_op_run_in(tern_op *op, const tern_table_part *part) {
    tern_worker *worker = op->probe.worker;
    const tern_hashtable *table = op->probe.table;
    const bool remote = part != NULL
                            ? part->direct == NULL
                            : tern_op_is_remote(table, tern_hash_owner(table, op->probe.hash));
    op->once = worker->in_handler || worker->in_progress;
    tern_table_enter(worker, table);
    const tern_status status = remote ? run_remote(op, part) : op_run(op, part, NULL);
    tern_table_exit(worker, table);
    return status;
}

/* Tries the short path (bucket/short.h). False: the short path does not take this op, and has
 * changed nothing. */
static __attribute__((noinline)) bool op_run_short(tern_op *op) {
    const tern_hashtable *table = op->probe.table;
    const bool counts = tern_shape_counts(table->shape);
    const tern_key_search p =
        tern_probe_start(op->probe.worker, table, op->probe.key, op->probe.hash);
    tern_short_outcome met = TERN_SHORT_DECLINED;
    if (p.part->direct == NULL || op->hook != NULL)
        return false;
    if (op->kind == TERN_OP_FIND)
        met = tern_short_find(p, counts, op->taken);
    else if (op->kind == TERN_OP_ADD)
        met = tern_short_add(p, op->number, op->promise, &op->result);
    else if (op->kind == TERN_OP_INSERT || op->kind == TERN_OP_INSERT_NEW)
        met = tern_short_insert(p, op->given, op->kind == TERN_OP_INSERT_NEW, op->promise);
    if (met == TERN_SHORT_DECLINED)
        return false;
    const bool finds = op->kind == TERN_OP_FIND;
    if (!counts && !finds)
        op->result = met == TERN_SHORT_MINE;
    tern_op_finish(op, finds && met == TERN_SHORT_FREE ? TERN_ERR_NOT_FOUND : TERN_OK);
    return true;
}

tern_status tern_op_run(tern_op *op) {
    if (op->probe.table->plain && op_run_short(op))
        return op->outcome;
    return tern_op_run_in(op, NULL);
}
