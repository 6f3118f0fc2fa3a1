// tern-test: ranks least=3

/* MPI fails towards a rank (src/peers/lost.h). The test stands for MPI, which refuses to send to
 * one rank as it does when it has lost the connection, and no rank has a pidfd of another one. */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "distant.h"
#include "rma/memory/state.h"
#include "rma/transfer.h"
#include "src/peers/peers.h"
#include "src/progress/wait.h"

static fixture f;
static tern_ptr words[64];
static _Atomic int refused = -1; /* rank to which MPI does not send */

typedef int send_function(const void *from, int count, MPI_Datatype type, int to, int tag,
                          MPI_Comm comm, MPI_Request *request);

int PMPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request) {
    static send_function *send;
    if (send == NULL)
        send = (send_function *)(uintptr_t)dlsym(RTLD_NEXT, "PMPI_Isend");
    return to == refused ? MPI_ERR_OTHER : send(from, count, type, to, tag, comm, request);
}

/* How often MPI was asked to free a communicator or to cancel a receive. */
static unsigned freed;

int PMPI_Comm_free(MPI_Comm *comm) {
    static int (*free_comm)(MPI_Comm *);
    if (free_comm == NULL)
        free_comm = (int (*)(MPI_Comm *))(uintptr_t)dlsym(RTLD_NEXT, "PMPI_Comm_free");
    freed++;
    return free_comm(comm);
}

int PMPI_Cancel(MPI_Request *request) {
    static int (*cancel)(MPI_Request *);
    if (cancel == NULL)
        cancel = (int (*)(MPI_Request *))(uintptr_t)dlsym(RTLD_NEXT, "PMPI_Cancel");
    freed++;
    return cancel(request);
}

static bool open_context(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_P2P;
    config.ranks_per_node = 1;
    config.peer_patience = 1;
    config.segment_size = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return false;
    forget_pidfds(&f);
    fixture_alloc_all(&f, sizeof(uint64_t), TERN_DOMAIN_OWNER, words);
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

/* A barrier that asks tern for nothing but progress. */
static void meet(void) {
    MPI_Request all;
    int done = 0;
    tern_mpi_lock();
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    tern_mpi_unlock();
    while (!done) {
        (void)tern_progress(f.worker);
        tern_mpi_lock();
        MPI_Test(&all, &done, MPI_STATUS_IGNORE);
        tern_mpi_unlock();
        sched_yield();
    }
}

/* Expects that the context, whose MPI has lost a connection, begins no collective, and closes
 * without MPI. */
static void close_without_mpi(void) {
    EXPECT(TERN_ERR_MPI, tern_barrier(f.worker));
    meet();
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    meet();
    const unsigned before = freed;
    fixture_close(&f);
    CU_ASSERT_EQUAL(freed, before);
}

/* MPI of rank 1 has lost the connection to rank 0, and MPI of rank 0 sees nothing. Both are told.
 * MPI of the other ranks loses the connection to rank 0 behind that. */
static void a_live_rank(void) {
    uint64_t word = 7;
    if (!open_context())
        return;
    refused = f.rank == 1 ? 0 : -1;
    meet();
    if (f.rank == 0) {
        EXPECT(TERN_ERR_MPI, tern_get(f.worker, &word, words[1], sizeof word));
        EXPECT_DETAIL("rank 1");
    } else if (f.rank == 1) {
        while (!tern_is_lost(&f.context->peers, 0))
            (void)tern_progress(f.worker); /* serves rank 0, but the answer does not leave */
        EXPECT(TERN_ERR_MPI, tern_put(f.worker, words[0], &word, sizeof word));
        EXPECT_DETAIL("rank 0");
    } else {
        EXPECT_OK(tern_put(f.worker, words[1], &word, sizeof word));
    }
    meet();
    if (f.rank > 1) {
        refused = 0;
        EXPECT(TERN_ERR_MPI, tern_put(f.worker, words[0], &word, sizeof word));
        EXPECT_DETAIL("is alive");
        EXPECT(TERN_ERR_MPI, tern_put(f.worker, words[0], &word, sizeof word));
        EXPECT_DETAIL("has lost");
    }
    refused = -1;
    close_without_mpi();
}

/* Puts to a rank that MPI does not reach keep no wait for other ranks from its end. */
static void puts_to_others(void) {
    uint64_t word = 7;
    if (!open_context())
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(tern_put(f.worker, words[next], &word, sizeof word));
    tern_dirty_mark(tern_rma_worker_of(f.worker), next, TERN_DIRTY_PUTS);
    meet();
    refused = (int)next;
    EXPECT_OK(tern_puts_deliver(f.worker));
    CU_ASSERT(tern_is_lost(&f.context->peers, next));
    EXPECT_OK(tern_puts_deliver(f.worker));
    meet();
    refused = -1;
    close_without_mpi();
}

/* A port at which the host refuses connections, as at that of a process that has died. */
static uint16_t closed_port(int *fd) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL(bind(*fd, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
    CU_ASSERT_EQUAL(getsockname(*fd, (struct sockaddr *)(void *)&at, &bytes), 0);
    return ntohs(at.sin_port);
}

/* MPI notices the death of a rank before any wait has lasted: the first error is the death. Here
 * the next rank counts as dead for each rank, though it is not. noted: MPI has told of its failure
 * at a moment when tern does not ask. waits: a wait finds the death. */
static void dead_rank(bool noted, bool waits) {
    uint64_t word = 7;
    int fd;
    if (!open_context())
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    /* The addresses are shared by the ranks of a node: each rank takes a copy for itself. */
    tern_listener_address *copy = malloc(f.size * sizeof *copy);
    memcpy(copy, f.context->peers.listeners, f.size * sizeof *copy);
    copy[next].port = closed_port(&fd);
    f.context->peers.listeners = copy;
    f.context->peers.machine[next] = f.context->peers.machine[f.rank];
    meet();
    refused = (int)next;
    if (noted)
        tern_lost_note(f.context, next);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (waits && status == TERN_OK)
        status = tern_wait_round(f.context, &wait, tern_progress(f.worker), next);
    EXPECT(waits ? TERN_ERR_PEER : TERN_OK, status);
    EXPECT(TERN_ERR_PEER, tern_put(f.worker, words[next], &word, sizeof word));
    CU_ASSERT_EQUAL(tern_context_dead(f.context), next);
    EXPECT(TERN_ERR_PEER, tern_get(f.worker, &word, words[next], sizeof word));
    refused = -1;
    meet();
    fixture_close(&f);
    free(copy);
    close(fd);
}

static void a_dead_rank(void) { dead_rank(false, false); }
static void a_noted_rank(void) { dead_rank(true, false); }
static void a_wait_in_doubt(void) { dead_rank(true, true); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_live_rank", a_live_rank},
                                           {"puts_to_others", puts_to_others},
                                           {"a_noted_rank", a_noted_rank},
                                           {"a_wait_in_doubt", a_wait_in_doubt},
                                           {"a_dead_rank", a_dead_rank}};
    return tern_test_main(argc, argv, "lost_faults", tests, sizeof tests / sizeof *tests);
}
