/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Random games on an 11 x 11 board of Hex with constant sizes: the program draws black's half of
 * the cells, as bits, and follows the line between the colours from corner to corner. It follows
 * eight lines at a time, since each step of one line needs the step before. It plays sixteen games,
 * then the next sixteen, as a leaf of a search asks for them. */

#include "ceilings.h"

#define SIZE 11
#define WIDTH (SIZE + 2)
#define BITS (WIDTH * WIDTH)

enum { WORDS = (BITS + 63) / 64, LINES = 8 };

typedef struct board {
    uint64_t cells[WORDS], sides[WORDS], goal[WORDS];
} board;

typedef struct line {
    uint64_t black[WORDS];
    int32_t at;
    uint32_t turn;
} line;

static inline uint64_t next(uint64_t *random) {
    uint64_t a = random[0], b = random[1], sum = a + b;
    b ^= a;
    random[0] = (a << 49 | a >> 15) ^ b ^ (b << 21);
    random[1] = b << 28 | b >> 36;
    return (sum << 17 | sum >> 47) + a;
}

static void prepare(board *b) {
    *b = (board){0};
    for (int row = 0; row < WIDTH; row++)
        for (int column = 0; column < WIDTH; column++) {
            int at = row * WIDTH + column;
            uint64_t bit = UINT64_C(1) << (at % 64);
            int outside = row == 0 || column == 0 || row > SIZE || column > SIZE;
            b->cells[at / 64] |= outside ? 0 : bit;
            b->sides[at / 64] |= (row == 0 || row > SIZE) && column <= SIZE ? bit : 0;
            b->goal[at / 64] |= row > SIZE || column > SIZE ? bit : 0;
        }
}

static inline void begin(const board *b, line *l, uint64_t *random) {
    int left = -(SIZE * SIZE + 1) / 2;
    for (int i = 0; i < WORDS; i++) {
        l->black[i] = next(random) & b->cells[i];
        left += __builtin_popcountll(l->black[i]);
    }
    uint64_t too_few = left < 0 ? ~UINT64_C(0) : 0;
    left = left < 0 ? -left : left;
    while (left > 0) {
        uint64_t r = next(random);
        for (int i = 0; i < 4 && left > 0; i++, r >>= 16) {
            uint32_t at = ((uint32_t)(r & 0xffff) * BITS) >> 16;
            uint64_t bit =
                UINT64_C(1) << (at % 64) & b->cells[at / 64] & (l->black[at / 64] ^ too_few);
            l->black[at / 64] ^= bit;
            left -= bit != 0;
        }
    }
    for (int i = 0; i < WORDS; i++)
        l->black[i] |= b->sides[i];
    l->at = WIDTH + 1;
    l->turn = 4;
}

/* Does steps of all lines in turn. Where one line has ended another begins, while there are
 * more. */
static uint64_t play(const board *b, int count, uint64_t *random) {
    static const int8_t step[6][2] = {{-1, 1}, {WIDTH - 1, 1 - WIDTH}, {WIDTH, -WIDTH},
                                      {1, -1}, {1 - WIDTH, WIDTH - 1}, {-WIDTH, WIDTH}};
    static const uint8_t turn[6][2] = {{1, 5}, {2, 0}, {3, 1}, {4, 2}, {5, 3}, {0, 4}};
    line lines[LINES];
    uint64_t won = 0;
    int begun = 0, under_way = count < LINES ? count : LINES;
    for (; begun < under_way; begun++)
        begin(b, &lines[begun], random);
    while (under_way > 0)
        for (line *l = lines; l < lines + under_way; l++) {
            uint32_t at = (uint32_t)l->at, bit = l->black[at / 64] >> (at % 64) & 1;
            if (__builtin_expect((b->goal[at / 64] >> (at % 64) & 1) == 0, 1)) {
                l->at += step[l->turn][bit];
                l->turn = turn[l->turn][bit];
                continue;
            }
            won += bit;
            if (begun < count) {
                begin(b, l, random);
                begun++;
            } else {
                *l = lines[--under_way];
            }
        }
    return won;
}

uint64_t ceiling_hex(uint64_t seed, uint64_t n) {
    uint64_t random[2] = {seed, ~seed}, won = 0;
    board b;
    prepare(&b);
    for (; n >= 16; n -= 16)
        won += play(&b, 16, random);
    return won + play(&b, (int)n, random);
}
