#include "hashtable/batch/buffered.h"

#include <inttypes.h>

tern_status tern_buffered_check_keys(size_t keys, const char *name) {
    return keys <= TERN_BUFFERED_KEYS
               ? TERN_OK
               : tern_fail(TERN_ERR_ARGUMENT, "%s: keys is %zu; allowed are 0 to %d", name, keys,
                           TERN_BUFFERED_KEYS);
}

tern_status tern_buffered_check(tern_worker *worker, const tern_scatter *scatter,
                                const char *name) {
    if (worker == NULL || scatter == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL ? "worker" : "buffer");
    if (scatter->worker != worker)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "%s: the buffer is worker %u's, not worker %u's; pass the worker that created it", name,
            scatter->worker->id, worker->id);
    return tern_worker_may_wait(worker, name);
}

static size_t buffered_count(const tern_holder *holder) {
    const tern_scatter *s =
        (const tern_scatter *)(const void *)((const char *)holder - offsetof(tern_scatter, holder));
    size_t keys = 0;
    for (uint32_t owner = 0; owner < s->table->ranks; owner++)
        keys += s->open[owner] != NULL ? s->open[owner]->count : 0;
    return keys;
}

void tern_buffered_open(tern_scatter *scatter, const char *flush) {
    scatter->holder =
        (tern_holder){.count = buffered_count, .item = "key", .place = "buffer", .flush = flush};
    tern_holder_add(scatter->worker, &scatter->holder);
}

void tern_buffered_close(const tern_scatter *scatter) {
    tern_holder_remove(scatter->worker, &scatter->holder);
}

tern_status tern_buffered_report(tern_scatter *scatter, uint64_t *taken, uint64_t *stored,
                                 uint64_t *refused, const char *kind, uint64_t *told) {
    const uint64_t unknown = *taken - *stored - *refused, no_room = *refused;
    tern_status status = TERN_OK, failed = tern_scatter_failure(scatter);
    /* Only the keys of a message that failed are unknown. Other errors were returned before. */
    if (unknown > 0)
        status = tern_fail(failed,
                           "of %" PRIu64 " buffered keys it is not known whether they are in the "
                           "%s: %s",
                           unknown, kind, scatter->text);
    else if (no_room > 0)
        status = tern_fail(TERN_ERR_FULL,
                           "%" PRIu64 " of %" PRIu64 " buffered keys found no room in the %s; %s",
                           no_room, *taken, kind, tern_table_room_remedy(scatter->table));
    *taken = *stored = *refused = 0;
    if (told != NULL)
        *told = no_room;
    return status;
}
