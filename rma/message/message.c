#include "rma/message/message.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/message/follow.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/peers/peers.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

#define TAG_REQUEST 1
#define TAG_ANSWER_FIRST 2
#define TAG_ANSWERS 32000u  /* MPI guarantees tags up to 32,767 */
#define RECEIVES 16u        /* receive buffers */
#define SENDS 64u           /* send buffers of each pool */
#define SERVED_PER_POLL 32u /* the most messages that one call of tern_message_poll serves */

/* A send buffer and its last send. */
typedef struct send_slot {
    MPI_Request mpi;
    uint32_t rank; /* rank to which the message was sent */
    char *buffer;  /* allocated at first use; the first slot's when the engine is opened */
} send_slot;

typedef struct send_pool {
    send_slot slot[SENDS];
    uint32_t next;
} send_pool;

struct tern_message_engine {
    tern_message_server serve;
    MPI_Request receive[RECEIVES]; /* posted in order, so served in order */
    char *received;                /* RECEIVES buffers */
    uint32_t head;
    uint32_t vacant;     /* 1 + index of a served receive to post again; 0: none */
    bool kept;           /* the head has arrived, but there was no memory to serve it */
    MPI_Status info;     /* of the head */
    atomic_bool sending; /* some request may be under way; written under the lock */
    send_pool requests, answers;
    tern_follow follow;
    uint32_t answer_tag;
    uint64_t *sent;              /* requests by rank */
    _Atomic uint64_t *served_of; /* messages served, by rank; written under the lock */
    uint64_t served;             /* messages served of all ranks */
    uint64_t *counts;            /* for the drain: the requests to this rank in all, then `sent` */
};

#define ROOM (sizeof(tern_message) + TERN_MESSAGE_MAX) /* bytes of a buffer */

static int post_receive(tern_context *context, tern_message_engine *engine, uint32_t i) {
    return PMPI_Irecv(engine->received + i * ROOM, (int)ROOM, MPI_BYTE, MPI_ANY_SOURCE, TAG_REQUEST,
                      context->comm, &engine->receive[i]);
}

tern_status tern_messages_open(tern_context *context, tern_message_server serve,
                               tern_message_engine **engine) {
    tern_message_engine *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for messages");
    fresh->received = malloc(RECEIVES * ROOM);
    fresh->requests.slot[0].buffer = malloc(ROOM);
    fresh->answers.slot[0].buffer = malloc(ROOM);
    fresh->counts = malloc((context->size + 1) * sizeof *fresh->counts);
    const tern_rma *rma = tern_rma_of(context);
    fresh->sent = (void *)(rma->table_base + rma->tables.sent);
    fresh->serve = serve;
    fresh->served_of = (void *)(rma->table_base + rma->tables.served);
    for (uint32_t i = 0; i < SENDS; i++)
        fresh->requests.slot[i].mpi = fresh->answers.slot[i].mpi = MPI_REQUEST_NULL;
    for (uint32_t i = 0; i < RECEIVES; i++)
        fresh->receive[i] = MPI_REQUEST_NULL;
    bool enough = fresh->received != NULL && fresh->requests.slot[0].buffer != NULL &&
                  fresh->answers.slot[0].buffer != NULL && fresh->counts != NULL &&
                  tern_follow_open(&fresh->follow, context->size);
    tern_status status = enough ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for messages");
    for (uint32_t i = 0; status == TERN_OK && i < RECEIVES; i++)
        status = TERN_MPI(post_receive(context, fresh, i));
    if (status != TERN_OK) {
        tern_messages_close(context, fresh);
        return status;
    }
    *engine = fresh;
    return TERN_OK;
}

/* Whether the slot's last send is complete or given up. The MPI lock is held. */
static bool message_is_free(const tern_context *context, send_slot *slot) {
    int done = 1;
    if (slot->mpi == MPI_REQUEST_NULL)
        return true;
    bool failed = PMPI_Test(&slot->mpi, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    /* A message that cannot arrive any more is given up. MPI may still read its buffer, so the
     * buffer is leaked. */
    if (failed)
        tern_lost_note(context, slot->rank);
    if (failed || (!done && tern_peer_is_dead(&context->peers, slot->rank))) {
        *slot = (send_slot){MPI_REQUEST_NULL, 0, NULL};
        done = 1;
    }
    return done;
}

/* Returns a free slot with a buffer, or NULL. If there is no memory for more buffers, the allocated
 * ones are used in turn. The MPI lock is held. */
static send_slot *free_slot(const tern_context *context, send_pool *pool) {
    for (uint32_t i = 0; i < SENDS; i++) {
        send_slot *slot = &pool->slot[(pool->next + i) % SENDS];
        if (!message_is_free(context, slot))
            continue;
        if (slot->buffer == NULL && (slot->buffer = malloc(ROOM)) == NULL)
            continue;
        pool->next = (uint32_t)(slot - pool->slot) + 1;
        return slot;
    }
    return NULL;
}

/* Says why no slot is free. TERN_ERR_AGAIN: MPI still sends from all buffers; progress frees them.
 * TERN_ERR_MEMORY: no slot has a buffer, since the buffers were left to MPI when their receivers
 * died, and there is no memory for others. */
static tern_status no_slot_fail(const send_pool *pool, uint32_t rank) {
    for (uint32_t i = 0; i < SENDS; i++)
        if (pool->slot[i].buffer != NULL)
            return tern_fail(TERN_ERR_AGAIN,
                             "no free buffer for a message to rank %u; let progress run", rank);
    return tern_fail(TERN_ERR_MEMORY, "no memory for a message to rank %u", rank);
}

/* Copies the message to the slot and sends it. Returns what MPI has returned. The MPI lock is held.
 */
static int send_from(tern_context *context, send_slot *slot, uint32_t rank,
                     const tern_message *message, const void *payload, size_t bytes) {
    tern_message_engine *engine = tern_rma_of(context)->messages;
    memcpy(slot->buffer, message, sizeof *message);
    if (bytes > 0)
        memcpy(slot->buffer + sizeof *message, payload, bytes);
    slot->rank = rank;
    const int code = PMPI_Isend(slot->buffer, (int)(sizeof *message + bytes), MPI_BYTE, (int)rank,
                                TAG_REQUEST, context->comm, &slot->mpi);
    if (code != MPI_SUCCESS)
        return code;
    /* R4 */
    atomic_store_explicit(&engine->sending, true, memory_order_relaxed);
    engine->sent[rank]++;
    tern_follow_sent(&engine->follow, rank);
    return code;
}

/* Sends the message from a free slot. The MPI lock is held. [out] code: what MPI has
 * returned. The detail of TERN_ERR_MPI is left to send_fail. */
static tern_status send_locked(tern_worker *worker, uint32_t rank, const tern_message *message,
                               const void *payload, size_t bytes, int *code) {
    tern_context *context = worker->context;
    tern_message_engine *engine = tern_rma_of(context)->messages;
    if (tern_peer_is_dead(&context->peers, rank))
        return tern_peer_fail(rank);
    if (tern_is_lost(&context->peers, rank))
        return TERN_ERR_MPI;
    send_slot *slot = free_slot(context, &engine->requests);
    if (slot == NULL)
        return no_slot_fail(&engine->requests, rank);
    *code = send_from(context, slot, rank, message, payload, bytes);
    if (*code != MPI_SUCCESS)
        return TERN_ERR_MPI;
    worker->stats.messages_sent++;
    return TERN_OK;
}

/* Sets the detail for a message that MPI refused with code, or that was not sent since MPI has lost
 * the connection. The MPI lock is not held. */
static tern_status send_fail(tern_worker *worker, uint32_t rank, tern_status status, int code) {
    return status != TERN_ERR_MPI ? status
                                  : tern_lost_fail(worker->context, rank, code, "MPI_Isend");
}

tern_status tern_message_send(tern_worker *worker, uint32_t rank, const tern_message *message,
                              const void *payload, size_t bytes) {
    int code = MPI_SUCCESS;
    tern_mpi_lock();
    tern_status status = send_locked(worker, rank, message, payload, bytes, &code);
    tern_mpi_unlock();
    return send_fail(worker, rank, status, code);
}

/* The access to `sending` is relaxed, since it only saves questions to MPI. With the lock held, MPI
 * tells whether sends are under way. */
bool tern_messages_under_way(const tern_context *context) {
    tern_message_engine *engine = tern_rma_of(context)->messages;
    /* R4 */
    if (engine == NULL || !atomic_load_explicit(&engine->sending, memory_order_relaxed))
        return false;
    tern_mpi_lock();
    bool any = false;
    for (uint32_t i = 0; i < SENDS; i++)
        any |= !message_is_free(context, &engine->requests.slot[i]);
    /* R4 */
    atomic_store_explicit(&engine->sending, any, memory_order_relaxed);
    tern_mpi_unlock();
    return any;
}

uint32_t tern_messages_unsent(const tern_context *context, uint32_t rank) {
    tern_message_engine *engine = tern_rma_of(context)->messages;
    uint32_t found = TERN_NOBODY;
    if (!tern_messages_under_way(context))
        return found;
    tern_mpi_lock();
    for (uint32_t i = 0; i < SENDS && found == TERN_NOBODY; i++) {
        send_slot *slot = &engine->requests.slot[i];
        if ((rank == TERN_ANYBODY || slot->rank == rank) && !message_is_free(context, slot))
            found = slot->rank;
    }
    tern_mpi_unlock();
    return found;
}

void tern_message_forget(MPI_Request *receive) {
    PMPI_Cancel(receive);
    PMPI_Wait(receive, MPI_STATUS_IGNORE);
}

tern_status tern_message_ask_with(tern_worker *worker, uint32_t rank, const tern_message *message,
                                  const void *payload, size_t payload_bytes, void *answer,
                                  size_t bytes, MPI_Request *request) {
    tern_message_engine *engine = tern_rma_of(worker->context)->messages;
    tern_message copy = *message;
    MPI_Request receive = MPI_REQUEST_NULL;
    tern_mpi_lock();
    copy.tag = TAG_ANSWER_FIRST + engine->answer_tag++ % TAG_ANSWERS;
    const int code = PMPI_Irecv(answer, (int)bytes, MPI_BYTE, (int)rank, (int)copy.tag,
                                worker->context->comm, &receive);
    int sent = MPI_SUCCESS;
    tern_status status = TERN_OK;
    if (code == MPI_SUCCESS)
        status = send_locked(worker, rank, &copy, payload, payload_bytes, &sent);
    if (status != TERN_OK)
        tern_message_forget(&receive);
    tern_mpi_unlock();
    if (code != MPI_SUCCESS)
        return tern_fail_mpi(code, "MPI_Irecv");
    if (status == TERN_OK)
        *request = receive;
    return send_fail(worker, rank, status, sent);
}

tern_status tern_message_ask(tern_worker *worker, uint32_t rank, const tern_message *message,
                             void *answer, size_t bytes, MPI_Request *request) {
    return tern_message_ask_with(worker, rank, message, NULL, 0, answer, bytes, request);
}

/* Makes one round of a wait for a remote rank. A worker makes progress; a thread without a worker
 * only serves messages. */
static tern_status message_step(tern_worker *worker, tern_wait_state *wait, uint32_t rank) {
    size_t found = tern_is_nobody(worker) ? tern_message_poll(worker)
                                          : tern_progress_round(worker) +
                                                tern_rma_of(worker->context)->remote->poll(worker);
    return tern_wait_round(worker->context, wait, found, rank);
}

tern_status tern_message_send_all(tern_worker *worker, uint32_t rank, const tern_message *message,
                                  const void *payload, size_t bytes) {
    tern_wait_state wait = TERN_WAIT_IN("a message to another node");
    for (;;) {
        tern_status status = tern_message_send(worker, rank, message, payload, bytes);
        if (status == TERN_ERR_AGAIN)
            status = message_step(worker, &wait, rank);
        else
            return status;
        if (status != TERN_OK)
            return status;
    }
}

tern_status tern_message_question(tern_worker *worker, uint32_t rank, const tern_message *message,
                                  void *answer, size_t bytes) {
    tern_wait_state wait = TERN_WAIT_IN("a get or an atomic on another node");
    MPI_Request request = MPI_REQUEST_NULL;
    for (;;) {
        int done = 0;
        tern_status status =
            request == MPI_REQUEST_NULL
                ? tern_message_ask(worker, rank, message, answer, bytes, &request)
                : TERN_MPI_TO(worker->context, rank, PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done || (status != TERN_OK && status != TERN_ERR_AGAIN))
            return status;
        status = message_step(worker, &wait, rank);
        if (status != TERN_OK) {
            if (request != MPI_REQUEST_NULL) {
                tern_mpi_lock();
                tern_message_forget(&request); /* its memory is the caller's */
                tern_mpi_unlock();
            }
            return status;
        }
    }
}

tern_status tern_message_atomic(tern_worker *worker, uint32_t rank, uint64_t offset,
                                tern_atomic_op op, unsigned width, uint64_t operand,
                                uint64_t expected, uint64_t *old) {
    tern_message message = {.kind = TERN_MESSAGE_ATOMIC,
                            .origin = worker->id,
                            .offset = offset,
                            .bytes = (uint64_t)op | (uint64_t)width << 8,
                            .operand = {operand, expected}};
    return tern_message_question(worker, rank, &message, old, sizeof *old);
}

void tern_message_answer(tern_worker *worker, uint32_t rank, uint32_t tag, const void *data,
                         size_t bytes, bool in_segment) {
    tern_context *context = worker->context;
    send_slot *slot = free_slot(context, &tern_rma_of(context)->messages->answers);
    if (slot == NULL) {
        tern_log(TERN_LOG_ERROR, "no buffer to answer rank %u", rank);
        return;
    }
    slot->rank = rank;
    const void *from = data;
    if (bytes <= ROOM || !in_segment) {
        tern_internal_copy(slot->buffer, data, bytes);
        from = slot->buffer;
    }
    tern_follow_sent(&tern_rma_of(context)->messages->follow, rank);
    int code =
        PMPI_Isend(from, (int)bytes, MPI_BYTE, (int)rank, (int)tag, context->comm, &slot->mpi);
    if (code != MPI_SUCCESS) {
        tern_lost_note(context, rank);
        tern_fail_mpi(code, "MPI_Isend");
        tern_log(TERN_LOG_ERROR, "answering rank %u: %s", rank, tern_error_detail());
    }
}

/* Sends a follow-up. A connection that turns out to be lost is noted. The MPI lock is held. */
static bool send_follow_up(void *argument, uint32_t rank) {
    tern_worker *worker = argument;
    tern_context *context = worker->context;
    const tern_peers *peers = &context->peers;
    const tern_message message = {.kind = TERN_MESSAGE_FOLLOW, .origin = worker->id};
    if (tern_peer_is_dead(peers, rank) || tern_is_lost(peers, rank) ||
        peers->machine[rank] == peers->machine[context->rank] || tern_peer_is_watched(peers, rank))
        return true;
    send_slot *slot = free_slot(context, &tern_rma_of(context)->messages->requests);
    if (slot == NULL)
        return false;
    if (send_from(context, slot, rank, &message, NULL, 0) != MPI_SUCCESS)
        tern_lost_note(context, rank);
    return true;
}

size_t tern_message_poll(tern_worker *worker) {
    tern_context *context = worker->context;
    tern_message_engine *engine = tern_rma_of(context)->messages;
    size_t served = 0;
    tern_worker_attend(worker);
    if (!tern_mpi_trylock())
        return 0; /* the thread that holds the lock serves messages, or another soon will */
    bool records = false;
    if (tern_follow_due(&engine->follow))
        tern_follow_round(&engine->follow, send_follow_up, worker);
    while (served < SERVED_PER_POLL && !records) {
        uint32_t i = engine->head;
        int done = 0;
        /* The receive of the last served message is posted again here, not right after that message
         * was served: so a worker that waits for what the message brought goes on without the
         * delay of the post. */
        if (engine->vacant > 0 && post_receive(context, engine, engine->vacant - 1) != MPI_SUCCESS)
            tern_log(TERN_LOG_ERROR, "MPI refuses to receive; messages are no longer served");
        engine->vacant = 0;
        /* A message is taken only when a send slot for its answer is free. */
        if (!engine->kept &&
            (engine->receive[i] == MPI_REQUEST_NULL ||
             free_slot(context, &engine->answers) == NULL ||
             PMPI_Test(&engine->receive[i], &done, &engine->info) != MPI_SUCCESS || !done))
            break;
        int bytes = 0;
        PMPI_Get_count(&engine->info, MPI_BYTE, &bytes);
        uint32_t source = (uint32_t)engine->info.MPI_SOURCE;
        char *buffer = engine->received + i * ROOM;
        if (bytes >= (int)sizeof(tern_message)) {
            tern_message message;
            memcpy(&message, buffer, sizeof message);
            engine->kept = !engine->serve(worker, source, &message, buffer + sizeof message,
                                          (size_t)bytes - sizeof message);
            if (engine->kept)
                break;
            records = message.kind == TERN_MESSAGE_FRAME;
        }
        engine->head = (i + 1) % RECEIVES;
        engine->vacant = i + 1;
        engine->served++;
        /* R1: tern_messages_await; what was served is in memory */
        atomic_fetch_add_explicit(&engine->served_of[source], 1, memory_order_release);
        served++;
    }
    worker->stats.messages_served += served;
    tern_mpi_unlock();
    return served;
}

/* Whether MPI has sent all answers, except those to dead ranks. */
static bool answers_sent(tern_context *context) {
    tern_message_engine *engine = tern_rma_of(context)->messages;
    int done = 1;
    tern_mpi_lock();
    for (uint32_t i = 0; i < SENDS && done; i++)
        if (engine->answers.slot[i].mpi != MPI_REQUEST_NULL &&
            !tern_peer_is_dead(&context->peers, engine->answers.slot[i].rank))
            PMPI_Test(&engine->answers.slot[i].mpi, &done, MPI_STATUS_IGNORE);
    tern_mpi_unlock();
    return done;
}

tern_status tern_messages_settle_answers(tern_worker *worker) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (status == TERN_OK && !answers_sent(worker->context))
        status = message_step(worker, &wait, TERN_ANYBODY);
    return status;
}

uint64_t tern_messages_sent(const tern_context *context, uint32_t rank) {
    return tern_rma_of(context)->messages->sent[rank];
}

/* The acquire pairs with the release in tern_message_poll: when this returns, the effects of the
 * served messages are visible to this thread. */
tern_status tern_messages_await(tern_worker *worker, uint32_t rank, uint64_t count) {
    tern_message_engine *engine = tern_rma_of(worker->context)->messages;
    tern_wait_state wait = TERN_WAIT_IN("a flush of what another node sent");
    tern_status status = TERN_OK;
    /* R1: tern_message_poll */
    while (status == TERN_OK &&
           atomic_load_explicit(&engine->served_of[rank], memory_order_acquire) < count)
        status = message_step(worker, &wait, rank);
    return status;
}

tern_status tern_messages_drain(tern_context *context) {
    tern_message_engine *engine = tern_rma_of(context)->messages;
    tern_worker *worker = context->worker[0];
    MPI_Request sum;
    int done = 0;
    tern_mpi_lock();
    engine->follow.stopped = true;
    tern_mpi_unlock();
    uint64_t *expected = engine->counts, *sent = expected + 1;
    memcpy(sent, engine->sent, context->size * sizeof *sent);
    /* No rank sends any more, so the counts are final. Their sums tell each rank how many messages
     * come to it in all. */
    tern_status status = TERN_MPI(
        PMPI_Ireduce_scatter_block(sent, expected, 1, MPI_UINT64_T, MPI_SUM, context->comm, &sum));
    tern_wait_state wait = TERN_WAIT_START;
    while (status == TERN_OK && !(done && engine->served == *expected)) {
        tern_message_poll(worker);
        if (!done)
            status = TERN_MPI(PMPI_Test(&sum, &done, MPI_STATUS_IGNORE));
        if (status == TERN_OK)
            status = tern_wait_step(context, &wait, TERN_ANYBODY);
    }
    if (!done) /* the memory is left to MPI, as that of collectives is
                  (src/collective/collective_buffer.h) */
        engine->counts = NULL;
    return status;
}

static void close_pool(send_pool *pool, bool mpi) {
    for (uint32_t i = 0; i < SENDS; i++) {
        send_slot *slot = &pool->slot[i];
        if (mpi && slot->mpi != MPI_REQUEST_NULL)
            PMPI_Wait(&slot->mpi, MPI_STATUS_IGNORE);
        if (slot->mpi == MPI_REQUEST_NULL)
            free(slot->buffer); /* else MPI may still read it */
    }
}

void tern_messages_close(tern_context *context, tern_message_engine *engine) {
    if (engine == NULL)
        return;
    const bool mpi = tern_mpi_is_of_use(context);
    tern_mpi_lock();
    close_pool(&engine->requests, mpi);
    close_pool(&engine->answers, mpi);
    bool idle = true;
    for (uint32_t i = 0; i < RECEIVES; i++) {
        if (engine->receive[i] == MPI_REQUEST_NULL)
            continue;
        if (mpi) {
            PMPI_Cancel(&engine->receive[i]);
            PMPI_Wait(&engine->receive[i], MPI_STATUS_IGNORE);
        } else {
            idle = false;
        }
    }
    tern_mpi_unlock();
    if (idle)
        free(engine->received);
    free(engine->counts);
    tern_follow_close(&engine->follow);
    free(engine);
}
