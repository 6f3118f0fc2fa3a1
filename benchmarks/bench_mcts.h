/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tree search on an empty 11 x 11 board of Hex, by configurations of ranks and workers (paper 000,
 * 5.3.3 and figure 3).
 *
 *   bench_mcts.c           the configurations and modes, their order, and their peers
 *   bench_mcts_sides.c     what runs in a block
 *   bench_mcts_account.c   tern's counters of the blocks
 *   bench_mcts_games.c     the random games alone
 */

#ifndef TERN_BENCHMARKS_BENCH_MCTS_H
#define TERN_BENCHMARKS_BENCH_MCTS_H

#include "bench.h"
#include "ceilings/uct.h"
#include "examples/games/hex/game.h"
#include "tern/mcts.h"

enum { MCTS_SIZE = 11, MCTS_GAMES = 16 };

/* The mode of a search by tern. */
typedef struct mcts_mode {
    tern_publish publish;
    uint32_t under_way; /* rollouts for each worker; 0: the search's default */
    bool calls_only;
} mcts_mode;

/* Sums over all ranks, and over all runs but the last one. */
typedef struct mcts_counters {
    tern_search_statistics search;
    uint64_t pairs, outgrown; /* pairs of workers with a ring, and those whose ring ever grew */
    uint64_t records, runs;   /* records consumed, and looks at a ring that found any */
    double busiest;           /* records of the process with most of them, over the mean */
    uint64_t full;            /* number of times that a ring was full */
} mcts_counters;

/* One thread of this rank, or of a peer. */
typedef struct mcts_thread {
    struct mcts_way *way;
    uint32_t index;
    uint64_t rollouts;
    tern_stats stats; /* the counters of its worker since the worker was created */
} mcts_thread;

/* A configuration in one mode, and the searches beside it. */
typedef struct mcts_way {
    bench group;
    char layout[40]; /* the paper's name for it */
    mcts_mode mode;
    hex_geometry geometry;
    tern_game game;
    hex_board board;
    uint32_t workers, all; /* workers of this rank, of all ranks */
    tern_search *search;
    bool ran;
    mcts_counters counters;
    double visits, alone_visits, sequential_visits, shared_visits; /* per completion */
    char json[640];
    mcts_thread *threads;       /* one for each worker of all ranks */
    ceiling_uct **alone;        /* a tree for each worker of this rank */
    ceiling_uct *sequential;    /* at the origin */
    ceiling_uct_shared *shared; /* at the origin: for as many threads as there are workers */
} mcts_way;

/* Results for the summary. Rates in million a second. */
typedef struct mcts_row {
    char layout[40];
    mcts_mode mode;
    bool calls, crowded;
    double completions, of_one; /* of_one: completions over those of one worker */
    double visits;              /* per completion */
    double sequential, alone, shared;
    mcts_counters counters;
} mcts_row;

/* All ranks of the group call these. rollouts: number of rollouts of a search. */
void mcts_open(bench *b, mcts_way *w, int ranks, uint32_t workers, mcts_mode mode,
               uint64_t rollouts);
void mcts_close(mcts_way *w);

/* Rank 0 meets all other ranks, which sleep until it comes, since a rank that waits inside MPI
 * spins. */
void mcts_meet_asleep(MPI_Comm comm, bool works);

bench_side mcts_side_tern(mcts_way *w);
bench_side mcts_side_alone(mcts_way *w);
/* The origin runs this side while the other ranks sleep. */
bench_side mcts_side_one(mcts_way *one);
bench_side mcts_side_sequential(mcts_way *w);
bench_side mcts_side_shared(mcts_way *w);

/* All ranks call this after a run: adds the run's counters. */
void mcts_account(mcts_way *w);
const char *mcts_mode_name(const mcts_mode *mode, bool calls);
void mcts_note(bench *b, const mcts_row *row);
/* Explains why one mode completes more than another. */
void mcts_explain(bench *b, const mcts_row *batched, const mcts_row *spill);
void mcts_summary(bench *b, const mcts_row *rows, size_t count);

void mcts_games(bench *b);

#endif
