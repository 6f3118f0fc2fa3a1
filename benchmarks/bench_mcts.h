/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tree search on an empty 11 x 11 board of Hex, by configurations of ranks and workers (paper 000,
 * 5.3.3 and figure 3).
 *
 * bench_mcts.c           which configurations and modes, in which order, beside what
 * bench_mcts_sides.c     what runs in a block
 * bench_mcts_account.c   what tern's counters say of it
 * bench_mcts_games.c     the random games alone
 */

#ifndef TERN_BENCHMARKS_BENCH_MCTS_H
#define TERN_BENCHMARKS_BENCH_MCTS_H

#include "bench.h"
#include "ceilings/uct.h"
#include "ceilings/uct_shared.h"
#include "games/hex/game.h"

enum { MCTS_SIZE = 11, MCTS_GAMES = 16 };

/* A search that tern does. */
typedef struct mcts_mode {
    tern_publish publish;
    uint32_t under_way; /* rollouts for each worker; 0: the search's default */
    bool calls_only;
} mcts_mode;

/* Over all ranks, and over all runs but the last one. */
typedef struct mcts_counters {
    tern_search_statistics search;
    uint64_t pairs, outgrown; /* of workers with a ring, and those whose ring ever grew */
    uint64_t records, runs;   /* consumed, and the looks that found any */
    uint64_t full;            /* times a full ring was met */
} mcts_counters;

/* One thread of this rank, or of what it is compared with. */
typedef struct mcts_thread {
    struct mcts_way *way;
    uint32_t index;
    uint64_t rollouts;
    tern_stats stats; /* its worker's, since there is one */
} mcts_thread;

/* A configuration in one mode, and the searches beside it. */
typedef struct mcts_way {
    bench frame;
    char layout[40]; /* as the paper names it */
    mcts_mode mode;
    hex_geometry geometry;
    tern_game game;
    hex_board board;
    uint32_t workers, all; /* of this rank, of all */
    tern_search *search;
    bool ran;
    mcts_counters counters;
    double visits, alone_visits, sequential_visits, shared_visits; /* per completion */
    char json[640];
    mcts_thread *threads;       /* as many as workers of all ranks */
    ceiling_uct **alone;        /* a tree for each worker of this rank */
    ceiling_uct *sequential;    /* at the origin */
    ceiling_uct_shared *shared; /* at the origin: for as many threads as there are workers */
} mcts_way;

/* What was found out, for the summary. Rates in million a second. */
typedef struct mcts_row {
    char layout[40];
    mcts_mode mode;
    bool calls, crowded;
    double completions, of_one; /* of_one: times those of one worker */
    double visits;              /* per completion */
    double sequential, alone, shared;
    mcts_counters counters;
} mcts_row;

/* All ranks of the frame call these. rollouts: of a search. */
void mcts_open(bench *b, mcts_way *w, int ranks, uint32_t workers, mcts_mode mode,
               uint64_t rollouts);
void mcts_close(mcts_way *w);

/* Rank 0 meets all others, which sleep until it comes: who waits inside MPI spins. */
void mcts_meet_asleep(MPI_Comm comm, bool works);

bench_side mcts_side_tern(mcts_way *w);
bench_side mcts_side_alone(mcts_way *w);
/* By the origin, while the others sleep. */
bench_side mcts_side_one(mcts_way *one);
bench_side mcts_side_sequential(mcts_way *w);
bench_side mcts_side_shared(mcts_way *w);

/* After a run, by all ranks: adds what it did. */
void mcts_account(mcts_way *w);
const char *mcts_mode_name(const mcts_mode *mode, bool calls);
void mcts_note(bench *b, const mcts_row *row);
/* Why one mode completes more than another. */
void mcts_explain(bench *b, const mcts_row *trad, const mcts_row *ovfl);
void mcts_summary(bench *b, const mcts_row *rows, size_t count);

void mcts_games(bench *b);

#endif
