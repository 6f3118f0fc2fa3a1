#include "mcts/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "tern/team.h"

/* Makes the result. Nothing is under way, so the leader of each rank may read all nodes of its
 * process. The leader that has the root makes the result, and asks the other leaders for the steps
 * of the principal variation. Then all ranks get the result. */

typedef struct best_of_node {
    uint64_t child; /* 0: the line ends with this move */
    uint32_t move;
    uint32_t there; /* 0: no move has been tried */
} best_of_node;

static best_of_node result_look(const tern_mcts_node *node) {
    best_of_node best = {0, 0, 0};
    tern_mcts_edges *edges = tern_mcts_edges_of(node);
    uint64_t most = 0;
    for (uint32_t i = 0; edges != NULL && i < edges->count; i++) {
        /* R9: tern_mcts_await; behind a round that is quiet */
        uint64_t visits = atomic_load_explicit(&edges->pair[i].visits, memory_order_relaxed);
        const tern_mcts_link *link = &tern_mcts_links(edges)[i];
        /* Moves with equal visits are ordered as in by_visits. */
        if (visits < most || visits == 0 || (visits == most && link->move > best.move))
            continue;
        most = visits;
        /* R9: tern_mcts_await; behind a round that is quiet */
        best =
            (best_of_node){atomic_load_explicit(&link->child, memory_order_relaxed), link->move, 1};
    }
    return best;
}

typedef struct ask {
    tern_mcts_head head;
    uint64_t name;
} ask;

static tern_status tern_mcts_on_look(tern_call_info *call, const void *arguments, size_t bytes) {
    const tern_search *s = tern_mcts_search_of(call, arguments, bytes, sizeof(ask));
    if (s == NULL)
        return tern_mcts_stray();
    ask m;
    tern_read_once(&m, arguments, sizeof m);
    const tern_mcts_node *node = tern_mcts_node_of(s, m.name);
    if (node == NULL)
        return tern_mcts_stray();
    best_of_node best = result_look(node);
    memcpy(call->result, &best, sizeof best);
    call->result_bytes = sizeof best;
    return TERN_OK;
}
TERN_FUNCTION(tern_mcts_on_look)

/* Makes the principal variation: follows the most visited move at each step. */
static tern_status result_follow(const tern_mcts_worker *w, uint64_t *length) {
    const tern_search *s = w->search;
    best_of_node best = {s->root, 0, 1};
    tern_status status = TERN_OK;
    for (*length = 0; *length < TERN_MCTS_LINE && best.child != 0; ++*length) {
        uint32_t rank = tern_mcts_owner(best.child) / s->workers;
        ask m = {tern_mcts_head_to(s), best.child};
        const tern_mcts_node *node = tern_mcts_node_of(s, best.child);
        if (node != NULL)
            best = result_look(node);
        else if (rank == s->rank)
            status = tern_mcts_stray();
        else
            status =
                tern_call_return(w->worker, (tern_worker_id){rank, 0}, &tern_mcts_on_look_function,
                                 &m, sizeof m, &best, sizeof best, NULL);
        if (status != TERN_OK || best.there == 0)
            break;
        s->result_line[*length] = best.move;
    }
    return status;
}

static int by_visits(const void *a, const void *b) {
    const tern_search_move *x = a, *y = b;
    if (x->visits != y->visits)
        return x->visits < y->visits ? 1 : -1;
    return (x->move > y->move) - (x->move < y->move);
}

static uint64_t list_moves(const tern_search *s) {
    const tern_mcts_node *root = tern_mcts_node_of(s, s->root);
    tern_mcts_edges *edges = tern_mcts_edges_of(root);
    uint64_t count = 0;
    for (uint32_t i = 0; edges != NULL && i < edges->count; i++) {
        /* R9: tern_mcts_await; behind a round that is quiet */
        uint64_t visits = atomic_load_explicit(&edges->pair[i].visits, memory_order_relaxed);
        double won = (double)atomic_load_explicit(&edges->pair[i].won, memory_order_relaxed);
        if (visits > 0)
            s->result_moves[count++] =
                (tern_search_move){tern_mcts_links(edges)[i].move, visits,
                                   won * 0.5 / s->options.simulations / (double)visits};
    }
    qsort(s->result_moves, count, sizeof *s->result_moves, by_visits);
    return count;
}

/* Broadcasts from the leader that has the root to all leaders. */
static tern_status result_share(const tern_mcts_worker *w, void *data, size_t bytes) {
    const tern_search *s = w->search;
    return tern_team_broadcast(w->worker, NULL, tern_mcts_owner(s->root) / s->workers, data, bytes);
}

tern_status tern_mcts_result(tern_mcts_worker *w) {
    tern_search *s = w->search;
    struct {
        uint64_t moves, line, rollouts;
        double seconds;
    } known = {0, 0, s->result_rollouts, s->result.seconds};
    tern_status status = TERN_OK;
    if (tern_mcts_has_root(s)) {
        known.moves = list_moves(s);
        status = result_follow(w, &known.line);
    }
    /* The other leaders answer questions until this point, where they also learn of a failure. */
    status = tern_agree(w->worker, status, "the result of tern_search_run");
    if (status == TERN_OK)
        status = result_share(w, &known, sizeof known);
    if (status == TERN_OK)
        status = result_share(w, s->result_moves, known.moves * sizeof *s->result_moves);
    if (status == TERN_OK)
        status = result_share(w, s->result_line, known.line * sizeof *s->result_line);
    if (status != TERN_OK)
        return status;
    s->result = (tern_search_result){.moves = s->result_moves,
                                     .move_count = known.moves,
                                     .line = s->result_line,
                                     .line_length = known.line,
                                     .rollouts = known.rollouts,
                                     .seconds = known.seconds};
    if (known.moves > 0) {
        s->result.best = s->result_moves[0].move;
        s->result.score = s->result_moves[0].score;
    }
    return TERN_OK;
}
