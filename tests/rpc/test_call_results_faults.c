// tern-test: ranks survivors least=2

/* A rank dies that lends large results, and that was lent some: callers have theirs or are told,
 * memory that was lent to it is free again, and nobody writes to what a caller has got back. */

#include "result_tools.h"
#include "survivors.h"

enum { BYTES = 150000, AFTER = 64 };

static fixture f;

/* Over shm the memory of the dead is still there. */
static void wait_for_the_dead(uint32_t victim, tern_request *request, const wish *w,
                              unsigned char *result) {
    tern_transport transport = TERN_P2P;
    EXPECT_OK(tern_context_transport(f.context, victim, &transport));
    memset(result, 0xee, BYTES);
    tern_status status = tern_wait(f.worker, request);
    if (status == TERN_OK)
        expect_result(w, result, tern_request_result(request));
    else if (transport == TERN_SHM || !TOLD(victim, status))
        EXPECT_OK(status);
    memset(result, 0x11, BYTES);
    for (int i = 0; i < 1000; i++)
        tern_progress(f.worker);
    uint64_t wrong = 0;
    for (size_t i = 0; i < BYTES; i++)
        wrong += result[i] != 0x11;
    CU_ASSERT_EQUAL(wrong, 0);
}

static void expect_given_back(size_t before) {
    start_clock();
    while (in_use(&f) != before && still_patient())
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(in_use(&f), before);
}

static void lender_and_borrower_die(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    const size_t before = in_use(&f);
    tern_request request[RANKS] = {0};
    unsigned char *room = malloc(RANKS * BYTES);
    const wish w = {BYTES, f.rank, AFTER};
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++)
        if ((r == victim) != (f.rank == victim))
            EXPECT_OK(tern_call_start(f.worker, to(r), &give_function, &w, sizeof w,
                                      room + r * BYTES, BYTES, &request[r]));
    EXPECT_OK(tern_quiesce(f.worker));
    if (f.rank != victim)
        CU_ASSERT(in_use(&f) >= before + BYTES);
    lose_later(&f);
    tern_log_set_level(TERN_LOG_NONE);
    wait_for_the_dead(victim, &request[victim], &w, room + victim * BYTES);
    expect_given_back(before);
    /* The living go on. */
    unsigned char *result = malloc(BYTES);
    for (uint32_t r = 0; r < victim; r++) {
        size_t got = 0;
        EXPECT_OK(
            tern_call_return(f.worker, to(r), &give_function, &w, sizeof w, result, BYTES, &got));
        expect_result(&w, result, got);
    }
    free(result);
    meet_survivors(&f);
    expect_given_back(before);
    tern_log_set_level(TERN_LOG_WARN);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"lender and borrower die", lender_and_borrower_die}};
    return tern_test_main(argc, argv, "call_results_faults", tests, 1);
}
