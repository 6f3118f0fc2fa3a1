// tern-test: ranks survivors least=2

/* A rank dies while it holds the lock of a number of 16 bytes, in the segment of another rank: the
 * others take the lock over. */

#include "rma/memory/state.h"
#include "rma/memory/stripe.h"
#include "survivors.h"

static void a_holder_dies(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 16, TERN_DOMAIN_OWNER, all);
    const char *number = tern_internal_reach_address(f.worker, all[0], 16);
    if (f.rank == victim && number != NULL)
        (void)tern_stripe_lock(f.context, 0, number);
    fixture_lose(&f, victim);
    const double one[2] = {1, 2};
    for (int i = 0; i < 3; i++)
        EXPECT_OK(tern_accumulate(f.worker, all[0], one, 1, TERN_COMPLEX_DOUBLE, TERN_REDUCE_SUM));
    fixture_meet_living(&f);
    double now[2] = {0, 0};
    if (f.rank == 0) {
        memcpy(now, tern_local(f.context, all[0]), sizeof now);
        CU_ASSERT_EQUAL(now[0], 3.0 * (f.size - 1));
        CU_ASSERT_EQUAL(now[1], 6.0 * (f.size - 1));
    }
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_holder_dies", a_holder_dies}};
    return tern_test_main(argc, argv, "stripe_faults", tests, 1);
}
