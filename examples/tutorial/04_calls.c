/* Every rank votes at rank 0, which counts. Run: mpirun -n 3 04_calls */
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "calls: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* vote() is called anywhere; vote_here() runs where the votes are counted. */
TERN_REMOTE(vote, (uint32_t, number), TERN_STRING(reason))

static unsigned votes, sum;

tern_status vote_here(tern_call_info *call, uint32_t number, const char *reason) {
    votes++;
    sum += number;
    printf("rank %u votes %u %s\n", call->origin.rank, number, reason);
    return TERN_OK;
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    uint32_t rank = tern_context_rank(context);
    tern_worker_id teller = {0, 0}; /* worker 0 of rank 0 */

    check(vote(worker, teller, 10 * rank, rank % 2 ? "odd" : "even"));
    check(tern_quiesce(worker)); /* every call, everywhere, has run */

    if (rank == 0)
        printf("%u votes, in all %u\n", votes, sum);
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
