#include "hashtable/batch/deferred.h"

#include <stdlib.h>

bool tern_deferred_take(const tern_call_info *call, tern_hashtable *table, void *state,
                        size_t bytes) {
    for (tern_deferred **at = &table->deferred[call->worker->index]; *at != NULL;
         at = &(*at)->next) {
        tern_deferred *p = *at;
        if (p->origin.rank != call->origin.rank || p->origin.index != call->origin.index ||
            p->bytes > bytes)
            continue;
        memcpy(state, p->state, p->bytes);
        *at = p->next;
        free(p);
        return true;
    }
    return false;
}

bool tern_deferred_put(const tern_call_info *call, tern_hashtable *table, const void *state,
                       size_t bytes) {
    tern_deferred **list = &table->deferred[call->worker->index];
    tern_deferred *p = malloc(sizeof *p + bytes);
    if (p == NULL)
        return false;
    p->next = *list;
    p->origin = call->origin;
    p->bytes = bytes;
    memcpy(p->state, state, bytes);
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
