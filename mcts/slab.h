#ifndef TERN_MCTS_SLAB_H
#define TERN_MCTS_SLAB_H

/*
 * Nodes and their edges, from memory of each worker. Nodes are of one size and grow from the slab's
 * beginning, so that an index names one; edges are made when a node is first left by one of its
 * moves, and grow from the slab's end. Only the worker that has the slab allocates; all of the
 * process read and count.
 *
 * A node and its first lines, as a step down touches them:
 *
 *     node    | visits edges parent slot depth ... own | state
 *     edges   | count next | visits won | visits won | ... | child move | ... | 8 shares 8 seldom |
 *             | ...
 *
 * The step reads the node's first line and the values of those moves that have been tried, and
 * writes one pair, its value and the node's visits; of the links it reads one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tern_mcts_pair {
    atomic_uint_fast64_t visits; /* tokens that went this way */
    atomic_uint_fast64_t won;    /* half points of those that are back, of the player who moves */
} tern_mcts_pair;

/* What a scan for the best move reads, made from the pair by whoever has just changed it, so that
 * the scan takes neither division nor root. Of two at once the slower may leave what it saw before
 * the other: the next that passes mends it, and the pair itself is always exact. A line holds as
 * many moves as the scan takes at a time (mcts/scan.h). */
#define TERN_MCTS_LANES 8
typedef struct tern_mcts_values {
    _Alignas(64) _Atomic float share[TERN_MCTS_LANES]; /* won, of all that the visits could win */
    _Atomic float seldom[TERN_MCTS_LANES];             /* 1 / sqrt(visits); 0: not drawn yet */
} tern_mcts_values;

/* child: 0, none yet; TERN_MCTS_MAKING; or the name of a node. */
#define TERN_MCTS_MAKING UINT64_MAX
typedef struct tern_mcts_link {
    atomic_uint_fast64_t child;
    atomic_uint_fast64_t loose_visits, loose_won; /* simulated without a node, for want of memory */
    atomic_uint deferred;                         /* tokens that wait for the child */
    uint32_t move;
} tern_mcts_link;

typedef struct tern_mcts_edges {
    struct tern_mcts_edges *free; /* the next one that is */
    uint32_t count;
    atomic_uint next; /* moves before it, which are in random order, have been tried */
    uint32_t class;   /* of its size */
    tern_mcts_pair pair[];
    /* then count links, then, at a line's start, the values of count moves */
} tern_mcts_edges;

typedef struct tern_mcts_node {
    atomic_uint_fast64_t visits;
    _Atomic(tern_mcts_edges *) edges; /* NULL: a leaf */
    uint64_t parent;                  /* name; 0: the root, or a node that is shared */
    uint32_t slot;                    /* at the parent */
    uint32_t depth;                   /* as deep as it was ever met, from the first root */
    uint32_t returns;                 /* of a shared node: where its tokens came from */
    uint8_t player;                   /* to move, while open */
    uint8_t result;                   /* tern_game_result */
    uint8_t live, marked;
    atomic_uint_fast64_t own_visits; /* tokens that ended here, and are back */
    atomic_uint_fast64_t own_won;    /* half points of player 0 */
    uint64_t hash;
    uint32_t chain;               /* the next node of the same head */
    uint32_t next;                /* while free: the next one that is */
    struct tern_mcts_node *above; /* while marked: the next one of those to be looked at */
    _Alignas(16) char state[];
} tern_mcts_node;

enum { TERN_MCTS_CLASSES = 136 };

typedef struct tern_mcts_slab {
    /* What others need to reach a node. */
    char *memory;
    size_t bytes;
    size_t node_bytes;
    uint32_t *heads; /* of shared nodes, by hash; NULL: none are */
    uint32_t heads_mask;
    /* What the owner writes all the time, hence in another line. Of these others read nodes alone,
     * once for each name that comes in a call. */
    _Alignas(64) size_t edges_at; /* offset of the lowest edges */
    atomic_uint nodes; /* indices below it have been used; 0 never is. Released behind the node it
                          adds, acquired by who gets a name in a call (tern_mcts_node_of) */
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

/* For shared nodes bytes include a table of heads. False: the system has no such memory. */
bool tern_mcts_slab_open(tern_mcts_slab *slab, size_t bytes, size_t state_bytes, bool shared);
void tern_mcts_slab_close(tern_mcts_slab *slab);
/* As it was at first. */
void tern_mcts_slab_clear(tern_mcts_slab *slab);

/* The least that a slab must have for a node with so many moves. */
size_t tern_mcts_slab_least(size_t state_bytes, uint32_t moves_max);

/* A node that is all zero but for its state, which is undefined. 0: no room. */
uint32_t tern_mcts_node_take(tern_mcts_slab *slab);
void tern_mcts_node_give(tern_mcts_slab *slab, uint32_t index);

/* Edges that are all zero but for their count. NULL: no room. */
tern_mcts_edges *tern_mcts_edges_take(tern_mcts_slab *slab, uint32_t count);
void tern_mcts_edges_give(tern_mcts_slab *slab, tern_mcts_edges *edges);

/* Shared nodes. find: 0, none. */
uint32_t tern_mcts_slab_find(const tern_mcts_slab *slab, uint64_t hash);
void tern_mcts_slab_enter(tern_mcts_slab *slab, uint32_t index);

#endif
