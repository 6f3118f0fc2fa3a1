#include "rma/network/question.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/network/listener.h"
#include "rma/state.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

#define ANSWER_NS 2000000000u /* in which the last address has to answer */
#define NEXT_NS 500000000u    /* and each one before it */
#define IN_VAIN 4u            /* ranks in a row that were silent: others are not tried */

/* A question on its way to a listener. */
typedef struct tern_dial {
    int fd;           /* -1: to no address */
    uint32_t tried;   /* addresses */
    uint32_t place;   /* of the address among those of the rank */
    bool by_message;  /* none has answered */
    bool silent;      /* some address had its time */
    uint64_t next_at; /* the clock at which the next address is tried */
    size_t bytes;     /* of the question */
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

/* The rank's addresses, from the shared table. Ranks of one machine and network talk by loopback:
 * that is place 0, and the others follow. [out] how many places there are. */
static uint32_t dial_places(const tern_context *context, uint32_t rank,
                            tern_listener_address *address) {
    tern_read_once(address, &tern_rma_of(context)->listeners[rank], sizeof *address);
    if (address->port == 0)
        return 0;
    if (address->count4 > TERN_LISTENER_V4)
        address->count4 = TERN_LISTENER_V4;
    if (address->count6 > TERN_LISTENER_V6)
        address->count6 = TERN_LISTENER_V6;
    if (context->peers.machine[rank] == context->peers.machine[context->rank])
        return 1;
    return 1u + address->count4 + address->count6;
}

/* Starts a connection to the address at a place. -1: none. */
static int dial_connect(const tern_listener_address *address, uint32_t place) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
    const bool is_v4 = place <= address->count4;
    if (is_v4)
        v4.sin_addr.s_addr = place == 0 ? htonl(INADDR_LOOPBACK) : address->v4[place - 1];
    else
        memcpy(&v6.sin6_addr, address->v6[place - 1 - address->count4], sizeof v6.sin6_addr);
    const int fd =
        socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    const struct sockaddr *to =
        is_v4 ? (const struct sockaddr *)(const void *)&v4 : (const void *)&v6;
    if (connect(fd, to, is_v4 ? sizeof v4 : sizeof v6) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

static void dial_hang_up(tern_dial *dial) {
    if (dial->fd >= 0)
        close(dial->fd);
    dial->fd = -1;
}

/* Goes to the rank's next address, beginning with the place that answered this process last. */
static void dial_next(tern_rma *rma, const tern_context *context, tern_dial *dial) {
    tern_listener_address address;
    const uint32_t rank = dial->question.head.to, places = dial_places(context, rank, &address);
    const bool loopback = places == 1;
    /* Place 0 is for ranks of the machine alone. */
    const uint32_t choices = loopback || places == 0 ? places : places - 1;
    dial_hang_up(dial);
    dial->sent = dial->got = 0;
    while (dial->fd < 0 && dial->tried < choices) {
        /* R4 */
        const uint32_t first = atomic_load_explicit(&rma->listener_place, memory_order_relaxed);
        dial->place = loopback ? 0 : 1 + (first + dial->tried) % choices;
        dial->tried++;
        dial->next_at = tern_now() + (dial->tried < choices ? NEXT_NS : ANSWER_NS);
        dial->fd = dial_connect(&address, dial->place);
    }
    if (dial->fd >= 0)
        return;
    dial->by_message = true;
    if (dial->silent)
        /* R4 */
        atomic_fetch_add_explicit(&rma->listeners_silent, 1, memory_order_relaxed);
    tern_log(TERN_LOG_INFO, "the listener of rank %u %s; it is asked by messages", rank,
             dial->silent ? "does not answer" : "cannot be reached");
}

/* Whether a transfer on the socket has to wait. Else it has failed. */
static bool dial_waits(void) { return errno == EAGAIN || errno == EINTR || errno == ENOTCONN; }

/* Sends and receives as much as goes. False: this address is of no use. [out] done. */
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
           head->rank == dial->question.head.to && head->bytes == bytes;
}

static void dial_end(tern_question *question) {
    dial_hang_up(question->dial);
    free(question->dial);
    question->dial = NULL;
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
        if (dial->place > 0)
            /* R4 */
            atomic_store_explicit(&rma->listener_place, dial->place - 1, memory_order_relaxed);
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

/* TERN_ERR_AGAIN: MPI has no room for it yet. */
static tern_status ask_by_message(tern_worker *worker, tern_question *question) {
    const tern_dial *dial = question->dial;
    const tern_wire_question *head = &dial->question.head;
    tern_status status =
        tern_message_ask_with(worker, head->to, &head->message, dial->question.payload, head->bytes,
                              question->answer, question->bytes, &question->message);
    if (status != TERN_ERR_AGAIN)
        dial_end(question);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

/* Whether the listener of rank is to be tried. */
static bool listener_is_known(tern_rma *rma, uint32_t rank) {
    /* R4 */
    return rma->listeners != NULL && rma->listeners[rank].port != 0 &&
           atomic_load_explicit(&rma->listeners_silent, memory_order_relaxed) < IN_VAIN;
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
        return tern_fail(TERN_ERR_RANGE, "a question of %zu bytes with an answer of %zu",
                         payload_bytes, bytes);
    question->answer = answer;
    question->bytes = bytes;
    if (listener_is_known(rma, rank))
        dial = calloc(1, sizeof *dial);
    if (dial == NULL)
        return tern_message_ask_with(worker, rank, message, payload, payload_bytes, answer, bytes,
                                     &question->message);
    dial->fd = -1;
    dial->question.head = (tern_wire_question){.magic = TERN_QUESTION_MAGIC,
                                               .nonce = context->nonce,
                                               .from = context->rank,
                                               .to = rank,
                                               .bytes = (uint32_t)payload_bytes,
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

bool tern_question_abandon(tern_question *question) {
    if (question->dial != NULL)
        dial_end(question);
    return question->message == MPI_REQUEST_NULL;
}
