/*
 * Heat flowing through a plate: a grid of rows x columns, cut into bands of rows, one for each
 * rank. A cell's next value needs its four neighbours, so before each step a rank needs its halo:
 * the last row of the band above and the first row of the band below. It computes its inner rows
 * while the halo travels. Run: mpirun -n 4 heat --steps 1000
 *
 * band.c has the grid and its step; halo_put.c and halo_call.c are ways to get the halo.
 */
#include "band.h"
#include "halo.h"

static void run(band *b, const halo *way, size_t steps) {
    size_t often = 16384 / b->columns + 1;
    for (size_t step = 0; step < steps; step++) {
        way->send(b, step);
        for (size_t row = 1; row + 1 < b->rows; row++) {
            compute_row(b, step, row);
            if (row % often == 0)
                tern_progress(b->worker); /* transfers by MPI need progress */
        }
        way->wait(b, step);
        compute_row(b, step, 0);
        if (b->rows > 1)
            compute_row(b, step, b->rows - 1);
    }
}

/* Creates a context whose segments have room for the bands and their halos. */
static tern_context *make_context(const options *o) {
    tern_context *context;
    tern_config config;
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(tern_config_init(&config));
    size_t rows = 2 * (o->rows / (size_t)ranks + 1) + o->halo->rows;
    size_t needed = rows * o->columns * sizeof(double) + ((size_t)4 << 20);
    if (config.segment_size < needed)
        config.segment_size = needed >> 21 << 21;
    check(tern_context_create(MPI_COMM_WORLD, &config, &context));
    return context;
}

static bool simulate(const options *o) {
    tern_context *context = make_context(o);
    tern_worker *worker;
    band b;
    check(tern_worker_adopt(context, 0, &worker));
    band_create(worker, o->rows, o->columns, &b);
    o->halo->open(&b);

    check(tern_team_barrier(worker, NULL));
    double start = MPI_Wtime();
    run(&b, o->halo, o->steps);
    check(tern_team_barrier(worker, NULL));
    double seconds = MPI_Wtime() - start;

    o->halo->close(&b);
    int state = state_before(o->steps);
    uint64_t sum = result_checksum(&b, state);
    if (b.rank == 0)
        printf("%zu x %zu cells, %zu steps, %u ranks: checksum %016llx, %.3f s\n", o->rows,
               o->columns, o->steps, b.size, (unsigned long long)sum, seconds);
    bool good = o->output == NULL || result_write(&b, state, o->output);
    check(tern_context_destroy(context));
    return good;
}

int main(int argc, char **argv) {
    options o;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = options_read(argc, argv, rank == 0, &o);
    if (status < 0)
        status = simulate(&o) ? 0 : 1;
    MPI_Finalize();
    return status;
}
