/* The exchange by MPI: one collective call to which every rank brings all its keys. */
#include <limits.h>

#include "job.h"

static int *numbers; /* counts and positions of the keys that are sent and received */

static void open_mpi(job *j) { numbers = need(NULL, (size_t)4 * j->size, sizeof *numbers); }

static void run_mpi(job *j) {
    int *out = numbers, *out_at = out + j->size, *in = out_at + j->size, *in_at = in + j->size;
    size_t keys = 0;
    if (j->drawn > INT_MAX)
        give_up("MPI_Alltoallv takes 2^31 - 1 keys at most; --exchange queue takes more");
    for (uint32_t r = 0; r < j->size; r++) {
        out[r] = (int)bucket_size(j, r);
        out_at[r] = (int)j->start[r];
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (uint32_t r = 0; r < j->size; r++) {
        in_at[r] = (int)keys;
        keys += (size_t)in[r];
    }
    if (keys > INT_MAX)
        give_up("MPI_Alltoallv takes 2^31 - 1 keys at most; --exchange queue takes more");
    job_expect(j, keys);
    MPI_Alltoallv(j->outgoing, out, out_at, MPI_UINT32_T, j->mine, in, in_at, MPI_UINT32_T,
                  MPI_COMM_WORLD);
    j->have = keys;
}

static void close_mpi(job *j) {
    (void)j;
    free(numbers);
}

const exchange exchange_alltoallv = {"alltoallv", open_mpi, run_mpi, close_mpi};
