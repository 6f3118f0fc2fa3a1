#include "rma/message/inbox.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"
#include "src/profile/trace.h"

#define TELL                                                                                       \
    (TERN_MESSAGE_CREDIT_BYTES / 2) /* a worker tells a sender once it owes so much credit */

/* Returns how much credit a message takes: at least as much as it takes of memory. */
static uint64_t inbox_cost(uint64_t bytes) { return 64 + bytes; }

_Static_assert(sizeof(tern_inbox_message) <= 48, "and malloc adds 16");
_Static_assert(TELL + 64 + TERN_MESSAGE_MAX <= TERN_MESSAGE_CREDIT_BYTES, "the largest finds room");

static _Atomic uint64_t *used_credit(const tern_context *context, uint32_t target,
                                     tern_inbox_lane lane) {
    return &tern_rma_of(context)->inbox_used[target * TERN_INBOX_LANES + lane];
}

/* Takes credit. False: there is not enough. The used credit, the messages counted in a worker page
 * and the delivered messages are only counters, so their accesses are relaxed: MPI or inbox_push
 * hands over the content of a message.
 */
static bool take_credit(_Atomic uint64_t *used, uint64_t by) {
    /* R4 */
    uint64_t now = atomic_load_explicit(used, memory_order_relaxed);
    do {
        if (now + by > TERN_MESSAGE_CREDIT_BYTES)
            return false;
        /* R4 */
    } while (!atomic_compare_exchange_weak_explicit(used, &now, now + by, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void give_credit(_Atomic uint64_t *used, uint64_t by) {
    /* R4 */
    atomic_fetch_sub_explicit(used, by, memory_order_relaxed);
}

/* Takes the reserve for a message of another rank, when malloc fails; NULL: it is in use. The
 * reserve comes back when the message's worker has run the call. Without the reserve, no message
 * behind this one could be served. */
static tern_inbox_message *inbox_take_reserve(tern_rma *rma) {
    /* R6: inbox_give */
    return atomic_exchange_explicit(&rma->inbox_spare, NULL, memory_order_acquire);
}

/* Frees a message that has been run, or makes the reserve free for another one. */
static void inbox_give(const tern_context *context, tern_inbox_message *entry) {
    tern_rma *rma = tern_rma_of(context);
    if (entry != rma->inbox_reserve)
        free(entry);
    else
        /* R6: inbox_take_reserve */
        atomic_store_explicit(&rma->inbox_spare, entry, memory_order_release);
}

tern_status tern_inbox_open(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    rma->inbox_reserve = malloc(sizeof(tern_inbox_message) + TERN_MESSAGE_MAX);
    atomic_init(&rma->inbox_spare, rma->inbox_reserve);
    return rma->inbox_reserve != NULL ? TERN_OK
                                      : tern_fail(TERN_ERR_MEMORY, "no memory for messages");
}

void tern_inbox_close(tern_context *context) { free(tern_rma_of(context)->inbox_reserve); }

/* Pushes a copy of entry, which has no payload yet, with the payload into the inbox of a worker of
 * this process. False: no memory. The release pairs with the acquire in sort_arrived. This exchange
 * continues the release sequences of earlier pushes, so the taker sees the whole list. */
static bool inbox_push(tern_worker *to, const tern_inbox_message *entry, const void *payload) {
    tern_inbox *inbox = &tern_rma_worker_of(to)->inbox;
    tern_inbox_message *copy = malloc(sizeof *copy + entry->bytes);
    if (copy == NULL && entry->origin.rank != to->context->rank)
        copy = inbox_take_reserve(tern_rma_of(to->context));
    if (copy == NULL)
        return false;
    *copy = *entry;
    if (entry->bytes > 0)
        tern_internal_copy(copy->payload, payload, entry->bytes);
    /* R8: sort_arrived */
    copy->next = atomic_load_explicit(&inbox->arrived, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&inbox->arrived, &copy->next, copy,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return true;
}

/* Called after a send. If all ranks share memory, workers do not ask MPI without a reason. So this
 * wakes the workers of this process, and they ask MPI as long as sends are under way. */
static void attend_sends(const tern_context *context) {
    if (tern_rma_of(context)->remote != NULL || !tern_messages_under_way(context))
        return;
    for (uint32_t i = 0; i < context->workers; i++)
        tern_doorbell_wake(tern_worker_page(context, context->worker[i]->id));
}

/* Tries once to send a message to a worker. Counts it in the worker's page if the worker shares
 * memory. */
static tern_status send_message(tern_worker *worker, const tern_message *message,
                                const void *payload, size_t bytes) {
    const tern_context *context = worker->context;
    const uint32_t target = message->target, rank = tern_rank_of(context, target);
    bool direct = tern_rank_is_direct(context, rank);
    /* The message is counted before it is sent. If this rank dies in between, the count is one too
     * high, which only costs the target polls. If the count were one too low, the target might not
     * look for a message of another rank. */
    if (direct)
        tern_doorbell_message(tern_worker_page(context, target));
    tern_status status = tern_message_send(worker, rank, message, payload, bytes);
    if (status == TERN_OK)
        attend_sends(context);
    else if (direct)
        tern_doorbell_no_message(tern_worker_page(context, target));
    return status;
}

static tern_status inbox_send(tern_worker *worker, uint32_t target, const tern_inbox_message *entry,
                              const void *payload) {
    const tern_message message = {
        .kind = TERN_MESSAGE_INBOX,
        .origin = worker->id,
        .target = target,
        .offset = entry->what,
        .bytes = entry->bytes,
        .operand = {entry->origin.index, entry->lane | (uint64_t)entry->number << 32}};
    return send_message(worker, &message, payload, entry->bytes);
}

/* Returns a new number for the arrow of a message in the timeline, or 0 without a timeline. A
 * message has no position in a ring, which numbers the arrow of a record. */
static uint32_t inbox_number(tern_worker *worker) {
    tern_trace *trace = worker->profile != NULL ? worker->profile->trace : NULL;
    return trace != NULL ? ++trace->messages : 0;
}

uint64_t tern_inbox_arrow(const tern_context *context, const tern_inbox_message *message,
                          uint32_t target) {
    if (message->number == 0)
        return 0;
    return tern_arrow(TERN_CHANNELS, tern_worker_number(context, message->origin), target,
                      message->number);
}

tern_status tern_inbox_notice(tern_worker *worker, const tern_message *message, const void *payload,
                              size_t bytes) {
    return send_message(worker, message, payload, bytes);
}

/* Tries once to send entry: takes credit, then sends a message or, within this process, pushes
 * straight into the inbox. */
static tern_status inbox_try_send(tern_worker *worker, uint32_t target,
                                  const tern_inbox_message *entry, const void *payload) {
    const tern_context *context = worker->context;
    _Atomic uint64_t *used = used_credit(context, target, entry->lane);
    if (!take_credit(used, inbox_cost(entry->bytes)))
        return tern_fail(TERN_ERR_AGAIN,
                         "the credit of %zu bytes for messages to worker %u is used up; let the "
                         "worker make progress",
                         TERN_MESSAGE_CREDIT_BYTES, target);
    const uint64_t now = entry->number != 0 ? tern_now() : 0;
    tern_status status = TERN_OK;
    if (tern_rank_of(context, target) != context->rank)
        status = inbox_send(worker, target, entry, payload);
    else if (!inbox_push(context->worker[target % context->workers], entry, payload))
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a message of %u bytes", entry->bytes);
    if (status != TERN_OK)
        give_credit(used, inbox_cost(entry->bytes));
    else if (entry->number != 0)
        tern_trace_arrow(worker, TERN_TRACE_ARROW_FROM, tern_inbox_arrow(context, entry, target),
                         now);
    return status;
}

tern_status tern_inbox_send(tern_worker *worker, uint32_t target, uint32_t what,
                            const void *payload, size_t bytes) {
    const tern_inbox_message entry = {.origin = {worker->context->rank, worker->index},
                                      .what = what,
                                      .bytes = (uint32_t)bytes,
                                      .lane = worker->in_progress && !tern_is_nobody(worker)
                                                  ? TERN_INBOX_OF_HANDLERS
                                                  : TERN_INBOX_OF_OTHERS,
                                      .number = inbox_number(worker)};
    tern_status status = inbox_try_send(worker, target, &entry, payload);
    if (status != TERN_ERR_AGAIN)
        return status;
    /* Credit comes back by messages. Perhaps no other thread asks MPI for them, so this one does.
     */
    tern_message_poll(worker);
    status = inbox_try_send(worker, target, &entry, payload);
    if (status == TERN_OK)
        tern_error_clear_again(); /* the first attempt had found no room */
    return status;
}

bool tern_inbox_deliver(tern_context *context, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes, bool *good) {
    uint64_t index = message->operand[0];
    const uint32_t lane = (uint32_t)message->operand[1];
    *good = tern_rank_of(context, message->target) == context->rank && bytes == message->bytes &&
            (index < context->workers || index == TERN_NO_WORKER) && lane < TERN_INBOX_LANES &&
            message->offset <= UINT32_MAX;
    if (!*good)
        return true;
    const tern_inbox_message entry = {.origin = {source, (uint32_t)index},
                                      .what = (uint32_t)message->offset,
                                      .bytes = (uint32_t)bytes,
                                      .lane = (tern_inbox_lane)lane,
                                      .number = (uint32_t)(message->operand[1] >> 32)};
    tern_worker *to = context->worker[message->target % context->workers];
    if (!inbox_push(to, &entry, payload))
        return false;
    tern_inbox_count(context, source, message);
    return true;
}

void tern_inbox_count(tern_context *context, uint32_t source, const tern_message *message) {
    const tern_worker *to = context->worker[message->target % context->workers];
    if (tern_rank_is_direct(context, source))
        /* R4 */
        atomic_fetch_add_explicit(&tern_rma_worker_of(to)->inbox.delivered, 1,
                                  memory_order_relaxed);
}

bool tern_inbox_due(const tern_worker *worker) {
    const tern_rma_worker *mine = tern_rma_worker_of(worker);
    /* R4 */
    uint64_t delivered = atomic_load_explicit(&mine->inbox.delivered, memory_order_relaxed);
    if (tern_doorbell_messages(mine->worker_page) != delivered)
        return true;
    return tern_rma_of(worker->context)->remote == NULL && tern_messages_under_way(worker->context);
}

static void inbox_append(tern_inbox *inbox, tern_inbox_message *entry) {
    tern_inbox_lane lane = entry->lane;
    entry->next = NULL;
    if (inbox->lane[lane].first == NULL)
        inbox->lane[lane].first = entry;
    else
        inbox->lane[lane].last->next = entry;
    inbox->lane[lane].last = entry;
}

/* Moves the arrived messages to their lanes. The list of arrivals has the latest message first, so
 * it is reversed: the lanes have the earliest message first. */
static void sort_arrived(tern_inbox *inbox) {
    /* R8: inbox_push */
    tern_inbox_message *entry =
        atomic_exchange_explicit(&inbox->arrived, NULL, memory_order_acquire);
    tern_inbox_message *in_order = NULL;
    while (entry != NULL) {
        tern_inbox_message *earlier = entry->next;
        entry->next = in_order;
        in_order = entry;
        entry = earlier;
    }
    while (in_order != NULL) {
        tern_inbox_message *later = in_order->next;
        inbox_append(inbox, in_order);
        in_order = later;
    }
}

const tern_inbox_message *tern_inbox_take(tern_worker *worker, tern_inbox_lane lane) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    /* R4 */
    if (atomic_load_explicit(&inbox->arrived, memory_order_relaxed) != NULL)
        sort_arrived(inbox);
    return inbox->lane[lane].first;
}

/* Tells a rank the cost of its messages that this worker has run, so that the rank gives the credit
 * back. False: no send buffer is free now. */
static bool inbox_tell(tern_worker *worker, uint32_t rank, tern_inbox_lane lane) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    uint32_t *owed = &inbox->owed[rank * TERN_INBOX_LANES + lane];
    tern_message message = {
        .kind = TERN_MESSAGE_INBOX_TAKEN, .origin = worker->id, .operand = {*owed, lane}};
    tern_status status = tern_message_send(worker, rank, &message, NULL, 0);
    if (status == TERN_ERR_AGAIN || status == TERN_ERR_MEMORY) {
        inbox->behind = true;
        return false;
    }
    *owed = 0; /* also after the error of a dead rank, which needs no credit */
    attend_sends(worker->context);
    return true;
}

void tern_inbox_end(tern_worker *worker, tern_inbox_lane lane) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    tern_inbox_message *entry = inbox->lane[lane].first;
    uint32_t rank = entry->origin.rank, taken = (uint32_t)inbox_cost(entry->bytes);
    inbox->lane[lane].first = entry->next;
    inbox_give(worker->context, entry);
    if (rank == worker->context->rank)
        give_credit(used_credit(worker->context, worker->id, lane), taken);
    else if ((inbox->owed[rank * TERN_INBOX_LANES + lane] += taken) >= TELL)
        (void)inbox_tell(worker, rank, lane);
}

size_t tern_inbox_advance(tern_worker *worker) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    if (!inbox->behind)
        return 0;
    size_t told = 0;
    uint32_t count = worker->context->size * TERN_INBOX_LANES;
    inbox->behind = false;
    for (uint32_t i = 0; i < count && !inbox->behind; i++)
        told += inbox->owed[i] >= TELL &&
                inbox_tell(worker, i / TERN_INBOX_LANES, (tern_inbox_lane)(i % TERN_INBOX_LANES));
    return told;
}

bool tern_inbox_told(tern_context *context, const tern_message *message) {
    uint64_t taken = message->operand[0], lane = message->operand[1];
    if (lane >= TERN_INBOX_LANES)
        return false;
    _Atomic uint64_t *used = used_credit(context, message->origin, (tern_inbox_lane)lane);
    /* Nothing changes between the check and give_credit: the credit for other ranks is given back
     * only here, with the MPI lock held. */
    /* R4 */
    if (taken > atomic_load_explicit(used, memory_order_relaxed))
        return false;
    give_credit(used, taken);
    return true;
}

void tern_inbox_discard(tern_worker *worker) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    sort_arrived(inbox);
    for (int lane = 0; lane < TERN_INBOX_LANES; lane++)
        for (tern_inbox_message *entry = inbox->lane[lane].first, *next; entry != NULL;
             entry = next) {
            next = entry->next;
            inbox_give(worker->context, entry);
        }
}
