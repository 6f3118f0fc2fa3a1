/* A game of your own for the tree search. The players in turn take one to three stones from a heap;
 * the player who takes the last stone wins. docs/mcts.md explains the program. */

#include <mpi.h>
#include <stdio.h>

#include "tern/mcts.h"
#include "tern/tern.h"

typedef struct stones {
    uint8_t left;
    uint8_t player; /* the player to move */
} stones;

static uint32_t moves(const void *state, uint32_t *moves, void *argument) {
    const stones *s = state;
    uint32_t most = s->left < 3 ? s->left : 3;
    (void)argument;
    for (uint32_t i = 0; i < most; i++)
        moves[i] = i + 1;
    return most;
}

static void play(void *state, uint32_t move, void *argument) {
    stones *s = state;
    (void)argument;
    s->left = (uint8_t)(s->left - move);
    s->player = !s->player;
}

static int player(const void *state, void *argument) {
    (void)argument;
    return ((const stones *)state)->player;
}

static tern_game_result result(const void *state, void *argument) {
    const stones *s = state;
    (void)argument;
    if (s->left > 0)
        return TERN_GAME_OPEN;
    return s->player == 0 ? TERN_GAME_LOST : TERN_GAME_WON; /* the other player took the last */
}

static const tern_game game = {.name = "stones",
                               .state_bytes = sizeof(stones),
                               .moves_max = 3,
                               .moves = moves,
                               .play = play,
                               .player = player,
                               .result = result};

static tern_status play_a_game(tern_worker *worker, int rank) {
    const tern_search_options options = {.seed = 1, .memory = 64 << 20};
    const tern_search_limits limits = {.rollouts = 1000};
    stones state = {10, 0};
    tern_search *search;
    tern_search_result found;
    tern_status status = tern_search_create(worker, &game, &options, &search);
    if (status != TERN_OK)
        return status;
    status = tern_search_reset(worker, search, &state);
    while (status == TERN_OK && state.left > 0) {
        status = tern_search_run(worker, search, &limits, &found);
        if (status != TERN_OK)
            break;
        if (rank == 0)
            printf("player %d takes %u of %d, chances %.2f\n", state.player, found.best, state.left,
                   found.score);
        play(&state, found.best, NULL);
        status = tern_search_advance(worker, search, found.best);
    }
    tern_status destroyed = tern_search_destroy(worker, search);
    return status != TERN_OK ? status : destroyed;
}

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "search: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_config config;
    MPI_Init(&argc, &argv);
    check(tern_config_init(&config));
    config.workers = 1; /* one for each thread that calls tern_search_run */
    check(tern_context_create(MPI_COMM_WORLD, &config, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(play_a_game(worker, (int)tern_context_rank(context)));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
