#ifndef TERN_MCTS_SLAB_H
#define TERN_MCTS_SLAB_H

/*
 * Memory for nodes and their edges, one slab for each worker. All nodes have one size and grow from
 * the beginning of the slab, so an index names a node. Edges are allocated when a token first
 * leaves a node by a move, and grow from the end of the slab. Only the worker that has the slab
 * allocates; all threads of the process read nodes and count in them, unless calls_only is set.
 *
 * A node (a multiple of 64 bytes):
 *
 *     0     visits, edges, parent         64    chain, next
 *     24    slot, depth, returns          72    above
 *     36    player, result, live, marked  80    state
 *     40    own_visits, own_won, hash
 *
 * The edges of a node with n moves (from a cache line's start):
 *
 *     0               free, count, next, class
 *     24              n pairs of 16 bytes: visits, won
 *     24 + 16 * n     n links of 32 bytes: child, loose_visits, loose_won, deferred, move
 *     next line       values of 8 moves each, one line: 8 times share, 8 times seldom
 *
 * During a run every thread of the process (with calls_only, the owner's alone) writes the counters
 * visits, won, own_visits, own_won, loose_visits, loose_won and deferred, and next, child and the
 * values. The worker that has the slab writes the other fields before others can reach the node or
 * the edges, with two exceptions: any thread may set a node's edges, by one compare-and-swap, and
 * the owner changes returns and depth of a shared node. Between runs only one worker of each rank
 * touches nodes and edges.
 *
 * A step down the tree reads the first line of a node and the values of the moves that have been
 * tried. It writes one pair, the values of that move and the node's visits, and reads one link.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tern_mcts_pair {
    atomic_uint_fast64_t visits; /* tokens that took this move */
    atomic_uint_fast64_t won;    /* half points of those that are back, for the player who moves */
} tern_mcts_pair;

/* The values that the scan for the best move reads. A thread that has changed a pair computes them
 * from the pair, so that the scan needs no division and no root. Of two threads that do so at once,
 * the slower may store values that miss the other's change. The next token that takes the move
 * corrects them, and the pair itself is always exact. A line holds as many moves as one step of the
 * scan takes (mcts/scan.h). */
#define TERN_MCTS_LANES 8
typedef struct tern_mcts_values {
    _Alignas(64) _Atomic float share[TERN_MCTS_LANES]; /* won / all that the visits could win */
    _Atomic float seldom[TERN_MCTS_LANES];             /* 1 / sqrt(visits); 0: not drawn yet */
} tern_mcts_values;

/* child is the name of a node, TERN_MCTS_MAKING while that node is being made, or 0 if the move has
 * no child. */
#define TERN_MCTS_MAKING UINT64_MAX
typedef struct tern_mcts_link {
    atomic_uint_fast64_t child;
    /* Tokens that were simulated without a node, because there was no memory for one. */
    atomic_uint_fast64_t loose_visits, loose_won;
    atomic_uint deferred; /* tokens that wait for the child */
    uint32_t move;
} tern_mcts_link;

typedef struct tern_mcts_edges {
    struct tern_mcts_edges *free; /* next free edges of the class */
    uint32_t count;
    /* The moves are in random order. Moves before this index have been tried. */
    atomic_uint next;
    uint32_t class; /* number of its size */
    tern_mcts_pair pair[];
    /* Links and values follow. */
} tern_mcts_edges;

typedef struct tern_mcts_node {
    atomic_uint_fast64_t visits;
    _Atomic(tern_mcts_edges *) edges; /* NULL: no token has left the node yet */
    uint64_t parent;                  /* name; 0: the root, or a shared node */
    uint32_t slot;                    /* edge of the parent */
    uint32_t depth;                   /* greatest depth at which it was met, from the first root */
    uint32_t returns;                 /* of a shared node: where its tokens came from */
    uint8_t player;                   /* to move, if the game is open */
    uint8_t result;                   /* a tern_game_result */
    uint8_t live, marked;
    atomic_uint_fast64_t own_visits; /* tokens that ended here and are back */
    atomic_uint_fast64_t own_won;    /* half points of player 0 */
    uint64_t hash;
    uint32_t chain;               /* next node with the same head */
    uint32_t next;                /* of a free node: the next free node */
    struct tern_mcts_node *above; /* of a marked node: next in the list of tern_search.marked */
    _Alignas(16) char state[];
} tern_mcts_node;

enum { TERN_MCTS_CLASSES = 136 };

typedef struct tern_mcts_slab {
    /* Fields that other threads need to reach a node. */
    char *memory;
    size_t bytes;
    size_t node_bytes;
    uint32_t *heads; /* first nodes by hash; NULL: nodes are not shared */
    uint32_t heads_mask;
    /* Fields that the owner writes all the time, therefore in another cache line. Other threads
     * read only nodes, once for each name that comes in a call. */
    _Alignas(64) size_t edges_at; /* offset of the lowest edges */
    /* Indices below it have been used; index 0 never is. The owner stores it by release after it
     * has written the new node; tern_mcts_node_of acquires it for a name that comes in a call. */
    atomic_uint nodes;
    uint32_t free_nodes;
    tern_mcts_edges *free_edges[TERN_MCTS_CLASSES];
} tern_mcts_slab;

static inline tern_mcts_node *tern_mcts_node_at(const tern_mcts_slab *slab, uint32_t index) {
    return (tern_mcts_node *)(void *)(slab->memory + index * slab->node_bytes);
}

static inline tern_mcts_link *tern_mcts_links(tern_mcts_edges *edges) {
    return (tern_mcts_link *)(void *)(edges->pair + edges->count);
}

static inline size_t tern_mcts_values_at(uint32_t count) {
    size_t before =
        sizeof(tern_mcts_edges) + (size_t)count * (sizeof(tern_mcts_pair) + sizeof(tern_mcts_link));
    return (before + sizeof(tern_mcts_values) - 1) / sizeof(tern_mcts_values) *
           sizeof(tern_mcts_values);
}

static inline tern_mcts_values *tern_mcts_values_of(tern_mcts_edges *edges) {
    return (tern_mcts_values *)(void *)((char *)edges + tern_mcts_values_at(edges->count));
}

static inline tern_mcts_edges *tern_mcts_edges_of(const tern_mcts_node *node) {
    /* R1: edges_for */
    return atomic_load_explicit(&node->edges, memory_order_acquire);
}

/* Opens a slab. If shared is set, bytes include the table of heads. Returns false if the system
 * does not provide the memory. */
bool tern_mcts_slab_open(tern_mcts_slab *slab, size_t bytes, size_t state_bytes, bool shared);
void tern_mcts_slab_close(tern_mcts_slab *slab);
/* Empties the slab. */
void tern_mcts_slab_clear(tern_mcts_slab *slab);

/* Returns the smallest size in bytes of a slab in which a node with moves_max moves fits. */
size_t tern_mcts_slab_least(size_t state_bytes, uint32_t moves_max);

/* Allocates a node. All its fields are zero except live; its state is undefined. Returns 0 if there
 * is no room. */
uint32_t tern_mcts_node_take(tern_mcts_slab *slab);
void tern_mcts_node_give(tern_mcts_slab *slab, uint32_t index);

/* Allocates edges. All fields are zero except count and class. Returns NULL if there is no room. */
tern_mcts_edges *tern_mcts_edges_take(tern_mcts_slab *slab, uint32_t count);
void tern_mcts_edges_give(tern_mcts_slab *slab, tern_mcts_edges *edges);

/* Shared nodes: find returns the index of the node with a hash, or 0; enter adds a node. */
uint32_t tern_mcts_slab_find(const tern_mcts_slab *slab, uint64_t hash);
void tern_mcts_slab_enter(tern_mcts_slab *slab, uint32_t index);

#endif
