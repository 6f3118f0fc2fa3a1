// tern-test: transports
/*
 * More pairs of workers than there is ring memory for: every worker calls and notifies every other
 * one, in order, and nothing is lost. One thread of each rank is all its workers in turn.
 */

#include <stdlib.h>

#include "fixture.h"
#include "src/context.h"

enum { WORKERS = 16, WORKERS_FULL = 64, RECORDS = 6 };

/* Of a pair, at its target. */
typedef struct arrivals {
    uint32_t calls, notices;
} arrivals;

static fixture f;
static uint32_t workers, total;
static arrivals *arrived; /* by own worker and worker of the job */
static uint64_t wrong, come;

static arrivals *pair_of(tern_worker_id target, tern_worker_id origin) {
    return &arrived[(size_t)target.index * total + origin.rank * workers + origin.index];
}

static tern_status take_call(tern_call_info *call, const void *arguments, size_t bytes) {
    uint32_t number = 0;
    memcpy(&number, arguments, bytes);
    arrivals *a = pair_of(tern_worker_self(call->worker), call->origin);
    wrong += bytes != sizeof number || number != a->calls;
    a->calls++;
    come++;
    return TERN_OK;
}
TERN_FUNCTION(take_call)

static void look(tern_worker *worker) {
    tern_event event;
    while (tern_probe(worker, TERN_PROBE_REMOTE, &event) == TERN_OK) {
        arrivals *a = pair_of(tern_worker_self(worker), event.peer);
        uint32_t number = 0;
        memcpy(&number, event.cid, sizeof number);
        wrong += event.cid_bytes != sizeof number || number != a->notices;
        a->notices++;
        come++;
    }
    tern_progress(worker);
}

/* Sends the next records of this worker to a target, as far as there is room. sent: of the pair,
 * calls and then notices. */
static void send_on(tern_worker *worker, tern_worker_id target, arrivals *sent) {
    tern_status status = TERN_OK;
    for (; sent->calls < RECORDS && status == TERN_OK; sent->calls += status == TERN_OK)
        status = tern_call(worker, target, &take_call_function, &sent->calls, sizeof sent->calls);
    wrong += status != TERN_OK && status != TERN_ERR_AGAIN;
    status = TERN_OK;
    for (; sent->notices < RECORDS && status == TERN_OK; sent->notices += status == TERN_OK)
        status = tern_put_notify(worker, target, TERN_NULL, NULL, 0,
                                 &(tern_notify_options){.cid = &sent->notices,
                                                        .cid_bytes = sizeof sent->notices,
                                                        .flags = TERN_NOTIFY_NO_LOCAL});
    wrong += status != TERN_OK && status != TERN_ERR_AGAIN;
}

/* Each own worker has its turn: it sends to all, and takes what has come. */
static void take_turns(arrivals *sent) {
    for (uint32_t i = 0; i < workers; i++) {
        tern_worker *worker = f.worker;
        if (i > 0)
            EXPECT_OK(tern_worker_adopt(f.context, i, &worker));
        for (uint32_t w = 0; w < total; w++)
            send_on(worker, (tern_worker_id){w / workers, w % workers},
                    &sent[(size_t)i * total + w]);
        look(worker);
        if (i > 0)
            EXPECT_OK(tern_worker_release(worker));
    }
}

/* rings: that there is memory for at each rank. */
static void all_to_all(size_t rings) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.workers = workers = tern_test_full() ? WORKERS_FULL : WORKERS;
    config.ring_size = 4096;
    config.ring_memory = rings * config.ring_size;
    if (!fixture_open(&f, &config))
        return;
    total = f.size * workers;
    arrived = calloc((size_t)workers * total, sizeof *arrived);
    arrivals *sent = calloc((size_t)workers * total, sizeof *sent);
    wrong = come = 0;
    const uint64_t all = (uint64_t)workers * total * RECORDS * 2;
    while (come < all && wrong == 0)
        take_turns(sent);
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(come, all);
    CU_ASSERT_EQUAL(wrong, 0);
    uint64_t message_channels = 0;
    for (uint32_t i = 0; i < workers; i++) {
        tern_stats stats;
        tern_stats_get(f.context->worker[i], &stats);
        message_channels += stats.message_channels;
        CU_ASSERT_EQUAL(stats.records_malformed, 0);
    }
    /* Pairs on two channels, less what rings there are here and at others. */
    CU_ASSERT(message_channels + rings * f.size >= (uint64_t)workers * total * 2);
    free(sent);
    free(arrived);
    fixture_close(&f);
}

static void few_rings(void) { all_to_all(64); }

static void one_ring(void) { all_to_all(1); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"few rings", few_rings}, {"one ring", one_ring}};
    return tern_test_main(argc, argv, "many_pairs", tests, 2);
}
