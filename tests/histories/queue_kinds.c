#include "histories/record.h"

/* What can be done with a queue, and with the parts of a distributed one: how, and what it may give
 * when nothing else runs. Word 0 is the capacity, word 1 how many items it holds; they follow,
 * oldest first, and behind them zeros. */

static bool step_push(history_state *state, const history_operation *o) {
    if (o->status == TERN_ERR_TIMEOUT)
        return true; /* and nothing has changed */
    if (state->word[1] == state->word[0])
        return o->status == TERN_ERR_FULL;
    state->word[2 + state->word[1]++] = o->argument[0];
    return o->status == TERN_OK;
}

static bool step_pop(history_state *state, const history_operation *o) {
    if (o->status == TERN_ERR_TIMEOUT)
        return true;
    if (state->word[1] == 0)
        return o->status == TERN_ERR_EMPTY;
    uint64_t oldest = state->word[2], left = --state->word[1];
    memmove(state->word + 2, state->word + 3, left * sizeof oldest);
    state->word[2 + left] = 0;
    return o->status == TERN_OK && o->result == oldest;
}

typedef enum how { TRY, WITHIN, WAIT } how;

/* From what is over at once to what may wait for a while. */
static double some_seconds(const history_operation *o) {
    return 1e-6 * (double)(o->argument[0] % 64);
}

static tern_status push(tern_worker *worker, tern_queue *queue, const history_target *target,
                        const history_operation *o, how how) {
    char item[TERN_RESULT_MAX];
    history_fill(item, target->bytes, 0, o->argument[0]);
    if (how == TRY)
        return tern_queue_try_push(worker, queue, item, o->flags);
    return how == WAIT ? tern_queue_push(worker, queue, item, o->flags)
                       : tern_queue_push_timed(worker, queue, item, some_seconds(o), o->flags);
}

static tern_status pop(tern_worker *worker, const history_target *target, history_operation *o,
                       how how) {
    char item[TERN_RESULT_MAX];
    tern_status status = how == TRY    ? tern_queue_try_pop(worker, target->queue, item, o->flags)
                         : how == WAIT ? tern_queue_pop(worker, target->queue, item, o->flags)
                                       : tern_queue_pop_timed(worker, target->queue, item,
                                                              some_seconds(o), o->flags);
    if (status == TERN_OK)
        o->result = history_number(item, target->bytes, 0);
    return status;
}

static tern_status run_try_push(tern_worker *worker, const history_target *target,
                                history_operation *o) {
    return push(worker, target->queue, target, o, TRY);
}
static tern_status run_try_pop(tern_worker *worker, const history_target *target,
                               history_operation *o) {
    return pop(worker, target, o, TRY);
}
static tern_status run_push(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    return push(worker, target->queue, target, o, WAIT);
}
static tern_status run_pop(tern_worker *worker, const history_target *target,
                           history_operation *o) {
    return pop(worker, target, o, WAIT);
}
static tern_status run_push_within(tern_worker *worker, const history_target *target,
                                   history_operation *o) {
    return push(worker, target->queue, target, o, WITHIN);
}
static tern_status run_pop_within(tern_worker *worker, const history_target *target,
                                  history_operation *o) {
    return pop(worker, target, o, WITHIN);
}

/* Of a batch that stopped short, the next one had found the queue full, or empty. */
static size_t fell_short(history_operation *o, size_t count, size_t done, tern_status status,
                         tern_status limit) {
    for (size_t i = 0; i < done; i++)
        o[i].status = TERN_OK;
    o[done].status = status == TERN_OK ? limit : status;
    return done < count ? done + 1 : done;
}

static size_t run_push_many(tern_worker *worker, const history_target *target, history_operation *o,
                            size_t count) {
    char items[HISTORY_MANY * TERN_RESULT_MAX] = {0};
    size_t done;
    for (size_t i = 0; i < count; i++)
        history_fill(items + i * target->bytes, target->bytes, 0, o[i].argument[0]);
    tern_status status = tern_queue_push_many(worker, target->queue, items, count, o->flags, &done);
    return fell_short(o, count, done, status, TERN_ERR_FULL);
}

static size_t run_pop_many(tern_worker *worker, const history_target *target, history_operation *o,
                           size_t count) {
    char items[HISTORY_MANY * TERN_RESULT_MAX] = {0};
    size_t done;
    tern_status status = tern_queue_pop_many(worker, target->queue, items, count, o->flags, &done);
    for (size_t i = 0; i < done; i++)
        o[i].result = history_number(items + i * target->bytes, target->bytes, 0);
    return fell_short(o, count, done, status, TERN_ERR_EMPTY);
}

static const history_kind queue_kinds[] = {
    {"try_push", run_try_push, step_push, .in_writes = true},
    {"try_pop", run_try_pop, step_pop, .in_reads = true},
    {"push", run_push, step_push, .in_writes = true, .waits = true},
    {"pop", run_pop, step_pop, .in_reads = true, .waits = true},
    {"push_within", run_push_within, step_push, .in_writes = true},
    {"pop_within", run_pop_within, step_pop, .in_reads = true},
    {"push_many", NULL, step_push, .in_writes = true, .run_many = run_push_many},
    {"pop_many", NULL, step_pop, .in_reads = true, .run_many = run_pop_many},
};

const history_kinds history_of_queues = {queue_kinds, sizeof queue_kinds / sizeof *queue_kinds};

/* Parts. An item's number says which it was pushed to: pops find it out. */

enum { PARTS_MAX = 8 };

static uint64_t number_of(const history_operation *o) {
    return o->argument[0] << 3 | o->object % PARTS_MAX;
}

static tern_status run_push_to_part(tern_worker *worker, const history_target *target,
                                    history_operation *o) {
    tern_queue *part = NULL;
    o->argument[0] = number_of(o);
    tern_status status =
        tern_distributed_queue_part(target->parts, (uint32_t)(o->object % PARTS_MAX), &part);
    return status == TERN_OK ? push(worker, part, target, o, TRY) : status;
}

/* One by one, or several of one part, in their order; or each part was found empty, at one moment
 * or another. */
static size_t run_pop_any(tern_worker *worker, const history_target *target, history_operation *o,
                          size_t count) {
    const uint32_t parts = tern_context_size(tern_worker_context(worker));
    char items[HISTORY_MANY * TERN_RESULT_MAX] = {0};
    const uint64_t first = o->object - o->object % PARTS_MAX;
    size_t done;
    tern_status status =
        tern_distributed_queue_pop_many(worker, target->parts, items, count, o->flags, &done);
    for (size_t i = 0; i < done; i++) {
        o[i].status = TERN_OK;
        o[i].result = history_number(items + i * target->bytes, target->bytes, 0);
        o[i].object = first + o[i].result % PARTS_MAX;
    }
    if (done > 0)
        return done;
    for (uint32_t i = 0; i < parts; i++) {
        o[i].object = first + i;
        o[i].status = status;
    }
    return parts;
}

static const history_kind part_kinds[] = {
    {"push", run_push_to_part, step_push, .in_writes = true},
    {"push", run_push_to_part, step_push, .in_writes = true},
    {"push", run_push_to_part, step_push, .in_writes = true},
    {"pop", NULL, step_pop, .in_reads = true, .run_many = run_pop_any},
};

const history_kinds history_of_parts = {part_kinds, sizeof part_kinds / sizeof *part_kinds};
