#include "tern/circular.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/circle.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "src/context.h"
#include "src/progress/wait.h"

/*
 * Circular buffers: their memory in the segment, divided by a circle (rma/circle.h), and puts from
 * it. Budget of a put: it allocates only while the buffer grows, and waits only once for
 * flush_every puts, or once per generation (test_circular counts the waits).
 */

#define UNIT_ALIGNMENT 64u
#define UNIT_MAX ((size_t)1 << 30) /* the largest put of MPI */
#define UNITS_MAX ((size_t)1 << 30)
#define USUAL_BYTES ((size_t)1 << 20) /* a buffer of this size stays in a cache */

struct tern_circular {
    tern_circle circle;
    tern_circular_options options;
    tern_worker *worker;
    tern_ptr *chunk; /* allocations of the units' memory */
    size_t chunks;
};

static tern_status circular_complete(tern_circular_options *o) {
    o->unit_bytes = o->unit_bytes > 0 ? o->unit_bytes : 4096;
    o->units = o->units > 0 ? o->units : 16;
    if (o->units_max == 0) {
        o->units_max = USUAL_BYTES / o->unit_bytes;
        o->units_max = o->units_max < 1024 ? o->units_max : 1024;
        o->units_max = o->units_max > o->units ? o->units_max : o->units;
    }
    o->flush_every = o->flush_every > 0 ? o->flush_every : 16;
    if (o->unit_bytes > UNIT_MAX)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_circular_create: unit_bytes is %zu; use at most %zu", o->unit_bytes,
                         UNIT_MAX);
    if (o->units_max > UNITS_MAX || o->units > o->units_max)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_circular_create: units is %zu and units_max is %zu; units must be at "
            "most units_max, and units_max at most %zu",
            o->units, o->units_max, UNITS_MAX);
    o->unit_bytes = (o->unit_bytes + UNIT_ALIGNMENT - 1) / UNIT_ALIGNMENT * UNIT_ALIGNMENT;
    return TERN_OK;
}

static tern_status circular_check(const tern_worker *worker, const tern_circular *circular,
                                  const void *piece, const char *function) {
    if (worker == NULL || circular == NULL || piece == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker, circular or piece is NULL", function);
    if (circular->worker == NULL)
        return tern_object_refuse(NULL, function, "circular buffer");
    if (circular->worker != worker)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "%s: the buffer is worker %u's, not worker %u's; pass the worker that created it",
            function, circular->worker->id, worker->id);
    return TERN_OK;
}

static tern_status circular_add(tern_circular *circular, size_t units) {
    tern_worker *worker = circular->worker;
    tern_ptr p;
    tern_ptr *chunk = realloc(circular->chunk, (circular->chunks + 1) * sizeof *chunk);
    if (chunk == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a circular buffer");
    circular->chunk = chunk;
    tern_status status = tern_alloc(worker, units * circular->options.unit_bytes, UNIT_ALIGNMENT,
                                    TERN_DOMAIN_NODE, &p);
    if (status != TERN_OK)
        return status;
    status = tern_circle_add(&circular->circle, (uint32_t)units, tern_local(worker->context, p));
    if (status != TERN_OK)
        tern_ignore(tern_free(worker, p));
    else
        circular->chunk[circular->chunks++] = p;
    return status;
}

static void circular_discard(tern_circular *circular) {
    while (circular->chunks > 0)
        tern_ignore(tern_free(circular->worker, circular->chunk[--circular->chunks]));
    tern_circle_close(&circular->circle);
    free(circular->chunk);
    tern_destroyed_keep_object(circular, sizeof *circular);
}

tern_status tern_circular_create(tern_worker *worker, const tern_circular_options *options,
                                 tern_circular **circular) {
    if (worker == NULL || circular == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_circular_create: worker or circular is NULL");
    if (tern_is_destroyed(worker->context))
        return tern_destroyed_fail("tern_circular_create");
    tern_circular_options o = options != NULL ? *options : (tern_circular_options){0};
    tern_status status = circular_complete(&o);
    if (status != TERN_OK)
        return status;
    tern_circular *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a circular buffer");
    fresh->worker = worker;
    fresh->options = o;
    status = tern_circle_open(&fresh->circle, o.unit_bytes, tern_rma_worker_of(worker)->posts);
    if (status == TERN_OK)
        status = circular_add(fresh, o.units);
    if (status != TERN_OK) {
        circular_discard(fresh);
        return status;
    }
    *circular = fresh;
    return TERN_OK;
}

tern_status tern_circular_destroy(tern_worker *worker, tern_circular *circular) {
    if (circular == NULL)
        return TERN_OK;
    tern_status status = circular_check(worker, circular, circular, "tern_circular_destroy");
    if (status == TERN_OK && worker->in_handler)
        status = tern_worker_may_wait(worker, "tern_circular_destroy");
    const tern_circle *circle = &circular->circle;
    for (uint64_t id = circle->first; status == TERN_OK && id != circle->next; id++) {
        const tern_entry *entry = &circle->entry[id & circle->mask];
        if (entry->number != 0 && entry->number != TERN_PIECE_HELD &&
            !tern_posts_done(&circle->posts[entry->rank], entry->number))
            status = tern_posts_settle(worker, entry->rank);
    }
    if (status == TERN_OK)
        circular_discard(circular);
    return status;
}

/* Adds units. TERN_ERR_AGAIN: the buffer has its largest size. */
static tern_status circular_grow(tern_circular *circular) {
    const tern_circular_options *o = &circular->options;
    size_t units = circular->circle.units, more = o->grow_by > 0 ? o->grow_by : units;
    if (more > o->units_max - units)
        more = o->units_max - units;
    if (more == 0)
        return TERN_ERR_AGAIN;
    tern_status status = circular_add(circular, more);
    circular->worker->stats.circulars_grown += status == TERN_OK;
    return status;
}

/* Makes room when no unit is free: grows the buffer, or waits for the oldest put. If a piece is
 * held by the program, a wait would not help. */
static __attribute__((noinline)) tern_status circular_make_room(tern_circular *circular,
                                                                bool wait) {
    tern_worker *worker = circular->worker;
    tern_status status = circular_grow(circular);
    if (status == TERN_OK)
        return status;
    const tern_entry *oldest = tern_circle_oldest(&circular->circle);
    if (oldest->number == TERN_PIECE_HELD)
        return status == TERN_ERR_MEMORY
                   ? status
                   : tern_fail(TERN_ERR_FULL,
                               "all %u units are taken and the oldest piece is held; put it, give "
                               "it back, or raise units_max",
                               circular->circle.units);
    if (wait && !worker->in_handler)
        return tern_posts_settle(worker, oldest->rank);
    tern_posts_want(worker, oldest->rank);
    return tern_fail(TERN_ERR_AGAIN,
                     "all %u units are taken and puts to rank %u are under way; make progress, or "
                     "raise units_max",
                     circular->circle.units, oldest->rank);
}

static inline tern_status circular_take(tern_circular *circular, size_t bytes, bool wait,
                                        tern_piece *piece) {
    uint64_t unit = circular->circle.unit_bytes, room = unit, id;
    char *memory;
    if (bytes > unit)
        return tern_fail(
            TERN_ERR_RANGE,
            "a piece of %zu bytes does not fit into a unit, which has %llu; raise unit_bytes",
            bytes, (unsigned long long)unit);
    if (circular->options.linear)
        room = bytes > 0 ? (bytes + TERN_CIRCLE_GRANULE - 1) & ~(uint64_t)(TERN_CIRCLE_GRANULE - 1)
                         : TERN_CIRCLE_GRANULE;
    tern_status status;
    while ((status = tern_circle_cut(&circular->circle, room, &memory, &id)) == TERN_ERR_AGAIN)
        if ((status = circular_make_room(circular, wait)) != TERN_OK)
            return status;
    if (status == TERN_OK)
        *piece = (tern_piece){memory, bytes, id};
    return status;
}

tern_status tern_piece_take(tern_worker *worker, tern_circular *circular, size_t bytes,
                            tern_piece *piece) {
    tern_status status = circular_check(worker, circular, piece, "tern_piece_take");
    return status == TERN_OK ? circular_take(circular, bytes, true, piece) : status;
}

tern_status tern_piece_try(tern_worker *worker, tern_circular *circular, size_t bytes,
                           tern_piece *piece) {
    tern_status status = circular_check(worker, circular, piece, "tern_piece_try");
    return status == TERN_OK ? circular_take(circular, bytes, false, piece) : status;
}

static tern_status circular_find(const tern_circular *circular, const tern_piece *piece,
                                 tern_entry **entry) {
    *entry = tern_circle_held(&circular->circle, piece->id);
    return *entry != NULL ? TERN_OK
                          : tern_fail(TERN_ERR_ARGUMENT,
                                      "piece %llu is not held: it was put or given back before",
                                      (unsigned long long)piece->id);
}

tern_status tern_piece_give(tern_worker *worker, tern_circular *circular, const tern_piece *piece) {
    tern_entry *entry;
    tern_status status = circular_check(worker, circular, piece, "tern_piece_give");
    if (status == TERN_OK)
        status = circular_find(circular, piece, &entry);
    if (status == TERN_OK)
        entry->number = 0;
    return status;
}

/* Posts a put. If flush_every posts are open, waits for them and this one. An error of that wait is
 * ignored: the caller that next needs the memory of the piece waits again and meets it. */
static tern_status circular_post(const tern_circular *circular, tern_entry *entry, uint32_t rank,
                                 uint64_t offset, const void *memory, size_t bytes) {
    tern_worker *worker = circular->worker;
    const tern_posts *posts = &circular->circle.posts[rank];
    tern_wait_state wait = TERN_WAIT_IN("a put from a circular buffer");
    if (tern_peer_is_dead(&worker->context->peers, rank))
        return tern_peer_fail(rank);
    const tern_transport_ops *transport = tern_transport_to(worker->context, rank);
    for (uint64_t done = 0, posted; done < bytes; done += posted) {
        posted = 0;
        tern_status status = transport->post(
            worker, rank, offset + done, (const char *)memory + done, bytes - done, false, &posted);
        if (status == TERN_ERR_AGAIN)
            status = tern_wait_round(worker->context, &wait, transport->poll(worker), rank);
        if (status != TERN_OK && done + posted > 0) { /* a part is under way */
            entry->number = tern_posts_number(posts);
            entry->rank = rank;
        }
        if (status != TERN_OK)
            return status;
    }
    worker->stats.puts++;
    entry->number = tern_posts_number(posts);
    entry->rank = rank;
    if (posts->open >= circular->options.flush_every) {
        if (worker->in_handler)
            tern_posts_want(worker, rank);
        else
            (void)tern_posts_settle(worker, rank);
    }
    return TERN_OK;
}

/* Whether a put to this address is posted. Otherwise it is a tern_put, which copies or waits. A put
 * to registered memory is not posted, because it may first have to ask for the rkey. */
static bool is_posted(const tern_worker *worker, tern_ptr to, size_t bytes) {
    return to.rank < worker->context->size && to.segment == 0 && bytes > 0 &&
           tern_transport_to(worker->context, to.rank)->settle != NULL;
}

static tern_status circular_put(const tern_circular *circular, tern_entry *entry,
                                const void *memory, tern_ptr to, size_t bytes) {
    tern_worker *worker = circular->worker;
    uint64_t offset = 0;
    tern_status status;
    if (is_posted(worker, to, bytes)) {
        status = tern_segment_check(worker->context, to, bytes, &offset);
        return status == TERN_OK ? circular_post(circular, entry, to.rank, offset, memory, bytes)
                                 : status;
    }
    status = tern_put(worker, to, memory, bytes);
    if (status == TERN_OK)
        entry->number = 0;
    return status;
}

tern_status tern_piece_put(tern_worker *worker, tern_circular *circular, const tern_piece *piece,
                           tern_ptr to, size_t bytes) {
    tern_entry *entry;
    tern_status status = circular_check(worker, circular, piece, "tern_piece_put");
    if (status == TERN_OK)
        status = circular_find(circular, piece, &entry);
    if (status == TERN_OK && bytes > piece->bytes)
        status =
            tern_fail(TERN_ERR_RANGE, "tern_piece_put: bytes is %zu, but the piece has only %zu",
                      bytes, piece->bytes);
    return status == TERN_OK ? circular_put(circular, entry, piece->memory, to, bytes) : status;
}

tern_status tern_internal_circular_put_remote(tern_worker *worker, tern_circular *circular,
                                              tern_ptr to, const void *from, size_t bytes) {
    tern_piece piece = {NULL, 0, 0};
    tern_status status = circular_check(worker, circular, circular, "tern_circular_put");
    if (status != TERN_OK)
        return status;
    if (from == NULL || bytes > circular->options.unit_bytes || !is_posted(worker, to, bytes))
        return tern_put(worker, to, from, bytes);
    status = circular_take(circular, bytes, true, &piece);
    if (status != TERN_OK)
        return status;
    memcpy(piece.memory, from, bytes);
    tern_entry *entry = tern_circle_held(&circular->circle, piece.id);
    status = circular_put(circular, entry, piece.memory, to, bytes);
    if (status != TERN_OK && entry->number == TERN_PIECE_HELD)
        entry->number = 0;
    return status;
}
