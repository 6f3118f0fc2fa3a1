// tern-test: ranks survivors least=2

/* A rank dies at a random moment while all create a context, but not inside MPI, and does not
 * always come to create one before: the others get a context or are told of the death, and nobody
 * hangs. Each trial is a job of its own: a process can die once. */

#include <pthread.h>

#include "survivors.h"

static uint64_t moment_us;

/* No creation lasts longer, on machines that are not busy. Over a network ranks also look for the
 * way that it likes best. */
static uint64_t longest_us(const tern_config *config) {
    if (config->transport == TERN_TRANSPORT_OFI)
        return 1500000;
    return config->ranks_per_node == 1 ? 300000 : 60000;
}

/* Half of the moments are early, where ranks find each other. */
static uint64_t draw_moment(const tern_config *config, uint64_t *state) {
    const bool early = tern_test_random(state) % 2 == 0;
    return tern_test_random(state) % (early ? 3000 : longest_us(config));
}

static void killed_in_creation(void) {
    const int victim = tern_test_size() - 1;
    uint64_t state = tern_test_seed();
    pthread_t thread;
    bool mine[2] = {false, false}, any[2];
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    moment_us = draw_moment(&config, &state);
    const bool comes = tern_test_random(&state) % 4 != 0;
    tern_log_set_level(TERN_LOG_NONE);
    tern_board_meet(mine, any);
    if (tern_test_rank() == victim)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, die_in_time, &moment_us), 0);
    start_clock();
    tern_context *context = NULL;
    tern_status status = TERN_OK;
    if (comes || tern_test_rank() != victim)
        status = tern_context_create(MPI_COMM_WORLD, &config, &context);
    if (tern_test_rank() == victim)
        for (;;)
            pause();
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
    if (status == TERN_OK) {
        tern_worker *worker = NULL;
        EXPECT_OK(tern_worker_adopt(context, 0, &worker));
        while (status == TERN_OK && still_patient())
            status = tern_barrier(worker);
        CU_ASSERT_EQUAL(status, TERN_ERR_PEER);
        EXPECT_OK(tern_worker_release(worker));
        EXPECT_OK(tern_context_destroy(context));
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"killed in creation", killed_in_creation}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "context_create_faults", tests, 1);
}
