#include "rma/mail.h"

#include <stdlib.h>

#include "rma/bell.h"
#include "rma/state.h"
#include "src/error.h"

#define TELL (TERN_MESSAGE_WINDOW / 4)

/* What a message takes of its window: as much as it takes of memory, or more. */
static uint64_t cost(uint64_t bytes) { return 64 + bytes; }

_Static_assert(sizeof(tern_mail) <= 48, "and malloc adds 16");
_Static_assert(TELL + 64 + TERN_MESSAGE_MAX <= TERN_MESSAGE_WINDOW / 2, "the largest finds room");

static _Atomic uint64_t *window_to(const tern_context *context, uint32_t target) {
    return &tern_rma_of(context)->mail_windows[target];
}

static bool take_window(_Atomic uint64_t *used, uint64_t by, uint64_t limit) {
    uint64_t now = atomic_load_explicit(used, memory_order_relaxed);
    do {
        if (now + by > limit)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(used, &now, now + by, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void give_window(_Atomic uint64_t *used, uint64_t by) {
    atomic_fetch_sub_explicit(used, by, memory_order_relaxed);
}

/* The release pairs with the acquire in tern_mail_take. */
static bool push(tern_worker *to, tern_worker_id origin, uint32_t id, const void *payload,
                 size_t bytes) {
    tern_inbox *inbox = &tern_rma_worker_of(to)->inbox;
    tern_mail *mail = malloc(sizeof *mail + bytes);
    if (mail == NULL)
        return false;
    mail->origin = origin;
    mail->id = id;
    mail->bytes = (uint32_t)bytes;
    tern_copy(mail->payload, payload, bytes);
    mail->next = atomic_load_explicit(&inbox->arrived, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&inbox->arrived, &mail->next, mail,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return true;
}

/* Where no rank is far nobody asks MPI unless he is told that sends are under way. */
static void attend_sends(const tern_context *context) {
    if (tern_rma_of(context)->far != NULL || !tern_messages_under_way(context))
        return;
    for (uint32_t i = 0; i < context->workers; i++)
        tern_bell_wake(tern_board(context, context->worker[i]->id));
}

static tern_status send_message(tern_worker *worker, uint32_t target, uint32_t id,
                                const void *payload, size_t bytes) {
    const tern_context *context = worker->context;
    uint32_t rank = tern_rank_of(context, target);
    tern_message message = {.kind = TERN_MESSAGE_MAIL,
                            .origin = worker->id,
                            .target = target,
                            .offset = id,
                            .bytes = bytes,
                            .operand = {worker->index, 0}};
    tern_status status = tern_message_send(worker, rank, &message, payload, bytes);
    if (status == TERN_OK && tern_is_near(context, rank))
        tern_bell_mail(tern_board(context, target));
    if (status == TERN_OK)
        attend_sends(context);
    return status;
}

/* A handler may use the whole window. Two workers whose handlers answer what they are asked from
 * outside of handlers do not block each other: what fills half a window is answers, and of those as
 * many have left as requests before them have run. */
static tern_status try_send(tern_worker *worker, uint32_t target, uint32_t id, const void *payload,
                            size_t bytes) {
    const tern_context *context = worker->context;
    _Atomic uint64_t *window = window_to(context, target);
    uint64_t limit = worker->in_progress ? TERN_MESSAGE_WINDOW : TERN_MESSAGE_WINDOW / 2;
    if (!take_window(window, cost(bytes), limit))
        return tern_fail(TERN_ERR_AGAIN,
                         "the window of %zu bytes to worker %u is full; let it make progress",
                         TERN_MESSAGE_WINDOW, target);
    tern_status status = TERN_OK;
    if (tern_rank_of(context, target) != context->rank)
        status = send_message(worker, target, id, payload, bytes);
    else if (!push(context->worker[target % context->workers],
                   (tern_worker_id){context->rank, worker->index}, id, payload, bytes))
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a message of %zu bytes", bytes);
    if (status != TERN_OK)
        give_window(window, cost(bytes));
    return status;
}

tern_status tern_mail_send(tern_worker *worker, uint32_t target, uint32_t id, const void *payload,
                           size_t bytes) {
    tern_status status = try_send(worker, target, id, payload, bytes);
    if (status != TERN_ERR_AGAIN || tern_rma_of(worker->context)->messages == NULL)
        return status;
    /* What gives room comes by message, and nobody else may be asking MPI. */
    tern_message_poll(worker);
    return try_send(worker, target, id, payload, bytes);
}

bool tern_mail_deliver(tern_context *context, uint32_t source, const tern_message *message,
                       const char *payload, size_t bytes, bool *good) {
    uint64_t index = message->operand[0];
    *good = tern_rank_of(context, message->target) == context->rank && bytes == message->bytes &&
            (index < context->workers || index == TERN_NO_WORKER);
    if (!*good)
        return true;
    tern_worker *to = context->worker[message->target % context->workers];
    if (!push(to, (tern_worker_id){source, (uint32_t)index}, (uint32_t)message->offset, payload,
              bytes))
        return false;
    if (tern_is_near(context, source))
        atomic_fetch_add_explicit(&tern_rma_worker_of(to)->inbox.delivered, 1,
                                  memory_order_relaxed);
    return true;
}

bool tern_mail_due(const tern_worker *worker) {
    const tern_rma_worker *mine = tern_rma_worker_of(worker);
    uint64_t delivered = atomic_load_explicit(&mine->inbox.delivered, memory_order_relaxed);
    /* A message may be here before it is counted. */
    if ((int64_t)(tern_bell_mails(mine->board) - delivered) > 0)
        return true;
    return tern_rma_of(worker->context)->far == NULL && tern_messages_under_way(worker->context);
}

tern_mail *tern_mail_take(tern_worker *worker) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    if (inbox->first != NULL || atomic_load_explicit(&inbox->arrived, memory_order_relaxed) == NULL)
        return inbox->first;
    tern_mail *mail = atomic_exchange_explicit(&inbox->arrived, NULL, memory_order_acquire);
    while (mail != NULL) {
        tern_mail *earlier = mail->next;
        mail->next = inbox->first;
        inbox->first = mail;
        mail = earlier;
    }
    return inbox->first;
}

/* Tells a rank what this worker has taken of its. */
static bool tell(tern_worker *worker, uint32_t rank) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    tern_message message = {
        .kind = TERN_MESSAGE_MAIL_TAKEN, .origin = worker->id, .operand = {inbox->owed[rank], 0}};
    tern_status status = tern_message_send(worker, rank, &message, NULL, 0);
    if (status == TERN_ERR_AGAIN) {
        inbox->behind = true;
        return false;
    }
    inbox->owed[rank] = 0; /* the dead want no room */
    attend_sends(worker->context);
    return true;
}

void tern_mail_end(tern_worker *worker) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    tern_mail *mail = inbox->first;
    uint32_t rank = mail->origin.rank;
    uint32_t bytes = (uint32_t)cost(mail->bytes);
    inbox->first = mail->next;
    free(mail);
    if (rank == worker->context->rank)
        give_window(window_to(worker->context, worker->id), bytes);
    else if ((inbox->owed[rank] += bytes) >= TELL)
        (void)tell(worker, rank);
}

size_t tern_mail_advance(tern_worker *worker) {
    tern_inbox *inbox = &tern_rma_worker_of(worker)->inbox;
    if (__builtin_expect(!inbox->behind, 1))
        return 0;
    size_t told = 0;
    inbox->behind = false;
    for (uint32_t r = 0; r < worker->context->size && !inbox->behind; r++)
        told += inbox->owed[r] >= TELL && tell(worker, r);
    return told;
}

bool tern_mail_told(tern_context *context, const tern_message *message) {
    _Atomic uint64_t *window = window_to(context, message->origin);
    /* Only the one that serves messages lessens it, and holds the lock. */
    if (message->operand[0] > atomic_load_explicit(window, memory_order_relaxed))
        return false;
    give_window(window, message->operand[0]);
    return true;
}

void tern_mail_discard(tern_worker *worker) {
    for (tern_mail *mail; (mail = tern_mail_take(worker)) != NULL;) {
        tern_rma_worker_of(worker)->inbox.first = mail->next;
        free(mail);
    }
}
