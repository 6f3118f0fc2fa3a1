#include "hashtable/batch/deferred.h"

#include <stdlib.h>

void tern_parked_take(const tern_call_info *call, tern_hashtable *table, size_t *done,
                      size_t *stored) {
    *done = *stored = 0;
    for (tern_parked **at = &table->parked[call->worker->index]; *at != NULL; at = &(*at)->next) {
        tern_parked *p = *at;
        if (p->origin.rank != call->origin.rank || p->origin.index != call->origin.index)
            continue;
        *done = p->done;
        *stored = p->stored;
        *at = p->next;
        free(p);
        return;
    }
}

bool tern_parked_put(const tern_call_info *call, tern_hashtable *table, size_t done,
                     size_t stored) {
    tern_parked **list = &table->parked[call->worker->index];
    tern_parked *p = malloc(sizeof *p);
    if (p == NULL)
        return false;
    *p = (tern_parked){*list, call->origin, done, stored};
    *list = p;
    return true;
}

void tern_parked_free(tern_hashtable *table) {
    for (uint32_t i = 0; i < table->context->workers; i++)
        for (tern_parked *next, *p = table->parked[i]; p != NULL; p = next) {
            next = p->next;
            free(p);
        }
    free(table->parked);
}
