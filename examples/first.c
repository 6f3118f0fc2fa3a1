/* Every rank counts the letters of a text in one hash table that is spread over all ranks.
 * Run: mpirun -n 4 first */
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "first: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker; /* one thread's endpoint */
    tern_hashtable *table;
    tern_hashtable_options options = {.key_bytes = 1, .counter = 1, .capacity = 256};
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_hashtable_create(worker, &options, &table));

    for (const char *letter = "one table, all ranks"; *letter != '\0'; letter++)
        check(tern_hashtable_add(worker, table, letter, 1, TERN_WRITE_ONLY, NULL));
    check(tern_barrier(worker)); /* nobody writes any more */

    uint64_t count;
    check(tern_hashtable_find(worker, table, "a", TERN_READ_ONLY, &count));
    printf("rank %u finds %u times 'a'\n", tern_context_rank(context), (unsigned)count);

    check(tern_hashtable_destroy(worker, table));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
