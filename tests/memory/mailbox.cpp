/*
 * The flags and locks of a mailbox (include/tern/mailbox.h, detail/mailbox_flags.h,
 * detail/mailbox_atomic.h) in its three layouts. tests/spin has the same state machines under an
 * order in which everything happens one by one.
 */

#include "model.h"

enum { QUIET, POSTED, FINISHED, ANSWERED }; /* client's flag + 2 * server's flag */

/* TERN_MAILBOX_LINES: one client and one server, whose packet is plain memory. */
struct pair : rl::test_suite<pair, 2> {
    word client, server;
    plain packet;

    void before() {
        STORE(client, 0, relaxed);
        STORE(server, 0, relaxed);
        WRITE(packet, 0);
    }

    /* tern_mailbox_look. */
    int look() {
        int mine = LOAD(client, but("look's acquire", acquire));
        return mine + 2 * LOAD(server, but("look's acquire", acquire));
    }

    bool await(int state) {
        for (int looks = 0; look() != state; looks++) {
            if (looks == 1)
                return false;
            rl::yield(1, $);
        }
        return true;
    }

    void thread(unsigned index) {
        const rl::memory_order order = but("write's release", release);
        if (index == 0) { /* tern_mailbox_call_on, twice */
            for (int call = 1; call <= 2; call++) {
                if (!await(QUIET))
                    return;
                WRITE(packet, call);
                STORE(client, 1, order);
                if (!await(ANSWERED))
                    return;
                RL_ASSERT(READ(packet) == call + 10);
                STORE(client, 0, order);
            }
            return;
        }
        for (int step = 0; step < 3; step++) { /* tern_mailbox_serve_on */
            int state = look();
            if (state == POSTED) {
                WRITE(packet, READ(packet) + 10);
                STORE(server, 1, order);
            } else if (state == FINISHED) {
                WRITE(packet, 0); /* clean */
                STORE(server, 0, order);
            }
        }
    }
};

/* Two clients of one slot: the one that takes the lock sees what the last holder did with the packet
 * (tern_mailbox_lock_take, tern_mailbox_lock_give). */
struct locks : rl::test_suite<locks, 2> {
    word holder;
    plain packet;

    void before() {
        STORE(holder, 0, relaxed);
        WRITE(packet, 0);
    }

    void thread(unsigned index) {
        if (LOAD(holder, relaxed) != 0 ||
            cas(holder, 0, (int)index + 1, but("take's order", acq_rel)) != 0)
            return;
        WRITE(packet, READ(packet) + 1);
        STORE(holder, 0, but("give's release", release));
    }
};

/* TERN_MAILBOX_BITS: two clients set their bits of one word, and a server takes the packets of
 * those that it sees set. */
struct bits : rl::test_suite<bits, 3> {
    word flags;
    plain packet[2];

    void before() { STORE(flags, 0, relaxed); }

    void thread(unsigned index) {
        if (index < 2) {
            WRITE(packet[index], 1);
            OR(flags, 1 << index, but("write's order", acq_rel));
            return;
        }
        int seen = LOAD(flags, but("load's acquire", acquire));
        for (int i = 0; i < 2; i++)
            if ((seen >> i & 1) != 0)
                RL_ASSERT(READ(packet[i]) == 1);
    }
};

/* TERN_MAILBOX_CAS: the same through a staged word, whose state any client publishes
 * (tern_mailbox_flags_write, tern_mailbox_flags_repair). */
struct staged : rl::test_suite<staged, 3> {
    word staging, shared;
    plain packet[2];

    void before() {
        STORE(staging, 0, relaxed);
        STORE(shared, 0, relaxed);
    }

    void write(unsigned me) {
        WRITE(packet[me], 1);
        OR(staging, 1 << me, is("staging's order") ? relaxed : acq_rel);
        for (int tries = 0; tries < 3; tries++) {
            int seen = LOAD(shared, acquire);
            int wanted = LOAD(staging, acquire);
            if (((seen ^ wanted) >> me & 1) == 0 ||
                cas(shared, seen, wanted, but("swap's order", acq_rel)) == seen)
                return;
        }
    }

    void thread(unsigned index) {
        if (index < 2) {
            write(index);
            return;
        }
        int seen = LOAD(shared, but("load's acquire", acquire));
        for (int i = 0; i < 2; i++)
            if ((seen >> i & 1) != 0)
                RL_ASSERT(READ(packet[i]) == 1);
    }
};

/* A server gives a kept slot back only if its client has gone (tern_mailbox_forget): the client
 * posts before it gives its lock back, and the server looks at the lock before the flags, so the
 * last packet is seen. */
struct forget : rl::test_suite<forget, 2> {
    word holder, client;

    void before() {
        STORE(holder, 1, relaxed);
        STORE(client, 0, relaxed);
    }

    void thread(unsigned index) {
        if (index == 0) {
            STORE(client, 1, release);
            STORE(holder, 0, but("give's release", release));
            return;
        }
        int there = LOAD(holder, but("holder's acquire", acquire));
        RL_ASSERT(there != 0 || LOAD(client, acquire) == 1);
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good = check<pair>({"pair", EVERY, {"look's acquire", "write's release"}});
    good &= check<locks>({"locks", EVERY, {"take's order", "give's release"}});
    good &= check<bits>({"bits", EVERY, {"write's order", "load's acquire"}});
    good &= check<staged>({"staged", EVERY, {"staging's order", "swap's order", "load's acquire"}});
    good &= check<forget>({"forget", EVERY, {"give's release", "holder's acquire"}});
    return !good;
}
