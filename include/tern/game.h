#ifndef TERN_GAME_H
#define TERN_GAME_H

/*
 * A game for two players, as a tree search sees it (tern/mcts.h): a table of functions over states.
 * A state is plain memory of a fixed size without pointers, because it is copied byte by byte, also
 * to other ranks. All functions may run in several threads at once, each on its own states, and
 * must not wait. The game has neither chance nor hidden information. The players are 0 and 1.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a state for player 0, in half points, so that sums are exact. */
typedef enum tern_game_result {
    TERN_GAME_LOST = 0,
    TERN_GAME_DRAWN = 1,
    TERN_GAME_WON = 2,
    TERN_GAME_OPEN = 3 /* the game is not over */
} tern_game_result;

/* Random numbers by xoroshiro128++ (Blackman and Vigna), one generator for each thread. */
typedef struct tern_random {
    uint64_t state[2];
} tern_random;

/** Returns a generator for a seed and a stream. Generators of different streams are independent. */
TERN_INLINE tern_random tern_random_seeded(uint64_t seed, uint64_t stream);

/** Returns the next 64 random bits. */
TERN_INLINE uint64_t tern_random_next(tern_random *random);

/** Returns a random number less than bound, which is 1 or more. Its bias is at most bound / 2^32.
 */
TERN_INLINE uint32_t tern_random_below(tern_random *random, uint32_t bound);

/* A game. Every rank describes the same game. argument is passed to all functions; what it points
 * to must not change while a search uses the game. */
typedef struct tern_game {
    const char *name;
    size_t state_bytes; /* 1 to TERN_GAME_STATE_MAX */
    uint32_t moves_max; /* the most moves of a state, 1 to TERN_GAME_MOVES_MAX */

    /* Stores the moves of the player to move, in any fixed order. [out] moves has room for
     * moves_max. Returns their number: 1 or more if the state is open, and 0 if the game is
     * over. */
    uint32_t (*moves)(const void *state, uint32_t *moves, void *argument);

    /* Makes one of these moves. */
    void (*play)(void *state, uint32_t move, void *argument);

    /* Returns the player to move, 0 or 1, of an open state. */
    int (*player)(const void *state, void *argument);

    /* Returns the value of a state for player 0, or TERN_GAME_OPEN if the game is not over. */
    tern_game_result (*result)(const void *state, void *argument);

    /* Optional. Plays count games from an open state to the end, each move drawn with equal
     * chances, and returns the sum of the results. If it is NULL, the search does this with the
     * functions above. */
    uint32_t (*rollouts)(const void *state, uint32_t count, tern_random *random, void *argument);

    /* Optional; needed by searches that place or share nodes by hash. Returns the same number
     * for states with the same future, and almost never the same number for others (Zobrist
     * hashing). */
    uint64_t (*hash)(const void *state, void *argument);

    void *argument;
} tern_game;

/* The largest state in bytes, and the most moves of a state. */
#define TERN_GAME_STATE_MAX 4096u
#define TERN_GAME_MOVES_MAX 65535u

TERN_INLINE uint64_t tern_random_next(tern_random *random) {
    uint64_t a = random->state[0], b = random->state[1], sum = a + b;
    uint64_t result = (sum << 17 | sum >> 47) + a;
    b ^= a;
    random->state[0] = (a << 49 | a >> 15) ^ b ^ (b << 21);
    random->state[1] = b << 28 | b >> 36;
    return result;
}

TERN_INLINE uint32_t tern_random_below(tern_random *random, uint32_t bound) {
    return (uint32_t)(((tern_random_next(random) >> 32) * bound) >> 32);
}

/* The finalizer of SplitMix64, which makes the first states; these are never all zero. */
TERN_INLINE uint64_t tern_random_mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

TERN_INLINE tern_random tern_random_seeded(uint64_t seed, uint64_t stream) {
    uint64_t x = tern_random_mix(seed) + stream * UINT64_C(0x9e3779b97f4a7c15);
    tern_random r = {{tern_random_mix(x + 1), tern_random_mix(x + 2) | 1}};
    return r;
}

#ifdef __cplusplus
}
#endif

#endif
