/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* What the paper's cost model says of its own algorithms (003, tables II and III): the ns of an
 * operation by RMA, from the costs of the components. A persistent CAS counts once: without
 * contention it succeeds at once. */

#ifndef TERN_BASELINES_COSTS_H
#define TERN_BASELINES_COSTS_H

#include "tern/tern.h"

double baseline_insert_ns(tern_flags promise, const tern_costs *costs);
double baseline_find_ns(tern_flags promise, const tern_costs *costs);
double baseline_circular_push_ns(tern_flags promise, const tern_costs *costs);
double baseline_circular_pop_ns(tern_flags promise, const tern_costs *costs);
double baseline_checksum_push_ns(tern_flags promise, const tern_costs *costs);

#endif
