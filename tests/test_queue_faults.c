// tern-test: ranks survivors

/* A rank dies between taking a ticket and using it: who needs that slot is told, by RMA and by
 * call. */

#include "fixture.h"

#include "queue/queue.h"

static bool told_soon(tern_status status, double since) {
    return status == TERN_ERR_PEER && MPI_Wtime() - since < 5;
}

static void a_rank_dies_holding_tickets(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    if (!fixture_open(&f, NULL))
        return;
    enum { CAPACITY = 3 };
    tern_queue *pushed = NULL, *popped = NULL;
    const tern_queue_options options = {.item_bytes = 8, .capacity = CAPACITY};
    EXPECT_OK(tern_queue_create(f.worker, &options, &pushed));
    EXPECT_OK(tern_queue_create(f.worker, &options, &popped));
    const tern_promise rw = TERN_PROMISE_READ_WRITE;
    uint64_t item = 9, seen, size = 99;
    if (f.rank == f.size - 1) {
        /* A push of which only the ticket is there, and a pop whose turn is not posted. */
        EXPECT_OK(tern_atomic_cas(f.worker, pushed->tail, 0, 1, &seen));
        for (int i = 0; i < CAPACITY; i++)
            EXPECT_OK(tern_queue_push(f.worker, popped, &item, rw, TERN_VIA_RMA));
        EXPECT_OK(tern_atomic_cas(f.worker, popped->head, 0, 1, &seen));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == f.size - 1)
        tern_test_kill((int)f.rank);
    for (int via = TERN_VIA_RMA; via <= TERN_VIA_CALL; via++) {
        double start = MPI_Wtime();
        CU_ASSERT(told_soon(tern_queue_pop(f.worker, pushed, &item, rw, (tern_via)via), start));
        EXPECT_DETAIL("has died");
        CU_ASSERT(told_soon(tern_queue_push(f.worker, popped, &item, rw, (tern_via)via), start));
    }
    EXPECT_OK(tern_queue_size(f.worker, popped, &size));
    CU_ASSERT_EQUAL(size, CAPACITY - 1);
    /* The others may still call this rank. */
    for (double end = MPI_Wtime() + 1; MPI_Wtime() < end;)
        tern_progress(f.worker);
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, pushed));
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, popped));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_holding_tickets", a_rank_dies_holding_tickets},
    };
    return tern_test_main(argc, argv, "queue_faults", tests, 1);
}
