/*
 * Rkeys of remote regions (rma/region/rkey.c): two operations hold the rkey of a region, read the
 * region's address and release the rkey. Meanwhile the region's owner takes the rkey back, and it
 * is used for a second region and then for the first again. In the library that happens under a
 * lock; here one thread does it.
 */

#include "model.h"

enum { KNOWN = 1, HOLD = 4, TURN = 256, FIRST = 1, SECOND = 2, CHANGES = 2 };

struct rkeys : rl::test_suite<rkeys, 3> {
    word state, name;
    plain base; /* that of a region has its name */

    void learn(int of) {
        STORE(name, of, relaxed);
        WRITE(base, of);
        OR(state, KNOWN, but("known's release", release));
    }

    void before() {
        STORE(state, 0, relaxed);
        learn(FIRST);
    }

    /* hold_known */
    bool hold(int wanted) {
        int seen = LOAD(state, but("hold's acquire", acquire));
        while ((seen & KNOWN) != 0 && (is("hold of any") || LOAD(name, relaxed) == wanted)) {
            int was = cas(state, seen, seen + HOLD, acquire);
            if (was == seen)
                return true;
            seen = was;
        }
        return false;
    }

    /* tern_rkey_revoke */
    bool revoke() {
        int turn = LOAD(state, relaxed) / TURN * TURN;
        int unused = turn | KNOWN, next = turn + (is("no turn") ? 0 : TURN);
        if (is("revoke of what is held")) {
            STORE(state, next, relaxed);
            return true;
        }
        return cas(state, unused, next, but("revoke's acquire", acquire)) == unused;
    }

    void thread(unsigned index) {
        if (index != 0) {
            if (!hold(FIRST))
                return;
            RL_ASSERT(READ(base) == FIRST);
            ADD(state, -HOLD, but("release's release", release));
            return;
        }
        for (int i = 0; i < CHANGES; i++)
            if (revoke())
                learn(i % 2 == 0 ? SECOND : FIRST);
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    return !check<rkeys>({"rkeys",
                         FEW_SWITCHES,
                         {"known's release", "hold's acquire", "hold of any", "no turn",
                          "revoke of what is held", "revoke's acquire", "release's release"}});
}
