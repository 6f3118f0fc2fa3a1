#include <string.h>

#include "base/process.h"
#include "mcts/search.h"
#include "tern/agree.h"

/*
 * Playing a move: the move's node becomes the root, and the part of the tree below it stays. Each
 * rank marks the nodes that others tell it of and the nodes that it reaches from there, all in its
 * own slabs. It tells the other ranks which of their nodes are children of its nodes. When no rank
 * has anything left to mark, each rank frees its unmarked nodes. A list through the nodes
 * themselves holds the marked nodes whose children are not marked yet, so a handler only has to add
 * to that list.
 */

typedef struct mark {
    tern_mcts_head head;
    uint64_t name;
} mark;

static void mark_local(tern_search *s, uint64_t name) {
    tern_mcts_node *node = tern_mcts_node_of(s, name);
    if (node == NULL || node->marked)
        return;
    node->marked = 1;
    node->above = s->marked;
    s->marked = node;
}

static tern_status tern_mcts_on_mark(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_search *s = tern_mcts_search_of(call, arguments, bytes, sizeof(mark));
    if (s == NULL)
        return tern_mcts_stray();
    mark m;
    tern_read_once(&m, arguments, sizeof m);
    mark_local(s, m.name);
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_mark)

/* Marks the children of one node. */
static tern_status mark_children(tern_worker *worker, tern_search *s, tern_mcts_edges *edges) {
    tern_status status = TERN_OK;
    for (uint32_t i = 0; edges != NULL && i < edges->count && status == TERN_OK; i++) {
        /* R9: tern_mcts_await; behind a round that is quiet */
        uint64_t child =
            atomic_load_explicit(&tern_mcts_links(edges)[i].child, memory_order_relaxed);
        uint32_t rank = tern_mcts_owner(child) / s->workers;
        if (child == 0)
            continue;
        if (rank == s->rank) {
            mark_local(s, child);
            continue;
        }
        mark m = {tern_mcts_head_to(s), child};
        status = tern_call(worker, (tern_worker_id){rank, tern_worker_self(worker).index},
                           &tern_mcts_on_mark_function, &m, sizeof m);
    }
    return status;
}

static tern_status mark_all(tern_worker *worker, tern_search *s) {
    tern_status status = TERN_OK;
    mark_local(s, s->root);
    for (uint64_t left = 1; left > 0 && status == TERN_OK;) {
        while (s->marked != NULL && status == TERN_OK) {
            tern_mcts_node *node = s->marked;
            s->marked = node->above;
            status = mark_children(worker, s, tern_mcts_edges_of(node));
        }
        if (status == TERN_OK)
            status = tern_quiesce(worker);
        left = s->marked != NULL;
        if (status == TERN_OK)
            status = tern_sum(worker, &left, 1);
    }
    return status;
}

/* A node's edges may lie in the slab of another worker than the node. */
static void free_edges(tern_search *s, tern_mcts_edges *edges) {
    for (uint32_t i = 0; i < s->workers && edges != NULL; i++) {
        tern_mcts_slab *slab = &s->worker[i].slab;
        size_t at = (size_t)((uintptr_t)edges - (uintptr_t)slab->memory);
        if (at < slab->bytes) {
            tern_mcts_edges_give(slab, edges);
            return;
        }
    }
}

static void advance_sweep(tern_search *s, tern_mcts_slab *slab) {
    /* R5 */
    uint32_t used = atomic_load_explicit(&slab->nodes, memory_order_relaxed);
    if (slab->heads != NULL)
        memset(slab->heads, 0, (slab->heads_mask + (size_t)1) * sizeof *slab->heads);
    for (uint32_t i = 1; i < used; i++) {
        tern_mcts_node *node = tern_mcts_node_at(slab, i);
        if (node->live && !node->marked) {
            free_edges(s, tern_mcts_edges_of(node));
            tern_mcts_node_give(slab, i);
        } else if (node->live && slab->heads != NULL) {
            tern_mcts_slab_enter(slab, i);
        }
        node->marked = 0;
    }
}

/* Returns the child that the move leads to, or 0 if the move has no child. */
static uint64_t advance_child_of(const tern_search *s, uint32_t move) {
    const tern_mcts_node *root = tern_mcts_node_of(s, s->root);
    tern_mcts_edges *edges = tern_mcts_edges_of(root);
    for (uint32_t i = 0; edges != NULL && i < edges->count; i++)
        if (tern_mcts_links(edges)[i].move == move)
            /* R9: tern_mcts_await; behind a round that is quiet */
            return atomic_load_explicit(&tern_mcts_links(edges)[i].child, memory_order_relaxed);
    return 0;
}

/* Makes the child the root on all ranks, or makes a new root if there is no child. */
static tern_status find_root(tern_worker *worker, tern_search *s, uint32_t move) {
    uint64_t child = tern_mcts_has_root(s) ? advance_child_of(s, move) : 0;
    tern_status status = tern_sum(worker, &child, 1);
    if (status != TERN_OK)
        return status;
    s->root = child;
    s->game.play(s->root_state, move, s->game.argument);
    if (child == 0)
        return tern_agree(worker, tern_mcts_plant(s), "tern_search_advance");
    tern_mcts_node *root = tern_mcts_node_of(s, child);
    if (root != NULL)
        root->parent = 0;
    s->forgotten = true;
    s->plies++;
    return TERN_OK;
}

static tern_status check_move(const tern_search *s, uint32_t move) {
    uint32_t *moves = s->worker[0].moves, count = 0;
    if (s->root == 0)
        return tern_fail(TERN_ERR_STATE,
                         "tern_search_advance: the search has no state; call tern_search_reset");
    if (s->game.result(s->root_state, s->game.argument) == TERN_GAME_OPEN)
        count = s->game.moves(s->root_state, moves, s->game.argument);
    for (uint32_t i = 0; i < count && i < s->game.moves_max; i++)
        if (moves[i] == move)
            return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT,
                     "tern_search_advance: move %u is not one of the %u moves of '%s'", move, count,
                     s->game.name);
}

static tern_status advance_search(tern_worker *worker, tern_search *s, uint32_t move,
                                  const char *name) {
    tern_status status = tern_agree(worker, check_move(s, move), name);
    if (status == TERN_OK)
        status = tern_same(worker, &move, sizeof move, "the move of tern_search_advance");
    if (status != TERN_OK)
        return status;
    status = find_root(worker, s, move);
    if (status == TERN_OK)
        status = mark_all(worker, s);
    for (uint32_t i = 0; i < s->workers && status == TERN_OK; i++)
        advance_sweep(s, &s->worker[i].slab);
    /* No rank may look for nodes here before this rank has freed its own. */
    if (status == TERN_OK)
        status = tern_agree(worker, TERN_OK, name);
    if (status != TERN_OK)
        tern_mcts_fail(s, status);
    return status;
}

tern_status tern_search_advance(tern_worker *worker, tern_search *s, uint32_t move) {
    static const char name[] = "tern_search_advance";
    tern_status status = tern_mcts_begin(worker, s, name);
    if (status != TERN_OK)
        return status;
    status = advance_search(worker, s, move, name);
    tern_collective_end(worker);
    return status;
}
