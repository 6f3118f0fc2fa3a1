/* Two threads of each rank call rank 0, which waits for a count of its own; then all wait in MPI
 * and go on serving. Run: mpirun -n 2 08_waiting */
#include <pthread.h>
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "waiting: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

enum { CALLS = 1000 };

static uint64_t count; /* of rank 0, changed by its worker 0 alone */

static tern_status tick(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    count++;
    return TERN_OK;
}
TERN_FUNCTION(tick)

static void call_rank_0(tern_worker *worker) {
    for (int i = 0; i < CALLS; i++)
        check(tern_call(worker, (tern_worker_id){0, 0}, &tick_function, "", 0));
}

static void *thread(void *argument) {
    tern_worker *worker; /* a worker of its own */
    check(tern_worker_adopt(argument, 1, &worker));
    call_rank_0(worker);
    check(tern_worker_release(worker));
    return NULL;
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_config config;
    pthread_t other;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    check(tern_config_init(&config));
    config.workers = 2;
    check(tern_context_create(MPI_COMM_WORLD, &config, &context));
    check(tern_worker_adopt(context, 0, &worker));

    if (pthread_create(&other, NULL, thread, context) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    call_rank_0(worker);
    if (tern_context_rank(context) == 0) {
        tern_await wait = TERN_AWAIT_START;
        while (count < (uint64_t)2 * CALLS * tern_context_size(context))
            check(tern_await_round(worker, &wait, tern_progress(worker)));
        printf("rank 0 was called %u times\n", (unsigned)count);
    }
    pthread_join(other, NULL);
    check(tern_barrier(worker)); /* MPI_Barrier would serve nobody */

    check(tern_context_destroy(context));
    return MPI_Finalize();
}
