#include "hashtable/parked.h"

#include <stdlib.h>

void tern_parked_take(tern_hashtable *table, tern_worker_id origin, size_t *done, size_t *stored) {
    *done = *stored = 0;
    for (tern_parked **at = &table->parked; *at != NULL; at = &(*at)->next) {
        tern_parked *p = *at;
        if (p->origin.rank != origin.rank || p->origin.index != origin.index)
            continue;
        *done = p->done;
        *stored = p->stored;
        *at = p->next;
        free(p);
        return;
    }
}

bool tern_parked_put(tern_hashtable *table, tern_worker_id origin, size_t done, size_t stored) {
    tern_parked *p = malloc(sizeof *p);
    if (p == NULL)
        return false;
    *p = (tern_parked){table->parked, origin, done, stored};
    table->parked = p;
    return true;
}

void tern_parked_free(tern_hashtable *table) {
    for (tern_parked *next, *p = table->parked; p != NULL; p = next) {
        next = p->next;
        free(p);
    }
}
