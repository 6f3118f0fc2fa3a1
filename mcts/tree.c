#include <math.h>
#include <string.h>

#include "mcts/work.h"
#include "mcts/scan.h"

/*
 * The steps of a token (paper 000, 2.1 and 5.3). The counters of nodes are atomic and relaxed:
 * threads of one process count at the same time, and sums are only compared when nothing is under
 * way. The contents of a node or of its edges are published by a release store and read after an
 * acquire load: of the node's edges, or of the link that names the node. If the name comes in a
 * call, the call orders them.
 */

enum { RELAXED = memory_order_relaxed };

/* Adds to a counter of a node and returns its value before. If no other thread touches the nodes, a
 * plain addition is enough. A locked one waits until all earlier stores have completed, also those
 * into the rings of other processes, and a rollout makes a dozen additions. */
static uint64_t tree_add(const tern_mcts_worker *w, atomic_uint_fast64_t *counter, uint64_t more) {
    if (!w->alone)
        /* R4 */
        return atomic_fetch_add_explicit(counter, more, RELAXED);
    uint64_t before = atomic_load_explicit(counter, RELAXED);
    atomic_store_explicit(counter, before + more, RELAXED);
    return before;
}

/* Returns the next move that has not been tried, or count if all have been. */
static uint32_t tree_draw(const tern_mcts_worker *w, tern_mcts_edges *edges) {
    /* R4 */
    uint32_t next = atomic_load_explicit(&edges->next, RELAXED);
    if (next >= edges->count)
        return edges->count;
    if (!w->alone)
        /* R4 */
        return atomic_fetch_add_explicit(&edges->next, 1, RELAXED);
    atomic_store_explicit(&edges->next, next + 1, RELAXED);
    return next;
}

/* Returns whether this token makes the child of an edge that has none. */
static bool tree_claim(const tern_mcts_worker *w, tern_mcts_link *link, uint64_t *child) {
    if (!w->alone)
        /* R6: tree_settle; one token makes the child */
        return atomic_compare_exchange_strong(&link->child, child, TERN_MCTS_MAKING);
    atomic_store_explicit(&link->child, TERN_MCTS_MAKING, RELAXED);
    return true;
}

/* Computes the values of a pair that this worker has just changed. */
static void tree_renew(const tern_mcts_worker *w, tern_mcts_edges *edges, uint32_t slot) {
    tern_mcts_values *values = &tern_mcts_values_of(edges)[slot / TERN_MCTS_LANES];
    /* R4 */
    int64_t visits = (int64_t)atomic_load_explicit(&edges->pair[slot].visits, RELAXED);
    int64_t won = (int64_t)atomic_load_explicit(&edges->pair[slot].won, RELAXED);
    float one = 1 / (float)visits;
    uint32_t lane = slot % TERN_MCTS_LANES;
    /* R4 */
    atomic_store_explicit(&values->share[lane], (float)won * one * w->search->share, RELAXED);
    atomic_store_explicit(&values->seldom[lane], sqrtf(one), RELAXED);
}

/* UCB: the share of points won, plus a bonus for moves that are seldom visited. A visit that is not
 * back yet has won nothing, so tokens keep away from each other. */
static uint32_t best_of(const tern_mcts_worker *w, const tern_mcts_node *node,
                        tern_mcts_edges *edges) {
    /* R4 */
    const double visits = (double)atomic_load_explicit(&node->visits, RELAXED);
    const float wide = (float)(w->search->options.exploration * sqrt(log(visits)));
    return tern_mcts_scan(tern_mcts_values_of(edges), edges->count, wide);
}

/* Stores the moves in random order, so that the next untried move is a random one. It shuffles in
 * the worker's own memory, which is in its caches, and writes each move to the edges once. */
static void tree_shuffle(tern_mcts_worker *w, tern_mcts_edges *edges) {
    tern_mcts_link *links = tern_mcts_links(edges);
    for (uint32_t i = edges->count; i-- > 0;) {
        uint32_t j = tern_random_below(&w->random, i + 1), move = w->moves[j];
        w->moves[j] = w->moves[i];
        links[i].move = move;
    }
}

/* Returns the node's edges, and makes them if it has no edges yet. Returns NULL if there is no
 * room. */
static tern_mcts_edges *edges_for(tern_mcts_worker *w, tern_mcts_node *node) {
    const tern_game *game = &w->search->game;
    tern_mcts_edges *edges = tern_mcts_edges_of(node);
    if (edges != NULL)
        return edges;
    uint32_t count = game->moves(node->state, w->moves, game->argument);
    if (count == 0 || count > game->moves_max) {
        tern_mcts_fail(w->search,
                       tern_fail(TERN_ERR_ARGUMENT,
                                 "the game '%s' gives %u moves for a state that is not over; "
                                 "moves_max is %u",
                                 game->name, count, game->moves_max));
        return NULL;
    }
    tern_mcts_edges *made = tern_mcts_edges_take(&w->slab, count);
    if (made == NULL) {
        w->statistics.refused++;
        return NULL;
    }
    tree_shuffle(w, made);
    /* Two threads may come here at once; the edges of the thread that stores first stay. */
    /* R1: tern_mcts_edges_of */
    if (atomic_compare_exchange_strong_explicit(&node->edges, &edges, made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    tern_mcts_edges_give(&w->slab, made);
    return edges;
}

/* Returns the edge by which a token leaves the node, and counts its visit. Returns TERN_MCTS_OWN if
 * there is no room for edges. */
static uint32_t tree_choose(tern_mcts_worker *w, tern_mcts_node *node) {
    tern_mcts_edges *edges = edges_for(w, node);
    if (edges == NULL)
        return TERN_MCTS_OWN;
    uint32_t slot = tree_draw(w, edges);
    if (slot >= edges->count)
        slot = best_of(w, node, edges);
    tree_add(w, &edges->pair[slot].visits, 1);
    tree_renew(w, edges, slot);
    return slot;
}

/* Lets the tokens that waited for an edge's child go on: to the child, or, if the child could not
 * be made, to another attempt. */
static void tree_release(tern_mcts_worker *w, tern_mcts_node *node, uint64_t name, uint32_t slot) {
    tern_mcts_link *link = &tern_mcts_links(tern_mcts_edges_of(node))[slot];
    /* R3: at_edge; either it sees the child, or this the token */
    uint32_t count = atomic_load(&link->deferred) != 0 ? atomic_exchange(&link->deferred, 0) : 0;
    if (count == 0)
        return;
    uint64_t child = atomic_load(&link->child);
    bool there = child != 0 && child != TERN_MCTS_MAKING;
    tern_mcts_message m = {.name = child, .slot = slot, .count = count, .from = name};
    m.depth = tern_mcts_below(w->search, node) + 1;
    if (there && tern_mcts_reach(w, child) == NULL) {
        tern_mcts_send(w, TERN_MCTS_SELECT, tern_mcts_owner(child), &m, NULL);
        return;
    }
    /* The tokens go on from a record, not from here: otherwise a chain of such edges would become a
     * chain of nested function calls. */
    tern_mcts_record *record = tern_mcts_record_take(w);
    if (record == NULL)
        return;
    record->kind = there ? TERN_MCTS_SELECT : TERN_MCTS_RETRY;
    record->message = m;
    if (!there)
        record->message.name = name;
    tern_mcts_append(&w->work, record);
}

static void tree_settle(tern_mcts_worker *w, tern_mcts_node *node, uint64_t name, uint32_t slot,
                        uint64_t child) {
    tern_mcts_link *link = &tern_mcts_links(tern_mcts_edges_of(node))[slot];
    /* Pairs with the addition and the load after it in at_edge: either at_edge sees the child, or
     * the load in release sees the token. */
    /* R3: at_edge; then release looks for tokens */
    atomic_store_explicit(&link->child, child,
                          w->alone ? memory_order_release : memory_order_seq_cst);
    tree_release(w, node, name, slot);
}

void tern_mcts_settle(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint64_t child) {
    tree_settle(w, tern_mcts_reach(w, name), name, slot, child);
}

static uint32_t tree_place(tern_mcts_worker *w, const char *state) {
    const tern_search *s = w->search;
    if (s->options.placement == TERN_PLACE_RANDOM)
        return tern_random_below(&w->random, s->all);
    return (uint32_t)(s->game.hash(state, s->game.argument) % s->all);
}

/* Makes the child of an edge, here or by a call to its owner, which also takes the token. Returns
 * the child if the token is still here, else 0. */
static uint64_t tree_make(tern_mcts_worker *w, tern_mcts_node *node, uint64_t name, uint32_t slot,
                          uint32_t depth) {
    const tern_game *game = &w->search->game;
    memcpy(w->played, node->state, game->state_bytes);
    game->play(w->played, tern_mcts_links(tern_mcts_edges_of(node))[slot].move, game->argument);
    uint32_t owner = tree_place(w, w->played);
    const tern_mcts_worker *local = tern_mcts_local(w->search, tern_mcts_name(owner, 0));
    if (local == NULL || (local != w && w->search->options.calls_only)) {
        tern_mcts_message m = {.name = name, .slot = slot, .count = 1, .depth = depth};
        tern_mcts_send(w, TERN_MCTS_CREATE, owner, &m, w->played);
        return 0;
    }
    /* The drawn owner is in this process, so no call is needed. This worker owns the child, because
     * only the worker's own thread allocates from a slab. */
    uint64_t child = tern_mcts_make(w, w->played, name, slot, depth);
    if (child == 0)
        tern_mcts_simulate(w, w->played, name, slot | TERN_MCTS_LOOSE, depth);
    tree_settle(w, node, name, slot, child);
    return child;
}

/* Moves a token on from an edge. Returns the child to which it goes, or 0 if the token is elsewhere
 * now. */
static uint64_t at_edge(tern_mcts_worker *w, tern_mcts_node *node, uint64_t name, uint32_t slot,
                        uint32_t depth) {
    tern_mcts_link *link = &tern_mcts_links(tern_mcts_edges_of(node))[slot];
    /* R1: tree_settle */
    uint64_t child = atomic_load_explicit(&link->child, memory_order_acquire);
    if (child == 0 && tree_claim(w, link, &child))
        return tree_make(w, node, name, slot, depth);
    if (child != TERN_MCTS_MAKING)
        return child;
    w->statistics.deferred++;
    /* R3: tree_settle, tree_release */
    atomic_fetch_add(&link->deferred, 1);
    if (atomic_load(&link->child) != TERN_MCTS_MAKING)
        tree_release(w, node, name, slot);
    return 0;
}

void tern_mcts_retry(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint32_t count) {
    tern_mcts_node *node = tern_mcts_reach(w, name);
    uint32_t depth = tern_mcts_below(w->search, node) + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t child = at_edge(w, node, name, slot, depth);
        if (child != 0)
            tern_mcts_go(w, child, name, slot, depth);
    }
}

uint64_t tern_mcts_make(tern_mcts_worker *w, const char *state, uint64_t parent, uint32_t slot,
                        uint32_t depth) {
    const tern_game *game = &w->search->game;
    bool shared = w->slab.heads != NULL;
    uint64_t hash = shared ? game->hash(state, game->argument) : 0;
    uint32_t index = shared ? tern_mcts_slab_find(&w->slab, hash) : 0;
    if (index != 0) {
        w->statistics.shared++;
        return tern_mcts_name(w->number, index);
    }
    index = tern_mcts_node_take(&w->slab);
    if (index == 0) {
        w->statistics.refused++;
        return 0;
    }
    tern_mcts_node *node = tern_mcts_node_at(&w->slab, index);
    memcpy(node->state, state, game->state_bytes);
    node->result = (uint8_t)game->result(node->state, game->argument);
    node->player = node->result == TERN_GAME_OPEN && game->player(node->state, game->argument) != 0;
    node->parent = shared ? 0 : parent;
    node->slot = slot;
    node->depth = tern_mcts_depth(w->search, depth);
    node->hash = hash;
    if (shared)
        tern_mcts_slab_enter(&w->slab, index);
    w->statistics.created++;
    return tern_mcts_name(w->number, index);
}

void tern_mcts_go(tern_mcts_worker *w, uint64_t name, uint64_t from, uint32_t slot,
                  uint32_t depth) {
    for (;;) {
        tern_mcts_node *node = tern_mcts_reach(w, name);
        if (node == NULL) {
            tern_mcts_message m = {
                .name = name, .slot = slot, .count = 1, .from = from, .depth = depth};
            tern_mcts_send(w, TERN_MCTS_SELECT, tern_mcts_owner(name), &m, NULL);
            return;
        }
        uint64_t before = tree_add(w, &node->visits, 1);
        w->statistics.visits++;
        if (w->slab.heads != NULL) {
            tern_mcts_return_push(w, node, from, slot);
            uint32_t deep = tern_mcts_depth(w->search, depth);
            node->depth = node->depth > deep ? node->depth : deep;
        }
        uint32_t edge = TERN_MCTS_OWN;
        if (node->result == TERN_GAME_OPEN && before > 0 && depth < TERN_MCTS_DEPTH)
            edge = tree_choose(w, node);
        if (edge == TERN_MCTS_OWN) {
            tern_mcts_simulate(w, node->state, name, TERN_MCTS_OWN, depth);
            return;
        }
        uint64_t child = at_edge(w, node, name, edge, depth + 1);
        if (child == 0)
            return;
        from = name;
        slot = edge;
        name = child;
        depth++;
    }
}

/* Adds the result of a token to a node. */
static void tree_count(const tern_mcts_worker *w, tern_mcts_node *node, uint32_t slot,
                       uint32_t won) {
    if (slot == TERN_MCTS_OWN) {
        tree_add(w, &node->own_visits, 1);
        tree_add(w, &node->own_won, won);
        return;
    }
    tern_mcts_edges *edges = tern_mcts_edges_of(node);
    uint32_t edge = slot & ~TERN_MCTS_LOOSE;
    uint64_t mine = tern_mcts_turn(node, won, 1, w->search->options.simulations);
    tree_add(w, &edges->pair[edge].won, mine);
    tree_renew(w, edges, edge);
    if (slot != edge) {
        tern_mcts_link *link = &tern_mcts_links(edges)[edge];
        tree_add(w, &link->loose_visits, 1);
        tree_add(w, &link->loose_won, mine);
    }
}

void tern_mcts_back(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint32_t won) {
    while (name != 0) {
        tern_mcts_node *node = tern_mcts_reach(w, name);
        if (node == NULL) {
            tern_mcts_message m = {.name = name, .slot = slot, .count = won};
            tern_mcts_send(w, TERN_MCTS_BACK, tern_mcts_owner(name), &m, NULL);
            return;
        }
        tree_count(w, node, slot, won);
        if (w->slab.heads != NULL) {
            tern_mcts_return_pop(w, node, &name, &slot);
        } else {
            name = node->parent;
            slot = node->slot;
        }
    }
    /* The token left the tree at the root, which is therefore in this process. */
    w->statistics.rollouts++;
    w->back++;
}
