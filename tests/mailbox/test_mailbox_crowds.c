/*
 * How the workers of a share wait when there are more workers than cores.
 */

#include <sched.h>
#include <string.h>

#include "echo.h"
#include "fixture.h"

#define SECOND UINT64_C(1000000000)

static tern_mailbox_share *share;

static bool open_share(void) {
    tern_mailbox_options options = {1, 64, 8};
    return EXPECT_OK(tern_mailbox_create(&options, &share));
}

/* Waits without a server, for long enough that the wait checks the other workers. */
static bool finds_a_crowd(tern_mailbox_worker *worker) {
    CU_ASSERT_EQUAL(tern_mailbox_request(worker, "", 0, NULL, 0, NULL, SECOND / 50),
                    TERN_ERR_TIMEOUT);
    return worker->crowded;
}

/* The workers may run on one core, and then one of them on all cores: a waiting worker notices when
 * there are more workers than cores. */
static void more_than_cores(void) {
    cpu_set_t all, one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof all, &all), 0);
    if (!open_share())
        return;
    CPU_ZERO(&one);
    for (size_t core = 0; CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &all))
            CPU_SET(core, &one);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    tern_mailbox_worker workers[3];
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &workers[0]));
    CU_ASSERT_FALSE(finds_a_crowd(&workers[0]));
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &workers[1]));
    CU_ASSERT_TRUE(finds_a_crowd(&workers[0]));
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof all, &all), 0);
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &workers[2]));
    CU_ASSERT_EQUAL(finds_a_crowd(&workers[1]), CPU_COUNT(&all) < 3);
    for (int i = 0; i < 3; i++)
        tern_mailbox_leave(&workers[i]);
    tern_mailbox_destroy(share);
}

/* A server whose waits are all short gets as far as sleeping, like one that waits for long. It
 * starts afresh after it has served something. */
static void short_waits(void) {
    tern_mailbox_worker worker;
    tern_mailbox_service service;
    uint32_t waits = 2 * TERN_MAILBOX_YIELDS, steps = 0;
    if (!open_share())
        return;
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_SERVER, &worker));
    EXPECT_OK(tern_mailbox_service_open(&service, share, ECHO_MAX, echo_handle, NULL));
    for (uint32_t i = 0; i < waits; i++)
        CU_ASSERT_EQUAL(tern_mailbox_attend(&worker, &service, 0, NULL), TERN_ERR_TIMEOUT);
    CU_ASSERT_EQUAL(worker.vain, waits * TERN_MAILBOX_SPINS);
    uint32_t slot = tern_mailbox_take(&worker.client);
    CU_ASSERT_EQUAL_FATAL(slot, 0);
    memset(tern_mailbox_packet(&worker.client.box, slot), 0, sizeof(tern_mailbox_head));
    CU_ASSERT(tern_mailbox_post(&worker.client, slot));
    EXPECT_OK(tern_mailbox_attend(&worker, &service, 0, &steps));
    CU_ASSERT_EQUAL(steps, 1);
    CU_ASSERT_EQUAL(worker.vain, 0);
    tern_mailbox_leave(&worker);
    tern_mailbox_service_close(&service);
    tern_mailbox_destroy(share);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"more_than_cores", more_than_cores},
                                           {"short_waits", short_waits}};
    return tern_test_main(argc, argv, "mailbox crowds", tests, sizeof tests / sizeof tests[0]);
}
