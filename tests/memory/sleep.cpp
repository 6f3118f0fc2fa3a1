/*
 * Sleep of a ring that its origin puts into (rma/ring/sleep.c): the origin publishes while another
 * thread of its process answers the target's question. Either the answer names what was published,
 * and the target polls until it has consumed that, or one WAKE follows.
 */

#include "model.h"

enum { FRAMES = 2 };

struct sleeping : rl::test_suite<sleeping, 2> {
    word told, asleep;
    int wakes, answer;

    void before() {
        STORE(told, 0, relaxed);
        STORE(asleep, 0, relaxed);
        wakes = 0;
        answer = -1;
    }

    /* tern_sleep_published */
    void publish(int position) {
        if (!is("looks before it tells"))
            STORE(told, position, relaxed);
        FENCE("origin's fence", seq_cst);
        bool marked = LOAD(asleep, relaxed) != 0;
        if (is("looks before it tells"))
            STORE(told, position, relaxed);
        if (marked && SWAP(asleep, 0, relaxed) != 0)
            wakes++;
    }

    /* tern_sleep_answer */
    void serve() {
        if (is("reads before it marks"))
            answer = LOAD(told, relaxed);
        STORE(asleep, 1, relaxed);
        FENCE("server's fence", seq_cst);
        if (!is("reads before it marks"))
            answer = LOAD(told, relaxed);
    }

    void thread(unsigned index) {
        if (index == 1)
            serve();
        for (int i = 1; index == 0 && i <= FRAMES; i++)
            publish(i);
    }

    void after() {
        RL_ASSERT(wakes <= 1);
        RL_ASSERT(answer == FRAMES || wakes == 1);
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    return !check<sleeping>({"sleep",
                             EVERY,
                             {"origin's fence", "server's fence", "looks before it tells",
                              "reads before it marks"}});
}
