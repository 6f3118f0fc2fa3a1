#include "job.h"

#include <limits.h>
#include <stdio.h>

int kmer_fail_tern(kmer_error *error, tern_status status, const char *what) {
    const char *detail = tern_error_detail();
    const char *meaning = tern_strerror(status);
    kmer_fail(error, "%s: %s", what, *detail != 0 ? detail : meaning);
    if (status == TERN_ERR_PEER) {
        fprintf(stderr, "kmer: %s\n", error->text);
        MPI_Abort(MPI_COMM_WORLD, KMER_FAILED);
    }
    return -1;
}

bool kmer_any(MPI_Comm comm, bool failed) {
    int mine = failed, any;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any != 0;
}

int kmer_report(MPI_Comm comm, const kmer_error *error) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    int mine = error->exit != KMER_OK ? rank : INT_MAX, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == INT_MAX)
        return KMER_OK;
    if (rank == first)
        fprintf(stderr, "kmer: %s\n", error->text);
    int status = (int)error->exit;
    MPI_Bcast(&status, 1, MPI_INT, first, comm);
    return status;
}
