/*
 * kmer: counts the k-mers of genomes and reads with the ranks of an MPI job. See README.md.
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/config.h>

#include "job.h"
#include "options.h"

/* Actions that one rank does alone. */
static void act_alone(const kmer_options *options, kmer_error *error) {
    if (options->action == KMER_HELP)
        fputs(kmer_options_help, stdout);
    else
        printf("kmer (tern) %d.%d.%d\n", TERN_VERSION_MAJOR, TERN_VERSION_MINOR,
               TERN_VERSION_PATCH);
    if (fflush(stdout) != 0)
        kmer_fail_system(error, "write", "standard output");
}

/* If all ranks are on one node, Open MPI need not look for network cards, which takes it longer
 * than counting a small genome. A choice of the user is not changed. */
static void spare_search_for_networks(void) {
    const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (all == NULL || here == NULL || strcmp(all, here) != 0 || getenv("OMPI_MCA_pml") != NULL)
        return;
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "^ofi,openib", 0);
}

int main(int argc, char **argv) {
    double started = kmer_now();
    /* With SIGXFSZ ignored, a write beyond a limit on file sizes fails and is reported. */
    signal(SIGXFSZ, SIG_IGN);
    spare_search_for_networks();
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
