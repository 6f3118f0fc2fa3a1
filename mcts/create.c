#include <stdlib.h>
#include <string.h>

#include "mcts/search.h"
#include "mcts/work.h"

/* Creating, resetting and destroying a search. */

enum { SIMULATIONS = 16, UNDER_WAY = 16, ROUND = 4096, ROLLOUTS_MOST = 65535 };
static const double exploration = 1.4;
static const size_t memory = (size_t)1 << 30;

static tern_status check_game(const tern_game *g) {
    if (g->name == NULL || g->moves == NULL || g->play == NULL || g->player == NULL ||
        g->result == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "the game '%s' has no %s; give it one",
                         g->name != NULL ? g->name : "",
                         g->name == NULL     ? "name"
                         : g->moves == NULL  ? "moves"
                         : g->play == NULL   ? "play"
                         : g->player == NULL ? "player"
                                             : "result");
    if (g->state_bytes < 1 || g->state_bytes > TERN_GAME_STATE_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "state_bytes of '%s' is %zu; allowed are 1 to %u",
                         g->name, g->state_bytes, TERN_GAME_STATE_MAX);
    if (g->moves_max < 1 || g->moves_max > TERN_GAME_MOVES_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "moves_max of '%s' is %u; allowed are 1 to %u", g->name,
                         g->moves_max, TERN_GAME_MOVES_MAX);
    return TERN_OK;
}

static tern_status search_check_options(const tern_config *config, const tern_game *g,
                                        const tern_search_options *o) {
    /* The longest message is a creation: a state and less than 256 bytes beside it. */
    size_t message = 256 + g->state_bytes, room = config->ring_size / 2 - 64;
    size_t least = tern_mcts_slab_least(g->state_bytes, g->moves_max) * config->workers;
    if (o->exploration != o->exploration || o->exploration > 1e6)
        return tern_fail(TERN_ERR_ARGUMENT, "exploration is %g; allowed are numbers up to 1e6",
                         o->exploration);
    if (o->simulations > ROLLOUTS_MOST)
        return tern_fail(TERN_ERR_ARGUMENT, "simulations is %u; allowed are 0 to %d",
                         o->simulations, ROLLOUTS_MOST);
    if (o->placement != TERN_PLACE_RANDOM && o->placement != TERN_PLACE_HASH)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "placement is %d; pass TERN_PLACE_RANDOM or TERN_PLACE_HASH",
                         (int)o->placement);
    if (o->placement == TERN_PLACE_HASH && g->hash == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "placement is TERN_PLACE_HASH, but the game '%s' has no hash; give it one "
                         "or pass TERN_PLACE_RANDOM",
                         g->name);
    if (o->calls_only != 0 && o->calls_only != 1)
        return tern_fail(TERN_ERR_ARGUMENT, "calls_only is %d; allowed are 0 and 1", o->calls_only);
    if ((unsigned)o->publish > TERN_PUBLISH_SPILL)
        return tern_fail(TERN_ERR_ARGUMENT, "publish is %d; pass a TERN_PUBLISH_ constant",
                         (int)o->publish);
    if (o->memory < least)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "memory is %zu bytes; '%s' needs %zu at least on each rank for its first "
                         "nodes",
                         o->memory, g->name, least);
    if (message > room)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "a state of %zu bytes makes a message of %zu and rings take %zu; raise "
                         "TERN_RING_SIZE (now %zu)",
                         g->state_bytes, message, room, config->ring_size);
    return TERN_OK;
}

static tern_search_options filled_in(const tern_context *context, const tern_search_options *o) {
    static const tern_search_options none;
    tern_search_options f = o != NULL ? *o : none;
    uint64_t all = (uint64_t)tern_context_size(context) * tern_context_config(context)->workers;
    uint32_t under_way = all == 1 ? 1 : (uint32_t)(UNDER_WAY * all);
    f.exploration = f.exploration == 0 ? exploration : f.exploration < 0 ? 0 : f.exploration;
    f.simulations = f.simulations == 0 ? SIMULATIONS : f.simulations;
    f.under_way = f.under_way == 0 ? under_way : f.under_way;
    f.round = f.round == 0 ? ROUND * all : f.round;
    f.memory = f.memory == 0 ? memory : f.memory;
    f.calls_only = f.placement == TERN_PLACE_HASH ? 1 : f.calls_only;
    return f;
}

static tern_status agree_on(tern_worker *worker, const tern_game *g, const tern_search_options *o) {
    uint64_t same[16] = {o->seed,
                         0,
                         o->simulations,
                         o->under_way,
                         o->round,
                         o->memory,
                         (uint64_t)o->placement,
                         (uint64_t)o->calls_only,
                         (uint64_t)o->publish,
                         g->state_bytes,
                         g->moves_max,
                         g->hash != NULL,
                         g->rollouts != NULL};
    memcpy(&same[1], &o->exploration, 8);
    size_t length = strlen(g->name);
    memcpy(&same[13], g->name, length < 3 * sizeof *same ? length : 3 * sizeof *same);
    return tern_same(worker, same, sizeof same, "the game and the options of tern_search_create");
}

static void worker_close(tern_mcts_worker *w) {
    tern_mcts_slab_close(&w->slab);
    tern_mcts_records_free(w);
    free(w->returns);
    free(w->moves);
    free(w->state);
    free(w->played);
}

static bool worker_open(tern_search *s, uint32_t index) {
    tern_mcts_worker *w = &s->worker[index];
    size_t bytes = (s->game.state_bytes + 63) / 64 * 64;
    w->search = s;
    w->index = index;
    w->alone = s->workers == 1 || s->options.calls_only;
    w->number = s->rank * s->workers + index;
    w->work.end = &w->work.first;
    w->kept.end = &w->kept.first;
    w->moves = calloc(s->game.moves_max, sizeof *w->moves);
    w->state = aligned_alloc(64, bytes);
    w->played = aligned_alloc(64, bytes);
    return tern_mcts_slab_open(&w->slab, s->options.memory / s->workers, s->game.state_bytes,
                               s->options.placement == TERN_PLACE_HASH) &&
           w->moves != NULL && w->state != NULL && w->played != NULL;
}

static void free_search(tern_search *s) {
    tern_part_destroy(s->part);
    for (uint32_t i = 0; s->worker != NULL && i < s->workers; i++)
        worker_close(&s->worker[i]);
    free(s->worker);
    free(s->root_state);
    free(s->result_moves);
    free(s->result_line);
    free(s);
}

/* Finds out whether some rank shares no memory with this one. */
static tern_status search_find_remote(tern_search *s) {
    tern_status status = TERN_OK;
    for (uint32_t r = 0; r < s->size && status == TERN_OK; r++) {
        tern_transport transport = TERN_SHM;
        status = tern_context_transport(s->context, r, &transport);
        s->remote = s->remote || transport != TERN_SHM;
    }
    return status;
}

/* Allocates this rank's part of the search. [out] search must be freed on an error too. */
static tern_status search_allocate(tern_context *context, const tern_game *game,
                                   const tern_search_options *options, tern_search **search) {
    tern_search *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    if (s == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a search");
    memset(s, 0, sizeof *s);
    *search = s;
    s->context = context;
    s->game = *game;
    s->options = *options;
    s->share = 0.5f / (float)options->simulations;
    s->rank = tern_context_rank(context);
    s->size = tern_context_size(context);
    s->workers = (uint32_t)tern_context_config(context)->workers;
    s->all = s->workers * s->size;
    s->dead = TERN_NO_RANK;
    s->worker = aligned_alloc(64, s->workers * sizeof *s->worker);
    s->root_state = aligned_alloc(64, (game->state_bytes + 63) / 64 * 64);
    s->result_moves = calloc(game->moves_max, sizeof *s->result_moves);
    s->result_line = calloc(TERN_MCTS_LINE, sizeof *s->result_line);
    bool good = s->worker != NULL && s->root_state != NULL && s->result_moves != NULL &&
                s->result_line != NULL;
    if (s->worker != NULL)
        memset(s->worker, 0, s->workers * sizeof *s->worker);
    for (uint32_t i = 0; good && i < s->workers; i++)
        good = worker_open(s, i);
    if (!good)
        return tern_fail(TERN_ERR_MEMORY,
                         "no memory for a search with %zu bytes of nodes; give it less",
                         options->memory);
    return search_find_remote(s);
}

static tern_status search_create(tern_worker *worker, const tern_game *game,
                                 const tern_search_options *options, tern_search **search,
                                 const char *name) {
    tern_context *context = tern_worker_context(worker);
    tern_search_options o = filled_in(context, options);
    tern_search *s = NULL;
    tern_status status = TERN_OK;
    if (game == NULL || search == NULL)
        status =
            tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name, game == NULL ? "game" : "search");
    if (status == TERN_OK)
        status = check_game(game);
    if (status == TERN_OK)
        status = search_check_options(tern_context_config(context), game, &o);
    status = tern_agree(worker, status, name);
    if (status == TERN_OK)
        status = agree_on(worker, game, &o);
    if (status != TERN_OK)
        return status;
    status = tern_agree(worker, search_allocate(context, game, &o, &s), name);
    /* From now on calls find the search. */
    if (status == TERN_OK)
        status = tern_part_create(worker, tern_mcts_part_kind, s, &s->part);
    /* No message can come before every rank has its part, because each rank needs a reset first. */
    if (status == TERN_OK) {
        s->nonce = tern_part_id(s->part);
        *search = s;
    } else if (s != NULL) {
        free_search(s);
    }
    return status;
}

tern_status tern_search_create(tern_worker *worker, const tern_game *game,
                               const tern_search_options *options, tern_search **search) {
    static const char name[] = "tern_search_create";
    tern_status status = tern_collective_begin(worker, name);
    if (status != TERN_OK)
        return status;
    status = search_create(worker, game, options, search, name);
    tern_collective_end(worker);
    return status;
}

tern_status tern_mcts_begin(tern_worker *worker, tern_search *s, const char *name) {
    if (worker == NULL || s == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker or search is NULL", name);
    if (!tern_mcts_owns(s, worker))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker and search are of different contexts",
                         name);
    tern_status status = tern_collective_begin(worker, name);
    if (status != TERN_OK)
        return status;
    status = tern_mcts_failure(s);
    if (status != TERN_OK)
        tern_collective_end(worker);
    return status;
}

tern_status tern_mcts_plant(tern_search *s) {
    uint32_t owner = 0;
    s->forgotten = false;
    s->plies = 0;
    for (uint32_t i = 0; i < s->workers; i++)
        tern_mcts_slab_clear(&s->worker[i].slab);
    if (s->options.placement == TERN_PLACE_HASH)
        owner = (uint32_t)(s->game.hash(s->root_state, s->game.argument) % s->all);
    tern_mcts_worker *w = tern_mcts_local(s, tern_mcts_name(owner, 0));
    /* The root is the first node of its owner's slab. */
    s->root = tern_mcts_name(owner, 1);
    if (w != NULL && tern_mcts_make(w, s->root_state, 0, 0, 0) != s->root)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the first node");
    return TERN_OK;
}

static tern_status search_reset(tern_worker *worker, tern_search *s, const void *state,
                                const char *name) {
    tern_status status = TERN_OK;
    if (state == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: state is NULL", name);
    status = tern_agree(worker, status, name);
    if (status == TERN_OK)
        status = tern_same(worker, state, s->game.state_bytes, "the state of tern_search_reset");
    if (status != TERN_OK)
        return status;
    memcpy(s->root_state, state, s->game.state_bytes);
    for (uint32_t i = 0; i < s->workers; i++) {
        tern_mcts_worker *w = &s->worker[i];
        w->random = tern_random_seeded(s->options.seed, w->number);
        memset(&w->statistics, 0, sizeof w->statistics);
    }
    return tern_agree(worker, tern_mcts_plant(s), name);
}

tern_status tern_search_reset(tern_worker *worker, tern_search *s, const void *state) {
    static const char name[] = "tern_search_reset";
    tern_status status = tern_mcts_begin(worker, s, name);
    if (status != TERN_OK)
        return status;
    status = search_reset(worker, s, state, name);
    tern_collective_end(worker);
    return status;
}

tern_status tern_search_destroy(tern_worker *worker, tern_search *s) {
    if (s == NULL)
        return TERN_OK;
    if (worker == NULL || tern_worker_context(worker) != s->context)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_search_destroy: worker is NULL or of another context");
    tern_status status = tern_collective_begin(worker, "tern_search_destroy");
    if (status != TERN_OK)
        return status;
    /* After the barrier no rank sends to this search any more. tern_context_dead looks for deaths
     * first: after a death that this rank knows of, the barrier returns TERN_ERR_PEER at once. */
    (void)tern_context_dead(s->context);
    status = tern_barrier(worker);
    tern_collective_end(worker);
    if (status != TERN_ERR_MISMATCH) /* then the other ranks are in another collective function */
        free_search(s);
    return status;
}
