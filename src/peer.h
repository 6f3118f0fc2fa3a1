#ifndef TERN_SRC_PEER_H
#define TERN_SRC_PEER_H

/*
 * Liveness of peers: each process has a pidfd for every rank of the same machine and PID namespace,
 * and waits poll these. A pidfd shows the end of a process even while it is a zombie, which
 * kill(pid, 0) does not. Other ranks are watched over TCP while a worker waits for them
 * (src/peers/watch.h).
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
    int fd; /* its pidfd; -1: the rank is not watched, or is dead */
    int64_t pid;
    uint64_t call_at; /* the address of its tern_peers.call */
} tern_sibling;

typedef struct tern_peers {
    tern_sibling *siblings; /* in the order of their ranks */
    uint32_t sibling_count, sibling_room;
    uint32_t count;          /* number of ranks; 0: the table is not made yet */
    uint32_t *machine;       /* by rank: the lowest rank of the same machine */
    _Atomic uint64_t *dead;  /* a bit for each rank whose death was seen */
    _Atomic uint32_t first;  /* the first dead rank seen, or TERN_NOBODY */
    _Atomic uint32_t deaths; /* grows when a bit of dead is set */
    _Atomic uint64_t *lost;  /* a bit for each rank to which MPI has lost its connection
                                (src/peers/lost.h) */
    _Atomic uint64_t *asked; /* a bit for each such rank that was asked whether it lives */
    atomic_bool any_lost;
    bool known;       /* the ranks have told each other which processes they are */
    bool all_watched; /* every rank has a pidfd of every other; the same on every rank */
    struct tern_listener *listener;                /* of this process, or NULL */
    const struct tern_listener_address *listeners; /* by rank; NULL: no rank has a listener */
    struct tern_watches *watches;                  /* NULL: all ranks have a pidfd */
    uint32_t looks;        /* looks for siblings before known is true (src/peers/sibling.c) */
    _Atomic uint64_t call; /* the call of MPI that this rank is in, and its target
                              (src/peers/stuck.h) */
    uint32_t calls;        /* how many such calls have begun; under the MPI lock */
    /* The line that this rank reports to (src/peers/activity.h), or NULL. */
    _Atomic(struct tern_activity *) activity;
    /* The rank that a wait last found stuck in a call, and that call. */
    _Atomic uint32_t stuck_rank;
    _Atomic uint64_t stuck_call;
} tern_peers;

struct tern_context;

/* Makes the table unless it exists already, with no rank watched and no rank dead. */
tern_status tern_peers_make(tern_peers *peers, uint32_t size);
/* Collective: opens the pidfds. */
tern_status tern_peers_open(struct tern_context *context);
void tern_peers_close(tern_peers *peers);

/* Watches a process as rank, in place of the process that was watched. The caller knows that the
 * process was that rank, so if the process has ended the rank is dead. False, with errno: too many
 * files are open. */
bool tern_peer_watch(tern_peers *peers, uint32_t rank, int64_t pid);
/* Returns the entry of a rank, which is added if the rank has none. NULL, with errno: no memory. */
tern_sibling *tern_peer_sibling(tern_peers *peers, uint32_t rank);
void tern_peer_mark_dead(tern_peers *peers, uint32_t rank);

/* Looks for deaths; costs one system call for 256 siblings. */
void tern_peers_look(tern_peers *peers);

typedef enum tern_peer_state { TERN_PEER_ALIVE, TERN_PEER_DEAD, TERN_PEER_UNKNOWN } tern_peer_state;

/* Looks at one rank; costs a system call. TERN_PEER_UNKNOWN: the rank is not watched, and its
 * process number may mean nothing in this process. */
tern_peer_state tern_peer_look(tern_peers *peers, uint32_t rank);

/* Reads memory of a rank of this machine, which need not share memory with this one. False: its
 * process has ended, or the system does not let this process read it. */
bool tern_peer_peek(tern_peers *peers, uint32_t rank, uint64_t address, void *to, size_t bytes);

static inline uint32_t tern_peers_dead(const tern_peers *peers) {
    /* R4 */
    return atomic_load_explicit(&((tern_peers *)(uintptr_t)peers)->first, memory_order_relaxed);
}

/* A number that is another one after each death that was seen, for callers that keep what they have
 * found among the dead. */
static inline uint32_t tern_peers_deaths(const tern_peers *peers) {
    /* R1: tern_peer_mark_dead */
    return atomic_load_explicit(&((tern_peers *)(uintptr_t)peers)->deaths, memory_order_acquire);
}

static inline bool tern_peer_is_dead(const tern_peers *peers, uint32_t rank) {
    /* R4 */
    return (atomic_load_explicit(&peers->dead[rank / 64], memory_order_relaxed) >> rank % 64 & 1) !=
           0;
}

/* Returns the entry of a rank, or NULL if it is not a sibling. */
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
