#include "rma/region/region.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/network/process.h"
#include "rma/message/message.h"
#include "rma/network/window.h"
#include "rma/region/rkey.h"
#include "src/context.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

/*
 * The state of a region is generation << 33 | live << 32 | users. A user on the node adds itself
 * with a CAS that succeeds only if the region is live and has the right generation. The owner ends
 * the region with a CAS that succeeds only if there are no users. So a thread that counts as a user
 * reads a valid base and length, and the memory is not taken away meanwhile. If a user dies before
 * it subtracts itself, the region cannot be ended any more.
 */
#define LIVE ((uint64_t)1 << 32)
#define USERS (LIVE - 1)
#define GENERATIONS 2048u
#define SLOT_SHIFT 51
#define GENERATION_SHIFT 40

static uint64_t state_of(uint32_t generation, bool live) {
    return (uint64_t)generation << 33 | (live ? LIVE : 0);
}

static uint32_t generation_of(uint64_t offset) {
    return (uint32_t)(offset >> GENERATION_SHIFT) % GENERATIONS;
}

static tern_region *region_at(const tern_context *context, uint32_t rank, uint32_t slot) {
    const tern_rma *rma = tern_rma_of(context);
    return (tern_region *)(void *)(rma->segment[rank].base + rma->layout.regions) + slot;
}

static tern_status not_registered(uint32_t rank, uint64_t offset, uint64_t bytes) {
    return tern_fail(
        TERN_ERR_RANGE,
        "%llu bytes at byte %llu of region %u of rank %u are not registered (any more)",
        (unsigned long long)bytes, (unsigned long long)(offset & TERN_OFFSET_BYTE),
        tern_offset_slot(offset), rank);
}

tern_status tern_region_offset(tern_ptr p, uint64_t *offset) {
    uint64_t at = p.offset - TERN_PTR_ORIGIN;
    if (p.segment == 0 || p.segment > TERN_REGIONS_MAX || at >> SLOT_SHIFT != 0)
        return tern_fail(
            TERN_ERR_RANGE,
            "offset %llu of segment %u is in no region; pass a pointer that tern_register gave",
            (unsigned long long)p.offset, p.segment);
    *offset = TERN_OFFSET_IN_REGION | (uint64_t)(p.segment - 1u) << SLOT_SHIFT | at;
    return TERN_OK;
}

/* The owner's record that contains all of [offset, offset + bytes), or NULL. The lock is held. */
static tern_registration *region_find(tern_regions *regions, uint64_t offset, uint64_t bytes) {
    if (tern_offset_slot(offset) >= regions->slots)
        return NULL;
    tern_registration *r = &regions->entry[tern_offset_slot(offset)];
    uint64_t at = offset & TERN_OFFSET_BYTE;
    bool good = r->count > 0 && r->generation == generation_of(offset) && bytes <= r->bytes &&
                at <= r->bytes - bytes;
    return good ? r : NULL;
}

/* Adds this process as a user. The acquire pairs with the release in make_region, so base and
 * length are those of this generation. */
static bool region_enter(tern_region *region, uint32_t generation) {
    uint64_t live = state_of(generation, true);
    /* R4 */
    uint64_t now = atomic_load_explicit(&region->state, memory_order_relaxed);
    while ((now & ~USERS) == live)
        /* R1: make_region; base and length are those of this generation */
        if (atomic_compare_exchange_weak_explicit(&region->state, &now, now + 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

/* The bounds of a region of rank. For its own regions this process uses its private record, for
 * those of others the shared memory. */
static void bounds_of(const tern_context *context, uint32_t rank, uint64_t offset, uint64_t *base,
                      uint64_t *bytes) {
    tern_regions *regions = tern_regions_of(context);
    const tern_region *region = region_at(context, rank, tern_offset_slot(offset));
    if (rank != context->rank) {
        /* R2: make_region */
        *base = atomic_load_explicit(&region->base, memory_order_relaxed);
        *bytes = atomic_load_explicit(&region->bytes, memory_order_relaxed);
        return;
    }
    pthread_mutex_lock(&regions->lock);
    const tern_registration *r = region_find(regions, offset, 0);
    *base = r != NULL ? (uintptr_t)r->base : 0;
    *bytes = r != NULL ? r->bytes : 0;
    pthread_mutex_unlock(&regions->lock);
}

/* Returns the address of the offset. NULL: [offset, offset + bytes) is not inside the region. */
static char *region_locate(const tern_context *context, uint32_t rank, uint64_t offset,
                           uint64_t bytes) {
    uint64_t at = offset & TERN_OFFSET_BYTE, base, size;
    bounds_of(context, rank, offset, &base, &size);
    return bytes <= size && at <= size - bytes ? (char *)(uintptr_t)(base + at) : NULL;
}

tern_status tern_region_hold(const tern_context *context, uint32_t rank, uint64_t offset,
                             uint64_t bytes, tern_hold *hold) {
    *hold = (tern_hold){NULL, NULL};
    if (tern_offset_slot(offset) >= TERN_REGIONS_MAX)
        return not_registered(rank, offset, bytes);
    tern_region *region = region_at(context, rank, tern_offset_slot(offset));
    if (!region_enter(region, generation_of(offset)))
        return not_registered(rank, offset, bytes);
    *hold = (tern_hold){&region->state, region_locate(context, rank, offset, bytes)};
    if (hold->address != NULL)
        return TERN_OK;
    tern_region_release(hold);
    return not_registered(rank, offset, bytes);
}

/* Reads the state before and after the bounds. If it is live and the same both times, the bounds
 * belong to it. The acquire pairs with the release in make_region, the fence with the one there. */
char *tern_region_look(const tern_context *context, uint32_t rank, uint64_t offset,
                       uint64_t bytes) {
    if (tern_offset_slot(offset) >= TERN_REGIONS_MAX)
        return NULL;
    const tern_region *region = region_at(context, rank, tern_offset_slot(offset));
    uint64_t live = state_of(generation_of(offset), true);
    /* R2: make_region, end_region; between two looks that are alike lies one generation */
    if ((atomic_load_explicit(&region->state, memory_order_acquire) & ~USERS) != live)
        return NULL;
    char *address = region_locate(context, rank, offset, bytes);
    atomic_thread_fence(memory_order_acquire);
    bool still = (atomic_load_explicit(&region->state, memory_order_relaxed) & ~USERS) == live;
    return still ? address : NULL;
}

void tern_region_release(tern_hold *hold) {
    if (hold->state != NULL)
        /* R1: end_region; what was copied is behind us when it sees no user */
        atomic_fetch_sub_explicit(hold->state, 1, memory_order_release);
    hold->state = NULL;
}

void tern_region_give_rkey(tern_context *context, uint32_t holder, uint64_t offset,
                           tern_region_rkey *rkey) {
    tern_regions *regions = tern_regions_of(context);
    tern_status status = TERN_OK;
    pthread_mutex_lock(&regions->lock);
    tern_registration *r = region_find(regions, offset, 0);
    if (r == NULL)
        status = TERN_ERR_RANGE;
    else if (r->closing)
        status = TERN_ERR_AGAIN;
    else if (r->holders == NULL && (r->holders = calloc(context->size, 1)) == NULL)
        status = TERN_ERR_MEMORY;
    if (status == TERN_OK) {
        r->holders[holder] = 1;
        *rkey = (tern_region_rkey){TERN_OK, (uintptr_t)r->base, r->bytes, r->network};
    } else {
        *rkey = (tern_region_rkey){.status = status};
    }
    pthread_mutex_unlock(&regions->lock);
}

bool tern_region_is_given(tern_context *context, uint32_t holder, uint64_t offset) {
    tern_regions *regions = tern_regions_of(context);
    pthread_mutex_lock(&regions->lock);
    const tern_registration *r = region_find(regions, offset, 0);
    bool given = r != NULL && r->holders != NULL && r->holders[holder] != 0;
    pthread_mutex_unlock(&regions->lock);
    return given;
}

/* Checks a pointer into a region. For a rank of another node only the form is checked; whether the
 * memory is registered is checked later, with the region's rkey. */
static tern_status check_region(const tern_context *context, tern_ptr p, size_t bytes,
                                uint64_t *offset) {
    tern_status status = tern_region_offset(p, offset);
    if (status == TERN_OK && tern_rank_is_direct(context, p.rank) &&
        tern_region_look(context, p.rank, *offset, bytes) == NULL)
        status = tern_fail(TERN_ERR_RANGE,
                           "%zu bytes at offset %llu of region %u of rank %u are not registered "
                           "(any more)",
                           bytes, (unsigned long long)p.offset, p.segment, p.rank);
    return status;
}

tern_status tern_segment_check(const tern_context *context, tern_ptr p, size_t bytes,
                               uint64_t *offset) {
    if (p.rank >= context->size && tern_is_destroyed(context))
        return tern_destroyed_fail("a transfer or an atomic");
    if (p.rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "the pointer is to rank %u, but there are only %u ranks", p.rank,
                         context->size);
    if (p.segment != 0)
        return check_region(context, p, bytes, offset);
    const tern_layout *layout = &tern_rma_of(context)->layout;
    uint64_t at = p.offset - TERN_PTR_ORIGIN;
    if (bytes > layout->heap_bytes || at > layout->heap_bytes - bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "%zu bytes at offset %llu do not lie in the segment of rank %u, which has "
                         "%zu bytes from offset %u on",
                         bytes, (unsigned long long)p.offset, p.rank, layout->heap_bytes,
                         TERN_PTR_ORIGIN);
    *offset = layout->heap + at;
    return TERN_OK;
}

static tern_status make_entries(tern_regions *regions) {
    if ((regions->slots & (regions->slots - 1)) == 0) {
        size_t room = regions->slots == 0 ? 1 : 2 * (size_t)regions->slots;
        tern_registration *larger = realloc(regions->entry, room * sizeof *larger);
        if (larger == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for %zu regions", room);
        regions->entry = larger;
    }
    regions->entry[regions->slots++] = (tern_registration){0};
    return TERN_OK;
}

/* Takes the next free slot, in turn. The lock is held. */
static tern_status take_slot(tern_regions *regions, uint32_t *slot) {
    if (regions->live == TERN_REGIONS_MAX)
        return tern_fail(TERN_ERR_FULL, "%u regions are registered; register fewer and larger ones",
                         TERN_REGIONS_MAX);
    uint32_t next = regions->slots == 0 ? 0 : (regions->last + 1) % TERN_REGIONS_MAX;
    while (next < regions->slots && regions->entry[next].count > 0)
        next = (next + 1) % TERN_REGIONS_MAX;
    tern_status status = next < regions->slots ? TERN_OK : make_entries(regions);
    if (status == TERN_OK)
        *slot = regions->last = next;
    return status;
}

/* If the memory lies inside a region, counts one more registration of that region.
 * TERN_ERR_NOT_FOUND: it overlaps no region. The lock is held. */
static tern_status count_again(tern_regions *regions, char *base, size_t bytes, uint32_t *slot) {
    for (uint32_t i = 0; i < regions->slots; i++) {
        tern_registration *r = &regions->entry[i];
        if (r->count == 0 || base >= r->base + r->bytes || r->base >= base + bytes)
            continue;
        if (base < r->base || base + bytes > r->base + r->bytes)
            return tern_fail(TERN_ERR_EXISTS,
                             "%zu bytes at %p overlap a region of %llu bytes at %p; register what "
                             "covers both first",
                             bytes, (void *)base, (unsigned long long)r->bytes, (void *)r->base);
        r->count++;
        *slot = i;
        return TERN_OK;
    }
    return TERN_ERR_NOT_FOUND;
}

static tern_status make_memory(tern_native *native, char *base, size_t bytes,
                               tern_region_memory **memory, tern_network_rkey *rkey) {
    tern_region_memory *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a region");
    fresh->users = 1;
    tern_status status = tern_native_add(native, base, bytes, &fresh->network, rkey);
    if (status == TERN_OK)
        *memory = fresh;
    else
        free(fresh);
    return status;
}

void tern_region_memory_release(tern_native *native, tern_region_memory *memory) {
    if (--memory->users > 0)
        return;
    tern_native_remove(native, memory->network);
    free(memory);
}

/* Ports look at their keys again (rma/port/local.h). The lock is held. */
static void note_change(tern_regions *regions) {
    /* R4; ports then read the records under the lock */
    atomic_fetch_add_explicit(&regions->changes, 1, memory_order_relaxed);
}

/* Makes a region in a fresh slot. Both locks are held. */
static tern_status make_region(tern_context *context, char *base, size_t bytes, uint32_t *slot) {
    tern_regions *regions = tern_regions_of(context);
    const tern_rma *rma = tern_rma_of(context);
    tern_status status = take_slot(regions, slot);
    if (status != TERN_OK)
        return status;
    tern_registration *r = &regions->entry[*slot];
    tern_region_memory *memory = NULL;
    tern_network_rkey rkey = {0, 0};
    if (rma->window != NULL)
        status = tern_window_attach(rma->window, base, bytes);
    else if (rma->native != NULL)
        status = make_memory(rma->native, base, bytes, &memory, &rkey);
    if (status != TERN_OK)
        return status;
    tern_region *region = region_at(context, context->rank, *slot);
    *r = (tern_registration){base, bytes, r->generation, 1, NULL, false, memory, rkey};
    regions->live++;
    note_change(regions);
    /* R2: tern_region_look; a rank that sees the new base sees that the old generation has ended */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&region->base, (uintptr_t)base, memory_order_relaxed);
    atomic_store_explicit(&region->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&region->state, state_of(r->generation, true), memory_order_release);
    return TERN_OK;
}

tern_status tern_register(tern_worker *worker, void *base, size_t bytes, tern_ptr *p) {
    if (worker == NULL || base == NULL || p == NULL || bytes == 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_register: worker, base or p is NULL, or bytes is 0");
    tern_context *context = worker->context;
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_register");
    const tern_rma *rma = tern_rma_of(context);
    if (bytes > TERN_REGION_BYTES_MAX)
        return tern_fail(TERN_ERR_RANGE, "tern_register: bytes is %zu; a region has at most %llu",
                         bytes, (unsigned long long)TERN_REGION_BYTES_MAX);
    if ((char *)base < rma->mine + rma->layout.bytes && rma->mine < (char *)base + bytes)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_register: the memory lies in the segment; use the pointers that it has");
    tern_regions *regions = tern_regions_of(context);
    uint32_t slot = 0;
    bool attaches = rma->window != NULL;
    if (attaches)
        tern_mpi_lock();
    pthread_mutex_lock(&regions->lock);
    tern_status status = count_again(regions, base, bytes, &slot);
    if (status == TERN_ERR_NOT_FOUND)
        status = make_region(context, base, bytes, &slot);
    if (status == TERN_OK) {
        const tern_registration *r = &regions->entry[slot];
        uint64_t at = (uint64_t)((char *)base - r->base);
        *p = (tern_ptr){context->rank, (uint16_t)(slot + 1), TERN_DOMAIN_GLOBAL,
                        TERN_PTR_ORIGIN + ((uint64_t)r->generation << GENERATION_SHIFT | at)};
    }
    pthread_mutex_unlock(&regions->lock);
    if (attaches)
        tern_mpi_unlock();
    return status;
}

/* Asks rank to give back the rkey, and waits for the puts that rank has sent by messages. */
static tern_status take_rkey_back(tern_worker *worker, uint32_t rank, uint64_t offset) {
    uint64_t answer[2] = {1, 0}; /* whether the rkey is in use; messages sent to this rank */
    tern_message message = {
        .kind = TERN_MESSAGE_REVOKE, .origin = worker->id, .offset = tern_region_of_offset(offset)};
    tern_status status = tern_message_question(worker, rank, &message, answer, sizeof answer);
    if (status == TERN_OK && answer[0] != 0)
        return tern_fail(TERN_ERR_STATE,
                         "tern_deregister: rank %u has a transfer under way, or puts that it has "
                         "not flushed; try again after its flush",
                         rank);
    return status == TERN_OK ? tern_messages_await(worker, rank, answer[1]) : status;
}

/* Takes the rkey back from every rank of another node that has it, and clears that rank's mark. */
static tern_status take_rkeys_back(tern_worker *worker, uint64_t offset, uint8_t *holders) {
    tern_context *context = worker->context;
    tern_status status = tern_worker_may_wait(worker, "tern_deregister");
    for (uint32_t r = 0; r < context->size && status == TERN_OK; r++) {
        if (holders[r] == 0)
            continue;
        status = take_rkey_back(worker, r, offset);
        pthread_mutex_lock(&tern_regions_of(context)->lock);
        holders[r] = status != TERN_OK;
        pthread_mutex_unlock(&tern_regions_of(context)->lock);
    }
    return status == TERN_OK ? tern_messages_settle_answers(worker) : status;
}

/* Ends a region. Both locks are held, and r is closing. */
static tern_status end_region(tern_context *context, tern_registration *r, uint32_t slot) {
    tern_region *region = region_at(context, context->rank, slot);
    uint32_t next = (r->generation + 1) % GENERATIONS;
    uint64_t unused = state_of(r->generation, true);
    /* R1: tern_region_release */
    if (!atomic_compare_exchange_strong_explicit(&region->state, &unused, state_of(next, false),
                                                 memory_order_acquire, memory_order_relaxed))
        return tern_fail(TERN_ERR_STATE,
                         "tern_deregister: a post that offers the region has not been waited for, "
                         "or a rank of this node is copying; wait for the post and try again");
    const tern_rma *rma = tern_rma_of(context);
    if (rma->window != NULL)
        tern_window_detach(rma->window, r->base);
    if (r->memory != NULL)
        tern_region_memory_release(rma->native, r->memory);
    free(r->holders);
    *r = (tern_registration){.generation = next};
    tern_regions_of(context)->live--;
    note_change(tern_regions_of(context));
    return TERN_OK;
}

tern_status tern_deregister(tern_worker *worker, tern_ptr p) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_deregister: worker is NULL");
    tern_context *context = worker->context;
    tern_regions *regions = tern_regions_of(context);
    uint64_t offset = 0;
    if (p.rank != context->rank || tern_region_offset(p, &offset) != TERN_OK)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_deregister: the pointer, to rank %u and segment %u, does not point into "
            "a region of this rank",
            p.rank, p.segment);
    uint32_t slot = tern_offset_slot(offset);
    uint8_t *holders = NULL;
    pthread_mutex_lock(&regions->lock);
    tern_registration *r = region_find(regions, offset, 0);
    /* A region that another call is ending is not known, unless it was registered again. */
    bool known = r != NULL && (!r->closing || r->count > 1), last = known && r->count == 1;
    if (known && !last)
        r->count--;
    if (last) {
        r->closing = true;
        holders = r->holders; /* not changed while closing is set */
    }
    pthread_mutex_unlock(&regions->lock);
    if (!known)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_deregister: region %u is not registered (any more)", slot);
    if (!last)
        return TERN_OK;
    tern_status status = holders != NULL ? take_rkeys_back(worker, offset, holders) : TERN_OK;
    tern_mpi_lock();
    pthread_mutex_lock(&regions->lock);
    r = &regions->entry[slot];
    if (status == TERN_OK && r->count > 1)
        r->count--; /* registered again meanwhile */
    else if (status == TERN_OK)
        status = end_region(context, r, slot);
    r->closing = false;
    pthread_mutex_unlock(&regions->lock);
    tern_mpi_unlock();
    return status;
}

void tern_regions_open(tern_regions *regions) { pthread_mutex_init(&regions->lock, NULL); }

void tern_regions_close(tern_context *context) {
    tern_regions *regions = tern_regions_of(context);
    for (uint32_t i = 0; i < regions->slots; i++) {
        free(regions->entry[i].holders);
        if (regions->entry[i].memory != NULL)
            tern_region_memory_release(tern_rma_of(context)->native, regions->entry[i].memory);
    }
    free(regions->entry);
    tern_rkeys_close(regions);
    pthread_mutex_destroy(&regions->lock);
}
