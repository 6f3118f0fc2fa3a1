/*
 * A bucket of a hash table that load/store reaches (hashtable/bucket/probe.h, short.h): state,
 * counter, and an entry of a check and one word, which passes if the two are equal.
 */

#include "model.h"

enum { FREE, TAKEN, LOCKED, UPDATED, ERASED }; /* states; TAKEN: inserted, never updated */

/* Whether the accesses by which operations take effect are sequentially consistent, as they are, or
 * have the weaker orders that these imply. Relacy executes sequentially consistent accesses in
 * their one order, while C11 lets others overtake them: a model that does not need the one order is
 * run without it. */
static bool one_order;

static rl::memory_order ordered(const char *name, rl::memory_order weaker) {
    return one_order && !is(name) ? seq_cst : weaker;
}

/* tern_state_load */
static int state_load(word &state) { return LOAD(state, ordered("state's place", acquire)); }

/* tern_state_cas */
static int state_cas(word &state, int expected, int desired) {
    return cas(state, expected, desired, but("state's order", ordered("state's place", acq_rel)));
}

/* tern_state_unlock */
static void state_unlock(word &state, int unlocked) {
    STORE(state, unlocked, but("unlocker's release", release));
}

/* tern_entry_put */
static void entry_put(word &entry, word &check, int value, bool takes_effect = true) {
    STORE(entry, value, relaxed);
    STORE(check, value,
          but("check's release", takes_effect ? ordered("check's place", release) : release));
}

/* tern_entry_replace */
static void entry_replace(word &entry, word &check, int value) {
    FENCE("writer's fence", release);
    entry_put(entry, check, value);
}

/* tern_entry_copy. Whether it passes; [out] value. */
static bool entry_get(word &entry, word &check, int *value) {
    int first = LOAD(check, but("check's acquire", ordered("find's place", acquire)));
    *value = LOAD(entry, relaxed);
    return first == *value && first != 0;
}

/* The first update of a key, and its erase after that (tern_short_replace, tern_bucket_write),
 * against a find (direct_search) and a wait for an insert (tern_op_wait_for): both take a state that
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
            state_unlock(state, UPDATED);
            state_cas(state, UPDATED, LOCKED);
            entry_replace(entry, check, 3);
            state_unlock(state, ERASED);
            return;
        }
        int value;
        if (entry_get(entry, check, &value))
            return;
        FENCE("reader's fence", acquire); /* tern_state_reload */
        RL_ASSERT(state_load(state) != TAKEN);
    }
};

/* An insert (tern_short_create) against a find: a rank that finds the key sees its first number
 * (tern_short_find_in, take in find.c) and what its inserter wrote before. */
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
        if (state_load(state) == FREE || !entry_get(entry, check, &value))
            return;
        RL_ASSERT(READ(earlier) == 1);
        RL_ASSERT(LOAD(counter, seq_cst) == 10);
    }
};

/* Two that change the same key (tern_direct_replace): the one who
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
        state_unlock(state, UPDATED);
    }
};

/* tern_put_if_serve, by a thread of the owner for a rank of another node. inside: what it accesses
 * while it has the bucket, or NULL. */
static void put_if(word &state, word &entry, word &check, int expected, int during, int then,
                   int value, plain *inside) {
    if (state_cas(state, expected, during) != expected)
        return;
    if (inside != NULL)
        WRITE(*inside, value);
    FENCE("owner's fence", release);
    entry_put(entry, check, value);
    if (then != during)
        cas(state, during, then, but("owner's release", acq_rel));
}

/* A put of the owner against a rank of its node that locks the bucket: the second of the two sees
 * the entry of the first, whole. */
struct owner_puts : rl::test_suite<owner_puts, 2> {
    word state, entry, check;
    plain inside;

    void before() {
        STORE(state, UPDATED, relaxed);
        STORE(entry, 1, relaxed);
        STORE(check, 1, relaxed);
        WRITE(inside, 0);
    }

    void thread(unsigned index) {
        int value;
        if (index == 0) {
            put_if(state, entry, check, UPDATED, LOCKED, UPDATED, 2, &inside);
            return;
        }
        if (state_cas(state, UPDATED, LOCKED) != UPDATED)
            return;
        WRITE(inside, 2);
        RL_ASSERT(entry_get(entry, check, &value));
        entry_replace(entry, check, value + 1);
        state_unlock(state, UPDATED);
    }
};

/* A put of the owner that shows what it has replaced (tern_put_if.shows), against another one or a
 * rank of the node that locks the bucket and looks (direct_replace): no entry is shown to
 * both, so a block that it names is given back once. direct: the second is that rank. */
template <bool direct> struct shown : rl::test_suite<shown<direct>, 2> {
    word state, entry, check;
    plain replaced[2];

    void before() {
        STORE(state, UPDATED, relaxed);
        STORE(entry, 1, relaxed);
        STORE(check, 1, relaxed);
        WRITE(replaced[0], 0);
        WRITE(replaced[1], 0);
    }

    void thread(unsigned index) {
        const int value = 2 + (int)index, early = LOAD(entry, relaxed);
        if (state_cas(state, UPDATED, LOCKED) != UPDATED)
            return;
        const int was = is("shown behind the lock") ? early : LOAD(entry, relaxed);
        if (direct && index == 1) {
            entry_replace(entry, check, value);
            state_unlock(state, UPDATED);
        } else {
            FENCE("owner's fence", release);
            entry_put(entry, check, value);
            cas(state, LOCKED, UPDATED, but("owner's release", acq_rel));
        }
        WRITE(replaced[index], was);
    }

    void after() {
        const int first = READ(replaced[0]), second = READ(replaced[1]);
        RL_ASSERT(first == 0 || first != second);
        RL_ASSERT(first + second > 0);
    }
};

/* A find of a rank of another node (hashtable/op/remote.c), whose get brings the state and the
 * entry in any order, against an insert and the first update. A find that begins when the insert has
 * returned finds the key: a state that the get has brought says nothing but that the bucket was
 * free. */
struct remote_find : rl::test_suite<remote_find, 2> {
    word state, entry, check, returned;

    void before() {
        STORE(state, FREE, relaxed);
        STORE(entry, 0, relaxed);
        STORE(check, 0, relaxed);
        STORE(returned, 0, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            put_if(state, entry, check, FREE, TAKEN, TAKEN, 1, NULL);
            STORE(returned, 1, release);
            put_if(state, entry, check, TAKEN, LOCKED, UPDATED, 2, NULL);
            return;
        }
        const bool there = LOAD(returned, acquire) != 0, first = rl::rand(2) != 0;
        int seen = first ? LOAD(state, relaxed) : FREE;
        const int sum = LOAD(check, relaxed), value = LOAD(entry, relaxed);
        seen = first ? seen : LOAD(state, relaxed);
        bool absent = seen == FREE && sum != value;
        if (seen != FREE && sum != value) {
            if (!is("state of the get")) {
                FENCE("getter's fence", acquire);
                seen = state_load(state);
            }
            absent = seen == TAKEN;
        }
        RL_ASSERT(!there || !absent);
    }
};

/* A new counter that the owner puts for a rank of another node, against the first add to the same
 * key by a rank of the owner's node (tern_put_if_serve, tern_probe_add): one takes the bucket and
 * the other one adds to its number. The one that the owner serves has read the bucket in the answer
 * and adds by a message (put_if_read, serve_atomic). */
struct claims : rl::test_suite<claims, 2> {
    word state, counter, entry, check;
    plain added[2];

    void before() {
        STORE(state, FREE, relaxed);
        STORE(counter, 0, relaxed);
        STORE(entry, 0, relaxed);
        STORE(check, 0, relaxed);
        WRITE(added[0], 0);
        WRITE(added[1], 0);
    }

    bool take(bool owner) {
        if (!owner || !is("put into any state"))
            return state_cas(state, FREE, TAKEN) == FREE;
        STORE(state, TAKEN, relaxed);
        return true;
    }

    /* Whether the entry that is there passes. */
    bool look(bool owner) {
        int value;
        if (!owner)
            return entry_get(entry, check, &value);
        const int sum = LOAD(check, relaxed);
        value = LOAD(entry, relaxed);
        FENCE("answer's fence", acquire);
        return sum == value && sum != 0;
    }

    void thread(unsigned index) {
        const bool owner = index == 0;
        if (take(owner)) {
            if (owner)
                FENCE("owner's fence", release);
            if (!is("number behind the check"))
                STORE(counter, 1, relaxed);
            entry_put(entry, check, 1);
            if (is("number behind the check"))
                STORE(counter, 1, relaxed);
        } else if (look(owner)) {
            /* Relacy's read-modify-writes see the last store, so the load stands for the add's. */
            RL_ASSERT(LOAD(counter, seq_cst) == 1);
            ADD(counter, 1, seq_cst);
        } else {
            return; /* waits for the other one's entry */
        }
        WRITE(added[index], 1);
    }

    void after() { RL_ASSERT(LOAD(counter, relaxed) == READ(added[0]) + READ(added[1])); }
};

/* A map's value in a block (map/block.c): a find that has read the descriptor reads the whole block,
 * or words of the block that is made next in the same memory (tern_block_make, tern_block_read). In
 * the second case the descriptor that it then reads is another one. */
struct block : rl::test_suite<block, 2> {
    enum { FIRST = 1, SECOND = 2, NEXT = 3 };

    word entry, check, memory; /* the entry is the descriptor */

    void before() {
        STORE(entry, 0, relaxed);
        STORE(check, 0, relaxed);
        STORE(memory, 0, relaxed);
    }

    void make(int value) {
        FENCE("maker's fence", release);
        STORE(memory, value, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            make(FIRST);
            entry_put(entry, check, FIRST);
            entry_replace(entry, check, SECOND);
            make(NEXT);
            return;
        }
        int descriptor;
        if (!entry_get(entry, check, &descriptor) || descriptor != FIRST)
            return;
        const int value = LOAD(memory, relaxed);
        RL_ASSERT(value != 0);
        if (value == FIRST)
            return;
        FENCE("finder's fence", acquire);
        RL_ASSERT(!entry_get(entry, check, &descriptor) || descriptor != FIRST);
    }
};

/* A key as a find looks at it: its bucket, with an entry or a counter. */
struct bucket {
    word state, entry, check, counter;

    void start(bool there) {
        STORE(state, there ? UPDATED : FREE, relaxed);
        STORE(entry, there, relaxed);
        STORE(check, there, relaxed);
        STORE(counter, 0, relaxed);
    }
};

/* Operations that change a key, and what a find must then see of each. */
struct inserts {
    static void prepare(bucket &b) { b.start(false); }
    static void change(bucket &b) { /* tern_short_create, fill */
        state_cas(b.state, FREE, TAKEN);
        entry_put(b.entry, b.check, 2);
    }
    static bool misses(bucket &b) { /* an entry that has not arrived is absent */
        int value;
        return state_load(b.state) == FREE || !entry_get(b.entry, b.check, &value);
    }
};

struct updates {
    static void prepare(bucket &b) { b.start(true); }
    static void change(bucket &b) { /* tern_short_replace, tern_bucket_write; an erase, too */
        state_cas(b.state, UPDATED, LOCKED);
        entry_replace(b.entry, b.check, 2);
        state_unlock(b.state, UPDATED);
    }
    static bool misses(bucket &b) { /* an entry that is being written is waited for */
        int value;
        return entry_get(b.entry, b.check, &value) && value != 2;
    }
};

struct adds {
    static void prepare(bucket &b) { b.start(true); }
    static void change(bucket &b) { /* tern_counter_add, count_direct8; a swap and an erase, too */
        ADD(b.counter, 1, ordered("adder's place", acq_rel));
    }
    static bool misses(bucket &b) { /* tern_short_find_in, take */
        return LOAD(b.counter, ordered("reader's place", acquire)) != 1;
    }
};

struct batches { /* of inserts: tern_items_run, here or in a call's handler */
    static void prepare(bucket &b) { b.start(false); }
    static void change(bucket &b) {
        state_cas(b.state, FREE, TAKEN);
        entry_put(b.entry, b.check, 2, false);
        FENCE("batch's fence", seq_cst); /* tern_entries_take_effect */
    }
    static bool misses(bucket &b) { return inserts::misses(b); }
};

/* Two ranks that change a key each and then look at the other's: one sees the other's change. */
template <class first, class second> struct both : rl::test_suite<both<first, second>, 2> {
    bucket mine[2];
    plain missed[2];

    void before() {
        first::prepare(mine[0]);
        second::prepare(mine[1]);
    }

    void thread(unsigned me) {
        if (me == 0) {
            first::change(mine[0]);
            WRITE(missed[0], second::misses(mine[1]));
        } else {
            second::change(mine[1]);
            WRITE(missed[1], first::misses(mine[0]));
        }
    }

    void after() { RL_ASSERT(!READ(missed[0]) || !READ(missed[1])); }
};

/* Two inserts that arrive, and two ranks that look for both keys, each for another one first: they
 * agree on which came first. */
struct order : rl::test_suite<order, 4> {
    word entry[2], check[2];
    plain found[2][2];

    void before() {
        for (int i = 0; i < 2; i++) {
            STORE(entry[i], 0, relaxed);
            STORE(check[i], 0, relaxed);
        }
    }

    void thread(unsigned index) {
        int value, me = index % 2;
        if (index < 2) {
            entry_put(entry[me], check[me], 2);
            return;
        }
        WRITE(found[me][0], entry_get(entry[me], check[me], &value));
        WRITE(found[me][1], entry_get(entry[!me], check[!me], &value));
    }

    void after() {
        RL_ASSERT(
            !(READ(found[0][0]) && !READ(found[0][1]) && READ(found[1][0]) && !READ(found[1][1])));
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good = check<update>({"first update", EVERY, {"writer's fence", "reader's fence"}});
    good &= check<insert>({"insert", EVERY, {"check's release", "check's acquire"}});
    good &= check<locking>({"lock", EVERY, {"state's order", "unlocker's release"}});
    good &= check<owner_puts>({"put by the owner", EVERY, {"state's order", "owner's release"}});
    good &= check<shown<false>>(
        {"two entries shown", EVERY, {"shown behind the lock", "owner's release"}});
    good &= check<shown<true>>(
        {"entries shown and locked", EVERY, {"shown behind the lock", "owner's release"}});
    good &= check<remote_find>({"find of another node",
                             EVERY,
                             {"state of the get", "getter's fence", "owner's fence"}});
    good &= check<claims>({"two first adds",
                           EVERY,
                           {"put into any state", "number behind the check", "answer's fence",
                            "check's release", "check's acquire"}});
    good &= check<block>({"value in a block",
                          EVERY,
                          {"maker's fence", "finder's fence", "check's release",
                           "check's acquire"}});
    one_order = true;
    good &= check<both<inserts, inserts>>(
        {"two inserts", EVERY, {"check's place", "find's place", "state's place"}});
    good &=
        check<both<updates, updates>>({"two updates", EVERY, {"check's place", "find's place"}});
    good &= check<both<adds, adds>>({"two adds", EVERY, {"adder's place", "reader's place"}});
    good &= check<both<inserts, updates>>(
        {"insert and update", EVERY, {"check's place", "find's place"}});
    good &= check<both<adds, inserts>>(
        {"add and insert",
         EVERY,
         {"check's place", "find's place", "adder's place", "reader's place"}});
    good &= check<both<adds, updates>>(
        {"add and update",
         EVERY,
         {"check's place", "find's place", "adder's place", "reader's place"}});
    good &= check<both<batches, batches>>({"two batches", EVERY, {"batch's fence"}});
    good &= check<order>({"order of two keys", FEW_SWITCHES, {"check's place", "find's place"}});
    return !good;
}
