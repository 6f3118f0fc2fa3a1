/*
 * Workers: a worker that changes hands (src/progress/worker.c, src/mpi/pmpi.c), an object that calls find no more
 * (tern_callee_remove and tern_progress_pass), and what a rank tells that it is in (src/peers/activity.c).
 */

#include "model.h"

/* The owner is the number of a thread, or 0. */
struct ownership {
    word adopted, owner;

    void start() {
        STORE(adopted, 1, relaxed);
        STORE(owner, 1, relaxed);
    }

    bool adopt(int self) {
        if (SWAP(adopted, 1, but("adopter's acquire", acquire)) != 0)
            return false;
        STORE(owner, self, relaxed);
        return true;
    }

    bool give_back() {
        if (is("owner's exchange")) {
            if (LOAD(owner, relaxed) == 0)
                return false;
            STORE(owner, 0, relaxed);
        } else if (!is("owner last") && SWAP(owner, 0, relaxed) == 0) {
            return false;
        }
        STORE(adopted, 0, but("release", release));
        if (is("owner last"))
            STORE(owner, 0, relaxed);
        return true;
    }
};

/* A thread releases the worker, another one adopts it. */
struct handing : rl::test_suite<handing, 2> {
    ownership of;
    plain state;

    void before() { of.start(); }

    void thread(unsigned index) {
        if (index == 0) {
            WRITE(state, 1);
            RL_ASSERT(of.give_back());
        } else if (of.adopt(2)) {
            RL_ASSERT(READ(state) == 1);
            WRITE(state, 2);
        }
    }

    void after() { RL_ASSERT(LOAD(of.owner, relaxed) == (LOAD(of.adopted, relaxed) != 0 ? 2 : 0)); }
};

/* Two threads release one worker: one of them is told that it has no owner. */
struct releasing : rl::test_suite<releasing, 2> {
    ownership of;
    plain released[2];

    void before() { of.start(); }

    void thread(unsigned index) { WRITE(released[index], of.give_back()); }

    void after() { RL_ASSERT(READ(released[0]) + READ(released[1]) == 1); }
};

/* An object leaves its calls while another thread makes rounds (tern_progress_round): no handler has
 * found it when its memory is used for something else. The membarrier as in ring.cpp; where it
 * is refused each side has a fence. */
template <bool fenced> struct leaving : rl::test_suite<leaving<fenced>, 2> {
    word nonce, rounds, wanted, passed;
    plain object;

    void before() {
        STORE(nonce, 1, relaxed);
        STORE(rounds, 0, relaxed);
        STORE(wanted, 0, relaxed);
        STORE(passed, 0, relaxed);
        WRITE(object, 1);
    }

    void maybe_barrier() {
        if (fenced || LOAD(wanted, relaxed) == 0)
            return;
        rl::atomic_thread_fence(seq_cst, $);
        STORE(passed, 1, release);
    }

    void make_rounds() {
        for (int round = 0; round < (fenced ? 2 : 1); round++) {
            maybe_barrier();
            STORE(rounds, 2 * round + 1, relaxed);
            maybe_barrier();
            if (fenced)
                FENCE("round's fence", seq_cst);
            const bool found = LOAD(nonce, acquire) == 1;
            maybe_barrier();
            if (found)
                RL_ASSERT(READ(object) == 1);
            STORE(rounds, 2 * round + 2, but("round's release", release));
        }
        rl::atomic_thread_fence(seq_cst, $); /* it is no longer running */
        STORE(passed, 1, release);
    }

    /* False: it has not returned yet. */
    bool membarrier() {
        rl::atomic_thread_fence(seq_cst, $);
        STORE(wanted, 1, release);
        for (int looks = 0; LOAD(passed, acquire) == 0; looks++) {
            if (looks == 2)
                return false;
            rl::yield(1, $);
        }
        return true;
    }

    void thread(unsigned index) {
        if (index == 0) {
            make_rounds();
            return;
        }
        STORE(nonce, 0, relaxed);
        if (!fenced && !is("membarrier") && !membarrier())
            return;
        FENCE("leaver's fence", seq_cst);
        int now = LOAD(rounds, seq_cst);
        for (int looks = 0;
             !is("wait") && now % 2 == 1 && LOAD(rounds, but("leaver's acquire", acquire)) == now;
             looks++) {
            if (looks == 2)
                return;
            rl::yield(1, $);
        }
        WRITE(object, 2);
    }
};

/* Two threads of a rank report, one of them twice; the other then reads, as another rank does: both
 * words are of one report. */
struct reports : rl::test_suite<reports, 2> {
    word version, name[2];

    void before() {
        STORE(version, 0, relaxed);
        STORE(name[0], 0, relaxed);
        STORE(name[1], 0, relaxed);
    }

    bool begin(int before) {
        if (before % 2 == 1)
            return false;
        if (!is("writer's exchange"))
            return cas(version, before, before + 1, acquire) == before;
        STORE(version, before + 1, relaxed);
        return true;
    }

    void report(int value) {
        int before = LOAD(version, relaxed);
        if (!begin(before))
            return;
        FENCE("writer's fence", release);
        STORE(name[0], value, relaxed);
        STORE(name[1], value, relaxed);
        STORE(version, before + 2, but("writer's release", release));
    }

    void read() {
        int before = LOAD(version, but("reader's acquire", acquire));
        int first = LOAD(name[0], relaxed), second = LOAD(name[1], relaxed);
        FENCE("reader's fence", acquire);
        if (before % 2 == 0 && LOAD(version, relaxed) == before)
            RL_ASSERT(first == second);
    }

    void thread(unsigned index) {
        report((int)index + 1);
        if (index == 0)
            report(3);
        else
            read();
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good =
        check<handing>({"handing over", EVERY, {"release", "adopter's acquire", "owner last"}});
    good &= check<releasing>({"two that release", EVERY, {"owner's exchange"}});
    good &= check<leaving<false>>(
        {"leaving calls", FEW_SWITCHES, {"membarrier", "round's release", "leaver's acquire", "wait"}});
    good &= check<leaving<true>>(
        {"leaving calls, fenced",
         EVERY,
         {"round's fence", "leaver's fence", "round's release", "leaver's acquire", "wait"}});
    good &= check<reports>({"reports",
                            EVERY,
                            {"writer's exchange", "writer's fence", "writer's release",
                             "reader's acquire", "reader's fence"}});
    return !good;
}
