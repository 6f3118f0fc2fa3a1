/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "baselines.h"

/* 1 for what only an operation without the promise of a phase does. */
static double unless_in_phase(tern_flags promise) { return promise == TERN_READ_WRITE ? 1 : 0; }

/* Tries to take each bucket that it passes. */
double baseline_insert_ns(tern_flags promise, const tern_costs *costs) {
    return costs->cas + costs->put + unless_in_phase(promise) * costs->fetch +
           costs->passed * costs->cas;
}

/* Reads each bucket that it passes as it reads the last. */
double baseline_find_ns(tern_flags promise, const tern_costs *costs) {
    return (1 + costs->passed) * (costs->get + unless_in_phase(promise) * 2 * costs->fetch);
}

double baseline_circular_push_ns(tern_flags promise, const tern_costs *costs) {
    return costs->hot + costs->put + unless_in_phase(promise) * costs->hot;
}

double baseline_circular_pop_ns(tern_flags promise, const tern_costs *costs) {
    return costs->hot + costs->get + unless_in_phase(promise) * costs->hot;
}

double baseline_checksum_push_ns(tern_flags promise, const tern_costs *costs) {
    (void)promise;
    return costs->hot + costs->put;
}
