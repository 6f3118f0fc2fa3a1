/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* What the baselines share: a step of a wait, and the paper's cost model. */

#ifndef TERN_BASELINES_BASELINES_H
#define TERN_BASELINES_BASELINES_H

#include <stdbool.h>

#include "tern/tern.h"

/* One step of a wait. A handler may not wait: there the operation ends with TERN_ERR_AGAIN, and
 * tern runs the handler again later. */
static inline tern_status baseline_pause(tern_worker *worker, bool in_handler) {
    if (in_handler)
        return TERN_ERR_AGAIN;
    (void)tern_progress(worker);
    return TERN_OK;
}

/*
 * costs.c: what the paper's cost model says of its own algorithms (003, tables II and III): the ns
 * of an operation by RMA, from the costs of the components. A persistent CAS counts once: without
 * contention it succeeds at once.
 */

double baseline_insert_ns(tern_flags promise, const tern_costs *costs);
double baseline_find_ns(tern_flags promise, const tern_costs *costs);
double baseline_circular_push_ns(tern_flags promise, const tern_costs *costs);
double baseline_circular_pop_ns(tern_flags promise, const tern_costs *costs);
double baseline_checksum_push_ns(tern_flags promise, const tern_costs *costs);

#endif
