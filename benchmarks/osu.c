/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table in the layout that people know from the OSU benchmarks: a block for each sweep, whose
 * lines begin with '#' or have the size and then the figure. Behind tern's figure stand those of
 * the ceiling and of the peers. Times are in us, bandwidths in MB/s, a million bytes a second.
 */

#include "bench.h"

static double figure(const bench_case *c, const double *ns, size_t pairs) {
    double values[BENCH_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++)
        if (ns[i] > 0)
            values[count++] =
                c->unit == BENCH_BANDWIDTH ? 1e3 * (double)c->bytes / ns[i] : ns[i] / 1e3;
    return bench_median(values, count);
}

static uint64_t parameter(const bench_case *c, const char *name) {
    for (size_t i = 0; i < BENCH_PARAMS && c->params[i].name != NULL; i++)
        if (strcmp(c->params[i].name, name) == 0)
            return c->params[i].value;
    return 0;
}

/* The columns of tern, the ceiling and the peers. */
static void head(const bench *b, const bench_case *c) {
    FILE *to = b->table;
    fprintf(to, "\n# tern %s %s, %s, %s, %d ranks\n", TERN_VERSION_STRING, c->name,
            tern_transport_name(b->transport), b->mpi, b->ranks);
    fprintf(to, "# columns: %s", c->measured.name);
    if (c->ceiling.name != NULL)
        fprintf(to, " | %s", c->ceiling.name);
    for (size_t i = 0; i < c->peer_count; i++)
        fprintf(to, " | %s", c->peers[i].side.name);
    fprintf(to, "\n%-12s %16s\n", "# Size",
            c->unit == BENCH_BANDWIDTH ? "Bandwidth (MB/s)" : "Latency (us)");
}

void bench_osu_case(const bench *b, const bench_case *c, const bench_times *times) {
    static const char *sweep; /* that the last line belonged to */
    static int ranks;
    if (sweep == NULL || strcmp(sweep, c->name) != 0 || ranks != b->ranks)
        head(b, c);
    sweep = c->name;
    ranks = b->ranks;
    fprintf(b->table, "%-12llu %16.3f", (unsigned long long)parameter(c, "bytes"),
            figure(c, times->measured, times->pairs));
    if (c->ceiling.name != NULL)
        fprintf(b->table, " %14.3f", figure(c, times->ceiling, times->pairs));
    for (size_t i = 0; i < c->peer_count; i++)
        fprintf(b->table, " %14.3f", figure(c, times->peer[i], times->pairs));
    fputc('\n', b->table);
    fflush(b->table);
}
