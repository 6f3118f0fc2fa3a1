#include "rma/port/question.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

#define ANSWER_NS 2000000000u /* time for the last address of a rank to answer */
#define NEXT_NS 500000000u    /* time for each address before it */
#define IN_VAIN 4u            /* after so many silent ranks in a row no listener is tried */
#define PAUSE_NS 30000000000u /* for so long. A machine that was busy may answer again */

/* A question that is under way to a listener. */
typedef struct tern_dial {
    _Atomic uint32_t *under_way;
    int fd;                 /* -1: not connected */
    uint32_t tried;         /* number of addresses tried */
    uint32_t address_index; /* of the address that is tried, among those of the rank */
    bool by_message;        /* no address has answered: the question goes by message */
    bool silent;            /* some address did not answer in time */
    uint64_t next_at;       /* time at which the next address is tried */
    size_t bytes;           /* size of the question */
    size_t sent, got;
    struct {
        tern_wire_question head;
        char payload[TERN_QUESTION_MAX];
    } question;
    struct {
        tern_wire_answer head;
        char answer[TERN_QUESTION_MAX];
    } answer;
} tern_dial;

static void dial_hang_up(tern_dial *dial) {
    if (dial->fd >= 0)
        close(dial->fd);
    dial->fd = -1;
}

/* Connects to the rank's next address. The first one tried has the index, in the rank's list, that
 * the address had that last answered this process. */
static void dial_next(tern_rma *rma, const tern_context *context, tern_dial *dial) {
    tern_listener_address address;
    const uint32_t rank = dial->question.head.head.to;
    const uint32_t addresses = tern_address_read(context, rank, &address);
    const uint32_t choices = addresses > 1 ? addresses - 1 : addresses;
    dial_hang_up(dial);
    dial->sent = dial->got = 0;
    while (dial->fd < 0 && dial->tried < choices) {
        /* R4 */
        const uint32_t first =
            atomic_load_explicit(&rma->listener_address_index, memory_order_relaxed);
        dial->address_index = tern_address_choice(addresses, first, dial->tried);
        dial->tried++;
        dial->next_at = tern_now() + (dial->tried < choices ? NEXT_NS : ANSWER_NS);
        dial->fd = tern_address_connect(&address, dial->address_index, address.port);
    }
    if (dial->fd >= 0)
        return;
    dial->by_message = true;
    if (dial->silent) {
        /* R4 */
        atomic_fetch_add_explicit(&rma->listeners_silent, 1, memory_order_relaxed);
        /* R4 */
        atomic_store_explicit(&rma->listeners_resume, tern_now() + PAUSE_NS, memory_order_relaxed);
    }
    tern_log(TERN_LOG_INFO, "the listener of rank %u %s; this rank asks it by messages", rank,
             dial->silent ? "does not answer" : "cannot be reached");
}

/* Whether a transfer on the socket only has to wait; otherwise it has failed. */
static bool dial_waits(void) { return errno == EAGAIN || errno == EINTR || errno == ENOTCONN; }

/* Sends and receives as much as possible. False: this address is of no use. [out] done: the whole
 * answer has come. */
static bool dial_go_on(const tern_context *context, tern_dial *dial, size_t bytes, bool *done) {
    const tern_wire_answer *head = &dial->answer.head;
    const size_t whole = sizeof *head + bytes;
    if (dial->sent < dial->bytes) {
        const ssize_t sent = send(dial->fd, (const char *)&dial->question + dial->sent,
                                  dial->bytes - dial->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return dial_waits();
        dial->sent += (size_t)sent;
        dial->next_at = tern_now() + ANSWER_NS;
        return true;
    }
    const ssize_t got =
        recv(dial->fd, (char *)&dial->answer + dial->got, whole - dial->got, MSG_DONTWAIT);
    if (got < 0)
        return dial_waits();
    dial->got += (size_t)got;
    *done = dial->got == whole;
    if (dial->got < sizeof *head)
        return got > 0;
    return got > 0 && head->magic == TERN_ANSWER_MAGIC && head->nonce == context->nonce &&
           head->rank == dial->question.head.head.to && head->bytes == bytes;
}

static void dial_end(tern_question *question) {
    dial_hang_up(question->dial);
    /* R4 */
    atomic_fetch_sub_explicit(question->dial->under_way, 1, memory_order_relaxed);
    free(question->dial);
    question->dial = NULL;
}

/* Begins a question to a listener. NULL: the question has to go by a message. */
static tern_dial *dial_begin(tern_rma *rma) {
    /* R4 */
    if (atomic_fetch_add_explicit(&rma->dials, 1, memory_order_relaxed) < TERN_DIALS_MAX) {
        tern_dial *dial = calloc(1, sizeof *dial);
        if (dial != NULL) {
            dial->fd = -1;
            dial->under_way = &rma->dials;
            return dial;
        }
    }
    /* R4 */
    atomic_fetch_sub_explicit(&rma->dials, 1, memory_order_relaxed);
    return NULL;
}

static tern_status dial_test(tern_worker *worker, tern_question *question) {
    const tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    tern_dial *dial = question->dial;
    bool done = false;
    if (dial->by_message)
        return TERN_OK;
    const size_t sent = dial->sent, got = dial->got;
    const bool good = dial_go_on(context, dial, question->bytes, &done);
    if (good && done) {
        memcpy(question->answer, dial->answer.answer, question->bytes);
        if (dial->address_index > 0)
            /* R4 */
            atomic_store_explicit(&rma->listener_address_index, dial->address_index,
                                  memory_order_relaxed);
        /* R4 */
        atomic_store_explicit(&rma->listeners_silent, 0, memory_order_relaxed);
        dial_end(question);
        return TERN_OK;
    }
    const bool late = good && sent == dial->sent && got == dial->got && tern_now() > dial->next_at;
    dial->silent |= late;
    if (!good || late)
        dial_next(rma, context, dial);
    return TERN_ERR_AGAIN;
}

/* Sends by message a question that no listener has answered. Returns TERN_ERR_AGAIN if the question
 * is under way, or if no send buffer is free yet. */
static tern_status ask_by_message(tern_worker *worker, tern_question *question) {
    const tern_dial *dial = question->dial;
    const tern_wire_question *head = &dial->question.head;
    tern_status status =
        tern_message_ask_with(worker, head->head.to, &head->message, dial->question.payload,
                              head->head.bytes - sizeof head->message, question->answer,
                              question->bytes, &question->message);
    if (status != TERN_ERR_AGAIN)
        dial_end(question);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

/* Whether to try the listener of rank: it is known to answer, and not too many listeners were
 * silent in a row. If they were, one question tries a listener again after a pause. */
static bool listener_may_be_asked(const tern_context *context, uint32_t rank) {
    const tern_listener_address *all = context->peers.listeners;
    tern_rma *rma = tern_rma_of(context);
    if (all == NULL || all[rank].port == 0 || all[rank].answers == 0)
        return false;
    /* R4 */
    if (atomic_load_explicit(&rma->listeners_silent, memory_order_relaxed) < IN_VAIN)
        return true;
    /* R4 */
    uint64_t resume = atomic_load_explicit(&rma->listeners_resume, memory_order_relaxed);
    const uint64_t now = tern_now();
    /* R4 */
    return now >= resume &&
           atomic_compare_exchange_strong_explicit(&rma->listeners_resume, &resume, now + PAUSE_NS,
                                                   memory_order_relaxed, memory_order_relaxed);
}

tern_status tern_question_start(tern_worker *worker, uint32_t rank, const tern_message *message,
                                const void *payload, size_t payload_bytes, void *answer,
                                size_t bytes, tern_question *question) {
    const tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    tern_dial *dial = NULL;
    *question = TERN_QUESTION_NONE;
    if (tern_peer_is_dead(&context->peers, rank))
        return tern_peer_fail(rank);
    if (payload_bytes > TERN_QUESTION_MAX || bytes > TERN_QUESTION_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "a question of %zu bytes with an answer of %zu bytes; each has at most %u",
                         payload_bytes, bytes, TERN_QUESTION_MAX);
    question->answer = answer;
    question->bytes = bytes;
    if (listener_may_be_asked(context, rank))
        dial = dial_begin(rma);
    if (dial == NULL)
        return tern_message_ask_with(worker, rank, message, payload, payload_bytes, answer, bytes,
                                     &question->message);
    dial->question.head =
        (tern_wire_question){.head = {.magic = TERN_QUESTION_MAGIC,
                                      .nonce = context->nonce,
                                      .from = context->rank,
                                      .to = rank,
                                      .bytes = (uint32_t)(sizeof *message + payload_bytes)},
                             .message = *message};
    if (payload_bytes > 0)
        memcpy(dial->question.payload, payload, payload_bytes);
    dial->bytes = sizeof dial->question.head + payload_bytes;
    question->dial = dial;
    dial_next(rma, context, dial);
    return TERN_OK;
}

tern_status tern_question_test(tern_worker *worker, tern_question *question) {
    int done = 0;
    if (question->dial != NULL) {
        tern_status status = dial_test(worker, question);
        if (status != TERN_OK || question->dial == NULL)
            return status;
        return ask_by_message(worker, question);
    }
    if (question->message == MPI_REQUEST_NULL)
        return TERN_OK;
    tern_status status = TERN_MPI(PMPI_Test(&question->message, &done, MPI_STATUS_IGNORE));
    return status == TERN_OK && !done ? TERN_ERR_AGAIN : status;
}

bool tern_question_goes_by_message(const tern_question *question) {
    return question->dial != NULL ? question->dial->by_message
                                  : question->message != MPI_REQUEST_NULL;
}

bool tern_question_abandon(tern_question *question) {
    if (question->dial != NULL)
        dial_end(question);
    return question->message == MPI_REQUEST_NULL;
}
