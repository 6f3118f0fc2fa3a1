#include <stdlib.h>

#include "base/process.h"
#include "mcts/search.h"

/* Checks that every count that went up the tree is accounted for. Each rank adds up the counts of
 * the edges that lead to its nodes, and compares the sums with the counts of the nodes. */

typedef struct claim {
    tern_mcts_head head;
    uint64_t name;
    uint64_t visits, won; /* half points of player 0 */
} claim;

static tern_status search_receive(tern_search *s, const claim *c) {
    const tern_mcts_node *node = tern_mcts_node_of(s, c->name);
    if (node == NULL)
        return tern_mcts_stray();
    tern_mcts_sums *sums = &tern_mcts_local(s, c->name)->sums[(uint32_t)c->name];
    sums->edges++;
    sums->visits += c->visits;
    sums->won += c->won;
    return TERN_OK;
}

static tern_status tern_mcts_on_claim(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_search *s = tern_mcts_search_of(call, arguments, bytes, sizeof(claim));
    if (s == NULL || s->worker[0].sums == NULL)
        return tern_mcts_stray();
    claim c;
    tern_read_once(&c, arguments, sizeof c);
    return search_receive(s, &c);
}
TERN_FUNCTION(tern_mcts_on_claim)

static tern_status search_wrong(uint64_t name, const char *what, uint64_t is, uint64_t due) {
    return tern_fail(TERN_ERR_STATE, "node %u of worker %u: %s %llu, and %llu are due",
                     (uint32_t)name, tern_mcts_owner(name), what, (unsigned long long)is,
                     (unsigned long long)due);
}

/* Checks one edge. If the edge has a child, it reports its counts to the child's owner. If it has
 * none, its own loose counts must explain all of them. */
static tern_status check_edge(tern_worker *worker, tern_search *s, const tern_mcts_node *node,
                              uint64_t name, uint32_t slot) {
    tern_mcts_edges *edges = tern_mcts_edges_of(node);
    tern_mcts_link *link = &tern_mcts_links(edges)[slot];
    uint64_t child = link->child, visits = edges->pair[slot].visits;
    uint64_t won = tern_mcts_turn(node, edges->pair[slot].won, visits, s->options.simulations);
    uint64_t loose_won =
        tern_mcts_turn(node, link->loose_won, link->loose_visits, s->options.simulations);
    uint32_t rank = tern_mcts_owner(child) / s->workers;
    if (link->deferred != 0 || child == TERN_MCTS_MAKING)
        return search_wrong(name, "tokens that still wait", link->deferred, 0);
    if (child == 0 && link->loose_visits != visits)
        return search_wrong(name, "visits of an edge without a node", visits, link->loose_visits);
    if (child == 0 && loose_won != won)
        return search_wrong(name, "points of an edge without a node", won, loose_won);
    if (child == 0)
        return TERN_OK;
    claim c = {tern_mcts_head_to(s), child, visits - link->loose_visits, won - loose_won};
    return rank == s->rank
               ? search_receive(s, &c)
               : tern_call(worker, (tern_worker_id){rank, tern_worker_self(worker).index},
                           &tern_mcts_on_claim_function, &c, sizeof c);
}

static tern_status check_node(tern_worker *worker, tern_search *s, uint64_t name) {
    const tern_mcts_node *node = tern_mcts_node_of(s, name);
    tern_mcts_edges *edges = node != NULL ? tern_mcts_edges_of(node) : NULL;
    uint64_t visits = 0;
    tern_status status = TERN_OK;
    if (node == NULL)
        return TERN_OK;
    for (uint32_t i = 0; edges != NULL && i < edges->count && status == TERN_OK; i++) {
        visits += edges->pair[i].visits;
        status = check_edge(worker, s, node, name, i);
    }
    if (status == TERN_OK && visits + node->own_visits != node->visits)
        status = search_wrong(name, "visits are", node->visits, visits + node->own_visits);
    if (status == TERN_OK && node->returns != 0)
        status = search_wrong(name, "tokens to go back to", node->returns, 0);
    return status;
}

/* Returns the half points of player 0 that the node has, by its edges and its own. */
static uint64_t won_of(const tern_search *s, const tern_mcts_node *node) {
    tern_mcts_edges *edges = tern_mcts_edges_of(node);
    uint64_t won = node->own_won;
    for (uint32_t i = 0; edges != NULL && i < edges->count; i++)
        won +=
            tern_mcts_turn(node, edges->pair[i].won, edges->pair[i].visits, s->options.simulations);
    return won;
}

static tern_status check_sums(const tern_search *s, const tern_mcts_worker *w, uint32_t index) {
    uint64_t name = tern_mcts_name(w->number, index);
    const tern_mcts_node *node = tern_mcts_node_of(s, name);
    const tern_mcts_sums *sums = &w->sums[index];
    /* The edges that led to the root, and some of those that led to shared nodes, may have been
     * freed. */
    if (node == NULL || name == s->root)
        return TERN_OK;
    if (sums->edges == 0)
        return search_wrong(name, "edges to it", 0, 1);
    const uint64_t won = won_of(s, node);
    /* The points that freed edges brought are unknown, but lie between 0 and the most that the
     * visits by these edges could win. */
    const bool some = w->slab.heads != NULL && s->forgotten;
    const uint64_t visits = some && sums->visits < node->visits ? node->visits - sums->visits : 0;
    if (sums->visits + visits != node->visits)
        return search_wrong(name, "visits by edges", sums->visits, node->visits);
    if (sums->won > won || won - sums->won > 2 * visits * s->options.simulations)
        return search_wrong(name, "points by edges", sums->won, won);
    return TERN_OK;
}

static uint32_t used_of(const tern_mcts_worker *w) {
    /* R5 */
    return atomic_load_explicit(&w->slab.nodes, memory_order_relaxed);
}

static tern_status check_all(tern_worker *worker, tern_search *s) {
    tern_status status = TERN_OK, first = TERN_OK;
    for (uint32_t i = 0; i < s->workers; i++)
        for (uint32_t k = 1; k < used_of(&s->worker[i]) && status == TERN_OK; k++)
            status = check_node(worker, s, tern_mcts_name(s->worker[i].number, k));
    first = status;
    status = tern_quiesce(worker);
    for (uint32_t i = 0; i < s->workers && first == TERN_OK && status == TERN_OK; i++)
        for (uint32_t k = 1; k < used_of(&s->worker[i]) && first == TERN_OK; k++)
            first = check_sums(s, &s->worker[i], k);
    return first == TERN_OK ? status : first;
}

tern_status tern_mcts_check(tern_worker *worker, tern_search *s) {
    static const char name[] = "tern_mcts_check";
    tern_status status = tern_mcts_begin(worker, s, name);
    if (status != TERN_OK)
        return status;
    for (uint32_t i = 0; i < s->workers; i++) {
        s->worker[i].sums = calloc(used_of(&s->worker[i]), sizeof *s->worker[i].sums);
        if (s->worker[i].sums == NULL)
            status = tern_fail(TERN_ERR_MEMORY, "no memory for sums");
    }
    status = tern_agree(worker, status, name);
    if (status == TERN_OK)
        status = tern_agree(worker, check_all(worker, s), name);
    for (uint32_t i = 0; i < s->workers; i++) {
        free(s->worker[i].sums);
        s->worker[i].sums = NULL;
    }
    tern_collective_end(worker);
    return status;
}
