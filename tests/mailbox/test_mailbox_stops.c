/*
 * Mailboxes between processes, some of which stop for ever while they hold slots: no other process
 * waits for them.
 */

#include "callers.h"

/* A server that stops in the middle of its work when a request asks for it. */
static void stop_on_request(tern_mailbox_service *service, uint32_t slot, const void *request,
                            uint64_t bytes) {
    if (bytes == 4 && memcmp(request, "stop", 4) == 0)
        raise(SIGSTOP);
    echo_handle(service, slot, request, bytes);
}

static int serve_and_stop(void *argument) {
    (void)argument;
    return serve_with(stop_on_request);
}

static void wait_until_stopped(pid_t child) {
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(child, &status, WUNTRACED), child);
    CU_ASSERT(WIFSTOPPED(status));
}

/* Returns the index of the child that stops within 20 s, or count if none does. */
static int next_to_stop(const pid_t *children, int count) {
    for (int i = 0; i < 100000; i++, usleep(200))
        for (int c = 0; c < count; c++) {
            int status = 0;
            if (waitpid(children[c], &status, WUNTRACED | WNOHANG) == children[c] &&
                WIFSTOPPED(status))
                return c;
        }
    return count;
}

/* Two of three servers stop while each holds a slot. Their calls end at the deadline, and the
 * others go on with the remaining slots. The slots come back when the servers continue or die. */
static void stopped_servers(void) {
    enum { SLOTS = 3 };
    tern_mailbox_worker worker;
    uint64_t random = 9;
    pid_t servers[3];
    int stopped[2];
    if (!open_share(SLOTS, 128))
        return;
    for (int i = 0; i < 3; i++)
        servers[i] = start_child(serve_and_stop, NULL);
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker));
    for (int s = 0; s < 2; s++) {
        EXPECT(TERN_ERR_TIMEOUT,
               tern_mailbox_request(&worker, "stop", 4, NULL, 0, NULL, SECOND / 20));
        stopped[s] = next_to_stop(servers, 3);
        CU_ASSERT(stopped[s] < 3);
        for (int i = 0; i < 40; i++)
            CU_ASSERT_EQUAL(echo_call(&worker, &random, play.request, play.reply, 30 * SECOND), 0);
    }
    /* Only one slot is left to take. */
    uint32_t quiet = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        quiet += tern_mailbox_look(&worker.client.box, slot) != TERN_MAILBOX_POSTED;
    CU_ASSERT_EQUAL(quiet, SLOTS - 2);
    bool right = stopped[0] < 3 && stopped[1] < 3;
    if (right) {
        CU_ASSERT_EQUAL(kill_child(servers[stopped[0]]), -SIGKILL);
        kill(servers[stopped[1]], SIGCONT);
    }
    for (int i = 0; i < 40; i++)
        CU_ASSERT_EQUAL(echo_call(&worker, &random, play.request, play.reply, 30 * SECOND), 0);
    tern_mailbox_leave(&worker);
    tern_mailbox_store32(&play.board->end, 1);
    for (int i = 0; i < 3; i++)
        if (!right)
            (void)kill_child(servers[i]);
        else if (i != stopped[0])
            CU_ASSERT_EQUAL(end_of_child(servers[i]), 0);
    tern_mailbox_store32(&play.board->end, 0);
    expect_all_free();
    close_share();
}

/* Takes a slot, posts a packet or not, and stops. */
static int hold_and_stop(void *argument) {
    tern_mailbox_worker worker;
    if (tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker) != TERN_OK)
        return 1;
    uint32_t slot = tern_mailbox_take(&worker.client);
    if (slot == TERN_MAILBOX_NONE)
        return 2;
    if (*(int *)argument)
        (void)tern_mailbox_post(&worker.client, slot);
    raise(SIGSTOP);
    return 0;
}

/* All slots but one are held by clients that stop for ever. */
static void stopped_clients(void) {
    enum { SLOTS = 4 };
    pid_t stopped[SLOTS - 1];
    if (!open_share(SLOTS, 128))
        return;
    pid_t server = start_child(serve, NULL);
    for (int i = 0; i < SLOTS - 1; i++) {
        int post = i % 2;
        stopped[i] = start_child(hold_and_stop, &post);
        wait_until_stopped(stopped[i]);
    }
    caller callers[2] = {{3, 100, 30 * SECOND, 0, 0}, {4, 100, 30 * SECOND, 0, 0}};
    pid_t clients[2];
    for (int i = 0; i < 2; i++)
        clients[i] = start_child(make_calls, &callers[i]);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(end_of_child(clients[i]), 0);
    for (int i = 0; i < SLOTS - 1; i++)
        CU_ASSERT_EQUAL(kill_child(stopped[i]), -SIGKILL);
    end_servers(&server, 1);
    expect_all_free();
    close_share();
}

/* Servers and clients stop at any point of their calls. A stopped client costs one slot. A stopped
 * server costs one slot for each call of several packets that it serves, and at least one. It also
 * costs as many calls of other clients, which end at their deadlines. After that all goes on as
 * before, and the slots come back when the stopped processes die. */
static void stopped_anywhere(void) {
    enum { VICTIMS = 4, CALLERS = 2, COST = CALLERS + VICTIMS / 2, SLOTS = VICTIMS * COST };
    if (!open_share(SLOTS, 128))
        return;
    uint64_t random = tern_test_seed() + 11;
    caller callers[CALLERS] = {{3, -1, SECOND, 0, 1}, {4, -1, SECOND, 0, 1}};
    caller lasting = {5, 200, SECOND, 0, 1}, victim = {6, -1, 30 * SECOND, 0, 0};
    pid_t server = start_child(serve, NULL), clients[CALLERS], victims[VICTIMS];
    for (int i = 0; i < CALLERS; i++)
        clients[i] = start_child(make_calls, &callers[i]);
    for (int i = 0; i < VICTIMS; i++) {
        victims[i] = i % 2 ? start_child(serve, NULL) : start_child(make_calls, &victim);
        let_work(20 + (uint32_t)(tern_test_random(&random) % 20), 5);
        usleep((useconds_t)(tern_test_random(&random) % 500));
        kill(victims[i], SIGSTOP);
        wait_until_stopped(victims[i]);
    }
    for (int i = 0; i < CALLERS; i++)
        let_work(20, 5);
    CU_ASSERT_EQUAL(end_of_child(start_child(make_calls, &lasting)), 0);
    CU_ASSERT(play.board->late <= VICTIMS / 2 * COST);
    for (int i = 0; i < CALLERS; i++)
        CU_ASSERT_EQUAL(kill_child(clients[i]), -SIGKILL);
    for (int i = 0; i < VICTIMS; i++)
        CU_ASSERT_EQUAL(kill_child(victims[i]), -SIGKILL);
    end_servers(&server, 1);
    expect_all_free();
    close_share();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"stopped_servers", stopped_servers},
                                           {"stopped_clients", stopped_clients},
                                           {"stopped_anywhere", stopped_anywhere}};
    return tern_test_main(argc, argv, "mailbox stops", tests, sizeof tests / sizeof tests[0]);
}
