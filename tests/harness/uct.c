#include "games.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_MOST = 64, MOVES_MOST = 64 };

typedef struct node {
    char state[STATE_MOST];
    uint32_t moves[MOVES_MOST], count, tried;
    uint64_t visits;
    double won; /* for the player who moved here, 0 to 1 for each visit that is back */
    struct node *parent, *child[MOVES_MOST];
} node;

typedef struct search {
    const tern_game *game;
    uint32_t simulations;
    double exploration;
    tern_random random;
} search;

static bool is_first(const search *s, const node *n) {
    return s->game->player(n->state, s->game->argument) == 0;
}

static node *make(const search *s, node *parent, const char *state) {
    node *n = calloc(1, sizeof *n);
    n->parent = parent;
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
    double most = -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        const node *c = n->child[i];
        double value = c->won / (double)c->visits +
                       s->exploration * sqrt(log((double)n->visits) / (double)c->visits);
        if (value > most) {
            most = value;
            at = i;
        }
    }
    return at;
}

/* Counts a visit at each node down to a leaf, and returns the leaf. */
static node *go_down(search *s, node *n) {
    while (++n->visits > 1 && n->count > 0) {
        uint32_t i = n->tried < n->count ? draw_untried(s, n) : best(s, n);
        if (n->child[i] == NULL) {
            char next[STATE_MOST];
            memcpy(next, n->state, s->game->state_bytes);
            s->game->play(next, n->moves[i], s->game->argument);
            n->child[i] = make(s, n, next);
            n->tried++;
        }
        n = n->child[i];
    }
    return n;
}

static void come_back(search *s, node *leaf) {
    double won = simulate(s, leaf);
    for (node *n = leaf; n->parent != NULL; n = n->parent)
        n->won += is_first(s, n->parent) ? won : 1 - won;
}

void uct_search(const tern_game *game, const void *state, const uct_options *o, uint64_t seed,
                uint64_t *visits) {
    search s = {game, o->simulations, o->exploration, tern_random_seeded(seed, 0)};
    node *root = make(&s, NULL, state), **leaf = calloc(o->under_way, sizeof *leaf);
    for (uint32_t i = 0; i < o->rollouts + o->under_way; i++) {
        if (leaf[i % o->under_way] != NULL)
            come_back(&s, leaf[i % o->under_way]);
        leaf[i % o->under_way] = i < o->rollouts ? go_down(&s, root) : NULL;
    }
    for (uint32_t i = 0; i < root->count; i++)
        visits[i] = root->child[i] != NULL ? root->child[i]->visits : 0;
    destroy(root);
    free(leaf);
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
