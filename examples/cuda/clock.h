/*
 * A kernel's clock.
 */

#ifndef TERN_EXAMPLES_CUDA_CLOCK_H
#define TERN_EXAMPLES_CUDA_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment. */
static __device__ inline uint64_t clock_ns(void) {
#ifdef TERN_MAILBOX_PLAYED
    return played_clock();
#else
    uint64_t now;
    __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
#endif
}

#endif
