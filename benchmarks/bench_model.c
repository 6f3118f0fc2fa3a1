/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The cost model (paper 003, section IV): the components, and for each operation under each promise
 * the model's prediction beside the measured time, by RMA and by call. */

#include "cells.h"

static void measure(bench *b) {
    cells costs;
    cells_costs(b, &costs);
    cells_figure(b);
    containers_queue(b, &costs);
    containers_hash(b, &costs);
}

void bench_model_all(bench *b) { cells_groups(b, measure); }
