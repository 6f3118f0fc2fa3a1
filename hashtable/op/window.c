#include <stdio.h>
#include <stdlib.h>

#include "hashtable/op/pool.h"
#include "rma/transfer.h"

static size_t window_step(const tern_hashtable *table) {
    return (sizeof(tern_op) + 8 * (size_t)table->shape.key_words + tern_op_room(table) + 63) / 64 *
           64;
}

static tern_op *window_op(const tern_op_window *w, size_t op) {
    return (tern_op *)(void *)(w->places + op % TERN_WINDOW_OPS * window_step(w->table));
}

tern_status tern_op_window_open(tern_op_window *window, tern_worker *worker,
                                tern_hashtable *table) {
    tern_table_inside *inside = &table->inside[worker->index];
    *window = (tern_op_window){.outer = inside->windows,
                               .worker = worker,
                               .table = table,
                               .places = malloc(TERN_WINDOW_OPS * window_step(table))};
    if (window->places == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %d operations under way", TERN_WINDOW_OPS);
    inside->windows = window;
    return TERN_OK;
}

void tern_op_window_close(tern_op_window *window) {
    bool leaks = false;
    for (size_t i = 0; i < window->begun && i < TERN_WINDOW_OPS; i++)
        leaks = leaks || tern_op_leaks_room(window_op(window, i));
    if (!leaks)
        free(window->places);
    window->table->inside[window->worker->index].windows = window->outer;
}

bool tern_op_window_takes(const tern_op_window *window, const tern_op *op, uint64_t hash) {
    const bool changes = op->kind != TERN_OP_FIND;
    for (size_t i = window->ended; i < window->begun && changes; i++)
        if (window_op(window, i)->probe.hash == hash)
            return false;
    return window->begun - window->ended < TERN_WINDOW_OPS;
}

/* Keeps the text of the first error: what the others do may overwrite it. */
static void window_note(tern_op_window *w, const tern_op *op) {
    if (op->stage == TERN_OP_DONE && w->failed == TERN_OK && !tern_op_is_answer(op->outcome)) {
        w->failed = op->outcome;
        snprintf(w->text, sizeof w->text, "%s", tern_error_detail());
    }
}

tern_status tern_op_window_failure(const tern_op_window *window) {
    return window->failed == TERN_OK ? TERN_OK : tern_fail(window->failed, "%s", window->text);
}

void tern_op_window_begin(tern_op_window *window, const tern_op *op, const void *key,
                          size_t number) {
    tern_hashtable *table = window->table;
    tern_op *mine = window_op(window, window->begun);
    uint64_t *words = (uint64_t *)(void *)(mine + 1);
    tern_words_fill(words, table->shape.key_words, key, table->key_bytes);
    *mine = *op;
    mine->probe.key = words;
    mine->once = false;
    window->number[window->begun % TERN_WINDOW_OPS] = number;
    tern_table_enter(window->worker, table);
    tern_op_start(mine, words + table->shape.key_words);
    (void)tern_op_step(mine);
    window_note(window, mine);
    window->begun++;
    tern_table_exit(window->worker, table);
}

/* Makes progress, since others may wait for this worker; steps complete at once make none. */
const tern_op *tern_op_window_end(tern_op_window *window, size_t *number) {
    tern_worker *worker = window->worker;
    tern_op *op = window_op(window, window->ended);
    tern_wait_state wait = TERN_WAIT_IN("a batch on a hash table");
    while (op->stage != TERN_OP_DONE) {
        tern_op_await(op);
        window_note(window, op);
        for (size_t i = window->ended; i < window->begun; i++) {
            tern_op *each = window_op(window, i);
            if (each->stage == TERN_OP_DONE)
                continue;
            (void)tern_op_step_in_progress(each);
            window_note(window, each);
        }
        if (op->stage == TERN_OP_DONE || op->transfer.under_way)
            continue;
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (op->waits) {
            const tern_status status =
                tern_wait_step(worker->context, &wait, tern_state_writer(op->state));
            if (status != TERN_OK) {
                tern_op_finish(op, status);
                window_note(window, op);
            }
        }
    }
    *number = window->number[window->ended++ % TERN_WINDOW_OPS];
    return op;
}

bool tern_op_window_holds(const tern_op_window *window, uint32_t owner, uint64_t generation) {
    for (size_t i = window->ended; i < window->begun; i++) {
        const tern_op *op = window_op(window, i);
        if (op->stage != TERN_OP_DONE && tern_op_holds(op, owner, generation))
            return true;
    }
    return false;
}
