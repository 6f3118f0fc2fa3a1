/* The simulation of many ranks against sums that can be done by hand: one message, a ring whose
 * credit limits it, a target that all send to, the bytes of calls, what goes astray (nothing), and
 * a run that is the same again. */

#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scale/events.h"
#include "scale/simulation.h"

static const scale_loggp costs = {.o = 10, .g = 100, .G = 0.5, .L = 1000};

static bool is_near(double got, double wanted, double error) {
    const bool near = fabs(got - wanted) <= error * wanted;
    if (!near)
        fprintf(stderr, "%g instead of %g\n", got, wanted);
    return near;
}

static scale_job job_of(scale_program program, scale_towards towards, uint32_t ranks,
                        uint32_t operations) {
    return (scale_job){.costs = costs,
                       .message = costs,
                       .program = program,
                       .towards = towards,
                       .ranks = ranks,
                       .operations = operations,
                       .under_way = 1,
                       .bytes = 8,
                       .results = 8,
                       .frame_header = SCALE_FRAME_HEADER,
                       .ring_bytes = 64 << 10,
                       .rings = UINT32_MAX,
                       .idle_polls = 4096,
                       .active_rings = UINT32_MAX,
                       .polls = 60,
                       .keys = 1 << 20,
                       .seed = tern_test_seed()};
}

static scale_outcome run(const scale_job *job) {
    scale_outcome outcome = {.ns = 0};
    CU_ASSERT_FATAL(scale_simulate(job, &outcome));
    CU_ASSERT_EQUAL(outcome.sent, outcome.received);
    CU_ASSERT_EQUAL(outcome.bytes_sent, outcome.bytes_received);
    return outcome;
}

static void events_come_in_order(void) {
    enum { EVENTS = 10000, TIMES = 100 };
    scale_events events = {.heap = NULL};
    scale_event event = {.at = 0};
    uint64_t random = tern_test_seed();
    for (uint32_t i = 0; i < EVENTS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        event.at = (double)(random >> 33) / (1u << 31) > 0.5 ? i % TIMES : (double)(random >> 60);
        event.key = i;
        CU_ASSERT_FATAL(scale_events_put(&events, &event));
    }
    scale_event before = {.at = -1};
    for (uint32_t i = 0; i < EVENTS; i++) {
        CU_ASSERT_FATAL(scale_events_take(&events, &event));
        CU_ASSERT(event.at > before.at || (event.at >= before.at && event.key > before.key));
        before = event;
    }
    CU_ASSERT(!scale_events_take(&events, &event));
    scale_events_free(&events);
}

static void networks_are_read(void) {
    scale_network network;
    CU_ASSERT(scale_network_parse("ndr", &network) && network.costs.L > 0);
    CU_ASSERT(scale_network_parse("1,2.5,0.25,1000", &network));
    CU_ASSERT(network.costs.o == 1 && network.costs.g == 2.5 && network.costs.G == 0.25 &&
              network.costs.L == 1000);
    static const char *const wrong[] = {"",         "ndr2",      "1,2,3",     "1,2,3,", "1,2,3,4,5",
                                        "1,-2,3,4", "1,2,3,nan", "1,2,3,inf", "1;2;3;4"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT(!scale_network_parse(wrong[i], &network));
}

/* A call of 8 bytes is a record of 16 behind a frame header of 24, or in a message of 64 bytes. */
static void one_message(void) {
    scale_job job = job_of(SCALE_CALL, SCALE_FIRST, 2, 1);
    job.rings = 0;
    CU_ASSERT(is_near(run(&job).ns, 10 + 1000 + 63 * 0.5 + 10, 1e-9));
    job.rings = 1; /* one-sided */
    CU_ASSERT(is_near(run(&job).ns, 10 + 1000 + 39 * 0.5, 1e-9));
    job.issue = 5;
    job.serve = 7;
    job.delay = 9;
    CU_ASSERT(is_near(run(&job).ns, 15 + 1000 + 39 * 0.5 + 16, 1e-9));
    /* A port sends the second message g after the last byte of the first. */
    job.issue = job.serve = job.delay = 0;
    job.operations = 2;
    CU_ASSERT(is_near(run(&job).ns, 10 + 1000 + 39 * 0.5 + 100 + 39 * 0.5, 1e-9));
    job.operations = 1;
    job.program = SCALE_CALL_RETURN; /* 16 bytes more; an answer of 32 */
    CU_ASSERT(is_near(run(&job).ns, 2 * 10 + 2 * 1000 + (55 + 31) * 0.5, 1e-9));
    job.program = SCALE_PUT;
    CU_ASSERT(is_near(run(&job).ns, 10 + 2 * 1000 + 7 * 0.5, 1e-9));
    job.program = SCALE_INSERT_RMA; /* an atomic's round trip, then the put's */
    CU_ASSERT(is_near(run(&job).ns, 2 * 10 + 4 * 1000 + (15 + 7 + 7) * 0.5, 1e-9));
    job.by_owner = true; /* by two messages, of 48 bytes and the entry, and of 8 */
    CU_ASSERT(is_near(run(&job).ns, 4 * 10 + 2 * 1000 + (55 + 7) * 0.5, 1e-9));
}

/* A window of so many records, each told at once: one window a round trip, or one message every
 * g + (k - 1) G. A message with credit has 48 bytes, more than a record, so it is the slower. */
static void credit_limits_a_ring(void) {
    enum { MANY = 20000 };
    const double trip = 3 * 10 + 2 * 1000 + (39 + 47) * 0.5;
    for (uint32_t window = 1; window <= 64; window *= 4) {
        scale_job job = job_of(SCALE_CALL, SCALE_FIRST, 2, MANY);
        job.ring_bytes = window * 40;
        job.credit_bytes = 40;
        const double rate = fmin(1 / (100 + 47 * 0.5), window / trip);
        const scale_outcome outcome = run(&job);
        CU_ASSERT(is_near(MANY / outcome.ns, rate, 0.01));
        CU_ASSERT_EQUAL(outcome.credits, MANY);
    }
    /* Told when half a ring of 64 KiB is consumed: every 820 records. */
    scale_job job = job_of(SCALE_CALL, SCALE_FIRST, 2, MANY);
    CU_ASSERT_EQUAL(run(&job).credits, MANY / 820);
}

static void a_target_bounds_all_senders(void) {
    enum { RANKS = 33, EACH = 500 };
    scale_job job = job_of(SCALE_CALL, SCALE_FIRST, RANKS, EACH);
    /* By its port, and by its processor. */
    CU_ASSERT(is_near((RANKS - 1) * EACH / run(&job).ns, 1 / (100 + 39 * 0.5), 0.02));
    job.serve = 400;
    CU_ASSERT(is_near((RANKS - 1) * EACH / run(&job).ns, 1 / 400.0, 0.02));
    job.rings = 0;
    CU_ASSERT(is_near((RANKS - 1) * EACH / run(&job).ns, 1 / (400.0 + 10), 0.02));
    /* The owner applies an atomic: its processor takes one message and sends one. */
    job = job_of(SCALE_PUSH_RMA, SCALE_FIRST, RANKS, EACH);
    job.by_owner = true;
    job.message.o = 300;
    CU_ASSERT(is_near((RANKS - 1) * EACH / run(&job).ns, 1 / 600.0, 0.02));
}

static void counts_follow_formulas(void) {
    enum { RANKS = 16, EACH = 60 };
    const uint64_t all = RANKS * EACH;
    scale_job job = job_of(SCALE_CALL_RETURN, SCALE_OTHERS, RANKS, EACH);
    job.fresh = true;
    scale_outcome o = run(&job);
    CU_ASSERT_EQUAL(o.executed, all);
    CU_ASSERT_EQUAL(o.openings, RANKS * (RANKS - 1));
    CU_ASSERT_EQUAL(o.record_bytes, all * (24 + 8 + 16 + 8));
    CU_ASSERT_EQUAL(o.sent, 2 * o.openings + 2 * all);
    CU_ASSERT_EQUAL(o.bytes_sent, 2 * o.openings * 48 + all * (24 + 8 + 16 + 8) + all * (24 + 8));
    /* Half of the pairs have no ring. */
    job.fresh = false;
    job.rings = (RANKS - 1) / 2;
    o = run(&job);
    CU_ASSERT_EQUAL(o.by_message, all * (RANKS - 1 - job.rings) / (RANKS - 1));
    /* All rings sleep at first, and none falls asleep again. */
    job.rings = RANKS;
    job.active_rings = 4;
    job.idle_polls = 1 << 30;
    o = run(&job);
    CU_ASSERT_EQUAL(o.wakes, RANKS * (RANKS - 1));
    CU_ASSERT_EQUAL(o.sent, 2 * all + 3 * o.wakes);
    job = job_of(SCALE_INSERT_RMA, SCALE_UNIFORM, RANKS, EACH);
    job.keys = SCALE_KEYS_MAX;
    o = run(&job);
    CU_ASSERT_EQUAL(o.executed, all);
    CU_ASSERT(o.atomics >= o.puts && o.puts == o.flushes && o.puts < all);
}

/* Keys that all want are written one after the other, and each at last. */
static void one_key_is_inserted_by_all(void) {
    enum { RANKS = 8, EACH = 50 };
    scale_job job = job_of(SCALE_INSERT_RMA, SCALE_ZIPF, RANKS, EACH);
    job.keys = 1;
    const scale_outcome o = run(&job);
    CU_ASSERT_EQUAL(o.executed, RANKS * EACH);
    CU_ASSERT(o.retries > 0);
    /* Not faster than an update holds the lock: the put's and the next atomic's way. */
    CU_ASSERT(o.ns > (RANKS - 1) * EACH * 2.0 * 1000);
}

static void a_seed_repeats_a_run(void) {
    scale_job job = job_of(SCALE_INSERT_CALL, SCALE_ZIPF, 64, 100);
    const scale_outcome first = run(&job), again = run(&job);
    CU_ASSERT(memcmp(&first, &again, sizeof first) == 0);
    job.seed++;
    const scale_outcome other = run(&job);
    CU_ASSERT(memcmp(&first, &other, sizeof first) != 0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"events_come_in_order", events_come_in_order},
        {"networks_are_read", networks_are_read},
        {"one_message", one_message},
        {"credit_limits_a_ring", credit_limits_a_ring},
        {"a_target_bounds_all_senders", a_target_bounds_all_senders},
        {"counts_follow_formulas", counts_follow_formulas},
        {"one_key_is_inserted_by_all", one_key_is_inserted_by_all},
        {"a_seed_repeats_a_run", a_seed_repeats_a_run},
    };
    return tern_test_main(argc, argv, "scale", tests, sizeof tests / sizeof *tests);
}
