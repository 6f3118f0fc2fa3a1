/*
 * A part of a hash table that grows (hashtable/growth/growth.h, growth.c, move.c): an owner that moves one
 * bucket from an old array to a new one, against others that work in both.
 */

#include "model.h"

enum { FREE, TAKEN, LOCKED, LEFT, GARBAGE }; /* states */
enum { MOVED = 100 };                        /* a check, and a mark of a counter */

/* The owner clears the new array and then tells of it (clear_some, tern_growth_publish); another
 * rank learns of it without having met anything moved (learn, for TERN_ERR_FULL) and looks into it.
 * The array descriptor is two words, whose check is right if they are equal. */
struct array_descriptor : rl::test_suite<array_descriptor, 2> {
    word state, first, second;

    void before() {
        STORE(state, GARBAGE, relaxed);
        STORE(first, 0, relaxed);
        STORE(second, 0, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            STORE(state, FREE, relaxed);
            FENCE("publisher's fence", release);
            STORE(first, 1, relaxed); /* tern_put */
            STORE(second, 1, relaxed);
            return;
        }
        int one = LOAD(first, relaxed), two = LOAD(second, relaxed); /* tern_get */
        if (one != 1 || two != 1)
            return;
        FENCE("learner's fence", acquire);
        RL_ASSERT(LOAD(state, acquire) != GARBAGE);
    }
};

/* The key's bucket in the old array, then in the new one. */
struct arrays {
    word old_state, old_counter, old_check, new_state, new_counter, new_check;

    void start() {
        STORE(old_state, TAKEN, relaxed);
        STORE(old_counter, 0, relaxed);
        STORE(old_check, 1, relaxed);
        STORE(new_state, FREE, relaxed);
        STORE(new_counter, 0, relaxed);
        STORE(new_check, 0, relaxed);
    }

    /* move: locks, marks the counter, puts the copy, leaves. */
    void move() {
        cas(old_state, TAKEN, LOCKED, acq_rel);
        int number = OR(old_counter, MOVED << 8, seq_cst);
        cas(new_state, FREE, TAKEN, acq_rel);
        STORE(new_counter, number, relaxed);
        STORE(new_check, 1, but("copy's release", release));
        STORE(old_check, MOVED, but("mark's release", release));
        cas(old_state, LOCKED, LEFT, but("leaver's order", acq_rel));
    }
};

/* A find that meets the moved entry finds the copy, with its number (TERN_MOVED). */
struct moved : rl::test_suite<moved, 2>, arrays {
    void before() { start(); }

    void thread(unsigned index) {
        if (index == 0) {
            move();
            return;
        }
        if (LOAD(old_check, but("check's acquire", acquire)) != MOVED)
            return;
        RL_ASSERT(LOAD(new_state, acquire) == TAKEN);
        RL_ASSERT(LOAD(new_check, acquire) == 1);
    }
};

/* An add that comes too late for the old counter goes on in the new array once the old state says
 * that the key has left (tern_counter_add, tern_counter_follow): nothing is lost. */
struct add : rl::test_suite<add, 2>, arrays {
    plain late;

    void before() {
        start();
        WRITE(late, 0);
    }

    void thread(unsigned index) {
        if (index == 0) {
            move();
            return;
        }
        if (ADD(old_counter, 1, seq_cst) < MOVED << 8)
            return;
        WRITE(late, 1);
        if (LOAD(old_state, but("follower's acquire", acquire)) != LEFT)
            return;
        RL_ASSERT(LOAD(new_state, acquire) == TAKEN);
        RL_ASSERT(LOAD(new_check, acquire) == 1);
        RL_ASSERT(LOAD(new_counter, seq_cst) == 0);
    }

    void after() { RL_ASSERT(LOAD(new_counter, relaxed) == !READ(late)); }
};

/* Two adds to a counter that is erased, and the move's mark (tern_counter_add, tern_counter_revive,
 * move_keys): the counter begins anew, and the number that the move takes along has each add that did
 * not see the mark. */
struct revival : rl::test_suite<revival, 3> {
    enum { IS_ERASED = 1, IS_MOVED = 2, ONE = 4 };

    word counter;
    plain late[2], taken; /* adds that saw the mark; the number of the move */

    void before() {
        STORE(counter, 5 * ONE + IS_ERASED, relaxed);
        WRITE(late[0], 0);
        WRITE(late[1], 0);
        WRITE(taken, 0);
    }

    /* Whether it counted. */
    bool add() {
        int now = ADD(counter, ONE, seq_cst);
        if ((now & (IS_ERASED | IS_MOVED)) == 0 || is("counted where it is erased"))
            return (now & IS_MOVED) == 0;
        now += ONE;
        while ((now & IS_MOVED) == 0) {
            const bool erased = (now & IS_ERASED) != 0;
            if (erased && is("revived without a look")) {
                STORE(counter, ONE, seq_cst);
                return true;
            }
            const int seen = erased ? cas(counter, now, ONE, seq_cst) : ADD(counter, ONE, seq_cst);
            if (erased ? seen == now : (seen & (IS_ERASED | IS_MOVED)) == 0)
                return true;
            now = erased ? seen : seen + ONE;
        }
        return false;
    }

    void thread(unsigned index) {
        if (index < 2) {
            WRITE(late[index], !add());
            return;
        }
        const int was = OR(counter, IS_MOVED, seq_cst);
        WRITE(taken, (was & IS_ERASED) != 0 ? 0 : was / ONE);
    }

    void after() { RL_ASSERT(READ(taken) + READ(late[0]) + READ(late[1]) == 2); }
};

/* The copy itself, found by an operation that starts in the new array. */
struct copy : rl::test_suite<copy, 2>, arrays {
    void before() {
        start();
        STORE(old_counter, 7, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            move();
            return;
        }
        if (LOAD(new_state, acquire) == TAKEN && LOAD(new_check, acquire) == 1)
            RL_ASSERT(LOAD(new_counter, seq_cst) == 7);
    }
};

/* What a thread has learned of an array is there for another one that starts in it (apply,
 * tern_part_of). */
struct start : rl::test_suite<start, 2> {
    plain part;
    word where;

    void before() { STORE(where, 0, relaxed); }

    void thread(unsigned index) {
        if (index == 0) {
            WRITE(part, 1);
            STORE(where, 1, but("apply's release", release));
        } else if (LOAD(where, but("start's acquire", acquire)) == 1) {
            RL_ASSERT(READ(part) == 1);
        }
    }
};

/* An old bucket whose value changes, and its copy. */
struct values {
    enum { REMOTE = GARBAGE + 1, OWNER }; /* states: locked for a remote rank, and by the move */

    word state, entry, check, copy;
    plain changed, moved;

    void start() {
        STORE(state, TAKEN, relaxed);
        STORE(entry, 1, relaxed);
        STORE(check, 1, relaxed);
        STORE(copy, 0, relaxed);
        WRITE(changed, 0);
        WRITE(moved, 0);
    }

    bool whole(int *value) {
        const int sum = LOAD(check, acquire);
        *value = LOAD(entry, relaxed);
        return sum == *value;
    }

    void put(int value) {
        rl::atomic_thread_fence(release, $);
        STORE(entry, value, relaxed);
        STORE(check, value, release);
    }

    /* move_keys, from the look in front of the lock on. False: another round. */
    bool move(int seen) {
        int early, value;
        if (!whole(&early) || cas(state, seen, OWNER, but("state's order", acq_rel)) != seen)
            return false;
        const bool good = whole(&value);
        RL_ASSERT(good);
        STORE(copy, is("copied before the lock") ? early : value, relaxed);
        STORE(check, MOVED, release);
        cas(state, OWNER, LEFT, acq_rel);
        WRITE(moved, 1);
        return true;
    }
};

/* A change of a value under its lock, such as a modifier's, while the array moves: the move waits
 * for the lock, and its copy has the change (modify_bucket, tern_bucket_write, move_hold). */
struct held : rl::test_suite<held, 2>, values {
    void before() { start(); }

    void thread(unsigned index) {
        int value;
        if (index == 0) {
            if (cas(state, TAKEN, LOCKED, but("state's order", acq_rel)) != TAKEN)
                return; /* moved */
            const bool good = whole(&value);
            RL_ASSERT(good);
            put(value + 1);
            STORE(state, TAKEN, but("unlocker's release", release));
            WRITE(changed, 1);
            return;
        }
        const int seen = LOAD(state, acquire);
        if (seen == TAKEN || is("any lock is taken over"))
            (void)move(seen);
    }

    void after() {
        if (READ(moved))
            RL_ASSERT(LOAD(copy, relaxed) == 1 + READ(changed));
    }
};

/* The owner serves a put of a remote rank that has died, and another thread of the owner moves the
 * bucket (tern_put_if_serve, move_hold, move_orphan): the move takes the dead rank's lock over only
 * while no put is served. */
struct served : rl::test_suite<served, 2>, values {
    word serving; /* the lock of MPI */

    void before() {
        start();
        STORE(serving, 0, relaxed);
    }

    bool stop_puts() {
        return is("move beside a put") || SWAP(serving, 1, acquire) == 0;
    }

    void let_puts() { STORE(serving, 0, release); }

    void thread(unsigned index) {
        if (index == 0) {
            if (SWAP(serving, 1, acquire) != 0)
                return; /* the message waits */
            if (cas(state, TAKEN, REMOTE, acq_rel) == TAKEN) {
                put(2);
                cas(state, REMOTE, TAKEN, acq_rel);
                WRITE(changed, 1);
            }
            let_puts();
            return;
        }
        const int seen = LOAD(state, acquire);
        if (seen == TAKEN) {
            (void)move(seen);
        } else if (stop_puts()) {
            (void)move(seen);
            let_puts();
        }
    }

    void after() {
        if (!READ(moved))
            return;
        RL_ASSERT(LOAD(check, relaxed) == MOVED);
        RL_ASSERT(LOAD(copy, relaxed) == 1 + READ(changed));
    }
};

/* A writer that dies: the owner that finds its entry not whole looks once more after it knows of
 * the death (move, bury), so an insert that was finished is not buried. */
struct death : rl::test_suite<death, 2> {
    word state, check, dead;

    void before() {
        STORE(state, TAKEN, relaxed);
        STORE(check, 0, relaxed);
        STORE(dead, 0, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            STORE(check, 1, release);
            STORE(dead, 1, release); /* by the kernel */
            return;
        }
        if (LOAD(check, acquire) == 1 || LOAD(dead, acquire) == 0)
            return;
        if (is("second look") || LOAD(check, acquire) != 1)
            RL_ASSERT(false); /* buried */
    }
};

/* An update of the copy, after the mark, and an update of another key: of the two ranks that then
 * look at the other's key, one sees the other's change, though the other starts in the old array
 * (leave, tern_entry_replace, tern_entry_copy). */
struct both : rl::test_suite<both, 3> {
    word old_check, new_check, other_check;
    plain missed[2];

    void before() {
        STORE(old_check, 1, relaxed);
        STORE(new_check, 0, relaxed);
        STORE(other_check, 1, relaxed);
        for (int i = 0; i < 2; i++)
            WRITE(missed[i], 0);
    }

    void thread(unsigned index) {
        const rl::memory_order order = is("find's place") ? acquire : seq_cst;
        if (index == 2) {
            STORE(new_check, 1, release);
            STORE(old_check, MOVED, is("mark's place") ? release : seq_cst);
        } else if (index == 1) {
            STORE(other_check, 2, is("check's place") ? release : seq_cst);
            int check = LOAD(old_check, order);
            WRITE(missed[1], check != MOVED || LOAD(new_check, order) != 2);
        } else if (LOAD(old_check, order) == MOVED) {
            STORE(new_check, 2, is("check's place") ? release : seq_cst);
            WRITE(missed[0], LOAD(other_check, order) != 2);
        }
    }

    void after() { RL_ASSERT(!READ(missed[0]) || !READ(missed[1])); }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good = check<array_descriptor>(
        {"array_descriptor", EVERY, {"publisher's fence", "learner's fence"}});
    good &= check<moved>({"moved", EVERY, {"mark's release", "check's acquire"}});
    good &= check<add>({"late add", EVERY, {"leaver's order", "follower's acquire"}});
    good &= check<revival>(
        {"revival", EVERY, {"counted where it is erased", "revived without a look"}});
    good &= check<copy>({"copy", EVERY, {"copy's release"}});
    good &= check<held>({"lock that is held",
                         EVERY,
                         {"state's order", "unlocker's release", "copied before the lock",
                          "any lock is taken over"}});
    good &= check<served>({"put for a dead rank", EVERY, {"move beside a put"}});
    good &= check<start>({"start", EVERY, {"apply's release", "start's acquire"}});
    good &= check<both>({"two arrays", EVERY, {"mark's place", "check's place", "find's place"}});
    good &= check<death>({"death", EVERY, {"second look"}});
    return !good;
}
