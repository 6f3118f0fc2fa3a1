#include "pmpi/wrap.h"

/*
 * Blocking collectives. A blocking collective never matches its non-blocking form (MPI-3.1, 5.12),
 * so all ranks of a communicator have to replace a call in the same way. Each rank decides alone,
 * without a message, and all decide the same:
 *
 * - A communicator qualifies if its whole group belongs to one live context in which every rank has
 *   libtern_pmpi (the ranks agreed on that when they created the context). For an intercommunicator
 *   the groups of both sides count. All of its ranks are then in that context, and compare the same
 *   groups.
 * - Creating and destroying a context are collective calls that wait for all of its ranks. MPI
 *   requires that a program would not hang even if each collective waited for all ranks (MPI-3.1,
 *   5.14). So any two ranks of a communicator that qualifies call the creation, the destruction,
 *   and each collective on that communicator in the same order: if one rank finds the context
 *   alive, all ranks do. A death can make the destruction a local call, but its place among the
 *   calls stays the same, so this still holds.
 * - Only the program can order these calls between threads, as it has to order collectives on one
 *   communicator (MPI-3.1, 12.4.2). A context's creation and destruction therefore count as
 *   collective calls on every communicator of its ranks: the program orders them with the
 *   collectives of other threads.
 *
 * The answer is kept as an attribute of the communicator, together with the count of changes for
 * which it is right.
 */

static _Atomic int keyval = MPI_KEYVAL_INVALID;

static int get_keyval(void) {
    /* R1: get_keyval; the key of a thread that was faster */
    int key = atomic_load_explicit(&keyval, memory_order_acquire);
    if (key != MPI_KEYVAL_INVALID)
        return key;
    int fresh = MPI_KEYVAL_INVALID;
    /* R1: get_keyval; also when it fails and reads the other thread's key */
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &fresh, NULL) ==
            MPI_SUCCESS &&
        !atomic_compare_exchange_strong(&keyval, &key, fresh)) {
        PMPI_Comm_free_keyval(&fresh); /* another thread was faster */
        fresh = key;
    }
    return fresh;
}

static bool all_in_one_context(tern_pmpi_call call, MPI_Comm comm) {
    MPI_Group local = MPI_GROUP_NULL, remote = MPI_GROUP_NULL, both = MPI_GROUP_NULL;
    int between = 0;
    PMPI_Comm_test_inter(comm, &between);
    PMPI_Comm_group(comm, &local);
    if (!between) {
        both = local;
    } else {
        PMPI_Comm_remote_group(comm, &remote);
        PMPI_Group_union(local, remote, &both);
        PMPI_Group_free(&local);
        PMPI_Group_free(&remote);
    }
    const bool all = call.host->covers(both);
    PMPI_Group_free(&both);
    return all;
}

bool tern_pmpi_qualifies(tern_pmpi_call call, MPI_Comm comm) {
    if (comm == MPI_COMM_NULL)
        return false;
    /* R8: announce_change; before the look at the contexts */
    const uint64_t now = atomic_load_explicit(call.host->changes, memory_order_acquire);
    const int key = get_keyval();
    void *value = NULL;
    int found = 0;
    PMPI_Comm_get_attr(comm, key, &value, &found);
    if (found && (uintptr_t)value >> 1 == now)
        return (uintptr_t)value & 1;
    const bool qualifies = all_in_one_context(call, comm);
    PMPI_Comm_set_attr(comm, key, (void *)(uintptr_t)(now << 1 | qualifies));
    return qualifies;
}

int tern_pmpi_meet(tern_pmpi_call call, MPI_Comm comm) {
    MPI_Request request;
    if (!tern_pmpi_qualifies(call, comm))
        return MPI_SUCCESS;
    return tern_pmpi_finish(call, PMPI_Ibarrier(comm, &request), &request, MPI_STATUS_IGNORE);
}

/* The communicator is the last parameter of each. */
#define COLLECTIVE(name, start, ...)                                                               \
    TERN_PMPI_WRAP(name,                                                                           \
                   tern_pmpi_qualifies(call, a1) ? TERN_PMPI_STARTED(start, __VA_ARGS__)           \
                                                 : PMPI_##name(TERN_PMPI_ARGUMENTS(__VA_ARGS__)),  \
                   __VA_ARGS__)

COLLECTIVE(Barrier, Ibarrier, MPI_Comm)
COLLECTIVE(Bcast, Ibcast, void *, int, MPI_Datatype, int, MPI_Comm)
COLLECTIVE(Gather, Igather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int,
           MPI_Comm)
COLLECTIVE(Gatherv, Igatherv, const void *, int, MPI_Datatype, void *, const int *, const int *,
           MPI_Datatype, int, MPI_Comm)
COLLECTIVE(Scatter, Iscatter, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int,
           MPI_Comm)
COLLECTIVE(Scatterv, Iscatterv, const void *, const int *, const int *, MPI_Datatype, void *, int,
           MPI_Datatype, int, MPI_Comm)
COLLECTIVE(Allgather, Iallgather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
           MPI_Comm)
COLLECTIVE(Allgatherv, Iallgatherv, const void *, int, MPI_Datatype, void *, const int *,
           const int *, MPI_Datatype, MPI_Comm)
COLLECTIVE(Alltoall, Ialltoall, const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
           MPI_Comm)
COLLECTIVE(Alltoallv, Ialltoallv, const void *, const int *, const int *, MPI_Datatype, void *,
           const int *, const int *, MPI_Datatype, MPI_Comm)
COLLECTIVE(Alltoallw, Ialltoallw, const void *, const int *, const int *, const MPI_Datatype *,
           void *, const int *, const int *, const MPI_Datatype *, MPI_Comm)
COLLECTIVE(Reduce, Ireduce, const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm)
COLLECTIVE(Allreduce, Iallreduce, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)
COLLECTIVE(Reduce_scatter, Ireduce_scatter, const void *, void *, const int *, MPI_Datatype, MPI_Op,
           MPI_Comm)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, const void *, void *, int, MPI_Datatype,
           MPI_Op, MPI_Comm)
COLLECTIVE(Scan, Iscan, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)
COLLECTIVE(Exscan, Iexscan, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, const void *, int, MPI_Datatype, void *, int,
           MPI_Datatype, MPI_Comm)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, const void *, int, MPI_Datatype, void *,
           const int *, const int *, MPI_Datatype, MPI_Comm)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, const void *, int, MPI_Datatype, void *, int,
           MPI_Datatype, MPI_Comm)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, const void *, const int *, const int *,
           MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, const void *, const int *, const MPI_Aint *,
           const MPI_Datatype *, void *, const int *, const MPI_Aint *, const MPI_Datatype *,
           MPI_Comm)
