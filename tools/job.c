/*
 * The job: which ranks are on which host, and the transport of each pair of ranks. tern's options
 * are those of the environment, so it shows what a program of this job would get.
 */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tern/context.h"
#include "tools/info.h"

/* More ranks than this, and a matrix is no longer read: then only the pairs are counted. */
#define MATRIX_RANKS 64
#define TRANSPORTS (TERN_VERBS + 1)

/* [out] row: a byte for each rank, its transport. */
static tern_status read_row(unsigned char *row, int size) {
    tern_context *context;
    tern_status status = tern_context_create(MPI_COMM_WORLD, NULL, &context);
    if (status != TERN_OK)
        return status;
    for (int rank = 0; rank < size && status == TERN_OK; rank++) {
        tern_transport transport;
        status = tern_context_transport(context, (uint32_t)rank, &transport);
        if (status == TERN_OK)
            row[rank] = (unsigned char)transport;
    }
    const tern_status destroyed = tern_context_destroy(context);
    return status != TERN_OK ? status : destroyed;
}

/* Ranks that follow each other are a range: 0-3,8. */
static void list_ranks(const char (*names)[MPI_MAX_PROCESSOR_NAME], int size, int first, char *text,
                       size_t room) {
    size_t used = 0;
    for (int rank = first; rank < size && used + 32 < room; rank++) {
        if (strcmp(names[rank], names[first]) != 0)
            continue;
        int end = rank;
        while (end + 1 < size && strcmp(names[end + 1], names[first]) == 0)
            end++;
        used += (size_t)snprintf(text + used, room - used, "%s%d", used > 0 ? "," : "", rank);
        if (end > rank)
            used += (size_t)snprintf(text + used, room - used, "-%d", end);
        rank = end;
    }
}

static void info_hosts(report *r, const char (*names)[MPI_MAX_PROCESSOR_NAME], int size) {
    report_open_list(r, "hosts");
    for (int rank = 0; rank < size; rank++) {
        int seen = 0;
        for (int before = 0; before < rank && !seen; before++)
            seen = strcmp(names[before], names[rank]) == 0;
        if (seen)
            continue;
        char ranks[1024] = "";
        list_ranks(names, size, rank, ranks, sizeof ranks);
        report_open(r, NULL);
        report_text(r, "host", names[rank]);
        report_text(r, "ranks", ranks);
        report_close(r);
    }
    report_close_list(r);
}

static void info_matrix(report *r, const unsigned char *matrix, int size) {
    if (r->json) {
        report_open_list(r, "transports");
        for (int row = 0; row < size; row++) {
            report_open_list(r, NULL);
            for (int column = 0; column < size; column++)
                report_text(r, NULL, tern_transport_name(matrix[row * size + column]));
            report_close_list(r);
        }
        report_close_list(r);
        return;
    }
    fprintf(r->out, "  transports, from the rank of the row to that of the column\n%9s", "");
    for (int column = 0; column < size; column++)
        fprintf(r->out, " %5d", column);
    for (int row = 0; row < size; row++) {
        fprintf(r->out, "\n%9d", row);
        for (int column = 0; column < size; column++)
            fprintf(r->out, " %5s", tern_transport_name(matrix[row * size + column]));
    }
    fputc('\n', r->out);
}

static void info_pairs(report *r, const unsigned char *matrix, int size) {
    size_t pairs[TRANSPORTS] = {0};
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++)
            if (row != column)
                pairs[matrix[row * size + column]]++;
    report_open(r, "pairs of ranks by transport");
    for (int transport = 0; transport < TRANSPORTS; transport++)
        if (pairs[transport] > 0)
            report_number(r, tern_transport_name((tern_transport)transport),
                          (double)pairs[transport]);
    report_close(r);
}

int info_job(report *r) {
    int rank, size, length, failed = 1;
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    unsigned char *row = calloc((size_t)size, 1), *matrix = NULL;
    char(*names)[MPI_MAX_PROCESSOR_NAME] = NULL;
    if (rank == 0) {
        matrix = calloc((size_t)size, (size_t)size);
        names = calloc((size_t)size, sizeof *names);
    }
    int ready = row != NULL && (rank != 0 || (matrix != NULL && names != NULL));
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!ready)
        goto out;
    failed = read_row(row, size) != TERN_OK;
    if (failed)
        fprintf(stderr, "tern-info: rank %d: %s\n", rank, tern_error_detail());
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Gather(row, size, MPI_BYTE, matrix, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (r != NULL && !failed) {
        report_open(r, "job");
        report_number(r, "ranks", size);
        info_hosts(r, (const char(*)[MPI_MAX_PROCESSOR_NAME])names, size);
        info_pairs(r, matrix, size);
        if (size <= MATRIX_RANKS)
            info_matrix(r, matrix, size);
        report_close(r);
    }
out:
    free(names);
    free(matrix);
    free(row);
    return failed;
}
