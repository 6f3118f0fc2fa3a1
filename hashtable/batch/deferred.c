#include "hashtable/batch/deferred.h"

#include <stdlib.h>

void tern_deferred_take(const tern_call_info *call, tern_hashtable *table, size_t *done,
                        size_t *stored) {
    *done = *stored = 0;
    for (tern_deferred **at = &table->deferred[call->worker->index]; *at != NULL;
         at = &(*at)->next) {
        tern_deferred *p = *at;
        if (p->origin.rank != call->origin.rank || p->origin.index != call->origin.index)
            continue;
        *done = p->done;
        *stored = p->stored;
        *at = p->next;
        free(p);
        return;
    }
}

bool tern_deferred_put(const tern_call_info *call, tern_hashtable *table, size_t done,
                       size_t stored) {
    tern_deferred **list = &table->deferred[call->worker->index];
    tern_deferred *p = malloc(sizeof *p);
    if (p == NULL)
        return false;
    *p = (tern_deferred){*list, call->origin, done, stored};
    *list = p;
    return true;
}

void tern_deferred_free(tern_hashtable *table) {
    for (uint32_t i = 0; i < table->context->workers; i++)
        for (tern_deferred *next, *p = table->deferred[i]; p != NULL; p = next) {
            next = p->next;
            free(p);
        }
    free(table->deferred);
}
