// tern-test: unit

/* Which ranks get a follow-up, and when (rma/message/follow.h). */

#include "harness.h"
#include "rma/message/follow.h"

enum { RANKS = 4 };

/* A rank gets one in the first round before which nothing was sent to it for a whole round. */
static void after_a_rest(void) {
    tern_follow follow;
    CU_ASSERT(tern_follow_open(&follow, RANKS));
    for (int round = 0; round < 3; round++) {
        CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), RANKS);
        tern_follow_sent(&follow, 2);
    }
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), RANKS);
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), 2);
    tern_follow_sent(&follow, 2); /* the follow-up itself */
    tern_follow_done(&follow, 2);
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 3), RANKS);
    for (int round = 0; round < 3; round++)
        CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), RANKS);
    tern_follow_close(&follow);
}

/* A follow-up that cannot be sent is given up. */
static void given_up(void) {
    tern_follow follow;
    CU_ASSERT(tern_follow_open(&follow, RANKS));
    tern_follow_sent(&follow, 0);
    tern_follow_sent(&follow, 3);
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), RANKS);
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), 0);
    tern_follow_done(&follow, 0);
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 1), 3);
    tern_follow_done(&follow, 3);
    CU_ASSERT_EQUAL(tern_follow_next(&follow, 0), RANKS);
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
    static const tern_test_case tests[] = {
        {"after_a_rest", after_a_rest}, {"given_up", given_up}, {"due", due}};
    return tern_test_main(argc, argv, "follow", tests, sizeof tests / sizeof *tests);
}
