#include "hashtable/auto.h"

#include "hashtable/call.h"

/* Keys that go one way together: so many that a trial of the other way is short, and enough that
 * each owner gets them in few messages. */
enum { TOGETHER = 2048 };

tern_status tern_auto_make(tern_hashtable *table) {
    const bool counts = tern_shape_counts(table->shape), rma = !table->call_only;
    const bool found = counts || tern_call_check_find(table) == TERN_OK;
    const bool inserted = counts || tern_call_check_insert(table) == TERN_OK;
    const tern_kind kinds[TERN_KINDS] = {
        [TERN_KIND_WRITE] = {counts ? TERN_MODEL_ADD : TERN_MODEL_INSERT, rma, inserted || !rma},
        [TERN_KIND_READ] = {TERN_MODEL_FIND, rma, found || !rma},
        [TERN_KIND_MANY] = {TERN_MODEL_ADD, rma, true},
    };
    return tern_chooser_make(&table->chooser, table->context, 0, table->ranks, kinds, TERN_KINDS);
}

/* The kind MANY has one choice, kept under the name of a rank that is not the own. */
static uint32_t anybody(const tern_hashtable *table) { return (table->rank + 1) % table->ranks; }

tern_status tern_auto_add_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, tern_promise promise, size_t *added) {
    const size_t wanted = count;
    tern_status result = TERN_OK;
    size_t all = 0;
    do {
        size_t here = count < TOGETHER ? count : TOGETHER, counted = 0;
        tern_pick pick =
            tern_chooser_take_many(&table->chooser, worker, anybody(table), TERN_KIND_MANY);
        tern_status status =
            tern_hashtable_add_many(worker, table, keys, here, delta, promise, pick.via, &counted);
        if (pick.choice != NULL)
            tern_pick_end(&pick, here);
        all += counted;
        if (status != TERN_OK)
            result = status;
        keys += here * table->key_bytes;
        count -= here;
    } while (count > 0 && (result == TERN_OK || result == TERN_ERR_FULL));
    if (added != NULL)
        *added = all;
    if (result == TERN_ERR_FULL)
        return tern_fail(result,
                         "%zu of %zu keys found no room; create the table with a greater capacity",
                         wanted - all, wanted);
    return result;
}
