/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* What a put costs that the compiler cannot inline, as no call of MPI's can be. */

#define TERN_NO_INLINE

#include "library_calls.h"

void bench_library_put_flush(bench *b, tern_ptr to, const uint64_t *words, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        bench_ok(tern_put(b->worker, to, &words[i % 64], sizeof *words), "tern_put");
        bench_ok(tern_flush(b->worker, to.rank), "tern_flush");
    }
}
