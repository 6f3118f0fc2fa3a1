#ifndef TERN_MCTS_H
#define TERN_MCTS_H

/*
 * Monte-Carlo tree search over all workers and ranks (Seriema, paper 000 sections 2.1 and 5.3). The
 * program describes a game (tern/game.h) and calls these functions; tern does all the
 * communication. docs/mcts.md shows a whole program.
 *
 * All workers share one tree. Each node is owned by one worker, which is drawn at random or given
 * by the hash of the state. A rollout goes down from the root by the UCB rule. Where it finds a
 * move that has not been tried, it adds a node, plays some games at random from there, and carries
 * their results back up to the root. Many rollouts are under way at once. Until a rollout is back,
 * its simulations count as visits without wins (virtual loss). Workers of one process work on each
 * other's nodes; work on nodes of other processes is done by calls.
 *
 * A search belongs to a context. Its functions are collective over the ranks. Every worker of every
 * rank calls tern_search_run, each from its own thread. One worker of each rank calls the other
 * functions, with the same index on every rank, while no worker is in tern_search_run. In a handler
 * all of them return TERN_ERR_STATE. After the death of a rank all return TERN_ERR_PEER, and only
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

/* A search over all ranks. Its members are tern's own. */
typedef struct tern_search tern_search;

/* Which worker owns a new node. */
typedef enum tern_search_placement {
    /* Any worker owns a new node, each with the same chance. The search is a tree. If the drawn
     * worker belongs to the process that makes the node, the worker that makes the node owns it
     * instead, in its own share of memory, unless calls_only is set. */
    TERN_PLACE_RANDOM,
    /* The worker that game->hash selects owns a node and knows which of its states have nodes.
     * States with the same hash share one node. Implies calls_only. */
    TERN_PLACE_HASH
} tern_search_placement;

/* Options of a search, the same on every rank. All zero is best for most programs. */
typedef struct tern_search_options {
    /* With one worker and a limit of rollouts, the same seed gives the same run. */
    uint64_t seed;
    /* The constant C of UCB, for scores between 0 and 1. 0: 1.4; less than 0: none. */
    double exploration;
    uint32_t simulations; /* games played from a leaf, at most 65,535. 0: 16 */
    /* The most rollouts under way at a time. 0: 1 if there is one worker, else 16 for each
     * worker. */
    uint32_t under_way;
    /* The most rollouts between two quiescent points. 0: 4096 for each worker. */
    uint64_t round;
    /* Bytes for nodes on each rank. 0: 1 GiB. Each worker uses an equal share, and does not use
     * another worker's share when its own is full. Memory is touched only as the tree grows; the
     * exception is the table of TERN_PLACE_HASH that finds nodes by their hashes, which every
     * creation, reset and advance touches. */
    size_t memory;
    tern_search_placement placement;
    /* 1: only the worker that owns a node touches it, and workers of the same process also call
     * the owner, for creations and all else. 0: only work on nodes of other processes is done by
     * calls. */
    int calls_only;
    /* The publishing policy of all calls between the search's workers from the first run on
     * (tern/call.h). TERN_PUBLISH_BATCHED publishes after 32 bytes for each rollout that a worker
     * may have under way, and at most after TERN_PUBLISH_BYTES. TERN_PUBLISH_WRITE leaves the
     * policy unchanged. Under every policy, all that a worker sends to ranks without shared memory
     * between two looks at its messages goes in one message. */
    tern_publish publish;
} tern_search_options;

/** Creates a search. It has no state before tern_search_reset.
 *
 * @param worker the calling worker
 * @param game the game; the table is copied, but its functions and argument must stay valid
 * @param options the options, or NULL for the defaults
 * @param[out] search the search; the caller destroys it with tern_search_destroy
 * @return TERN_OK; TERN_ERR_ARGUMENT if the game or an option is invalid, or memory is too small
 *     for the first nodes; TERN_ERR_UNSUPPORTED if a state does not fit into the rings
 *     (TERN_RING_SIZE); TERN_ERR_MISMATCH if the ranks differ; TERN_ERR_MEMORY; TERN_ERR_STATE;
 *     TERN_ERR_PEER
 *
 * Blocking: collective, may block. */
TERN_NODISCARD TERN_API tern_status tern_search_create(tern_worker *worker, const tern_game *game,
                                                       const tern_search_options *options,
                                                       tern_search **search);

/** Begins a new search from a state: the tree is empty, and random numbers and statistics begin
 * again.
 *
 * @param worker the calling worker
 * @param search the search
 * @param state the state, the same on every rank; it is copied
 * @return TERN_OK; TERN_ERR_MISMATCH if the states differ; TERN_ERR_ARGUMENT; TERN_ERR_STATE;
 *     TERN_ERR_PEER
 *
 * Blocking: collective, may block. */
TERN_NODISCARD TERN_API tern_status tern_search_reset(tern_worker *worker, tern_search *search,
                                                      const void *state);

/** Plays a move in the search's state. The part of the tree below the move stays; the rest is
 * freed.
 *
 * @param worker the calling worker
 * @param search the search
 * @param move the move, the same on every rank
 * @return TERN_OK; TERN_ERR_ARGUMENT if the state has no such move, and then nothing has changed;
 *     TERN_ERR_MISMATCH if the ranks play different moves; TERN_ERR_STATE if there is no state
 *     yet, or in a handler; TERN_ERR_PEER
 *
 * Blocking: collective, may block. */
TERN_NODISCARD TERN_API tern_status tern_search_advance(tern_worker *worker, tern_search *search,
                                                        uint32_t move);

/* The limits of a run, which ends when the first is reached. 0 means that there is no such
 * limit. */
typedef struct tern_search_limits {
    uint64_t rollouts; /* rollouts of this run */
    /* Time after which no rollout is started; those under way are still completed. A run may thus
     * have no rollout. */
    double seconds;
} tern_search_limits;

/* A move in the search's state. */
typedef struct tern_search_move {
    uint32_t move;
    uint64_t visits; /* rollouts that began with the move, earlier runs included */
    double score;    /* 0 to 1, for the player to move; 0 without visits */
} tern_search_move;

/* What the search knows at the root. The memory belongs to the search, and is valid until its next
 * call. */
typedef struct tern_search_result {
    uint32_t best;                 /* the move with the most visits; undefined if move_count is 0 */
    double score;                  /* score of that move */
    const tern_search_move *moves; /* the moves that have been tried, most visits first */
    size_t move_count;
    /* The principal variation: the most visited move, then the most visited move after it, and so
     * on. */
    const uint32_t *line;
    size_t line_length;
    uint64_t rollouts; /* rollouts of this run */
    double seconds;    /* duration of this run */
} tern_search_result;

/** Searches until a limit is reached. Collective over the ranks and over the workers of each rank.
 *
 * @param worker the calling worker; every worker of the context calls, each from its own thread
 * @param search the search
 * @param limits those of worker 0 of each rank count, and are the same on every rank
 * @param[out] result the same on every worker
 * @return TERN_OK; TERN_ERR_ARGUMENT if there is no limit; TERN_ERR_MISMATCH if the limits differ;
 *     TERN_ERR_STATE if there is no state yet, or its game is over; TERN_ERR_PEER; TERN_ERR_MEMORY
 *     if there was no memory for messages, and then the search is of no more use
 *
 * When its memory is full, the search adds no more nodes. It simulates leaves again, so that
 * scores still improve (tern_search_statistics counts this in refused).
 *
 * Blocking: until the limit is reached and all rollouts have completed. */
TERN_NODISCARD TERN_API tern_status tern_search_run(tern_worker *worker, tern_search *search,
                                                    const tern_search_limits *limits,
                                                    tern_search_result *result);

/* X(field, meaning): counts since the last reset, over all workers. */
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

/* A number for each line of the table. */
typedef struct tern_search_statistics {
#define X(field, meaning) uint64_t field;
    TERN_SEARCH_STATISTICS_TABLE(X)
#undef X
    uint64_t depth_most; /* largest depth of a leaf */
    uint64_t nodes;      /* nodes in the tree now */
} tern_search_statistics;

/** Adds up the statistics of all workers.
 *
 * @param worker the calling worker
 * @param search the search
 * @param[out] statistics the same on every rank
 * @return TERN_OK; TERN_ERR_STATE in a handler; TERN_ERR_PEER
 *
 * Blocking: collective, may block. */
TERN_NODISCARD TERN_API tern_status tern_search_get_statistics(tern_worker *worker,
                                                               tern_search *search,
                                                               tern_search_statistics *statistics);

/** Frees the search. NULL is allowed. After the death of a rank it is local and returns
 * TERN_ERR_PEER. TERN_ERR_MISMATCH: the other ranks are in another collective function; the search
 * stays as it was.
 *
 * Blocking: collective, may block. */
TERN_NODISCARD TERN_API tern_status tern_search_destroy(tern_worker *worker, tern_search *search);

#ifdef __cplusplus
}
#endif

#endif
