#include "rma/port/local.h"

#include <stdlib.h>

#include "base/error.h"
#include "src/log.h"

void tern_locals_open(tern_locals *locals, tern_native *native, tern_network_end *end,
                      tern_regions *regions) {
    *locals = (tern_locals){.native = native, .end = end, .regions = regions};
}

void tern_locals_refuse(tern_locals *locals) {
    tern_log(TERN_LOG_WARN, "large transfers go by copies from now on: %s", tern_error_detail());
    tern_error_clear();
    locals->refused = true;
}

/* Pieces of the segment. */

static tern_network_memory *obtain_piece(tern_locals *locals, uint64_t piece) {
    tern_native *native = locals->native;
    const tern_network_ops *ops = native->network->ops;
    tern_network_memory **key = &locals->piece[piece];
    const uint64_t at = piece * native->piece_bytes, left = native->bytes - at;
    const tern_status status =
        native->network->shares_keys
            ? tern_native_piece(native, piece, key)
            : ops->add_local(locals->end, native->segment + at,
                             left < native->piece_bytes ? left : native->piece_bytes, key);
    if (status == TERN_OK)
        return *key;
    tern_locals_refuse(locals);
    return *key = NULL;
}

static tern_network_memory *segment_key(tern_locals *locals, uint64_t at, uint64_t *bytes) {
    const tern_native *native = locals->native;
    const uint64_t piece = at / native->piece_bytes;
    const uint64_t left = native->piece_bytes - at % native->piece_bytes;
    tern_network_memory *key = locals->piece[piece];
    if (key == NULL && !locals->refused)
        key = obtain_piece(locals, piece);
    if (key != NULL && *bytes > left)
        *bytes = left;
    return key;
}

/* Regions. */

static void give_back(tern_locals *locals, tern_local_region *local) {
    tern_network *network = locals->native->network;
    if (local->shared == NULL) {
        network->ops->remove_memory(network, local->key);
    } else {
        pthread_mutex_lock(&locals->regions->lock);
        tern_region_memory_release(locals->native, local->shared);
        pthread_mutex_unlock(&locals->regions->lock);
    }
    free(local);
}

/* The last span that begins at or before `here`, or NULL. */
static tern_local_span *span_before(const tern_locals *locals, const char *here) {
    size_t low = 0, high = locals->spans;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (locals->span[middle].base <= here)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &locals->span[low - 1] : NULL;
}

static int compare_spans(const void *a, const void *b) {
    const tern_local_span *first = a, *second = b;
    return (first->base > second->base) - (first->base < second->base);
}

/* Ends a key whose region has ended. */
static void end_local(tern_locals *locals, tern_local_region *local) {
    if (local->under_way == 0) {
        give_back(locals, local);
        return;
    }
    local->ended = true;
    local->next = locals->ended;
    locals->ended = local;
}

/* Lists the regions that there are now. No memory for the list: as if there were none. */
static void list_regions(tern_locals *locals) {
    tern_regions *regions = locals->regions;
    pthread_mutex_lock(&regions->lock);
    /* R9: note_change; the lock is held */
    locals->seen = atomic_load_explicit(&regions->changes, memory_order_relaxed);
    locals->spans = locals->known = 0;
    locals->span = regions->live > 0 ? malloc(regions->live * sizeof *locals->span) : NULL;
    for (uint32_t i = 0; locals->span != NULL && i < regions->slots; i++) {
        const tern_registration *r = &regions->entry[i];
        if (r->count > 0)
            locals->span[locals->spans++] =
                (tern_local_span){r->base, r->bytes, i, r->generation, NULL};
    }
    pthread_mutex_unlock(&regions->lock);
    if (locals->spans > 1)
        qsort(locals->span, locals->spans, sizeof *locals->span, compare_spans);
}

/* Lists the regions anew, and keeps the keys of those that still exist. */
static void look_again(tern_locals *locals) {
    tern_local_span *old = locals->span;
    const size_t count = locals->spans;
    list_regions(locals);
    for (size_t i = 0; i < count; i++) {
        if (old[i].local == NULL)
            continue;
        tern_local_span *now = span_before(locals, old[i].base);
        if (now != NULL && now->slot == old[i].slot && now->generation == old[i].generation) {
            now->local = old[i].local;
            locals->known++;
        } else {
            end_local(locals, old[i].local);
        }
    }
    free(old);
}

static bool regions_have_changed(const tern_locals *locals) {
    /* R4; what is read then is read under the lock */
    return locals->seen != atomic_load_explicit(&locals->regions->changes, memory_order_relaxed);
}

/* The registration of a region's own, with this port as a user. NULL: the region has ended. */
static tern_region_memory *share(tern_regions *regions, const tern_local_span *span) {
    pthread_mutex_lock(&regions->lock);
    const tern_registration *r = &regions->entry[span->slot];
    tern_region_memory *shared =
        r->count > 0 && r->generation == span->generation ? r->memory : NULL;
    if (shared != NULL)
        shared->users++;
    pthread_mutex_unlock(&regions->lock);
    return shared;
}

static void obtain_region(tern_locals *locals, tern_local_span *span) {
    const tern_network *network = locals->native->network;
    tern_local_region *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return;
    if (network->shares_keys) {
        fresh->shared = share(locals->regions, span);
        fresh->key = fresh->shared != NULL ? fresh->shared->network : NULL;
    } else if (network->ops->add_local(locals->end, span->base, span->bytes, &fresh->key) !=
               TERN_OK) {
        fresh->key = NULL;
        tern_locals_refuse(locals);
    }
    if (fresh->key == NULL) {
        free(fresh);
        return;
    }
    span->local = fresh;
    locals->known++;
}

static tern_network_memory *region_key(tern_locals *locals, char *here, uint64_t *bytes,
                                       tern_local_region **local) {
    if (regions_have_changed(locals))
        look_again(locals);
    tern_local_span *span = span_before(locals, here);
    if (span == NULL || here >= span->base + span->bytes)
        return NULL;
    if (span->local == NULL && !locals->refused)
        obtain_region(locals, span);
    if (span->local == NULL)
        return NULL;
    const uint64_t left = (uint64_t)(span->base + span->bytes - here);
    if (*bytes > left)
        *bytes = left;
    *local = span->local;
    return span->local->key;
}

tern_network_memory *tern_local_key(tern_locals *locals, char *here, uint64_t *bytes,
                                    tern_local_region **local) {
    const tern_native *native = locals->native;
    *local = NULL;
    if (here >= native->segment && here < native->segment + native->bytes)
        return segment_key(locals, (uint64_t)(here - native->segment), bytes);
    return region_key(locals, here, bytes, local);
}

void tern_local_landed(tern_locals *locals, tern_local_region *local) {
    if (--local->under_way > 0 || !local->ended)
        return;
    tern_local_region **link = &locals->ended;
    while (*link != local)
        link = &(*link)->next;
    *link = local->next;
    give_back(locals, local);
}

void tern_locals_poll(tern_locals *locals) {
    if (locals->known > 0 && regions_have_changed(locals))
        look_again(locals);
}

void tern_locals_close(tern_locals *locals) {
    tern_network *network = locals->native->network;
    for (size_t i = 0; i < locals->spans; i++)
        if (locals->span[i].local != NULL)
            give_back(locals, locals->span[i].local);
    while (locals->ended != NULL) {
        tern_local_region *local = locals->ended;
        locals->ended = local->next;
        give_back(locals, local);
    }
    for (uint32_t i = 0; i < TERN_PIECES_MAX && !network->shares_keys; i++)
        if (locals->piece[i] != NULL)
            network->ops->remove_memory(network, locals->piece[i]);
    free(locals->span);
    locals->span = NULL;
    locals->spans = 0;
}
