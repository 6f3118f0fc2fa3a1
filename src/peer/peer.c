#include "src/peer/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/context.h"
#include "src/log.h"
#include "src/peer/listener.h"

/* Where a process identifier means something, one boot of one machine and one namespace; and where
 * processes can share memory, one boot, one name of the host and one network. */
typedef struct identity {
    char boot[40];
    char host[64];
    uint64_t pid_namespace, network;
    int64_t pid;
    uint64_t call_at; /* an address in its process */
} identity;

static uint64_t inode_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

/* A process for which no file can be opened would seem to be on another machine. */
static bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

static tern_status peer_identify(identity *me) {
    memset(me, 0, sizeof *me);
    me->pid = getpid();
    me->pid_namespace = inode_of("/proc/self/ns/pid");
    me->network = inode_of("/proc/self/ns/net");
    if (gethostname(me->host, sizeof me->host - 1) != 0)
        me->host[0] = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return is_shortage(errno) ? tern_fail_system("opening the number of this machine's boot")
                                  : TERN_OK;
    ssize_t got = read(fd, me->boot, sizeof me->boot - 1);
    close(fd);
    if (got < 0)
        me->boot[0] = 0;
    return TERN_OK;
}

static bool same_machine(const identity *a, const identity *b) {
    return strcmp(a->boot, b->boot) == 0 && strcmp(a->host, b->host) == 0 &&
           a->network == b->network;
}

/* Looks at the lowest rank of each machine alone. */
static void find_machines(const identity *all, uint32_t size, uint32_t *machine) {
    for (uint32_t r = 0; r < size; r++) {
        uint32_t lowest = 0;
        while (lowest < r && (machine[lowest] != lowest || !same_machine(&all[lowest], &all[r])))
            lowest++;
        machine[r] = lowest;
    }
}

/* Whether a process identifier of one means the same to the other. */
static bool same_processes(const identity *a, const identity *b) {
    return a->boot[0] != 0 && strcmp(a->boot, b->boot) == 0 && a->pid_namespace == b->pid_namespace;
}

static int open_pidfd(int64_t pid) { return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); }

void tern_peer_mark_dead(tern_peers *peers, uint32_t rank) {
    uint32_t nobody = TERN_NOBODY;
    /* R4 */
    atomic_store_explicit(&peers->dead[rank], 1, memory_order_relaxed);
    if (atomic_compare_exchange_strong(&peers->first, &nobody, rank) && peers->listener != NULL)
        tern_listener_wake(peers->listener);
}

bool tern_peer_watch(tern_peers *peers, uint32_t rank, int64_t pid) {
    if (peers->watch[rank].fd >= 0)
        close(peers->watch[rank].fd);
    peers->pid[rank] = pid;
    peers->watch[rank].fd = open_pidfd(pid);
    if (peers->watch[rank].fd >= 0)
        return true;
    if (errno == EMFILE)
        return false;
    if (errno == ESRCH)
        tern_peer_mark_dead(peers, rank);
    else
        tern_log(TERN_LOG_INFO, "the death of rank %u will not be noticed: no pidfd", rank);
    return true;
}

tern_status tern_peers_make(tern_peers *peers, uint32_t size) {
    if (peers->watch != NULL)
        return TERN_OK;
    struct pollfd *watch = calloc(size, sizeof *watch);
    peers->pid = calloc(size, sizeof *peers->pid);
    peers->dead = calloc(size, sizeof *peers->dead);
    peers->machine = calloc(size, sizeof *peers->machine);
    peers->call_at = calloc(size, sizeof *peers->call_at);
    if (watch == NULL || peers->pid == NULL || peers->dead == NULL || peers->machine == NULL ||
        peers->call_at == NULL) {
        free(watch);
        tern_peers_close(peers);
        return tern_fail(TERN_ERR_MEMORY, "no memory to watch %u ranks", size);
    }
    for (uint32_t r = 0; r < size; r++)
        watch[r] = (struct pollfd){-1, POLLIN, 0};
    peers->count = size;
    peers->watch = watch;
    atomic_init(&peers->call, TERN_NO_CALL);
    return TERN_OK;
}

tern_status tern_peers_open(tern_context *context) {
    tern_peers *peers = &context->peers;
    uint32_t size = context->size;
    identity me;
    tern_status status = peer_identify(&me);
    me.call_at = (uintptr_t)&peers->call;
    identity *all = calloc(size, sizeof *all);
    if (status == TERN_OK)
        status = all != NULL ? tern_peers_make(peers, size)
                             : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", size);
    status = tern_collective_agree(context, NULL, status, "watching peers");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &me, sizeof me, all);
    if (status != TERN_OK)
        goto out;
    find_machines(all, size, peers->machine);
    for (uint32_t r = 0; r < size; r++)
        peers->call_at[r] = all[r].call_at;
    peers->all_watched = true;
    for (uint32_t r = 0; r < size; r++)
        peers->all_watched = peers->all_watched && same_processes(&all[r], &all[0]);
    for (uint32_t r = 0; r < size; r++)
        if (r != context->rank && same_processes(&all[r], &me) &&
            !tern_peer_watch(peers, r, all[r].pid)) {
            status = tern_fail_system("watching the ranks of this node, for each of which a file "
                                      "stays open");
            break;
        }
    status = tern_collective_agree(context, NULL, status, "watching peers");
    peers->known = true;
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
    free(peers->machine);
    free(peers->call_at);
    free((void *)peers->dead);
    peers->watch = NULL;
    peers->pid = NULL;
    peers->machine = NULL;
    peers->call_at = NULL;
    peers->dead = NULL;
}

tern_peer_state tern_peer_look(tern_peers *peers, uint32_t rank) {
    struct pollfd one = peers->watch[rank];
    if (one.fd < 0)
        return TERN_PEER_UNKNOWN;
    if (poll(&one, 1, 0) <= 0)
        return TERN_PEER_ALIVE;
    tern_peer_mark_dead(peers, rank);
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
                tern_peer_mark_dead(peers, at + i);
    }
}

tern_status tern_peer_fail(uint32_t rank) {
    return tern_fail(TERN_ERR_PEER, "rank %u has died; destroy the context or end the program",
                     rank);
}

bool tern_peers_on_one_machine(const tern_peers *peers) {
    for (uint32_t r = 0; r < peers->count; r++)
        if (peers->machine[r] != peers->machine[0])
            return false;
    return true;
}
