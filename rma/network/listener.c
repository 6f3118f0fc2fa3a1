#include "rma/network/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/state.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

#define CALLERS 64u              /* connections at once */
#define PATIENCE_NS 10000000000u /* in which a caller has to bring its question */
#define TICK_MS 1000             /* between two looks for callers that are late */
#define SHORTAGE_MS 100          /* without new callers, where the process has no more files */

/* A connection whose question has not come as a whole. */
typedef struct caller {
    int fd;
    uint64_t since;
    size_t got;
    char bytes[sizeof(tern_wire_question) + TERN_QUESTION_MAX];
} caller;

struct tern_listener {
    tern_context *context;
    int socket, stop;
    pthread_t thread;
    bool shortage;
    uint32_t count;
    caller caller[CALLERS]; /* the oldest first */
};

static void listener_drop(tern_listener *listener, uint32_t i) {
    close(listener->caller[i].fd);
    listener->count--;
    memmove(&listener->caller[i], &listener->caller[i + 1],
            (listener->count - i) * sizeof listener->caller[0]);
}

static void listener_refuse(tern_listener *listener, uint32_t i, const char *why) {
    tern_log(TERN_LOG_INFO, "the listener closes a connection: %s", why);
    listener_drop(listener, i);
}

/* [out] question: what caller has brought. NULL, or what is wrong with it. */
static const char *caller_check(const tern_context *context, const caller *c,
                                tern_wire_question *question) {
    memcpy(question, c->bytes, sizeof *question);
    if (question->magic != TERN_QUESTION_MAGIC)
        return "what came is no question";
    if (question->nonce != context->nonce || question->to != context->rank ||
        question->from >= context->size)
        return "the question is of another job, or for another rank";
    if (question->bytes > TERN_QUESTION_MAX || c->got > sizeof *question + question->bytes)
        return "the question is too long";
    return NULL;
}

static bool caller_answer(tern_context *context, const caller *c,
                          const tern_wire_question *question) {
    struct {
        tern_wire_answer head;
        char answer[TERN_QUESTION_MAX];
    } out;
    size_t bytes = 0;
    if (!tern_message_reply_to(context, question->from, &question->message,
                               c->bytes + sizeof *question, question->bytes, out.answer, &bytes))
        return false;
    out.head = (tern_wire_answer){.magic = TERN_ANSWER_MAGIC,
                                  .nonce = context->nonce,
                                  .rank = context->rank,
                                  .bytes = (uint32_t)bytes};
    /* A new connection has room for that; a caller that has gone needs it no more. */
    (void)send(c->fd, &out, sizeof out.head + bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
}

/* Takes what a caller has sent. */
static void listener_hear(tern_listener *listener, uint32_t i) {
    caller *c = &listener->caller[i];
    tern_wire_question question;
    const ssize_t got = recv(c->fd, c->bytes + c->got, sizeof c->bytes - c->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        listener_refuse(listener, i, "it ended before its question");
        return;
    }
    c->got += (size_t)got;
    if (c->got < sizeof question)
        return;
    const char *wrong = caller_check(listener->context, c, &question);
    if (wrong == NULL && c->got < sizeof question + question.bytes)
        return;
    if (wrong == NULL && !caller_answer(listener->context, c, &question))
        wrong = "the question is malformed";
    if (wrong != NULL)
        listener_refuse(listener, i, wrong);
    else
        listener_drop(listener, i);
}

/* One: those that were accepted before are heard first, and the oldest has brought nothing yet. */
static void listener_accept(tern_listener *listener) {
    struct sockaddr_storage from;
    socklen_t bytes = sizeof from;
    const int fd = accept4(listener->socket, (struct sockaddr *)(void *)&from, &bytes,
                           SOCK_CLOEXEC | SOCK_NONBLOCK);
    listener->shortage =
        fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
    if (listener->count > 0 && (listener->shortage || (fd >= 0 && listener->count == CALLERS)))
        listener_refuse(listener, 0, "it brought no question, and others wait");
    if (fd < 0)
        return;
    caller *c = &listener->caller[listener->count++];
    c->fd = fd;
    c->since = tern_now();
    c->got = 0;
}

static void *listener_run(void *argument) {
    tern_listener *listener = argument;
    for (;;) {
        struct pollfd look[2 + CALLERS] = {
            {.fd = listener->stop, .events = POLLIN},
            {.fd = listener->shortage ? -1 : listener->socket, .events = POLLIN}};
        const uint32_t count = listener->count;
        for (uint32_t i = 0; i < count; i++)
            look[2 + i] = (struct pollfd){.fd = listener->caller[i].fd, .events = POLLIN};
        const int timeout = listener->shortage ? SHORTAGE_MS : count > 0 ? TICK_MS : -1;
        listener->shortage = false;
        if (poll(look, 2 + count, timeout) < 0)
            continue;
        if (look[0].revents != 0)
            return NULL;
        /* The last first: one that leaves moves those behind it. */
        for (uint32_t i = count; i-- > 0;)
            if (look[2 + i].revents != 0)
                listener_hear(listener, i);
        while (listener->count > 0 && tern_now() - listener->caller[0].since > PATIENCE_NS)
            listener_refuse(listener, 0, "its question takes too long");
        if (look[1].revents != 0)
            listener_accept(listener);
    }
}

/* A socket for IPv6 and IPv4, or for IPv4 alone; or -1. */
static int listener_bind(uint16_t *port) {
    for (int attempt = 0; attempt < 2; attempt++) {
        struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
        struct sockaddr_in any4 = {.sin_family = AF_INET};
        struct sockaddr *any =
            attempt == 0 ? (struct sockaddr *)(void *)&any6 : (struct sockaddr *)(void *)&any4;
        socklen_t bytes = attempt == 0 ? sizeof any6 : sizeof any4;
        const int off = 0;
        const int fd = socket(any->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        if (attempt == 0)
            (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        if (bind(fd, any, bytes) == 0 && listen(fd, SOMAXCONN) == 0 &&
            getsockname(fd, any, &bytes) == 0) {
            *port = ntohs(attempt == 0 ? any6.sin6_port : any4.sin_port);
            return fd;
        }
        const int error = errno;
        close(fd);
        errno = error;
    }
    return -1;
}

static void listener_note_address(tern_listener_address *mine, const struct sockaddr *address) {
    if (address->sa_family == AF_INET && mine->count4 < TERN_LISTENER_V4) {
        const struct sockaddr_in *v4 = (const void *)address;
        mine->v4[mine->count4++] = v4->sin_addr.s_addr;
    } else if (address->sa_family == AF_INET6 && mine->count6 < TERN_LISTENER_V6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            memcpy(mine->v6[mine->count6++], &v6->sin6_addr, sizeof mine->v6[0]);
    }
}

/* Of the interfaces that are up. */
static void listener_find_addresses(tern_listener_address *mine) {
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next)
        if (one->ifa_addr != NULL && (one->ifa_flags & IFF_UP) != 0 &&
            (one->ifa_flags & IFF_RUNNING) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0)
            listener_note_address(mine, one->ifa_addr);
    freeifaddrs(all);
}

static int listener_start_thread(tern_listener *listener) {
    sigset_t all, before;
    /* Signals are for the application's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&listener->thread, NULL, listener_run, listener);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* [out] mine. NULL, with errno: no listener. */
static tern_listener *listener_start(tern_context *context, tern_listener_address *mine) {
    tern_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return NULL;
    uint16_t port = 0;
    int error = 0;
    listener->context = context;
    listener->stop = eventfd(0, EFD_CLOEXEC);
    listener->socket = listener->stop >= 0 ? listener_bind(&port) : -1;
    if (listener->socket < 0)
        error = errno;
    else
        error = listener_start_thread(listener);
    if (error == 0) {
        mine->port = port;
        listener_find_addresses(mine);
        return listener;
    }
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->stop >= 0)
        close(listener->stop);
    free(listener);
    errno = error;
    return NULL;
}

void tern_listener_stop(tern_listener *listener) {
    if (listener == NULL)
        return;
    const uint64_t one = 1;
    while (write(listener->stop, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(listener->thread, NULL);
    while (listener->count > 0)
        listener_drop(listener, 0);
    close(listener->socket);
    close(listener->stop);
    free(listener);
}

/* Below MPI_THREAD_FUNNELED a process may have no other threads. */
static bool may_have_threads(void) {
    int provided = MPI_THREAD_SINGLE;
    return PMPI_Query_thread(&provided) == MPI_SUCCESS && provided >= MPI_THREAD_FUNNELED;
}

/* Once per node: in the segment of its lowest rank. */
static tern_listener_address *listener_table(const tern_context *context, bool *mine) {
    const tern_rma *rma = tern_rma_of(context);
    uint32_t lowest = 0;
    while (rma->segment[lowest].base == NULL)
        lowest++;
    *mine = lowest == context->rank;
    return (void *)(rma->segment[lowest].base + rma->layout.listeners);
}

tern_status tern_listeners_open(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    tern_listener_address mine = {0}, *all = NULL;
    if (rma->native == NULL || !context->config.listener)
        return TERN_OK;
    if (!may_have_threads())
        tern_log(TERN_LOG_INFO, "no listener: MPI was started with MPI_THREAD_SINGLE");
    else if ((rma->listener = listener_start(context, &mine)) == NULL)
        tern_log(TERN_LOG_INFO, "no listener: %s", strerror(errno));
    all = malloc(context->size * sizeof *all);
    tern_status status =
        all != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", context->size);
    status = tern_collective_agree(context, NULL, status, "telling where ranks listen");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &mine, sizeof mine, all);
    bool lowest = false;
    tern_listener_address *table = listener_table(context, &lowest);
    if (status == TERN_OK && lowest)
        memcpy(table, all, context->size * sizeof *all);
    free(all);
    status = tern_collective_agree(context, NULL, status, "telling where ranks listen");
    if (status == TERN_OK)
        rma->listeners = table;
    return status;
}
