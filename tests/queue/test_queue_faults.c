// tern-test: ranks survivors least=2

/* A rank dies between taking a ticket and using it: a rank that needs that slot is told, by RMA and
 * by call. */

#include "half_done.h"
#include "survivors.h"

/* Work that a dead rank might have, of which there is no end. */
static void work_in_vain(fixture *f, tern_distributed_queue *work) {
    uint64_t item;
    size_t popped;
    EXPECT(TERN_ERR_PEER, tern_distributed_queue_pop(f->worker, work, &item, 0));
    EXPECT_DETAIL("has died");
    EXPECT(TERN_ERR_PEER,
           tern_distributed_queue_pop_timed(f->worker, work, &item, 1, 60, 0, &popped));
    EXPECT(TERN_ERR_EMPTY, tern_distributed_queue_try_pop(f->worker, work, &item, TERN_LOCAL));
    EXPECT_OK(tern_distributed_queue_hold(f->worker, work));
    EXPECT_OK(tern_distributed_queue_release(f->worker, work));
}

/* Room and items that will not come, by way of every wait. */
static void wait_in_vain(fixture *f, tern_queue *full, tern_queue *empty) {
    uint64_t item = 9;
    size_t done = 9;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        EXPECT(TERN_ERR_PEER, tern_queue_pop_timed(f->worker, empty, &item, 60, path));
        EXPECT(TERN_ERR_PEER, tern_queue_push_timed(f->worker, full, &item, 60, path));
        EXPECT(TERN_ERR_PEER, tern_queue_pop(f->worker, empty, &item, path));
        EXPECT_DETAIL("has died");
        EXPECT(TERN_ERR_PEER, tern_queue_push(f->worker, full, &item, path));
        /* Operations that need no wait answer as before. */
        EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f->worker, empty, &item, path));
        EXPECT(TERN_ERR_FULL, tern_queue_try_push(f->worker, full, &item, path));
        EXPECT(TERN_ERR_EMPTY, tern_queue_pop_many(f->worker, empty, &item, 1, path, &done));
        EXPECT(TERN_ERR_FULL, tern_queue_push_many(f->worker, full, &item, 1, path, &done));
        CU_ASSERT(item == 9 && done == 0);
    }
}

/* Requests that come to the ticket of the dead: one after the other is told. */
static void start_in_vain(fixture *f, tern_queue *pushed, tern_queue *popped, tern_flags path) {
    enum { SOME = 3 };
    tern_request request[2][SOME] = {{{0}}};
    uint64_t items[2][SOME] = {{9, 9, 9}, {9, 9, 9}};
    for (size_t i = 0; i < SOME; i++) {
        EXPECT_OK(tern_queue_pop_start(f->worker, pushed, &items[0][i], path, &request[0][i]));
        EXPECT_OK(tern_queue_push_start(f->worker, popped, &items[1][i], path, &request[1][i]));
    }
    for (size_t i = 0; i < 2 * SOME; i++) {
        EXPECT(TERN_ERR_PEER, tern_wait(f->worker, &request[i % 2][i / 2]));
        CU_ASSERT_EQUAL(items[i % 2][i / 2], 9);
    }
}

static void a_rank_dies_holding_tickets(void) {
    fixture f;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    enum { CAPACITY = 3 };
    tern_queue *pushed = NULL, *popped = NULL;
    const tern_queue_options options = {.item_bytes = 8, .capacity = CAPACITY};
    EXPECT_OK(tern_queue_create(f.worker, &options, &pushed));
    EXPECT_OK(tern_queue_create(f.worker, &options, &popped));
    tern_queue *full = NULL, *empty = NULL;
    uint64_t item = 9, size = 99;
    const tern_queue_options one = {.item_bytes = 8, .capacity = 1};
    tern_distributed_queue *work = NULL;
    EXPECT_OK(tern_distributed_queue_create(f.worker, &one, &work));
    EXPECT_OK(tern_queue_create(f.worker, &one, &full));
    EXPECT_OK(tern_queue_create(f.worker, &one, &empty));
    if (f.rank == f.size - 1)
        EXPECT_OK(tern_queue_push(f.worker, full, &item, TERN_BY_RMA));
    if (f.rank == f.size - 1) {
        /* A push of which only the ticket is there, and a pop whose turn is not posted. */
        begin_first_push(&f, pushed);
        for (int i = 0; i < CAPACITY; i++)
            EXPECT_OK(tern_queue_try_push(f.worker, popped, &item, TERN_BY_RMA));
        begin_first_pop(&f, popped);
    }
    lose_later(&f); /* the others are waiting by then */
    work_in_vain(&f, work);
    wait_in_vain(&f, full, empty);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        EXPECT(TERN_ERR_PEER, tern_queue_try_pop(f.worker, pushed, &item, path));
        EXPECT_DETAIL("has died");
        EXPECT(TERN_ERR_PEER, tern_queue_try_push(f.worker, popped, &item, path));
        start_in_vain(&f, pushed, popped, path);
    }
    EXPECT_OK(tern_queue_size(f.worker, popped, &size));
    CU_ASSERT_EQUAL(size, CAPACITY - 1);
    meet_survivors(&f); /* survivors may still call this rank */
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, pushed));
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, popped));
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, full));
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, empty));
    EXPECT(TERN_ERR_PEER, tern_distributed_queue_destroy(f.worker, work));
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_holding_tickets", a_rank_dies_holding_tickets},
    };
    return tern_test_main(argc, argv, "queue_faults", tests, 1);
}
