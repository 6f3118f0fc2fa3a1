#include "hashtable/batch/scatter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static size_t scatter_smaller(size_t a, size_t b) { return a < b ? a : b; }

/* words, items: of a piece. */
static tern_status scatter_begin(tern_scatter *scatter, tern_worker *worker, tern_hashtable *table,
                                 const tern_scatter_ops *ops, size_t words, size_t items,
                                 uint32_t limit) {
    *scatter = (tern_scatter){.worker = worker,
                              .table = table,
                              .ops = ops,
                              .flags = TERN_BY_CALL,
                              .piece_words = (uint32_t)words,
                              .piece_items = (uint32_t)items,
                              .limit = limit,
                              .answer = malloc(ops->answer_bytes),
                              .open = calloc(table->ranks, sizeof *scatter->open)};
    scatter->head.head = tern_table_head_to(table);
    if (scatter->open != NULL && scatter->answer != NULL)
        return TERN_OK;
    free(scatter->open);
    free(scatter->answer);
    return tern_fail(TERN_ERR_MEMORY, "no memory for a batch to %u ranks", table->ranks);
}

tern_status tern_scatter_begin(tern_scatter *scatter, tern_worker *worker, tern_hashtable *table,
                               const tern_scatter_ops *ops, uint8_t kind, uint8_t form,
                               const uint64_t *number, size_t answer_bytes, size_t expected,
                               uint32_t limit) {
    const size_t item_words = tern_item_words(table, kind, form),
                 numbers = tern_piece_numbers(kind, form);
    const size_t room = tern_call_room(table->context) - tern_piece_bytes(table, kind, form, 0);
    size_t items = scatter_smaller(scatter_smaller(TERN_PIECE_ITEMS, expected),
                                   scatter_smaller(room, TERN_PIECE_BYTES) / (8 * item_words));
    if (answer_bytes > 0) {
        const size_t answer = tern_call_room(table->context) - sizeof(tern_found_late);
        items = scatter_smaller(items, scatter_smaller(answer, TERN_PIECE_BYTES) / answer_bytes);
    }
    items = items > 0 ? items : 1;
    tern_status status =
        scatter_begin(scatter, worker, table, ops, numbers + items * item_words, items, limit);
    scatter->item_words = (uint32_t)item_words;
    scatter->head.kind = kind;
    scatter->head.form = form;
    scatter->numbers = (uint32_t)numbers;
    if (numbers > 0)
        memcpy(scatter->number, number, numbers * sizeof *number);
    return status;
}

tern_status tern_scatter_begin_sizes(tern_scatter *scatter, tern_worker *worker,
                                     tern_hashtable *table, const tern_scatter_ops *ops,
                                     size_t expected, uint32_t limit) {
    const size_t room = tern_call_room(table->context) - sizeof(tern_piece_head);
    return scatter_begin(scatter, worker, table, ops, scatter_smaller(room, TERN_PIECE_BYTES) / 8,
                         scatter_smaller(TERN_PIECE_ITEMS, expected), limit);
}

tern_status tern_scatter_note(tern_scatter *s, tern_status status) {
    if (status == TERN_OK || status == TERN_ERR_AGAIN || s->failed != TERN_OK)
        return status;
    s->failed = status;
    snprintf(s->text, sizeof s->text, "%s", tern_error_detail());
    return status;
}

tern_status tern_scatter_failure(tern_scatter *scatter) {
    tern_status status = scatter->failed;
    scatter->failed = TERN_OK;
    return status == TERN_OK ? status : tern_fail(status, "%s", scatter->text);
}

static void put_away(tern_scatter *s, tern_scatter_piece *piece) {
    piece->next = s->unused;
    s->unused = piece;
}

/* Sends a piece, which is under way from then on, unless this returns an error. */
static tern_status scatter_start(tern_scatter *s, tern_scatter_piece *piece);

/* Sends the rest of a piece, of which the owner has gone through done items. */
static tern_status start_rest(tern_scatter *s, tern_scatter_piece *piece, uint32_t done) {
    const uint32_t first = piece->at[0], gone = piece->at[done] - first;
    piece->count -= done;
    for (uint32_t i = 0; i <= piece->count; i++)
        piece->at[i] = piece->at[i + done] - gone;
    memmove(piece->words + first, piece->words + first + gone,
            8 * (size_t)(piece->at[piece->count] - first));
    memmove(piece->number, piece->number + done, piece->count * sizeof *piece->number);
    return scatter_start(s, piece);
}

/* Waits for the oldest piece. On an error it is given up. */
static tern_status scatter_finish_oldest(tern_scatter *s) {
    tern_scatter_piece *piece = s->first;
    size_t bytes;
    uint32_t done = 0;
    /* The piece stays in the list, where a tern_found_late that comes before the reply finds it. */
    tern_status status =
        tern_answer_wait(s->worker, &piece->answer, s->answer, s->ops->answer_bytes, &bytes);
    if (status == TERN_OK)
        status = s->ops->take(s, piece, s->answer, bytes, &done);
    if (status == TERN_OK && (done == 0 || done > piece->count))
        status =
            tern_fail(TERN_ERR_SYSTEM,
                      "rank %u has answered a batch with a message that no owner sends; look for "
                      "what writes into that rank's memory",
                      piece->owner);
    s->first = piece->next;
    if (s->first == NULL)
        s->last = NULL;
    s->under_way--;
    if (status == TERN_OK && done < piece->count &&
        (status = start_rest(s, piece, done)) == TERN_OK)
        return status;
    put_away(s, piece);
    /* TERN_ERR_AGAIN would invite the caller to try again, but these items are lost. */
    if (status == TERN_ERR_AGAIN)
        status =
            tern_fail(TERN_ERR_MEMORY,
                      "the rest of a batch to rank %u found all %d calls of the worker under way",
                      piece->owner, TERN_CALL_REQUESTS);
    return tern_scatter_note(s, status);
}

static tern_status scatter_start(tern_scatter *s, tern_scatter_piece *piece) {
    static atomic_uint_fast64_t sent;
    tern_status status;
    /* R4 */
    piece->head.number = (uint32_t)atomic_fetch_add_explicit(&sent, 1, memory_order_relaxed);
    piece->head.count = (uint16_t)piece->count;
    piece->landed = 0;
    for (;;) {
        status = tern_answer_ask(
            s->worker, tern_table_worker(s->table, piece->owner), s->ops->function, &piece->head,
            sizeof piece->head + 8 * (size_t)piece->at[piece->count], &piece->answer);
        /* All requests are in use. The program waits for its own, this for one of ours. */
        if (status != TERN_ERR_AGAIN || s->first == NULL)
            break;
        status = scatter_finish_oldest(s);
        if (status != TERN_OK)
            break;
    }
    if (status != TERN_OK)
        return status;
    tern_error_clear_again();
    piece->next = NULL;
    if (s->last != NULL)
        s->last->next = piece;
    else
        s->first = piece;
    s->last = piece;
    s->under_way++;
    return TERN_OK;
}

static bool scatter_in_place(const tern_scatter *s, uint32_t owner) {
    return owner == s->table->rank ||
           tern_batch_stays(s->table->context, owner, s->flags, s->table->call_only,
                            !tern_op_is_remote(s->table, owner));
}

static tern_status scatter_dispatch(tern_scatter *s, uint32_t owner) {
    tern_scatter_piece *piece = s->open[owner];
    tern_status status;
    s->open[owner] = NULL;
    if (scatter_in_place(s, owner)) {
        status = tern_scatter_note(s, s->ops->here(s, piece));
        put_away(s, piece);
    } else if ((status = scatter_start(s, piece)) == TERN_ERR_AGAIN) {
        s->open[owner] = piece;
    } else if (tern_scatter_note(s, status) != TERN_OK) {
        put_away(s, piece);
    }
    while (status == TERN_OK && s->under_way >= s->limit)
        status = scatter_finish_oldest(s);
    (void)tern_progress_round(s->worker);
    return status;
}

static tern_status scatter_open_piece(tern_scatter *s, uint32_t owner) {
    tern_scatter_piece *piece = s->unused;
    const size_t words = s->piece_words, items = s->piece_items;
    if (piece != NULL)
        s->unused = piece->next;
    else
        piece = malloc(sizeof *piece + 8 * words + items * sizeof *piece->number +
                       (items + 1) * sizeof *piece->at);
    if (piece == NULL)
        return tern_scatter_note(
            s, tern_fail(TERN_ERR_MEMORY, "no memory for a batch of %u keys", s->piece_items));
    *piece = (tern_scatter_piece){.owner = owner,
                                  .number = (size_t *)(void *)(piece->words + words),
                                  .at = (uint32_t *)(void *)(piece->words + words + items),
                                  .head = s->head};
    piece->at[0] = s->numbers;
    memcpy(piece->words, s->number, s->numbers * sizeof *s->number);
    s->open[owner] = piece;
    return TERN_OK;
}

tern_status tern_scatter_make_room(tern_scatter *scatter, uint32_t owner, size_t size) {
    tern_scatter_piece *piece = scatter->open[owner];
    const bool full = piece != NULL && (piece->count == scatter->piece_items ||
                                        piece->at[piece->count] + size > scatter->piece_words);
    const tern_status status = full ? scatter_dispatch(scatter, owner) : TERN_OK;
    if (status != TERN_OK || scatter->open[owner] != NULL)
        return status;
    return scatter_open_piece(scatter, owner);
}

tern_status tern_scatter_send_to(tern_scatter *scatter, uint32_t owner) {
    return scatter->open[owner] != NULL ? scatter_dispatch(scatter, owner) : TERN_OK;
}

tern_status tern_scatter_send(tern_scatter *scatter) {
    tern_status first = TERN_OK;
    for (uint32_t owner = 0; owner < scatter->table->ranks; owner++) {
        tern_status status = tern_scatter_send_to(scatter, owner);
        first = first == TERN_OK || status == TERN_ERR_AGAIN ? status : first;
    }
    return first;
}

tern_status tern_scatter_wait(tern_scatter *scatter) {
    tern_status first = TERN_OK;
    while (scatter->first != NULL) {
        tern_status status = scatter_finish_oldest(scatter);
        first = first == TERN_OK ? status : first;
    }
    return first;
}

void tern_scatter_end(tern_scatter *scatter) {
    for (tern_scatter_piece *next, *piece = scatter->unused; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    for (uint32_t owner = 0; owner < scatter->table->ranks; owner++)
        free(scatter->open[owner]);
    free(scatter->open);
    free(scatter->answer);
}
