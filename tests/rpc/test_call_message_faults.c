// tern-test: ranks survivors least=2

/* A rank dies that is called by message: a wait for its window tells, and so does a call later
 * too. */

#include "call_tools.h"

static double began;

static void told_soon(tern_status status) {
    EXPECT(TERN_ERR_PEER, status);
    EXPECT_DETAIL("has died");
    CU_ASSERT(MPI_Wtime() - began < 5);
}

static tern_status call_until_told(fixture *f, uint32_t victim, bool by_worker) {
    static const unsigned char arguments[1000];
    tern_status status = TERN_OK;
    while (status == TERN_OK && MPI_Wtime() - began < 10)
        status = by_worker ? tern_call_message(f->worker, to(victim), &receive_nothing_function,
                                               arguments, sizeof arguments)
                           : tern_context_call(f->context, to(victim), &receive_nothing_function,
                                               arguments, sizeof arguments);
    return status;
}

/* The same without waiting. */
static tern_status try_until_told(fixture *f, uint32_t victim, bool by_worker) {
    static const unsigned char arguments[1000];
    tern_status status = TERN_OK;
    while ((status == TERN_OK || status == TERN_ERR_AGAIN) && MPI_Wtime() - began < 10)
        status = by_worker
                     ? tern_call_message_try(f->worker, to(victim), &receive_nothing_function,
                                             arguments, sizeof arguments)
                     : tern_context_call_try(f->context, to(victim), &receive_nothing_function,
                                             arguments, sizeof arguments);
    return status;
}

static void a_called_rank_dies(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    if (!fixture_open(&f, NULL))
        return;
    uint32_t victim = f.size - 1;
    EXPECT_OK(tern_call_message(f.worker, to(victim), &receive_nothing_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(count_empty, f.rank == victim ? f.size : 0);
    fixture_lose(&f, victim);
    began = MPI_Wtime();
    told_soon(f.rank < 2 ? try_until_told(&f, victim, f.rank == 0)
                         : call_until_told(&f, victim, true));
    began = MPI_Wtime();
    told_soon(call_until_told(&f, victim, f.rank % 2 == 1));
    EXPECT(TERN_ERR_PEER,
           tern_call_message_try(f.worker, to(victim), &receive_nothing_function, NULL, 0));
    EXPECT(TERN_ERR_PEER, tern_quiesce(f.worker));
    EXPECT_OK(tern_call_message(f.worker, to(f.rank), &receive_nothing_function, NULL, 0));
    tern_progress(f.worker);
    CU_ASSERT_EQUAL(count_empty, 1);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a called rank dies", a_called_rank_dies}};
    return tern_test_main(argc, argv, "call_message_faults", tests, 1);
}
