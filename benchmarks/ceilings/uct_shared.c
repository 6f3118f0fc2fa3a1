/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "uct.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 512, LINE = 64, TAKEN = 8 };

/* The upper half counts visits, the lower half the half points of the player who moves: one locked
 * instruction counts both, and returns a consistent pair. */
#define VISIT (UINT64_C(1) << 32)

static inline uint64_t visits_in(uint64_t count) { return count / VISIT; }

/* What a scan of the moves reads. If two threads update it at the same time, the slower one may
 * leave an older value; the next update corrects it, and the count is exact. */
typedef struct value {
    _Atomic float mean, seldom; /* seldom: 1 / sqrt(visits) */
} value;

/* A move, and the node to which it leads. */
typedef struct edge {
    atomic_uint_fast64_t count;
    _Atomic(struct fan *) fan; /* NULL: no rollout has gone on from there yet */
    uint32_t move;
    atomic_uint result; /* result of the game there, plus 1; 0: not known yet */
} edge;

/* The moves of a node, in random order: first the values, then the edges. */
typedef struct fan {
    uint32_t moves, player;
    atomic_uint tried;
    uint32_t unused;
    value values[];
} fan;

typedef struct step {
    fan *fan;
    uint32_t at;
} step;

/* Each thread has cache lines of its own. */
typedef struct thread {
    tern_random random;
    char *memory, *at; /* memory for fans; at: its free part */
    uint32_t *moves;
    char *state;
    uint64_t visits;
    step path[DEPTH];
    char apart[2 * LINE];
} thread;

struct ceiling_uct_shared {
    const tern_game *game;
    uint32_t threads, simulations;
    float exploration, share; /* share: of a half point in a rollout */
    void *state;
    uint64_t rollouts;
    thread *thread;
    _Alignas(LINE) edge root; /* counts the points of player 0 */
    _Alignas(LINE) atomic_uint_fast64_t started;
};

static edge *edges_of(fan *f) { return (edge *)(void *)&f->values[f->moves]; }

static size_t fan_bytes(uint32_t moves) {
    return (sizeof(fan) + moves * (sizeof(value) + sizeof(edge)) + LINE - 1) / LINE * LINE;
}

void ceiling_uct_shared_close(ceiling_uct_shared *tree) {
    if (tree == NULL)
        return;
    for (uint32_t i = 0; i < tree->threads && tree->thread != NULL; i++) {
        free(tree->thread[i].memory);
        free(tree->thread[i].moves);
        free(tree->thread[i].state);
    }
    free(tree->thread);
    free(tree->state);
    free(tree);
}

/* A rollout ends at its first visit of a node, so there are at most as many nodes as rollouts, and
 * one thread may make the moves of all of them. In addition it may make moves that another thread
 * made faster. The system provides the memory only when it is used. */
static bool open_thread(thread *t, const tern_game *game, uint64_t rollouts) {
    t->memory = aligned_alloc(LINE, (rollouts + 1) * fan_bytes(game->moves_max));
    t->moves = malloc(game->moves_max * sizeof *t->moves);
    t->state = aligned_alloc(LINE, (game->state_bytes + LINE - 1) / LINE * LINE);
    return t->memory != NULL && t->moves != NULL && t->state != NULL;
}

ceiling_uct_shared *ceiling_uct_shared_open(const tern_game *game, uint64_t rollouts,
                                            uint32_t threads, uint32_t simulations,
                                            double exploration) {
    ceiling_uct_shared *tree = aligned_alloc(LINE, sizeof *tree);
    if (tree == NULL)
        return NULL;
    *tree = (ceiling_uct_shared){.game = game, .threads = threads, .simulations = simulations};
    tree->exploration = (float)exploration;
    tree->share = 0.5f / (float)simulations;
    tree->state = malloc(game->state_bytes);
    tree->thread = calloc(threads, sizeof *tree->thread);
    bool whole = tree->state != NULL && tree->thread != NULL;
    for (uint32_t i = 0; i < threads && whole; i++)
        whole = open_thread(&tree->thread[i], game, rollouts);
    if (whole)
        return tree;
    ceiling_uct_shared_close(tree);
    return NULL;
}

void ceiling_uct_shared_reset(ceiling_uct_shared *tree, const void *state, uint64_t seed,
                              uint64_t rollouts) {
    memcpy(tree->state, state, tree->game->state_bytes);
    tree->rollouts = rollouts;
    for (uint32_t i = 0; i < tree->threads; i++) {
        thread *t = &tree->thread[i];
        t->random = tern_random_seeded(seed, i);
        t->at = t->memory;
        t->visits = 0;
    }
    atomic_init(&tree->root.count, 0);
    atomic_init(&tree->root.fan, NULL);
    atomic_init(&tree->root.result, 0);
    atomic_init(&tree->started, 0);
}

/* The result of the current state, which lies behind e. All threads find the same result. */
static uint32_t result_of(const tern_game *game, const thread *t, edge *e) {
    uint32_t result = atomic_load_explicit(&e->result, memory_order_relaxed);
    if (result == 0) {
        result = (uint32_t)game->result(t->state, game->argument) + 1;
        atomic_store_explicit(&e->result, result, memory_order_relaxed);
    }
    return result - 1;
}

static fan *make(const tern_game *game, thread *t) {
    fan *f = (fan *)(void *)t->at;
    f->moves = game->moves(t->state, t->moves, game->argument);
    f->player = game->player(t->state, game->argument) != 0;
    atomic_init(&f->tried, 0);
    edge *edges = edges_of(f);
    for (uint32_t i = 0; i < f->moves; i++) {
        uint32_t j = tern_random_below(&t->random, i + 1);
        edges[i].move = edges[j].move;
        edges[j].move = t->moves[i];
        atomic_init(&edges[i].count, 0);
        atomic_init(&edges[i].fan, NULL);
        atomic_init(&edges[i].result, 0);
        /* less than the mean of any tried move */
        atomic_init(&f->values[i].mean, -2);
        atomic_init(&f->values[i].seldom, 0);
    }
    return f;
}

/* Returns the moves behind e. Two threads may make them at the same time: those of the first stay,
 * and the other thread keeps its memory. The exchange releases the new moves to every thread that
 * acquires fan. */
static fan *fan_of(const tern_game *game, thread *t, edge *e) {
    fan *there = atomic_load_explicit(&e->fan, memory_order_acquire);
    if (there != NULL)
        return there;
    fan *made = make(game, t);
    if (!atomic_compare_exchange_strong_explicit(&e->fan, &there, made, memory_order_release,
                                                 memory_order_acquire))
        return there;
    t->at += fan_bytes(made->moves);
    return made;
}

static uint32_t best(const ceiling_uct_shared *tree, const fan *f, uint64_t visits) {
    const float wide = tree->exploration * sqrtf(logf((float)visits));
    float most = -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < f->moves; i++) {
        float v = atomic_load_explicit(&f->values[i].mean, memory_order_relaxed) +
                  wide * atomic_load_explicit(&f->values[i].seldom, memory_order_relaxed);
        at = v > most ? i : at;
        most = v > most ? v : most;
    }
    return at;
}

/* visits: of the node, including this one. */
static uint32_t choose(const ceiling_uct_shared *tree, fan *f, uint64_t visits) {
    if (atomic_load_explicit(&f->tried, memory_order_relaxed) < f->moves) {
        uint32_t slot = atomic_fetch_add_explicit(&f->tried, 1, memory_order_relaxed);
        if (slot < f->moves)
            return slot;
    }
    return best(tree, f, visits);
}

/* Adds to a move's count. Returns its visits after that. */
static uint64_t count(const ceiling_uct_shared *tree, fan *f, uint32_t at, uint64_t more) {
    uint64_t now =
        atomic_fetch_add_explicit(&edges_of(f)[at].count, more, memory_order_relaxed) + more;
    float seldom = 1 / sqrtf((float)visits_in(now));
    float mean = (float)(uint32_t)now * tree->share * seldom * seldom;
    atomic_store_explicit(&f->values[at].mean, mean, memory_order_relaxed);
    atomic_store_explicit(&f->values[at].seldom, seldom, memory_order_relaxed);
    return visits_in(now);
}

static void rollout(ceiling_uct_shared *tree, thread *t) {
    const tern_game *game = tree->game;
    const uint32_t all = 2 * tree->simulations;
    uint32_t depth = 0, result;
    edge *e = &tree->root;
    memcpy(t->state, tree->state, game->state_bytes);
    uint64_t visits =
        visits_in(atomic_fetch_add_explicit(&e->count, VISIT, memory_order_relaxed)) + 1;
    for (;;) {
        result = result_of(game, t, e);
        if (visits == 1 || result != TERN_GAME_OPEN || depth == DEPTH)
            break;
        fan *f = fan_of(game, t, e);
        uint32_t at = choose(tree, f, visits);
        visits = count(tree, f, at, VISIT);
        e = &edges_of(f)[at];
        game->play(t->state, e->move, game->argument);
        t->path[depth++] = (step){f, at};
    }
    t->visits += depth + 1;
    uint32_t won = tree->simulations * result;
    if (result == TERN_GAME_OPEN)
        won = game->rollouts(t->state, tree->simulations, &t->random, game->argument);
    while (depth-- > 0) {
        const step *s = &t->path[depth];
        (void)count(tree, s->fan, s->at, s->fan->player == 0 ? won : all - won);
    }
    atomic_fetch_add_explicit(&tree->root.count, won, memory_order_relaxed);
}

void ceiling_uct_shared_run(ceiling_uct_shared *tree, uint32_t number) {
    for (;;) {
        uint64_t first = atomic_fetch_add_explicit(&tree->started, TAKEN, memory_order_relaxed);
        if (first >= tree->rollouts)
            return;
        uint64_t left = tree->rollouts - first;
        for (uint64_t i = 0; i < (left < TAKEN ? left : TAKEN); i++)
            rollout(tree, &tree->thread[number]);
    }
}

uint64_t ceiling_uct_shared_most(const ceiling_uct_shared *tree) {
    fan *f = atomic_load(&tree->root.fan);
    uint64_t most = 0;
    for (uint32_t i = 0; f != NULL && i < f->moves; i++) {
        uint64_t visits = visits_in(atomic_load(&edges_of(f)[i].count));
        most = visits > most ? visits : most;
    }
    return most;
}

uint64_t ceiling_uct_shared_visits(const ceiling_uct_shared *tree) {
    uint64_t visits = 0;
    for (uint32_t i = 0; i < tree->threads; i++)
        visits += tree->thread[i].visits;
    return visits;
}

/* Checks the tree behind e, whose count has the points of player. One leaf has the games of one
 * rollout. */
static bool check(const ceiling_uct_shared *tree, const edge *e, uint32_t player, uint64_t *nodes) {
    const uint64_t all = 2 * tree->simulations, own = atomic_load(&e->count);
    fan *f = atomic_load(&e->fan);
    uint64_t visits = 1, won = 0;
    *nodes += own != 0;
    if (own % VISIT > visits_in(own) * all)
        return false;
    if (f == NULL)
        return visits_in(own) <= 1 || atomic_load(&e->result) != TERN_GAME_OPEN + 1;
    for (uint32_t i = 0; i < f->moves; i++) {
        const edge *next = &edges_of(f)[i];
        uint64_t count = atomic_load(&next->count), points = count % VISIT;
        if (!check(tree, next, f->player, nodes))
            return false;
        visits += visits_in(count);
        won += f->player == player ? points : visits_in(count) * all - points;
    }
    return visits_in(own) == visits && own % VISIT >= won && own % VISIT <= won + all;
}

bool ceiling_uct_shared_check(const ceiling_uct_shared *tree, uint64_t rollouts, uint64_t *nodes) {
    *nodes = 0;
    return visits_in(atomic_load(&tree->root.count)) == rollouts &&
           check(tree, &tree->root, 0, nodes);
}
