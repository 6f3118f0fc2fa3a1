// tern-test: ranks survivors least=2

/* A rank dies for which calls wait, some of them with chunks: they are given up, what they held is
 * free again, and calls to the living go on. */

#include "call_tools.h"
#include "survivors.h"

#include "rpc/state.h"
#include "tern/call_archive.h"

static fixture f;

static void give_up(uint32_t victim) {
    unsigned char arguments[200];
    for (uint64_t i = 0; i < 300; i++)
        EXPECT_OK(tern_call_queue(f.worker, to(victim), &receive_function, arguments,
                                  compose(arguments, f.rank, i, sizeof arguments)));
    start_clock();
    while (tern_rpc_worker_of(f.worker)->overflow != NULL && MPI_Wtime() - began < soon)
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
    for (uint32_t i = 0; i < 2 * TERN_FUTURES;) {
        tern_status status =
            tern_call_archive(f.worker, to(victim), &receive_nothing_function, &writer, &options);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN);
        i += status == TERN_OK;
        tern_progress(f.worker);
        if (MPI_Wtime() - began > soon)
            break;
    }
    uint64_t outstanding = 1;
    while (outstanding > 0 && MPI_Wtime() - began < soon)
        EXPECT_OK(tern_synchronizer_test(f.worker, reusable, &outstanding));
    CU_ASSERT_EQUAL(outstanding, 0);
    CU_ASSERT(MPI_Wtime() - began < soon);
    tern_writer_close(&writer);
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &reusable));
}

static void waiting_for_the_dead(void) {
    uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    lose_later(&f);
    tern_log_set_level(TERN_LOG_NONE);
    give_up(victim);
    give_up_chunks(victim);
    /* All cells are free: a result of one's own. */
    static tern_future future[TERN_FUTURES];
    for (size_t i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(
            tern_call_start(f.worker, to(f.rank), &receive_nothing_function, NULL, 0, &future[i]));
    for (size_t i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(tern_future_wait(f.worker, &future[i], NULL, 0, NULL));
    tern_log_set_level(TERN_LOG_WARN);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"waiting for the dead", waiting_for_the_dead}};
    return tern_test_main(argc, argv, "call_faults", tests, 1);
}
