/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Selects the cases that run: those whose name matches --only and that begin before the subject's
 * time (--seconds, which --quick also sets) is up. It keeps the names that were asked for, for
 * --list and for the message that no case matches.
 */

#include "bench.h"

#include <fnmatch.h>
#include <math.h>

enum { NAMES = 64, NAME_ROOM = 48 };

static char names[NAMES][NAME_ROOM]; /* of the cases that --only could name */
static size_t name_count;
static bool matched; /* --only matched one of them */

static void keep_name(const char *name) {
    for (size_t i = 0; i < name_count; i++)
        if (strcmp(names[i], name) == 0)
            return;
    if (name_count < NAMES)
        snprintf(names[name_count++], NAME_ROOM, "%s", name);
}

/* The cases that sweep over sizes. */
static bool is_sweep(const char *name) {
    static const char *const sweeps[] = {
        "put",           "get",           "ping_pong",   "put_latency", "get_latency",
        "put_bandwidth", "get_bandwidth", "call_return", "broadcast",   "allreduce"};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        if (strcmp(name, sweeps[i]) == 0)
            return true;
    return false;
}

bench_sizes bench_sweep(const bench *b, bench_sizes all, bench_sizes few) {
    enum { POWERS = 32, QUICK_STEP = 3 };
    static size_t powers[POWERS];
    bench_sizes sweep = {powers, 0};
    if (!b->options.osu)
        return b->options.quick ? few : all;
    const size_t least = all.bytes[0] > 0 ? all.bytes[0] : 1;
    for (size_t bytes = least; bytes <= all.bytes[all.count - 1] && sweep.count < POWERS;
         bytes <<= b->options.quick ? QUICK_STEP : 1)
        powers[sweep.count++] = bytes;
    return sweep;
}

/* A subject passes NULL for a measurement that it makes whatever --only says; only is NULL then. */
bool bench_selected(const bench *b, const char *name) {
    if (b->options.osu && !is_sweep(name))
        return false;
    if (b->options.only == NULL)
        return !b->options.list;
    keep_name(name);
    bool match = !b->options.list && fnmatch(b->options.only, name, 0) == 0;
    matched |= match;
    return match;
}

bool bench_has_matched(void) { return matched; }

void bench_print_names(FILE *to) {
    for (size_t i = 0; i < name_count; i++)
        fprintf(to, "  %s\n", names[i]);
    name_count = 0;
}

void bench_begin_subject(bench *b) {
    b->ends = b->options.seconds > 0 ? bench_now() + b->options.seconds * 1e9 : INFINITY;
    *b->left_out = 0;
}

bool bench_in_time(const bench *b) { return bench_now() < b->ends; }

bool bench_time_for(bench *b, size_t cases) {
    if (b->options.seconds <= 0)
        return true;
    bool time = bench_in_time(b);
    if (b->rank == BENCH_ORIGIN)
        bench_send(b, &time, sizeof time);
    else
        bench_receive(b, &time, sizeof time);
    if (!time)
        *b->left_out += (unsigned)cases;
    return time;
}
