/*
 * Rings in shared memory (rma/ring/ring.h, ring.c, poll.c, doorbell.h, tern/detail/view.h): records
 * and credit, the idle mark and the membarrier, doorbells.
 *
 * A membarrier is a full fence that the kernel has every running thread execute at some point
 * between two of its instructions, before the call returns. Here the sender looks at each such
 * point whether one is wanted, executes a seq_cst fence, and says so. Not covered: that the kernel
 * reaches every processor, and that a process which begins later has registered.
 */

#include "model.h"

/* Two records, of which the second one uses the memory of the first, so that it waits for credit:
 * tern_ring_publish_direct and tern_lane_send against tern_ring_peek, shm_report against
 * shm_consumed. A header of 0 ends the content; the payload is plain memory. */
struct records : rl::test_suite<records, 2> {
    word header[2], consumed;
    plain payload[2];

    void before() {
        STORE(header[0], 0, relaxed);
        STORE(header[1], 99, relaxed); /* old content */
        STORE(consumed, 0, relaxed);
    }

    void send(int number, int at) {
        WRITE(payload[at], number);
        STORE(header[!at], 0, relaxed); /* tern_ring_commit */
        STORE(header[at], number, but("publisher's release", release));
    }

    void thread(unsigned index) {
        if (index == 0) {
            send(1, 0);
            if (LOAD(consumed, but("credit's acquire", acquire)) < 1)
                return;
            send(2, 1);
            if (LOAD(consumed, but("credit's acquire", acquire)) < 2)
                return;
            send(3, 0);
            return;
        }
        for (int number = 1; number <= 3; number++) {
            int at = !(number & 1);
            int there = LOAD(header[at], but("peek's acquire", acquire));
            if (there == 0)
                return;
            RL_ASSERT(there == number);
            RL_ASSERT(READ(payload[at]) == number);
            STORE(consumed, number, but("report's release", release));
        }
    }
};

/* A consumer that goes idle (may_sleep) while a sender publishes: it finds the record in its last
 * look, or the sender finds the mark and rings the doorbell. */
struct idle : rl::test_suite<idle, 2> {
    word header, mark, wanted, passed;
    plain rung, slept, found;

    void before() {
        STORE(header, 0, relaxed);
        STORE(mark, 0, relaxed);
        STORE(wanted, 0, relaxed);
        STORE(passed, 0, relaxed);
        WRITE(rung, 0);
        WRITE(slept, 0);
        WRITE(found, 0);
    }

    void maybe_barrier() {
        if (LOAD(wanted, relaxed) == 0)
            return;
        rl::atomic_thread_fence(seq_cst, $);
        STORE(passed, 1, release);
    }

    void thread(unsigned index) {
        if (index == 0) {
            maybe_barrier();
            STORE(header, 1, release);
            maybe_barrier();
            if (LOAD(mark, relaxed) != 0)
                WRITE(rung, 1);
            rl::atomic_thread_fence(seq_cst, $); /* it is no longer running */
            STORE(passed, 1, release);
            return;
        }
        STORE(mark, 1, seq_cst);
        if (!is("membarrier")) {
            rl::atomic_thread_fence(seq_cst, $);
            STORE(wanted, 1, release);
            for (int looks = 0; LOAD(passed, acquire) == 0; looks++) {
                if (looks == 2)
                    return; /* the call has not returned yet */
                rl::yield(1, $);
            }
        }
        rl::atomic_thread_fence(seq_cst, $);
        WRITE(slept, LOAD(header, acquire) == 0);
    }

    void after() { RL_ASSERT(!READ(slept) || READ(rung)); }
};

/* The same where membarrier is refused (tern_context.fences), and of remote rings, whose records this
 * process appends (tern_ring_append). */
struct fenced : rl::test_suite<fenced, 2> {
    word header, mark;
    plain rung, slept;

    void before() {
        STORE(header, 0, relaxed);
        STORE(mark, 0, relaxed);
        WRITE(rung, 0);
        WRITE(slept, 0);
    }

    void thread(unsigned index) {
        if (index == 0) {
            STORE(header, 1, release);
            FENCE("sender's fence", seq_cst);
            WRITE(rung, LOAD(mark, relaxed) != 0);
        } else {
            STORE(mark, 1, seq_cst);
            FENCE("sleeper's fence", seq_cst);
            WRITE(slept, LOAD(header, acquire) == 0);
        }
    }

    void after() { RL_ASSERT(!READ(slept) || READ(rung)); }
};

/* Two senders that ring (tern_doorbell_ring), whose bits lie in different words, and a listener
 * (tern_doorbell_rung, hear_doorbells): as long as the listener has not taken a bit, the word any announces
 * it; and what its sender wrote is there. A message (tern_doorbell_mail) is such a bit too. */
struct doorbells : rl::test_suite<doorbells, 3> {
    word any, bits[2];
    plain table[2], heard;

    void before() {
        STORE(any, 0, relaxed);
        STORE(bits[0], 0, relaxed);
        STORE(bits[1], 0, relaxed);
        WRITE(heard, 0);
    }

    void ring(unsigned sender) {
        WRITE(table[sender], 1); /* announce */
        OR(bits[sender], 1, but("bit's release", release));
        if (is("read-modify-write"))
            STORE(any, 1, release);
        else
            SWAP(any, 1, but("doorbell's release", release));
    }

    void listen() {
        if (LOAD(any, relaxed) == 0 || SWAP(any, 0, but("listener's acquire", acq_rel)) == 0)
            return;
        for (int i = 0; i < 2; i++) {
            if (LOAD(bits[i], relaxed) == 0 ||
                SWAP(bits[i], 0, but("taker's acquire", acquire)) == 0)
                continue;
            RL_ASSERT(READ(table[i]) == 1);
            WRITE(heard, READ(heard) + 1);
        }
    }

    void thread(unsigned index) {
        if (index < 2)
            ring(index);
        else
            listen();
    }

    void after() { RL_ASSERT(READ(heard) == 2 || LOAD(any, relaxed) != 0); }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good = check<records>(
        {"records",
         EVERY,
         {"publisher's release", "peek's acquire", "report's release", "credit's acquire"}});
    good &= check<idle>({"idle mark", EVERY, {"membarrier"}});
    good &= check<fenced>({"idle mark, fenced", EVERY, {"sender's fence", "sleeper's fence"}});
    good &= check<doorbells>(
        {"doorbells", EVERY, {"read-modify-write", "doorbell's release", "listener's acquire"}});
    return !good;
}
