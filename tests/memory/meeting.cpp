/*
 * Meetings of ranks in shared memory (src/collective/meeting.c): three ranks come to two meetings, one after
 * the other, and sum up a word in each. Where a rank has looked in vain a few times, it leaves, as
 * it does when another one has died, and comes to no further meeting.
 */

#include "model.h"

enum { RANKS = 3, MEETINGS = 2, LOOKS = 1 };

struct meetings : rl::test_suite<meetings, RANKS> {
    word arrived, gathered, generation, sum;
    plain done[MEETINGS][RANKS]; /* by each rank before it comes to the meeting */

    void before() {
        STORE(arrived, 0, relaxed);
        STORE(gathered, 0, relaxed);
        STORE(generation, 0, relaxed);
        STORE(sum, 0, relaxed);
    }

    void end(int mine) {
        if (is("end before the sum"))
            STORE(generation, mine + 1, release);
        STORE(sum, LOAD(gathered, relaxed), relaxed);
        STORE(gathered, 0, relaxed);
        STORE(arrived, 0, relaxed);
        if (!is("end before the sum"))
            STORE(generation, mine + 1, but("end's release", release));
    }

    /* tern_meeting_hold. 0: it has not ended. */
    int hold(int value) {
        int mine = LOAD(generation, acquire);
        ADD(gathered, value, relaxed);
        if (ADD(arrived, 1, but("arrival's order", seq_cst)) + 1 == RANKS) {
            end(mine);
            return LOAD(sum, relaxed);
        }
        for (int looks = 0; LOAD(generation, but("leaver's acquire", acquire)) == mine; looks++) {
            if (looks == LOOKS)
                return 0;
            rl::yield(1, $);
        }
        return LOAD(sum, relaxed);
    }

    void thread(unsigned rank) {
        for (int m = 0; m < MEETINGS; m++) {
            WRITE(done[m][rank], 1);
            int total = hold(1 + m);
            if (total == 0)
                return;
            RL_ASSERT(total == RANKS * (1 + m));
            for (int r = 0; r < RANKS; r++)
                RL_ASSERT(READ(done[m][r]) == 1);
        }
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    return !check<meetings>(
        {"meetings",
         FEW_SWITCHES,
         {"arrival's order", "end's release", "leaver's acquire", "end before the sum"}});
}
