#include <stdlib.h>

#include "pmpi/wrap.h"

/*
 * Blocking point-to-point calls become their non-blocking form and a wait with progress. This works
 * on every communicator, since blocking and non-blocking calls match each other. A receive from
 * MPI_PROC_NULL waits for nothing and is called as it is: MPICH's request for it would give another
 * status.
 */

#define SEND(name, start)                                                                          \
    TERN_PMPI_WRAP(name,                                                                           \
                   TERN_PMPI_STARTED(start, const void *, int, MPI_Datatype, int, int, MPI_Comm),  \
                   const void *, int, MPI_Datatype, int, int, MPI_Comm)

SEND(Send, Isend)
SEND(Ssend, Issend)
SEND(Rsend, Irsend)

static int attentive_receive(tern_pmpi_call call, void *data, int count, MPI_Datatype type,
                             int rank, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request request;
    if (rank == MPI_PROC_NULL)
        return PMPI_Recv(data, count, type, rank, tag, comm, status);
    int started = PMPI_Irecv(data, count, type, rank, tag, comm, &request);
    return tern_pmpi_finish(call, started, &request, status);
}
TERN_PMPI_WRAP(Recv, attentive_receive(call, TERN_PMPI_A7), void *, int, MPI_Datatype, int, int,
               MPI_Comm, MPI_Status *)

static int attentive_matched_receive(tern_pmpi_call call, void *data, int count, MPI_Datatype type,
                                     MPI_Message *message, MPI_Status *status) {
    MPI_Request request;
    int started = PMPI_Imrecv(data, count, type, message, &request);
    return tern_pmpi_finish(call, started, &request, status);
}
TERN_PMPI_WRAP(Mrecv, attentive_matched_receive(call, TERN_PMPI_A5), void *, int, MPI_Datatype,
               MPI_Message *, MPI_Status *)

/* Waits for a receive and for a send, and returns the code of the receive if it failed, else that
 * of the send. */
static int pmpi_exchange(tern_pmpi_call call, MPI_Request *receive, int from, int started,
                         MPI_Request *send, MPI_Comm comm, MPI_Status *status) {
    if (started != MPI_SUCCESS) { /* the send did not start; cancel the receive too */
        PMPI_Cancel(receive);
        PMPI_Wait(receive, MPI_STATUS_IGNORE);
        return started;
    }
    int received = tern_pmpi_finish(call, MPI_SUCCESS, receive, status);
    if (from == MPI_PROC_NULL)
        received = PMPI_Recv(NULL, 0, MPI_BYTE, from, 0, comm, status);
    int sent = tern_pmpi_finish(call, MPI_SUCCESS, send, MPI_STATUS_IGNORE);
    return received != MPI_SUCCESS ? received : sent;
}

static int attentive_exchange(tern_pmpi_call call, const void *data, int count, MPI_Datatype type,
                              int to, int tag, void *room, int room_count, MPI_Datatype room_type,
                              int from, int from_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request receive, send;
    int started = PMPI_Irecv(room, room_count, room_type, from, from_tag, comm, &receive);
    if (started != MPI_SUCCESS)
        return started;
    started = PMPI_Isend(data, count, type, to, tag, comm, &send);
    return pmpi_exchange(call, &receive, from, started, &send, comm, status);
}
TERN_PMPI_WRAP(Sendrecv, attentive_exchange(call, TERN_PMPI_A12), const void *, int, MPI_Datatype,
               int, int, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *)

/* Sends a copy of the data, since the receive overwrites the data in place. */
static int attentive_replacement(tern_pmpi_call call, void *data, int count, MPI_Datatype type,
                                 int to, int tag, int from, int from_tag, MPI_Comm comm,
                                 MPI_Status *status) {
    MPI_Request receive, send;
    int bytes = 0, end = 0;
    int packed = PMPI_Pack_size(count, type, comm, &bytes);
    if (packed != MPI_SUCCESS)
        return packed;
    void *copy = malloc((size_t)bytes + 1);
    if (copy == NULL) {
        PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    packed = PMPI_Pack(data, count, type, copy, bytes, &end, comm);
    if (packed == MPI_SUCCESS)
        packed = PMPI_Irecv(data, count, type, from, from_tag, comm, &receive);
    if (packed == MPI_SUCCESS) {
        int started = PMPI_Isend(copy, end, MPI_PACKED, to, tag, comm, &send);
        packed = pmpi_exchange(call, &receive, from, started, &send, comm, status);
    }
    free(copy);
    return packed;
}
TERN_PMPI_WRAP(Sendrecv_replace, attentive_replacement(call, TERN_PMPI_A9), void *, int,
               MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *)

static int attentive_probe(tern_pmpi_call call, int rank, int tag, MPI_Comm comm,
                           MPI_Status *status) {
    int found = 0;
    return TERN_PMPI_AWAIT(found, PMPI_Iprobe(rank, tag, comm, &found, status));
}
TERN_PMPI_WRAP(Probe, attentive_probe(call, TERN_PMPI_A4), int, int, MPI_Comm, MPI_Status *)

static int attentive_matched_probe(tern_pmpi_call call, int rank, int tag, MPI_Comm comm,
                                   MPI_Message *message, MPI_Status *status) {
    int found = 0;
    return TERN_PMPI_AWAIT(found, PMPI_Improbe(rank, tag, comm, &found, message, status));
}
TERN_PMPI_WRAP(Mprobe, attentive_matched_probe(call, TERN_PMPI_A5), int, int, MPI_Comm,
               MPI_Message *, MPI_Status *)
