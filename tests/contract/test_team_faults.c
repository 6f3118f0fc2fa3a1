// tern-test: ranks survivors least=3

/* A rank dies: collectives of its teams end with TERN_ERR_PEER, those of other teams go on. */

#include "survivors.h"

/* Makes the team of the ranks that stay. */
static tern_team *team_of_living(const fixture *f, uint32_t victim) {
    uint32_t ranks[64], count = 0;
    tern_team *team = NULL;
    for (uint32_t r = 0; r < f->size; r++)
        if (r != victim)
            ranks[count++] = r;
    EXPECT_OK(tern_team_create(f->worker, ranks, count, &team));
    return team;
}

/* The team of the others sums up as if nothing had happened. */
static void living_sum(fixture *f, tern_team *living) {
    uint64_t value[300];
    for (int times = 0; times < 20; times++) {
        for (uint32_t i = 0; i < 300; i++)
            value[i] = i + f->rank;
        EXPECT_OK(tern_team_allreduce(f->worker, living, TERN_UINT64, TERN_REDUCE_MIN, value, 300));
        CU_ASSERT_EQUAL(value[299], 299);
        EXPECT_OK(tern_team_barrier(f->worker, living));
    }
}

/* The last rank dies while the others are in collectives that need it. */
static void member_dies(void) {
    fixture f;
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, victim))
        return;
    tern_request request[3];
    uint64_t value = 1, data[1000] = {0};
    memset(request, 0, sizeof request);
    EXPECT_OK(tern_team_barrier(f.worker, NULL));
    lose_later(&f);
    tern_team *living = team_of_living(&f, victim);
    EXPECT_OK(tern_team_allreduce_start(f.worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &value, 1,
                                        &request[0]));
    EXPECT_OK(tern_team_broadcast_start(f.worker, NULL, victim, data, sizeof data, &request[1]));
    EXPECT_OK(tern_team_barrier_start(f.worker, NULL, &request[2]));
    for (int i = 2; i >= 0; i--)
        TOLD(victim, tern_wait(f.worker, &request[i]));
    CU_ASSERT_EQUAL(value, 1);
    /* What starts later fails, too. */
    TOLD(victim, tern_team_barrier(f.worker, NULL));
    living_sum(&f, living);
    EXPECT_OK(tern_team_destroy(f.worker, living));
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"member_dies", member_dies}};
    return tern_test_main(argc, argv, "team_faults", tests, 1);
}
