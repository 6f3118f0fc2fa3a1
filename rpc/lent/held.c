#include "rpc/lent/lent.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rma/transport/transport.h"
#include "rpc/synchronizer.h"
#include "src/progress/wait.h"

enum { FRONT = 64, LOOKS = 16 };

struct tern_held {
    tern_held *next;
    tern_ptr counter;
    size_t bytes;
    uint32_t rank; /* rank of the only reader, or TERN_ANYBODY */
    bool is_call;
};

static uint64_t *held_counter(const tern_worker *worker, const tern_held *held) {
    return (uint64_t *)(void *)tern_internal_reach_address(worker, held->counter, sizeof(uint64_t));
}

void tern_held_drop(tern_worker *worker, tern_held *held) {
    if (held != NULL)
        tern_ignore(tern_free(worker, held->counter));
    free(held);
}

/* Locks the list of threads without a worker, which several threads use. */
static void held_lock(const tern_worker *worker) {
    if (tern_is_nobody(worker))
        pthread_mutex_lock(&tern_rpc_of(worker->context)->threads_lock);
}

static void held_unlock(const tern_worker *worker) {
    if (tern_is_nobody(worker))
        pthread_mutex_unlock(&tern_rpc_of(worker->context)->threads_lock);
}

/* Tells the workers of the process whether threads without a worker have loans. The caller holds
 * the lock. */
static void held_note(const tern_worker *worker) {
    if (tern_is_nobody(worker))
        /* R4 */
        atomic_store_explicit(&tern_rpc_of(worker->context)->threads_lend,
                              tern_rpc_worker_of(worker)->held != NULL, memory_order_relaxed);
}

/* Returns whether every reader has ended the loan, or the only reader has died. */
static bool held_is_over(tern_worker *worker, const tern_held *held) {
    /* R8: tern_counter_lower; what the readers did with the memory comes before its next use */
    if (__atomic_load_n(held_counter(worker, held), __ATOMIC_ACQUIRE) == 0)
        return true;
    return held->rank != TERN_ANYBODY && tern_glance(worker, held->rank) != TERN_OK;
}

/* Gives back the memory of loans that are over: of all such loans, or, from the oldest on, up to
 * the first loan that is not over. */
static size_t held_sweep(tern_worker *worker, bool all) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    size_t over = 0;
    held_lock(worker);
    tern_held **link = &mine->held;
    while (*link != NULL) {
        tern_held *held = *link;
        if (held_is_over(worker, held)) {
            *link = held->next;
            if (*link == NULL)
                mine->held_end = link;
            mine->calls_lent -= held->is_call;
            mine->held_over++;
            tern_held_drop(worker, held);
            over++;
        } else if (all) {
            link = &held->next;
        } else {
            break;
        }
    }
    if (over > 0)
        held_note(worker);
    held_unlock(worker);
    return over;
}

/* Reading a counter takes its cache line from the reader that is about to lower it. So in all but
 * one of LOOKS rounds this function stops at the first loan that is not over. */
size_t tern_held_advance(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    if (tern_is_nobody(worker))
        return held_sweep(worker, true);
    return mine->held != NULL ? held_sweep(worker, mine->held_looks++ % LOOKS == 0) : 0;
}

uint32_t tern_held_reader(const tern_worker *worker) {
    held_lock(worker);
    const tern_held *held = tern_rpc_worker_of(worker)->held;
    while (held != NULL && (!held->is_call || held->rank == TERN_ANYBODY))
        held = held->next;
    const uint32_t rank = held != NULL ? held->rank : TERN_ANYBODY;
    held_unlock(worker);
    return rank;
}

uint32_t tern_held_calls(const tern_worker *worker) {
    held_lock(worker);
    const uint32_t calls = tern_rpc_worker_of(worker)->calls_lent;
    held_unlock(worker);
    return calls;
}

uint64_t tern_held_over(const tern_worker *worker) {
    held_lock(worker);
    const uint64_t over = tern_rpc_worker_of(worker)->held_over;
    held_unlock(worker);
    return over;
}

uint32_t tern_held_unsent(const tern_worker *worker, uint32_t rank) {
    const tern_held *held = tern_rpc_worker_of(worker)->held;
    for (; held != NULL; held = held->next) {
        const bool of_all = held->rank == TERN_ANYBODY; /* a broadcast */
        const bool asked = rank == TERN_ANYBODY || of_all || rank == held->rank;
        if (held->is_call && asked && tern_gets_need_owner(worker, held->rank, false))
            return !of_all ? held->rank : rank != TERN_ANYBODY ? rank : worker->context->rank;
    }
    return TERN_NOBODY;
}

bool tern_held_reclaim(tern_worker *worker) { return held_sweep(worker, true) > 0; }

static tern_status held_allocate(tern_worker *worker, size_t bytes, tern_ptr *counter) {
    const tern_worker_id near = {worker->context->rank, tern_is_nobody(worker) ? 0 : worker->index};
    return tern_alloc_on_worker(worker, near, FRONT + bytes, FRONT, TERN_DOMAIN_OWNER, counter);
}

tern_status tern_held_create(tern_worker *worker, size_t bytes, tern_held **held) {
    tern_held *made = malloc(sizeof *made);
    if (made == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to keep track of %zu bytes", bytes);
    *made = (tern_held){.bytes = bytes};
    tern_status status = held_allocate(worker, bytes, &made->counter);
    if (status == TERN_ERR_MEMORY && tern_held_reclaim(worker)) {
        tern_error_clear();
        status = held_allocate(worker, bytes, &made->counter);
    }
    if (status != TERN_OK) {
        free(made);
        return status;
    }
    *held = made;
    return TERN_OK;
}

char *tern_held_data(const tern_worker *worker, const tern_held *held) {
    return tern_internal_reach_address(worker, held->counter, FRONT + held->bytes) + FRONT;
}

size_t tern_held_bytes(const tern_held *held) { return held->bytes; }

tern_loan tern_held_lend(tern_worker *worker, tern_held *held, size_t bytes, uint64_t readers,
                         uint32_t rank) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    held->rank = rank;
    /* R9: tern_reply_store, tern_ring_publish_direct; before anybody knows of it */
    __atomic_store_n(held_counter(worker, held), readers, __ATOMIC_RELAXED);
    held_lock(worker);
    mine->calls_lent += held->is_call;
    if (mine->held == NULL)
        mine->held_end = &mine->held;
    held->next = NULL;
    *mine->held_end = held;
    mine->held_end = &held->next;
    const tern_loan loan = {held->counter, bytes};
    held_note(worker);
    held_unlock(worker);
    return loan;
}

tern_loan tern_held_lend_call(tern_worker *worker, tern_held *held, uint64_t readers,
                              uint32_t rank) {
    held->is_call = true;
    return tern_held_lend(worker, held, held->bytes, readers, rank);
}

tern_status tern_loan_check(const tern_worker *worker, const tern_loan *loan, uint32_t rank,
                            tern_ptr *data) {
    uint64_t offset = 0;
    tern_status status = tern_counter_check(worker, loan->counter);
    if (status == TERN_OK && loan->counter.rank != rank)
        status =
            tern_fail(TERN_ERR_RANGE, "rank %u lends memory of rank %u", rank, loan->counter.rank);
    if (status != TERN_OK)
        return status;
    *data = loan->counter;
    data->offset += FRONT;
    return tern_segment_check(worker->context, *data, loan->bytes, &offset);
}

/* Does nothing if the rank that lends has died. */
void tern_loan_end(tern_worker *worker, const tern_loan *loan) {
    if (!tern_peer_is_dead(&worker->context->peers, loan->counter.rank))
        tern_counter_lower(worker, loan->counter, 1);
}

/* Frees the list; the memory itself goes with the segment. */
void tern_held_discard(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    while (mine->held != NULL) {
        tern_held *held = mine->held;
        mine->held = held->next;
        free(held);
    }
}
