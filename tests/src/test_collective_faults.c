// tern-test: ranks survivors least=2

/* A rank dies in a collective of tern's own. A rank that knows of it begins none: those who do not
 * know yet may be in another one. */

#include "survivors.h"

#include "src/collective/collective.h"
#include "src/collective/meeting.h"
#include "src/progress/wait.h"

static int begun; /* collectives of MPI */

/* Rank 0 has begun none, and the others one: in shared memory, where all ranks meet there. */
static void check_begun(const fixture *f) {
    const tern_meeting *meeting = f->context->meeting;
    if (meeting == NULL) {
        CU_ASSERT_EQUAL(begun, f->rank != 0);
        return;
    }
    const uint64_t others = (uint64_t)f->size - 2, own = f->rank != 0;
    const uint64_t arrived = atomic_load(&meeting->arrived) & TERN_MEETING_COUNT;
    CU_ASSERT_EQUAL(begun, 0);
    CU_ASSERT(own <= arrived && arrived <= others);
}

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    begun++;
    return MPI_Ibarrier(comm, request);
}

int PMPI_Iallgather(const void *mine, int count, MPI_Datatype type, void *all, int each,
                    MPI_Datatype of, MPI_Comm comm, MPI_Request *request) {
    begun++;
    return MPI_Iallgather(mine, count, type, all, each, of, comm, request);
}

int PMPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request *request) {
    begun++;
    return MPI_Iallreduce(mine, all, count, type, op, comm, request);
}

int PMPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                MPI_Request *request) {
    begun++;
    return MPI_Ibcast(data, count, type, root, comm, request);
}

static void who_knows_begins_none(void) {
    fixture f;
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    uint64_t values[64] = {0}, gathered[64];
    lose_later(&f);
    begun = 0;
    if (f.rank == 0) { /* elsewhere until it knows, while the others wait in a longer one */
        tern_status status = TERN_OK;
        while (status == TERN_OK && still_patient())
            status = tern_glance(f.worker, victim);
        (void)TOLD(victim, status);
    } else {
        (void)TOLD(victim, tern_collective_sum(f.context, f.worker, values, 64));
    }
    check_begun(&f);
    (void)TOLD(victim, tern_collective_barrier(f.context, f.worker));
    (void)TOLD(victim, tern_collective_sum(f.context, f.worker, values, 1));
    (void)TOLD(victim, tern_collective_broadcast(f.context, f.worker, 0, values, 8));
    if (f.size <= 64)
        (void)TOLD(victim, tern_collective_allgather(f.context, f.worker, values, 8, gathered));
    (void)TOLD(victim, tern_collective_agree(f.context, f.worker, TERN_OK, "nothing"));
    (void)TOLD(victim, tern_collective_same(f.context, f.worker, values, 8, "nothing"));
    check_begun(&f);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"who_knows_begins_none", who_knows_begins_none}};
    return tern_test_main(argc, argv, "collective_faults", tests, 1);
}
