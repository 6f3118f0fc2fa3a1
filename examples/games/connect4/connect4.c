#include "examples/games/connect4/connect4.h"

enum { COLUMN = CONNECT4_ROWS + 1 };

static uint64_t taken(const connect4_state *s) { return s->stones[0] | s->stones[1]; }

static int player(const void *state, void *argument) {
    (void)argument;
    return __builtin_popcountll(taken(state)) % 2;
}

/* The lowest cell of each column, and the bit above its highest cell. */
static const uint64_t bottom = UINT64_C(0x0040810204081), above = UINT64_C(0x1020408102040);

/* Returns the lowest free cell of each column that has one. Adding 1 at the lowest cell carries
 * past all stones of the column. */
static uint64_t landings(const connect4_state *s) { return (taken(s) + bottom) & ~above; }

static bool has_four(uint64_t stones) {
    static const int steps[] = {1, COLUMN, COLUMN - 1, COLUMN + 1};
    for (int i = 0; i < 4; i++) {
        uint64_t pairs = stones & stones >> steps[i];
        if ((pairs & pairs >> 2 * steps[i]) != 0)
            return true;
    }
    return false;
}

static uint32_t moves(const void *state, uint32_t *moves, void *argument) {
    uint32_t count = 0;
    (void)argument;
    for (uint64_t left = landings(state); left != 0; left &= left - 1)
        moves[count++] = (uint32_t)__builtin_ctzll(left) / COLUMN;
    return count;
}

static void play(void *state, uint32_t move, void *argument) {
    connect4_state *s = state;
    uint64_t column = ((UINT64_C(1) << COLUMN) - 1) << move * COLUMN;
    s->stones[player(s, argument)] |= landings(s) & column;
}

static tern_game_result result(const void *state, void *argument) {
    const connect4_state *s = state;
    (void)argument;
    if (has_four(s->stones[0]))
        return TERN_GAME_WON;
    if (has_four(s->stones[1]))
        return TERN_GAME_LOST;
    return landings(s) == 0 ? TERN_GAME_DRAWN : TERN_GAME_OPEN;
}

/* Returns one of the bits, each with the same chance. */
static uint64_t draw(uint64_t bits, tern_random *random) {
    uint32_t skip = tern_random_below(random, (uint32_t)__builtin_popcountll(bits));
    while (skip-- > 0)
        bits &= bits - 1;
    return bits & -bits;
}

static uint32_t rollout(connect4_state s, tern_random *random) {
    for (int who = player(&s, 0);; who = !who) {
        uint64_t cells = landings(&s);
        if (cells == 0)
            return TERN_GAME_DRAWN;
        s.stones[who] |= draw(cells, random);
        if (has_four(s.stones[who]))
            return who == 0 ? TERN_GAME_WON : TERN_GAME_LOST;
    }
}

static uint32_t rollouts(const void *state, uint32_t count, tern_random *random, void *argument) {
    uint32_t sum = 0;
    (void)argument;
    for (uint32_t i = 0; i < count; i++)
        sum += rollout(*(const connect4_state *)state, random);
    return sum;
}

/* Hashes the two words. The result is as good as a Zobrist hash; nothing here would gain from
 * updating a hash move by move. */
static uint64_t hash(const void *state, void *argument) {
    const connect4_state *s = state;
    (void)argument;
    return tern_random_mix(s->stones[0] + tern_random_mix(s->stones[1] + 1));
}

const tern_game connect4 = {.name = "connect4",
                            .state_bytes = sizeof(connect4_state),
                            .moves_max = CONNECT4_COLUMNS,
                            .moves = moves,
                            .play = play,
                            .player = player,
                            .result = result,
                            .rollouts = rollouts,
                            .hash = hash};

bool connect4_play(connect4_state *state, const char *columns) {
    for (; *columns != '\0'; columns++) {
        uint32_t column = (uint32_t)(*columns - '0');
        if (column >= CONNECT4_COLUMNS || result(state, 0) != TERN_GAME_OPEN ||
            (landings(state) >> column * COLUMN & ((1u << COLUMN) - 1)) == 0)
            return false;
        play(state, column, 0);
    }
    return true;
}
