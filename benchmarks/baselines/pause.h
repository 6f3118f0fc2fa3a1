/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef TERN_BASELINES_PAUSE_H
#define TERN_BASELINES_PAUSE_H

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

#endif
