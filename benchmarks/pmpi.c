/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * tern-bench-pmpi: the cost of libtern_pmpi in the calls of MPI that it wraps. Run: mpirun -n 2
 * tern-bench-pmpi. The program is linked with libtern_pmpi, so MPI_Send is the wrapper, and
 * PMPI_Send is MPI's own function, which a program without the library calls. Blocks of both
 * alternate; a ratio is the median over the pairs of blocks. Each is measured once with no context
 * and once with one.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

enum { PAIRS = 51, WARM = 3, OPERATIONS = 500 };

typedef void block(int operations);

static int rank;
static char message[8];

#define PING_PONG(send, receive)                                                                   \
    for (int i = 0; i < operations; i++) {                                                         \
        if (rank == 0)                                                                             \
            send(message, sizeof message, MPI_CHAR, 1, 0, MPI_COMM_WORLD);                         \
        receive(message, sizeof message, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);   \
        if (rank == 1)                                                                             \
            send(message, sizeof message, MPI_CHAR, 0, 0, MPI_COMM_WORLD);                         \
    }

#define BARRIERS(barrier)                                                                          \
    for (int i = 0; i < operations; i++)                                                           \
        barrier(MPI_COMM_WORLD);

static void ping_pong(int operations) { PING_PONG(MPI_Send, MPI_Recv) }
static void plain_ping_pong(int operations) { PING_PONG(PMPI_Send, PMPI_Recv) }
static void barriers(int operations) { BARRIERS(MPI_Barrier) }
static void plain_barriers(int operations) { BARRIERS(PMPI_Barrier) }

/* Nanoseconds of each operation. */
static double time_block(block *run, int operations) {
    PMPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    run(operations);
    return (MPI_Wtime() - begin) * 1e9 / operations;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, PAIRS, sizeof values[0], by_size);
    return values[PAIRS / 2];
}

static void compare(const char *name, block *wrapped, block *plain, int operations) {
    double wrapped_ns[PAIRS], plain_ns[PAIRS], ratio[PAIRS];
    for (int i = -WARM; i < PAIRS; i++) {
        const int at = i < 0 ? 0 : i;
        if (i % 2 == 0) {
            wrapped_ns[at] = time_block(wrapped, operations);
            plain_ns[at] = time_block(plain, operations);
        } else {
            plain_ns[at] = time_block(plain, operations);
            wrapped_ns[at] = time_block(wrapped, operations);
        }
        ratio[at] = wrapped_ns[at] / plain_ns[at];
    }
    if (rank == 0)
        printf("%-36s %9.0f ns  MPI alone %9.0f ns  ratio %5.2f\n", name, median(wrapped_ns),
               median(plain_ns), median(ratio));
}

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "tern-bench-pmpi: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) {
        const bool help = strcmp(argv[1], "--help") == 0;
        if (rank == 0 && help)
            fputs("usage: mpirun -n 2 tern-bench-pmpi\n"
                  "Measures what libtern_pmpi costs in the calls of MPI that it wraps.\n"
                  "Exit status: 0 done, 1 failed, 2 bad usage.\n",
                  stdout);
        else if (rank == 0)
            fprintf(stderr, "tern-bench-pmpi: takes no argument %s; --help says more\n", argv[1]);
        MPI_Finalize();
        return help ? 0 : 2;
    }
    if (size != 2) {
        if (rank == 0)
            fprintf(stderr, "tern-bench-pmpi: run it with 2 ranks, not %d\n", size);
        MPI_Finalize();
        return 2;
    }
    compare("round trip of 8 B, no context", ping_pong, plain_ping_pong, OPERATIONS);
    compare("barrier, no context", barriers, plain_barriers, OPERATIONS);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    compare("round trip of 8 B, with a context", ping_pong, plain_ping_pong, OPERATIONS);
    compare("barrier, with a context", barriers, plain_barriers, OPERATIONS);
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
