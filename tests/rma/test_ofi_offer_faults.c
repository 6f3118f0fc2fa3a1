// tern-test: ranks survivors least=3

/* A rank dies while two others test the network, after the origin has made its offer and before it
 * has an answer. The origin does not put to a target whose address it does not have. */

#include <pthread.h>

#include "rma/network/process.h"
#include "survivors.h"

static const tern_network_ops *real;
static tern_network_ops watched;
static uint64_t reached;
static bool has_reached;
static unsigned offers, astray;

static tern_status watched_open(const tern_network_options *options, tern_network **network) {
    const tern_status status = real->open(options, network);
    if (status == TERN_OK)
        (*network)->ops = &watched;
    return status;
}

static void *die_after_the_offer(void *nothing) {
    (void)nothing;
    while (!tern_test_all_arrived())
        usleep(1000);
    die_outside_mpi();
    return NULL;
}

/* The capabilities' offer, until the death is known. */
static tern_status late_offer(tern_network_end *end, uint64_t *peer, tern_network_name *offer) {
    const tern_status status = real->offer(end, peer, offer);
    if (offers++ == 0) {
        tern_test_arrive();
        while (!tern_test_dead(tern_test_size() - 1))
            usleep(1000);
        usleep(300000);
    }
    return status;
}

static tern_status noted_reach(tern_network_end *end, const tern_network_name *name,
                               uint64_t *peer) {
    const tern_status status = real->reach(end, name, peer);
    reached = *peer;
    has_reached = status == TERN_OK;
    return status;
}

static tern_status checked_post(tern_network_end *end, const tern_network_post *post) {
    if (has_reached && post->peer == reached)
        return real->post(end, post);
    astray++;
    return tern_fail(TERN_ERR_NETWORK, "a post to no address");
}

static const tern_network_ops *watch(const tern_network_ops *ops) {
    real = ops;
    watched = *ops;
    watched.open = watched_open;
    watched.offer = late_offer;
    watched.reach = noted_reach;
    watched.post = checked_post;
    return &watched;
}

static void a_death_behind_an_offer(void) {
    const int origin = 1, victim = tern_test_size() - 1;
    bool mine[2] = {false, false}, any[2];
    pthread_t thread;
    tern_context *context = NULL;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_OFI;
    config.ranks_per_node = 1;
    config.segment_size = (size_t)1 << 20;
    tern_log_set_level(TERN_LOG_NONE);
    tern_board_meet(mine, any);
    tern_network_hook = watch;
    if (tern_test_rank() != origin)
        tern_test_arrive();
    if (tern_test_rank() == victim)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, die_after_the_offer, NULL), 0);
    start_clock();
    (void)TOLD((uint32_t)victim, tern_context_create(MPI_COMM_WORLD, &config, &context));
    while (tern_test_rank() == victim)
        pause();
    CU_ASSERT_EQUAL(offers, tern_test_rank() == origin);
    CU_ASSERT_EQUAL(astray, 0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_death_behind_an_offer", a_death_behind_an_offer}};
    return tern_test_main(argc, argv, "ofi_offer_faults", tests, 1);
}
