/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * BCL's times for the same operations (paper 003; github.com/berkeley-container-library/bcl),
 * measured with its own benchmarks: 2 processes on a virtual machine with 2 cores (AMD EPYC, Debian
 * 12, gcc 12 -O3), 2026-11-21, the least and the median of 3 to 5 runs. Targets are random: half of
 * the operations are on the caller's own part. Machines of this kind drift by a factor of two, so
 * the figures show only an order of magnitude.
 */

#include "bench.h"
#include "cells.h"

#define MEASURED_ON "2026-11-21"

enum { COLUMNS = 4, REPORTED = 32 };

static const char *const columns[COLUMNS] = {"BCL, Open MPI osc/sm", "BCL, Open MPI", "BCL, MPICH",
                                             "BCL, GASNet-EX smp"};

/* In us; 0: none. high: the median, or low again if only one figure is known. */
typedef struct range {
    double low, high;
} range;

typedef struct row {
    const char *name;
    const char *case_name, *first, *algorithm; /* first: the first parameter */
    const char *peer; /* a peer of the case, in place of the measured side */
    range taken[COLUMNS];
} row;

static const row rows[] = {
    {"put 4 B", "put", "all", NULL, NULL, {{.060, 0}, {.059, 0}, {.364, 0}, {.027, 0}}},
    {"put 4 B, complete",
     "put_flush",
     "all",
     NULL,
     NULL,
     {{.060, 0}, {.059, 0}, {.364, 0}, {.027, 0}}},
    {"get 4 B", "get", "all", NULL, NULL, {{.075, 0}, {.140, 0}, {.525, 0}, {.027, 0}}},
    {"CAS", "compare_and_swap", "all", NULL, NULL, {{.15, 0}, {.16, 0}, {1.22, 0}, {.048, 0}}},
    {"fetch-and-add", "fetch_add", "all", NULL, NULL, {{.18, 0}, {.21, 0}, {2.74, 0}, {.105, 0}}},
    {"hash insert, read/write",
     "insert",
     "read_write",
     "improved",
     NULL,
     {{.63, .77}, {.87, .89}, {7.6, 7.9}, {.219, .271}}},
    {"hash insert, write only",
     "insert",
     "write_only",
     "improved",
     NULL,
     {{.58, .65}, {.52, .79}, {3.5, 6.2}, {.112, .204}}},
    {"hash find, read/write",
     "find",
     "read_write",
     "improved",
     NULL,
     {{.54, .58}, {.77, .93}, {7.3, 7.7}, {.226, .232}}},
    {"hash find, read only",
     "find",
     "read_only",
     "improved",
     NULL,
     {{.165, .230}, {.22, .27}, {.53, 1.2}, {.029, .073}}},
    {"queue push, push only",
     "push",
     "write_only",
     "improved",
     NULL,
     {{.195, .31}, {.40, .43}, {2.0, 2.3}, {.072, .073}}},
    {"checksum queue push",
     "push",
     "read_write",
     "checksum",
     NULL,
     {{.244, .39}, {.26, .36}, {2.7, 3.0}, {.108, .159}}},
    {"circular queue push, read/write",
     "push",
     "read_write",
     "improved",
     NULL,
     {{47, 0}, {40, 48}, {60, 70}, {23, 40}}},
    {"circular queue pop, read/write",
     "pop",
     "read_write",
     "improved",
     NULL,
     {{.26, 0}, {.27, 0}, {1.8, 0}, {0, 0}}},
    {"circular queue pop, pop only",
     "pop",
     "read_only",
     "improved",
     NULL,
     {{.32, 0}, {.29, 0}, {2.6, 0}, {0, 0}}},
    {"buffered hash insert, 1,024",
     "batch_buffered",
     "call",
     NULL,
     NULL,
     {{.133, .20}, {.18, .25}, {.29, 0}, {0, 0}}},
    {"hash insert, active message",
     "insert",
     "read_write",
     "improved",
     "by call",
     {{0, 0}, {0, 0}, {0, 0}, {1.04, 0}}},
    {"queue push, active message",
     "push",
     "read_write",
     "improved",
     "by call",
     {{0, 0}, {0, 0}, {0, 0}, {.257, 0}}},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* What is printed of a measured row. */
static struct {
    const row *row;
    double ns, fetch_adds, loads, times;
    size_t best; /* column */
} reported[REPORTED];
static size_t reported_count;

static bool same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* 8 bytes, and no other parameters. */
static bool matches(const row *r, const bench_case *c) {
    const bench_param *p = c->params;
    if (!same(r->case_name, c->name) || !same(r->first, p[0].text) ||
        !same(r->algorithm, c->algorithm))
        return false;
    for (size_t i = 1; i < BENCH_PARAMS && p[i].name != NULL; i++)
        if (!same(p[i].name, "bytes") || p[i].value > 8)
            return false;
    return true;
}

bool bench_is_published(const bench_case *c) {
    for (size_t r = 0; r < ROWS; r++)
        if (matches(&rows[r], c))
            return true;
    return false;
}

/* The figures hold for shared memory and two processes. */
static bool comparable(const bench *b) {
    return b->shared && b->ranks == 2 && b->fetch_add_ns > 0 && b->missing_load_ns > 0;
}

static double measured(const row *r, const bench_case *c, const bench_times *t) {
    double ns[BENCH_PAIRS_MAX];
    size_t count = 0, peer = 0;
    if (r->peer == NULL)
        return bench_median(t->measured, t->pairs);
    while (peer < c->peer_count && strcmp(c->peers[peer].side.name, r->peer) != 0)
        peer++;
    for (size_t i = 0; peer < c->peer_count && i < t->pairs; i++)
        if (t->peer[peer][i] > 0)
            ns[count++] = t->peer[peer][i];
    return bench_median(ns, count);
}

static size_t best_of(const row *r) {
    size_t best = COLUMNS;
    for (size_t i = 0; i < COLUMNS; i++)
        if (r->taken[i].low > 0 && (best == COLUMNS || r->taken[i].low < r->taken[best].low))
            best = i;
    return best;
}

void bench_published_table(bench *b, const bench_case *c, const bench_times *times) {
    for (size_t r = 0; comparable(b) && r < ROWS; r++) {
        if (!matches(&rows[r], c) || reported_count == REPORTED)
            continue;
        const size_t i = reported_count++, best = best_of(&rows[r]);
        reported[i].row = &rows[r];
        reported[i].best = best;
        reported[i].ns = measured(&rows[r], c, times);
        reported[i].fetch_adds = reported[i].ns / b->fetch_add_ns;
        reported[i].loads = reported[i].ns / b->missing_load_ns;
        reported[i].times = 1e3 * rows[r].taken[best].low / reported[i].ns;
    }
}

void bench_published_json(bench *b, const bench_case *c, const bench_times *times) {
    const char *separator = ",\"published\":[";
    for (size_t r = 0; comparable(b) && r < ROWS; r++) {
        if (!matches(&rows[r], c))
            continue;
        const double ns = measured(&rows[r], c, times);
        fprintf(b->json,
                "%s{\"row\":\"%s\",\"measured_on\":\"" MEASURED_ON "\",\"value\":%.6g,"
                "\"unit\":\"ns\",\"fetch_adds\":%.4g,\"missing_loads\":%.4g",
                separator, rows[r].name, ns, ns / b->fetch_add_ns, ns / b->missing_load_ns);
        separator = ",";
        for (size_t i = 0; i < COLUMNS; i++)
            if (rows[r].taken[i].low > 0)
                fprintf(b->json, ",\"%s\":%.6g", columns[i], 1e3 * rows[r].taken[i].low);
        const size_t best = best_of(&rows[r]);
        fprintf(b->json, ",\"best\":\"%s\",\"times\":%.4g}", columns[best],
                1e3 * rows[r].taken[best].low / ns);
    }
    if (separator[1] == '\0')
        fputc(']', b->json);
}

void bench_published_summary(bench *b) {
    if (b->table == NULL || reported_count == 0)
        return;
    bench_note(b,
               "others on a like machine, " MEASURED_ON ", their best column; units of this run");
    fprintf(b->table, "  %-32s %9s %12s %14s %10s %6s  %s\n", "", "tern", "fetch-adds",
            "missing loads", "others", "times", "whose");
    for (size_t i = 0; i < reported_count; i++) {
        const row *r = reported[i].row;
        fprintf(b->table, "  %-32s %6.1f ns %12.2f %14.3f %7.0f ns %6.2f  %s\n", r->name,
                reported[i].ns, reported[i].fetch_adds, reported[i].loads,
                1e3 * r->taken[reported[i].best].low, reported[i].times, columns[reported[i].best]);
    }
}
