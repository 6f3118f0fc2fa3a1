#include "src/peers/listener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/peers/watch.h"
#include "src/progress/wait.h"

/*
 * An address that refuses a connection, or is silent, tells something about a rank only if the
 * address leads to its machine. An address may also belong to another machine, as that of a bridge
 * does, and firewalls refuse and drop. So at creation each rank whose next rank is on another
 * machine connects to that next rank, at all of its addresses at once. The first address that
 * answers is proven for all ranks of that machine.
 */

#define CONNECT_NS 1000000000u /* the time in which an address has to accept */
#define ANSWER_NS 5000000000u  /* the time in which the listener's thread has to answer */

typedef struct attempt {
    int fd; /* -1: the attempt has failed */
    bool connected;
    size_t got;
    tern_wire_answer answer;
} attempt;

static void attempt_end(attempt *a) {
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

/* Sends the question, or receives the answer. True: the rank has answered. */
static bool attempt_go_on(const tern_context *context, uint32_t rank, bool answers, attempt *a) {
    struct pollfd look = {.fd = a->fd, .events = a->connected ? POLLIN : POLLOUT};
    if (a->fd < 0 || poll(&look, 1, 0) <= 0)
        return false;
    if (!a->connected) {
        a->connected = tern_watch_ask(context, a->fd, rank) == 0;
        if (!a->connected)
            attempt_end(a);
        return a->connected && !answers;
    }
    const ssize_t got =
        recv(a->fd, (char *)&a->answer + a->got, sizeof a->answer - a->got, MSG_DONTWAIT);
    if (got <= 0) {
        attempt_end(a);
        return false;
    }
    a->got += (size_t)got;
    return a->got == sizeof a->answer && tern_watch_is_answer(context, rank, &a->answer);
}

/* Whether some attempt may still succeed. */
static bool attempts_last(const attempt *all, uint64_t waited) {
    for (uint32_t i = 0; i < TERN_ADDRESSES_MAX; i++)
        if (all[i].fd >= 0 && waited < (all[i].connected ? ANSWER_NS : CONNECT_NS))
            return true;
    return false;
}

/* Returns the index of the address that leads to a rank of another machine, or TERN_NO_ADDRESS. */
static uint32_t listeners_prove(tern_context *context, uint32_t rank) {
    tern_listener_address address, mine;
    attempt all[TERN_ADDRESSES_MAX];
    const uint32_t addresses = tern_address_read(context, rank, &address);
    (void)tern_address_read(context, context->rank, &mine);
    tern_wait_state wait = TERN_WAIT_IN("tern_context_create");
    const uint64_t began = tern_now();
    uint32_t found = TERN_NO_ADDRESS;
    for (uint32_t i = 0; i < TERN_ADDRESSES_MAX; i++) {
        all[i] = (attempt){.fd = -1};
        if (i > 0 && i < addresses && !tern_address_is_in(&address, i, &mine))
            all[i].fd = tern_address_connect(&address, i, address.port);
    }
    while (found == TERN_NO_ADDRESS && attempts_last(all, tern_now() - began)) {
        for (uint32_t i = 0; i < TERN_ADDRESSES_MAX && found == TERN_NO_ADDRESS; i++)
            if (attempt_go_on(context, rank, address.answers, &all[i]))
                found = i;
        if (tern_wait_step(context, &wait, TERN_NOBODY) != TERN_OK)
            break;
    }
    for (uint32_t i = 0; i < TERN_ADDRESSES_MAX; i++)
        attempt_end(&all[i]);
    if (found == TERN_NO_ADDRESS)
        tern_log(TERN_LOG_INFO,
                 "no address leads to the listener of rank %u: deaths on its machine are not "
                 "noticed from here unless it is reached later",
                 rank);
    return found;
}

/* Collective. */
static tern_status listeners_prove_all(tern_context *context, tern_listener_address *table,
                                       bool writes) {
    const uint32_t size = context->size, *machine = context->peers.machine;
    const uint32_t next = (context->rank + 1) % size;
    uint8_t *proven = malloc((size_t)2 * size), *by_machine = proven + size;
    tern_status status =
        proven != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", size);
    status = tern_collective_agree(context, NULL, status, "telling where ranks listen");
    if (status != TERN_OK)
        goto out;
    uint8_t mine = TERN_NO_ADDRESS;
    if (machine[next] != machine[context->rank])
        mine = (uint8_t)listeners_prove(context, next);
    status = tern_collective_allgather(context, NULL, &mine, sizeof mine, proven);
    if (status == TERN_OK && writes) {
        memset(by_machine, TERN_NO_ADDRESS, size);
        for (uint32_t r = 0; r < size; r++)
            if (proven[r] != TERN_NO_ADDRESS)
                by_machine[machine[(r + 1) % size]] = proven[r];
        for (uint32_t r = 0; r < size; r++)
            table[r].proven = by_machine[machine[r]];
    }
out:
    free(proven);
    return status;
}

tern_status tern_listeners_open(tern_context *context, tern_listener_reply reply,
                                tern_listener_address *table, bool writes) {
    tern_peers *peers = &context->peers;
    tern_listener_address mine = {.proven = TERN_NO_ADDRESS}, *all = NULL;
    if (peers->all_watched && (reply == NULL || !context->config.listener))
        return TERN_OK;
    peers->listener = tern_listener_start(context, reply, &mine);
    if (peers->listener == NULL)
        tern_log(TERN_LOG_INFO, "no listener: %s", strerror(errno));
    all = malloc(context->size * sizeof *all);
    tern_status status =
        all != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", context->size);
    if (status == TERN_OK && !peers->all_watched)
        status = tern_watches_open(context);
    status = tern_collective_agree(context, NULL, status, "telling where ranks listen");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &mine, sizeof mine, all);
    if (status == TERN_OK && writes)
        memcpy(table, all, context->size * sizeof *all);
    free(all);
    status = tern_collective_agree(context, NULL, status, "telling where ranks listen");
    if (status == TERN_OK)
        peers->listeners = table;
    if (status == TERN_OK && !tern_peers_on_one_machine(peers))
        status = listeners_prove_all(context, table, writes);
    return status;
}

void tern_listeners_close(tern_context *context) {
    tern_peers *peers = &context->peers;
    tern_listener *listener = peers->listener;
    tern_watches_close(context);
    peers->listener = NULL;
    tern_listener_stop(listener);
    peers->listeners = NULL;
}
