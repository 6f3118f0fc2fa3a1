// tern-test: ranks survivors least=2

/* The owner of an array dies while the others update it: each update is done, or its rank is told.
 */

#include "survivors.h"

enum { N = 20000 };

/* Updates the victim's array until it is told, or long enough where load/store reaches it. */
static void update_until_told(const fixture *f, tern_ptr to, uint32_t victim, bool direct) {
    uint64_t *values = calloc(N, sizeof *values), *old = calloc(N, sizeof *old);
    tern_status status = TERN_OK;
    tern_request request = {0};
    for (uint64_t i = 0; status == TERN_OK && still_patient(); i++) {
        if (direct && tern_test_dead((int)victim))
            break;
        if (i % 3 == 0)
            status = tern_accumulate(f->worker, to, values, N, TERN_UINT64, TERN_REDUCE_SUM);
        else if (i % 3 == 1)
            status =
                tern_get_accumulate(f->worker, to, values, old, N, TERN_UINT64, TERN_REDUCE_SUM);
        else {
            status = tern_get_accumulate_start(f->worker, to, values, old, N / 8, TERN_UINT64,
                                               TERN_REDUCE_SUM, &request);
            if (status == TERN_OK)
                status = tern_wait(f->worker, &request);
        }
        if (direct)
            tern_progress(f->worker);
    }
    if (direct)
        EXPECT_OK(status);
    else {
        (void)TOLD(victim, status);
        EXPECT(TERN_ERR_PEER,
               tern_accumulate(f->worker, to, values, N, TERN_UINT64, TERN_REDUCE_SUM));
    }
    free(old);
    free(values);
}

static void an_owner_dies(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    uint64_t random = tern_test_seed();
    tern_config config;
    fixture f;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, N * 8, TERN_DOMAIN_OWNER, all);
    rounds_left = 100 + below(&random, 5000);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim) {
        EXPECT_OK(tern_progress_hook_add(f.context, die_in_round, NULL));
        for (;;)
            tern_progress(f.worker);
    }
    start_clock();
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f.context, victim, &transport));
    update_until_told(&f, all[victim], victim, transport == TERN_SHM);
    fixture_meet_living(&f);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"an_owner_dies", an_owner_dies}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "accumulate_faults", tests, 1);
}
