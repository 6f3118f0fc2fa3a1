/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Random games as a leaf needs them, beside a loop of games whose sizes are constants. */

#include "bench_mcts.h"
#include "ceilings/ceilings.h"
#include "examples/games/hex/game.h"

static void games_origin(bench *b, void *state, uint64_t n) {
    const mcts_way *w = state;
    tern_random random = tern_random_seeded(n, 0);
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        bench_use(hex_rollouts(&w->geometry, &w->board, MCTS_GAMES, &random));
}

static void bare_games_origin(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)state;
    bench_use(ceiling_hex(n, MCTS_GAMES * n));
}

void mcts_games(bench *b) {
    mcts_way w = {.geometry = hex_geometry_of(MCTS_SIZE, false), .board = hex_board_empty()};
    bench_case c = {.name = "games",
                    .params = {{"size", MCTS_SIZE, NULL}, {"at once", MCTS_GAMES, NULL}},
                    .ratio_target = 1.1};
    c.measured = bench_way("hex_rollouts", games_origin, NULL, &w);
    c.ceiling = bench_way("games of constant sizes", bare_games_origin, NULL, NULL);
    bench_measure(b, &c);
}
