/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* What --tail prints: how long the slowest of many operations take. */

#include "bench.h"

static const char *name_of(const bench_case *c, size_t side) {
    return side == 0   ? c->measured.name
           : side == 1 ? c->ceiling.name
                       : c->peers[side - 2].side.name;
}

void bench_tail_table(bench *b, const bench_case *c, const bench_times *times) {
    for (size_t i = 0; i < 2 + c->peer_count; i++) {
        const bench_tail *tail = &times->tail[i];
        char p50[24], p99[24], p999[24], most[24];
        if (tail->samples == 0)
            continue;
        bench_time_text(p50, sizeof p50, tail->p50);
        bench_time_text(p99, sizeof p99, tail->p99);
        bench_time_text(p999, sizeof p999, tail->p999);
        bench_time_text(most, sizeof most, tail->most);
        fprintf(b->table, "    %-44s p50 %-8s  p99 %-8s  p99.9 %-8s  most %-8s  (%zu",
                name_of(c, i), p50, p99, p999, most, tail->samples);
        if (tail->each > 1)
            fprintf(b->table, " times %llu", (unsigned long long)tail->each);
        fprintf(b->table, ")\n");
    }
}

void bench_tail_json(bench *b, const bench_case *c, const bench_times *times) {
    bool first = true;
    for (size_t i = 0; i < 2 + c->peer_count; i++) {
        const bench_tail *tail = &times->tail[i];
        if (tail->samples == 0)
            continue;
        fprintf(b->json, "%s{\"name\":", first ? ",\"tails\":[" : ",");
        bench_json_string(b->json, name_of(c, i));
        fprintf(b->json,
                ",\"samples\":%zu,\"each\":%llu,\"p50\":%.6g,\"p99\":%.6g,\"p999\":%.6g,"
                "\"most\":%.6g}",
                tail->samples, (unsigned long long)tail->each, tail->p50, tail->p99, tail->p999,
                tail->most);
        first = false;
    }
    if (!first)
        fputc(']', b->json);
}
