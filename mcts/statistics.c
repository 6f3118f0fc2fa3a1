#include "mcts/search.h"
#include "tern/team.h"

static uint64_t nodes_of(const tern_mcts_slab *slab) {
    uint64_t live = 0;
    /* R5 */
    uint32_t used = atomic_load_explicit(&slab->nodes, memory_order_relaxed);
    for (uint32_t i = 1; i < used; i++)
        live += tern_mcts_node_at(slab, i)->live;
    return live;
}

static tern_status get_statistics(tern_worker *worker, tern_search *s,
                                  tern_search_statistics *statistics, const char *name) {
    tern_status status = TERN_OK;
    if (statistics == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: statistics is NULL", name);
    status = tern_agree(worker, status, name);
    if (status != TERN_OK)
        return status;
    tern_search_statistics sum = {0};
    uint64_t deepest = 0;
    for (uint32_t i = 0; i < s->workers; i++) {
        const tern_search_statistics *mine = &s->worker[i].statistics;
#define X(field, meaning) sum.field += mine->field;
        TERN_SEARCH_STATISTICS_TABLE(X)
#undef X
        deepest = mine->depth_most > deepest ? mine->depth_most : deepest;
        sum.nodes += nodes_of(&s->worker[i].slab);
    }
    status = tern_sum(worker, (uint64_t *)&sum, sizeof sum / 8);
    if (status == TERN_OK)
        status = tern_team_allreduce(worker, NULL, TERN_UINT64, TERN_REDUCE_MAX, &deepest, 1);
    if (status != TERN_OK)
        return status;
    sum.depth_most = deepest;
    *statistics = sum;
    return TERN_OK;
}

tern_status tern_search_get_statistics(tern_worker *worker, tern_search *s,
                                       tern_search_statistics *statistics) {
    static const char name[] = "tern_search_get_statistics";
    tern_status status = tern_mcts_begin(worker, s, name);
    if (status != TERN_OK)
        return status;
    status = get_statistics(worker, s, statistics, name);
    tern_collective_end(worker);
    return status;
}
