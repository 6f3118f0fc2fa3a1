/* Work that makes more work, in two queues: the most valuable choice of things that a knapsack
 * carries. A task fixes the choice for some first things; it makes up to two tasks, unless a bound
 * says that they lead nowhere. Tasks that promise much go to an urgent queue, which every rank
 * serves first. tern/distributed_queue.h says when all work is done. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tern/tern.h"

enum { THINGS = 40, CAPACITY = 2000 };

typedef struct task {
    uint32_t next; /* the first thing that is undecided */
    uint32_t weight, value;
} task;

typedef struct job {
    tern_worker *worker;
    tern_distributed_queue *urgent, *later;
    tern_ptr best;                          /* the largest value so far, at rank 0 */
    uint32_t weight[THINGS], value[THINGS]; /* the most value for its weight first */
    double promising;                       /* a bound from which on a task is urgent */
    uint64_t tasks;
} job;

static void check(tern_status status) {
    if (status != TERN_OK) {
        fprintf(stderr, "knapsack: %s\n", tern_error_detail());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int by_worth(const void *a, const void *b) {
    const uint32_t *x = a, *y = b; /* weight, value */
    const uint64_t left = (uint64_t)x[1] * y[0], right = (uint64_t)y[1] * x[0];
    return left > right ? -1 : left < right;
}

/* The same things on every rank. */
static void make_things(job *j) {
    uint32_t things[THINGS][2];
    uint32_t random = 1;
    for (int i = 0; i < THINGS; i++) {
        random = random * 1664525u + 1013904223u;
        things[i][0] = 50 + (random >> 16) % 100;
        random = random * 1664525u + 1013904223u;
        things[i][1] = things[i][0] + (random >> 16) % 10;
    }
    qsort(things, THINGS, sizeof things[0], by_worth);
    for (int i = 0; i < THINGS; i++) {
        j->weight[i] = things[i][0];
        j->value[i] = things[i][1];
    }
}

/* At most this value: the last thing that fits may be cut. */
static double bound(const job *j, task t) {
    double value = t.value;
    uint32_t room = CAPACITY - t.weight;
    for (uint32_t i = t.next; i < THINGS && room > 0; i++) {
        const uint32_t part = j->weight[i] < room ? j->weight[i] : room;
        value += (double)j->value[i] * part / j->weight[i];
        room -= part;
    }
    return value;
}

static void raise_best(job *j, uint64_t value) {
    uint64_t best = 0, seen = 0;
    check(tern_atomic_load(j->worker, j->best, &best));
    while (best < value) {
        check(tern_atomic_cas(j->worker, j->best, best, value, &seen));
        if (seen == best)
            break;
        best = seen;
    }
}

static void work(job *j, task t);

/* An urgent task holds the other queue, whose end is that of all work. If there is no room, the
 * task is done at once. */
static void add(job *j, task t) {
    const bool urgent = bound(j, t) >= j->promising;
    if (urgent)
        check(tern_distributed_queue_hold(j->worker, j->later));
    const tern_status status =
        tern_distributed_queue_try_push(j->worker, urgent ? j->urgent : j->later, &t, 0);
    if (status == TERN_OK)
        return;
    if (status != TERN_ERR_FULL)
        check(status);
    work(j, t);
    if (urgent)
        check(tern_distributed_queue_release(j->worker, j->later));
}

static void work(job *j, task t) {
    uint64_t best = 0;
    j->tasks++;
    raise_best(j, t.value);
    check(tern_atomic_load(j->worker, j->best, &best));
    if (t.next == THINGS || bound(j, t) < (double)best + 1)
        return;
    const task with = {t.next + 1, t.weight + j->weight[t.next], t.value + j->value[t.next]};
    const task without = {t.next + 1, t.weight, t.value};
    if (with.weight <= CAPACITY)
        add(j, with);
    add(j, without);
}

static void work_to_the_end(job *j) {
    for (;;) {
        task t;
        size_t count;
        tern_status status = tern_distributed_queue_try_pop(j->worker, j->urgent, &t, 0);
        if (status == TERN_OK) {
            work(j, t);
            check(tern_distributed_queue_release(j->worker, j->later));
            continue;
        }
        if (status != TERN_ERR_EMPTY)
            check(status);
        status = tern_distributed_queue_pop_timed(j->worker, j->later, &t, 1, 0, 0, &count);
        if (status == TERN_OK)
            work(j, t);
        else if (status == TERN_ERR_DONE)
            return;
        else if (status != TERN_ERR_TIMEOUT)
            check(status);
    }
}

/* The same answer by a table of all weights. */
static uint32_t answer(const job *j) {
    static uint32_t most[CAPACITY + 1];
    for (int i = 0; i < THINGS; i++)
        for (uint32_t w = CAPACITY; w >= j->weight[i]; w--)
            if (most[w - j->weight[i]] + j->value[i] > most[w])
                most[w] = most[w - j->weight[i]] + j->value[i];
    return most[CAPACITY];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const tern_queue_options options = {.item_bytes = sizeof(task), .capacity = 1024};
    const task root = {0, 0, 0};
    tern_context *context;
    job j = {.tasks = 0};
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &j.worker));
    const uint32_t rank = tern_context_rank(context);
    make_things(&j);
    j.promising = bound(&j, root) - 3;
    if (rank == 0)
        check(tern_alloc(j.worker, sizeof(uint64_t), 0, TERN_DOMAIN_GLOBAL, &j.best));
    MPI_Bcast(&j.best, sizeof j.best, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        check(tern_atomic_store(j.worker, j.best, 0));
    check(tern_distributed_queue_create(j.worker, &options, &j.urgent));
    check(tern_distributed_queue_create(j.worker, &options, &j.later));
    if (rank == 0)
        add(&j, root);
    work_to_the_end(&j);

    uint64_t best = 0, tasks = 0;
    check(tern_atomic_load(j.worker, j.best, &best));
    check(
        tern_barrier(j.worker)); /* until then others ask this rank for tasks and the best value */
    MPI_Reduce(&j.tasks, &tasks, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    const bool right = best == answer(&j);
    if (rank == 0)
        printf("best value %llu, which is %s, by %llu tasks on %u ranks\n",
               (unsigned long long)best, right ? "right" : "wrong", (unsigned long long)tasks,
               tern_context_size(context));
    check(tern_distributed_queue_destroy(j.worker, j.later));
    check(tern_distributed_queue_destroy(j.worker, j.urgent));
    if (rank == 0)
        check(tern_free(j.worker, j.best));
    check(tern_context_destroy(context));
    MPI_Finalize();
    return !right;
}
