#include "rma/reply/thread_reply.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/message/inbox.h"
#include "src/progress/wait.h"

typedef struct thread_entry {
    tern_cell cell; /* first, since it must be aligned to a cache line */
    struct thread_entry *next;
    uint64_t number;
} thread_entry;

struct tern_thread_replies {
    pthread_mutex_t lock;
    uint64_t number; /* number of the latest entry */
    thread_entry *first;
};

tern_status tern_thread_replies_open(tern_context *context) {
    tern_thread_replies *replies = calloc(1, sizeof *replies);
    if (replies == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the answers of threads");
    pthread_mutex_init(&replies->lock, NULL);
    tern_rma_of(context)->replies = replies;
    return TERN_OK;
}

void tern_thread_replies_close(tern_context *context) {
    tern_thread_replies *replies = tern_rma_of(context)->replies;
    if (replies == NULL)
        return;
    while (replies->first != NULL) {
        thread_entry *entry = replies->first;
        replies->first = entry->next;
        free(entry);
    }
    pthread_mutex_destroy(&replies->lock);
    free(replies);
}

tern_status tern_thread_reply_expect(tern_context *context, tern_return_address *address) {
    tern_thread_replies *replies = tern_rma_of(context)->replies;
    _Static_assert(sizeof(thread_entry) % TERN_LINE == 0, "aligned_alloc wants it so");
    thread_entry *entry = aligned_alloc(TERN_LINE, sizeof *entry);
    if (entry == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the answer to a call");
    atomic_init(&entry->cell.sequence, 0);
    pthread_mutex_lock(&replies->lock);
    entry->number = ++replies->number;
    entry->next = replies->first;
    replies->first = entry;
    pthread_mutex_unlock(&replies->lock);
    *address = (tern_return_address){TERN_CELL_OF_THREAD, 0, entry->number};
    return TERN_OK;
}

/* The link to the entry, or a link that holds NULL. The lock is held. */
static thread_entry **entry_find(tern_thread_replies *replies, uint64_t number) {
    thread_entry **link = &replies->first;
    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

/* The caller uses the entry without the lock, since only the caller frees it. */
tern_cell *tern_thread_reply_cell(tern_context *context, uint64_t number) {
    tern_thread_replies *replies = tern_rma_of(context)->replies;
    pthread_mutex_lock(&replies->lock);
    thread_entry *entry = *entry_find(replies, number);
    pthread_mutex_unlock(&replies->lock);
    return &entry->cell;
}

void tern_thread_reply_end(tern_context *context, uint64_t number) {
    tern_thread_replies *replies = tern_rma_of(context)->replies;
    pthread_mutex_lock(&replies->lock);
    thread_entry **link = entry_find(replies, number), *entry = *link;
    *link = entry->next;
    pthread_mutex_unlock(&replies->lock);
    free(entry);
}

void tern_thread_reply_receive(tern_context *context, const tern_cell *image) {
    tern_thread_replies *replies = tern_rma_of(context)->replies;
    /* R5: tern_reply_send */
    const uint64_t number = atomic_load_explicit(&image->sequence, memory_order_relaxed);
    pthread_mutex_lock(&replies->lock);
    thread_entry *entry = *entry_find(replies, number);
    /* R5: tern_reply_store; an answer comes once, and what comes again is damage */
    if (entry != NULL &&
        atomic_load_explicit(&entry->cell.sequence, memory_order_relaxed) != number)
        tern_reply_store(&entry->cell, image);
    pthread_mutex_unlock(&replies->lock);
}

/* Waits for a buffer, since the caller has run a handler whose answer cannot be sent later. */
tern_status tern_thread_reply_send(tern_worker *worker, uint32_t rank, const tern_cell *image) {
    tern_context *context = worker->context;
    if (rank == context->rank) {
        tern_thread_reply_receive(context, image);
        return TERN_OK;
    }
    const tern_message message = {
        .kind = TERN_MESSAGE_REPLY,
        .origin = worker->id,
        .target = rank * context->workers,
        .offset = TERN_CELL_OF_THREAD,
        /* R5: tern_reply_send */
        .operand = {atomic_load_explicit(&image->sequence, memory_order_relaxed), image->status}};
    tern_wait_state wait = TERN_WAIT_IN("an answer to a thread without a worker");
    tern_status status = TERN_ERR_AGAIN;
    while (status == TERN_ERR_AGAIN) {
        status = tern_inbox_notice(worker, &message, image->payload, image->bytes);
        if (status == TERN_ERR_AGAIN &&
            tern_wait_round(context, &wait, tern_message_poll(worker), rank) != TERN_OK)
            status = TERN_ERR_PEER;
    }
    if (status == TERN_OK)
        tern_error_clear_again(); /* an earlier attempt had found no buffer */
    return status;
}
