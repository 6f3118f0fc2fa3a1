/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The two kernels that are used to compare libraries for small messages (Bale): in histogram every
 * rank adds 1 to random words of a distributed table; in index-gather every rank reads random words
 * of one. Rank i % 2 owns word i.
 */

#ifndef TERN_BENCHMARKS_BENCH_APPS_H
#define TERN_BENCHMARKS_BENCH_APPS_H

#include "bench.h"
#include "window.h"
#include "ceilings/ceilings.h"

enum {
    APPS_RANKS = 2,
    APPS_DRAWN = 1 << 20, /* indices of a rank; the last one is followed by the first again */
    APPS_EPOCH =
        1024, /* number of MPI's operations, or of tern's non-blocking ones, between two waits */
    APPS_ROUND = 1 << 14 /* number of indices that go through MPI_Alltoallv at a time */
};

/* The indices of a round, sorted by owner, and the indices that other ranks have sent to this
 * rank. */
typedef struct apps_round {
    uint32_t words[APPS_ROUND], asked[APPS_RANKS * APPS_ROUND];
    uint32_t places[APPS_ROUND]; /* positions of the indices among those drawn */
    int count[APPS_RANKS], at[APPS_RANKS];
    int asked_count[APPS_RANKS], asked_at[APPS_RANKS];
} apps_round;

typedef struct apps {
    uint64_t words; /* of each rank's part of the table */
    tern_ptr part[APPS_RANKS];
    uint64_t *address[APPS_RANKS]; /* NULL: not reached by load and store */
    uint32_t *drawn;               /* indices of this rank */
    uint64_t *got;                 /* the words that an index-gather has read */
    uint64_t first, in_block;      /* indices of a block: the first one, and how many */
    bench_window window;           /* a second table, for MPI's own operations */
    apps_round *round;
    const char *table; /* its size, for people */
    uint64_t added[2]; /* by this rank: to tern's table, to the window's table */
} apps;

/* The position of operation i of a block among the drawn indices, and its index. */
static inline size_t apps_slot(const apps *a, uint64_t i) { return (a->first + i) % APPS_DRAWN; }

static inline uint32_t apps_index(const apps *a, uint64_t i) { return a->drawn[apps_slot(a, i)]; }

static inline uint32_t apps_owner(uint32_t index) { return index % APPS_RANKS; }

static inline uint32_t apps_word(uint32_t index) { return index / APPS_RANKS; }

static inline tern_ptr apps_place(const apps *a, uint32_t index) {
    return bench_opaque(
        tern_ptr_add(a->part[apps_owner(index)], (int64_t)(apps_word(index) * sizeof(uint64_t))));
}

/* This rank's part, for its handlers. */
extern uint64_t *apps_held;

/* The prepare function of sides: a block of n operations goes on where the last one ended, so that
 * a table larger than the caches is not found in them. */
void apps_begin(bench *b, void *state, uint64_t n);
bench_side apps_way(const char *name, void (*origin)(bench *, void *, uint64_t), apps *a);
/* Waits until every rank has finished its operations, and those on its own part are done. */
void apps_end(bench *b);
/* Sets the publishing policy of calls to both ranks. */
void apps_publish(bench *b, tern_publish policy);
/* Collective: sends the indices of count operations, of a block's from i on, to their owners.
 * Returns how many indices have come for this rank, in a->round->asked. */
int apps_exchange(bench *b, const apps *a, uint64_t i, uint64_t count);

/* Returns the case of a kernel done one way, without sides. */
bench_case apps_case(const apps *a, const char *name, const char *way);
void apps_add_peer(bench_case *c, const bench_side *side);

/* bench_apps_histogram.c, bench_apps_gather.c: measure on a table of zeros, or of any words. */
void apps_histogram(bench *b, apps *a);
void apps_gather(bench *b, apps *a);

#endif
