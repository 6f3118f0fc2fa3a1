/* A number goes around all ranks, each of which doubles it. Run: mpirun -n 3 03_notify */
#include <stdio.h>
#include <string.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "notify: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_ptr place;
    tern_event event;
    uint64_t number = 1;
    uint32_t hops = 0; /* what the other side is told along with the data */
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    uint32_t rank = tern_context_rank(context), size = tern_context_size(context);
    tern_worker_id next = {(rank + 1) % size, 0};
    check(tern_alloc_all(worker, sizeof number, 0, TERN_DOMAIN_GLOBAL, &place));

    if (rank > 0) { /* rank 0 begins, the others wait for the number first */
        check(tern_event_wait(worker, TERN_PROBE_REMOTE, &event));
        check(tern_get(worker, &number, place, sizeof number));
        memcpy(&hops, event.cid, sizeof hops);
        printf("rank %u got %u from rank %u after %u hops\n", rank, (unsigned)number,
               event.peer.rank, hops);
        number *= 2;
    }
    hops++;
    tern_notify_options told = {
        .cid = &hops, .cid_bytes = sizeof hops, .flags = TERN_NOTIFY_NO_LOCAL};
    check(tern_put_notify(worker, next, tern_ptr_on(place, next.rank), &number, sizeof number,
                          &told));
    if (rank == 0) { /* and meets it again at the end */
        check(tern_event_wait(worker, TERN_PROBE_REMOTE, &event));
        check(tern_get(worker, &number, place, sizeof number));
        printf("rank 0 ends with %u\n", (unsigned)number);
    }

    check(tern_free_all(worker, place));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
