#include "solver.h"

#include <stdlib.h>
#include <string.h>

/*
 * Negamax with a table of positions. Besides the winner, a verdict has a carrier: a set of empty
 * cells inside which the winner can win whatever the loser plays. Cells outside of it make no
 * difference. So once the answer to a move is known to win inside a carrier, only moves into that
 * carrier have to be tried.
 */

typedef struct verdict {
    bool wins; /* the player to move wins */
    uint64_t carrier;
} verdict;

typedef struct entry {
    hex_position position; /* without stones: the entry is empty */
    verdict verdict;
} entry;

struct hex_solver {
    uint32_t size;
    uint64_t all;              /* bits of the cells */
    uint64_t begin[2], end[2]; /* by player: bits of the two sides that the player connects */
    size_t mask;
    entry *table;
};

static uint64_t bit(uint32_t cell) { return UINT64_C(1) << cell; }

hex_solver *hex_solver_open(uint32_t size, size_t positions) {
    hex_solver *s = size <= SOLVER_SIZE_MAX ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    *s = (hex_solver){.size = size, .all = bit(size * size) - 1, .mask = positions - 1};
    for (uint32_t i = 0; i < size; i++) {
        s->begin[0] |= bit(i);
        s->end[0] |= bit(size * (size - 1) + i);
        s->begin[1] |= bit(i * size);
        s->end[1] |= bit(i * size + size - 1);
    }
    s->table = calloc(positions, sizeof *s->table);
    if (s->table == NULL) {
        free(s);
        return NULL;
    }
    return s;
}

void hex_solver_close(hex_solver *s) {
    if (s != NULL)
        free(s->table);
    free(s);
}

/* Returns the cells around those of bits. It does not wrap around the left or the right side. */
static uint64_t around(const hex_solver *s, uint64_t bits) {
    uint64_t to_left = bits & ~s->begin[1], to_right = bits & ~s->end[1];
    uint32_t n = s->size;
    return (to_left >> 1 | to_right << 1 | bits >> n | bits << n | to_right >> (n - 1) |
            to_left << (n - 1)) &
           s->all;
}

bool hex_solver_connects(const hex_solver *s, uint64_t stones, uint32_t player) {
    uint64_t reached = stones & s->begin[player], before = 0;
    while (reached != before && (reached & s->end[player]) == 0) {
        before = reached;
        reached |= around(s, reached) & stones;
    }
    return (reached & s->end[player]) != 0;
}

static entry *entry_of(const hex_solver *s, const hex_position *p) {
    uint64_t x = (p->stones[0] * 2 + p->mover) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29 ^ p->stones[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    return &s->table[(x ^ x >> 32) & s->mask];
}

static bool same(const hex_position *a, const hex_position *b) {
    return a->stones[0] == b->stones[0] && a->stones[1] == b->stones[1] && a->mover == b->mover;
}

static hex_position after(const hex_position *p, uint64_t move) {
    hex_position next = *p;
    next.stones[p->mover] |= move;
    next.mover = 1 - p->mover;
    return next;
}

static uint64_t empty_of(const hex_solver *s, const hex_position *p) {
    return s->all & ~(p->stones[0] | p->stones[1]);
}

/* Returns one of moves, near the middle, because most positions are decided there. */
static uint64_t pick(const hex_solver *s, uint64_t moves) {
    uint32_t middle = s->size * s->size / 2;
    uint64_t upper = moves >> middle << middle, lower = moves & ~upper;
    uint64_t first = upper & -upper;
    uint64_t last = lower != 0 ? bit(63 - (uint32_t)__builtin_clzll(lower)) : 0;
    uint64_t near = last << 1 >= bit(middle) || first == 0 ? last : first;
    return near != 0 ? near : last;
}

static verdict judge(hex_solver *s, hex_position p);

static verdict try_all(hex_solver *s, const hex_position *p) {
    verdict lost = {false, 0};
    for (uint64_t left = empty_of(s, p); left != 0;) {
        uint64_t move = pick(s, left);
        verdict answer = judge(s, after(p, move));
        if (!answer.wins)
            return (verdict){true, answer.carrier | move};
        lost.carrier |= answer.carrier;
        left &= answer.carrier & ~move;
    }
    return lost;
}

/* Only the player who moved last can have connected their sides by that move. */
static verdict judge(hex_solver *s, hex_position p) {
    if (hex_solver_connects(s, p.stones[1 - p.mover], 1 - p.mover))
        return (verdict){false, 0};
    entry *e = entry_of(s, &p);
    if ((e->position.stones[0] | e->position.stones[1]) != 0 && same(&e->position, &p))
        return e->verdict;
    verdict v = try_all(s, &p);
    *e = (entry){p, v};
    return v;
}

bool hex_solver_wins(hex_solver *s, hex_position p) { return judge(s, p).wins; }

uint64_t hex_solver_winning_moves(hex_solver *s, hex_position p) {
    uint64_t winning = 0;
    for (uint64_t left = empty_of(s, &p); left != 0; left &= left - 1)
        if (!judge(s, after(&p, left & -left)).wins)
            winning |= left & -left;
    return winning;
}
