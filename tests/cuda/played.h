/*
 * Threads of a host play the lanes of warps: the names of CUDA that tern/mailbox_warp.h and the
 * kernels use, for C. This shows that a kernel's steps are right in every order in which
 * lanes may run, and to ThreadSanitizer that a __syncwarp or a flag stands between any two accesses
 * of different threads; not what a GPU's memory and compiler make of it. ThreadSanitizer takes more
 * for ordered than is: all parties of a warp meet under one mutex, so that a __syncwarp of one also
 * orders what a __syncwarp of another comes behind, and an access that lacks its own is missed
 * then.
 *
 * To be included before any header of tern, by files with nothing but kernels.
 */

#ifndef TERN_TESTS_CUDA_PLAYED_H
#define TERN_TESTS_CUDA_PLAYED_H

#include <sched.h>
#include <stdint.h>

#define TERN_MAILBOX_PLAYED
#define __device__
#define __global__
#define __host__

typedef struct played_dim {
    uint32_t x;
} played_dim;

extern _Thread_local played_dim threadIdx, blockIdx;
extern played_dim blockDim, gridDim;

void __syncwarp(uint32_t lanes);
int __shfl_sync(uint32_t lanes, int value, int from);
uint32_t __ballot_sync(uint32_t lanes, int bit);

/* ns; gives the processor up, which lanes that poll do not. */
uint64_t played_clock(void);

#endif
