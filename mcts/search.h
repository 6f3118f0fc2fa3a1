#ifndef TERN_MCTS_SEARCH_H
#define TERN_MCTS_SEARCH_H

/*
 * What a search is made of. A *token* is a rollout under way: it goes down the tree, becomes a
 * simulation and goes back up, and is at one place at any time: in a step on some node, in a call,
 * in a record of a worker, or counted at an edge whose node is being made. Tokens at one place are
 * alike, so that only their number is kept.
 *
 * A node is named by its owner's number and its index there (tern_mcts_name); names that come in
 * calls are checked before they are used.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "mcts/slab.h"
#include "src/callee.h"
#include "src/object.h"
#include "src/error.h"
#include "tern/call.h"
#include "tern/mcts.h"

/* In place of an edge: the node itself. */
#define TERN_MCTS_OWN UINT32_MAX

/* Depth at which tokens end: below any tree, but a bound where equal hashes make a circle. */
enum { TERN_MCTS_DEPTH = 1024 };

/* A rollout to be started, in a search's tokens. */
#define TERN_MCTS_START (UINT64_C(1) << 32)

/* Names the search in a call's target; first in every message. */
typedef struct tern_mcts_head {
    uint64_t nonce;
} tern_mcts_head;

/* All messages are beginnings of this, so that one list keeps those that have to wait. */
typedef struct tern_mcts_message {
    tern_mcts_head head;
    uint64_t name; /* of the node that it is for; of create: the parent */
    uint32_t slot; /* an edge of name, or TERN_MCTS_OWN; of select: of from */
    uint32_t
        count; /* select: tokens. back: half points of player 0. created: 1, a node of its own */
    uint64_t from;  /* select: the parent, created: the child, or 0. Back ends before it */
    uint32_t depth; /* select: of name, create: of the child. Created ends before it */
    uint32_t unused;
} tern_mcts_message;

/* In a slot: the token was simulated at an edge that has no node. */
#define TERN_MCTS_LOOSE (UINT32_C(1) << 30)

typedef enum tern_mcts_kind {
    TERN_MCTS_SELECT,
    TERN_MCTS_CREATE,
    TERN_MCTS_CREATED,
    TERN_MCTS_BACK,
    TERN_MCTS_SIMULATE, /* from here on: only in records */
    TERN_MCTS_RETRY     /* tokens back at an edge whose node could not be made */
} tern_mcts_kind;

/* A message that waits for room, a simulation, or tokens to go on. Taken from the worker's own
 * list, given back to the one that it came from. */
typedef struct tern_mcts_record {
    struct tern_mcts_record *next;
    struct tern_mcts_worker *home;
    tern_mcts_kind kind;
    uint32_t target; /* of a message: the worker's number */
    tern_mcts_message message;
    _Alignas(16) char state[];
} tern_mcts_record;

typedef struct tern_mcts_list {
    tern_mcts_record *first, **end;
} tern_mcts_list;

/* Of a shared node: where a token came from. */
typedef struct tern_mcts_return {
    uint64_t name;
    uint32_t slot;
    uint32_t next; /* 0: the last */
} tern_mcts_return;

/* What the edges to a node say, while somebody checks. */
typedef struct tern_mcts_sums {
    uint64_t edges, visits, won;
} tern_mcts_sums;

/* A worker's part. Everything but the two stacks is written by its thread alone; its slab's nodes
 * by all of the process unless calls_only. */
typedef struct tern_mcts_worker {
    tern_mcts_slab slab;
    struct tern_search *search;
    tern_worker *worker; /* that runs now */
    uint32_t number;     /* rank * workers + index */
    uint32_t index;
    tern_random random;
    tern_mcts_record *records; /* free ones */
    tern_mcts_list work;       /* simulations and tokens of this worker */
    tern_mcts_list kept;       /* messages that wait for room */
    struct tern_mcts_chunk *chunks;
    tern_mcts_return *returns; /* of shared nodes; [0] is not used */
    uint32_t returns_free, returns_size;
    uint64_t run, round; /* the last that it took part in */
    uint32_t back;       /* rollouts that came back here; not given back to tokens yet */
    bool alone;          /* no other thread touches its nodes */
    bool policy_set;
    bool slow;            /* its last simulation was longer than calls for far ranks may wait */
    uint32_t *moves;      /* room for moves_max */
    char *state, *played; /* for a state each */
    tern_search_statistics statistics;
    tern_mcts_sums *sums;                           /* by node; NULL: nobody checks */
    _Alignas(64) atomic_bool idle;                  /* has nothing to do; to others a hint */
    _Alignas(64) _Atomic(tern_mcts_record *) inbox; /* simulations from other workers */
    _Alignas(64) _Atomic(tern_mcts_record *) returned;
} tern_mcts_worker;

struct tern_search {
    tern_context *context;
    tern_object object;
    tern_callee callee;
    tern_game game;
    tern_search_options options; /* with defaults filled in */
    float share;                 /* of a half point in what a visit can win */
    uint32_t workers;            /* of each process */
    uint32_t all;                /* of all */
    uint64_t nonce;
    tern_mcts_worker *worker;
    char *root_state;
    uint64_t root;          /* name; 0: no state yet */
    uint32_t plies;         /* moves played while the tree was kept: the root's depth in it */
    bool forgotten;         /* shared nodes may have lost parents */
    tern_mcts_node *marked; /* nodes that stay, and whose children are not marked yet */

    /* A run. Worker 0 of each process leads. Each of these numbers only grows. Each is written by
     * release and waited for by acquire (tern_mcts_await), so that what was done before the one is
     * seen behind the other; but last, which is relaxed since over follows it. */
    atomic_uint_fast64_t run;      /* begun */
    atomic_uint_fast64_t over;     /* round that is over: no token is left in it */
    atomic_uint_fast64_t stopped;  /* workers that have nothing left to send, over all rounds */
    atomic_uint_fast64_t quiet;    /* round in which nothing is under way any more */
    atomic_uint_fast64_t finished; /* run whose result is there */
    atomic_uint_fast64_t last;     /* round that ended, or will end, a run */
    atomic_uint_fast64_t heard;    /* by workers other than the leader: begun, over all runs */
    tern_status begun;             /* outcome of the run's beginning */
    char begun_why[256];
    tern_search_limits limits;
    uint64_t began, until; /* of this process (tern_now); until 0: no limit of time */
    tern_search_result result;
    tern_search_move *result_moves;
    uint32_t *result_line;
    uint64_t result_rollouts; /* so far */

    /* The first failure. Claimed, then written, then failed by release; tern_mcts_failure acquires
     * it and reads why. */
    atomic_bool failing;
    _Atomic tern_status failed;
    char why[256];
    uint32_t dead; /* the rank that the leader was told has died, or TERN_NOBODY; its alone */

    /* Of the process that owns the root: rollouts still to be started in this round, times
     * TERN_MCTS_START, and those under way. The leader stores it by release, workers take from it
     * and give back to it by acquire and release, and the leader acquires the 0 that ends the
     * round: what rollouts have left is seen by whoever starts others, and by the leader. */
    _Alignas(64) atomic_uint_fast64_t tokens;
};

static inline uint64_t tern_mcts_name(uint32_t worker, uint32_t node) {
    return (uint64_t)worker << 32 | node;
}
static inline uint32_t tern_mcts_owner(uint64_t name) { return (uint32_t)(name >> 32); }

/* The worker of a name whose owner is of this process; NULL: it is not. */
static inline tern_mcts_worker *tern_mcts_local(const tern_search *s, uint64_t name) {
    uint32_t index = tern_mcts_owner(name) - s->context->rank * s->workers;
    return index < s->workers ? &s->worker[index] : NULL;
}

/* Not 0 only if this worker may touch the node. */
static inline tern_mcts_node *tern_mcts_reach(const tern_mcts_worker *w, uint64_t name) {
    const tern_mcts_worker *owner = tern_mcts_local(w->search, name);
    if (owner == NULL || (owner != w && w->search->options.calls_only))
        return NULL;
    return tern_mcts_node_at(&owner->slab, (uint32_t)name);
}

/* Of a node that is met so far below the root, its depth in the tree; and back. */
static inline uint32_t tern_mcts_depth(const tern_search *s, uint32_t below) {
    return below + s->plies;
}
static inline uint32_t tern_mcts_below(const tern_search *s, const tern_mcts_node *node) {
    return node->depth > s->plies ? node->depth - s->plies : 0;
}

/* Half points of player 0 as those of the player who moves at node, and back. */
static inline uint64_t tern_mcts_turn(const tern_mcts_node *node, uint64_t won, uint64_t visits,
                                      uint32_t simulations) {
    return node->player == 0 ? won : 2 * visits * simulations - won;
}

/* Ends the search: nobody waits any more, and all its functions give the first such status. */
void tern_mcts_fail(tern_search *search, tern_status status);
/* The first failure, as this thread's. */
tern_status tern_mcts_failure(tern_search *search);

#endif
