/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Code that several ceilings share: waiting, and requesting a cache line in advance. */

#ifndef TERN_BENCHMARKS_WAIT_H
#define TERN_BENCHMARKS_WAIT_H

#include <sched.h>

static inline void ceiling_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    __asm__ volatile("" : : : "memory");
#endif
}

/* One step of a wait after the looks-th look has found nothing. A long wait gives its core away,
 * which costs nothing if each thread has its own. */
static inline void ceiling_wait(unsigned looks) {
    ceiling_relax();
    if (looks % 1024 == 0)
        sched_yield();
}

/* Requests a line for writing. Stores leave a core in order, so its store buffer can wait for only
 * a few lines at a time. (__builtin_prefetch for writing requests only a copy, unless the compiler
 * knows the processor.) */
static inline void ceiling_own_line(const char *line) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

#endif
