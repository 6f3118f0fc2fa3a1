// tern-test: ranks least=2

/* First contact over libfabric: the listener of a rank answers, whatever the rank does. Rank 1 is
 * the target. It sits in MPI with the lock, or spins, and makes no progress. */

#include "native.h"
#include "rma/port/port.h"
#include "rma/port/question.h"
#include "rma/memory/state.h"
#include "src/progress/wait.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAG = 71, SECONDS = 20 };

static fixture f;
static tern_ptr memory[64];

static bool open_listening(int listener) {
    tern_config config;
    native_config(&config, 4096);
    config.ring_size = 4096;
    config.listener = listener;
    config.segment_size = (size_t)1 << 20;
    return native_open(&f, &config, 4096, memory);
}

static void close_listening(void) { native_close(&f, memory); }

/* False: this network needs progress of its targets, so that nothing is to be seen. */
static bool is_one_sided(void) {
    if (tern_rma_of(f.context)->native->network->one_sided)
        return true;
    tern_test_skip("the network needs progress of its targets");
    return false;
}

/* Signals by MPI alone. The lock is held, as a program holds it that waits in MPI. */
static void tell(uint32_t rank) {
    tern_mpi_lock();
    MPI_Send(NULL, 0, MPI_BYTE, (int)rank, TAG, MPI_COMM_WORLD);
    tern_mpi_unlock();
}

static void await(uint32_t rank) {
    tern_mpi_lock();
    MPI_Recv(NULL, 0, MPI_BYTE, (int)rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tern_mpi_unlock();
}

/* Outside of every call, until the word of this rank has the value. */
static bool spin_for(uint64_t value) {
    const _Atomic uint64_t *word = tern_local(f.context, memory[f.rank]);
    const double end = MPI_Wtime() + SECONDS;
    while (atomic_load(word) != value && MPI_Wtime() < end)
        ;
    return atomic_load(word) == value;
}

static uint64_t messages_sent(void) {
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    return stats.messages_sent;
}

static void first_put(void) {
    if (!open_listening(1))
        return;
    if (is_one_sided() && f.rank == 1) {
        tell(0);
        CU_ASSERT(spin_for(41));
    } else if (is_one_sided() && f.rank == 0) {
        const uint64_t value = 41;
        await(1);
        CU_ASSERT_PTR_NULL(tern_rma_worker_of(f.worker)->remotes[1]);
        const uint64_t sent = messages_sent();
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_flush(f.worker, 1));
        CU_ASSERT_EQUAL(messages_sent(), sent);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_listening();
}

/* Without the listener the same question waits for the target's progress. */
static void without_listener(void) {
    enum { LOOKS = 2000 };
    if (!open_listening(0))
        return;
    CU_ASSERT_PTR_NULL(f.context->peers.listeners);
    const uint64_t value = 42;
    if (f.rank == 1) {
        await(0);
    } else if (f.rank == 0) {
        int under_way = 0;
        for (int i = 0; i < LOOKS; i++) {
            under_way += tern_port_meet(f.worker, 1, 0) == TERN_ERR_AGAIN;
            tern_port_poll(f.worker);
        }
        CU_ASSERT_EQUAL(under_way, LOOKS);
        tell(1);
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_flush(f.worker, 1));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1)
        CU_ASSERT_EQUAL(*(uint64_t *)tern_local(f.context, memory[1]), value);
    close_listening();
}

static uint64_t calls;

static tern_status count_call(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    calls++;
    return TERN_OK;
}
TERN_FUNCTION(count_call)

/* Calls fill a ring and the larger one that follows it while their target is not there; then the
 * target runs them, while the origin is not there. */
static void first_calls(void) {
    enum { CALLS = 200, BYTES = 64 };
    calls = 0;
    if (!open_listening(1))
        return;
    if (is_one_sided() && f.rank == 1) {
        const double end = MPI_Wtime() + SECONDS;
        await(0);
        CU_ASSERT_EQUAL(calls, 0);
        while (calls < CALLS && MPI_Wtime() < end)
            tern_progress(f.worker);
        CU_ASSERT_EQUAL(calls, CALLS);
        tell(0);
    } else if (is_one_sided() && f.rank == 0) {
        const char arguments[BYTES] = {0};
        const uint64_t sent = messages_sent();
        tern_stats stats;
        for (int i = 0; i < CALLS; i++) {
            tern_status status = TERN_ERR_AGAIN;
            const double end = MPI_Wtime() + SECONDS;
            while (status == TERN_ERR_AGAIN && MPI_Wtime() < end) {
                status = tern_call(f.worker, (tern_worker_id){1, 0}, &count_call_function,
                                   arguments, sizeof arguments);
                if (status == TERN_ERR_AGAIN)
                    tern_progress(f.worker);
            }
            CU_ASSERT_EQUAL(status, TERN_OK);
        }
        EXPECT_OK(tern_flush(f.worker, 1));
        tern_stats_get(f.worker, &stats);
        CU_ASSERT_EQUAL(stats.messages_sent, sent);
        CU_ASSERT(stats.rings_grown > 0);
        tell(1);
        await(1);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    close_listening();
}

/* A connection to the listener of rank 1. */
static int dial(void) {
    const tern_listener_address *address = &f.context->peers.listeners[1];
    const struct timeval patience = {SECONDS, 0};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to), 0);
    return fd;
}

static tern_wire_question question_for_a_ring(void) {
    return (tern_wire_question){.head = {.magic = TERN_QUESTION_MAGIC,
                                         .nonce = f.context->nonce,
                                         .from = 0,
                                         .to = 1,
                                         .bytes = sizeof(tern_message)},
                                .message = {.kind = TERN_MESSAGE_OPEN,
                                            .origin = f.worker->id,
                                            .target = 1,
                                            .operand = {TERN_CHANNEL_CALLS, 1}}};
}

/* Sends bytes; true if the listener ends the connection without an answer. */
static bool is_refused(const void *bytes, size_t count) {
    char answer;
    const int fd = dial();
    CU_ASSERT_EQUAL(send(fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
    const ssize_t got = recv(fd, &answer, sizeof answer, 0);
    const bool refused = got == 0 || (got < 0 && errno == ECONNRESET);
    close(fd);
    return refused;
}

static bool ask_for_a_ring(int64_t ring[2]) {
    struct {
        tern_wire_answer head;
        int64_t ring[2];
    } answer;
    const tern_wire_question question = question_for_a_ring();
    const int fd = dial();
    CU_ASSERT_EQUAL(send(fd, &question, sizeof question, MSG_NOSIGNAL), (ssize_t)sizeof question);
    const ssize_t got = recv(fd, &answer, sizeof answer, MSG_WAITALL);
    close(fd);
    if (got != sizeof answer)
        return false;
    memcpy(ring, answer.ring, sizeof answer.ring);
    return answer.head.magic == TERN_ANSWER_MAGIC && answer.head.nonce == f.context->nonce &&
           answer.head.rank == 1 && answer.head.bytes == sizeof answer.ring;
}

static void refusals(void) {
    static char junk[4096];
    memset(junk, 'x', sizeof junk);
    CU_ASSERT(is_refused(junk, sizeof(tern_wire_question)));
    CU_ASSERT(is_refused(junk, sizeof junk));
    tern_wire_question question = question_for_a_ring();
    question.head.nonce++;
    CU_ASSERT(is_refused(&question, sizeof question));
    question = question_for_a_ring();
    question.head.to = 0;
    CU_ASSERT(is_refused(&question, sizeof question));
    question = question_for_a_ring();
    question.head.from = f.size;
    CU_ASSERT(is_refused(&question, sizeof question));
    question = question_for_a_ring();
    question.head.bytes = TERN_LISTENER_MAX + 1;
    CU_ASSERT(is_refused(&question, sizeof question));
    question = question_for_a_ring();
    question.message.kind = TERN_MESSAGE_PUT;
    CU_ASSERT(is_refused(&question, sizeof question));
    question = question_for_a_ring();
    question.message.origin = f.worker->id + 1;
    CU_ASSERT(is_refused(&question, sizeof question));
    question = question_for_a_ring();
    question.message.operand[1] = 3;
    CU_ASSERT(is_refused(&question, sizeof question));
}

/* Junk, half questions and connections without any do no harm to others, and a ring that is asked
 * for twice is given once. */
static void strangers(void) {
    enum { IDLE = 150 };
    static int idle[IDLE];
    if (!open_listening(1))
        return;
    if (is_one_sided() && f.rank == 1) {
        tell(0);
        CU_ASSERT(spin_for(43));
    } else if (is_one_sided() && f.rank == 0) {
        const tern_wire_question half = question_for_a_ring();
        const uint64_t value = 43;
        int64_t first[2] = {-1, -1}, second[2] = {-2, -2};
        await(1);
        refusals();
        for (int i = 0; i < IDLE; i++) {
            idle[i] = dial();
            if (i % 2 == 0)
                CU_ASSERT_EQUAL(send(idle[i], &half, sizeof half / 2, MSG_NOSIGNAL),
                                (ssize_t)sizeof half / 2);
        }
        CU_ASSERT(ask_for_a_ring(first));
        CU_ASSERT(ask_for_a_ring(second));
        CU_ASSERT_EQUAL(first[0], TERN_OK);
        CU_ASSERT_EQUAL(first[1], second[1]);
        const uint64_t sent = messages_sent();
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_flush(f.worker, 1));
        CU_ASSERT_EQUAL(messages_sent(), sent);
        for (int i = 0; i < IDLE; i++)
            close(idle[i]);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_listening();
}

/* A listener that accepts and says nothing, and one that is not there: the question goes by a
 * message. */
static void no_answer(bool silent) {
    int deaf = -1;
    if (!open_listening(1))
        return;
    tern_listener_address *address =
        (tern_listener_address *)(uintptr_t)&f.context->peers.listeners[1];
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        const uint64_t value = 44, sent = messages_sent();
        uint64_t back = 0;
        deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CU_ASSERT_EQUAL(bind(deaf, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
        CU_ASSERT_EQUAL(getsockname(deaf, (struct sockaddr *)(void *)&at, &bytes), 0);
        if (silent)
            CU_ASSERT_EQUAL(listen(deaf, 8), 0);
        address->port = ntohs(at.sin_port);
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_get(f.worker, &back, memory[1], sizeof back));
        CU_ASSERT_EQUAL(back, value);
        CU_ASSERT(messages_sent() > sent);
        if (silent && is_one_sided()) { /* a pause begins with each silence */
            tern_rma *rma = tern_rma_of(f.context);
            CU_ASSERT(atomic_load(&rma->listeners_silent) > 0);
            CU_ASSERT(atomic_load(&rma->listeners_resume) > tern_now());
        }
        close(deaf);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_listening();
}

/* After four silences a rank asks by messages for a while, and then the listener again. */
static void asked_again(void) {
    if (!open_listening(1))
        return;
    if (is_one_sided() && f.rank == 1) {
        tell(0);
        CU_ASSERT(spin_for(45));
    } else if (is_one_sided() && f.rank == 0) {
        tern_rma *rma = tern_rma_of(f.context);
        const uint64_t value = 45;
        await(1);
        atomic_store(&rma->listeners_silent, 4);
        atomic_store(&rma->listeners_resume, tern_now() - 1);
        const uint64_t sent = messages_sent();
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_flush(f.worker, 1));
        CU_ASSERT_EQUAL(messages_sent(), sent);
        CU_ASSERT_EQUAL(atomic_load(&rma->listeners_silent), 0);
        CU_ASSERT(atomic_load(&rma->listeners_resume) > tern_now()); /* for other questions */
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_listening();
}

/* Until then it asks by messages. */
static void not_asked_yet(void) {
    if (!open_listening(1))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    if (is_one_sided() && f.rank == 0) {
        tern_rma *rma = tern_rma_of(f.context);
        const uint64_t value = 46, sent = messages_sent();
        atomic_store(&rma->listeners_silent, 4);
        atomic_store(&rma->listeners_resume, UINT64_MAX);
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_flush(f.worker, 1));
        CU_ASSERT(messages_sent() > sent);
        CU_ASSERT_EQUAL(atomic_load(&rma->listeners_silent), 4);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_listening();
}

static void refused(void) { no_answer(false); }
static void silent(void) { no_answer(true); }

static bool has_ipv6(void) {
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)(const void *)&loopback, sizeof loopback) == 0;
    if (fd >= 0)
        close(fd);
    return is_bound;
}

/* A rank of another machine: its first address leads nowhere, its second one to its listener. */
static void second_address(void) {
    static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
    if (!open_listening(1))
        return;
    if (is_one_sided() && f.rank == 1) {
        tell(0);
        CU_ASSERT(spin_for(45));
    } else if (is_one_sided() && f.rank == 0) {
        const uint64_t value = 45;
        tern_rma *rma = tern_rma_of(f.context);
        tern_listener_address *address =
            (tern_listener_address *)(uintptr_t)&f.context->peers.listeners[1];
        f.context->peers.machine[1] = 1;
        address->v4[0] = htonl(0xc0000201); /* of TEST-NET-1: 192.0.2.1 */
        address->v4[1] = htonl(INADDR_LOOPBACK);
        memcpy(address->v6[0], &loopback, sizeof loopback);
        address->count4 = has_ipv6() ? 1 : 2;
        address->count6 = has_ipv6();
        await(1);
        const uint64_t sent = messages_sent();
        EXPECT_OK(tern_put(f.worker, memory[1], &value, sizeof value));
        EXPECT_OK(tern_flush(f.worker, 1));
        CU_ASSERT_EQUAL(messages_sent(), sent);
        CU_ASSERT_EQUAL(atomic_load(&rma->listener_address_index), 2);
        f.context->peers.machine[1] = 0;
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_listening();
}

static size_t open_files(void) {
    DIR *files = opendir("/proc/self/fd");
    size_t count = 0;
    while (readdir(files) != NULL)
        count++;
    closedir(files);
    return count;
}

/* The first round opens what libfabric and MPI keep. */
static void files_are_closed(void) {
    size_t before[2] = {0}, after[2] = {0};
    for (int i = 0; i < 2; i++) {
        before[i] = open_files();
        first_calls();
        strangers();
        after[i] = open_files();
    }
    CU_ASSERT_EQUAL(before[1], after[1]);
}

/* Many questions at once make no wave of connections: the others go by messages. */
static void many_at_once(void) {
    enum { MANY = 300 };
    if (!open_listening(1))
        return;
    static tern_question questions[MANY];
    static int64_t answers[MANY][2];
    const uint32_t next = (f.rank + 1) % f.size;
    const tern_message message = {.kind = TERN_MESSAGE_OPEN,
                                  .origin = f.worker->id,
                                  .target = next,
                                  .operand = {TERN_CHANNEL_CALLS, 1}};
    const tern_rma *rma = tern_rma_of(f.context);
    uint32_t asked = 0, answered = 0, most = 0;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (answered < MANY && status == TERN_OK) {
        while (asked < MANY && status == TERN_OK) {
            status = tern_question_start(f.worker, next, &message, NULL, 0, answers[asked],
                                         sizeof answers[0], &questions[asked]);
            asked += status == TERN_OK;
            most = rma->dials > most ? rma->dials : most;
        }
        answered = 0;
        for (uint32_t i = 0; i < asked; i++)
            answered += tern_question_test(f.worker, &questions[i]) == TERN_OK;
        tern_progress(f.worker);
        if (status == TERN_ERR_AGAIN || status == TERN_OK)
            status = tern_wait_step(f.context, &wait, next);
    }
    EXPECT_OK(status);
    CU_ASSERT(most > 0 && most <= TERN_DIALS_MAX);
    CU_ASSERT_EQUAL(rma->dials, 0);
    for (uint32_t i = 0; i < asked; i++)
        CU_ASSERT(answers[i][0] == TERN_OK && answers[i][1] == answers[0][1]);
    close_listening();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"first_put", first_put},
        {"without_listener", without_listener},
        {"asked_again", asked_again},
        {"not_asked_yet", not_asked_yet},
        {"first_calls", first_calls},
        {"strangers", strangers},
        {"refused", refused},
        {"silent", silent},
        {"second_address", second_address},
        {"many_at_once", many_at_once},
        {"files_are_closed", files_are_closed},
    };
    return tern_test_main(argc, argv, "ofi_listener", tests, sizeof tests / sizeof *tests);
}
