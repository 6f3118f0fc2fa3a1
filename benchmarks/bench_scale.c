/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The jobs that are simulated: memory, and rates and latencies of calls, puts, tables and queues,
 * for 64 ranks and more. All ranks of a job are simulated, and the more there are, the fewer
 * operations each does.
 */

#include "bench_scale.h"

enum {
    LEAST = 64,
    LARGEST = 65536,
    LARGEST_QUICK = 1024,
    NODE = 64,            /* ranks of a node, for memory */
    ACTIVE = 32,          /* peers of other nodes */
    OPERATIONS = 1 << 17, /* of all ranks together, */
    OPERATIONS_QUICK = 1 << 14,
    OPERATIONS_MOST = 2048, /* of each at most, */
    OPERATIONS_LEAST = 8,   /* and at least */
    SPINNING_MOST = 1024,
    KEYS_EACH = 1024 /* keys for each rank, drawn by Zipf's law */
};

const char *const scale_program_names[SCALE_PROGRAMS] = {
    "call", "call_return", "put", "insert by RMA", "insert by call", "push by RMA"};

scale_job scale_job_of(const scale_loggp *costs, uint32_t ranks) {
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    scale_job job = {.costs = *costs,
                     .message = *costs,
                     .issue = 30,
                     .serve = 60,
                     .local = 100,
                     .polls = 60,
                     .by_owner = true,
                     .towards = SCALE_UNIFORM,
                     .ranks = ranks,
                     .under_way = 1,
                     .bytes = 8,
                     .results = 8,
                     .frame_header = SCALE_FRAME_HEADER,
                     .ring_bytes = (uint32_t)config.ring_size,
                     .rings = (uint32_t)(config.ring_memory / config.ring_size),
                     .idle_polls = (uint32_t)config.idle_polls,
                     .active_rings = (uint32_t)config.active_rings,
                     .keys = SCALE_KEYS_MAX,
                     .seed = 1};
    return job;
}

void scale_run(const scale_job *job, scale_outcome *outcome) {
    if (!scale_simulate(job, outcome))
        bench_fail("the simulation's memory", TERN_ERR_MEMORY);
    if (outcome->sent != outcome->received || outcome->bytes_sent != outcome->bytes_received)
        bench_fail("the simulation has lost messages", TERN_ERR_SYSTEM);
}

typedef struct row {
    const char *name;
    scale_program program;
    scale_towards towards;
    uint32_t under_way;
    uint32_t bytes;
    bool by_network; /* atomics */
    bool spins;      /* ranks wait for one lock: what they send grows with their square */
} row;

/* A table's entry is a key and a value of 8 bytes each, a check and a state word; a call of a
 * container has 24 bytes beside them, and one with a result 16 (SCALE_ADDRESS). */
static const row rows[] = {
    {"call, uniform", SCALE_CALL, SCALE_UNIFORM, 1, 8, false, false},
    {"call_return, uniform", SCALE_CALL_RETURN, SCALE_UNIFORM, 1, 8, false, false},
    {"put, uniform, 16 under way", SCALE_PUT, SCALE_UNIFORM, 16, 8, false, false},
    {"insert by call, uniform", SCALE_INSERT_CALL, SCALE_UNIFORM, 1, 40, false, false},
    {"insert by RMA, uniform", SCALE_INSERT_RMA, SCALE_UNIFORM, 1, 24, false, false},
    {"  network's atomics", SCALE_INSERT_RMA, SCALE_UNIFORM, 1, 24, true, false},
    {"insert by call, Zipf", SCALE_INSERT_CALL, SCALE_ZIPF, 1, 40, false, false},
    {"insert by RMA, Zipf", SCALE_INSERT_RMA, SCALE_ZIPF, 1, 24, false, true},
    {"  network's atomics", SCALE_INSERT_RMA, SCALE_ZIPF, 1, 24, true, true},
    {"push by RMA, a queue a rank", SCALE_PUSH_RMA, SCALE_UNIFORM, 1, 24, false, false},
    {"push by RMA, one queue", SCALE_PUSH_RMA, SCALE_FIRST, 1, 24, false, false},
};

static void simulate_rates(bench *b, const scale_network *network, const scale_job *costs,
                           uint32_t ranks) {
    const uint32_t all = b->options.quick ? OPERATIONS_QUICK : OPERATIONS;
    const uint32_t each = all / ranks;
    scale_job job = *costs;
    job.ranks = ranks;
    job.operations = each > OPERATIONS_MOST    ? OPERATIONS_MOST
                     : each < OPERATIONS_LEAST ? OPERATIONS_LEAST
                                               : each;
    scale_report_rate_title(b, ranks, job.operations);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        scale_outcome outcome;
        if (r->spins && ranks > SPINNING_MOST)
            continue;
        if (!bench_in_time(b)) {
            ++*b->left_out;
            continue;
        }
        if (ranks >= LARGEST / 4)
            fprintf(stderr, "tern-bench: %4.0f s  scale %u ranks, %s\n",
                    (bench_now() - b->started) / 1e9, ranks, r->name);
        job.program = r->program;
        job.towards = r->towards;
        job.under_way = r->under_way;
        job.bytes = r->bytes;
        job.by_owner = !r->by_network;
        job.keys = r->towards == SCALE_ZIPF && ranks < SCALE_KEYS_MAX / KEYS_EACH
                       ? ranks * KEYS_EACH
                       : SCALE_KEYS_MAX;
        scale_run(&job, &outcome);
        scale_report_rate(b, network, r->name, &job, &outcome);
    }
}

/* 64, 256, ... and the largest. */
static uint32_t next_size(uint32_t ranks, uint32_t largest) {
    return ranks >= largest ? 0 : ranks < largest / 4 ? ranks * 4 : largest;
}

static uint32_t largest_of(const bench *b) {
    return b->options.largest > 0 ? b->options.largest : b->options.quick ? LARGEST_QUICK : LARGEST;
}

static void simulate_memory(bench *b, const scale_job *job) {
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    scale_report_memory_title(b, NODE);
    for (uint32_t ranks = LEAST; ranks > 0; ranks = next_size(ranks, largest_of(b)))
        for (uint32_t active = ACTIVE;; active = ranks - 1) {
            scale_memory memory;
            scale_memory_compute(&config, ranks, NODE, active, &memory);
            scale_report_memory(b, ranks, NODE, active, &memory, job);
            if (active == ranks - 1)
                break;
        }
}

void bench_scale(bench *b) {
    scale_network network = scale_networks[0];
    int size;
    MPI_Comm_size(b->world, &size);
    if (size > 2) {
        if (bench_selected(b, "counts"))
            bench_group_each(b, scale_compare_counts);
        return;
    }
    if (b->options.network != NULL)
        (void)scale_network_parse(b->options.network, &network);
    scale_job job = scale_job_of(&network.costs, 2);
    const bool rates = bench_selected(b, "rates"), memory = bench_selected(b, "memory");
    if (size == 2) {
        const bool times = bench_selected(b, "times"), counts = bench_selected(b, "counts");
        scale_job measured = job;
        if (times || (rates && b->options.network == NULL)) {
            scale_measure_costs(b, &measured);
            if (times)
                scale_compare_times(b, &measured);
        }
        if (counts)
            bench_group_each(b, scale_compare_counts);
        if (rates && b->options.network == NULL) {
            network = (scale_network){"measured", measured.costs, "this run's components"};
            job = measured;
        }
    }
    if (b->table == NULL)
        return;
    if (memory || rates)
        scale_report_network(b, &network, &job);
    if (memory)
        simulate_memory(b, &job);
    for (uint32_t ranks = LEAST; rates && ranks > 0; ranks = next_size(ranks, largest_of(b)))
        simulate_rates(b, &network, &job, ranks);
}
