/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Large hash tables: what a key takes in memory, inserts and finds by both ranks at once, and how
 * long single inserts take while a table grows. Private maps of C++, with as many keys as a rank
 * inserts, stand beside them. Each thing is done once.
 */

#include "bench.h"
#include "ceilings/ceilings.h"
#include "large/maps.h"

#include <stdlib.h>

enum { RANKS = 2, WORD = 8, FEW = 100000, MANY = 10000000, BYTES_A_KEY = 160, GROWS_FROM = 1000 };

/* Number of the i-th key of this rank. */
static uint64_t key_of(const bench *b, uint64_t i) {
    return ceiling_mix(2 * i + (uint64_t)b->rank);
}

static void insert(bench *b, tern_hashtable *table, uint64_t keys, large_result *result) {
    double start = bench_now(), last = start;
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = key_of(b, i);
        bench_ok(tern_hashtable_insert(b->worker, table, &key, &i, TERN_AUTO, NULL),
                 "tern_hashtable_insert");
        double at = bench_now();
        large_wait_count(&result->waits, at - last);
        last = at;
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    result->insert_ns = (bench_now() - start) / (double)keys;
}

static void find(bench *b, tern_hashtable *table, uint64_t keys, large_result *result) {
    double start = bench_now();
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = key_of(b, i), value = 0;
        bench_ok(tern_hashtable_find(b->worker, table, &key, TERN_AUTO, &value),
                 "tern_hashtable_find");
        if (value != i)
            bench_fail("a table has lost a value", TERN_ERR_SYSTEM);
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    result->find_ns = (bench_now() - start) / (double)keys;
}

static size_t in_use(const bench *b) {
    tern_segment_info info;
    tern_segment_get_info(b->context, &info);
    return info.in_use;
}

/* Of both ranks: sums of memory and waits. Only the origin has the result. */
static void gather(bench *b, large_result *result) {
    static large_waits other;
    double bytes = result->bytes;
    if (b->rank == BENCH_ORIGIN) {
        bench_receive(b, &other, sizeof other);
        bench_receive(b, &bytes, sizeof bytes);
        large_waits_add(&result->waits, &other);
        result->bytes = (result->bytes + bytes) / RANKS;
    } else {
        bench_send(b, &result->waits, sizeof result->waits);
        bench_send(b, &bytes, sizeof bytes);
    }
}

static void fill_table(bench *b, uint64_t keys, bool grow, large_result *result) {
    const tern_hashtable_options options = {.key_bytes = WORD,
                                            .value_bytes = WORD,
                                            .capacity = RANKS * keys / (grow ? GROWS_FROM : 1),
                                            .grow = grow};
    tern_hashtable *table;
    const size_t before = in_use(b);
    bench_ok(tern_hashtable_create(b->worker, &options, &table), "tern_hashtable_create");
    insert(b, table, keys, result);
    result->bytes = (double)(in_use(b) - before) / (double)keys;
    find(b, table, keys, result);
    gather(b, result);
    bench_ok(tern_hashtable_destroy(b->worker, table), "tern_hashtable_destroy");
}

static void report(bench *b, const char *name, const char *of, uint64_t keys,
                   const large_result *r) {
    static const double quantiles[] = {0.5, 0.99, 0.999};
    char text[6][24];
    const double ns[6] = {r->insert_ns,
                          r->find_ns,
                          large_wait_quantile(&r->waits, quantiles[0]),
                          large_wait_quantile(&r->waits, quantiles[1]),
                          large_wait_quantile(&r->waits, quantiles[2]),
                          r->waits.longest};
    for (int i = 0; i < 6; i++)
        bench_time_text(text[i], sizeof text[i], ns[i]);
    fprintf(b->table, "  %-36s %8.1f B %10s %10s   %10s %10s %10s %10s\n", of, r->bytes, text[0],
            text[1], text[2], text[3], text[4], text[5]);
    fflush(b->table);
    (*b->reported)++;
    if (b->json != NULL)
        fprintf(b->json,
                "{\"bench\":\"large\",\"case\":\"%s\",\"params\":{\"of\":\"%s\",\"keys\":%llu},"
                "\"transport\":\"%s\",\"mpi\":\"%s\",\"ranks\":%d,\"value\":%.6g,\"unit\":\"ns\","
                "\"find_ns\":%.6g,\"bytes_per_key\":%.6g,\"p50_ns\":%.6g,\"p99_ns\":%.6g,"
                "\"p999_ns\":%.6g,\"longest_ns\":%.6g}\n",
                name, of, (unsigned long long)keys, tern_transport_name(b->transport), b->mpi,
                b->ranks, ns[0], ns[1], r->bytes, ns[2], ns[3], ns[4], ns[5]);
}

static void measure_table(bench *b, const char *name, const char *of, uint64_t keys, bool grow) {
    static large_result r;
    if (!bench_selected(b, name))
        return;
    r = (large_result){.insert_ns = 0};
    fill_table(b, keys, grow, &r);
    if (b->rank == BENCH_ORIGIN)
        report(b, name, of, RANKS * keys, &r);
}

#ifdef TERN_BENCH_UNORDERED
/* Both ranks have one, as both use the memory of the machine when tables are measured. */
static void measure_map(bench *b, const char *of, uint64_t keys,
                        void (*fill)(uint64_t keys, large_result *result)) {
    static large_result r;
    if (!bench_selected(b, "private"))
        return;
    r = (large_result){.insert_ns = 0};
    fill(keys, &r);
    gather(b, &r);
    if (b->rank == BENCH_ORIGIN)
        report(b, "private", of, keys, &r);
}
#endif

static void measure_all(bench *b, uint64_t keys) {
    if (b->rank == BENCH_ORIGIN && !b->options.list)
        fprintf(b->table,
                "  %llu keys and values of 8 bytes over 2 ranks\n  %-36s %10s %10s %10s   "
                "%10s %10s %10s %10s\n",
                (unsigned long long)RANKS * keys, "", "a key", "an insert", "a find", "p50", "p99",
                "p99.9", "longest");
    measure_table(b, "fixed", "tern, made for so many keys", keys, false);
    measure_table(b, "grows", "tern, made for a thousandth, grows", keys, true);
#ifdef TERN_BENCH_UNORDERED
    measure_map(b, "std::unordered_map of a rank's keys", keys, large_unordered);
#endif
#ifdef TERN_BENCH_ABSEIL
    measure_map(b, "absl::flat_hash_map of a rank's keys", keys, large_abseil);
#endif
}

void bench_large(bench *b) {
    uint64_t keys = b->options.keys;
    if (keys == 0)
        keys = b->options.quick ? FEW : MANY;
    keys /= RANKS;
    bench own;
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.segment_size = (size_t)keys * BYTES_A_KEY + ((size_t)64 << 20);
    bench_group_open(b, &own, RANKS, &config, 1);
    measure_all(&own, keys);
    bench_group_close(&own);
}
