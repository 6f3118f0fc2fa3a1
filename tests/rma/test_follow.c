// tern-test: unit

/* Which ranks get a follow-up, and when (rma/message/follow.h). */

#include "harness.h"
#include "rma/message/follow.h"

enum { RANKS = 4 };

/* What a round sends. */
typedef struct round_log {
    tern_follow *follow;
    bool refuses; /* no buffer is free */
    uint32_t asked[RANKS], count;
} round_log;

static bool log_send(void *argument, uint32_t rank) {
    round_log *log = argument;
    CU_ASSERT_FATAL(log->count < RANKS);
    log->asked[log->count++] = rank;
    if (log->refuses)
        return false;
    tern_follow_sent(log->follow, rank); /* the follow-up itself */
    return true;
}

/* Returns a bit for each rank for which a round sends, or tries to. */
static unsigned round_of(tern_follow *follow, bool refuses) {
    round_log log = {.follow = follow, .refuses = refuses};
    unsigned ranks = 0;
    tern_follow_round(follow, log_send, &log);
    for (uint32_t i = 0; i < log.count; i++)
        ranks |= 1u << log.asked[i];
    return ranks;
}

/* A rank gets one in the first round before which nothing was sent to it for a whole round. */
static void after_a_rest(void) {
    tern_follow follow;
    CU_ASSERT(tern_follow_open(&follow, RANKS));
    for (int round = 0; round < 3; round++) {
        CU_ASSERT_EQUAL(round_of(&follow, false), 0);
        tern_follow_sent(&follow, 2);
    }
    CU_ASSERT_EQUAL(round_of(&follow, false), 0);
    CU_ASSERT_EQUAL(round_of(&follow, false), 1 << 2);
    for (int round = 0; round < 3; round++)
        CU_ASSERT_EQUAL(round_of(&follow, false), 0);
    CU_ASSERT_EQUAL(follow.first, 0);
    tern_follow_close(&follow);
}

/* A follow-up that finds no buffer is sent in the next round. */
static void tried_again(void) {
    tern_follow follow;
    CU_ASSERT(tern_follow_open(&follow, RANKS));
    tern_follow_sent(&follow, 0);
    tern_follow_sent(&follow, 3);
    tern_follow_sent(&follow, 1);
    CU_ASSERT_EQUAL(round_of(&follow, false), 0);
    tern_follow_sent(&follow, 1);
    CU_ASSERT_EQUAL(round_of(&follow, true), 1 << 0 | 1 << 3);
    CU_ASSERT_EQUAL(round_of(&follow, false), 1 << 0 | 1 << 1 | 1 << 3);
    CU_ASSERT_EQUAL(round_of(&follow, false), 0);
    tern_follow_close(&follow);
}

/* The list against a model: a rank is due if something was sent behind its last follow-up, and
 * nothing since the last round. */
static void against_a_model(void) {
    tern_follow follow;
    uint64_t state = tern_test_seed();
    bool owes[RANKS] = {false}, fresh[RANKS] = {false};
    CU_ASSERT(tern_follow_open(&follow, RANKS));
    for (unsigned turn = 0; turn < 5000; turn++) {
        const uint64_t draw = tern_test_random(&state);
        if (draw % 3 != 0) {
            const uint32_t rank = (uint32_t)(draw >> 8) % RANKS;
            tern_follow_sent(&follow, rank);
            owes[rank] = fresh[rank] = true;
            continue;
        }
        const bool refuses = draw >> 8 & 1;
        unsigned due = 0;
        for (uint32_t r = 0; r < RANKS; r++) {
            due |= (unsigned)(owes[r] && !fresh[r]) << r;
            owes[r] = owes[r] && (fresh[r] || refuses);
            fresh[r] = false;
        }
        CU_ASSERT_EQUAL(round_of(&follow, refuses), due);
    }
    tern_follow_close(&follow);
}

/* A round is due at once, and no more rounds are when sends have ended. */
static void due(void) {
    enum { CALLS = 10000 };
    tern_follow follow;
    unsigned found = 0;
    CU_ASSERT(tern_follow_open(&follow, RANKS));
    for (int i = 0; i < CALLS; i++)
        found += tern_follow_due(&follow);
    CU_ASSERT(found > 0);
    follow.stopped = true;
    follow.at = 0;
    for (int i = 0; i < CALLS; i++)
        CU_ASSERT(!tern_follow_due(&follow));
    tern_follow_close(&follow);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"after_a_rest", after_a_rest},
                                           {"tried_again", tried_again},
                                           {"against_a_model", against_a_model},
                                           {"due", due}};
    return tern_test_main(argc, argv, "follow", tests, sizeof tests / sizeof *tests);
}
