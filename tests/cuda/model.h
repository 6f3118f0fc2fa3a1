/*
 * What the tests of warps call and serve: a lane sends words, six a packet, and gets back what
 * follows from all of them and from who it is. A server answers late now and then: the lane's call
 * stays open, and the same words come again. Its own sessions tell it whether packets of a lane are
 * mixed up with those of another, lost or doubled. C11, C++ and CUDA; for either side.
 */

#ifndef TERN_TESTS_CUDA_MODEL_H
#define TERN_TESTS_CUDA_MODEL_H

#include "tern/mailbox_warp.h"

#define MODEL_PIECE 6u      /* words of a request in a line */
#define MODEL_WORDS_MAX 40u /* of a request */

/* The next number of the splitmix64 sequence that *state stands in. */
TERN_MAILBOX_INLINE uint64_t model_random(uint64_t *state) {
    uint64_t z = *state += (uint64_t)0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * (uint64_t)0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * (uint64_t)0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Word i of the request that a seed stands for. */
TERN_MAILBOX_INLINE uint64_t model_word(uint64_t seed, uint64_t i) {
    uint64_t state = seed + i * 0x10001;
    return model_random(&state);
}

TERN_MAILBOX_INLINE uint64_t model_fold(uint64_t sum, uint64_t word) {
    return (sum ^ word) * (uint64_t)0x100000001b3u + 1;
}

/* The answer to a request of so many words. */
TERN_MAILBOX_INLINE uint64_t model_answer(uint64_t seed, uint64_t words) {
    uint64_t sum = words;
    for (uint64_t i = 0; i < words; i++)
        sum = model_fold(sum, model_word(seed, i));
    return sum;
}

/* Lanes of a round: often none, one, or all. */
TERN_MAILBOX_INLINE uint32_t model_mask(uint64_t *random) {
    uint64_t pick = model_random(random), kind = pick & 7;
    uint32_t mask = (uint32_t)(pick >> 32);
    if (kind == 0)
        return 0;
    if (kind == 1)
        return (uint32_t)1 << (mask & 31);
    return kind == 2 ? ~(uint32_t)0 : mask;
}

/* ---- Client ---- */

/* A lane's call. */
typedef struct model_call {
    uint64_t seed, words; /* the request */
    uint64_t sent;        /* words that the server has taken */
    uint64_t answer;
} model_call;

/* line: words of the whole request, words before these, and six of them; of an answer: words that
 * were taken so far, and the answer once they all were. */
TERN_MAILBOX_INLINE void model_fill_one(tern_mailbox_lane *line, const model_call *call) {
    line->word[0] = call->words;
    line->word[1] = call->sent;
    for (uint64_t i = 0; i < MODEL_PIECE && call->sent + i < call->words; i++)
        line->word[2 + i] = model_word(call->seed, call->sent + i);
}

TERN_MAILBOX_INLINE void model_use_one(const tern_mailbox_lane *line, model_call *call) {
    call->sent = line->word[0];
    call->answer = line->word[1];
}

/* For a lane with a call of its own, and for one that plays 32. */
TERN_MAILBOX_INLINE void model_fill_mine(tern_mailbox_lane *line, tern_mailbox_place place,
                                         void *argument) {
    (void)place;
    model_fill_one(line, (const model_call *)argument);
}

TERN_MAILBOX_INLINE void model_use_mine(tern_mailbox_lane *line, tern_mailbox_place place,
                                        void *argument) {
    (void)place;
    model_use_one(line, (model_call *)argument);
}

TERN_MAILBOX_INLINE void model_fill_all(tern_mailbox_lane *line, tern_mailbox_place place,
                                        void *argument) {
    model_fill_one(line, (const model_call *)argument + place.lane);
}

TERN_MAILBOX_INLINE void model_use_all(tern_mailbox_lane *line, tern_mailbox_place place,
                                       void *argument) {
    model_use_one(line, (model_call *)argument + place.lane);
}

TERN_MAILBOX_INLINE model_call model_call_of(uint64_t *random) {
    model_call call = {0, 0, 0, 0};
    call.seed = model_random(random);
    /* Mostly a packet; at its edges; and several. */
    uint64_t pick = model_random(random);
    call.words = pick % 4 == 0 ? pick / 4 % (MODEL_WORDS_MAX + 1) : pick / 4 % (MODEL_PIECE + 2);
    return call;
}

TERN_MAILBOX_INLINE int model_call_is_right(const model_call *call) {
    return call->sent == call->words && call->answer == model_answer(call->seed, call->words);
}

/* ---- Server ---- */

/* A lane's call at its server, one for each slot and lane. Zeroed at first. */
typedef struct model_session {
    uint64_t words, got, sum, random;
    uint64_t calls, wrong; /* that are over; that came in another order than they are sent in */
} model_session;

/* The argument is the sessions of all slots. */
TERN_MAILBOX_INLINE int model_work(tern_mailbox_lane *line, tern_mailbox_place place,
                                   void *argument) {
    model_session *session =
        (model_session *)argument + place.slot * TERN_MAILBOX_LANES + place.lane;
    uint64_t words = line->word[0], from = line->word[1];
    if (place.number == 0) {
        session->words = session->sum = words;
        session->got = 0;
    }
    session->wrong += words != session->words || from != session->got || words > MODEL_WORDS_MAX;
    int late = model_random(&session->random) % 8 == 0;
    for (uint64_t i = 0; !late && i < MODEL_PIECE && session->got < session->words; i++) {
        session->sum = model_fold(session->sum, line->word[2 + i]);
        session->got++;
    }
    int open = late || session->got < session->words;
    line->word[0] = session->got;
    line->word[1] = open ? 0 : session->sum;
    session->calls += !open;
    return open;
}

/* What a kernel is told, and tells: all of it lies in memory that both sides have mapped. */
typedef struct kernel_plan {
    void *memory; /* of the mailbox */
    uint32_t slots;
    uint32_t rounds; /* of a client's warp */
    uint32_t own;    /* not 0: a warp has the slot of its number for good, no lock is taken */
    uint64_t seed;
    uint64_t patience;       /* ns after which a call ends, or a server to which nothing comes */
    model_session *sessions; /* of a serving kernel */
    uint32_t *stop;          /* set by the host: the serving kernel is to end */
    uint64_t *calls;         /* by thread: calls that came to an answer, */
    uint64_t *wrong;         /* and to a wrong one, or to none */
} kernel_plan;

#endif
