#include "histories/clocks.h"

#include <stdio.h>

#include "histories/record.h"

enum {
    TAG = 7,
    ROUNDS = 100 /* of which the quickest one counts */
};

/* What is the same for processes that share a clock: the identity of the running kernel. */
typedef struct kernel_id {
    char text[40];
} kernel_id;

/* At about this time of this rank rank 0's clock said that. */
typedef struct comparison {
    uint64_t mine, error, first;
} comparison;

static comparison before, after;
static bool shared; /* rank 0's clock is this one */

static kernel_id kernel_of_this_rank(void) {
    kernel_id id = {""};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file == NULL)
        return id;
    if (fgets(id.text, sizeof id.text, file) == NULL)
        id.text[0] = 0;
    fclose(file);
    return id;
}

/* Rank 0 tells another rank the time, so often. */
static void tell_time(MPI_Comm comm, int rank) {
    uint64_t time = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Recv(&time, 1, MPI_UINT64_T, rank, TAG, comm, MPI_STATUS_IGNORE);
        time = history_clock();
        MPI_Send(&time, 1, MPI_UINT64_T, rank, TAG, comm);
    }
}

static comparison ask_time(MPI_Comm comm) {
    comparison best = {0, UINT64_MAX, 0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t time = 0;
        const uint64_t begin = history_clock();
        MPI_Send(&time, 1, MPI_UINT64_T, 0, TAG, comm);
        MPI_Recv(&time, 1, MPI_UINT64_T, 0, TAG, comm, MPI_STATUS_IGNORE);
        const uint64_t half = (history_clock() - begin) / 2 + 1;
        if (half < best.error)
            best = (comparison){begin + half, half, time};
    }
    return best;
}

void history_clocks_compare(fixture *f) {
    const kernel_id mine = kernel_of_this_rank();
    kernel_id all[64];
    fixture_share(f, &mine, sizeof mine, all);
    shared = strcmp(all[f->rank].text, all[0].text) == 0;
    before = after;
    tern_mpi_lock();
    for (uint32_t r = 1; r < f->size; r++) {
        if (strcmp(all[r].text, all[0].text) == 0)
            continue;
        if (f->rank == 0)
            tell_time(f->comm, (int)r);
        else if (f->rank == r)
            after = ask_time(f->comm);
    }
    tern_mpi_unlock();
}

/* By rank 0's clock, and a margin to each side. */
static double told(uint64_t time, double *margin) {
    const double speed = (double)(after.first - before.first) / (double)(after.mine - before.mine);
    const uint64_t error = before.error > after.error ? before.error : after.error;
    *margin = 2 * speed * (double)error;
    return speed * ((double)time - (double)before.mine);
}

uint64_t history_clocks_earliest(uint64_t time) {
    double margin;
    if (shared)
        return time;
    const double since = told(time, &margin);
    return before.first + (uint64_t)(int64_t)(since - margin);
}

uint64_t history_clocks_latest(uint64_t time) {
    double margin;
    if (shared)
        return time;
    const double since = told(time, &margin);
    return before.first + (uint64_t)(int64_t)(since + margin);
}
