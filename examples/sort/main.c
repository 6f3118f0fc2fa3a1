/*
 * Sorts integers on all ranks of an MPI job, as the benchmark ISx does: each rank draws keys,
 * divides them into buckets, one for each rank, exchanges them, and sorts its own bucket. Run:
 * mpirun -n 4 sort
 *
 * exchange_queue.c is the part that uses tern; job.c has the steps.
 */
#include "job.h"

/* Creates a context whose segments have room for a queue and whose rings hold two blocks, for
 * blocks that are pushed by calls. */
static tern_context *make_context(const options *o) {
    tern_context *context;
    tern_config config;
    check(tern_config_init(&config));
    size_t item = o->block * sizeof(uint32_t) + 128, needed = o->queue * item + ((size_t)64 << 20);
    if (config.segment_size < needed)
        config.segment_size = ((needed >> 21) + 1) << 21;
    while (o->via == TERN_BY_CALL && config.ring_size < 2 * item)
        config.ring_size *= 2;
    check(tern_context_create(MPI_COMM_WORLD, &config, &context));
    return context;
}

int main(int argc, char **argv) {
    options o;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = options_read(argc, argv, rank == 0, &o);
    if (status < 0) {
        tern_context *context = make_context(&o);
        tern_worker *worker;
        check(tern_worker_adopt(context, 0, &worker));
        status = job_run(worker, &o) ? 0 : 1;
        check(tern_context_destroy(context));
    }
    MPI_Finalize();
    return status;
}
