#include "rpc/synchronizer.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rpc/call/overflow.h"
#include "src/log.h"
#include "src/progress/wait.h"

/* A call that has not been published yet; its synchronizer is lowered when it has been. */
typedef struct tern_departure {
    struct tern_departure *next;
    tern_ptr counter;
    uint32_t target;
    bool queued;       /* the call is, or was, in the overflow queue */
    uint64_t position; /* position in the ring behind the call */
} tern_departure;

static uint64_t *direct_counter(const tern_worker *worker, tern_ptr counter) {
    return (uint64_t *)(void *)tern_internal_reach_address(worker, counter, sizeof(uint64_t));
}

tern_status tern_counter_check(const tern_worker *worker, tern_ptr counter) {
    uint64_t offset;
    if (counter.offset % 8 != 0)
        return tern_fail(TERN_ERR_ARGUMENT, "the counter of a synchronizer is not aligned; pass "
                                            "one that tern_synchronizer_create made");
    return tern_segment_check(worker->context, counter, sizeof(uint64_t), &offset);
}

bool tern_notices_have_room(const tern_worker *worker) {
    return tern_rpc_worker_of(worker)->notices < TERN_NOTICES;
}

void tern_counter_lower(tern_worker *worker, tern_ptr counter, uint64_t by) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    uint64_t *direct = direct_counter(worker, counter);
    if (direct != NULL) {
        /* R8: tern_synchronizer_wait, tern_synchronizer_test, held_is_over */
        __atomic_fetch_sub(direct, by, __ATOMIC_SEQ_CST);
        return;
    }
    for (uint32_t i = 0; i < mine->notices; i++) {
        if (tern_ptr_equal(mine->notice[i].counter, counter)) {
            mine->notice[i].by += by;
            return;
        }
    }
    mine->notice[mine->notices++] = (tern_counter_notice){counter, by};
    tern_count(&worker->stats.notices_sent, 1);
}

static tern_message notice_message(const tern_worker *worker, uint64_t offset, uint64_t by) {
    return (tern_message){.kind = TERN_MESSAGE_ATOMIC,
                          .origin = worker->id,
                          .offset = offset,
                          .bytes = TERN_ATOMIC_ADD | (uint64_t)8 << 8,
                          .operand = {0 - by, 0}};
}

static void notice_warn(uint32_t rank) {
    tern_log(TERN_LOG_WARN, "rank %u does not hear that its calls have run: %s", rank,
             tern_error_detail());
}

void tern_counter_lower_by_nobody(tern_worker *nobody, tern_ptr counter, uint64_t by) {
    uint64_t offset = 0;
    if (direct_counter(nobody, counter) != NULL) {
        tern_counter_lower(nobody, counter, by);
        return;
    }
    if (tern_segment_check(nobody->context, counter, 8, &offset) != TERN_OK)
        return;
    const tern_message message = notice_message(nobody, offset, by);
    /* R4; before it can be taken, and by several threads */
    __atomic_fetch_add(&nobody->stats.notices_sent, 1, __ATOMIC_RELAXED);
    if (tern_message_send_all(nobody, counter.rank, &message, NULL, 0) == TERN_OK)
        return;
    notice_warn(counter.rank);
    /* R4 */
    __atomic_fetch_sub(&nobody->stats.notices_sent, 1, __ATOMIC_RELAXED);
}

/* Sends a notice. Returns true if it was sent or can never be sent. */
static bool send_notice(tern_worker *worker, const tern_counter_notice *notice) {
    uint64_t offset = 0;
    if (tern_segment_check(worker->context, notice->counter, 8, &offset) != TERN_OK)
        return true;
    const tern_message message = notice_message(worker, offset, notice->by);
    tern_status status = tern_message_send(worker, notice->counter.rank, &message, NULL, 0);
    if (status != TERN_OK && status != TERN_ERR_AGAIN)
        notice_warn(notice->counter.rank);
    if (status == TERN_OK)
        tern_ring_warm(worker);
    return status != TERN_ERR_AGAIN;
}

static size_t send_notices(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    uint32_t sent = 0;
    while (sent < mine->notices && send_notice(worker, &mine->notice[sent]))
        sent++;
    mine->notices -= sent;
    memmove(mine->notice, mine->notice + sent, mine->notices * sizeof mine->notice[0]);
    return sent;
}

/* Returns whether the call has been published. The position of a queued call is not known; once its
 * queue is empty, the position behind the queue's last call is taken. Positions are compared by
 * difference. */
static bool has_left(tern_worker *worker, tern_departure *d) {
    if (d->queued && !tern_overflow_clear(worker, d->target))
        return false;
    const tern_out *out = tern_overflow_ring(worker, d->target);
    if (d->queued)
        d->position = out->lane.write;
    d->queued = false;
    uint64_t published = out->lane.first_header != 0 ? out->lane.first : out->lane.write;
    tern_overflow_ring_done(worker);
    return (int64_t)(published - d->position) >= 0;
}

void tern_counter_lower_when_sent(tern_worker *worker, tern_ptr counter, uint32_t target) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    const tern_out *out = tern_overflow_ring(worker, target);
    tern_departure d = {NULL, counter, target, out->lent, out->lane.write};
    tern_overflow_ring_done(worker);
    tern_departure *later = d.queued || !has_left(worker, &d) ? malloc(sizeof *later) : NULL;
    if (later == NULL) { /* the call has left, or there is no memory to note when it leaves */
        tern_counter_lower(worker, counter, 1);
        return;
    }
    *later = d;
    later->next = mine->departures;
    mine->departures = later;
}

static size_t see_departures(tern_worker *worker) {
    tern_departure **link = &tern_rpc_worker_of(worker)->departures;
    size_t left = 0;
    while (*link != NULL) {
        tern_departure *d = *link;
        if (!has_left(worker, d)) {
            link = &d->next;
            continue;
        }
        *link = d->next;
        tern_counter_lower(worker, d->counter, 1);
        free(d);
        left++;
    }
    return left;
}

size_t tern_synchronizers_advance(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    size_t events = mine->departures != NULL ? see_departures(worker) : 0;
    return events + (mine->notices > 0 ? send_notices(worker) : 0);
}

uint32_t tern_synchronizers_unsent(const tern_worker *worker, uint32_t rank) {
    const tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    for (uint32_t i = 0; i < mine->notices; i++)
        if (rank == TERN_ANYBODY || mine->notice[i].counter.rank == rank)
            return mine->notice[i].counter.rank;
    return TERN_NOBODY;
}

void tern_synchronizers_discard(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    while (mine->departures != NULL) {
        tern_departure *d = mine->departures;
        mine->departures = d->next;
        free(d);
    }
}

tern_status tern_synchronizer_create(tern_worker *worker, tern_synchronizer *synchronizer) {
    if (worker == NULL || synchronizer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_synchronizer_create: worker or synchronizer is NULL");
    tern_ptr counter;
    tern_status status = tern_alloc(worker, sizeof(uint64_t), 0, TERN_DOMAIN_OWNER, &counter);
    if (status != TERN_OK)
        return status;
    /* R9: tern_synchronizer_create; before anybody knows of it */
    __atomic_store_n(direct_counter(worker, counter), 0, __ATOMIC_SEQ_CST);
    synchronizer->counter = counter;
    return TERN_OK;
}

static tern_status synchronizer_check(const tern_worker *worker, tern_synchronizer s,
                                      const char *function) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", function);
    return tern_counter_check(worker, s.counter);
}

/* Finds a counter that load/store reaches. [out] counter: its address. */
static tern_status synchronizer_reach(const tern_worker *worker, tern_synchronizer s,
                                      const char *function, uint64_t **counter) {
    tern_status status = synchronizer_check(worker, s, function);
    if (status != TERN_OK)
        return status;
    *counter = direct_counter(worker, s.counter);
    if (*counter == NULL)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "load/store does not reach the synchronizer of rank %u; only ranks of its "
                         "node may raise it, test it and wait for it",
                         s.counter.rank);
    return TERN_OK;
}

tern_status tern_synchronizer_destroy(tern_worker *worker, tern_synchronizer *synchronizer) {
    uint64_t *counter;
    if (synchronizer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_synchronizer_destroy: synchronizer is NULL");
    tern_status status =
        synchronizer_reach(worker, *synchronizer, "tern_synchronizer_destroy", &counter);
    if (status != TERN_OK)
        return status;
    /* R8: tern_counter_lower */
    uint64_t outstanding = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
    if (outstanding != 0)
        return tern_fail(TERN_ERR_STATE,
                         "%llu operations of the synchronizer are outstanding; wait for it first",
                         (unsigned long long)outstanding);
    status = tern_free(worker, synchronizer->counter);
    if (status == TERN_OK)
        synchronizer->counter = TERN_NULL;
    return status;
}

tern_status tern_synchronizer_raise(tern_worker *worker, tern_synchronizer synchronizer,
                                    uint64_t operations) {
    uint64_t *counter;
    tern_status status =
        synchronizer_reach(worker, synchronizer, "tern_synchronizer_raise", &counter);
    if (status == TERN_OK)
        /* R4 */
        __atomic_fetch_add(counter, operations, __ATOMIC_SEQ_CST);
    return status;
}

tern_status tern_synchronizer_lower(tern_worker *worker, tern_synchronizer synchronizer,
                                    uint64_t operations) {
    tern_status status = synchronizer_check(worker, synchronizer, "tern_synchronizer_lower");
    if (status != TERN_OK)
        return status;
    if (!tern_notices_have_room(worker))
        return tern_fail(TERN_ERR_AGAIN, "%d notices to other nodes wait for progress; let it run",
                         TERN_NOTICES);
    tern_counter_lower(worker, synchronizer.counter, operations);
    return TERN_OK;
}

tern_status tern_synchronizer_test(tern_worker *worker, tern_synchronizer synchronizer,
                                   uint64_t *outstanding) {
    uint64_t *counter;
    tern_status status =
        synchronizer_reach(worker, synchronizer, "tern_synchronizer_test", &counter);
    if (status == TERN_OK && outstanding == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_synchronizer_test: outstanding is NULL");
    if (status != TERN_OK)
        return status;
    /* R4 */
    if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) != 0)
        tern_call_round(worker);
    /* R8: tern_counter_lower */
    *outstanding = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
    return TERN_OK;
}

tern_status tern_synchronizer_wait(tern_worker *worker, tern_synchronizer synchronizer) {
    uint64_t *counter;
    tern_status status =
        synchronizer_reach(worker, synchronizer, "tern_synchronizer_wait", &counter);
    if (status == TERN_OK)
        status = tern_call_may_wait(worker, "tern_synchronizer_wait");
    tern_wait_state wait = TERN_WAIT_FOR("its synchronizer to be lowered to 0", NULL, UINT64_MAX);
    /* R8: tern_counter_lower */
    while (status == TERN_OK && __atomic_load_n(counter, __ATOMIC_ACQUIRE) != 0)
        status = tern_wait_round(worker->context, &wait, tern_call_round(worker), TERN_ANYBODY);
    return status;
}
