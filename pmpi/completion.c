#include "pmpi/wrap.h"

/* Waits for requests of every kind, including those of persistent operations, collectives, windows
 * and files. Each wait repeats the matching test. */

static int attentive_wait(tern_pmpi_call call, MPI_Request *request, MPI_Status *status) {
    return tern_pmpi_finish(call, MPI_SUCCESS, request, status);
}
TERN_PMPI_WRAP(Wait, attentive_wait(call, TERN_PMPI_A2), MPI_Request *, MPI_Status *)

static int attentive_wait_all(tern_pmpi_call call, int count, MPI_Request *requests,
                              MPI_Status *statuses) {
    int done = 0;
    return TERN_PMPI_AWAIT(done, PMPI_Testall(count, requests, &done, statuses));
}
TERN_PMPI_WRAP(Waitall, attentive_wait_all(call, TERN_PMPI_A3), int, MPI_Request *, MPI_Status *)

static int attentive_wait_any(tern_pmpi_call call, int count, MPI_Request *requests, int *index,
                              MPI_Status *status) {
    int done = 0;
    return TERN_PMPI_AWAIT(done, PMPI_Testany(count, requests, index, &done, status));
}
TERN_PMPI_WRAP(Waitany, attentive_wait_any(call, TERN_PMPI_A4), int, MPI_Request *, int *,
               MPI_Status *)

/* MPI sets *done to MPI_UNDEFINED, which is not 0, if no request is active. */
static int attentive_wait_some(tern_pmpi_call call, int count, MPI_Request *requests, int *done,
                               int *indices, MPI_Status *statuses) {
    return TERN_PMPI_AWAIT(*done != 0, PMPI_Testsome(count, requests, done, indices, statuses));
}
TERN_PMPI_WRAP(Waitsome, attentive_wait_some(call, TERN_PMPI_A5), int, MPI_Request *, int *, int *,
               MPI_Status *)
