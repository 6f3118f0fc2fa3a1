#ifndef TERN_MCTS_H
#define TERN_MCTS_H

/*
 * Monte-Carlo tree search over all workers and ranks (Seriema, paper 000 sections 2.1 and 5.3).
 * The program describes a game (tern/game.h) and calls these functions; all communication is
 * tern's. docs/mcts.md shows a whole program.
 *
 * One tree is shared by all. Each of its nodes is owned by a worker, drawn at random or given by
 * the state's hash. A rollout goes down from the root by UCB, adds a node where it finds a move
 * that nobody has tried, plays some games at random from there and carries what they gave back up.
 * Many are under way at once: each counts as visits without wins until it is back (virtual loss).
 * Workers of one process work on each other's nodes; what lies with other processes is done by
 * calls.
 *
 * A search belongs to a context. Its functions are collective over ranks. tern_search_run is called
 * by every worker of every rank, each by its own thread; the others by one worker of each rank, of
 * the same index everywhere, while no worker is in tern_search_run. None of them may be called in a
 * handler (TERN_ERR_STATE). Once a rank has died all give TERN_ERR_PEER, and only
 * tern_search_destroy is of use.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/config.h"
#include "tern/context.h"
#include "tern/game.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_search tern_search;

typedef enum tern_search_placement {
    TERN_PLACE_RANDOM, /* a new node's owner is any worker, with equal chances. A tree. Where the
                          one drawn is of the process that makes the node, the worker that makes it
                          owns it, in its own share of memory, unless calls_only */
    TERN_PLACE_HASH /* the one that game->hash gives, who knows which states have a node: those of
                       the same hash share it. Implies calls_only */
} tern_search_placement;

/* The same on every rank. All zero: what is best for most. */
typedef struct tern_search_options {
    uint64_t seed;      /* with one worker and a limit of rollouts, a run can be repeated */
    double exploration; /* the constant C of UCB, for scores between 0 and 1. 0: 1.4; less: none */
    uint32_t simulations; /* games played from a leaf, at most 65,535. 0: 16 */
    uint32_t under_way;   /* the most rollouts at a time. 0: 1 for one worker, else 16 for each */
    uint64_t round;       /* the most rollouts between two quiescent points. 0: 4096 a worker */
    size_t memory; /* bytes of nodes on each rank, of which each worker uses an equal share, and no
                      other's when its own is full; touched as the tree grows, but by
                      TERN_PLACE_HASH what finds nodes by their hashes at every creation, reset and
                      advance. 0: 1 GiB */
    tern_search_placement placement;
    int calls_only; /* 1: a node is touched by the worker that owns it alone, also where others
                       share its process: those call it, for creations as for all else. By default
                       calls go to other processes only */
    tern_publish publish; /* policy of all calls between its workers from the first run on (tern/
                             call.h), TERN_PUBLISH_TRAD with 32 bytes for each rollout that a worker
                             may have under way; TERN_PUBLISH_WRITE: leaves it as it is. Under each,
                             what a worker calls ranks that share no memory between two looks at
                             its messages goes in one message */
} tern_search_options;

/* Collective, may block. The game's table is copied; its functions and argument must stay. A search
 * holds a state only after tern_search_reset.
 * TERN_ERR_ARGUMENT: a game or an option that makes no sense, or memory too small for the first
 * nodes; TERN_ERR_UNSUPPORTED: states that do not fit the rings (TERN_RING_SIZE);
 * TERN_ERR_MISMATCH: the ranks differ; TERN_ERR_MEMORY; TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_search_create(tern_worker *worker, const tern_game *game,
                                                       const tern_search_options *options,
                                                       tern_search **search);

/* Collective, may block. Begins anew from state, which is the same on every rank: the tree is
 * empty, random numbers and statistics begin again. TERN_ERR_MISMATCH: states differ;
 * TERN_ERR_ARGUMENT; TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_search_reset(tern_worker *worker, tern_search *search,
                                                      const void *state);

/* Collective, may block. Plays move in the state that the search holds. What lies below it in the
 * tree stays, the rest is freed. TERN_ERR_ARGUMENT: it is no move there, and nothing has changed;
 * TERN_ERR_MISMATCH: the ranks play different ones; TERN_ERR_STATE: no state yet; TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_search_advance(tern_worker *worker, tern_search *search,
                                                        uint32_t move);

/* When a run ends: at the first of these; 0: no such limit. */
typedef struct tern_search_limits {
    uint64_t rollouts; /* so many more */
    double seconds;    /* no rollout is started after, so there may be none; those under way are
                          waited for */
} tern_search_limits;

/* A move of the state that the search holds. */
typedef struct tern_search_move {
    uint32_t move;
    uint64_t visits; /* rollouts that began with it, those of earlier runs included */
    double score;    /* 0 to 1, for the player to move; 0 without visits */
} tern_search_move;

/* What is known at the root. Its memory is the search's, and goes with the next of its calls. */
typedef struct tern_search_result {
    uint32_t best;                 /* the move with the most visits; nothing if move_count is 0 */
    double score;                  /* that move's */
    const tern_search_move *moves; /* that have been tried, most visits first */
    size_t move_count;
    const uint32_t *line; /* the principal variation: the most visited move, the most visited one
                             after it, and so on */
    size_t line_length;
    uint64_t rollouts; /* of this run */
    double seconds;    /* that it took */
} tern_search_result;

/* Collective over ranks and over the workers of each, may block. Searches until a limit is reached,
 * those that worker 0 of each rank gives, and the same on every rank. [out] result, the same for
 * all. At the limit of memory no nodes are added: leaves are simulated again, and scores still get
 * better (tern_search_statistics counts them as refused). TERN_ERR_ARGUMENT: no limit;
 * TERN_ERR_MISMATCH; TERN_ERR_STATE: no state yet, or its game is over; TERN_ERR_PEER;
 * TERN_ERR_MEMORY: none was left for messages, and the search is of no more use. */
TERN_NODISCARD TERN_API tern_status tern_search_run(tern_worker *worker, tern_search *search,
                                                    const tern_search_limits *limits,
                                                    tern_search_result *result);

/* X(field, meaning): since the last reset, over all workers. */
#define TERN_SEARCH_STATISTICS_TABLE(X)                                                            \
    X(rollouts, "rollouts completed")                                                              \
    X(visits, "nodes that rollouts came by, leaves included")                                      \
    X(completions, "leaves that were simulated, or whose game was over")                           \
    X(created, "nodes added")                                                                      \
    X(shared, "times a state had a node already, by its hash")                                     \
    X(refused, "times that a node or its moves found no memory; its state was simulated")          \
    X(deferred, "selections that waited for a node to be made")                                    \
    X(kept, "messages that did not fit a ring at once")                                            \
    X(calls, "calls made")                                                                         \
    X(bytes, "bytes of calls, headers and states included")                                        \
    X(depth_sum, "sum of the depths of simulated leaves; over completions: their mean")            \
    X(idle_ns, "nanoseconds in which workers had nothing to do, in runs")                          \
    X(run_ns, "nanoseconds that workers spent in runs")

typedef struct tern_search_statistics {
#define X(field, meaning) uint64_t field;
    TERN_SEARCH_STATISTICS_TABLE(X)
#undef X
    uint64_t depth_most; /* of a leaf */
    uint64_t nodes;      /* in the tree now */
} tern_search_statistics;

/* Collective, may block. [out] statistics: the same on every rank. TERN_ERR_PEER. */
TERN_NODISCARD TERN_API tern_status tern_search_get_statistics(tern_worker *worker,
                                                               tern_search *search,
                                                               tern_search_statistics *statistics);

/* Collective, may block; local after the death of a rank (TERN_ERR_PEER). Frees everything. NULL is
 * fine. TERN_ERR_MISMATCH: the other ranks are in another collective function; the search stays as
 * it was. */
TERN_NODISCARD TERN_API tern_status tern_search_destroy(tern_worker *worker, tern_search *search);

#ifdef __cplusplus
}
#endif

#endif
