#include "hashtable/batch/batch.h"

#include <stdlib.h>

#include "hashtable/batch/run.h"
#include "hashtable/batch/scatter.h"
#include "src/progress/wait.h"

/*
 * The owner answers with a flag for each key in the result of the call, and behind them the values
 * where they fit. Where they do not, they travel in a call of their own to the origin, made before
 * the result is given, and the origin waits for both. That call runs in the progress that the batch
 * makes while it waits, hence in its thread, and finds the batch by that.
 */
enum { IN_FLIGHT = 32 };

typedef struct find_reply {
    uint32_t done;    /* items gone through */
    uint32_t inlined; /* 1: packed values follow the flags */
    unsigned char found[TERN_RESULT_MAX - 8];
} find_reply;

typedef struct find_values {
    uint64_t number; /* of the piece */
    uint32_t done;
    uint32_t unused;
    unsigned char found[TERN_PIECE_ITEMS];
    unsigned char values[]; /* packed */
} find_values;

_Static_assert(sizeof(find_values) == TERN_PIECE_ITEMS + 16, "as tern_scatter_begin reckons");

typedef struct find_batch {
    tern_scatter scatter;
    char *values;
    unsigned char *found;
    size_t present;
} find_batch;

/* The batch that this thread waits in. */
static _Thread_local find_batch *waiting;

static size_t count_found(const unsigned char *found, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += found[i];
    return sum;
}

/* Puts packed values in their places. found: 0 or 1 each, of which there are as many as values. */
static void place_values(const find_batch *batch, const tern_scatter_piece *piece,
                         const unsigned char *found, size_t count, const unsigned char *packed) {
    size_t step = tern_found_bytes(batch->scatter.table);
    for (size_t i = 0; i < count; i++) {
        if (!found[i])
            continue;
        if (step == 8)
            memcpy(batch->values + piece->number[i] * 8, packed, 8);
        else if (step > 0)
            memcpy(batch->values + piece->number[i] * step, packed, step);
        packed += step;
    }
}

/* Only 0 and 1 are flags. */
static bool are_flags(const unsigned char *found, size_t count) {
    unsigned char all = 0;
    for (size_t i = 0; i < count; i++)
        all |= found[i];
    return all <= 1;
}

/* At the origin. What comes for a batch that has failed meanwhile is dropped. */
static tern_status tern_hashtable_on_values(tern_call_info *call, const void *message,
                                            size_t bytes) {
    find_values v; /* a copy: what is checked stays as it is */
    if (bytes < sizeof v)
        return tern_fail(TERN_ERR_ARGUMENT, "found values in %zu bytes", bytes);
    memcpy(&v, message, sizeof v);
    if (waiting == NULL || waiting->scatter.worker != call->worker)
        return TERN_OK;
    tern_scatter_piece *piece = waiting->scatter.first;
    while (piece != NULL && piece->head.word != v.number)
        piece = piece->next;
    if (piece == NULL)
        return TERN_OK;
    size_t step = tern_found_bytes(waiting->scatter.table);
    if (piece->owner != call->origin.rank || v.done > piece->count || !are_flags(v.found, v.done) ||
        bytes != sizeof v + step * count_found(v.found, v.done))
        return tern_fail(TERN_ERR_ARGUMENT, "found values that make no sense");
    const unsigned char *packed = ((const find_values *)message)->values;
    place_values(waiting, piece, v.found, v.done, packed);
    piece->landed = true;
    return TERN_OK;
}
TERN_FUNCTION(tern_hashtable_on_values)

/* Answers with what was found, by result or by a call and a result. */
static tern_status finds_answer(tern_call_info *call, const tern_piece_head *head, find_values *v,
                                size_t done, size_t value_bytes) {
    find_reply reply = {.done = (uint32_t)done};
    memcpy(reply.found, v->found, done);
    reply.inlined = value_bytes <= sizeof reply.found - done;
    if (reply.inlined) {
        memcpy(reply.found + done, v->values, value_bytes);
    } else {
        v->number = head->word;
        v->done = (uint32_t)done;
        v->unused = 0;
        memset(v->found + done, 0, sizeof v->found - done);
        tern_status status =
            tern_call(call->worker, call->origin, &tern_hashtable_on_values_function, v,
                      sizeof *v + value_bytes);
        if (status != TERN_OK)
            return status;
    }
    call->result_bytes = 8 + done + (reply.inlined ? value_bytes : 0);
    memcpy(call->result, &reply, call->result_bytes);
    return TERN_OK;
}

static tern_status tern_hashtable_on_find_many(tern_call_info *call, const void *message,
                                               size_t bytes) {
    tern_hashtable *table;
    size_t count, done, present;
    tern_status status = tern_piece_read(call, message, bytes, TERN_ITEM_KEY, &table, &count);
    if (status != TERN_OK)
        return status;
    const size_t value = tern_found_bytes(table), step = 8 * (size_t)table->shape.key_words;
    uint64_t room[(sizeof(find_values) + TERN_PIECE_BYTES) / 8];
    find_values *v = (void *)room;
    if (value > TERN_PIECE_BYTES)
        v = malloc(sizeof *v + value);
    else if (value > 0 && count > TERN_PIECE_BYTES / value)
        count = TERN_PIECE_BYTES / value; /* the rest is sent again */
    if (v == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", value);
    if (v != (void *)room)
        count = 1;
    const char *keys = (const char *)message + sizeof(tern_piece_head);
    tern_items items = {.keys = keys, .key_step = step, .count = count, .own = true};
    status = tern_run_find(call->worker, table, &items, TERN_READ_WRITE, true, (char *)v->values,
                           v->found, &done, &present);
    /* What was found counts; a failure that lasts then comes first. */
    if (status == TERN_OK || done > 0)
        status = finds_answer(call, message, v, done, present * value);
    if (v != (void *)room)
        free(v);
    return status;
}
TERN_FUNCTION(tern_hashtable_on_find_many)

static tern_status wait_for_values(tern_worker *worker, const tern_scatter_piece *piece) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (status == TERN_OK && !piece->landed) {
        (void)tern_progress_round(worker);
        if (!piece->landed)
            status = tern_wait_step(worker->context, &wait, piece->owner);
    }
    return status;
}

static tern_status finds_take(tern_scatter *scatter, tern_scatter_piece *piece, const void *message,
                              size_t bytes, uint32_t *done) {
    find_batch *batch = (find_batch *)(void *)scatter;
    find_reply reply;
    memcpy(&reply, message, bytes);
    if (bytes < 8 || reply.done > piece->count || reply.done > bytes - 8 ||
        !are_flags(reply.found, reply.done))
        return TERN_OK; /* which makes no sense */
    size_t present = count_found(reply.found, reply.done);
    if (!reply.inlined) {
        tern_status status = wait_for_values(scatter->worker, piece);
        if (status != TERN_OK)
            return status;
    } else if (bytes != 8 + reply.done + present * tern_found_bytes(scatter->table)) {
        return TERN_OK;
    } else {
        place_values(batch, piece, reply.found, reply.done, reply.found + reply.done);
    }
    for (uint32_t i = 0; i < reply.done; i++)
        batch->found[piece->number[i]] = reply.found[i];
    batch->present += present;
    *done = reply.done;
    return TERN_OK;
}

/* In place, waiting where a handler would not. */
static tern_status finds_here(tern_scatter *scatter, tern_scatter_piece *piece) {
    find_batch *batch = (find_batch *)(void *)scatter;
    const size_t step = 8 * (size_t)scatter->table->shape.key_words;
    const size_t value = tern_found_bytes(scatter->table);
    const bool own = piece->owner == scatter->table->rank;
    for (uint32_t i = 0; i < piece->count; i++) {
        const size_t number = piece->number[i];
        tern_items items = {.keys = (const char *)piece->words + i * step,
                            .key_step = step,
                            .count = 1,
                            .own = own};
        size_t done, present;
        tern_status status =
            tern_run_find(scatter->worker, scatter->table, &items, TERN_READ_WRITE, false,
                          batch->values + number * value, batch->found + number, &done, &present);
        if (status != TERN_OK)
            return status;
        batch->present += present;
    }
    return TERN_OK;
}

static const tern_scatter_ops find_ops = {&tern_hashtable_on_find_many_function, true,
                                          TERN_RESULT_MAX, finds_here, finds_take};

tern_status tern_call_find_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                                size_t count, bool local_in_place, char *values,
                                unsigned char *found, size_t *present) {
    const size_t value = tern_found_bytes(table), room = tern_call_room(table->context);
    const size_t key = 8 * (size_t)table->shape.key_words;
    if (sizeof(find_values) + value > room || sizeof(tern_piece_head) + key > room)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "a find by call takes %zu bytes and a ring takes %zu at a time; raise "
                         "TERN_RING_SIZE (now %zu) or pass TERN_BY_RMA",
                         sizeof(find_values) + value, room, table->context->config.ring_size);
    find_batch batch = {.values = values, .found = found};
    tern_status status = tern_scatter_begin(&batch.scatter, worker, table, &find_ops,
                                            table->shape.key_words, value, count, IN_FLIGHT);
    if (status != TERN_OK)
        return status;
    batch.scatter.local_in_place = local_in_place;
    waiting = &batch;
    status = tern_scatter_keys(&batch.scatter, keys, count);
    /* Answers are awaited in this frame until they have come. */
    (void)tern_scatter_wait(&batch.scatter);
    waiting = NULL;
    tern_status failed = tern_scatter_failure(&batch.scatter);
    tern_scatter_end(&batch.scatter);
    *present = batch.present;
    return failed != TERN_OK ? failed : status;
}
