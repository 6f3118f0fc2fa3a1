#include "rma/serve.h"

#include "base/error.h"
#include "rma/port/question.h"
#include "rma/network/process.h"
#include "rma/region/rkey.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/reclaim.h"
#include "rma/ring/ring.h"
#include "rma/ring/sleep.h"
#include "rma/message/inbox.h"
#include "rma/message/message.h"
#include "rma/notify/notify.h"
#include "rma/memory/state.h"
#include "rma/reply/thread_reply.h"
#include "rma/transfer.h"
#include "src/log.h"

/*
 * Serves the messages of other processes, in any thread that makes progress, with the MPI lock
 * held. Everything in a message is checked before it is used. A malformed message is logged and
 * counted, and if its sender waits for an answer, it is answered with an error or with no bytes.
 */

/* The address of [offset, offset + bytes) in this rank's segment. NULL: not inside it. The check
 * cannot overflow. */
static char *serve_address(tern_context *context, uint64_t offset, uint64_t bytes) {
    const tern_rma *rma = tern_rma_of(context);
    if (bytes > rma->layout.bytes || offset > rma->layout.bytes - bytes)
        return NULL;
    return rma->mine + offset;
}

/* Memory of this rank that a message names. A region is held while the message is served. */
typedef struct target {
    char *address;
    tern_hold hold;
} target;

/* Finds the memory that a message names. False: it does not exist, or source has no rkey of the
 * region or has given it back. */
static bool serve_find_target(tern_context *context, uint32_t source, uint64_t offset,
                              uint64_t bytes, target *t) {
    *t = (target){0};
    if (!tern_offset_in_region(offset))
        t->address = serve_address(context, offset, bytes);
    else if (tern_region_is_given(context, source, offset) &&
             tern_region_hold(context, context->rank, offset, bytes, &t->hold) == TERN_OK)
        t->address = t->hold.address;
    return t->address != NULL;
}

static bool own_worker(const tern_context *context, uint32_t number) {
    return number / context->workers == context->rank;
}

static bool valid_origin(const tern_context *context, uint32_t source,
                         const tern_message *message) {
    return message->origin / context->workers == source;
}

static bool serve_put(tern_context *context, uint32_t source, const tern_message *message,
                      const char *payload, size_t bytes) {
    target to;
    if (!serve_find_target(context, source, message->offset, bytes, &to))
        return false;
    tern_internal_copy(to.address, payload, bytes);
    tern_region_release(&to.hold);
    return true;
}

/* Sends the answer to a get from the memory itself, without a copy. MPI may read the memory later,
 * so deregistration of a region waits for such answers (tern_messages_settle_answers). */
static bool serve_get(tern_worker *worker, uint32_t source, const tern_message *message) {
    target from;
    if (!serve_find_target(worker->context, source, message->offset, message->bytes, &from))
        return false;
    tern_message_answer(worker, source, message->tag, from.address, message->bytes, true);
    tern_region_release(&from.hold);
    return true;
}

static void serve_rkey(tern_worker *worker, uint32_t source, const tern_message *message) {
    tern_region_rkey answer;
    tern_region_give_rkey(worker->context, source, message->offset, &answer);
    tern_message_answer(worker, source, message->tag, &answer, sizeof answer, false);
}

/* Gives an rkey back, and tells the owner how many messages this process has sent to it. The owner
 * waits for them, since they may be puts. */
static void serve_revoke(tern_worker *worker, uint32_t source, const tern_message *message) {
    uint64_t answer[2] = {!tern_rkey_revoke(worker->context, source, message->offset),
                          tern_messages_sent(worker->context, source)};
    tern_message_answer(worker, source, message->tag, answer, sizeof answer, false);
}

static bool serve_atomic(tern_worker *worker, uint32_t source, const tern_message *message) {
    unsigned op = (unsigned)(message->bytes & 0xff), width = (unsigned)(message->bytes >> 8);
    char *word = serve_address(worker->context, message->offset, 8);
    if (word == NULL || op > TERN_ATOMIC_STORE || (width != 4 && width != 8) ||
        message->offset % width != 0)
        return false;
    uint64_t old = tern_atomic_apply(word, (tern_atomic_op)op, width, message->operand[0],
                                     message->operand[1]);
    if (message->tag != 0)
        tern_message_answer(worker, source, message->tag, &old, sizeof old, false);
    else /* a notice of rpc/synchronizer.h, which expects no answer */
        /* R1: quiesce_count; after it was applied: quiesce relies on it */
        __atomic_store_n(&worker->stats.notices_taken, worker->stats.notices_taken + 1,
                         __ATOMIC_RELEASE);
    return true;
}

/* Serves the messages that change words of the segment by atomics. */
static bool serve_update(tern_worker *worker, uint32_t source, const tern_message *message,
                         const char *payload, size_t bytes) {
    if (message->kind == TERN_MESSAGE_PUT_IF)
        return tern_put_if_serve(worker, source, message, payload, bytes);
    if (message->kind == TERN_MESSAGE_ACCUMULATE)
        return tern_accumulate_serve(worker, source, message, payload, bytes);
    return serve_atomic(worker, source, message);
}

static bool reply_to_open(tern_context *context, const tern_message *message, int64_t answer[2]) {
    uint64_t channel = message->operand[0], pieces = message->operand[1];
    if (!own_worker(context, message->target) || channel >= TERN_CHANNELS || pieces == 0 ||
        pieces > context->config.ring_growth || (pieces & (pieces - 1)) != 0)
        return false;
    uint32_t ring = 0;
    tern_status status = tern_ring_grant(context, (uint32_t)channel, message->origin,
                                         message->target % context->workers, (uint32_t)pieces,
                                         message->offset, &ring);
    tern_error_clear(); /* the answer tells the error */
    answer[0] = (int64_t)status;
    answer[1] = (int64_t)ring;
    return true;
}

_Static_assert(sizeof(tern_contact) <= TERN_QUESTION_MAX, "it is an answer");

/* Finds the answer to a question that needs no MPI: for a ring, or for first contact with this
 * rank. Any thread, with or without the MPI lock. [out] answer: at most TERN_QUESTION_MAX
 * (rma/port/question.h) bytes. False: the question is malformed, or of another kind. */
static bool serve_reply_to(tern_context *context, uint32_t source, const tern_message *message,
                           const char *payload, size_t payload_bytes, void *answer, size_t *bytes) {
    tern_contact_question question;
    tern_contact contact;
    int64_t words[2];
    if (!valid_origin(context, source, message))
        return false;
    if (message->kind == TERN_MESSAGE_OPEN && payload_bytes == 0) {
        *bytes = sizeof words;
        return reply_to_open(context, message, words) && memcpy(answer, words, *bytes) != NULL;
    }
    if (message->kind == TERN_MESSAGE_CONTACT && payload_bytes == sizeof question) {
        memcpy(&question, payload, sizeof question);
        tern_native_tell(context, message->origin, &question, &contact);
        *bytes = sizeof contact;
        return memcpy(answer, &contact, *bytes) != NULL;
    }
    return false;
}

bool tern_question_reply(tern_context *context, uint32_t from, const char *question,
                         size_t question_bytes, void *answer, size_t *bytes) {
    tern_message message;
    if (question_bytes < sizeof message)
        return false;
    memcpy(&message, question, sizeof message);
    return serve_reply_to(context, from, &message, question + sizeof message,
                          question_bytes - sizeof message, answer, bytes);
}

static bool serve_question(tern_worker *worker, uint32_t source, const tern_message *message,
                           const char *payload, size_t payload_bytes) {
    char answer[TERN_QUESTION_MAX];
    size_t bytes = 0;
    if (!serve_reply_to(worker->context, source, message, payload, payload_bytes, answer, &bytes))
        return false;
    tern_message_answer(worker, source, message->tag, answer, bytes, false);
    return true;
}

/* Finds the ring that a frame names. False: the frame's origin does not own it. */
static bool find_ring(tern_context *context, const tern_message *message, uint32_t endpoint,
                      tern_ring_memory *memory) {
    const uint32_t ring = (uint32_t)message->operand[0];
    const uint64_t bytes = tern_arena_ring_bytes(context, ring);
    if (bytes == 0)
        return false;
    tern_ring_header *header = tern_ring_header_at(context, context->rank, ring);
    *memory = (tern_ring_memory){header, tern_ring_data_at(context, context->rank, ring), bytes,
                                 endpoint, message->target % context->workers};
    /* R9: tern_mpi_lock */
    return atomic_load_explicit(&header->owner, memory_order_relaxed) == (uint64_t)endpoint + 1;
}

/* Appends a frame to its ring. [out] served: false if there is no memory for it now; then the frame
 * is served again later. */
static bool serve_frame(tern_context *context, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes, bool *served) {
    const uint64_t channel = message->operand[0] >> 32;
    if (!own_worker(context, message->target) || channel >= TERN_CHANNELS || bytes < 8 ||
        bytes % 8 != 0)
        return false;
    const uint32_t endpoint = tern_endpoint_of(context, (uint32_t)channel, message->origin);
    tern_ring_memory memory;
    const bool by_message = (uint32_t)message->operand[0] == TERN_RING_NONE;
    if (by_message)
        *served = tern_message_channel_memory(context, message->target % context->workers, endpoint,
                                              &memory);
    else if (!find_ring(context, message, endpoint, &memory))
        return false;
    if (!*served)
        return true;
    if (bytes > memory.bytes - message->offset % memory.bytes)
        return false;
    tern_ring_append(context, &memory, message->offset, payload, bytes, message->operand[1] != 0);
    /* R4 */
    atomic_fetch_add_explicit(&tern_rma_of(context)->message_frames, by_message,
                              memory_order_relaxed);
    tern_inbox_count(context, source, message);
    return true;
}

/* Stores the credit of a ring. The release pairs with the acquire in tern_ring_consumed_remote. */
static bool serve_credit(tern_context *context, uint32_t source, const tern_message *message) {
    if (!own_worker(context, message->target) || message->operand[0] >= TERN_CHANNELS)
        return false;
    tern_credit *credits =
        (void *)(tern_worker_page(context, message->target) + tern_rma_of(context)->layout.credits);
    uint32_t endpoint = tern_endpoint_of(context, (uint32_t)message->operand[0], message->origin);
    /* R1: tern_ring_consumed_remote */
    atomic_store_explicit(&credits[endpoint].told, message->offset, memory_order_release);
    tern_inbox_count(context, source, message);
    return true;
}

static bool serve_sleep(tern_worker *worker, uint32_t source, const tern_message *message) {
    uint64_t answer[2];
    if (!tern_sleep_answer(worker->context, message, answer))
        return false;
    tern_message_answer(worker, source, message->tag, answer, sizeof answer, false);
    return true;
}

static bool serve_reply(tern_context *context, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes) {
    uint64_t cell = message->offset;
    if (!own_worker(context, message->target) || cell > TERN_CELL_OF_THREAD ||
        bytes > TERN_RESULT_MAX)
        return false;
    tern_cell image;
    atomic_init(&image.sequence, message->operand[0]);
    image.status = (uint32_t)message->operand[1];
    image.bytes = (uint32_t)bytes;
    memcpy(image.payload, payload, bytes);
    if (cell == TERN_CELL_OF_THREAD) {
        tern_thread_reply_receive(context, &image);
        tern_inbox_count(context, source, message);
        return true;
    }
    tern_reply_receive(context->worker[message->target % context->workers], (uint32_t)cell, &image);
    return true;
}

bool tern_message_serve(tern_worker *worker, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes) {
    tern_context *context = worker->context;
    bool good = valid_origin(context, source, message), served = true;
    switch (good ? message->kind : UINT32_MAX) {
    case TERN_MESSAGE_PUT:
        good = serve_put(context, source, message, payload, bytes);
        break;
    case TERN_MESSAGE_GET:
        good = serve_get(worker, source, message);
        break;
    case TERN_MESSAGE_ATOMIC:
    case TERN_MESSAGE_PUT_IF:
    case TERN_MESSAGE_ACCUMULATE:
        good = serve_update(worker, source, message, payload, bytes);
        break;
    case TERN_MESSAGE_FLUSH:
        /* Messages are served in order: all puts before this one are done. */
        tern_message_answer(worker, source, message->tag, NULL, 0, false);
        break;
    case TERN_MESSAGE_OPEN:
    case TERN_MESSAGE_CONTACT:
        good = serve_question(worker, source, message, payload, bytes);
        break;
    case TERN_MESSAGE_FOLLOW:
        break; /* its sender's MPI has sent something (rma/message/follow.h) */
    case TERN_MESSAGE_FRAME:
        good = serve_frame(context, source, message, payload, bytes, &served);
        break;
    case TERN_MESSAGE_CREDIT:
        good = serve_credit(context, source, message);
        break;
    case TERN_MESSAGE_SLEEP:
        good = serve_sleep(worker, source, message);
        break;
    case TERN_MESSAGE_WAKE:
        good = tern_sleep_serve_wake(context, message);
        break;
    case TERN_MESSAGE_RECLAIM:
        good = tern_reclaim_serve_ask(context, source, message);
        break;
    case TERN_MESSAGE_CLOSED:
        good = tern_reclaim_serve_closed(context, source, message, &served);
        break;
    case TERN_MESSAGE_REPLY:
        good = serve_reply(context, source, message, payload, bytes);
        break;
    case TERN_MESSAGE_RKEY:
        serve_rkey(worker, source, message);
        break;
    case TERN_MESSAGE_REVOKE:
        serve_revoke(worker, source, message);
        break;
    case TERN_MESSAGE_INBOX:
        served = tern_inbox_deliver(context, source, message, payload, bytes, &good);
        break;
    case TERN_MESSAGE_INBOX_TAKEN:
        good = tern_inbox_told(context, message);
        break;
    default:
        good = false;
    }
    if (good)
        return served;
    worker->stats.records_malformed++;
    tern_log(TERN_LOG_ERROR, "a message of kind %u from rank %u is malformed and was not served",
             message->kind, source);
    int64_t nothing[2] = {TERN_ERR_RANGE, 0};
    if (message->tag != 0)
        tern_message_answer(worker, source, message->tag, nothing,
                            message->kind == TERN_MESSAGE_OPEN ? sizeof nothing : 0, false);
    return true;
}
