/* The least that a program can do with a search: it creates one, and is told what is missing. */

#include <stdio.h>
#include <string.h>

#include <mpi.h>
#include <tern/mcts.h>
#include <tern/tern.h>

/* A pile from which the players take one each; the player of the last one wins. */
typedef struct pile {
    uint32_t left, player;
} pile;

static uint32_t moves(const void *state, uint32_t *list, void *argument) {
    (void)argument;
    list[0] = 1;
    return ((const pile *)state)->left > 0;
}
static void play(void *state, uint32_t move, void *argument) {
    pile *p = state;
    (void)argument;
    p->left -= move;
    p->player = 1 - p->player;
}
static int player(const void *state, void *argument) {
    (void)argument;
    return (int)((const pile *)state)->player;
}
static tern_game_result result(const void *state, void *argument) {
    const pile *p = state;
    (void)argument;
    if (p->left > 0)
        return TERN_GAME_OPEN;
    return p->player == 1 ? TERN_GAME_WON : TERN_GAME_LOST;
}

static tern_status search(tern_worker *worker) {
    const tern_game game = {.name = "pile",
                            .state_bytes = sizeof(pile),
                            .moves_max = 1,
                            .moves = moves,
                            .play = play,
                            .player = player,
                            .result = result};
    const tern_search_options options = {.memory = (size_t)8 << 20};
    const tern_search_limits limits = {.rollouts = 100};
    const pile state = {5, 0};
    tern_search_result found;
    tern_search *s;
    tern_status status = tern_search_create(worker, &game, &options, &s);
    if (status != TERN_OK)
        return status;
    if (tern_search_run(worker, s, &limits, &found) != TERN_ERR_STATE ||
        strstr(tern_error_detail(), "tern_search_reset") == NULL)
        fprintf(stderr, "not refused without a state: '%s'\n", tern_error_detail());
    status = tern_search_reset(worker, s, &state);
    if (status == TERN_OK)
        status = tern_search_run(worker, s, &limits, &found);
    if (status == TERN_OK && (found.best != 1 || found.score != 1.0)) {
        fprintf(stderr, "move %u, score %g\n", found.best, found.score);
        status = TERN_ERR_STATE;
    }
    tern_status destroyed = tern_search_destroy(worker, s);
    return status != TERN_OK ? status : destroyed;
}

static tern_status run(void) {
    tern_context *context;
    tern_worker *worker;
    tern_status status = tern_context_create(MPI_COMM_WORLD, NULL, &context);
    if (status != TERN_OK)
        return status;
    status = tern_worker_adopt(context, 0, &worker);
    if (status == TERN_OK)
        status = search(worker);
    tern_status destroyed = tern_context_destroy(context);
    return status != TERN_OK ? status : destroyed;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    tern_status status = run();
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", tern_strerror(status), tern_error_detail());
    MPI_Finalize();
    return status != TERN_OK;
}
