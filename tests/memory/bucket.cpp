/*
 * A bucket of a hash table that load/store reaches (hashtable/probe.h, near.h, lock.h): state,
 * counter, and an entry of a check and one word, which passes if the two are equal.
 */

#include "model.h"

enum { FREE, TAKEN, LOCKED, UPDATED, ERASED }; /* states; TAKEN: inserted, never updated */

/* tern_state_cas */
static int state_cas(word &state, int expected, int desired) {
    return cas(state, expected, desired, but("state's order", acq_rel));
}

/* tern_entry_put */
static void entry_put(word &entry, word &check, int value) {
    STORE(entry, value, relaxed);
    STORE(check, value, but("check's release", release));
}

/* tern_entry_replace */
static void entry_replace(word &entry, word &check, int value) {
    FENCE("writer's fence", release);
    entry_put(entry, check, value);
}

/* tern_entry_copy. Whether it passes; [out] value. */
static bool entry_get(word &entry, word &check, int *value) {
    int first = LOAD(check, but("check's acquire", acquire));
    *value = LOAD(entry, relaxed);
    return first == *value && first != 0;
}

/* The first update of a key, and its erase after that (tern_near_replace, tern_bucket_write),
 * against a find (find_moving) and a wait for an insert (tern_probe_settle): both take a state that
 * was never updated for an insert on its way, which is wrong here. */
struct update : rl::test_suite<update, 2> {
    word state, entry, check;

    void before() {
        STORE(state, TAKEN, relaxed);
        STORE(entry, 1, relaxed);
        STORE(check, 1, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            state_cas(state, TAKEN, LOCKED);
            entry_replace(entry, check, 2);
            state_cas(state, LOCKED, UPDATED);
            state_cas(state, UPDATED, LOCKED);
            entry_replace(entry, check, 3);
            state_cas(state, LOCKED, ERASED);
            return;
        }
        int value;
        if (entry_get(entry, check, &value))
            return;
        FENCE("reader's fence", acquire); /* tern_state_reload */
        RL_ASSERT(LOAD(state, acquire) != TAKEN);
    }
};

/* An insert (tern_near_create) against a find: whoever finds the key sees its first number
 * (tern_near_find_in, take in find.c) and what its inserter wrote before. */
struct insert : rl::test_suite<insert, 2> {
    word state, counter, entry, check;
    plain earlier;

    void before() {
        STORE(state, FREE, relaxed);
        STORE(counter, 0, relaxed);
        STORE(entry, 0, relaxed);
        STORE(check, 0, relaxed);
        WRITE(earlier, 0);
    }

    void thread(unsigned index) {
        if (index == 0) {
            WRITE(earlier, 1);
            state_cas(state, FREE, TAKEN);
            STORE(counter, 10, relaxed);
            entry_put(entry, check, 1);
            return;
        }
        int value;
        if (LOAD(state, acquire) == FREE || !entry_get(entry, check, &value))
            return;
        RL_ASSERT(READ(earlier) == 1);
        RL_ASSERT(LOAD(counter, seq_cst) == 10);
    }
};

/* Two that change the same key (tern_bucket_lock, tern_bucket_read, tern_bucket_write): the one who
 * locks second reads the entry of the first, whole (tern_hashtable_modify). */
struct locking : rl::test_suite<locking, 2> {
    word state, entry, check;
    plain inside;

    void before() {
        STORE(state, UPDATED, relaxed);
        STORE(entry, 1, relaxed);
        STORE(check, 1, relaxed);
        WRITE(inside, 0);
    }

    void thread(unsigned) {
        int value;
        if (state_cas(state, UPDATED, LOCKED) != UPDATED)
            return;
        WRITE(inside, 1);
        RL_ASSERT(entry_get(entry, check, &value));
        entry_replace(entry, check, value + 1);
        state_cas(state, LOCKED, UPDATED);
    }
};

/* Two ranks that change a key each and then look at the other's: one sees the other's change. An
 * insert ends with a fence (tern_near_create, fill in operations.c), an update with
 * tern_fence_after_atomic. */
template <bool updates> struct both : rl::test_suite<both<updates>, 2> {
    word state[2], entry[2], check[2];
    plain missed[2];

    void before() {
        for (int i = 0; i < 2; i++) {
            STORE(state[i], updates ? UPDATED : FREE, relaxed);
            STORE(entry[i], updates, relaxed);
            STORE(check[i], updates, relaxed);
            WRITE(missed[i], 0);
        }
    }

    void thread(unsigned me) {
        int value = 0;
        if (updates) {
            state_cas(state[me], UPDATED, LOCKED);
            entry_replace(entry[me], check[me], 2);
            state_cas(state[me], LOCKED, UPDATED);
        } else {
            state_cas(state[me], FREE, TAKEN);
            entry_put(entry[me], check[me], 2);
        }
        FENCE("fence behind it", seq_cst);
        if (LOAD(state[!me], acquire) == FREE)
            WRITE(missed[me], 1);
        else if (!entry_get(entry[!me], check[!me], &value))
            WRITE(missed[me], !updates);
        else
            WRITE(missed[me], value != 2);
    }

    void after() { RL_ASSERT(!READ(missed[0]) || !READ(missed[1])); }
};

/* The same of two counters (tern_counter_add, then the load in tern_near_find_in). */
struct counters : rl::test_suite<counters, 2> {
    word counter[2];
    plain seen[2];

    void before() {
        for (int i = 0; i < 2; i++)
            STORE(counter[i], 0, relaxed);
    }

    void thread(unsigned me) {
        ADD(counter[me], 1, is("counters' order") ? acq_rel : seq_cst);
        WRITE(seen[me], LOAD(counter[!me], is("counters' order") ? acquire : seq_cst));
    }

    void after() { RL_ASSERT(READ(seen[0]) || READ(seen[1])); }
};

/* The classic algorithm: a find that is counted in the state (find_reading) keeps writers out. */
struct reading : rl::test_suite<reading, 2> {
    enum { READER = 16 };

    word state, entry, check;

    void before() {
        STORE(state, UPDATED, relaxed);
        STORE(entry, 1, relaxed);
        STORE(check, 1, relaxed);
    }

    void thread(unsigned index) {
        int value;
        if (index == 0) {
            if (state_cas(state, UPDATED, LOCKED) != UPDATED)
                return;
            entry_replace(entry, check, 2);
            ADD(state, UPDATED - LOCKED, but("unlocker's order", seq_cst));
            return;
        }
        int seen = ADD(state, READER, but("reader's order", seq_cst));
        bool whole = entry_get(entry, check, &value);
        ADD(state, -READER, but("reader's order", seq_cst));
        RL_ASSERT(seen == LOCKED || whole);
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good = check<update>({"first update", EVERY, {"writer's fence", "reader's fence"}});
    good &= check<insert>({"insert", EVERY, {"check's release", "check's acquire"}});
    good &= check<locking>({"lock", EVERY, {"state's order"}});
    good &= check<both<false>>({"two inserts", EVERY, {"fence behind it"}});
    good &= check<both<true>>({"two updates", EVERY, {"fence behind it"}});
    good &= check<counters>({"two counters", EVERY, {"counters' order"}});
    good &= check<reading>({"classic find", EVERY, {"reader's order"}});
    return !good;
}
