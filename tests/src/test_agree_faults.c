// tern-test: ranks survivors least=2

/* After a death collective functions and waits of a program end with TERN_ERR_PEER. */

#include "fixture.h"
#include "tern/agree.h"

static void all_end(void) {
    fixture f;
    uint64_t value = 1;
    int fd = -1;
    if (!fixture_open(&f, NULL))
        return;
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    fixture_lose(&f, 0);
    /* Rank 0 will not make it true. */
    tern_await wait = TERN_AWAIT_START;
    tern_status status = TERN_OK;
    while (status == TERN_OK)
        status = tern_await_round(f.worker, &wait, tern_progress(f.worker));
    EXPECT(TERN_ERR_PEER, status);
    EXPECT_DETAIL("rank 0 has died");
    CU_ASSERT_EQUAL(tern_context_dead(f.context), 0);
    EXPECT(TERN_ERR_PEER, tern_agree(f.worker, TERN_OK, "a step"));
    EXPECT(TERN_ERR_PEER, tern_same(f.worker, &value, sizeof value, "a value"));
    EXPECT(TERN_ERR_PEER, tern_sum(f.worker, &value, 1));
    EXPECT(TERN_ERR_PEER, tern_pass_descriptor(f.worker, 0, &fd));
    CU_ASSERT(value == 1 && fd == -1);
    EXPECT_OK(tern_collective_begin(f.worker, "shop_close"));
    EXPECT(TERN_ERR_PEER, tern_agree(f.worker, TERN_OK, "a step"));
    tern_collective_end(f.worker);
    fixture_meet_living(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"all_end", all_end}};
    return tern_test_main(argc, argv, "agree_faults", tests, 1);
}
