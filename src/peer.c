#include "src/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/context.h"
#include "src/log.h"
#include "src/peers/peers.h"

#define LOOK_AT_ONCE 256u

/* Identifies a process's surroundings. Process identifiers mean the same within one boot of a
 * machine and one namespace. Processes can share memory within one boot, one host name and one
 * network. */
typedef struct identity {
    char boot[40];
    char host[64];
    uint64_t pid_namespace, network;
    int64_t pid;
    uint64_t call_at; /* an address in that process */
} identity;

static uint64_t inode_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

/* Whether files or memory are lacking. That is an error, because the process would otherwise seem
 * to be on another machine. */
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

/* Compares each rank only with the lowest rank of each machine. */
static void find_machines(const identity *all, uint32_t size, uint32_t *machine) {
    for (uint32_t r = 0; r < size; r++) {
        uint32_t lowest = 0;
        while (lowest < r && (machine[lowest] != lowest || !same_machine(&all[lowest], &all[r])))
            lowest++;
        machine[r] = lowest;
    }
}

/* Whether process identifiers mean the same in both processes. */
static bool same_processes(const identity *a, const identity *b) {
    return a->boot[0] != 0 && strcmp(a->boot, b->boot) == 0 && a->pid_namespace == b->pid_namespace;
}

static int open_pidfd(int64_t pid) { return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); }

void tern_peer_mark_dead(tern_peers *peers, uint32_t rank) {
    uint32_t nobody = TERN_NOBODY;
    /* R4 */
    atomic_fetch_or_explicit(&peers->dead[rank / 64], (uint64_t)1 << rank % 64,
                             memory_order_relaxed);
    /* R1: tern_peers_deaths */
    atomic_fetch_add_explicit(&peers->deaths, 1, memory_order_release);
    if (atomic_compare_exchange_strong(&peers->first, &nobody, rank) && peers->listener != NULL)
        tern_listener_wake(peers->listener);
}

tern_sibling *tern_peer_sibling(tern_peers *peers, uint32_t rank) {
    tern_sibling *found = tern_peer_find(peers, rank);
    if (found != NULL)
        return found;
    if (peers->sibling_count == peers->sibling_room) {
        const uint32_t room = peers->sibling_room == 0 ? 16 : peers->sibling_room * 2;
        tern_sibling *larger = realloc(peers->siblings, room * sizeof *larger);
        if (larger == NULL)
            return NULL;
        peers->siblings = larger;
        peers->sibling_room = room;
    }
    uint32_t at = peers->sibling_count++;
    for (; at > 0 && peers->siblings[at - 1].rank > rank; at--)
        peers->siblings[at] = peers->siblings[at - 1];
    peers->siblings[at] = (tern_sibling){.rank = rank, .fd = -1};
    return &peers->siblings[at];
}

bool tern_peer_watch(tern_peers *peers, uint32_t rank, int64_t pid) {
    tern_sibling *sibling = tern_peer_sibling(peers, rank);
    if (sibling == NULL)
        return false;
    if (sibling->fd >= 0)
        close(sibling->fd);
    sibling->pid = pid;
    sibling->fd = open_pidfd(pid);
    if (sibling->fd >= 0)
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
    if (peers->count != 0)
        return TERN_OK;
    peers->dead = calloc((size + 63) / 64, sizeof *peers->dead);
    peers->machine = calloc(size, sizeof *peers->machine);
    peers->lost = calloc((size + 63) / 64, sizeof *peers->lost);
    peers->asked = calloc((size + 63) / 64, sizeof *peers->asked);
    if (peers->dead == NULL || peers->machine == NULL || peers->lost == NULL ||
        peers->asked == NULL) {
        tern_peers_close(peers);
        return tern_fail(TERN_ERR_MEMORY, "no memory to watch %u ranks", size);
    }
    peers->count = size;
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
    peers->all_watched = true;
    for (uint32_t r = 0; r < size; r++)
        peers->all_watched = peers->all_watched && same_processes(&all[r], &all[0]);
    for (uint32_t r = 0; status == TERN_OK && r < size; r++) {
        if (r == context->rank || !same_processes(&all[r], &me))
            continue;
        if (tern_peer_watch(peers, r, all[r].pid))
            tern_peer_find(peers, r)->call_at = all[r].call_at;
        else
            status = tern_fail_system("watching the ranks of this node, for each of which a file "
                                      "stays open");
    }
    status = tern_collective_agree(context, NULL, status, "watching peers");
    peers->known = true;
out:
    free(all);
    return status;
}

void tern_peers_close(tern_peers *peers) {
    for (uint32_t i = 0; i < peers->sibling_count; i++)
        if (peers->siblings[i].fd >= 0)
            close(peers->siblings[i].fd);
    free(peers->siblings);
    free(peers->machine);
    free((void *)peers->dead);
    free((void *)peers->lost);
    free((void *)peers->asked);
    peers->siblings = NULL;
    peers->sibling_count = peers->sibling_room = peers->count = 0;
    peers->machine = NULL;
    peers->dead = peers->lost = peers->asked = NULL;
}

tern_peer_state tern_peer_look(tern_peers *peers, uint32_t rank) {
    const tern_sibling *sibling = tern_peer_find(peers, rank);
    if (sibling == NULL || sibling->fd < 0)
        return TERN_PEER_UNKNOWN;
    struct pollfd one = {sibling->fd, POLLIN, 0};
    if (poll(&one, 1, 0) <= 0)
        return TERN_PEER_ALIVE;
    tern_peer_mark_dead(peers, rank);
    return TERN_PEER_DEAD;
}

bool tern_peer_peek(tern_peers *peers, uint32_t rank, uint64_t address, void *to, size_t bytes) {
    /* The number of a process that has ended could belong to another process now. */
    if (tern_peer_look(peers, rank) != TERN_PEER_ALIVE)
        return false;
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
    const pid_t pid = (pid_t)tern_peer_find(peers, rank)->pid;
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

void tern_peers_look(tern_peers *peers) {
    /* Several workers may look at once, since marks of death are only set, never cleared. */
    for (uint32_t at = 0; at < peers->sibling_count; at += LOOK_AT_ONCE) {
        struct pollfd some[LOOK_AT_ONCE];
        const uint32_t left = peers->sibling_count - at;
        const uint32_t count = left < LOOK_AT_ONCE ? left : LOOK_AT_ONCE;
        for (uint32_t i = 0; i < count; i++)
            some[i] = (struct pollfd){peers->siblings[at + i].fd, POLLIN, 0};
        if (poll(some, count, 0) <= 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (some[i].revents != 0)
                tern_peer_mark_dead(peers, peers->siblings[at + i].rank);
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
