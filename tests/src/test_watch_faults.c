// tern-test: ranks survivors least=4

/* Ranks that no pidfd tells of (src/peers/watch.h). Across hosts (tests/hosts) they are on other
 * machines, too. */

#include "survivors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "distant.h"
#include "nothing.h"
#include "src/peers/activity.h"
#include "src/peers/listener.h"
#include "src/peers/watch.h"
#include "src/progress/wait.h"

static fixture f;
static int backlog_of_listeners = -1; /* -1: as the listener says */

int listen(int fd, int backlog) {
    return (int)syscall(SYS_listen, fd, backlog_of_listeners < 0 ? backlog : backlog_of_listeners);
}

static bool open_context(size_t patience, size_t timeout) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.peer_patience = patience;
    config.host_timeout = timeout;
    config.segment_size = (size_t)1 << 20;
    config.listener = config.listener && backlog_of_listeners < 0;
    if (!fixture_open(&f, &config))
        return false;
    forget_pidfds(&f);
    return CU_assertImplementation(f.context->peers.watches != NULL, __LINE__, "watches", __FILE__,
                                   "", CU_FALSE);
}

/* Waits for something that never comes from rank. TERN_OK: until over says so. */
static tern_status wait_until(uint32_t rank, double seconds, bool (*over)(void)) {
    tern_wait_state wait = TERN_WAIT_IN("a test");
    const double end = MPI_Wtime() + seconds;
    tern_status status = TERN_OK;
    while (status == TERN_OK && !over() && MPI_Wtime() < end)
        status = tern_wait_round(f.context, &wait, tern_progress_round(f.worker), rank);
    return status;
}

static bool never(void) { return false; }

/* The same for so many seconds. */
static tern_status wait_in_vain(uint32_t rank, double seconds) {
    return wait_until(rank, seconds, never);
}

static bool somebody_is_watched(void) { return tern_watches_count(f.context) > 0; }
static bool nobody_is_watched(void) { return !somebody_is_watched(); }

/* Nobody is connected to while no wait is long; then the rank that is waited for alone, and nobody
 * when that is over. */
static void only_long_waits(void) {
    enum { TIMES = 20, PATIENCE = 1 };
    if (!open_context(PATIENCE, 30))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    const uint64_t before = tern_watches_begun(f.context);
    const double began_at = MPI_Wtime();
    for (int i = 0; i < TIMES; i++) {
        EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){next, 0}, &nothing_function, NULL, 0,
                                   NULL, 0, NULL));
        EXPECT_OK(tern_barrier(f.worker));
    }
    /* On a machine that is so slow a wait may have been long. */
    if (MPI_Wtime() - began_at < PATIENCE)
        CU_ASSERT_EQUAL(tern_watches_begun(f.context), before);
    EXPECT_OK(wait_until(next, TERN_TEST_PATIENCE, somebody_is_watched));
    CU_ASSERT(somebody_is_watched() && tern_watches_begun(f.context) > before);
    EXPECT_OK(wait_until(f.rank, TERN_TEST_PATIENCE, nobody_is_watched));
    CU_ASSERT(nobody_is_watched());
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* One that is stopped is there: its kernel says so. */
static void a_stopped_rank(void) {
    enum { PATIENCE = 1 };
    if (!open_context(PATIENCE, 30))
        return;
    pid_t pid = getpid(), all[64];
    fixture_share(&f, &pid, sizeof pid, all);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1)
        raise(SIGSTOP);
    if (f.rank == 0) {
        EXPECT_OK(wait_until(1, TERN_TEST_PATIENCE, somebody_is_watched));
        CU_ASSERT(somebody_is_watched());
        EXPECT_OK(wait_in_vain(1, tern_test_full() ? 10 : 1));
        CU_ASSERT_EQUAL(kill(all[1], SIGCONT), 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    fixture_close(&f);
}

/* A rank that is waited for says what it is in, for the warning of the rank that waits. */
static void says_what_it_is_in(void) {
    enum { PATIENCE = 1, WATCHDOG = 30 };
    if (!open_context(PATIENCE, 30))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    tern_wait_state wait = TERN_WAIT_IN("a test");
    tern_reported reported = {{0}, 0};
    tern_status status = TERN_OK;
    EXPECT_OK(tern_barrier(f.worker));
    for (const double end = MPI_Wtime() + WATCHDOG; status == TERN_OK && MPI_Wtime() < end;) {
        status = tern_wait_round(f.context, &wait, tern_progress_round(f.worker), next);
        if (tern_watches_reported(f.context, next, tern_now(), &reported) &&
            strcmp(reported.name, "a test") == 0)
            break;
    }
    EXPECT_OK(status);
    CU_ASSERT_STRING_EQUAL(reported.name, "a test");
    /* The others still need this rank in the same function. */
    MPI_Request all;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    while (status == TERN_OK && !done) {
        status = tern_wait_round(f.context, &wait, tern_progress_round(f.worker), next);
        MPI_Test(&all, &done, MPI_STATUS_IGNORE);
    }
    EXPECT_OK(status);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static int dial(uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)!connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to);
    return fd;
}

static int dial_rank(uint32_t rank) {
    tern_listener_address address;
    const uint32_t addresses = tern_address_read(f.context, rank, &address);
    return tern_address_connect(&address, tern_address_choice(addresses, address.proven, 0),
                                address.port);
}

/* Whether the kernel of the other side has taken a connection by now. */
static bool is_taken(int fd, int patience_ms) {
    struct pollfd look = {.fd = fd, .events = POLLOUT};
    return poll(&look, 1, patience_ms) == 1;
}

/* A kernel whose queue is full does not answer those that connect, and refuses others. */
static void a_full_queue(void) {
    enum { PATIENCE = 1, TIMEOUT = 2, CALLERS = 4 };
    if (!tern_test_full() && tern_test_size() != 4) {
        tern_test_skip("on 4 ranks, and in full runs");
        return;
    }
    backlog_of_listeners = 0;
    const bool opened = open_context(PATIENCE, TIMEOUT);
    backlog_of_listeners = -1;
    if (!opened)
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    int fd[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        fd[i] = dial_rank(next);
        (void)is_taken(fd[i], 100);
    }
    CU_ASSERT(!is_taken(fd[CALLERS - 1], 0));
    EXPECT_OK(wait_in_vain(next, PATIENCE + TIMEOUT + 1.5));
    CU_ASSERT(!is_taken(fd[CALLERS - 1], 0));
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    for (int i = 0; i < CALLERS; i++)
        close(fd[i]);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* A process that has no file left to ask with knows nothing. */
static void no_files(void) {
    enum { PATIENCE = 1, TIMEOUT = 2 };
    if (!tern_test_full() && tern_test_size() != 4) {
        tern_test_skip("on 4 ranks, and in full runs");
        return;
    }
    if (!open_context(PATIENCE, TIMEOUT))
        return;
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    const int lowest = dup(STDERR_FILENO);
    close(lowest);
    none = before;
    none.rlim_cur = (rlim_t)lowest;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_OK(wait_in_vain((f.rank + 1) % f.size, PATIENCE + TIMEOUT + 1));
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* A socket that listens on loopback, and its port. */
static int open_port(int backlog, uint16_t *port) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_EQUAL(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
    CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)(void *)&at, &bytes), 0);
    CU_ASSERT_EQUAL(listen(fd, backlog), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* The addresses are shared by the ranks of a node: each rank takes a copy for itself. */
static tern_listener_address *copy_addresses(void) {
    tern_listener_address *copy = malloc(f.size * sizeof *copy);
    memcpy(copy, f.context->peers.listeners, f.size * sizeof *copy);
    f.context->peers.listeners = copy;
    return copy;
}

/* The next rank counts as dead for each rank, though it is not, so the context is over. */
static void close_context(void) {
    tern_listener_address *copy = (tern_listener_address *)(uintptr_t)f.context->peers.listeners;
    CU_ASSERT_EQUAL(tern_context_dead(f.context), (f.rank + 1) % f.size);
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD); /* all are alive */
    tern_mpi_unlock();
    fixture_close(&f);
    free(copy);
}

static struct {
    int socket, caller[8];
    uint32_t callers;
    bool right; /* the nonce is */
} other;

/* What answers on a port that was used before. */
static size_t answer_as_other(tern_worker *worker, void *argument) {
    (void)worker, (void)argument;
    const tern_wire_answer answer = {.magic = TERN_ANSWER_MAGIC,
                                     .nonce = f.context->nonce + !other.right,
                                     .rank = (f.rank + 1) % f.size};
    const int fd = accept(other.socket, NULL, NULL);
    if (fd >= 0 && other.callers < 8) {
        CU_ASSERT_EQUAL(send(fd, &answer, sizeof answer, MSG_NOSIGNAL), (ssize_t)sizeof answer);
        other.caller[other.callers++] = fd;
    }
    return 0;
}

static bool has_called(void) { return other.callers > 0; }

/* An answer with another nonce; with the right one nothing happens. */
static void another_process(void) {
    enum { PATIENCE = 1 };
    if (!open_context(PATIENCE, 30))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    tern_listener_address *address = copy_addresses();
    f.context->peers.machine[next] = f.context->peers.machine[f.rank];
    other.socket = open_port(8, &address[next].port);
    other.callers = 0;
    other.right = true;
    EXPECT_OK(tern_progress_hook_add(f.context, answer_as_other, NULL));
    EXPECT_OK(wait_until(next, TERN_TEST_PATIENCE, has_called));
    EXPECT_OK(wait_in_vain(next, 0.3));
    CU_ASSERT_EQUAL(other.callers, 1);
    other.right = false;
    for (uint32_t i = 0; i < other.callers; i++)
        close(other.caller[i]);
    other.callers = 0;
    start_clock();
    while (tern_context_dead(f.context) == TERN_NO_RANK && still_patient())
        (void)tern_progress(f.worker);
    (void)TOLD(next, wait_in_vain(next, TERN_TEST_PATIENCE));
    for (uint32_t i = 0; i < other.callers; i++)
        close(other.caller[i]);
    close(other.socket);
    close_context();
}

/* A host that says nothing at all: two ports whose queues are full. */
static void a_silent_host(void) {
    enum { PATIENCE = 1, TIMEOUT = 2, CALLERS = 4 };
    if (!tern_test_full() && tern_test_size() != 4) {
        tern_test_skip("on 4 ranks, and in full runs");
        return;
    }
    if (!open_context(PATIENCE, TIMEOUT))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    tern_listener_address *address = copy_addresses();
    f.context->peers.machine[next] = f.context->peers.machine[f.rank];
    const int sockets[2] = {open_port(0, &address[next].port),
                            open_port(0, &address[next].quiet_port)};
    int fd[2 * CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        fd[i] = dial(address[next].port);
        fd[CALLERS + i] = dial(address[next].quiet_port);
        (void)is_taken(fd[i], 100);
        (void)is_taken(fd[CALLERS + i], 100);
    }
    start_clock();
    (void)TOLD(next, wait_in_vain(next, TERN_TEST_PATIENCE));
    CU_ASSERT(MPI_Wtime() - began > TIMEOUT);
    for (int i = 0; i < 2 * CALLERS; i++)
        close(fd[i]);
    close(sockets[0]);
    close(sockets[1]);
    close_context();
}

/* The port of a rank is there as long as its process is: others may still be in the last barrier.
 */
static void a_destroyed_context(void) {
    if (!open_context(1, 30))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    const bool same_machine = f.context->peers.machine[next] == f.context->peers.machine[f.rank];
    const uint16_t port = f.context->peers.listeners[next].port;
    fixture_close(&f);
    MPI_Barrier(MPI_COMM_WORLD);
    const int fd = dial(same_machine ? port : 0);
    char nothing_comes;
    if (same_machine)
        CU_ASSERT(is_taken(fd, 1000 * TERN_TEST_PATIENCE) &&
                  recv(fd, &nothing_comes, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A program that loops around a test is told as well. */
static tern_status test_in_vain(uint32_t rank) {
    static tern_request call;
    tern_status status = tern_call_start(f.worker, (tern_worker_id){rank, 0}, &nothing_function,
                                         NULL, 0, NULL, 0, &call);
    int done = 0;
    while (status == TERN_OK && !done && still_patient())
        status = tern_test(f.worker, &call, &done);
    return done ? tern_wait(f.worker, &call) : status;
}

/* The last rank is killed while rank 0 waits for it by name, and the others for anybody. */
static void a_killed_rank(void) {
    enum { PATIENCE = 1 };
    if (!open_context(PATIENCE, 30))
        return;
    const uint32_t victim = f.size - 1;
    tern_queue *empty = NULL;
    const tern_queue_options options = {.item_bytes = 8, .capacity = 4};
    uint64_t item;
    tern_transport transport = TERN_SHM;
    tern_ptr all[64];
    fixture_alloc_all(&f, sizeof item, TERN_DOMAIN_OWNER, all);
    EXPECT_OK(tern_context_transport(f.context, victim, &transport));
    EXPECT_OK(tern_queue_create(f.worker, &options, &empty));
    EXPECT_OK(tern_barrier(f.worker));
    tern_test_arrive();
    if (f.rank == victim) {
        while (!tern_test_all_arrived())
            (void)tern_progress(f.worker);
        if (f.size % 2 == 0) /* it is watched by then */
            sleep(2);
        die_later();
    }
    while (!tern_test_all_arrived())
        (void)tern_progress(f.worker);
    start_clock();
    if (f.rank == 0 && transport == TERN_P2P) /* which needs the victim's progress */
        (void)TOLD(victim, tern_get(f.worker, &item, all[victim], sizeof item));
    else if (f.rank == 0)
        (void)TOLD(victim, tern_call_return(f.worker, (tern_worker_id){victim, 0},
                                            &nothing_function, NULL, 0, NULL, 0, NULL));
    else if (f.rank == 1 && f.size % 2 == 0)
        (void)TOLD(victim, tern_barrier(f.worker));
    else if (f.rank == 1)
        (void)TOLD(victim, test_in_vain(victim));
    else
        (void)TOLD(victim, tern_queue_pop(f.worker, empty, &item, TERN_BY_RMA));
    fprintf(stderr, "rank %u was told of the death of rank %u after %.1f s\n", f.rank, victim,
            MPI_Wtime() - began);
    CU_ASSERT(tern_watches_begun(f.context) > 0);
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, empty));
    fixture_close(&f);
}

/* tests/hosts names the interface that links the two hosts. The ranks of the first half are on one,
 * the others on the other. */
static void set_link(const char *how) {
    char command[128];
    snprintf(command, sizeof command, "ip link set %s %s", getenv("HOSTS_LINK"), how);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* Rank 0 cuts the link. Half of the ranks have waited before for one of the other host. */
static void a_cut_link(void) {
    enum { PATIENCE = 1, TIMEOUT = 5 };
    if (getenv("HOSTS_LINK") == NULL || tern_test_size() % 2 != 0 ||
        tern_test_dead(tern_test_size() - 1)) {
        tern_test_skip("for two hosts whose link can be cut, alone");
        return;
    }
    if (!open_context(PATIENCE, TIMEOUT))
        return;
    const uint32_t other_side = (f.rank + f.size / 2) % f.size;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank % 2 == 0)
        EXPECT_OK(wait_in_vain(other_side, PATIENCE + 1));
    fixture_meet_living(&f);
    if (f.rank == 0)
        set_link("down");
    start_clock();
    EXPECT(TERN_ERR_PEER, wait_in_vain(other_side, 3 * TIMEOUT));
    const double told = MPI_Wtime() - began;
    fprintf(stderr, "rank %u was told of the cut after %.1f s\n", f.rank, told);
    CU_ASSERT(told > TIMEOUT - 2);
    fixture_meet_living(&f);
    if (f.rank == 0)
        set_link("up");
    fixture_close(&f);
    if (f.rank == f.size - 1)
        tern_test_kill((int)f.rank); /* MPI_Finalize would wait for the others */
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"only_long_waits", only_long_waits}, {"says_what_it_is_in", says_what_it_is_in},
        {"a_stopped_rank", a_stopped_rank},   {"a_destroyed_context", a_destroyed_context},
        {"a_full_queue", a_full_queue},       {"no_files", no_files},
        {"another_process", another_process}, {"a_silent_host", a_silent_host},
        {"a_killed_rank", a_killed_rank},     {"a_cut_link", a_cut_link},
    };
    return tern_test_main(argc, argv, "watch_faults", tests, sizeof tests / sizeof *tests);
}
