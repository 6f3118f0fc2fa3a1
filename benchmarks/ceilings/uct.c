/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "uct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 512 };

typedef struct node {
    uint32_t visits, edges; /* edges: index of the first edge */
    uint32_t count, tried;  /* count: number of moves, 0 before the node is expanded */
    uint8_t result, player;
} node;

enum { LANES = 4 };
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

/* What a scan of the moves reads, for several moves. A node's values begin with an edge whose
 * number is a multiple of LANES. */
typedef struct value {
    floats mean, seldom; /* seldom: 1 / sqrt(visits) */
} value;

/* The other data of a move. */
typedef struct edge {
    uint32_t visits, won; /* won: half points of the player who moves */
    uint32_t child, move;
} edge;

struct ceiling_uct {
    const tern_game *game;
    uint32_t simulations;
    float exploration, share; /* share: of a half point in a rollout */
    tern_random random;
    node *nodes;
    value *values;
    edge *edges;
    uint32_t node_count, edge_count;
    uint64_t visits;
    uint32_t *moves;
    char *state;
};

void ceiling_uct_close(ceiling_uct *t) {
    if (t == NULL)
        return;
    free(t->nodes);
    free(t->values);
    free(t->edges);
    free(t->moves);
    free(t->state);
    free(t);
}

/* A rollout ends at the node it makes, so there are at most as many nodes as rollouts, and the
 * root. The system provides the memory only when it is used. */
ceiling_uct *ceiling_uct_open(const tern_game *game, uint64_t rollouts, uint32_t simulations,
                              double exploration) {
    ceiling_uct *t = calloc(1, sizeof *t);
    size_t edges = (rollouts + 1) * ((game->moves_max + LANES - 1) / LANES * LANES);
    if (t == NULL)
        return NULL;
    t->game = game;
    t->simulations = simulations;
    t->exploration = (float)exploration;
    t->share = 0.5f / (float)simulations;
    t->nodes = malloc((rollouts + 1) * sizeof *t->nodes);
    t->values = aligned_alloc(sizeof *t->values, edges / LANES * sizeof *t->values);
    t->edges = malloc(edges * sizeof *t->edges);
    t->moves = malloc(game->moves_max * sizeof *t->moves);
    t->state = aligned_alloc(16, (game->state_bytes + 15) / 16 * 16);
    if (t->nodes != NULL && t->values != NULL && t->edges != NULL && t->moves != NULL &&
        t->state != NULL)
        return t;
    ceiling_uct_close(t);
    return NULL;
}

/* Makes the node of the current state. */
static uint32_t make(ceiling_uct *t) {
    const tern_game *game = t->game;
    node *n = &t->nodes[t->node_count];
    *n = (node){.result = (uint8_t)game->result(t->state, game->argument)};
    n->player = n->result == TERN_GAME_OPEN && game->player(t->state, game->argument) != 0;
    return t->node_count++;
}

/* Adds the node's moves, in random order. */
static void expand(ceiling_uct *t, node *n) {
    n->count = t->game->moves(t->state, t->moves, t->game->argument);
    n->edges = t->edge_count;
    t->edge_count += (n->count + LANES - 1) / LANES * LANES;
    edge *edges = &t->edges[n->edges];
    for (uint32_t i = 0; i < n->count; i += LANES)
        t->values[(n->edges + i) / LANES] = (value){0};
    for (uint32_t i = 0; i < n->count; i++) {
        uint32_t j = tern_random_below(&t->random, i + 1);
        edges[i] = edges[j];
        edges[j] = (edge){.move = t->moves[i]};
    }
}

static uint32_t best(const ceiling_uct *t, const node *n) {
    const value *values = &t->values[n->edges / LANES];
    const float wide = t->exploration * sqrtf(logf((float)n->visits));
    floats most = {0};
    ints chosen = {0}, at = {0, 1, 2, 3};
    for (uint32_t i = 0; i < n->count; i += LANES, at += LANES, values++) {
        floats v = values->mean + wide * values->seldom;
        ints more = v > most;
        most = (floats)((more & (ints)v) | (~more & (ints)most));
        chosen = (more & at) | (~more & chosen);
    }
    int first = 0;
    for (int lane = 1; lane < LANES; lane++)
        first = most[lane] > most[first] ? lane : first;
    return n->edges + (uint32_t)chosen[first];
}

static void count(ceiling_uct *t, uint32_t at, uint32_t won) {
    edge *e = &t->edges[at];
    e->visits++;
    e->won += won;
    float seldom = 1 / sqrtf((float)e->visits);
    value *v = &t->values[at / LANES];
    v->mean[at % LANES] = (float)e->won * t->share * seldom * seldom;
    v->seldom[at % LANES] = seldom;
}

static void rollout(ceiling_uct *t, const void *state) {
    const tern_game *game = t->game;
    uint32_t path[DEPTH], depth = 0, all = 2 * t->simulations;
    uint8_t player[DEPTH];
    node *n = t->nodes;
    memcpy(t->state, state, game->state_bytes);
    while (n->visits++ > 0 && n->result == TERN_GAME_OPEN && depth < DEPTH) {
        if (n->count == 0)
            expand(t, n);
        uint32_t at = n->tried < n->count ? n->edges + n->tried++ : best(t, n);
        game->play(t->state, t->edges[at].move, game->argument);
        if (t->edges[at].child == 0)
            t->edges[at].child = make(t);
        path[depth] = at;
        player[depth++] = n->player;
        n = &t->nodes[t->edges[at].child];
    }
    t->visits += depth + 1;
    uint32_t won = t->simulations * n->result;
    if (n->result == TERN_GAME_OPEN)
        won = game->rollouts(t->state, t->simulations, &t->random, game->argument);
    while (depth-- > 0)
        count(t, path[depth], player[depth] == 0 ? won : all - won);
}

uint64_t ceiling_uct_run(ceiling_uct *t, const void *state, uint64_t seed, uint64_t rollouts) {
    uint64_t most = 0;
    t->random = tern_random_seeded(seed, 0);
    t->node_count = t->edge_count = 0;
    t->visits = 0;
    memcpy(t->state, state, t->game->state_bytes);
    (void)make(t);
    for (uint64_t i = 0; i < rollouts; i++)
        rollout(t, state);
    for (uint32_t i = 0; i < t->nodes->tried; i++) {
        uint64_t visits = t->edges[t->nodes->edges + i].visits;
        most = visits > most ? visits : most;
    }
    return most;
}

uint64_t ceiling_uct_visits(const ceiling_uct *t) { return t->visits; }
