/*
 * Mailboxes between processes: calls of every length, and clients and servers that are killed while
 * they hold slots.
 */

#include <sys/resource.h>

#include "callers.h"

/* Several clients and servers, fewer slots than clients, packets of several sizes. */
static void calls(void) {
    static const struct {
        uint32_t slots, packet;
        int clients, servers;
    } runs[] = {{1, 64, 1, 1}, {1, 256, 3, 2}, {4, 4096, 2, 2}, {70, 128, 3, 1}};
    int each = tern_test_full() ? 3000 : 150;
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        pid_t servers[2], clients[3];
        caller callers[3];
        if (!open_share(runs[r].slots, runs[r].packet))
            return;
        for (int i = 0; i < runs[r].servers; i++)
            servers[i] = start_child(serve, NULL);
        for (int i = 0; i < runs[r].clients; i++) {
            callers[i] = (caller){tern_test_seed() * 77 + (uint64_t)i, each, 30 * SECOND, 0, 0};
            clients[i] = start_child(make_calls, &callers[i]);
        }
        for (int i = 0; i < runs[r].clients; i++)
            CU_ASSERT_EQUAL(end_of_child(clients[i]), 0);
        CU_ASSERT_EQUAL(play.board->calls, (uint32_t)(each * runs[r].clients));
        end_servers(servers, runs[r].servers);
        expect_all_free();
        close_share();
    }
}

/* Clients are killed at any point of their calls. A client that is not killed goes on, and so do
 * new ones. */
static void killed_clients(void) {
    if (!open_share(3, 128))
        return;
    uint64_t random = tern_test_seed();
    caller steady = {1, -1, 30 * SECOND, 0, 0}, victim = {2, -1, 30 * SECOND, 0, 0};
    pid_t server = start_child(serve, NULL), client = start_child(make_calls, &steady);
    for (int i = 0; i < (tern_test_full() ? 1000 : 40); i++) {
        pid_t victims[2] = {start_child(make_calls, &victim), start_child(make_calls, &victim)};
        let_work((uint32_t)(tern_test_random(&random) % 20), 1);
        usleep((useconds_t)(tern_test_random(&random) % 500));
        for (int v = 0; v < 2; v++)
            CU_ASSERT_EQUAL(kill_child(victims[v]), -SIGKILL);
        victim.seed++;
    }
    uint32_t before = play.board->calls;
    let_work(20, 20);
    CU_ASSERT(play.board->calls > before);
    CU_ASSERT_EQUAL(kill_child(client), -SIGKILL);
    end_servers(&server, 1);
    expect_all_free();
    close_share();
}

/* Servers are killed at any point. No call hangs or gets a wrong reply, and lost calls are
 * reported. */
static void killed_servers(void) {
    if (!open_share(3, 128))
        return;
    uint64_t random = tern_test_seed() + 5;
    caller callers[2] = {{3, -1, 30 * SECOND, 1, 0}, {4, -1, 30 * SECOND, 1, 0}};
    pid_t steady = start_child(serve, NULL), clients[2];
    for (int i = 0; i < 2; i++)
        clients[i] = start_child(make_calls, &callers[i]);
    for (int i = 0; i < (tern_test_full() ? 1000 : 40); i++) {
        pid_t victim = start_child(serve, NULL);
        let_work((uint32_t)(tern_test_random(&random) % 20), 1);
        usleep((useconds_t)(tern_test_random(&random) % 500));
        CU_ASSERT_EQUAL(kill_child(victim), -SIGKILL);
    }
    uint32_t before = play.board->calls;
    let_work(20, 20);
    CU_ASSERT(play.board->calls > before);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(kill_child(clients[i]), -SIGKILL);
    end_servers(&steady, 1);
    expect_all_free();
    close_share();
}

/* A client does not wait for ever when all servers are gone. */
static void no_server(void) {
    tern_mailbox_worker worker;
    if (!open_share(2, 64))
        return;
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker));
    EXPECT(TERN_ERR_TIMEOUT, tern_mailbox_request(&worker, "x", 1, NULL, 0, NULL, SECOND / 50));
    EXPECT_DETAIL("no answer");
    pid_t server = start_child(serve, NULL);
    EXPECT(TERN_ERR_RANGE, tern_mailbox_request(&worker, "abcd", 4, NULL, 0, NULL, 30 * SECOND));
    EXPECT_DETAIL("5 bytes");
    CU_ASSERT_EQUAL(kill_child(server), -SIGKILL);
    EXPECT(TERN_ERR_PEER,
           tern_mailbox_request(&worker, "x", 1, NULL, 0, NULL, TERN_MAILBOX_FOREVER));
    EXPECT_DETAIL("no server");
    tern_mailbox_leave(&worker);
    expect_all_free();
    close_share();
}

/* A client whose waits are all short, and a server that calls another server, find that there is no
 * server. */
static void short_waits(void) {
    tern_mailbox_worker worker, server;
    if (!open_share(2, 64))
        return;
    pid_t child = start_child(serve, NULL);
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker));
    EXPECT(TERN_ERR_RANGE, tern_mailbox_request(&worker, "abcd", 4, NULL, 0, NULL, 30 * SECOND));
    /* Each packet of a long request waits only for a short time, but all of them together exceed
     * the deadline. */
    EXPECT(TERN_ERR_TIMEOUT,
           tern_mailbox_request(&worker, play.request, ECHO_MAX, NULL, 0, NULL, 1));
    CU_ASSERT_EQUAL(kill_child(child), -SIGKILL);
    tern_status status = TERN_ERR_TIMEOUT;
    for (int i = 0; i < 100 && status == TERN_ERR_TIMEOUT; i++)
        status = tern_mailbox_request(&worker, "x", 1, NULL, 0, NULL, SECOND / 1000);
    EXPECT(TERN_ERR_PEER, status);
    tern_mailbox_leave(&worker);
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_SERVER, &server));
    EXPECT(TERN_ERR_PEER,
           tern_mailbox_request(&server, "x", 1, NULL, 0, NULL, TERN_MAILBOX_FOREVER));
    tern_mailbox_leave(&server);
    expect_all_free();
    close_share();
}

/* A worker that has no descriptor left to check the others takes none of them for dead. */
static void no_descriptors(void) {
    tern_mailbox_worker worker;
    tern_internal_mailbox_ticket dead;
    struct rlimit limit, low;
    if (!open_share(2, 64))
        return;
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker));
    int free_one = dup(tern_mailbox_fd(play.share));
    close(free_one);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int left = 0; left < 3; left++) {
        low = limit;
        low.rlim_cur = (rlim_t)free_one + (rlim_t)left;
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &low), 0);
        CU_ASSERT_EQUAL(tern_internal_mailbox_next_dead(play.share, 0, &dead), 0);
    }
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    tern_mailbox_leave(&worker);
    close_share();
}

/* A client gives up after the first packet of a long request: the server ends the session and gives
 * the slot back. */
static void half_a_request(void) {
    tern_mailbox_worker client, server;
    tern_mailbox_service service;
    if (!open_share(1, 128))
        return;
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &client));
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_SERVER, &server));
    EXPECT_OK(tern_mailbox_service_open(&service, play.share, ECHO_MAX, echo_handle, NULL));
    tern_mailbox_message m = {.request = play.request, .bytes = 1000, .piece = 64};
    uint32_t slot = tern_mailbox_take(&client.client);
    tern_internal_mailbox_message_fill(tern_mailbox_packet(&client.client.box, slot), slot, &m);
    CU_ASSERT(tern_mailbox_post(&client.client, slot));
    EXPECT_OK(tern_mailbox_attend(&server, &service, SECOND, NULL));
    CU_ASSERT(tern_mailbox_finish(&client.client, slot));
    EXPECT_OK(tern_mailbox_attend(&server, &service, SECOND, NULL));
    EXPECT(TERN_ERR_TIMEOUT, tern_mailbox_attend(&server, &service, SECOND / 1000, NULL));
    CU_ASSERT_EQUAL(service.sessions[slot].active, 1);
    tern_mailbox_client_give(&client.client, slot);
    for (int i = 0; i < 1000 && service.sessions[slot].active; i++)
        EXPECT(TERN_ERR_TIMEOUT, tern_mailbox_attend(&server, &service, SECOND / 1000, NULL));
    CU_ASSERT_EQUAL(service.sessions[slot].active, 0);
    CU_ASSERT_EQUAL(server.server.box.server_locks[slot].holder, 0);
    tern_mailbox_leave(&server);
    tern_mailbox_leave(&client);
    tern_mailbox_service_close(&service);
    expect_all_free();
    close_share();
}

static void *no_memory(void *memory, uint64_t bytes, void *argument) {
    (void)memory, (void)bytes, (void)argument;
    return NULL;
}

/* Serves, but without memory for one of the replies. */
static void reply_or_not(tern_mailbox_service *service, uint32_t slot, const void *request,
                         uint64_t bytes) {
    void *(*resize)(void *, uint64_t, void *) = service->resize;
    if (bytes == 4 && memcmp(request, "none", 4) == 0)
        service->resize = no_memory;
    echo_handle(service, slot, request, bytes);
    service->resize = resize;
}

static int serve_without_memory(void *argument) {
    (void)argument;
    return serve_with(reply_or_not);
}

/* A call for whose reply there is no memory is refused, and not answered with an empty reply.
 * Answers of unknown kinds are refused too. */
static void no_reply(void) {
    tern_mailbox_worker worker;
    uint64_t random = 5;
    if (!open_share(1, 128))
        return;
    pid_t server = start_child(serve_without_memory, NULL);
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker));
    for (int i = 0; i < 10; i++) {
        EXPECT(TERN_ERR_ARGUMENT,
               tern_mailbox_request(&worker, "none", 4, play.reply, 100, NULL, 30 * SECOND));
        EXPECT_DETAIL("no memory");
        CU_ASSERT_EQUAL(echo_call(&worker, &random, play.request, play.reply, 30 * SECOND), 0);
    }
    tern_mailbox_leave(&worker);
    end_servers(&server, 1);
    expect_all_free();
    close_share();
    for (int kind = -5; kind <= 5; kind++) {
        tern_mailbox_head packet[4] = {{0, 0, 0, kind}};
        tern_mailbox_message m = {.piece = 64, .outcome = 77};
        tern_internal_mailbox_message_use(packet, 0, &m);
        CU_ASSERT_EQUAL(m.outcome, kind == TERN_MAILBOX_OK || kind == TERN_MAILBOX_LOST
                                       ? kind
                                       : TERN_MAILBOX_REFUSED);
    }
}

/* A client that writes nonsense into packets. It gets refusals, and other clients get right
 * answers. */
static int write_nonsense(void *argument) {
    tern_mailbox_worker worker;
    uint64_t random = *(uint64_t *)argument;
    if (tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker) != TERN_OK)
        return 1;
    tern_mailbox_patience patience = {&worker, 30 * SECOND, 0, 1, 0};
    tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
    uint32_t slot, piece = tern_mailbox_piece(worker.client.box.bytes);
    if (tern_mailbox_take_wait(&worker.client, &wait, &slot) != 0)
        return 2;
    uint8_t *packet = tern_mailbox_packet(&worker.client.box, slot);
    for (int i = 0; i < 3000; i++) {
        uint64_t some[] = {0,    1,          piece,      piece + 1,
                           5000, UINT32_MAX, UINT64_MAX, tern_test_random(&random)};
        tern_mailbox_head head = {some[tern_test_random(&random) % 8],
                                  some[tern_test_random(&random) % 8],
                                  (uint32_t)some[tern_test_random(&random) % 8],
                                  (int32_t)(tern_test_random(&random) % 5) - 1};
        if (tern_mailbox_await(&worker.client.box, slot, TERN_MAILBOX_QUIET, &wait) != 0)
            return 3;
        memcpy(packet, &head, sizeof head);
        (void)tern_mailbox_post(&worker.client, slot);
        /* The client goes on writing while the server reads. */
        for (int j = 0; j < 20; j++)
            *(volatile uint64_t *)(packet + 8 * (j % 8)) = some[tern_test_random(&random) % 8];
        if (tern_mailbox_await(&worker.client.box, slot, TERN_MAILBOX_ANSWERED, &wait) != 0)
            return 4;
        (void)tern_mailbox_finish(&worker.client, slot);
    }
    tern_mailbox_leave(&worker);
    return 0;
}

static void hostile_clients(void) {
    if (!open_share(4, 128))
        return;
    uint64_t seed = tern_test_seed();
    caller honest = {8, 300, 30 * SECOND, 0, 0};
    pid_t server = start_child(serve, NULL);
    pid_t hostile = start_child(write_nonsense, &seed), client = start_child(make_calls, &honest);
    CU_ASSERT_EQUAL(end_of_child(client), 0);
    CU_ASSERT_EQUAL(end_of_child(hostile), 0);
    end_servers(&server, 1);
    expect_all_free();
    close_share();
}

static int die(void *argument) {
    tern_mailbox_worker workers[4];
    for (int i = 0; i < *(int *)argument; i++)
        if (tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &workers[i]) != TERN_OK)
            return 1;
    return 0;
}

/* The size as a program would compute it whose flags lie further apart. */
static size_t other_bytes(uint32_t slots, uint32_t packet) {
    return tern_mailbox_bytes(slots, packet) + 2 * TERN_MAILBOX_LINE;
}

static int run_plain_client(void *fd) {
    char number[20];
    snprintf(number, sizeof number, "%d", *(int *)fd);
    execl(TERN_PLAIN_CLIENT, TERN_PLAIN_CLIENT, number, (char *)NULL);
    return 20;
}

/* Another program, which does not use MPI, needs only the descriptor. */
static void another_program(void) {
    if (!open_share(2, 128))
        return;
    int fd = dup(tern_mailbox_fd(play.share)); /* without close-on-exec */
    pid_t server = start_child(serve, NULL);
    CU_ASSERT_EQUAL(end_of_child(start_child(run_plain_client, &fd)), 0);
    end_servers(&server, 1);
    close(fd);
    expect_all_free();
    close_share();
}

/* Joins that succeed, and joins and shares that are refused. */
static void joining(void) {
    tern_mailbox_options options = {.slots = 2, .packet_bytes = 100, .workers = 4};
    tern_mailbox_share *other = NULL;
    tern_mailbox_worker workers[5];
    EXPECT_OK(tern_mailbox_create(&options, &play.share));
    EXPECT_OK(tern_mailbox_attach(tern_mailbox_fd(play.share), &other));
    int fd = tern_mailbox_fd(play.share), pipes[2] = {-1, -1};
    EXPECT(TERN_ERR_MISMATCH,
           tern_internal_mailbox_share_attach(fd, 99, tern_mailbox_bytes, &other));
    EXPECT_DETAIL("TERN_MAILBOX_LAYOUT");
    EXPECT(TERN_ERR_MISMATCH,
           tern_internal_mailbox_share_attach(fd, TERN_MAILBOX_LAYOUT, other_bytes, &other));
    EXPECT_DETAIL("TERN_MAILBOX_STRIDE");
    CU_ASSERT_EQUAL(pipe(pipes), 0);
    EXPECT(TERN_ERR_ARGUMENT, tern_mailbox_attach(pipes[0], &other));
    close(pipes[0]);
    close(pipes[1]);
    EXPECT(TERN_ERR_SYSTEM, tern_mailbox_attach(-1, &other));
    EXPECT(TERN_ERR_ARGUMENT, tern_mailbox_create(NULL, NULL));
    for (int i = 0; i < 3; i++) {
        tern_mailbox_options wrong = {.slots = i == 0 ? TERN_MAILBOX_SLOTS_MAX + 1 : 1,
                                      .packet_bytes = i == 1 ? 63 : 64,
                                      .workers = i == 2 ? 1025 : 1};
        EXPECT(TERN_ERR_ARGUMENT, tern_mailbox_create(&wrong, &other));
    }
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(tern_mailbox_join(i % 2 ? other : play.share, TERN_MAILBOX_CLIENT, &workers[i]));
        for (int j = 0; j < i; j++)
            CU_ASSERT(workers[j].client.name != workers[i].client.name);
    }
    EXPECT(TERN_ERR_FULL, tern_mailbox_join(other, TERN_MAILBOX_CLIENT, &workers[4]));
    EXPECT_DETAIL("4 workers");
    uint32_t name = workers[2].client.name;
    for (int i = 0; i < 4; i++)
        tern_mailbox_leave(&workers[i]);
    EXPECT_OK(tern_mailbox_join(other, TERN_MAILBOX_CLIENT, &workers[0]));
    CU_ASSERT(workers[0].client.name != name && workers[0].client.name <= TERN_MAILBOX_NAME_MAX);
    tern_mailbox_leave(&workers[0]);
    /* Workers that join take the entries of dead workers. */
    int all = 4;
    CU_ASSERT_EQUAL(end_of_child(start_child(die, &all)), 0);
    CU_ASSERT_EQUAL(end_of_child(start_child(die, &all)), 0);
    tern_mailbox_destroy(other);
    tern_mailbox_destroy(play.share);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"joining", joining},
                                           {"calls", calls},
                                           {"another_program", another_program},
                                           {"killed_clients", killed_clients},
                                           {"killed_servers", killed_servers},
                                           {"no_server", no_server},
                                           {"short_waits", short_waits},
                                           {"no_descriptors", no_descriptors},
                                           {"half_a_request", half_a_request},
                                           {"no_reply", no_reply},
                                           {"hostile_clients", hostile_clients}};
    return tern_test_main(argc, argv, "mailbox processes", tests, sizeof tests / sizeof tests[0]);
}
