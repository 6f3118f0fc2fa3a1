#ifndef TERN_CHOICE_TICKS_H
#define TERN_CHOICE_TICKS_H

/* The processor's own counter of time: what reading it costs is lost in a timed operation. Of times
 * only differences on one thread are taken; one that moved to a core whose counter is behind gets a
 * difference below 0, which is no measurement. That ranks of a host read about the same number at
 * the same moment helps them to meet (choice.c); nothing breaks where they do not. */

#include "src/wait.h"

static inline uint64_t tern_ticks(void) {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return tern_now();
#endif
}

/* How many there are in a nanosecond, to a few percent: 20 us of looking at both clocks. */
static inline double tern_ticks_per_ns(void) {
    const uint64_t began = tern_now(), first = tern_ticks();
    uint64_t now;
    do
        now = tern_now();
    while (now - began < 20000);
    return (double)(tern_ticks() - first) / (double)(now - began);
}

#endif
