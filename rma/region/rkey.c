#include "rma/region/rkey.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/message/message.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

/*
 * Operations find and hold an rkey without a lock. Rkeys lie in lists by their hash. An rkey stays
 * in its list until the context ends, and is used for another region once its own has ended; so the
 * rkeys of a list may be read at any time. The state is one word:
 *
 *     63..32: turn | 31..2: holds | 1: unflushed | 0: known
 *
 * The name of an rkey changes only while the rkey is not known, and turn grows each time an rkey is
 * forgotten. An operation reads a state with the bit known, then the name, and then adds its hold
 * by a compare-and-swap against that state. If that succeeds, the rkey still has the name that the
 * operation has read. Everything else is done under the lock.
 */
static const uint64_t KNOWN = 1, UNFLUSHED = 2, HOLD = 4, TURN = UINT64_C(1) << 32;

static uint64_t name_of(uint32_t rank, uint64_t offset) {
    return tern_region_of_offset(offset) >> 40 << 32 | rank;
}

static uint64_t named(const tern_rkey *k) {
    /* R9: hold_known; its compare-and-swap fails if the name has changed */
    return atomic_load_explicit(&k->name, memory_order_relaxed);
}

static uint32_t rank_of(const tern_rkey *k) { return (uint32_t)named(k); }

static struct tern_rkey *_Atomic *list_of(tern_regions *regions, uint64_t name) {
    return &regions->rkeys[(name * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - TERN_RKEY_LIST_BITS)];
}

static tern_rkey *first_of(struct tern_rkey *_Atomic *list) {
    /* R1: spare_rkey */
    return atomic_load_explicit(list, memory_order_acquire);
}

/* Finds the known rkey of that name and holds it. NULL: not known. */
static tern_rkey *hold_known(tern_regions *regions, uint64_t name) {
    for (tern_rkey *k = first_of(list_of(regions, name)); k != NULL; k = k->next) {
        /* R1: rkey_look */
        uint64_t seen = atomic_load_explicit(&k->state, memory_order_acquire);
        while ((seen & KNOWN) != 0 && named(k) == name)
            /* R6: tern_rkey_revoke */
            if (atomic_compare_exchange_weak_explicit(&k->state, &seen, seen + HOLD,
                                                      memory_order_acquire, memory_order_acquire))
                return k;
    }
    return NULL;
}

/* The rkey of that name, known or not, or NULL. The lock is held here and in the functions below.
 */
static tern_rkey *rkey_find(tern_regions *regions, uint64_t name) {
    tern_rkey *k = first_of(list_of(regions, name));
    while (k != NULL && named(k) != name)
        k = k->next;
    return k;
}

static bool is_known(tern_rkey *k) {
    /* R9: tern_rkey_revoke; the lock is held */
    return (atomic_load_explicit(&k->state, memory_order_relaxed) & KNOWN) != 0;
}

/* An rkey whose region has ended, or a new one. NULL: no memory. */
static tern_rkey *spare_rkey(struct tern_rkey *_Atomic *list) {
    tern_rkey *k = first_of(list);
    while (k != NULL && (k->asked || is_known(k)))
        k = k->next;
    if (k != NULL)
        return k;
    k = calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    k->request = MPI_REQUEST_NULL;
    k->next = first_of(list);
    /* R1: first_of */
    atomic_store_explicit(list, k, memory_order_release);
    return k;
}

static tern_rkey *find_or_make(tern_regions *regions, uint64_t name) {
    tern_rkey *k = rkey_find(regions, name);
    if (k != NULL)
        return k;
    k = spare_rkey(list_of(regions, name));
    if (k != NULL)
        /* R9: rkey_look; before its release */
        atomic_store_explicit(&k->name, name, memory_order_relaxed);
    return k;
}

/* Takes the owner's answer, if it has come. The MPI lock is held, too. TERN_ERR_RANGE: the region
 * has ended. */
static tern_status rkey_look(tern_rkey *k) {
    int done = 0;
    if (k->request == MPI_REQUEST_NULL)
        return TERN_ERR_AGAIN; /* another worker is sending the question at this moment */
    int code = PMPI_Test(&k->request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS)
        return tern_fail_mpi(code, "MPI_Test");
    if (!done)
        return TERN_ERR_AGAIN;
    k->asked = false;
    tern_status status = k->stale ? TERN_ERR_AGAIN : (tern_status)k->answer.status;
    k->stale = false;
    if (status == TERN_OK) {
        k->base = k->answer.base;
        k->bytes = k->answer.bytes;
        k->network = k->answer.network;
        /* R1: hold_known */
        atomic_fetch_or_explicit(&k->state, KNOWN, memory_order_release);
    } else if (status != TERN_ERR_AGAIN) {
        status =
            tern_fail(status, "a region of rank %u is not registered there (any more)", rank_of(k));
    }
    return status;
}

static tern_status rkey_ask(tern_worker *worker, tern_rkey *k, uint64_t offset) {
    tern_regions *regions = tern_regions_of(worker->context);
    tern_message message = {
        .kind = TERN_MESSAGE_RKEY, .origin = worker->id, .offset = tern_region_of_offset(offset)};
    MPI_Request request = MPI_REQUEST_NULL;
    k->answer.status = TERN_ERR_RANGE; /* stays if the owner refuses without an answer */
    tern_status status =
        tern_message_ask(worker, rank_of(k), &message, &k->answer, sizeof k->answer, &request);
    pthread_mutex_lock(&regions->lock);
    k->request = request;
    k->asked = status == TERN_OK;
    pthread_mutex_unlock(&regions->lock);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

/* For an rkey that is not known: looks for the answer, or asks the owner. TERN_OK: the rkey is
 * known now. */
static tern_status rkey_obtain(tern_worker *worker, uint32_t rank, uint64_t offset) {
    tern_regions *regions = tern_regions_of(worker->context);
    tern_status status = TERN_ERR_AGAIN;
    bool ours_to_ask = false;
    tern_mpi_lock();
    pthread_mutex_lock(&regions->lock);
    tern_rkey *k = find_or_make(regions, name_of(rank, offset));
    if (k == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for the rkey of a region");
    else if (is_known(k))
        status = TERN_OK;
    else if (k->asked)
        status = rkey_look(k);
    else
        ours_to_ask = k->asked = true;
    pthread_mutex_unlock(&regions->lock);
    tern_mpi_unlock();
    return ours_to_ask ? rkey_ask(worker, k, offset) : status;
}

/* Whether [offset, offset + bytes) is inside the region of the held rkey. */
static tern_status check_bytes(const tern_rkey *k, uint32_t rank, uint64_t offset, uint64_t bytes) {
    uint64_t at = offset & TERN_OFFSET_BYTE;
    if (bytes <= k->bytes && at <= k->bytes - bytes)
        return TERN_OK;
    return tern_fail(TERN_ERR_RANGE,
                     "%llu bytes at byte %llu do not lie in the region of rank %u, which has %llu",
                     (unsigned long long)bytes, (unsigned long long)at, rank,
                     (unsigned long long)k->bytes);
}

tern_status tern_rkey_hold(tern_worker *worker, uint32_t rank, uint64_t offset, uint64_t bytes,
                           tern_rkey **rkey) {
    tern_regions *regions = tern_regions_of(worker->context);
    tern_status status = TERN_OK;
    *rkey = NULL;
    const uint64_t name = name_of(rank, offset);
    tern_rkey *k = hold_known(regions, name);
    while (k == NULL && (status = rkey_obtain(worker, rank, offset)) == TERN_OK)
        k = hold_known(regions, name);
    if (k != NULL) {
        status = check_bytes(k, rank, offset, bytes);
        if (status == TERN_OK)
            *rkey = k;
        else
            tern_rkey_release(worker, k, false);
    }
    if (status != TERN_ERR_AGAIN)
        return status;
    status = tern_glance(worker, rank);
    return status != TERN_OK
               ? status
               : tern_fail(
                     TERN_ERR_AGAIN,
                     "rank %u has not yet told where its region lies; try again after progress",
                     rank);
}

tern_status tern_rkey_check(tern_worker *worker, uint32_t rank, uint64_t offset, uint64_t bytes) {
    tern_rkey *k = NULL;
    tern_status status = tern_rkey_hold(worker, rank, offset, bytes, &k);
    if (status == TERN_OK)
        tern_rkey_release(worker, k, false);
    return status;
}

/* The caller holds the rkey, so no other rkey has its name and the search needs no lock. */
uint64_t tern_rkey_address(const tern_worker *worker, uint32_t rank, uint64_t offset) {
    return rkey_find(tern_regions_of(worker->context), name_of(rank, offset))->base +
           (offset & TERN_OFFSET_BYTE);
}

void tern_rkey_release(tern_worker *worker, tern_rkey *rkey, bool unflushed) {
    tern_regions *regions = tern_regions_of(worker->context);
    if (unflushed &&
        /* R9: tern_rkey_release; before its release */
        (atomic_fetch_or_explicit(&rkey->state, UNFLUSHED, memory_order_relaxed) & UNFLUSHED) == 0)
        /* R4 */
        atomic_fetch_add_explicit(&regions->unflushed, 1, memory_order_relaxed);
    /* R6: tern_rkey_revoke */
    atomic_fetch_sub_explicit(&rkey->state, HOLD, memory_order_release);
}

static bool is_unflushed(const tern_rkey *k, uint32_t rank) {
    return rank_of(k) == rank &&
           /* R4 */
           (atomic_load_explicit(&k->state, memory_order_relaxed) & UNFLUSHED) != 0;
}

bool tern_rkeys_unflushed(tern_context *context, uint32_t rank) {
    tern_regions *regions = tern_regions_of(context);
    /* R4 */
    if (atomic_load_explicit(&regions->unflushed, memory_order_relaxed) == 0)
        return false;
    for (uint32_t i = 0; i < TERN_RKEY_LISTS; i++)
        for (const tern_rkey *k = first_of(&regions->rkeys[i]); k != NULL; k = k->next)
            if (is_unflushed(k, rank))
                return true;
    return false;
}

void tern_rkeys_flushed(tern_context *context, uint32_t rank) {
    tern_regions *regions = tern_regions_of(context);
    for (uint32_t i = 0; i < TERN_RKEY_LISTS; i++)
        for (tern_rkey *k = first_of(&regions->rkeys[i]); k != NULL; k = k->next)
            if (is_unflushed(k, rank)) {
                /* R6: tern_rkey_revoke */
                atomic_fetch_and_explicit(&k->state, ~UNFLUSHED, memory_order_release);
                /* R4 */
                atomic_fetch_sub_explicit(&regions->unflushed, 1, memory_order_relaxed);
            }
}

bool tern_rkey_revoke(tern_context *context, uint32_t rank, uint64_t offset) {
    tern_regions *regions = tern_regions_of(context);
    bool gone = true;
    pthread_mutex_lock(&regions->lock);
    tern_rkey *k = rkey_find(regions, name_of(rank, offset));
    if (k != NULL && k->asked) {
        k->stale = true;
    } else if (k != NULL && is_known(k)) {
        /* R4; the compare-and-swap tells */
        uint64_t turn = atomic_load_explicit(&k->state, memory_order_relaxed) / TURN * TURN;
        uint64_t unused = turn | KNOWN;
        /* R6: tern_rkey_release */
        gone = atomic_compare_exchange_strong_explicit(&k->state, &unused, turn + TURN,
                                                       memory_order_acquire, memory_order_relaxed);
    }
    pthread_mutex_unlock(&regions->lock);
    return gone;
}

static bool any_asked(tern_regions *regions) {
    bool any = false;
    tern_mpi_lock();
    pthread_mutex_lock(&regions->lock);
    for (uint32_t i = 0; i < TERN_RKEY_LISTS; i++)
        for (tern_rkey *k = first_of(&regions->rkeys[i]); k != NULL; k = k->next)
            if (k->asked && rkey_look(k) == TERN_ERR_AGAIN)
                any = true; /* or a stale answer has come, which the next call does not count */
    pthread_mutex_unlock(&regions->lock);
    tern_mpi_unlock();
    return any;
}

tern_status tern_rkeys_settle(tern_worker *worker) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (status == TERN_OK && any_asked(tern_regions_of(worker->context))) {
        tern_progress_round(worker);
        status = tern_wait_step(worker->context, &wait, TERN_ANYBODY);
    }
    return status;
}

void tern_rkeys_close(tern_regions *regions) {
    for (uint32_t i = 0; i < TERN_RKEY_LISTS; i++)
        for (tern_rkey *k = first_of(&regions->rkeys[i]), *next; k != NULL; k = next) {
            next = k->next;
            if (!k->asked)
                free(k);
        }
}
