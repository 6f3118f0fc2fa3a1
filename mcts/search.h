#ifndef TERN_MCTS_SEARCH_H
#define TERN_MCTS_SEARCH_H

/*
 * The data structures of a search. A token is a rollout under way. It goes down the tree, becomes a
 * simulation, and goes back up. At any time it is at one place: in a step at a node, in a call, in
 * a record of a worker, or counted at an edge whose node is being made. Tokens at one place are
 * alike, so only their number is kept.
 *
 * The owner's number and an index name a node (tern_mcts_name). A name that comes in a call is
 * checked before it is used.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/process.h"
#include "base/error.h"
#include "mcts/slab.h"
#include "tern/agree.h"
#include "tern/call.h"
#include "tern/mcts.h"
#include "tern/part.h"
#include "tern/progress.h"

/* Used in place of an edge: the node itself. */
#define TERN_MCTS_OWN UINT32_MAX

/* Depth at which tokens end. No game tree is as deep, but equal hashes can make a circle. */
enum { TERN_MCTS_DEPTH = 1024 };

/* One rollout to be started, as counted in tokens of a search. */
#define TERN_MCTS_START (UINT64_C(1) << 32)

/* Identifies the search for the target of a call; at the beginning of every message. */
typedef struct tern_mcts_head {
    uint64_t nonce;
} tern_mcts_head;

/* A message. The messages of all kinds are beginnings of this structure, so that one list can keep
 * those that have to wait. It has 40 bytes:
 *
 *     offset   field    select             create          created         back
 *     0        head     nonce              nonce           nonce           nonce
 *     8        name     the node           the parent      the parent      the node
 *     16       slot     edge of from       edge of name    edge of name    edge of name, or _OWN
 *     20       count    tokens             1               1               half points of player 0
 *     24       from     the parent, or 0   unused          child, or 0     (ends here)
 *     32       depth    of name            of the child    (ends here) */
typedef struct tern_mcts_message {
    tern_mcts_head head;
    uint64_t name; /* the node that the message is for; create: the parent */
    uint32_t slot; /* an edge of name, or TERN_MCTS_OWN; select: an edge of from */
    uint32_t
        /* select: number of tokens; back: half points of player 0; create and created: 1 */
        count;
    uint64_t from;  /* select: the parent; created: the child; or 0. back ends before it */
    uint32_t depth; /* select: depth of name; create: of the child. created ends before it */
    uint32_t unused;
} tern_mcts_message;

/* Flag in a slot: the token was simulated at an edge that has no node. */
#define TERN_MCTS_LOOSE (UINT32_C(1) << 30)

typedef enum tern_mcts_kind {
    TERN_MCTS_SELECT,
    TERN_MCTS_CREATE,
    TERN_MCTS_CREATED,
    TERN_MCTS_BACK,
    TERN_MCTS_SIMULATE, /* this kind and the next occur only in records */
    TERN_MCTS_RETRY     /* tokens back at an edge whose node could not be made */
} tern_mcts_kind;

/* A kept message, a simulation, or tokens to go on. A worker takes it from its own list, and gives
 * it back to the worker from which it came. */
typedef struct tern_mcts_record {
    struct tern_mcts_record *next;
    struct tern_mcts_worker *home;
    tern_mcts_kind kind;
    uint32_t target; /* of a message: the number of the target worker */
    tern_mcts_message message;
    _Alignas(16) char state[];
} tern_mcts_record;

typedef struct tern_mcts_list {
    tern_mcts_record *first, **end;
} tern_mcts_list;

/* At a shared node: where a token came from. */
typedef struct tern_mcts_return {
    uint64_t name;
    uint32_t slot;
    uint32_t next; /* index of the next element; 0: none */
} tern_mcts_return;

/* Sums over the edges that lead to a node, while tern_mcts_check runs. */
typedef struct tern_mcts_sums {
    uint64_t edges, visits, won;
} tern_mcts_sums;

/* A worker's part of the search. Only the worker's thread writes it, with three exceptions: other
 * threads of the process push on the stacks inbox and returned, and, unless calls_only is set,
 * count in the nodes of the slab. idle and each stack have a cache line of their own. */
typedef struct tern_mcts_worker {
    tern_mcts_slab slab;
    struct tern_search *search;
    tern_worker *worker; /* in the current run */
    uint32_t number;     /* rank * workers + index */
    uint32_t index;
    tern_random random;
    tern_mcts_record *records; /* list of free records */
    tern_mcts_list work;       /* simulations and tokens of this worker */
    tern_mcts_list kept;       /* messages that did not fit into a ring yet */
    struct tern_mcts_chunk *chunks;
    tern_mcts_return *returns; /* of shared nodes; element 0 is not used */
    uint32_t returns_free, returns_size;
    uint64_t run, round; /* numbers of the last run and round in which the worker took part */
    uint32_t back;       /* rollouts that came back here and are still counted in tokens */
    bool alone;          /* no other thread touches its nodes */
    bool policy_set;
    /* The worker's last simulation took longer than calls to remote ranks may wait. */
    bool slow;
    uint32_t *moves;      /* moves_max elements */
    char *state, *played; /* one state each */
    tern_search_statistics statistics;
    tern_mcts_sums *sums;                           /* by node; NULL: no check is running */
    _Alignas(64) atomic_bool idle;                  /* 1: it has nothing to do; a hint for others */
    _Alignas(64) _Atomic(tern_mcts_record *) inbox; /* simulations from other workers */
    _Alignas(64) _Atomic(tern_mcts_record *) returned;
} tern_mcts_worker;

struct tern_search {
    tern_context *context;
    uint32_t rank, size; /* of the context */
    bool remote;         /* some ranks share no memory with this one */
    tern_part *part;     /* messages find the search by it */
    tern_game game;
    tern_search_options options; /* with defaults filled in */
    float share;                 /* converts won / visits to a share of the points */
    uint32_t workers;            /* workers of each process */
    uint32_t all;                /* workers of all processes */
    uint64_t nonce;
    tern_mcts_worker *worker;
    char *root_state;
    uint64_t root;          /* name; 0: no state yet */
    uint32_t plies;         /* moves played since the tree was planted: depth of the root in it */
    bool forgotten;         /* shared nodes may have lost parents */
    tern_mcts_node *marked; /* marked nodes whose children are not marked yet */

    /* A run. Worker 0 of each process is its leader. Each of the next seven numbers only grows.
     * Each is written by release and waited for by acquire (tern_mcts_await), so a thread that sees
     * the number also sees what was done before it was written. last is the exception: it is
     * relaxed, because over follows it. */
    atomic_uint_fast64_t run;  /* number of the run that has begun */
    atomic_uint_fast64_t over; /* number of the round that is over: it has no token left */
    /* Workers that have nothing left to send, added up over all rounds. */
    atomic_uint_fast64_t stopped;
    atomic_uint_fast64_t quiet;    /* number of the round of which nothing is under way */
    atomic_uint_fast64_t finished; /* number of the run whose result is ready */
    atomic_uint_fast64_t last;     /* number of the round that ended, or will end, a run */
    /* Workers other than the leader that know how a run began, added up over all runs. */
    atomic_uint_fast64_t heard;
    tern_status begun; /* status with which the run began */
    char begun_why[256];
    tern_search_limits limits;
    uint64_t began, until; /* times of this process (tern_now); until 0: no limit */
    tern_search_result result;
    tern_search_move *result_moves;
    uint32_t *result_line;
    uint64_t result_rollouts; /* of this run, so far */

    /* The first failure. A thread claims failing, writes why, and then stores failed by release;
     * tern_mcts_failure acquires failed and reads why. */
    atomic_bool failing;
    _Atomic tern_status failed;
    char why[256];
    /* The rank that the leader was told has died, or TERN_NO_RANK. Only the leader uses it. */
    uint32_t dead;

    /* Used in the process that owns the root: rollouts still to be started in this round, times
     * TERN_MCTS_START, plus the rollouts under way. The leader stores it by release; workers take
     * from it and give back to it by acquire and release; the leader acquires the 0 that ends the
     * round. So the worker that starts further rollouts, and the leader, see what completed
     * rollouts have written. */
    _Alignas(64) atomic_uint_fast64_t tokens;
};

static inline uint64_t tern_mcts_name(uint32_t worker, uint32_t node) {
    return (uint64_t)worker << 32 | node;
}
static inline uint32_t tern_mcts_owner(uint64_t name) { return (uint32_t)(name >> 32); }

/* Returns the owner of a name if it is a worker of this process, else NULL. */
static inline tern_mcts_worker *tern_mcts_local(const tern_search *s, uint64_t name) {
    uint32_t index = tern_mcts_owner(name) - s->rank * s->workers;
    return index < s->workers ? &s->worker[index] : NULL;
}

/* Returns the node if this worker may touch it, else NULL. */
static inline tern_mcts_node *tern_mcts_reach(const tern_mcts_worker *w, uint64_t name) {
    const tern_mcts_worker *owner = tern_mcts_local(w->search, name);
    if (owner == NULL || (owner != w && w->search->options.calls_only))
        return NULL;
    return tern_mcts_node_at(&owner->slab, (uint32_t)name);
}

/* Returns whether a worker may search: it is of the search's context, and no service thread's. */
static inline bool tern_mcts_owns(const tern_search *s, const tern_worker *worker) {
    return tern_worker_context(worker) == s->context && tern_worker_self(worker).index < s->workers;
}

/* Convert a distance below the root to a depth in the tree, and back. */
static inline uint32_t tern_mcts_depth(const tern_search *s, uint32_t below) {
    return below + s->plies;
}
static inline uint32_t tern_mcts_below(const tern_search *s, const tern_mcts_node *node) {
    return node->depth > s->plies ? node->depth - s->plies : 0;
}

/* Converts half points of player 0 to half points of the player who moves at node, and back. */
static inline uint64_t tern_mcts_turn(const tern_mcts_node *node, uint64_t won, uint64_t visits,
                                      uint32_t simulations) {
    return node->player == 0 ? won : 2 * visits * simulations - won;
}

/* Ends the search: no worker waits any more, and all functions of the search return the first such
 * status. */
void tern_mcts_fail(tern_search *search, tern_status status);
/* Returns the first failure, with its text as this thread's detail. */
tern_status tern_mcts_failure(tern_search *search);

/*
 * message.c: the calls between the parts of a search, and how a handler finds the search and its
 * nodes.
 */

/* The kind of the parts of searches (tern/part.h). */
extern const char tern_mcts_part_kind[];

static inline tern_mcts_head tern_mcts_head_to(const tern_search *search) {
    return (tern_mcts_head){search->nonce};
}

/* For handlers: returns the search that a message is for. Returns NULL if the message does not have
 * the due length or the search does not exist. */
tern_search *tern_mcts_search_of(const tern_call_info *call, const void *message, size_t bytes,
                                 size_t due);

/* Returns the node of this process that a name from a call stands for, or NULL if no live node has
 * this name here. */
tern_mcts_node *tern_mcts_node_of(const tern_search *search, uint64_t name);

/* Returns the status for a handler in which one of the two functions above returned NULL. */
tern_status tern_mcts_stray(void);

/*
 * Functions for the time between runs, when nothing is under way. The calling worker of each rank
 * then touches all nodes of its process.
 */

/* Begins the collective function called name. Returns TERN_OK if the worker may call it now; then
 * tern_collective_end ends it. */
tern_status tern_mcts_begin(tern_worker *worker, tern_search *search, const char *name);

/* Makes an empty tree for search->root_state. Every rank calls it. */
tern_status tern_mcts_plant(tern_search *search);

/* For tests. Collective. Checks that all counts add up: the visits of a node are those of its edges
 * and its own; the visits and points of an edge are those of its child, and its own of the time
 * without a child. Returns TERN_ERR_STATE with a text that says what differs. */
tern_status tern_mcts_check(tern_worker *worker, tern_search *search);

/* result.c: the result of a run. */

/* Most moves of a principal variation. */
enum { TERN_MCTS_LINE = 128 };

/* Fills search->result on every rank. The leader of each rank calls it while nothing is under
 * way. */
tern_status tern_mcts_result(tern_mcts_worker *w);

/* round.c: a round of rollouts, and each worker's part in it. */

/* The plan of a round: so many rollouts, if the time suffices. The leader of the process that owns
 * the root makes it, while nothing is under way. last: no round follows. */
typedef struct tern_mcts_round {
    uint64_t rollouts;
    bool last;
} tern_mcts_round;

/* Returns whether this process owns the root. */
bool tern_mcts_has_root(const tern_search *search);

/* Works until round number is over and nothing of it is under way. plan is NULL except for the
 * leader that has the root. */
tern_status tern_mcts_round_run(tern_mcts_worker *w, uint64_t number, const tern_mcts_round *plan);

/* Waits until *word is value or more, and makes progress meanwhile. */
tern_status tern_mcts_await(tern_mcts_worker *w, atomic_uint_fast64_t *word, uint64_t value);

#endif
