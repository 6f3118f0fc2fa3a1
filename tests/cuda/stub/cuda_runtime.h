/*
 * What the CUDA files of this project use of CUDA's own headers, declared for clang to check their
 * syntax where there is no CUDA, or one that it does not know. Declarations alone: nothing is
 * linked.
 */

#ifndef TERN_TESTS_CUDA_STUB_H
#define TERN_TESTS_CUDA_STUB_H

#include <stddef.h>

#define __CUDACC__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))

/* ---- On the device ---- */

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;

__device__ void __nanosleep(unsigned ns);
__device__ int __ffsll(long long bits);
__device__ void __syncwarp(unsigned lanes = 0xffffffffu);
__device__ int __shfl_sync(unsigned lanes, int value, int from, int width = 32);
__device__ unsigned __ballot_sync(unsigned lanes, int bit);

/* ---- On the host ---- */

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorNotReady = 600
} cudaError_t;
typedef struct CUstream_st *cudaStream_t;

enum cudaDeviceAttr {
    cudaDevAttrKernelExecTimeout = 17,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrHostNativeAtomicSupported = 86
};

struct cudaDeviceProp {
    char name[256];
};

#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02

extern "C" {
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void **there, void *here, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
/* What clang makes of a launch. */
unsigned cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = 0);
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream);
}

#endif
