/*
 * Warps and hosts at the same time. Threads of the host play whole warps, and threads play the
 * lanes of the CUDA test's kernels, which call host threads or serve them. Lines are written by
 * plain stores, so ThreadSanitizer reports if two threads ever have a line at once.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tests/cuda/grid.h"
#include "tests/cuda/hosts.h"
#include "tests/cuda/model.h"

enum { SLOTS_MAX = 4, LANES_MAX = 160 };

static struct {
    void *memory;
    hosts servers, clients;
    kernel_plan plan;
    model_session sessions[SLOTS_MAX * TERN_MAILBOX_LANES];
    uint64_t calls[LANES_MAX], wrong[LANES_MAX];
    uint32_t stop;
} play;

static void open_play(uint32_t slots, uint32_t rounds) {
    size_t bytes = tern_mailbox_bytes(slots, sizeof(tern_mailbox_warp));
    memset(&play, 0, sizeof play);
    play.memory = aligned_alloc(TERN_MAILBOX_LINE, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.memory);
    memset(play.memory, 0, bytes);
    play.plan = (kernel_plan){.memory = play.memory,
                              .slots = slots,
                              .rounds = tern_test_full() ? 20 * rounds : rounds,
                              .seed = tern_test_seed(),
                              .patience = 40000000000u, /* in ns, shorter than the deadline of the
                                                           harness */
                              .sessions = play.sessions,
                              .stop = &play.stop,
                              .calls = play.calls,
                              .wrong = play.wrong};
    play.servers.box = tern_mailbox_at(play.memory, slots, sizeof(tern_mailbox_warp));
    play.servers.sessions = play.sessions;
    play.servers.rounds = play.plan.rounds;
    play.servers.seed = tern_test_seed();
    play.clients = play.servers;
}

/* Prints the state of the slots, after calls have failed. */
static void show_slots(void) {
    const tern_mailbox *box = &play.servers.box;
    for (uint32_t slot = 0; slot < box->slots; slot++) {
        const tern_mailbox_warp *packet = tern_mailbox_packet(box, slot);
        fprintf(stderr, "slot %u: state %d, client %u, server %u, asked %x, number %u, open %x\n",
                slot, (int)tern_mailbox_look(box, slot),
                tern_mailbox_load32(&box->client_locks[slot].holder),
                tern_mailbox_load32(&box->server_locks[slot].holder), packet->asked, packet->number,
                packet->open);
    }
}

/* Checks that as many calls were served as made, none of them wrongly, and that all slots are free
 * again. */
static void close_play(uint64_t made) {
    uint64_t wrong, lanes_wrong = 0;
    CU_ASSERT_EQUAL(hosts_served(&play.servers, &wrong), made);
    for (uint32_t i = 0; i < LANES_MAX; i++)
        lanes_wrong += play.wrong[i];
    if (wrong + lanes_wrong + play.clients.wrong > 0)
        show_slots();
    CU_ASSERT(made > 0);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(play.clients.wrong, 0);
    CU_ASSERT_EQUAL(lanes_wrong, 0);
    for (uint32_t slot = 0; slot < play.plan.slots; slot++)
        CU_ASSERT_EQUAL(tern_mailbox_look(&play.servers.box, slot), TERN_MAILBOX_QUIET);
    free(play.memory);
}

static void hosts_to_hosts(void) {
    static const uint32_t shapes[][3] = {{1, 1, 1}, {1, 3, 2}, {3, 4, 2}, {4, 2, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        open_play(shapes[i][0], 150);
        CU_ASSERT_EQUAL_FATAL(hosts_start(&play.servers, shapes[i][2], hosts_serve), 0);
        CU_ASSERT_EQUAL_FATAL(hosts_start(&play.clients, shapes[i][1], hosts_call), 0);
        hosts_join(&play.clients);
        hosts_end(&play.servers);
        close_play(play.clients.asked);
    }
}

/* Clients that wait only for a moment, and leave calls of several packets at any point. Each server
 * gives the slots of these calls back, so it holds no slot at the end. */
static void impatient_hosts(void) {
    open_play(4, 400);
    CU_ASSERT_EQUAL_FATAL(hosts_start(&play.clients, 3, hosts_call_briefly), 0);
    while (tern_mailbox_load32(&play.clients.given_up) < 3)
        sched_yield();
    CU_ASSERT_EQUAL_FATAL(hosts_start(&play.servers, 2, hosts_serve), 0);
    hosts_join(&play.clients);
    hosts_end(&play.servers);
    CU_ASSERT_EQUAL(play.clients.wrong, 0);
    CU_ASSERT(play.clients.given_up >= 3);
    CU_ASSERT(play.clients.asked >= 3);
    for (uint32_t slot = 0; slot < play.plan.slots; slot++) {
        int state = (int)tern_mailbox_look(&play.servers.box, slot);
        CU_ASSERT(state == TERN_MAILBOX_QUIET || state == TERN_MAILBOX_ANSWERED);
        CU_ASSERT_EQUAL(play.servers.box.client_locks[slot].holder, 0);
        CU_ASSERT_EQUAL(play.servers.box.server_locks[slot].holder, 0);
    }
    free(play.memory);
}

static void kernel_to_hosts_as(uint32_t blocks, uint32_t threads, uint32_t slots, uint32_t servers,
                               uint32_t own) {
    played_grid grid;
    uint64_t made = 0;
    open_play(slots, 12);
    play.plan.own = own;
    CU_ASSERT_EQUAL_FATAL(hosts_start(&play.servers, servers, hosts_serve), 0);
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, blocks, threads, played_calls, &play.plan), 0);
    played_join(&grid);
    hosts_end(&play.servers);
    for (uint32_t i = 0; i < LANES_MAX; i++)
        made += play.calls[i];
    close_play(made);
}

static void kernel_to_hosts(void) {
    kernel_to_hosts_as(1, 32, 1, 1, 1);
    kernel_to_hosts_as(1, 32, 1, 1, 0);
    kernel_to_hosts_as(2, 40, 4, 2, 1);
    kernel_to_hosts_as(2, 64, 1, 1, 0);
    kernel_to_hosts_as(2, 64, 3, 2, 0);
    kernel_to_hosts_as(1, 5, 2, 1, 0);
}

static void hosts_to_kernel_as(uint32_t blocks, uint32_t slots, uint32_t clients) {
    played_grid grid;
    open_play(slots, 12);
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, blocks, 32, played_serves, &play.plan), 0);
    CU_ASSERT_EQUAL_FATAL(hosts_start(&play.clients, clients, hosts_call), 0);
    hosts_join(&play.clients);
    for (uint32_t slot = 0; slot < slots; slot++)
        while (play.clients.wrong == 0 &&
               tern_mailbox_look(&play.clients.box, slot) != TERN_MAILBOX_QUIET)
            sched_yield();
    tern_mailbox_store32(&play.stop, 1);
    played_join(&grid);
    close_play(play.clients.asked);
}

static void hosts_to_kernel(void) {
    hosts_to_kernel_as(1, 1, 1);
    hosts_to_kernel_as(2, 3, 2);
}

/* A kernel that calls without a server, and one that serves without clients: both end. */
static void kernels_alone(void) {
    played_grid grid;
    uint64_t failed = 0;
    open_play(2, 12);
    play.plan.patience = 1000000;
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, 2, 40, played_calls, &play.plan), 0);
    played_join(&grid);
    for (uint32_t i = 0; i < LANES_MAX; i++) {
        CU_ASSERT_EQUAL(play.calls[i], 0);
        failed += play.wrong[i];
    }
    CU_ASSERT(failed > 0);
    /* The posted packets have become asynchronous calls. */
    for (uint32_t slot = 0; slot < 2; slot++)
        CU_ASSERT_EQUAL(play.servers.box.client_locks[slot].holder, 0);
    memset(play.memory, 0, tern_mailbox_bytes(2, sizeof(tern_mailbox_warp)));
    CU_ASSERT_EQUAL_FATAL(played_launch(&grid, 1, 32, played_serves, &play.plan), 0);
    played_join(&grid);
    CU_ASSERT_EQUAL(hosts_served(&play.servers, &failed), 0);
    free(play.memory);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"hosts_to_hosts", hosts_to_hosts},
                                           {"impatient_hosts", impatient_hosts},
                                           {"kernel_to_hosts", kernel_to_hosts},
                                           {"hosts_to_kernel", hosts_to_kernel},
                                           {"kernels_alone", kernels_alone}};
    return tern_test_main(argc, argv, "mailbox warp threads", tests,
                          sizeof tests / sizeof tests[0]);
}
