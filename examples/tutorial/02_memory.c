/* Each rank writes into its neighbour's memory, and all count together. Run: mpirun -n 3 02_memory
 */
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "memory: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_ptr inbox, counter;
    uint64_t value, zero = 0;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    uint32_t rank = tern_context_rank(context), next = (rank + 1) % tern_context_size(context);

    /* 8 bytes on every rank, at the same place of each segment. */
    check(tern_alloc_all(worker, 8, 0, TERN_DOMAIN_GLOBAL, &inbox));
    check(tern_alloc_all(worker, 8, 0, TERN_DOMAIN_GLOBAL, &counter));
    check(tern_put(worker, counter, &zero, 8));

    value = 100 + rank;
    check(tern_put(worker, tern_ptr_on(inbox, next), &value, 8));
    check(tern_barrier(worker)); /* all puts are there */

    check(tern_get(worker, &value, inbox, 8));
    printf("rank %u was given %u\n", rank, (unsigned)value);

    /* All ranks add to the word of rank 0. */
    check(tern_atomic_fetch_add(worker, tern_ptr_on(counter, 0), rank, NULL));
    check(tern_barrier(worker));
    check(tern_atomic_load(worker, tern_ptr_on(counter, 0), &value));
    printf("rank %u reads the sum %u\n", rank, (unsigned)value);

    check(tern_free_all(worker, counter));
    check(tern_free_all(worker, inbox));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
