#include "director.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "tern/context.h"

enum { LONGEST_US = 600000, LONGEST_STOP_US = 250000, MAX_RANKS = 64 };

static struct {
    const director_plan *plan;
    pid_t processes[MAX_RANKS];
    pthread_t thread;
    atomic_bool done;
    bool failed;
} director;

static int compare_times(const void *a, const void *b) {
    const director_event *x = a, *y = b;
    return x->at_us < y->at_us ? -1 : x->at_us > y->at_us;
}

static void add_event(director_plan *plan, uint32_t at_us, int rank, director_act act) {
    plan->events[plan->count++] = (director_event){at_us, rank, act};
}

/* One kill in five is followed by a second one at once, one by a second one later. */
static void draw_kills(director_plan *plan, uint64_t *state, int size) {
    const uint64_t kind = tern_test_random(state) % 5;
    const int wanted = kind < 2 && size > 2 ? 2 : 1;
    uint32_t at_us = (uint32_t)(tern_test_random(state) % LONGEST_US);
    while (plan->kills < wanted) {
        const int rank = (int)(tern_test_random(state) % (uint64_t)size);
        if (rank == plan->director || plan->victims[rank])
            continue;
        plan->victims[rank] = true;
        plan->kills++;
        add_event(plan, at_us, rank, DIRECTOR_KILL);
        if (kind == 1)
            at_us += (uint32_t)(tern_test_random(state) % LONGEST_US);
    }
}

director_plan director_draw(uint64_t *state, int size, bool kills, bool outside_mpi) {
    director_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.outside_mpi = outside_mpi;
    plan.director = (int)(tern_test_random(state) % (uint64_t)size);
    const uint64_t stops = kills ? tern_test_random(state) % 3 : 2;
    for (uint64_t i = 0; i < stops; i++) {
        const uint32_t at_us = (uint32_t)(tern_test_random(state) % LONGEST_US);
        const uint32_t for_us = 1000 + (uint32_t)(tern_test_random(state) % LONGEST_STOP_US);
        const int rank =
            (plan.director + 1 + (int)(tern_test_random(state) % (uint64_t)(size - 1))) % size;
        add_event(&plan, at_us, rank, DIRECTOR_STOP);
        add_event(&plan, at_us + for_us, rank, DIRECTOR_GO_ON);
    }
    if (kills)
        draw_kills(&plan, state, size);
    qsort(plan.events, (size_t)plan.count, sizeof plan.events[0], compare_times);
    return plan;
}

static uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void wait_until(uint64_t us) {
    const struct timespec then = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) != 0)
        ;
}

static void act(const director_event *event, uint64_t began) {
    static const char *const done[] = {"killed", "stopped", "continued"};
    const bool kills = event->act == DIRECTOR_KILL;
    if (kills && director.plan->outside_mpi)
        return;
    /* A rank says that it dies before it does, and could be stopped in between for ever. */
    if (event->act != DIRECTOR_GO_ON && tern_test_dead(event->rank))
        return;
    /* The line first: it may be the last one of a job that hangs. */
    fprintf(stderr, "campaign: %s rank %d after %llu ms\n", done[event->act], event->rank,
            (unsigned long long)(now_us() - began) / 1000);
    if (kills)
        tern_test_kill(event->rank);
    else if (kill(director.processes[event->rank],
                  event->act == DIRECTOR_STOP ? SIGSTOP : SIGCONT) != 0 &&
             !tern_test_dead(event->rank))
        director.failed = true;
}

static void *direct(void *unused) {
    (void)unused;
    const uint64_t began = now_us();
    for (int i = 0; i < director.plan->count; i++) {
        wait_until(began + director.plan->events[i].at_us);
        act(&director.plan->events[i], began);
    }
    atomic_store(&director.done, true);
    return NULL;
}

/* A victim that must not die inside MPI. */
static void *die_in_time(void *unused) {
    (void)unused;
    const uint64_t began = now_us();
    int i = 0;
    while (director.plan->events[i].rank != tern_test_rank() ||
           director.plan->events[i].act != DIRECTOR_KILL)
        i++;
    wait_until(began + director.plan->events[i].at_us);
    tern_mpi_lock();
    fprintf(stderr, "campaign: killed rank %d after %llu ms\n", tern_test_rank(),
            (unsigned long long)(now_us() - began) / 1000);
    tern_test_kill(tern_test_rank());
    return NULL;
}

void director_meet(const director_plan *plan) {
    const pid_t mine = getpid();
    director.plan = plan;
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, director.processes, sizeof mine, MPI_BYTE,
                  MPI_COMM_WORLD);
}

void director_start(void) {
    const director_plan *plan = director.plan;
    void *(*job)(void *) = NULL;
    if (tern_test_rank() == plan->director)
        job = direct;
    else if (plan->outside_mpi && plan->victims[tern_test_rank()])
        job = die_in_time;
    atomic_store(&director.done, job == NULL);
    if (job != NULL)
        CU_ASSERT_FATAL(pthread_create(&director.thread, NULL, job, NULL) == 0);
}

bool director_done(void) {
    if (!atomic_load(&director.done))
        return false;
    /* A rank that kills itself may be late. */
    for (int rank = 0; rank < tern_test_size(); rank++)
        if (director.plan->victims[rank] && !tern_test_dead(rank))
            return false;
    return true;
}

bool director_join(void) {
    if (tern_test_rank() == director.plan->director)
        pthread_join(director.thread, NULL);
    return !director.failed;
}
