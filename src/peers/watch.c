#include "src/peers/watch.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "src/log.h"
#include "src/peers/listener.h"
#include "src/peers/lost.h"
#include "src/progress/wait.h"

#define SECOND 1000000000u
#define LOOK_NS 5000000u /* between two looks at all connections */
#define TRY_NS                                                                                     \
    SECOND                 /* the time for one attempt to connect; the kernel's own                \
                              attempts become rarer */
#define UNWANTED_NS SECOND /* the time after which a watch that no wait wants is closed */
#define STOPPED_NS                                                                                 \
    (SECOND / 2) /* if two looks are further apart, this process did not look in                   \
                    between */
#define KERNEL_NS                                                                                  \
    (SECOND / 4) /* between two questions to the kernel when it last heard from                    \
                    the host */
#define ASK_NS                                                                                     \
    (SECOND + SECOND / 2)       /* the silence after which the quiet port of the host is tried     \
                                 */
#define SILENT_LEAST 2          /* the least seconds of silence that differ from a slow answer */
#define CALL_NS (3ull * SECOND) /* the time in which a rank repeats that it stays in a call */

typedef struct watch {
    uint32_t rank;
    uint32_t address_index;
    uint32_t tries;
    int fd;   /* connection to the listener; -1: none */
    int host; /* connection to the quiet port of the machine; -1: none */
    bool connected;
    bool answered; /* the rank has answered at this address, on this connection or an earlier one */
    bool lost;     /* the last connection has ended */
    uint64_t since, wanted;
    uint64_t heard; /* when the host was last heard; time in which this process did not look does
                       not count */
    uint64_t next;  /* when the attempt is given up, or the next one begins */
    uint64_t host_next, kernel_next;
    uint64_t call, call_at; /* the call that the rank has named, and when it did */
    tern_reported reported; /* the activity that the rank has sent; ago: its age at that time */
    uint64_t reported_at;   /* when it was sent; 0: it was not */
    size_t got;
    union {
        tern_wire_answer answer;
        tern_wire_report report;
    };
} watch;

typedef struct tern_watches {
    atomic_flag busy;
    uint64_t looked, begun;
    uint32_t count, room;
    watch *watch;
    struct pollfd *look; /* two entries for each watch */
} tern_watches;

tern_status tern_watches_open(tern_context *context) {
    tern_watches *watches = calloc(1, sizeof *watches);
    if (watches == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to watch ranks of other machines");
    /* R9: tern_listeners_open; before the watches are anybody's */
    atomic_flag_clear(&watches->busy);
    context->peers.watches = watches;
    return TERN_OK;
}

/* Closes a connection by a reset, so that neither side keeps any state of it. */
static void hang_up(int *fd) {
    const struct linger reset = {1, 0};
    if (*fd < 0)
        return;
    (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(*fd);
    *fd = -1;
}

static void watch_remove(tern_watches *watches, uint32_t i) {
    hang_up(&watches->watch[i].fd);
    hang_up(&watches->watch[i].host);
    watches->watch[i] = watches->watch[--watches->count];
}

void tern_watches_close(tern_context *context) {
    tern_watches *watches = context->peers.watches;
    if (watches == NULL)
        return;
    while (watches->count > 0)
        watch_remove(watches, watches->count - 1);
    free(watches->watch);
    free(watches->look);
    free(watches);
    context->peers.watches = NULL;
}

uint64_t tern_watches_begun(const tern_context *context) {
    return context->peers.watches != NULL ? context->peers.watches->begun : 0;
}

uint32_t tern_watches_count(const tern_context *context) {
    return context->peers.watches != NULL ? context->peers.watches->count : 0;
}

/* The time between two moments, never negative: several threads look, each with the time at which
 * it came. */
static uint64_t elapsed(uint64_t now, uint64_t then) { return now > then ? now - then : 0; }

/* The error that a connection has ended with, or 0. */
static int error_of(int fd) {
    int error = 0;
    socklen_t bytes = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

int tern_watch_ask(const tern_context *context, int fd, uint32_t rank) {
    const tern_wire_head head = {
        .magic = TERN_WATCH_MAGIC, .nonce = context->nonce, .from = context->rank, .to = rank};
    const int error = error_of(fd);
    if (error != 0)
        return error;
    /* A new connection has room for these bytes. */
    return send(fd, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

bool tern_watch_is_answer(const tern_context *context, uint32_t rank,
                          const tern_wire_answer *answer) {
    return (answer->magic == TERN_ANSWER_MAGIC || answer->magic == TERN_FULL_MAGIC) &&
           answer->nonce == context->nonce && answer->rank == rank;
}

/* Makes the kernel probe the host every second, which the host's kernel answers whatever its
 * processes do. */
static void keep_alive(int fd, size_t timeout) {
    const int on = 1, second = 1, most = 100;
    const unsigned timeout_ms = (unsigned)(timeout * 1000);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof most);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

/* Whether events at the watch's address tell something about the rank. */
static bool watch_is_proven(const watch *w, const tern_listener_address *address) {
    return w->address_index == 0 || w->answered || w->address_index == address->proven;
}

static void watch_bury(tern_context *context, const watch *w, const char *why) {
    if (tern_peer_is_dead(&context->peers, w->rank))
        return;
    tern_log(TERN_LOG_WARN, "rank %u has died: %s", w->rank, why);
    tern_peer_mark_dead(&context->peers, w->rank);
}

static void watch_bury_refused(tern_context *context, const watch *w) {
    watch_bury(context, w,
               w->lost ? "its connection has ended, and its host refuses another"
                       : "its host refuses a connection to it");
}

/* Connects to the next address, or stays at the address that is known to lead to the rank. */
static void watch_connect(tern_context *context, watch *w, uint64_t now) {
    tern_listener_address address;
    const uint32_t addresses = tern_address_read(context, w->rank, &address);
    const bool keeps = w->answered || address.proven < addresses;
    const uint32_t first = address.proven < addresses ? address.proven : 1;
    hang_up(&w->fd);
    w->connected = false;
    w->got = 0;
    w->next = now + TRY_NS;
    if (addresses == 0)
        return;
    if (!w->answered)
        w->address_index = tern_address_choice(addresses, first, keeps ? 0 : w->tries);
    w->tries++;
    context->peers.watches->begun++;
    w->fd = tern_address_connect(&address, w->address_index, address.port);
    if (w->fd < 0 && errno == ECONNREFUSED && watch_is_proven(w, &address))
        watch_bury_refused(context, w);
}

/* Called when an attempt to connect has ended, with success or not. */
static void watch_begin(tern_context *context, watch *w, uint64_t now) {
    tern_listener_address address;
    (void)tern_address_read(context, w->rank, &address);
    const int error = tern_watch_ask(context, w->fd, w->rank);
    if (error == 0) {
        w->connected = true;
        w->heard = w->kernel_next = now;
        keep_alive(w->fd, context->config.host_timeout);
        return;
    }
    hang_up(&w->fd);
    if (error == ECONNREFUSED && watch_is_proven(w, &address))
        watch_bury_refused(context, w);
}

/* Handles the report of a death by a watched rank. */
static void watch_hear_death(tern_context *context, const watch *w, uint32_t dead) {
    char why[64];
    if (dead >= context->size || dead == context->rank)
        return;
    snprintf(why, sizeof why, "rank %u says so", w->rank);
    const watch of = {.rank = dead};
    watch_bury(context, &of, why);
}

/* Handles one message of a watched rank. False: the connection is over. */
static bool watch_take(tern_context *context, watch *w, uint64_t now) {
    tern_listener_address address;
    const tern_wire_answer *answer = &w->answer;
    w->got = 0;
    if (answer->magic == TERN_DEATH_MAGIC && answer->nonce == context->nonce && w->answered) {
        watch_hear_death(context, w, answer->rank);
        return true;
    }
    if (answer->magic == TERN_STUCK_MAGIC && answer->nonce == context->nonce && w->answered) {
        w->call = (uint64_t)answer->bytes << 32 | answer->rank;
        w->call_at = now;
        return true;
    }
    if (answer->magic == TERN_LOST_MAGIC && answer->nonce == context->nonce && w->answered) {
        tern_lost_note(context, w->rank);
        return true;
    }
    if (answer->magic == TERN_REPORT_MAGIC && answer->nonce == context->nonce && w->answered) {
        memcpy(w->reported.name, w->report.name, sizeof w->reported.name - 1);
        w->reported.ago = (uint64_t)answer->rank * 1000000u;
        w->reported_at = now;
        return true;
    }
    if (tern_watch_is_answer(context, w->rank, answer)) {
        w->answered = true;
        w->lost = false;
        return answer->magic == TERN_ANSWER_MAGIC;
    }
    (void)tern_address_read(context, w->rank, &address);
    if (watch_is_proven(w, &address))
        watch_bury(context, w, "its port is used by another process");
    return false;
}

/* The size of the message that is being received. */
static size_t watch_wants(const watch *w) {
    const bool is_report = w->got >= sizeof w->answer && w->answer.magic == TERN_REPORT_MAGIC;
    return is_report ? sizeof w->report : sizeof w->answer;
}

static void watch_receive(tern_context *context, watch *w, uint64_t now) {
    for (;;) {
        const ssize_t got =
            recv(w->fd, (char *)&w->report + w->got, watch_wants(w) - w->got, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        w->heard = got >= 0 || errno == ECONNRESET ? now : w->heard;
        w->got += got > 0 ? (size_t)got : 0;
        if (got > 0 && w->got < watch_wants(w))
            continue;
        if (got > 0 && watch_take(context, w, now))
            continue;
        /* If the connection has ended, the next attempt to connect shows whether the rank lives, so
         * it begins at once. If an earlier connection had ended too, it begins after TRY_NS. */
        const bool over = got <= 0;
        w->next = over && !w->lost ? now : now + TRY_NS;
        w->lost = w->lost || over;
        w->connected = false;
        hang_up(&w->fd);
        return;
    }
}

/* Asks the kernel how long ago it has heard from the other side of an established connection. */
static void watch_ask_kernel(watch *w, uint64_t now) {
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    w->kernel_next = now + KERNEL_NS;
    if (getsockopt(w->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
        return;
    const uint64_t ago = (uint64_t)info.tcpi_last_ack_recv * 1000000u;
    if (ago < now && now - ago > w->heard)
        w->heard = now - ago;
}

/* Whether an error says that the host cannot be reached. Other errors say that this process lacks
 * something, such as files, or that the host has refused. */
static bool is_unreachable(int error) {
    return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN ||
           error == ENETDOWN || error == ETIMEDOUT;
}

/* Connects to a port of a silent host on which no process listens: a live host refuses, even if the
 * rank's queue of connections is full. */
static void watch_ask_host(const tern_context *context, watch *w, uint64_t now) {
    tern_listener_address address;
    hang_up(&w->host);
    w->host_next = now + TRY_NS;
    if (tern_address_read(context, w->rank, &address) == 0 || address.quiet_port == 0)
        return;
    w->host = tern_address_connect(&address, w->address_index, address.quiet_port);
    if (w->host < 0 && !is_unreachable(errno))
        w->heard = now;
}

static void watch_hear_host(watch *w, uint64_t now) {
    const int error = error_of(w->host);
    if (error == 0 || error == ECONNREFUSED)
        w->heard = now;
    hang_up(&w->host);
}

static void watch_check_silence(tern_context *context, const watch *w, uint64_t now) {
    const size_t timeout = context->config.host_timeout;
    const size_t least = timeout > SILENT_LEAST ? timeout : SILENT_LEAST;
    tern_listener_address address;
    char why[64];
    if (timeout == 0 || elapsed(now, w->heard) < (uint64_t)least * SECOND)
        return;
    (void)tern_address_read(context, w->rank, &address);
    if (!watch_is_proven(w, &address) || address.quiet_port == 0)
        return;
    snprintf(why, sizeof why, "its host has been silent for %zu s", least);
    watch_bury(context, w, why);
}

static void watch_step(tern_context *context, watch *w, const struct pollfd look[2], uint64_t now) {
    if (w->host >= 0 && look[1].revents != 0)
        watch_hear_host(w, now);
    if (w->fd >= 0 && look[0].revents != 0 && w->connected)
        watch_receive(context, w, now);
    else if (w->fd >= 0 && look[0].revents != 0)
        watch_begin(context, w, now);
    if (tern_peer_is_dead(&context->peers, w->rank))
        return;
    if (!w->connected && now >= w->next)
        watch_connect(context, w, now);
    if (w->connected && now >= w->kernel_next)
        watch_ask_kernel(w, now);
    if (elapsed(now, w->heard) >= ASK_NS && now >= w->host_next)
        watch_ask_host(context, w, now);
    watch_check_silence(context, w, now);
}

/* Whether a wait has not yet lasted long enough for a connection. */
static bool watch_is_early(const tern_context *context, const watch *w, uint64_t now) {
    return elapsed(now, w->since) < (uint64_t)context->config.peer_patience * SECOND;
}

static void watches_step(tern_context *context, tern_watches *watches, uint64_t now) {
    const uint64_t gap = elapsed(now, watches->looked);
    watches->looked = now;
    for (uint32_t i = watches->count; i-- > 0;) {
        watch *w = &watches->watch[i];
        if (elapsed(now, w->wanted) > UNWANTED_NS || tern_peer_is_dead(&context->peers, w->rank))
            watch_remove(watches, i);
    }
    for (uint32_t i = 0; i < watches->count; i++) {
        watch *w = &watches->watch[i];
        if (gap > STOPPED_NS)
            w->heard = w->heard + gap < now ? w->heard + gap : now;
        watches->look[2 * i] =
            (struct pollfd){.fd = w->fd, .events = w->connected ? POLLIN : POLLOUT};
        watches->look[2 * i + 1] = (struct pollfd){.fd = w->host, .events = POLLOUT};
    }
    if (watches->count > 0 && poll(watches->look, 2 * (nfds_t)watches->count, 0) < 0)
        return;
    for (uint32_t i = 0; i < watches->count; i++)
        if (!watch_is_early(context, &watches->watch[i], now))
            watch_step(context, &watches->watch[i], &watches->look[2 * i], now);
}

static bool watches_grow(tern_watches *watches) {
    const uint32_t room = watches->room != 0 ? 2 * watches->room : 4;
    if (watches->count < watches->room)
        return true;
    watch *larger = realloc(watches->watch, room * sizeof *larger);
    if (larger != NULL)
        watches->watch = larger;
    struct pollfd *look = realloc(watches->look, (size_t)2 * room * sizeof *look);
    if (look != NULL)
        watches->look = look;
    if (larger == NULL || look == NULL)
        return false;
    watches->room = room;
    return true;
}

static void watch_want(const tern_context *context, uint32_t rank, uint64_t since, uint64_t now) {
    const tern_peers *peers = &context->peers;
    tern_watches *watches = peers->watches;
    if (rank == context->rank || tern_peer_is_watched(peers, rank) ||
        tern_peer_is_dead(peers, rank))
        return;
    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->watch[i].rank == rank) {
            watches->watch[i].wanted = now;
            return;
        }
    /* Without memory the next look tries again. */
    if (watches_grow(watches))
        watches->watch[watches->count++] = (watch){.rank = rank,
                                                   .fd = -1,
                                                   .host = -1,
                                                   .since = since != 0 ? since : now,
                                                   .wanted = now,
                                                   .heard = now,
                                                   .next = now};
}

static bool watches_take(tern_watches *watches) {
    /* R6: watches_give_back */
    return !atomic_flag_test_and_set_explicit(&watches->busy, memory_order_acquire);
}

static void watches_give_back(tern_watches *watches) {
    /* R6: watches_take */
    atomic_flag_clear_explicit(&watches->busy, memory_order_release);
}

static uint64_t watches_call(const tern_watches *watches, uint32_t rank, uint64_t now) {
    for (uint32_t i = 0; i < watches->count; i++) {
        const watch *w = &watches->watch[i];
        if (w->rank == rank && w->call_at != 0 && elapsed(now, w->call_at) < CALL_NS)
            return w->call;
    }
    return TERN_NO_CALL;
}

uint64_t tern_watches_call(const tern_context *context, uint32_t rank, uint64_t now,
                           uint64_t otherwise) {
    tern_watches *watches = context->peers.watches;
    if (watches == NULL)
        return TERN_NO_CALL;
    if (!watches_take(watches))
        return otherwise;
    const uint64_t call = watches_call(watches, rank, now);
    watches_give_back(watches);
    return call;
}

bool tern_watches_reported(const tern_context *context, uint32_t rank, uint64_t now,
                           tern_reported *reported) {
    tern_watches *watches = context->peers.watches;
    bool found = false;
    if (watches == NULL || !watches_take(watches))
        return false;
    for (uint32_t i = 0; i < watches->count; i++) {
        const watch *w = &watches->watch[i];
        if (w->rank != rank || w->reported_at == 0)
            continue;
        *reported = w->reported;
        reported->ago += elapsed(now, w->reported_at);
        found = true;
    }
    watches_give_back(watches);
    return found;
}

/* Watches a rank, and the target of the call of MPI in which it stays. */
static void watch_want_named(const tern_context *context, uint32_t rank, uint64_t since,
                             uint64_t now) {
    watch_want(context, rank, since, now);
    const uint64_t call = watches_call(context->peers.watches, rank, now);
    if (call != TERN_NO_CALL && (uint32_t)call < context->size)
        watch_want(context, (uint32_t)call, since, now);
}

static void watch_want_anybody(const tern_context *context, uint64_t since, uint64_t now) {
    const uint32_t size = context->size;
    const bool passes_on = context->peers.listeners[context->rank].answers != 0;
    if (size <= TERN_WATCH_ALL || !passes_on)
        for (uint32_t r = 0; r < size; r++)
            watch_want(context, r, since, now);
    else
        for (uint64_t distance = 1; distance < size; distance *= 2)
            watch_want(context, (uint32_t)((context->rank + distance) % size), since, now);
}

/* Makes the watches of rank connect at once. Returns whether all of them are connected. */
static bool watches_hurry(tern_watches *watches, uint32_t rank) {
    bool connected = true;
    for (uint32_t i = 0; i < watches->count; i++) {
        watch *w = &watches->watch[i];
        if (rank != TERN_ANYBODY && w->rank != rank)
            continue;
        w->since = 0;
        connected = connected && w->connected && !w->lost;
    }
    return connected;
}

tern_ask tern_watches_ask(tern_context *context, uint32_t rank, uint64_t now) {
    tern_watches *watches = context->peers.watches;
    if (watches == NULL || tern_peer_is_watched(&context->peers, rank))
        return TERN_ASK_CONNECTED;
    if (context->config.peer_patience == 0 || context->peers.listeners == NULL)
        return TERN_ASK_SILENT;
    if (!watches_take(watches))
        return TERN_ASK_BUSY;
    if (rank == TERN_ANYBODY)
        watch_want_anybody(context, now, now);
    else
        watch_want(context, rank, now, now);
    (void)watches_hurry(watches, rank);
    if (now >= watches->looked + LOOK_NS)
        watches_step(context, watches, now);
    const bool connected = watches_hurry(watches, rank);
    watches_give_back(watches);
    return connected ? TERN_ASK_CONNECTED : TERN_ASK_SILENT;
}

void tern_watches_look(tern_context *context, uint32_t rank, uint64_t since, uint64_t now) {
    tern_watches *watches = context->peers.watches;
    const uint64_t patience = (uint64_t)context->config.peer_patience * SECOND;
    if (patience == 0 || context->peers.listeners == NULL ||
        (since != 0 && elapsed(now, since) < patience))
        return;
    if (!watches_take(watches))
        return;
    if (rank == TERN_ANYBODY)
        watch_want_anybody(context, since, now);
    else if (rank < context->size)
        watch_want_named(context, rank, since, now);
    /* A thread that was delayed may have a time before the last look. */
    if (now >= watches->looked + LOOK_NS)
        watches_step(context, watches, now);
    watches_give_back(watches);
}
