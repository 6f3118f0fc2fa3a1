// tern-test: ranks survivors least=2

/* A rank answers a call and dies, and its caller looks after its peers before it looks for the
 * answer: the call has failed by then, and the answer is still to come. It must not reach the
 * caller in place of one to a later call. */

#include <poll.h>
#include <signal.h>

#include "call_tools.h"
#include "survivors.h"

#include "rma/reply/reply.h"
#include "rma/memory/state.h"

enum { CALLS = 2 * TERN_CALL_REQUESTS, RESULT = 200 };

static volatile sig_atomic_t may_answer, has_answered;

static void allow_answer(int signal) {
    (void)signal;
    may_answer = 1;
}

/* The answer consists of the last byte of the arguments. */
static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    memset(call->result, ((const unsigned char *)arguments)[bytes - 1], RESULT);
    call->result_bytes = RESULT;
    return TERN_OK;
}

TERN_FUNCTION(answer)

static tern_status answer_when_allowed(tern_call_info *call, const void *arguments, size_t bytes) {
    while (!may_answer)
        usleep(100);
    has_answered = 1;
    return answer(call, arguments, bytes);
}
TERN_FUNCTION(answer_when_allowed)

/* Set while the next look after the peers is to be too late. */
static fixture *delayed;

/* MPI may poll as many descriptors. */
static bool is_look_after_peers(const struct pollfd *fds, nfds_t count, int timeout) {
    __asm__ volatile("" : "+r"(fds)); /* the C library says that poll only writes there */
    const tern_peers *peers = &delayed->context->peers;
    const tern_sibling *victim = tern_peer_find(peers, play.victim);
    return timeout == 0 && count == peers->sibling_count && victim != NULL &&
           fds[victim - peers->siblings].fd == victim->fd;
}

/* In place of the C library's. The look after the peers (tern_peers_look) polls a descriptor for
 * each sibling: here the victim answers, and is dead, between the caller's last look for the answer
 * and this look. */
int poll(struct pollfd *fds, nfds_t count, int timeout) {
    struct timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
    if (delayed != NULL && is_look_after_peers(fds, count, timeout)) {
        const tern_sibling *sibling = tern_peer_find(&delayed->context->peers, play.victim);
        struct pollfd victim = {sibling->fd, POLLIN, 0};
        delayed = NULL;
        kill((pid_t)sibling->pid, SIGUSR1);
        ppoll(&victim, 1, NULL, NULL);
    }
    return ppoll(fds, count, timeout < 0 ? NULL : &limit, NULL);
}

/* Calls of which each has another answer. */
static void call_the_living(fixture *f, uint32_t callee) {
    unsigned char result[RESULT];
    start_clock();
    for (unsigned i = 0; i < CALLS; i++) {
        const unsigned char number = (unsigned char)i;
        tern_request request = {0};
        int done = 0;
        if (!EXPECT_OK(tern_call_start(f->worker, to(callee), &answer_function, &number, 1, result,
                                       sizeof result, &request)))
            return;
        while (!done && still_patient())
            if (tern_test(f->worker, &request, &done) != TERN_OK)
                break;
        CU_ASSERT(done);
        if (!done)
            return;
        EXPECT_OK(tern_wait(f->worker, &request));
        CU_ASSERT_EQUAL(tern_request_result(&request), RESULT);
        CU_ASSERT(result[0] == number && result[RESULT - 1] == number);
    }
}

static void serve_and_die(fixture *f) {
    while (!has_answered)
        tern_progress(f->worker);
    for (int i = 0; i < 100; i++) /* the answer leaves */
        tern_progress(f->worker);
    die_outside_mpi();
}

/* Rank 0 has several calls under way, so that several answers come late. */
static void answers_of_the_dead(void) {
    static const unsigned char wrong[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    struct sigaction action = {.sa_handler = allow_answer};
    sigaction(SIGUSR1, &action, NULL);
    if (!survivors_open(&f, victim))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim)
        serve_and_die(&f);
    if (f.rank == 0) {
        enum { UNDER_WAY = 8 };
        tern_request request[UNDER_WAY] = {0};
        unsigned char result[UNDER_WAY][RESULT];
        for (int i = 0; i < UNDER_WAY; i++)
            EXPECT_OK(tern_call_start(f.worker, to(victim), &answer_when_allowed_function, wrong,
                                      sizeof wrong, result[i], sizeof result[i], &request[i]));
        start_clock();
        delayed = &f;
        for (int i = 0; i < UNDER_WAY; i++) {
            /* The first is told, unless a round of progress has looked after the peers before it
             * looked for messages. */
            tern_status status = tern_wait(f.worker, &request[i]);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
            /* An answer of its own is there before this rank looks for messages. */
            if (i == 0)
                call_the_living(&f, 0);
        }
        call_the_living(&f, f.size > 2 ? 1 : 0);
    }
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"answers of the dead", answers_of_the_dead}};
    return tern_test_main(argc, argv, "call_late_faults", tests, 1);
}
