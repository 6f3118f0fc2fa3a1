#include "src/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/collective.h"
#include "src/context.h"
#include "src/error.h"
#include "src/log.h"

/* Where a process identifier means something: one boot of one machine, one namespace. */
typedef struct identity {
    char boot[40];
    uint64_t namespace_inode;
    int64_t pid;
} identity;

static void identify(identity *me) {
    memset(me, 0, sizeof *me);
    me->pid = getpid();
    struct stat info;
    if (stat("/proc/self/ns/pid", &info) == 0)
        me->namespace_inode = info.st_ino;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, me->boot, sizeof me->boot - 1);
    close(fd);
    if (got < 0)
        me->boot[0] = 0;
}

static int open_pidfd(int64_t pid) { return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); }

tern_status tern_peers_open(tern_context *context) {
    tern_peers *peers = &context->peers;
    uint32_t size = context->size;
    identity me;
    identify(&me);
    atomic_init(&peers->first, TERN_NOBODY);
    peers->count = size;
    peers->watch = calloc(size, sizeof *peers->watch);
    peers->pid = calloc(size, sizeof *peers->pid);
    peers->dead = calloc(size, sizeof *peers->dead);
    identity *all = calloc(size, sizeof *all);
    /* Waits look at the table while it is being filled. */
    for (uint32_t r = 0; peers->watch != NULL && r < size; r++)
        peers->watch[r] = (struct pollfd){-1, POLLIN, 0};
    tern_status status = TERN_OK;
    if (peers->watch == NULL || peers->pid == NULL || peers->dead == NULL || all == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory to watch %u ranks", size);
    status = tern_collective_agree(context, NULL, status, "watching peers");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &me, sizeof me, all);
    if (status != TERN_OK)
        goto out;
    for (uint32_t r = 0; r < size; r++) {
        if (r == context->rank || me.boot[0] == 0 || strcmp(all[r].boot, me.boot) != 0 ||
            all[r].namespace_inode != me.namespace_inode)
            continue;
        peers->pid[r] = all[r].pid;
        peers->watch[r].fd = open_pidfd(all[r].pid);
        if (peers->watch[r].fd < 0 && errno == EMFILE) {
            status = tern_fail_system("watching the ranks of this node, for each of which a file "
                                      "stays open");
            break;
        }
        if (peers->watch[r].fd < 0)
            tern_log(TERN_LOG_INFO, "the death of rank %u will not be noticed: no pidfd", r);
    }
    status = tern_collective_agree(context, NULL, status, "watching peers");
out:
    free(all);
    return status;
}

void tern_peers_close(tern_peers *peers) {
    for (uint32_t r = 0; peers->watch != NULL && r < peers->count; r++)
        if (peers->watch[r].fd >= 0)
            close(peers->watch[r].fd);
    free(peers->watch);
    free(peers->pid);
    free((void *)peers->dead);
    peers->watch = NULL;
    peers->pid = NULL;
    peers->dead = NULL;
}

static void mark_dead(tern_peers *peers, uint32_t rank) {
    uint32_t nobody = TERN_NOBODY;
    /* R4 */
    atomic_store_explicit(&peers->dead[rank], 1, memory_order_relaxed);
    atomic_compare_exchange_strong(&peers->first, &nobody, rank);
}

tern_peer_state tern_peer_look(tern_peers *peers, uint32_t rank) {
    struct pollfd one = peers->watch[rank];
    if (one.fd < 0)
        return TERN_PEER_UNKNOWN;
    if (poll(&one, 1, 0) <= 0)
        return TERN_PEER_ALIVE;
    mark_dead(peers, rank);
    return TERN_PEER_DEAD;
}

void tern_peers_look(tern_peers *peers) {
    /* Several workers may look at once: each polls a copy, and marks of death only go up. */
    for (uint32_t at = 0; at < peers->count; at += 256) {
        struct pollfd some[256];
        uint32_t count = peers->count - at < 256 ? peers->count - at : 256;
        memcpy(some, peers->watch + at, count * sizeof some[0]);
        if (poll(some, count, 0) <= 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (some[i].revents != 0)
                mark_dead(peers, at + i);
    }
}

tern_status tern_peer_fail(uint32_t rank) {
    return tern_fail(TERN_ERR_PEER, "rank %u has died; destroy the context or end the program",
                     rank);
}
