/*
 * kmer: counts the k-mers of genomes and reads with the ranks of an MPI job. See README.md.
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#include <tern/version.h>

#include "job.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "table_file.h"

/* What one rank can do. */
static void act_alone(const kmer_options *options, kmer_error *error) {
    switch (options->action) {
    case KMER_HELP:
        fputs(kmer_options_help, stdout);
        break;
    case KMER_VERSION:
        printf("kmer (tern) %d.%d.%d\n", TERN_VERSION_MAJOR, TERN_VERSION_MINOR,
               TERN_VERSION_PATCH);
        break;
    default:
        (void)kmer_table_print(options->print, stdout, error);
        return;
    }
    if (fflush(stdout) != 0)
        kmer_fail_system(error, "write", "standard output");
}

int main(int argc, char **argv) {
    double started = kmer_now();
    /* Beyond a limit on file sizes, a write fails and is reported. */
    signal(SIGXFSZ, SIG_IGN);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    kmer_error error = {0};
    kmer_options options;
    int status;
    if (kmer_options_parse(argc, argv, &options, &error) == 0 && options.action == KMER_COUNT) {
        status = kmer_job_run(&options, MPI_COMM_WORLD, started);
    } else {
        if (error.exit == KMER_OK && rank == 0)
            act_alone(&options, &error);
        status = kmer_report(MPI_COMM_WORLD, &error);
    }
    MPI_Finalize();
    return status;
}
