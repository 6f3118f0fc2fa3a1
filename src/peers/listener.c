#include "src/peers/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/peers/lost.h"

#define CALLERS 64u              /* connections with a question at once */
#define PATIENCE_NS 10000000000u /* the time in which a caller has to send its question */
#define TICK_MS 1000             /* between two looks for late callers */
#define SHORTAGE_MS                                                                                \
    100                /* a pause without new callers after the process ran out of files           \
                        */
#define WATCHERS 1024u /* connections that watch */

/* A connection whose question has not arrived completely. */
typedef struct caller {
    int fd;
    uint64_t since;
    size_t got;
    char bytes[sizeof(tern_wire_head) + TERN_LISTENER_MAX];
} caller;

struct tern_listener {
    tern_context *context;
    tern_listener_reply reply;
    int socket, quiet, wake;
    bool has_thread;
    pthread_t thread;
    atomic_bool stops;
    bool shortage;
    uint32_t count;
    caller caller[CALLERS]; /* the oldest first */
    uint32_t watchers;
    int watcher[WATCHERS]; /* connections */
    uint32_t watcher_rank[WATCHERS];
    uint32_t told;   /* the death that was sent to the watchers, or TERN_NOBODY */
    uint64_t call;   /* the call of MPI that this rank was in at the last look */
    uint64_t looked; /* when the call was read */
    struct pollfd look[2 + CALLERS + WATCHERS];
};

static void listener_forget(tern_listener *listener, uint32_t i) {
    listener->count--;
    memmove(&listener->caller[i], &listener->caller[i + 1],
            (listener->count - i) * sizeof listener->caller[0]);
}

static void listener_drop(tern_listener *listener, uint32_t i) {
    close(listener->caller[i].fd);
    listener_forget(listener, i);
}

static void listener_refuse(tern_listener *listener, uint32_t i, const char *why) {
    tern_log(TERN_LOG_INFO, "the listener closes a connection: %s", why);
    listener_drop(listener, i);
}

/* Checks the bytes of a caller. [out] head: of the question. Returns NULL, or what is wrong. */
static const char *caller_check(const tern_context *context, const caller *c,
                                tern_wire_head *head) {
    memcpy(head, c->bytes, sizeof *head);
    if (head->magic != TERN_QUESTION_MAGIC && head->magic != TERN_WATCH_MAGIC)
        return "what came is no question";
    if (head->nonce != context->nonce || head->to != context->rank || head->from >= context->size)
        return "the question is of another job, or for another rank";
    if (head->bytes > TERN_LISTENER_MAX || c->got > sizeof *head + head->bytes)
        return "the question is too long";
    return NULL;
}

/* Sends without blocking. A new connection has room for an answer, and one that watches has room
 * for the little that it gets. If the caller has gone the bytes are lost. */
static void listener_send(int fd, const void *bytes, size_t count) {
    (void)send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool caller_answer(tern_listener *listener, const caller *c, const tern_wire_head *head) {
    struct {
        tern_wire_answer head;
        char answer[TERN_LISTENER_MAX];
    } out;
    tern_context *context = listener->context;
    size_t bytes = 0;
    if (listener->reply == NULL || !listener->reply(context, head->from, c->bytes + sizeof *head,
                                                    head->bytes, out.answer, &bytes))
        return false;
    out.head = (tern_wire_answer){.magic = TERN_ANSWER_MAGIC,
                                  .nonce = context->nonce,
                                  .rank = context->rank,
                                  .bytes = (uint32_t)bytes};
    listener_send(c->fd, &out, sizeof out.head + bytes);
    return true;
}

static void watcher_tell(const tern_listener *listener, int fd, uint64_t magic, uint32_t rank,
                         uint32_t number) {
    const tern_wire_answer news = {
        .magic = magic, .nonce = listener->context->nonce, .rank = rank, .bytes = number};
    listener_send(fd, &news, sizeof news);
}

/* Sends the function that this rank last reported to be in. */
static void watcher_report(const tern_listener *listener, int fd, uint64_t now) {
    const tern_activity *activity =
        /* R1: rma_open_layer */
        atomic_load_explicit(&listener->context->peers.activity, memory_order_acquire);
    tern_reported reported;
    if (activity == NULL)
        return;
    tern_activity_copy(activity, now, &reported);
    const uint64_t ms = reported.ago / 1000000u;
    tern_wire_report report = {{.magic = TERN_REPORT_MAGIC,
                                .nonce = listener->context->nonce,
                                .rank = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX,
                                .bytes = sizeof report.name},
                               {0}};
    memcpy(report.name, reported.name, sizeof report.name);
    listener_send(fd, &report, sizeof report);
}

/* Tells a watcher that MPI of this rank has lost the connection to it. */
static void watcher_tell_lost(const tern_listener *listener, uint32_t i) {
    const tern_context *context = listener->context;
    if (tern_is_lost(&context->peers, listener->watcher_rank[i]))
        watcher_tell(listener, listener->watcher[i], TERN_LOST_MAGIC, context->rank, 0);
}

/* Makes the connection of a caller one that watches. */
static void listener_admit(tern_listener *listener, uint32_t i, uint32_t from) {
    const uint32_t rank = listener->context->rank;
    const int fd = listener->caller[i].fd;
    if (listener->watchers == WATCHERS) {
        watcher_tell(listener, fd, TERN_FULL_MAGIC, rank, 0);
        listener_drop(listener, i);
        return;
    }
    watcher_tell(listener, fd, TERN_ANSWER_MAGIC, rank, 0);
    if (listener->told != TERN_NOBODY)
        watcher_tell(listener, fd, TERN_DEATH_MAGIC, listener->told, 0);
    watcher_report(listener, fd, tern_now());
    listener->watcher_rank[listener->watchers] = from;
    listener->watcher[listener->watchers++] = fd;
    watcher_tell_lost(listener, listener->watchers - 1);
    listener_forget(listener, i);
}

/* Drops a connection that watches. It sends nothing after its question, so an event on it means
 * that the other side has gone. */
static void listener_dismiss(tern_listener *listener, uint32_t i) {
    close(listener->watcher[i]);
    listener->watcher[i] = listener->watcher[--listener->watchers];
    listener->watcher_rank[i] = listener->watcher_rank[listener->watchers];
}

static void listener_tell_death(tern_listener *listener) {
    if (listener->told == TERN_NOBODY)
        listener->told = tern_peers_dead(&listener->context->peers);
    else
        return;
    for (uint32_t i = 0; listener->told != TERN_NOBODY && i < listener->watchers; i++)
        watcher_tell(listener, listener->watcher[i], TERN_DEATH_MAGIC, listener->told, 0);
}

/* Once in a tick, sends the watchers this rank's activity, the loss of their connection, and the
 * call of MPI if it has lasted for at least a tick. */
static void listener_tell_state(tern_listener *listener, uint64_t now) {
    if (now - listener->looked < TICK_MS * 1000000u)
        return;
    for (uint32_t i = 0; i < listener->watchers; i++)
        watcher_report(listener, listener->watcher[i], now);
    for (uint32_t i = 0; i < listener->watchers; i++)
        watcher_tell_lost(listener, i);
    /* R4; the same value twice says enough */
    const uint64_t call =
        atomic_load_explicit(&listener->context->peers.call, memory_order_relaxed);
    const bool stays = call == listener->call && call != TERN_NO_CALL;
    listener->call = call;
    listener->looked = now;
    for (uint32_t i = 0; stays && i < listener->watchers; i++)
        watcher_tell(listener, listener->watcher[i], TERN_STUCK_MAGIC, (uint32_t)call,
                     (uint32_t)(call >> 32));
}

/* Receives bytes of a caller. */
static void listener_hear(tern_listener *listener, uint32_t i) {
    caller *c = &listener->caller[i];
    tern_wire_head head;
    const ssize_t got = recv(c->fd, c->bytes + c->got, sizeof c->bytes - c->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        listener_refuse(listener, i, "it ended before its question");
        return;
    }
    c->got += (size_t)got;
    if (c->got < sizeof head)
        return;
    const char *wrong = caller_check(listener->context, c, &head);
    if (wrong == NULL && c->got < sizeof head + head.bytes)
        return;
    if (wrong == NULL && head.magic == TERN_WATCH_MAGIC) {
        listener_admit(listener, i, head.from);
        return;
    }
    if (wrong == NULL && !caller_answer(listener, c, &head))
        wrong = "the question is malformed";
    if (wrong != NULL)
        listener_refuse(listener, i, wrong);
    else
        listener_drop(listener, i);
}

/* Accepts one connection. If it has CALLERS callers already, or the process has no more files, it
 * drops the oldest caller. The question of that caller has not arrived, although listener_run reads
 * from callers before it accepts new ones. */
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

/* Fills in the list of events for poll; returns its length. */
static nfds_t listener_list(tern_listener *listener) {
    struct pollfd *look = listener->look;
    nfds_t count = 2;
    look[0] = (struct pollfd){.fd = listener->wake, .events = POLLIN};
    look[1] = (struct pollfd){.fd = listener->shortage ? -1 : listener->socket, .events = POLLIN};
    for (uint32_t i = 0; i < listener->count; i++)
        look[count++] = (struct pollfd){.fd = listener->caller[i].fd, .events = POLLIN};
    for (uint32_t i = 0; i < listener->watchers; i++)
        look[count++] = (struct pollfd){.fd = listener->watcher[i], .events = POLLIN};
    return count;
}

static void *listener_run(void *argument) {
    tern_listener *listener = argument;
    const struct pollfd *look = listener->look;
    for (;;) {
        const nfds_t all = listener_list(listener);
        const uint32_t count = listener->count, watchers = listener->watchers;
        const int idle = count > 0 || watchers > 0 ? TICK_MS : -1;
        const int timeout = listener->shortage ? SHORTAGE_MS : idle;
        uint64_t wakes;
        listener->shortage = false;
        if (poll(listener->look, all, timeout) < 0)
            continue;
        if (look[0].revents != 0) {
            (void)!read(listener->wake, &wakes, sizeof wakes);
            /* R7: tern_listener_stop */
            if (atomic_load(&listener->stops))
                return NULL;
            listener_tell_death(listener);
        }
        /* Goes from the last one to the first, because dropping one moves those behind it. */
        for (uint32_t i = watchers; i-- > 0;)
            if (look[2 + count + i].revents != 0)
                listener_dismiss(listener, i);
        for (uint32_t i = count; i-- > 0;)
            if (look[2 + i].revents != 0)
                listener_hear(listener, i);
        while (listener->count > 0 && tern_now() - listener->caller[0].since > PATIENCE_NS)
            listener_refuse(listener, 0, "its question takes too long");
        if (look[1].revents != 0)
            listener_accept(listener);
        if (listener->watchers > 0)
            listener_tell_state(listener, tern_now());
    }
}

/* Binds a socket for IPv6 and IPv4, or for IPv4 alone; returns it, or -1. */
static int listener_bind(bool listens, uint16_t *port) {
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
        if (bind(fd, any, bytes) == 0 && (!listens || listen(fd, SOMAXCONN) == 0) &&
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

static int listener_start_thread(tern_listener *listener) {
    sigset_t all, before;
    /* Signals must go to the application's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&listener->thread, NULL, listener_run, listener);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static bool listener_may_have_thread(const tern_context *context) {
    if (context->config.listener == 0)
        return false;
    if (tern_mpi_allows_threads())
        return true;
    tern_log(TERN_LOG_INFO, "the listener has no thread: MPI was started with MPI_THREAD_SINGLE");
    return false;
}

static void listener_free(tern_listener *listener) {
    const int fds[] = {listener->socket, listener->quiet, listener->wake};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(listener);
}

tern_listener *tern_listener_start(tern_context *context, tern_listener_reply reply,
                                   tern_listener_address *mine) {
    tern_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return NULL;
    listener->context = context;
    listener->reply = reply;
    listener->told = TERN_NOBODY;
    listener->call = TERN_NO_CALL;
    listener->quiet = listener->socket = -1;
    listener->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->wake >= 0)
        listener->socket = listener_bind(true, &mine->port);
    if (listener->socket < 0) {
        const int error = errno;
        listener_free(listener);
        errno = error;
        return NULL;
    }
    listener->quiet = listener_bind(false, &mine->quiet_port);
    if (listener_may_have_thread(context)) {
        const int error = listener_start_thread(listener);
        if (error != 0)
            tern_log(TERN_LOG_INFO, "the listener has no thread: %s", strerror(error));
        listener->has_thread = error == 0;
    }
    mine->answers = listener->has_thread;
    tern_address_find(mine);
    return listener;
}

void tern_listener_wake(tern_listener *listener) {
    const uint64_t one = 1;
    while (write(listener->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void tern_listener_stop(tern_listener *listener) {
    static _Atomic int kept = -1;
    if (listener == NULL)
        return;
    if (listener->has_thread) {
        /* R7: listener_run */
        atomic_store(&listener->stops, true);
        tern_listener_wake(listener);
        pthread_join(listener->thread, NULL);
    }
    while (listener->count > 0)
        listener_drop(listener, 0);
    while (listener->watchers > 0)
        listener_dismiss(listener, 0);
    /* R7: tern_listener_stop */
    listener->socket = atomic_exchange(&kept, listener->socket);
    listener_free(listener);
}
