/*
 * A rank is killed, or stopped, while others wait for it. Each test ends the life of a rank, so
 * each is a run of its own (CMakeLists.txt): --survivors --only NAME.
 */

#include "survivors.h"
#include "nothing.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The others are reached as before, and the context can be destroyed. */
static void go_on_without(fixture *f) {
    meet_survivors(f);
    for (uint32_t r = 0; r < f->size; r++) {
        tern_worker_id to = {r, 0};
        tern_ptr p = TERN_NULL;
        if (r == play.victim)
            continue;
        EXPECT_OK(tern_call_return(f->worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
        EXPECT_OK(tern_alloc_on(f->worker, r, TERN_NUMA_ANY, 64, 0, TERN_DOMAIN_GLOBAL, &p));
        EXPECT_OK(tern_free(f->worker, p));
    }
    survivors_close(f);
}

/* Counts, and kills its own rank in the middle when its time has come. */
static uint64_t calls_to_live = UINT64_MAX;

static tern_status live_or_die(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    if (calls_to_live-- == 0)
        tern_test_kill(tern_test_rank());
    return TERN_OK;
}
TERN_FUNCTION(live_or_die)

static void serve_until_death(fixture *f) {
    for (;;) {
        tern_progress(f->worker);
        sched_yield();
    }
}

static void in_calls(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    calls_to_live = 1000;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim)
        serve_until_death(&f);
    tern_worker_id to = {victim, 0};
    char arguments[100] = {0};
    tern_status status = TERN_OK;
    start_clock();
    for (int i = 0; i < 1000000 && status == TERN_OK; i++) {
        if (!tern_test_dead((int)victim))
            start_clock();
        status = tern_call(f.worker, to, &live_or_die_function, arguments, sizeof arguments);
    }
    TOLD(victim, status);
    TOLD(victim, tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
    go_on_without(&f);
}

static void in_call_return(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    calls_to_live = 20;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim)
        serve_until_death(&f);
    start_clock();
    tern_worker_id to = {victim, 0};
    tern_status status = TERN_OK;
    for (int i = 0; i < 100 && status == TERN_OK; i++)
        status = tern_call_return(f.worker, to, &live_or_die_function, NULL, 0, NULL, 0, NULL);
    TOLD(victim, status);
    go_on_without(&f);
}

/* Requests to the dead: waiting ends, and so does asking again and again. */
static void in_requests(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    lose_later(&f);
    tern_worker_id to = {victim, 0};
    tern_request requests[5] = {0};
    bool started[5];
    /* The ring of the pair may take some time to open, and does not if the victim is gone first. */
    for (int i = 0; i < 5; i++) {
        tern_status status =
            tern_call_start(f.worker, to, &nothing_function, NULL, 0, NULL, 0, &requests[i]);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
        started[i] = status == TERN_OK;
    }
    int done = 0;
    while (!done && still_patient()) {
        EXPECT_OK(tern_test(f.worker, &requests[0], &done));
        sched_yield();
    }
    CU_ASSERT(done);
    for (int i = 0; i < 5; i++)
        if (started[i])
            TOLD(victim, tern_wait(f.worker, &requests[i]));
    go_on_without(&f);
}

static void in_barrier(void) {
    fixture f;
    if (!survivors_open(&f, 0))
        return;
    lose_later(&f);
    TOLD(0, tern_barrier(f.worker));
    TOLD(0, tern_barrier(f.worker));
    go_on_without(&f);
}

static void in_quiesce(void) {
    fixture f;
    if (!survivors_open(&f, 0))
        return;
    lose_later(&f);
    tern_worker_id next = {f.rank % (f.size - 1) + 1, 0};
    EXPECT_OK(tern_call(f.worker, next, &nothing_function, NULL, 0));
    TOLD(0, tern_quiesce(f.worker));
    go_on_without(&f);
}

static void in_alloc_on(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    lose_later(&f);
    tern_ptr p = TERN_NULL;
    TOLD(victim, tern_alloc_on(f.worker, victim, TERN_NUMA_ANY, 8, 0, TERN_DOMAIN_GLOBAL, &p));
    CU_ASSERT(tern_ptr_is_null(p));
    go_on_without(&f);
}

static void in_free(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    tern_ptr p = TERN_NULL;
    EXPECT_OK(tern_alloc_on(f.worker, victim, TERN_NUMA_ANY, 8, 0, TERN_DOMAIN_GLOBAL, &p));
    lose_later(&f);
    TOLD(victim, tern_free(f.worker, p));
    go_on_without(&f);
}

/* Memory of the dead is still there over shm; elsewhere it may be an error, but never a crash or a
 * wait without end. */
static void one_sided(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 65536, TERN_DOMAIN_GLOBAL, all);
    tern_transport transport = TERN_P2P;
    EXPECT_OK(tern_context_transport(f.context, victim, &transport));
    static char data[60000];
    lose_later(&f);
    while (MPI_Wtime() - began < 1) {
        tern_status seen[4];
        uint64_t word;
        seen[0] = tern_put(f.worker, all[victim], data, sizeof data);
        seen[1] = tern_get(f.worker, data, all[victim], sizeof data);
        seen[2] = tern_atomic_fetch_add(f.worker, tern_ptr_add(all[victim], 64000), 1, &word);
        seen[3] = tern_flush(f.worker, victim);
        for (int i = 0; i < 4; i++)
            CU_ASSERT(seen[i] == TERN_OK || (transport != TERN_SHM && seen[i] == TERN_ERR_PEER));
        EXPECT_OK(tern_put(f.worker, all[f.rank], data, sizeof data));
        usleep(1000);
    }
    free(all);
    go_on_without(&f);
}

static void in_destroy(void) {
    fixture f;
    if (!survivors_open(&f, 0))
        return;
    lose_later(&f);
    EXPECT_OK(tern_worker_release(f.worker));
    EXPECT_OK(tern_context_destroy(f.context));
}

/* A context of those who are left, over a communicator that they had. */
static void a_new_context(void) {
    fixture f, rest;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    MPI_Comm left;
    if (!survivors_open(&f, victim))
        return;
    MPI_Comm_split(MPI_COMM_WORLD, f.rank == victim, (int)f.rank, &left);
    lose_later(&f);
    TOLD(victim, tern_barrier(f.worker));
    go_on_without(&f);
    if (!fixture_open_on(&rest, left, NULL))
        return;
    tern_worker_id next = {(rest.rank + 1) % rest.size, 0};
    EXPECT_OK(tern_call_return(rest.worker, next, &nothing_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(rest.worker));
    EXPECT_OK(tern_quiesce(rest.worker));
    fixture_close(&rest);
}

/* Stopped is not dead: a rank that waits goes on waiting, and gets what it waited for. */
static void *wake_later(void *argument) {
    nanosleep(&(struct timespec){1, 500000000}, NULL);
    kill(*(pid_t *)argument, SIGCONT);
    return NULL;
}

static void stopped_rank(void) {
    fixture f;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    uint32_t sleeper = f.size - 1;
    pid_t mine = getpid(), *all = calloc(f.size, sizeof *all);
    pthread_t thread;
    tern_worker_id to = {sleeper, 0};
    calls_to_live = UINT64_MAX;
    fixture_share(&f, &mine, sizeof mine, all);
    EXPECT_OK(tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        CU_ASSERT_EQUAL(kill(all[sleeper], SIGSTOP), 0);
        CU_ASSERT_EQUAL(pthread_create(&thread, NULL, wake_later, &all[sleeper]), 0);
    }
    char arguments[200] = {0};
    if (f.rank != sleeper) {
        tern_ptr p = TERN_NULL;
        EXPECT_OK(tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
        for (int i = 0; i < 200; i++)
            EXPECT_OK(tern_call(f.worker, to, &live_or_die_function, arguments, sizeof arguments));
        EXPECT_OK(tern_alloc_on(f.worker, sleeper, TERN_NUMA_ANY, 8, 0, TERN_DOMAIN_GLOBAL, &p));
        EXPECT_OK(tern_free(f.worker, p));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == sleeper)
        CU_ASSERT_EQUAL(UINT64_MAX - calls_to_live, 200 * (uint64_t)(f.size - 1));
    if (f.rank == 0)
        pthread_join(thread, NULL);
    free(all);
    fixture_close(&f);
}

static bool streams;

/* Calls itself, so that every round of progress finds something. */
static tern_status stream(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(stream)

static tern_status stream(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_worker_id self = tern_worker_self(call->worker);
    return streams ? tern_call_queue(call->worker, self, &stream_function, arguments, bytes)
                   : TERN_OK;
}

/* Calls without end keep no news away. */
static void in_a_stream(void) {
    fixture f;
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    lose_later(&f);
    tern_worker_id self = {f.rank, 0}, to = {victim, 0};
    tern_request request = {0};
    streams = true;
    EXPECT_OK(tern_call(f.worker, self, &stream_function, NULL, 0));
    tern_status status =
        tern_call_start(f.worker, to, &nothing_function, NULL, 0, NULL, 0, &request);
    if (status == TERN_OK)
        status = tern_wait(f.worker, &request);
    TOLD(victim, status);
    streams = false;
    go_on_without(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"in_calls", in_calls},         {"in_call_return", in_call_return},
        {"in_requests", in_requests},   {"in_barrier", in_barrier},
        {"in_quiesce", in_quiesce},     {"in_alloc_on", in_alloc_on},
        {"in_free", in_free},           {"one_sided", one_sided},
        {"in_destroy", in_destroy},     {"a_new_context", a_new_context},
        {"stopped_rank", stopped_rank}, {"in_a_stream", in_a_stream},
    };
    return tern_test_main(argc, argv, "faults", tests, sizeof tests / sizeof tests[0]);
}
