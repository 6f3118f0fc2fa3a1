#include "pmpi/wrap.h"

/*
 * Collectives that have no non-blocking form. Their ranks first meet in a barrier, for which they
 * wait with progress. After it all ranks have arrived, so a rank in the collective waits for MPI
 * alone.
 */

MEETING(Comm_dup, a2, MPI_Comm, MPI_Comm *)
MEETING(Comm_dup_with_info, a3, MPI_Comm, MPI_Info, MPI_Comm *)
MEETING(Comm_create, a3, MPI_Comm, MPI_Group, MPI_Comm *)
MEETING(Comm_split, a4, MPI_Comm, int, int, MPI_Comm *)
MEETING(Comm_split_type, a5, MPI_Comm, int, int, MPI_Info, MPI_Comm *)
MEETING(Comm_disconnect, *a1, MPI_Comm *)
MEETING(Cart_create, a6, MPI_Comm, int, const int *, const int *, int, MPI_Comm *)
MEETING(Cart_sub, a3, MPI_Comm, const int *, MPI_Comm *)
MEETING(Graph_create, a6, MPI_Comm, int, const int *, const int *, int, MPI_Comm *)
MEETING(Dist_graph_create, a9, MPI_Comm, int, const int *, const int *, const int *, const int *,
        MPI_Info, int, MPI_Comm *)
MEETING(Dist_graph_create_adjacent, a10, MPI_Comm, int, const int *, const int *, int, const int *,
        const int *, MPI_Info, int, MPI_Comm *)
MEETING(Intercomm_create, a6, MPI_Comm, int, MPI_Comm, int, int, MPI_Comm *)
MEETING(Intercomm_merge, a3, MPI_Comm, int, MPI_Comm *)

TERN_API int MPI_Finalize(void) {
    TERN_PMPI_BODY("MPI_Finalize", PMPI_Finalize(),
                   TERN_PMPI_THEN(tern_pmpi_meet(call, MPI_COMM_WORLD), PMPI_Finalize()))
}
