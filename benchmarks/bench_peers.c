/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Containers beside the figures that others published of theirs (published.c). tern measures each
 * row again, in units of a bare fetch-and-add and of a bare load that misses the caches, from the
 * same run. */

#include "cells.h"

void bench_peers(bench *b) {
    cells costs;
    if (!b->shared) {
        bench_note(b, "others' figures are of shared memory: nothing is compared over %s",
                   tern_transport_name(b->transport));
        return;
    }
    cells_costs(b, &costs);
    b->published = true;
    cells_figure(b);
    containers_queue(b, &costs);
    containers_hash(b, &costs);
    bench_batch(b);
    b->published = false;
    bench_published_summary(b);
}
