/*
 * Checks whether the first GPU can use mailboxes.
 */

#ifndef TERN_EXAMPLES_CUDA_GPU_H
#define TERN_EXAMPLES_CUDA_GPU_H

#include <cuda_runtime.h>

enum { GPU_FIT = 0, GPU_FAILED = 1, GPU_UNFIT = 77 };

/* Returns GPU_FIT; GPU_UNFIT if there is no suitable GPU; GPU_FAILED if there may be one, but CUDA
 * does not work. [out] reason: the reason in words, unless the GPU is fit. */
static inline int gpu_look(const char **reason) {
    int count = 0, major = 0, maps = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (error == cudaSuccess && count > 0)
        error = cudaDeviceGetAttribute(&maps, cudaDevAttrCanMapHostMemory, 0);
    *reason = cudaGetErrorString(error);
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
        return GPU_UNFIT;
    if (error != cudaSuccess)
        return GPU_FAILED;
    if (count == 0)
        *reason = "there is no GPU";
    else if (major < 7)
        *reason = "lanes cannot wait for each other before compute capability 7.0";
    else if (!maps)
        *reason = "the GPU cannot map memory of the host";
    else
        return GPU_FIT;
    return GPU_UNFIT;
}

#endif
