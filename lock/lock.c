#include "tern/lock.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/reply/answer.h"
#include "rma/notify/request.h"
#include "rma/memory/state.h"
#include "rma/transfer.h"
#include "src/collective/callee.h"
#include "src/collective/collective.h"
#include "src/collective/object.h"
#include "tern/call.h"
#include "tern/transfer.h"

/*
 * Each rank keeps its share of the locks in private memory. Only handlers of one of its workers,
 * the keeper, touch them. A worker waits for one lock at a time, so one entry for each worker of
 * the job is enough for all queues: the entry of a waiting worker names the next worker in the
 * queue of that lock. The call to acquire reserves a reply cell; when the lock is the waiter's, the
 * keeper writes the reply into this cell.
 */

typedef struct lock {
    uint32_t holder;      /* worker number + 1; 0: free */
    uint32_t first, last; /* the first and the last waiting worker, number + 1; 0: none waits */
    uint32_t unused;
} lock;

typedef struct waiter {
    uint32_t next; /* worker number + 1 */
    uint32_t unused;
    tern_return_address back;
} waiter;

struct tern_locks {
    tern_context *context;
    tern_object object;
    tern_callee callee;
    uint64_t nonce;
    size_t count, share; /* locks of all ranks, and of each rank */
    lock *lock;          /* this rank's share */
    waiter *waiter;      /* by worker number */
    uint8_t *held;       /* by own worker and lock: 1 if the worker holds the lock */
};

/* Arguments of all calls. */
typedef struct lock_message {
    uint64_t nonce, lock;
    tern_return_address back; /* the reply cell, for an acquire */
} lock_message;

/* Returns the lock that a call names, or NULL. */
static lock *locks_find(const tern_call_info *call, const void *arguments, size_t bytes,
                        lock_message *m, waiter **waiters) {
    if (bytes != sizeof *m)
        return NULL;
    tern_read_once(m, arguments, sizeof *m);
    const tern_locks *locks = tern_callee_find(call->worker->context, TERN_CALLEE_LOCKS, m->nonce);
    if (locks == NULL || m->lock >= locks->share)
        return NULL;
    *waiters = locks->waiter;
    return &locks->lock[m->lock];
}

static tern_status tern_lock_on_acquire(tern_call_info *call, const void *arguments, size_t bytes) {
    lock_message m;
    waiter *waiters;
    lock *l = locks_find(call, arguments, bytes, &m, &waiters);
    if (l == NULL)
        return tern_callee_missing(call->worker->context, "lock");
    uint32_t number = tern_worker_number(call->worker->context, call->origin);
    if (l->holder == 0) {
        l->holder = number + 1;
        return tern_reply_send(call->worker, number, &m.back, TERN_OK, NULL, 0);
    }
    waiters[number] = (waiter){0, 0, m.back};
    if (l->first == 0)
        l->first = number + 1;
    else
        waiters[l->last - 1].next = number + 1;
    l->last = number + 1;
    return TERN_OK;
}
TERN_FUNCTION(tern_lock_on_acquire)

static tern_status tern_lock_on_try(tern_call_info *call, const void *arguments, size_t bytes) {
    lock_message m;
    waiter *waiters;
    lock *l = locks_find(call, arguments, bytes, &m, &waiters);
    if (l == NULL)
        return tern_callee_missing(call->worker->context, "lock");
    uint32_t taken = l->holder == 0;
    if (taken)
        l->holder = tern_worker_number(call->worker->context, call->origin) + 1;
    memcpy(call->result, &taken, sizeof taken);
    call->result_bytes = sizeof taken;
    return TERN_OK;
}
TERN_FUNCTION(tern_lock_on_try)

static tern_status tern_lock_on_release(tern_call_info *call, const void *arguments, size_t bytes) {
    lock_message m;
    waiter *waiters;
    lock *l = locks_find(call, arguments, bytes, &m, &waiters);
    if (l == NULL)
        return tern_callee_missing(call->worker->context, "lock");
    if (l->holder != tern_worker_number(call->worker->context, call->origin) + 1)
        return tern_fail(TERN_ERR_STATE, "lock %llu is released by a worker that does not hold it",
                         (unsigned long long)m.lock);
    l->holder = l->first;
    if (l->holder == 0)
        return TERN_OK;
    uint32_t number = l->holder - 1;
    const waiter *w = &waiters[number];
    l->first = w->next;
    return tern_reply_send(call->worker, number, &w->back, TERN_OK, NULL, 0);
}
TERN_FUNCTION(tern_lock_on_release)

static tern_status locks_check(const tern_worker *worker, const tern_locks *locks, size_t index,
                               const char *name) {
    if (worker == NULL || locks == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker or locks is NULL", name);
    if (worker->context != locks->context)
        return tern_object_refuse(locks->context, name, "locks");
    if (index >= locks->count)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: index is %zu; there are %zu locks", name, index,
                         locks->count);
    return TERN_OK;
}

static uint8_t *locks_held(const tern_locks *locks, const tern_worker *worker, size_t index) {
    return &locks->held[worker->index * locks->count + index];
}

static tern_status check_free(const tern_worker *worker, const tern_locks *locks, size_t index,
                              const char *name) {
    tern_status status = locks_check(worker, locks, index, name);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    if (status == TERN_OK && *locks_held(locks, worker, index))
        return tern_fail(TERN_ERR_STATE, "%s: this worker holds lock %zu already; release it first",
                         name, index);
    return status;
}

static uint32_t keeper_rank(const tern_locks *locks, size_t index) {
    return (uint32_t)(index % locks->context->size);
}

/* The keeper: always the same worker of the rank, so that handlers on one share never run at the
 * same time. */
static tern_worker_id locks_keeper(const tern_locks *locks, size_t index) {
    const tern_config *config = &locks->context->config;
    return (tern_worker_id){keeper_rank(locks, index),
                            config->service_threads > 0 ? (uint32_t)config->workers : 0};
}

static lock_message message_for(const tern_locks *locks, size_t index) {
    return (lock_message){locks->nonce, index / locks->context->size, {0, 0, 0}};
}

tern_status tern_lock_acquire(tern_worker *worker, tern_locks *locks, size_t index) {
    tern_status status = check_free(worker, locks, index, "tern_lock_acquire");
    if (status != TERN_OK)
        return status;
    lock_message m = message_for(locks, index);
    status = tern_reply_expect(worker, &m.back);
    if (status != TERN_OK)
        return status;
    status =
        tern_call(worker, locks_keeper(locks, index), &tern_lock_on_acquire_function, &m, sizeof m);
    if (status != TERN_OK) {
        tern_reply_release(worker, &m.back);
        return status;
    }
    tern_wait_state wait = TERN_WAIT_FOR("lock", NULL, index);
    while (status == TERN_OK && !tern_reply_arrived(worker, &m.back))
        status = tern_answer_round(worker, &wait, tern_progress_round(worker), TERN_ANYBODY,
                                   tern_worker_number(locks->context, locks_keeper(locks, index)),
                                   &m.back);
    if (status != TERN_OK) {
        tern_reply_give_up(worker, &m.back, keeper_rank(locks, index));
        return status;
    }
    tern_reply_release(worker, &m.back);
    *locks_held(locks, worker, index) = 1;
    return TERN_OK;
}

tern_status tern_lock_try(tern_worker *worker, tern_locks *locks, size_t index, int *taken) {
    tern_status status = check_free(worker, locks, index, "tern_lock_try");
    if (status == TERN_OK && taken == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_lock_try: taken is NULL");
    if (status != TERN_OK)
        return status;
    lock_message m = message_for(locks, index);
    uint32_t result = 0;
    status = tern_call_return(worker, locks_keeper(locks, index), &tern_lock_on_try_function, &m,
                              sizeof m, &result, sizeof result, NULL);
    if (status != TERN_OK)
        return status;
    *locks_held(locks, worker, index) = (uint8_t)result;
    *taken = (int)result;
    return TERN_OK;
}

/* Makes sure that this worker's puts arrive before the release. Puts to the keeper's rank need no
 * wait if they arrive in order with the call; for all others it waits. */
static tern_status locks_settle_puts(tern_worker *worker, uint32_t keeper) {
    bool in_order = tern_transport_to(worker->context, keeper)->posts_in_order &&
                    tern_requests_moving(worker, keeper);
    return tern_puts_flush_all_but(worker, in_order ? keeper : TERN_NOBODY);
}

tern_status tern_lock_release(tern_worker *worker, tern_locks *locks, size_t index) {
    tern_status status = locks_check(worker, locks, index, "tern_lock_release");
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, "tern_lock_release");
    if (status != TERN_OK)
        return status;
    if (!*locks_held(locks, worker, index))
        return tern_fail(TERN_ERR_STATE,
                         "tern_lock_release: this worker does not hold lock %zu; take it first",
                         index);
    lock_message m = message_for(locks, index);
    /* Puts to direct memory are stores, which the call makes visible. */
    status = locks_settle_puts(worker, keeper_rank(locks, index));
    if (status == TERN_OK)
        status = tern_call(worker, locks_keeper(locks, index), &tern_lock_on_release_function, &m,
                           sizeof m);
    if (status == TERN_OK)
        *locks_held(locks, worker, index) = 0;
    return status;
}

static tern_status locks_allocate(tern_locks *locks) {
    const tern_context *context = locks->context;
    locks->share = (locks->count + context->size - 1) / context->size;
    locks->lock = calloc(locks->share, sizeof *locks->lock);
    locks->waiter = calloc((size_t)context->size * context->workers, sizeof *locks->waiter);
    locks->held = calloc(context->config.workers, locks->count);
    if (locks->lock == NULL || locks->waiter == NULL || locks->held == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %zu locks", locks->count);
    return TERN_OK;
}

static void locks_discard(tern_object *object) {
    tern_locks *locks = (tern_locks *)(void *)((char *)object - offsetof(tern_locks, object));
    free(locks->lock);
    free(locks->waiter);
    free(locks->held);
    tern_destroyed_keep_object(locks, sizeof *locks);
}

/* Frees this rank's share of the locks. Calls that arrive later find no locks. */
static void locks_dispose(tern_locks *locks) {
    tern_callee_remove(locks->context, &locks->callee);
    locks_discard(&locks->object);
}

tern_status tern_locks_create(tern_worker *worker, size_t count, tern_locks **locks) {
    static const char name[] = "tern_locks_create";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    if (locks == NULL || count == 0 || count > UINT32_MAX)
        status = tern_fail(TERN_ERR_ARGUMENT,
                           "%s: count is %zu, or locks is NULL; allowed are 1 to %u locks", name,
                           count, UINT32_MAX);
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK)
        status =
            tern_collective_same_fields(context, worker, &(tern_field){"count", count}, 1, name);
    if (status != TERN_OK)
        return status;
    tern_locks *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        status = tern_fail(TERN_ERR_MEMORY, "no memory for locks");
    } else {
        *fresh = (tern_locks){.context = context, .count = count};
        status = locks_allocate(fresh);
    }
    uint64_t random = 0;
    if (status == TERN_OK && getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        status = tern_fail_system("getrandom");
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK)
        status = tern_collective_sum(context, worker, &random, 1);
    if (status == TERN_OK) {
        fresh->nonce = random == 0 ? 1 : random;
        tern_callee_add(context, &fresh->callee, TERN_CALLEE_LOCKS, fresh->nonce, fresh);
        /* No rank calls before all ranks serve. If a death ends this barrier, other ranks may have
         * returned and may use this rank's share, so it is kept. */
        status = tern_collective_barrier(context, worker);
        if (status == TERN_ERR_PEER)
            tern_object_leave(context, &fresh->object, locks_discard);
        if (status == TERN_ERR_PEER)
            return status;
    }
    if (status != TERN_OK) {
        if (fresh != NULL)
            locks_dispose(fresh);
        return status;
    }
    tern_object_add(context, &fresh->object, "locks");
    *locks = fresh;
    return TERN_OK;
}

tern_status tern_locks_destroy(tern_worker *worker, tern_locks *locks) {
    static const char name[] = "tern_locks_destroy";
    if (locks == NULL)
        return TERN_OK;
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    if (worker->context != locks->context)
        return tern_object_refuse(locks->context, name, "locks");
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    for (size_t i = 0; i < context->config.workers * locks->count && status == TERN_OK; i++)
        if (locks->held[i])
            status = tern_fail(TERN_ERR_STATE,
                               "%s: worker %zu holds lock %zu; let it release the lock first", name,
                               i / locks->count, i % locks->count);
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_ERR_STATE || status == TERN_ERR_MISMATCH)
        return status;
    /* Calls of tern_lock_release may still be under way. */
    if (status == TERN_OK)
        status = tern_quiesce(worker);
    tern_object_remove(context, &locks->object);
    locks_dispose(locks);
    return status;
}
