#include "hashtable/batch/scatter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static size_t scatter_smaller(size_t a, size_t b) { return a < b ? a : b; }

/* words, items: of a bundle. */
static tern_status scatter_begin(tern_scatter *scatter, tern_worker *worker, tern_hashtable *table,
                                 const tern_scatter_ops *ops, size_t words, size_t items,
                                 uint32_t limit) {
    *scatter = (tern_scatter){.worker = worker,
                              .table = table,
                              .ops = ops,
                              .flags = TERN_BY_CALL,
                              .bundle_words = (uint32_t)words,
                              .bundle_items = (uint32_t)items,
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
                 numbers = tern_bundle_numbers(kind, form);
    const size_t room = tern_call_room(table->context) - tern_bundle_bytes(table, kind, form, 0);
    size_t items = scatter_smaller(scatter_smaller(TERN_BUNDLE_ITEMS, expected),
                                   scatter_smaller(room, TERN_BUNDLE_BYTES) / (8 * item_words));
    if (answer_bytes > 0) {
        const size_t answer = tern_call_room(table->context) - sizeof(tern_found_late);
        items = scatter_smaller(items, scatter_smaller(answer, TERN_BUNDLE_BYTES) / answer_bytes);
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
    const size_t room = tern_call_room(table->context) - sizeof(tern_bundle_head);
    return scatter_begin(scatter, worker, table, ops, scatter_smaller(room, TERN_BUNDLE_BYTES) / 8,
                         scatter_smaller(TERN_BUNDLE_ITEMS, expected), limit);
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

static void put_away(tern_scatter *s, tern_scatter_bundle *bundle) {
    bundle->next = s->unused;
    s->unused = bundle;
}

/* Sends a bundle, which is under way from then on, unless this returns an error. */
static tern_status scatter_start(tern_scatter *s, tern_scatter_bundle *bundle);

/* Sends a bundle again without its first done items, which the owner has gone through. */
static tern_status start_rest(tern_scatter *s, tern_scatter_bundle *bundle, uint32_t done) {
    const uint32_t first = bundle->at[0], gone = bundle->at[done] - first;
    bundle->count -= done;
    for (uint32_t i = 0; i <= bundle->count; i++)
        bundle->at[i] = bundle->at[i + done] - gone;
    memmove(bundle->words + first, bundle->words + first + gone,
            8 * (size_t)(bundle->at[bundle->count] - first));
    memmove(bundle->number, bundle->number + done, bundle->count * sizeof *bundle->number);
    return scatter_start(s, bundle);
}

/* Waits for the reply to the oldest bundle. On an error the bundle is given up. */
static tern_status scatter_finish_oldest(tern_scatter *s) {
    tern_scatter_bundle *bundle = s->first;
    size_t bytes;
    uint32_t done = 0;
    /* The bundle stays in the list: the handler of a tern_found_late looks for it there. */
    tern_status status =
        tern_answer_wait(s->worker, &bundle->answer, s->answer, s->ops->answer_bytes, &bytes);
    if (status == TERN_OK)
        status = s->ops->take(s, bundle, s->answer, bytes, &done);
    if (status == TERN_OK && (done == 0 || done > bundle->count))
        status =
            tern_fail(TERN_ERR_SYSTEM,
                      "rank %u has answered a batch with a message that no owner sends; look for "
                      "what writes into that rank's memory",
                      bundle->owner);
    s->first = bundle->next;
    if (s->first == NULL)
        s->last = NULL;
    s->under_way--;
    if (status == TERN_OK && done < bundle->count &&
        (status = start_rest(s, bundle, done)) == TERN_OK)
        return status;
    put_away(s, bundle);
    /* TERN_ERR_AGAIN would invite the caller to try again, but these items are lost. */
    if (status == TERN_ERR_AGAIN)
        status =
            tern_fail(TERN_ERR_MEMORY,
                      "the rest of a batch to rank %u found all %d calls of the worker under way",
                      bundle->owner, TERN_CALL_REQUESTS);
    return tern_scatter_note(s, status);
}

static tern_status scatter_start(tern_scatter *s, tern_scatter_bundle *bundle) {
    static atomic_uint_fast64_t sent;
    tern_status status;
    /* R4 */
    bundle->head.number = (uint32_t)atomic_fetch_add_explicit(&sent, 1, memory_order_relaxed);
    bundle->head.count = (uint16_t)bundle->count;
    bundle->landed = 0;
    for (;;) {
        status = tern_answer_ask(
            s->worker, tern_table_worker(s->table, bundle->owner), s->ops->function, &bundle->head,
            sizeof bundle->head + 8 * (size_t)bundle->at[bundle->count], &bundle->answer);
        /* All requests are in use. The program waits for its own; this waits for a bundle's. */
        if (status != TERN_ERR_AGAIN || s->first == NULL)
            break;
        status = scatter_finish_oldest(s);
        if (status != TERN_OK)
            break;
    }
    if (status != TERN_OK)
        return status;
    tern_error_clear_again();
    bundle->next = NULL;
    if (s->last != NULL)
        s->last->next = bundle;
    else
        s->first = bundle;
    s->last = bundle;
    s->under_way++;
    return TERN_OK;
}

static bool scatter_in_place(const tern_scatter *s, uint32_t owner) {
    return owner == s->table->rank ||
           tern_batch_stays(s->table->context, owner, s->flags, s->table->call_only,
                            !tern_op_is_remote(s->table, owner));
}

static tern_status scatter_dispatch(tern_scatter *s, uint32_t owner) {
    tern_scatter_bundle *bundle = s->open[owner];
    tern_status status;
    s->open[owner] = NULL;
    if (scatter_in_place(s, owner)) {
        status = tern_scatter_note(s, s->ops->here(s, bundle));
        put_away(s, bundle);
    } else if ((status = scatter_start(s, bundle)) == TERN_ERR_AGAIN) {
        s->open[owner] = bundle;
    } else if (tern_scatter_note(s, status) != TERN_OK) {
        put_away(s, bundle);
    }
    while (status == TERN_OK && s->under_way >= s->limit)
        status = scatter_finish_oldest(s);
    (void)tern_progress_round(s->worker);
    return status;
}

static tern_status scatter_open_bundle(tern_scatter *s, uint32_t owner) {
    tern_scatter_bundle *bundle = s->unused;
    const size_t words = s->bundle_words, items = s->bundle_items;
    if (bundle != NULL)
        s->unused = bundle->next;
    else
        bundle = malloc(sizeof *bundle + 8 * words + items * sizeof *bundle->number +
                        (items + 1) * sizeof *bundle->at);
    if (bundle == NULL)
        return tern_scatter_note(
            s, tern_fail(TERN_ERR_MEMORY, "no memory for a batch of %u keys", s->bundle_items));
    *bundle = (tern_scatter_bundle){.owner = owner,
                                    .number = (size_t *)(void *)(bundle->words + words),
                                    .at = (uint32_t *)(void *)(bundle->words + words + items),
                                    .head = s->head};
    bundle->at[0] = s->numbers;
    memcpy(bundle->words, s->number, s->numbers * sizeof *s->number);
    s->open[owner] = bundle;
    return TERN_OK;
}

tern_status tern_scatter_make_room(tern_scatter *scatter, uint32_t owner, size_t size) {
    tern_scatter_bundle *bundle = scatter->open[owner];
    const bool full = bundle != NULL && (bundle->count == scatter->bundle_items ||
                                         bundle->at[bundle->count] + size > scatter->bundle_words);
    const tern_status status = full ? scatter_dispatch(scatter, owner) : TERN_OK;
    if (status != TERN_OK || scatter->open[owner] != NULL)
        return status;
    return scatter_open_bundle(scatter, owner);
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
    for (tern_scatter_bundle *next, *bundle = scatter->unused; bundle != NULL; bundle = next) {
        next = bundle->next;
        free(bundle);
    }
    for (uint32_t owner = 0; owner < scatter->table->ranks; owner++)
        free(scatter->open[owner]);
    free(scatter->open);
    free(scatter->answer);
}
