/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Large hash tables: what a key takes in memory, inserts and finds by both ranks at once, and how
 * long single inserts take while a table grows. Private maps of C++, with as many keys as a rank
 * inserts, stand beside them, and beside large values copies of as many. Each thing is done once.
 */

#include "bench.h"
#include "ceilings/ceilings.h"
#include "large/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, WORD = 8, FEW = 100000, MANY = 10000000, BYTES_A_KEY = 160, GROWS_FROM = 1000 };
enum { LARGEST_VALUE = 65536 };

typedef struct large_case {
    const char *name, *of;
    uint64_t keys, capacity; /* keys of a rank; what the table is made for */
    size_t value_bytes;
    bool grow;
} large_case;

/* Values begin and end with a number, which is all that is looked at. */
static uint64_t value[LARGEST_VALUE / sizeof(uint64_t)];

static uint64_t *value_end(size_t bytes) { return &value[bytes / sizeof *value - 1]; }

/* Number of the i-th key of this rank. */
static uint64_t key_of(const bench *b, uint64_t i) {
    return ceiling_mix(2 * i + (uint64_t)b->rank);
}

static void insert(bench *b, tern_hashtable *table, const large_case *c, large_result *result) {
    double start = bench_now(), last = start;
    for (uint64_t i = 0; i < c->keys; i++) {
        uint64_t key = key_of(b, i);
        value[0] = *value_end(c->value_bytes) = i;
        bench_ok(tern_hashtable_insert(b->worker, table, &key, value, TERN_AUTO, NULL),
                 "tern_hashtable_insert");
        double at = bench_now();
        large_wait_count(&result->waits, at - last);
        last = at;
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    result->insert_ns = (bench_now() - start) / (double)c->keys;
}

static void find(bench *b, tern_hashtable *table, const large_case *c, large_result *result) {
    double start = bench_now();
    for (uint64_t i = 0; i < c->keys; i++) {
        uint64_t key = key_of(b, i);
        bench_ok(tern_hashtable_find(b->worker, table, &key, TERN_AUTO, value),
                 "tern_hashtable_find");
        if (value[0] != i || *value_end(c->value_bytes) != i)
            bench_fail("a table has lost a value", TERN_ERR_SYSTEM);
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    result->find_ns = (bench_now() - start) / (double)c->keys;
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

static void fill_table(bench *b, const large_case *c, large_result *result) {
    const tern_hashtable_options options = {
        .key_bytes = WORD, .value_bytes = c->value_bytes, .capacity = c->capacity, .grow = c->grow};
    tern_hashtable *table;
    const size_t before = in_use(b);
    bench_ok(tern_hashtable_create(b->worker, &options, &table), "tern_hashtable_create");
    insert(b, table, c, result);
    result->bytes = (double)(in_use(b) - before) / (double)c->keys;
    find(b, table, c, result);
    gather(b, result);
    bench_ok(tern_hashtable_destroy(b->worker, table), "tern_hashtable_destroy");
}

/* Copies values to as many places that were touched before, as those of a table are, and back. */
static void fill_places(bench *b, const large_case *c, large_result *result) {
    const size_t bytes = c->value_bytes;
    char *places = malloc(c->keys * bytes);
    bench_ok(places != NULL ? TERN_OK : TERN_ERR_MEMORY, "malloc");
    memset(places, 0xff, c->keys * bytes);
    double start = bench_now(), last = start;
    for (uint64_t i = 0; i < c->keys; i++) {
        ceiling_copy(places + i * bytes, value, bytes, 1);
        double at = bench_now();
        large_wait_count(&result->waits, at - last);
        last = at;
    }
    result->insert_ns = (last - start) / (double)c->keys;
    for (uint64_t i = 0; i < c->keys; i++)
        ceiling_copy(value, places + i * bytes, bytes, 1);
    result->find_ns = (bench_now() - last) / (double)c->keys;
    result->bytes = (double)bytes;
    gather(b, result);
    free(places);
}

static void report(bench *b, const large_case *c, uint64_t keys, const large_result *r) {
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
    fprintf(b->table, "  %-36s %8.1f B %10s %10s   %10s %10s %10s %10s\n", c->of, r->bytes, text[0],
            text[1], text[2], text[3], text[4], text[5]);
    fflush(b->table);
    (*b->reported)++;
    if (b->json != NULL)
        fprintf(b->json,
                "{\"bench\":\"large\",\"case\":\"%s\",\"params\":{\"of\":\"%s\",\"keys\":%llu,"
                "\"bytes\":%zu},"
                "\"transport\":\"%s\",\"mpi\":\"%s\",\"ranks\":%d,\"value\":%.6g,\"unit\":\"ns\","
                "\"find_ns\":%.6g,\"bytes_per_key\":%.6g,\"p50_ns\":%.6g,\"p99_ns\":%.6g,"
                "\"p999_ns\":%.6g,\"longest_ns\":%.6g}\n",
                c->name, c->of, (unsigned long long)keys, c->value_bytes,
                tern_transport_name(b->transport), b->mpi, b->ranks, ns[0], ns[1], r->bytes, ns[2],
                ns[3], ns[4], ns[5]);
}

static void measure(bench *b, const large_case *c,
                    void (*fill)(bench *b, const large_case *c, large_result *result),
                    uint64_t keys) {
    static large_result r;
    if (!bench_selected(b, c->name))
        return;
    r = (large_result){.insert_ns = 0};
    fill(b, c, &r);
    if (b->rank == BENCH_ORIGIN)
        report(b, c, keys, &r);
}

/* Both ranks have a private map, as both use the memory of the machine when tables are measured. */
#ifdef TERN_BENCH_UNORDERED
static void fill_unordered(bench *b, const large_case *c, large_result *result) {
    large_unordered(c->keys, result);
    gather(b, result);
}
#endif
#ifdef TERN_BENCH_ABSEIL
static void fill_abseil(bench *b, const large_case *c, large_result *result) {
    large_abseil(c->keys, result);
    gather(b, result);
}
#endif

static void measure_words(bench *b, uint64_t keys) {
    const uint64_t all = RANKS * keys;
    large_case c = {"fixed", "tern, made for so many keys", keys, all, WORD, false};
    measure(b, &c, fill_table, all);
    /* A table has three buckets for two of the keys that it is made for. */
    c = (large_case){"full", "tern, nine tenths of it taken", keys, all * 100 / 135, WORD, false};
    measure(b, &c, fill_table, all);
    c = (large_case){"grows", "tern, made for a thousandth, grows", keys, all / GROWS_FROM, WORD,
                     true};
    measure(b, &c, fill_table, all);
    c = (large_case){.name = "private", .keys = keys, .value_bytes = WORD};
#ifdef TERN_BENCH_UNORDERED
    c.of = "std::unordered_map of a rank's keys";
    measure(b, &c, fill_unordered, keys);
#endif
#ifdef TERN_BENCH_ABSEIL
    c.of = "absl::flat_hash_map of a rank's keys";
    measure(b, &c, fill_abseil, keys);
#endif
}

/* Of each size as many as take less than half of the segment. */
static void measure_values(bench *b, uint64_t keys) {
    static const size_t sizes[] = {64, 1024, 8192, LARGEST_VALUE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t few = keys * (BYTES_A_KEY / 4) / (sizes[i] + 24) + 1;
        char of[64];
        snprintf(of, sizeof of, "tern, values of %zu bytes", sizes[i]);
        large_case c = {"values", of, few, RANKS * few, sizes[i], false};
        measure(b, &c, fill_table, RANKS * few);
        snprintf(of, sizeof of, "memcpy of %zu bytes", sizes[i]);
        measure(b, &c, fill_places, few);
    }
}

static void measure_all(bench *b, uint64_t keys) {
    if (b->rank == BENCH_ORIGIN && !b->options.list)
        fprintf(b->table,
                "  %llu keys and values of 8 bytes over 2 ranks\n  %-36s %10s %10s %10s   "
                "%10s %10s %10s %10s\n",
                (unsigned long long)RANKS * keys, "", "a key", "an insert", "a find", "p50", "p99",
                "p99.9", "longest");
    measure_words(b, keys);
    measure_values(b, keys);
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
