#include "hashtable/op/op.h"

#include <stddef.h>

#include "hashtable/arrays/arrays.h"

/*
 * Takes an op on to the next array of a part whose keys are moved (growth/growth.h), in steps:
 *
 *     GET_DESCRIPTOR  get the owner's array descriptor, if no next array is known, and else now and
 *                     then, so that later operations start in it
 *     LEFT            load the state of a bucket whose counter is marked as moved: when it says so,
 *                     the copy is there
 *     RESERVE         fetch-and-add of an array's room for new keys while keys are moved to it
 *     REQUEST_GROWTH  put the byte that asks the owner for another array
 *
 * A key that has its bucket in the next array needs no room there, so the op looks for the bucket
 * first. It asks for room only when its probe has come to a free bucket.
 *
 * An op that waits for the owner holds no array between two looks at the descriptor (outside). If
 * probes start in a later array by then, it begins anew there. So it holds up no grace period.
 */

static uint32_t follow_owner(const tern_op *op) {
    return tern_hash_owner(op->probe.table, op->probe.hash);
}

/* Begins the op anew in the array part. permitted: the op may take a free bucket there. */
static void follow_into(tern_op *op, const tern_table_part *part, bool permitted) {
    op->probe.part = part;
    op->probe.index = tern_part_bucket(part, op->probe.hash);
    op->probe.left = part->count;
    op->permitted = permitted;
    op->asked = false;
    op->refused = UINT64_MAX;
    tern_op_set_out(op);
}

static void follow_ask(tern_op *op, tern_op_wants wants) {
    op->wants = (uint8_t)wants;
    op->stage = TERN_OP_GET_DESCRIPTOR;
}

/* Makes the op wait for the owner, and then go on with the stage next. */
static void follow_turn(tern_op *op, tern_op_stage next) {
    op->state = tern_state_locked(0, follow_owner(op));
    op->waits = true;
    op->stage = (uint8_t)next;
}

static void follow_wait(tern_op *op) {
    op->outside = true;
    op->generation = op->probe.part->generation;
    follow_turn(op, TERN_OP_GET_DESCRIPTOR);
}

static void follow_request_growth(tern_op *op, unsigned char urgency) {
    tern_worker *worker = op->probe.worker;
    const tern_ptr gaddr =
        tern_anchor_gaddr(op->probe.table, follow_owner(op), offsetof(tern_anchor, growth_request));
    unsigned char *direct = (unsigned char *)tern_internal_reach_address(worker, gaddr, 1);
    op->growth_request = urgency;
    if (direct != NULL) {
        /* R4 */
        __atomic_store_n(direct, urgency, __ATOMIC_RELAXED);
        op->stage = TERN_OP_REQUEST_GROWTH;
        return;
    }
    tern_op_started(op, TERN_OP_REQUEST_GROWTH,
                    tern_transfer_put(worker, gaddr, &op->growth_request, 1, &op->transfer));
}

void tern_op_report(tern_op *op) {
    if (op->kind == TERN_OP_COPY || !tern_probe_is_crowded(&op->probe)) {
        tern_op_finish(op, TERN_OK);
        return;
    }
    op->probe.table->inside[op->probe.worker->index].owes = true;
    follow_request_growth(op, TERN_GROW_SOON);
}

void tern_op_leave(tern_op *op, tern_status met) {
    if (!op->follows || (met == TERN_ERR_NOT_FOUND && !tern_table_moves(op->probe.table))) {
        tern_op_finish(op, met);
        return;
    }
    /* R1: growth_apply */
    const tern_table_part *next = atomic_load_explicit(&op->probe.part->next, memory_order_acquire);
    op->met = (int16_t)met;
    if (next != NULL && !tern_growth_looks(op->probe.table))
        follow_into(op, next, met == TERN_MOVED || !tern_op_creates(op));
    else
        follow_ask(op, TERN_OP_WANTS_NEXT);
}

void tern_op_ask_room(tern_op *op) {
    if (op->asked) {
        op->wants = TERN_OP_WANTS_ROOM;
        follow_wait(op);
    } else {
        follow_ask(op, TERN_OP_WANTS_ROOM);
    }
}

void tern_op_leave_counter(tern_op *op) {
    op->moving = tern_table_moves(op->probe.table);
    if (op->follows)
        op->stage = TERN_OP_LEFT;
    else
        tern_op_finish(op, TERN_MOVED);
}

static void step_left(tern_op *op) {
    if ((op->word & TERN_KIND) == TERN_LEFT)
        tern_op_leave(op, TERN_MOVED);
    else if (!op->moving)
        tern_op_finish(op, tern_bucket_left(&op->probe));
    else
        follow_ask(op, TERN_OP_WANTS_COPY);
}

/* Loads the state once more, after a wait if the move goes on. When the descriptor says that the
 * move is over, it has left every bucket: a state that does not say so is damaged (step_left). */
static void act_for_copy(tern_op *op, const tern_array_descriptor *descriptor, bool known) {
    op->moving = !known || (descriptor->generation == op->probe.part->generation &&
                            descriptor->next_buckets != 0);
    if (op->moving)
        follow_turn(op, TERN_OP_LEFT);
    else
        op->stage = TERN_OP_LEFT;
}

static void act_for_room(tern_op *op, const tern_array_descriptor *descriptor, bool known) {
    op->permitted = known && descriptor->generation >= op->probe.part->generation;
    if (!known) {
        follow_wait(op);
    } else if (op->permitted) {
        tern_op_create(op);
    } else if (op->asked) {
        op->run = 0;
        op->stage = TERN_OP_LOOK;
    } else {
        const tern_ptr room =
            tern_anchor_gaddr(op->probe.table, follow_owner(op), offsetof(tern_anchor, room));
        op->asked = true;
        tern_op_started(op, TERN_OP_RESERVE,
                        tern_transfer_atomic(op->probe.worker, room, TERN_ATOMIC_ADD, UINT64_MAX, 0,
                                             &op->word, &op->transfer));
    }
}

static void step_reserve(tern_op *op) {
    op->permitted = (int64_t)op->word > 0;
    if (op->permitted)
        tern_op_create(op);
    else
        follow_wait(op);
}

/* The part is full: asks the owner for another array, or ends if the owner has refused one
 * meanwhile. An op that cannot wait for the owner asks all the same: a later op may find room. */
static void act_for_full(tern_op *op, const tern_array_descriptor *descriptor) {
    op->refused = op->refused == UINT64_MAX ? descriptor->refused : op->refused;
    op->over = op->once ? tern_growth_is_refused(&op->probe, descriptor)
                        : tern_growth_is_between(op->probe.worker, op->probe.table, descriptor);
    if (!op->once && descriptor->refused > op->refused)
        tern_op_finish(op, TERN_ERR_FULL);
    else
        follow_request_growth(op, TERN_GROW_NOW);
}

static void act_for_next(tern_op *op, const tern_array_descriptor *descriptor, bool known) {
    const tern_table_part *part = op->probe.part;
    const tern_status met = (tern_status)op->met;
    /* R1: growth_apply */
    const tern_table_part *next = atomic_load_explicit(&part->next, memory_order_acquire);
    if (next != NULL) {
        follow_into(op, next,
                    met == TERN_MOVED || !tern_op_creates(op) ||
                        (known && descriptor->generation >= next->generation));
    } else if (known && met == TERN_ERR_NOT_FOUND) {
        tern_op_finish(op, met);
    } else if (known && met == TERN_ERR_FULL) {
        act_for_full(op, descriptor);
    } else if (known && descriptor->generation == part->generation &&
               descriptor->next_buckets == 0) {
        /* The owner publishes a move before it leaves the first bucket. */
        tern_op_finish(op, tern_bucket_left(&op->probe));
    } else {
        follow_wait(op);
    }
}

/* Acts on the descriptor, and has the worker's next operation make progress (owes). */
static void follow_act(tern_op *op, const tern_array_descriptor *descriptor, bool known) {
    const tern_hashtable *table = op->probe.table;
    const tern_table_part *start = tern_table_part_of(table, follow_owner(op));
    const bool anew = op->outside && start->generation > op->generation;
    table->inside[op->probe.worker->index].owes = true;
    op->outside = false;
    if (anew)
        follow_into(op, start, true);
    else if (op->wants == TERN_OP_WANTS_ROOM)
        act_for_room(op, descriptor, known);
    else if (op->wants == TERN_OP_WANTS_COPY)
        act_for_copy(op, descriptor, known);
    else
        act_for_next(op, descriptor, known);
}

static void step_get_descriptor(tern_op *op) {
    const tern_hashtable *table = op->probe.table;
    tern_worker *worker = op->probe.worker;
    const uint32_t owner = follow_owner(op);
    if (op->remote && owner != table->rank) {
        const tern_ptr gaddr = tern_anchor_gaddr(table, owner, offsetof(tern_anchor, descriptor));
        tern_op_started(op, TERN_OP_GOT_DESCRIPTOR,
                        tern_transfer_get(worker, op->room, gaddr, sizeof(tern_array_descriptor),
                                          &op->transfer));
        return;
    }
    tern_array_descriptor descriptor;
    bool known;
    const tern_status status = tern_growth_learn(worker, table, owner, &descriptor, &known);
    if (status == TERN_OK)
        follow_act(op, &descriptor, known);
    else
        tern_op_finish(op, status);
}

static void step_got_descriptor(tern_op *op) {
    tern_array_descriptor descriptor;
    bool known;
    memcpy(&descriptor, op->room, sizeof descriptor);
    const tern_status status = tern_growth_learn_from(op->probe.worker, op->probe.table,
                                                      follow_owner(op), &descriptor, &known);
    if (status == TERN_OK)
        follow_act(op, &descriptor, known);
    else
        tern_op_finish(op, status);
}

void tern_op_step_follow(tern_op *op) {
    switch ((tern_op_stage)op->stage) {
    case TERN_OP_GET_DESCRIPTOR:
        step_get_descriptor(op);
        break;
    case TERN_OP_GOT_DESCRIPTOR:
        step_got_descriptor(op);
        break;
    case TERN_OP_LEFT:
        tern_op_atomic(op, TERN_OP_LOADED, TERN_ATOMIC_LOAD, 0, 0, 0);
        break;
    case TERN_OP_LOADED:
        step_left(op);
        break;
    case TERN_OP_RESERVE:
        step_reserve(op);
        break;
    default: /* REQUEST_GROWTH */
        if (op->growth_request == TERN_GROW_SOON)
            tern_op_finish(op, TERN_OK);
        else if (op->over)
            tern_op_finish(op, TERN_ERR_FULL);
        else
            follow_wait(op);
    }
}
