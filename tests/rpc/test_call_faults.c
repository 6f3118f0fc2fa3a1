// tern-test: ranks survivors least=2

/* A rank dies for which calls wait, some of them with chunks or too large for a ring: they are
 * given up, what they held is free again, and calls to the living go on. So they do where the dead
 * had called. */

#include "call_tools.h"
#include "survivors.h"

#include "rpc/state.h"
#include "tern/archive.h"

static fixture f;

static void give_up(uint32_t victim) {
    unsigned char arguments[200];
    for (uint64_t i = 0; i < 300; i++)
        EXPECT_OK(tern_call_queue(f.worker, to(victim), &receive_function, arguments,
                                  compose(arguments, f.rank, i, sizeof arguments)));
    start_clock();
    while (tern_rpc_worker_of(f.worker)->overflow != NULL && still_patient())
        tern_progress(f.worker);
    CU_ASSERT(tern_rpc_worker_of(f.worker)->overflow == NULL);
    CU_ASSERT_EQUAL(tern_rpc_worker_of(f.worker)->overflow_bytes, 0);
}

/* More than there are cells for. */
static void give_up_chunks(uint32_t victim) {
    static unsigned char memory[20000];
    tern_synchronizer reusable;
    tern_writer writer;
    EXPECT_OK(tern_synchronizer_create(f.worker, &reusable));
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1000));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 1000));
    EXPECT_OK(TERN_WRITE(&writer, memory, sizeof memory));
    tern_archive_options options = {.full = TERN_FULL_QUEUE, .reusable = &reusable};
    start_clock();
    for (uint32_t i = 0; i < 2 * TERN_CALL_REQUESTS;) {
        tern_status status =
            tern_call_archive(f.worker, to(victim), &receive_nothing_function, &writer, &options);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN);
        i += status == TERN_OK;
        tern_progress(f.worker);
        if (!still_patient())
            break;
    }
    uint64_t outstanding = 1;
    while (outstanding > 0 && still_patient())
        EXPECT_OK(tern_synchronizer_test(f.worker, reusable, &outstanding));
    CU_ASSERT_EQUAL(outstanding, 0);
    tern_writer_close(&writer);
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &reusable));
}

enum { LARGE = 50000 };

static size_t in_use(void) {
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    return info.in_use;
}

static uint64_t count_large, count_of_victim;

static tern_status receive_large(tern_call_info *call, const void *arguments, size_t bytes) {
    const unsigned char *at = arguments;
    uint64_t *count = call->origin.rank == play.victim ? &count_of_victim : &count_large;
    *count += bytes == LARGE && at[0] == call->origin.rank && at[LARGE - 1] == at[0];
    return TERN_OK;
}
TERN_FUNCTION(receive_large)

static tern_status call_large(uint32_t rank, tern_full full) {
    static unsigned char arguments[LARGE];
    const tern_call_options options = {.full = full};
    memset(arguments, (int)f.rank, LARGE);
    return tern_call_with(f.worker, to(rank), &receive_large_function, arguments, LARGE, &options);
}

/* More than the segment has room for. */
static void give_up_large(uint32_t victim, size_t before) {
    start_clock();
    for (uint32_t i = 0; i < 50 && still_patient();) {
        tern_status status = call_large(victim, TERN_FULL_QUEUE);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN || status == TERN_ERR_PEER);
        i += status != TERN_ERR_AGAIN;
        tern_progress(f.worker);
    }
    while (in_use() != before && still_patient())
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(in_use(), before);
}

/* As lose_later, with calls of the victim that it does not see to. */
static void lose_with_calls(uint32_t victim) {
    bool mine[2] = {false, false}, any[2];
    EXPECT_OK(tern_barrier(f.worker));
    tern_board_meet(mine, any);
    if (f.rank == victim) {
        for (uint32_t r = 0; r < victim; r++)
            for (int i = 0; i < 3; i++)
                tern_ignore(call_large(r, TERN_FULL_QUEUE));
        die_later();
    }
}

static void waiting_for_the_dead(void) {
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    const size_t before = in_use();
    count_large = count_of_victim = 0;
    lose_with_calls(victim);
    tern_log_set_level(TERN_LOG_NONE);
    give_up(victim);
    give_up_chunks(victim);
    give_up_large(victim, before);
    for (uint32_t r = 0; r < victim; r++)
        for (int i = 0; i < 20; i++)
            EXPECT_OK(call_large(r, TERN_FULL_WAIT));
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE;
         count_large < 20 * victim && MPI_Wtime() < end;)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(count_large, 20 * victim);
    CU_ASSERT(count_of_victim <= 3);
    meet_survivors(&f);
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE; in_use() != before && MPI_Wtime() < end;)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(in_use(), before);
    meet_survivors(&f);
    /* All cells are free: a result of one's own. */
    static tern_request request[TERN_CALL_REQUESTS];
    for (size_t i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_call_start(f.worker, to(f.rank), &receive_nothing_function, NULL, 0, NULL, 0,
                                  &request[i]));
    for (size_t i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_wait(f.worker, &request[i]));
    tern_log_set_level(TERN_LOG_WARN);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"waiting for the dead", waiting_for_the_dead}};
    return tern_test_main(argc, argv, "call_faults", tests, 1);
}
