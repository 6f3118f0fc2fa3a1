#include "uct.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_MOST = 64, MOVES_MOST = 64 };

typedef struct node {
    char state[STATE_MOST];
    uint32_t moves[MOVES_MOST], count, tried;
    uint64_t visits;
    double won; /* of player 0, 0 to 1 a visit */
    struct node *child[MOVES_MOST];
} node;

typedef struct search {
    const tern_game *game;
    uint32_t simulations;
    double exploration;
    tern_random random;
} search;

static node *make(search *s, const char *state) {
    node *n = calloc(1, sizeof *n);
    memcpy(n->state, state, s->game->state_bytes);
    n->count = s->game->result(state, s->game->argument) == TERN_GAME_OPEN
                   ? s->game->moves(state, n->moves, s->game->argument)
                   : 0;
    return n;
}

static void destroy(node *n) {
    for (uint32_t i = 0; i < n->count; i++)
        if (n->child[i] != NULL)
            destroy(n->child[i]);
    free(n);
}

static double simulate(search *s, const node *n) {
    double sum = 0;
    for (uint32_t i = 0; i < s->simulations; i++) {
        char state[STATE_MOST];
        uint32_t moves[MOVES_MOST];
        tern_game_result result;
        memcpy(state, n->state, s->game->state_bytes);
        while ((result = s->game->result(state, s->game->argument)) == TERN_GAME_OPEN) {
            uint32_t count = s->game->moves(state, moves, s->game->argument);
            s->game->play(state, moves[tern_random_below(&s->random, count)], s->game->argument);
        }
        sum += (double)result * 0.5;
    }
    return sum / s->simulations;
}

static uint32_t draw_untried(search *s, const node *n) {
    uint32_t left = tern_random_below(&s->random, n->count - n->tried), i = 0;
    for (;; i++)
        if (n->child[i] == NULL && left-- == 0)
            return i;
}

static uint32_t best(const search *s, const node *n) {
    bool first = s->game->player(n->state, s->game->argument) == 0;
    double most = -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        const node *c = n->child[i];
        double mean = c->won / (double)c->visits;
        double value = (first ? mean : 1 - mean) +
                       s->exploration * sqrt(log((double)n->visits) / (double)c->visits);
        if (value > most) {
            most = value;
            at = i;
        }
    }
    return at;
}

static double rollout(search *s, node *n) {
    double won;
    n->visits++;
    if (n->visits == 1 || n->count == 0) {
        won = simulate(s, n);
    } else {
        uint32_t i = n->tried < n->count ? draw_untried(s, n) : best(s, n);
        if (n->child[i] == NULL) {
            char next[STATE_MOST];
            memcpy(next, n->state, s->game->state_bytes);
            s->game->play(next, n->moves[i], s->game->argument);
            n->child[i] = make(s, next);
            n->tried++;
        }
        won = rollout(s, n->child[i]);
    }
    n->won += won;
    return won;
}

void uct_search(const tern_game *game, const void *state, uint32_t rollouts, uint32_t simulations,
                double exploration, uint64_t seed, uint64_t *visits) {
    search s = {game, simulations, exploration, tern_random_seeded(seed, 0)};
    node *root = make(&s, state);
    for (uint32_t i = 0; i < rollouts; i++)
        (void)rollout(&s, root);
    for (uint32_t i = 0; i < root->count; i++)
        visits[i] = root->child[i] != NULL ? root->child[i]->visits : 0;
    destroy(root);
}

double uct_distance(const uint64_t *a, const uint64_t *b, uint32_t count) {
    double all_a = 0, all_b = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        all_a += (double)a[i];
        all_b += (double)b[i];
    }
    for (uint32_t i = 0; i < count; i++)
        sum += fabs((double)a[i] / all_a - (double)b[i] / all_b);
    return sum / 2;
}
