#ifndef TERN_SRC_PEER_H
#define TERN_SRC_PEER_H

/*
 * Liveness of peers: a pidfd for every rank of the same machine and PID namespace, polled by waits.
 * A pidfd tells a dead process even while it is a zombie, which kill(pid, 0) does not. Other ranks
 * are watched over TCP while somebody waits for them (src/peers/watch.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/status.h"

#define TERN_NOBODY UINT32_MAX
#define TERN_NO_CALL UINT64_MAX

/* A rank of the same machine and PID namespace. */
typedef struct tern_sibling {
    uint32_t rank;
    int fd; /* its pidfd; -1: it is not watched, or dead */
    int64_t pid;
    uint64_t call_at; /* the address of its tern_peers.call */
} tern_sibling;

typedef struct tern_peers {
    tern_sibling *siblings; /* in the order of their ranks */
    uint32_t sibling_count, sibling_room;
    uint32_t count;         /* ranks; 0: nothing is made yet */
    uint32_t *machine;      /* by rank: the lowest rank of the same machine */
    _Atomic uint64_t *dead; /* a bit for each rank whose death was seen */
    _Atomic uint32_t first; /* the first dead rank seen, or TERN_NOBODY */
    bool known;             /* the ranks have told each other who they are */
    bool all_watched;       /* each rank has a pidfd of each other: the same on every rank */
    struct tern_listener *listener;                /* of this process, or NULL */
    const struct tern_listener_address *listeners; /* by rank; NULL: nobody has one */
    struct tern_watches *watches;                  /* NULL: all ranks have a pidfd */
    uint32_t looks;        /* for siblings before that (src/peers/sibling.c) */
    _Atomic uint64_t call; /* of MPI that this rank is in, and its target (src/peers/stuck.h) */
    uint32_t calls;        /* so many have begun; under the MPI lock */
    /* The line that this rank reports to (src/peers/activity.h), or NULL. */
    _Atomic(struct tern_activity *) activity;
    /* The rank whose call a wait has last had no more patience with, and that call. */
    _Atomic uint32_t stuck_rank;
    _Atomic uint64_t stuck_call;
} tern_peers;

struct tern_context;

/* Makes the table, if there is none: nobody is watched, nobody is dead. */
tern_status tern_peers_make(tern_peers *peers, uint32_t size);
/* Collective: opens the pidfds. */
tern_status tern_peers_open(struct tern_context *context);
void tern_peers_close(tern_peers *peers);

/* Watches a process as rank, in place of the one that was watched. The process is known to have
 * been that rank: if it is gone, the rank is dead. False, with errno: too many files are open. */
bool tern_peer_watch(tern_peers *peers, uint32_t rank, int64_t pid);
/* Of a rank that need not be a sibling yet. NULL, with errno: no memory. */
tern_sibling *tern_peer_sibling(tern_peers *peers, uint32_t rank);
void tern_peer_mark_dead(tern_peers *peers, uint32_t rank);

/* Looks for deaths; a system call for 256 siblings. */
void tern_peers_look(tern_peers *peers);

typedef enum tern_peer_state { TERN_PEER_ALIVE, TERN_PEER_DEAD, TERN_PEER_UNKNOWN } tern_peer_state;

/* Looks at one; a system call. TERN_PEER_UNKNOWN: it is not watched, and its process number may
 * mean nothing here. */
tern_peer_state tern_peer_look(tern_peers *peers, uint32_t rank);

/* Reads memory of a rank of this machine, for which it needs no memory that they share. False: its
 * process has ended, or the system does not let this one read it. */
bool tern_peer_peek(tern_peers *peers, uint32_t rank, uint64_t address, void *to, size_t bytes);

static inline uint32_t tern_peers_dead(const tern_peers *peers) {
    /* R4 */
    return atomic_load_explicit(&((tern_peers *)(uintptr_t)peers)->first, memory_order_relaxed);
}

static inline bool tern_peer_is_dead(const tern_peers *peers, uint32_t rank) {
    /* R4 */
    return (atomic_load_explicit(&peers->dead[rank / 64], memory_order_relaxed) >> rank % 64 & 1) !=
           0;
}

/* The rank as a sibling, or NULL. */
static inline tern_sibling *tern_peer_find(const tern_peers *peers, uint32_t rank) {
    uint32_t low = 0, high = peers->sibling_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (peers->siblings[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < peers->sibling_count && peers->siblings[low].rank == rank ? &peers->siblings[low]
                                                                           : NULL;
}

static inline bool tern_peer_is_watched(const tern_peers *peers, uint32_t rank) {
    const tern_sibling *sibling = tern_peer_find(peers, rank);
    return sibling != NULL && sibling->fd >= 0;
}

/* Whether all ranks are on one machine. */
bool tern_peers_on_one_machine(const tern_peers *peers);

/* Sets the detail for a dead rank and returns TERN_ERR_PEER. */
tern_status tern_peer_fail(uint32_t rank);

#endif
