// tern-test: ranks survivors least=2

/* A rank dies that is called by message: a wait for credit or for a result tells, and so does a
 * call later too. */

#include "call_tools.h"

static double began;

static void was_told(tern_status status) {
    EXPECT(TERN_ERR_PEER, status);
    EXPECT_DETAIL("has died");
}

static tern_status call_until_told(fixture *f, uint32_t victim, bool by_worker) {
    static const unsigned char arguments[1000];
    tern_status status = TERN_OK;
    while (status == TERN_OK && MPI_Wtime() - began < TERN_TEST_PATIENCE)
        status = by_worker ? tern_call(f->worker, tern_by_message(to(victim)),
                                       &receive_nothing_function, arguments, sizeof arguments)
                           : tern_call(tern_context_caller(f->context), to(victim),
                                       &receive_nothing_function, arguments, sizeof arguments);
    return status;
}

/* The same without waiting. */
static tern_status try_until_told(fixture *f, uint32_t victim, bool by_worker) {
    static const unsigned char arguments[1000];
    tern_status status = TERN_OK;
    while ((status == TERN_OK || status == TERN_ERR_AGAIN) &&
           MPI_Wtime() - began < TERN_TEST_PATIENCE)
        status = by_worker ? tern_call_try(f->worker, tern_by_message(to(victim)),
                                           &receive_nothing_function, arguments, sizeof arguments)
                           : tern_call_try(tern_context_caller(f->context), to(victim),
                                           &receive_nothing_function, arguments, sizeof arguments);
    return status;
}

static tern_status never_done(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_ERR_AGAIN;
}
TERN_FUNCTION(never_done)

enum { ASKED = 3, LARGE = 100000 };
static tern_request request[ASKED]; /* the first of the worker */
static char large[LARGE], result[8];

/* For results that the victim never gives. */
static void ask(fixture *f, uint32_t victim) {
    tern_worker *caller = tern_context_caller(f->context);
    for (int i = 0; i < ASKED && f->rank != victim; i++)
        EXPECT_OK(tern_call_start(i == 0 ? f->worker : caller, tern_by_message(to(victim)),
                                  &never_done_function, large, i == ASKED - 1 ? LARGE : 8, result,
                                  sizeof result, &request[i]));
}

/* The waits tell. */
static void asked_in_vain(fixture *f, uint32_t victim) {
    tern_worker *caller = tern_context_caller(f->context);
    int done = 0;
    began = MPI_Wtime();
    was_told(tern_wait(caller, &request[1]));
    while (!done && MPI_Wtime() - began < TERN_TEST_PATIENCE)
        EXPECT_OK(tern_test(caller, &request[2], &done));
    CU_ASSERT(done);
    was_told(tern_wait(caller, &request[2]));
    was_told(tern_wait(f->worker, &request[0]));
    was_told(
        tern_call_return(caller, to(victim), &never_done_function, large, LARGE, NULL, 0, NULL));
}

static size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
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
    EXPECT_OK(tern_call(f.worker, tern_by_message(to(victim)), &receive_nothing_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(count_empty, f.rank == victim ? f.size : 0);
    const size_t before = in_use(&f);
    ask(&f, victim);
    fixture_lose(&f, victim);
    asked_in_vain(&f, victim);
    began = MPI_Wtime();
    was_told(f.rank < 2 ? try_until_told(&f, victim, f.rank == 0)
                        : call_until_told(&f, victim, true));
    began = MPI_Wtime();
    was_told(call_until_told(&f, victim, f.rank % 2 == 1));
    EXPECT(TERN_ERR_PEER, tern_call_try(f.worker, tern_by_message(to(victim)),
                                        &receive_nothing_function, NULL, 0));
    EXPECT(TERN_ERR_PEER, tern_quiesce(f.worker));
    EXPECT_OK(tern_call(f.worker, tern_by_message(to(f.rank)), &receive_nothing_function, NULL, 0));
    tern_progress(f.worker);
    CU_ASSERT_EQUAL(count_empty, 1);
    CU_ASSERT(in_use(&f) < before + LARGE); /* what was lent to the dead is free */
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a called rank dies", a_called_rank_dies}};
    return tern_test_main(argc, argv, "call_message_faults", tests, 1);
}
