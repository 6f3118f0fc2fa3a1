/* Each rank writes a greeting into its neighbour's memory and calls the neighbour to read it there.
 * Rank 0 hosts a queue, into which every rank pushes its number. Run: mpirun -n 4 hello */
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "hello: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

TERN_REMOTE(greet, TERN_SEGMENT(const char, text)) /* greet() runs greet_here() elsewhere */

tern_status greet_here(tern_call_info *call, const char *text, size_t text_count) {
    (void)call;
    printf("%.*s\n", (int)text_count, text);
    return TERN_OK;
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_queue *queue;
    tern_ptr place;
    char text[32];
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    uint32_t rank = tern_context_rank(context), next = (rank + 1) % tern_context_size(context);

    snprintf(text, sizeof text, "hello from rank %u", rank);
    check(tern_alloc_on(worker, next, TERN_NUMA_ANY, sizeof text, 0, TERN_DOMAIN_GLOBAL, &place));
    check(tern_put(worker, place, text, sizeof text));
    check(tern_fence(worker, next)); /* the put before the call */
    check(greet(worker, (tern_worker_id){next, 0}, place, strlen(text)));
    check(tern_quiesce(worker)); /* every call everywhere has run */

    tern_queue_options options = {.item_bytes = sizeof rank, .capacity = 1024};
    check(tern_queue_create(worker, &options, &queue));
    check(tern_queue_push(worker, queue, &rank, TERN_BY_RMA));
    check(tern_barrier(worker));
    while (rank == 0 &&
           tern_queue_pop(worker, queue, &next, TERN_READ_ONLY | TERN_BY_RMA) == TERN_OK)
        printf("rank %u was here\n", next);
    check(tern_queue_destroy(worker, queue));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
