#include "rma/memory/rkey.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/state.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

/* The lock is held, as for the functions below. */
static tern_rkey *rkey_find(const tern_regions *regions, uint32_t rank, uint64_t place) {
    tern_rkey *k = regions->keys;
    while (k != NULL && (k->rank != rank || k->region != tern_place_region(place)))
        k = k->next;
    return k;
}

static tern_rkey *find_or_make(tern_regions *regions, uint32_t rank, uint64_t place) {
    tern_rkey *k = rkey_find(regions, rank, place);
    if (k != NULL)
        return k;
    k = calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    *k = (tern_rkey){.next = regions->keys,
                     .rank = rank,
                     .region = tern_place_region(place),
                     .request = MPI_REQUEST_NULL};
    regions->keys = k;
    return k;
}

static tern_status rkey_take(tern_rkey *k, uint64_t place, uint64_t bytes) {
    uint64_t at = place & TERN_PLACE_BYTE;
    if (bytes > k->bytes || at > k->bytes - bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "%llu bytes at byte %llu of a region of rank %u; it has %llu",
                         (unsigned long long)bytes, (unsigned long long)at, k->rank,
                         (unsigned long long)k->bytes);
    k->holds++;
    return TERN_OK;
}

static void rkey_drop(tern_regions *regions, tern_rkey *k) {
    tern_rkey **link = &regions->keys;
    while (*link != k)
        link = &(*link)->next;
    *link = k->next;
    free(k);
}

/* The answer, if it has come. The MPI lock is held too. TERN_ERR_RANGE: the key is gone. */
static tern_status rkey_look(tern_regions *regions, tern_rkey *k) {
    int done = 0;
    if (k->request == MPI_REQUEST_NULL)
        return TERN_ERR_AGAIN; /* being asked by another worker this moment */
    int code = PMPI_Test(&k->request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS)
        return tern_fail_mpi(code, "MPI_Test");
    if (!done)
        return TERN_ERR_AGAIN;
    k->asked = false;
    tern_status status = k->stale ? TERN_ERR_AGAIN : (tern_status)k->answer.status;
    k->stale = false;
    if (status == TERN_OK) {
        k->known = true;
        k->base = k->answer.base;
        k->bytes = k->answer.bytes;
        k->network = k->answer.network;
    } else if (status != TERN_ERR_AGAIN) {
        status =
            tern_fail(status, "a region of rank %u is not registered there (any more)", k->rank);
        rkey_drop(regions, k);
    }
    return status;
}

static tern_status rkey_ask(tern_worker *worker, tern_rkey *k) {
    tern_regions *regions = tern_regions_of(worker->context);
    tern_message message = {.kind = TERN_MESSAGE_KEY, .origin = worker->id, .offset = k->region};
    MPI_Request request = MPI_REQUEST_NULL;
    k->answer.status = TERN_ERR_RANGE; /* what a refusal without an answer leaves */
    tern_status status =
        tern_message_ask(worker, k->rank, &message, &k->answer, sizeof k->answer, &request);
    pthread_mutex_lock(&regions->lock);
    k->request = request;
    k->asked = status == TERN_OK;
    pthread_mutex_unlock(&regions->lock);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

/* Of a key that is not known: looks for the answer, or asks. */
static tern_status rkey_obtain(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes,
                               tern_rkey **key) {
    tern_regions *regions = tern_regions_of(worker->context);
    tern_status status = TERN_ERR_AGAIN;
    bool ours_to_ask = false;
    tern_mpi_lock();
    pthread_mutex_lock(&regions->lock);
    tern_rkey *k = find_or_make(regions, rank, place);
    if (k == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for the key of a region");
    else if (k->known)
        status = TERN_OK;
    else if (k->asked)
        status = rkey_look(regions, k);
    else
        ours_to_ask = k->asked = true;
    if (status == TERN_OK)
        status = rkey_take(k, place, bytes);
    pthread_mutex_unlock(&regions->lock);
    tern_mpi_unlock();
    if (ours_to_ask)
        status = rkey_ask(worker, k);
    *key = status == TERN_OK ? k : NULL;
    return status;
}

tern_status tern_rkey_hold(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes,
                           tern_rkey **key) {
    tern_regions *regions = tern_regions_of(worker->context);
    pthread_mutex_lock(&regions->lock);
    tern_rkey *k = rkey_find(regions, rank, place);
    bool known = k != NULL && k->known;
    tern_status status = known ? rkey_take(k, place, bytes) : TERN_ERR_AGAIN;
    *key = status == TERN_OK ? k : NULL;
    pthread_mutex_unlock(&regions->lock);
    if (!known)
        status = rkey_obtain(worker, rank, place, bytes, key);
    if (status != TERN_ERR_AGAIN)
        return status;
    status = tern_glance(worker, rank);
    return status != TERN_OK
               ? status
               : tern_fail(TERN_ERR_AGAIN, "rank %u is being asked for a region of its", rank);
}

tern_status tern_rkey_check(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes) {
    tern_rkey *k = NULL;
    tern_status status = tern_rkey_hold(worker, rank, place, bytes, &k);
    if (status == TERN_OK)
        tern_rkey_release(worker, k, false);
    return status;
}

uint64_t tern_rkey_address(const tern_worker *worker, uint32_t rank, uint64_t place) {
    tern_regions *regions = tern_regions_of(worker->context);
    pthread_mutex_lock(&regions->lock);
    uint64_t base = rkey_find(regions, rank, place)->base;
    pthread_mutex_unlock(&regions->lock);
    return base + (place & TERN_PLACE_BYTE);
}

void tern_rkey_release(tern_worker *worker, tern_rkey *key, bool unflushed) {
    tern_regions *regions = tern_regions_of(worker->context);
    pthread_mutex_lock(&regions->lock);
    key->holds--;
    key->unflushed = key->unflushed || unflushed;
    pthread_mutex_unlock(&regions->lock);
}

bool tern_rkeys_unflushed(tern_context *context, uint32_t rank) {
    tern_regions *regions = tern_regions_of(context);
    bool any = false;
    pthread_mutex_lock(&regions->lock);
    for (const tern_rkey *k = regions->keys; k != NULL; k = k->next)
        any = any || (k->rank == rank && k->unflushed);
    pthread_mutex_unlock(&regions->lock);
    return any;
}

void tern_rkeys_flushed(tern_context *context, uint32_t rank) {
    tern_regions *regions = tern_regions_of(context);
    pthread_mutex_lock(&regions->lock);
    for (tern_rkey *k = regions->keys; k != NULL; k = k->next)
        if (k->rank == rank)
            k->unflushed = false;
    pthread_mutex_unlock(&regions->lock);
}

bool tern_rkey_revoke(tern_context *context, uint32_t rank, uint64_t place) {
    tern_regions *regions = tern_regions_of(context);
    pthread_mutex_lock(&regions->lock);
    tern_rkey *k = rkey_find(regions, rank, place);
    bool free_to_go = k == NULL || (k->holds == 0 && !k->unflushed);
    if (k != NULL && k->asked)
        k->stale = true;
    else if (k != NULL && free_to_go)
        rkey_drop(regions, k);
    pthread_mutex_unlock(&regions->lock);
    return free_to_go;
}

static bool any_asked(tern_regions *regions) {
    bool any = false;
    tern_mpi_lock();
    pthread_mutex_lock(&regions->lock);
    for (tern_rkey *k = regions->keys, *next; k != NULL; k = next) {
        next = k->next;
        if (k->asked && rkey_look(regions, k) == TERN_ERR_AGAIN)
            any = true; /* or it has come, for nothing: then not the next time */
    }
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
    while (regions->keys != NULL) {
        tern_rkey *k = regions->keys;
        regions->keys = k->next;
        if (!k->asked)
            free(k);
    }
}
