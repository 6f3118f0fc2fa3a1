/*
 * Slots for warps between processes: servers die, or stop for ever, while others call.
 */

#include <sched.h>

#include "children.h"
#include "tern/mailbox_host.h"
#include "tern/mailbox_warp.h"

enum { SLOTS = 3 };

static const uint64_t deadly = 0xdead, endless_word = 0xe;

static int work_mortally(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)argument;
    if (line->word[0] == deadly)
        _exit(3);
    if (line->word[0] == endless_word)
        return 1;
    line->word[0] += place.lane;
    return 0;
}

static int serve_share(void *argument) {
    uint32_t worked[SLOTS] = {0};
    tern_mailbox_crew crew = {work_mortally, NULL, worked};
    tern_mailbox_worker worker;
    if (tern_mailbox_join(argument, TERN_MAILBOX_SERVER, &worker) != TERN_OK)
        return 1;
    for (;;)
        if (tern_mailbox_serve(&worker.server, tern_mailbox_warp_work, tern_mailbox_warp_clean,
                               &crew) == 0)
            sched_yield();
}

static void fill_words(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    line->word[0] = ((uint64_t *)argument)[place.lane];
}

static void use_words(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    ((uint64_t *)argument)[place.lane] = line->word[0];
}

/* A packet that kills its server is lost for all lanes. The remaining server answers the next
 * one. */
static void a_share(void) {
    tern_mailbox_options options = {SLOTS, sizeof(tern_mailbox_warp), 0};
    tern_mailbox_share *share;
    tern_mailbox_worker worker;
    EXPECT_OK(tern_mailbox_create(&options, &share));
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &worker));
    pid_t servers[2] = {start_child(serve_share, share), start_child(serve_share, share)};
    tern_mailbox_patience patience = {&worker, 40000000000u, 0, 0, 0};
    tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
    uint64_t word[TERN_MAILBOX_LANES] = {1, deadly, 1};
    CU_ASSERT_EQUAL(tern_mailbox_warp_call(&worker.client, tern_mailbox_party_whole(7), fill_words,
                                           use_words, word, &wait),
                    TERN_MAILBOX_LOST);
    CU_ASSERT(word[0] == 1 && word[2] == 1);
    word[1] = 1;
    CU_ASSERT_EQUAL(tern_mailbox_warp_call(&worker.client, tern_mailbox_party_whole(7), fill_words,
                                           use_words, word, &wait),
                    0);
    CU_ASSERT(word[0] == 1 && word[1] == 2 && word[2] == 3);
    int ends[2] = {kill_child(servers[0]), kill_child(servers[1])};
    CU_ASSERT(ends[0] + ends[1] == 3 - SIGKILL);
    tern_mailbox_leave(&worker);
    tern_mailbox_destroy(share);
}

/* A client that gives up in the middle of a call blocks no slot. Its server gives the slot back,
 * and blocks nobody when it stops for ever. */
static void a_stopped_server(void) {
    tern_mailbox_options options = {SLOTS, sizeof(tern_mailbox_warp), 0};
    tern_mailbox_share *share;
    tern_mailbox_worker worker;
    EXPECT_OK(tern_mailbox_create(&options, &share));
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &worker));
    pid_t stopped = start_child(serve_share, share);
    for (int i = 0; i < 2 * SLOTS; i++) {
        tern_mailbox_patience brief = {&worker, 10000000, 0, 0, 0};
        tern_mailbox_wait wait = {tern_mailbox_idle, &brief};
        uint64_t word[TERN_MAILBOX_LANES] = {1, endless_word};
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&worker.client, tern_mailbox_party_whole(3),
                                               fill_words, use_words, word, &wait),
                        TERN_ERR_TIMEOUT);
    }
    for (int left = SLOTS, i = 0; left > 0 && i < 20000; i++, usleep(1000)) {
        left = 0;
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            /* The state is read first, because the server does not take a slot again while its
             * packet belongs to the client. */
            tern_mailbox_state state = tern_mailbox_look(&worker.client.box, slot);
            left += state == TERN_MAILBOX_POSTED || state == TERN_MAILBOX_FINISHED ||
                    tern_mailbox_load32(&worker.client.box.server_locks[slot].holder) != 0;
        }
    }
    kill(stopped, SIGSTOP);
    pid_t other = start_child(serve_share, share);
    for (int i = 0; i < 2 * SLOTS; i++) {
        tern_mailbox_patience patience = {&worker, 40000000000u, 0, 0, 0};
        tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
        uint64_t word[TERN_MAILBOX_LANES] = {1, 1};
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&worker.client, tern_mailbox_party_whole(3),
                                               fill_words, use_words, word, &wait),
                        0);
        CU_ASSERT(word[0] == 1 && word[1] == 2);
    }
    CU_ASSERT_EQUAL(kill_child(stopped), -SIGKILL);
    CU_ASSERT_EQUAL(kill_child(other), -SIGKILL);
    tern_mailbox_leave(&worker);
    tern_mailbox_destroy(share);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_share", a_share},
                                           {"a_stopped_server", a_stopped_server}};
    return tern_test_main(argc, argv, "mailbox warp processes", tests,
                          sizeof tests / sizeof tests[0]);
}
