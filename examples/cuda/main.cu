/*
 * A kernel that calls host functions while it runs: it allocates memory, prints, and writes files;
 * and a kernel that the host calls while it runs. README.md explains more.
 */

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "gpu.h"
#include "host.h"
#include "kernels.h"

enum {
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    WARPS = 8,
    SLOTS = 6, /* fewer than warps, which take turns */
    SERVERS = 2,
    POOL_BYTES = 1 << 20
};

static const uint64_t timeout_ns = 10000000000u;

/* What both sides share: the same memory at the host's addresses and at the GPU's. */
struct shared {
    host_memory here;
    channel there;
    uint32_t *failures;
};

static bool good(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return true;
    fprintf(stderr, "cuda: %s: %s (%s)\n", what, cudaGetErrorString(error),
            cudaGetErrorName(error));
    return false;
}

/* ---- The GPU ---- */

static int attribute(cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

/* Prints facts about the GPU that do not prevent the program from running. */
static void describe() {
    cudaDeviceProp properties;
    if (!good(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties"))
        return;
    printf("%s; atomics on the host's memory are %s\n", properties.name,
           attribute(cudaDevAttrHostNativeAtomicSupported) ? "the host's too"
                                                           : "the GPU's own, which is enough");
    if (attribute(cudaDevAttrKernelExecTimeout))
        printf("it drives a display: the system ends kernels that run for seconds\n");
}

/* ---- Shared memory ---- */

/* Maps zeroed memory at both addresses. */
static bool map(size_t bytes, void **here, void **there) {
    if (!good(cudaHostAlloc(here, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
              "cudaHostAlloc"))
        return false;
    memset(*here, 0, bytes);
    return good(cudaHostGetDevicePointer(there, *here, 0), "cudaHostGetDevicePointer");
}

static bool share(shared *all) {
    void *pool = nullptr, *failures = nullptr, *pool_there = nullptr, *failures_there = nullptr;
    memset(all, 0, sizeof *all);
    bool done = map(host_mailbox_bytes(SLOTS), &all->here.mailbox, &all->there.mailbox) &&
                map(POOL_BYTES, &pool, &pool_there) &&
                map(WARPS * 32 * sizeof(uint32_t), &failures, &failures_there);
    all->here.pool = static_cast<uint8_t *>(pool);
    all->here.pool_bytes = POOL_BYTES;
    all->here.slots = all->there.slots = SLOTS;
    all->failures = static_cast<uint32_t *>(failures);
    all->there.pool = static_cast<uint8_t *>(pool_there);
    all->there.failures = static_cast<uint32_t *>(failures_there);
    all->there.timeout_ns = timeout_ns;
    return done;
}

static void unshare(shared *all) {
    (void)cudaFreeHost(all->here.mailbox);
    (void)cudaFreeHost(all->here.pool);
    (void)cudaFreeHost(all->failures);
}

static bool all_lanes_well(const shared *all, uint32_t warps) {
    uint32_t failed = 0;
    for (uint32_t i = 0; i < warps * 32; i++)
        failed += all->failures[i];
    if (failed > 0)
        fprintf(stderr, "cuda: calls of %u lanes failed\n", failed);
    return failed == 0;
}

/* ---- The two directions ---- */

static bool kernel_calls_host(const shared *all, const char *folder) {
    fflush(stdout);
    host *threads = host_start(&all->here, SERVERS, 1, folder);
    if (threads == nullptr) {
        fprintf(stderr, "cuda: the host's threads for %s: %s\n", folder, strerror(errno));
        return false;
    }
    calls_host<<<WARPS, 32>>>(all->there);
    bool done = good(cudaGetLastError(), "launch") &&
                good(cudaDeviceSynchronize(), "kernel that calls its host");
    uint32_t held = host_stop(threads);
    if (held > 0)
        fprintf(stderr, "cuda: the kernel has not given back %u files and allocations\n", held);
    if (!done || held > 0 || !all_lanes_well(all, WARPS))
        return false;
    printf("%d warps wrote %s/warp-*.txt\n", WARPS, folder);
    return true;
}

static bool sums_are_right(const shared *all, uint32_t slot) {
    uint64_t n[32], sums[32] = {0};
    uint32_t mask = 0x0f0ff0f1u << slot;
    for (uint64_t lane = 0; lane < 32; lane++)
        n[lane] = 100 * slot + lane;
    if (host_call_sums(&all->here, slot, mask, n, sums, timeout_ns) != 0) {
        fprintf(stderr, "cuda: the kernel does not answer on slot %u\n", slot);
        return false;
    }
    for (uint32_t lane = 0; lane < 32; lane++)
        if (sums[lane] != (mask >> lane & 1) * n[lane] * (n[lane] + 1) / 2) {
            fprintf(stderr, "cuda: lane %u has a wrong sum\n", lane);
            return false;
        }
    return true;
}

/* The kernel ends by itself if the host does not stop it. */
static bool host_calls_kernel(const shared *all) {
    memset(all->here.mailbox, 0, host_mailbox_bytes(SLOTS));
    serves_host<<<SLOTS, 32>>>(all->there);
    bool done = good(cudaGetLastError(), "launch");
    for (uint32_t slot = 0; done && slot < SLOTS; slot++)
        done = sums_are_right(all, slot);
    for (uint32_t slot = 0; done && slot < SLOTS; slot++)
        done = host_call_stop(&all->here, slot, timeout_ns) == 0;
    done = good(cudaDeviceSynchronize(), "kernel that serves its host") && done;
    if (!done || !all_lanes_well(all, SLOTS))
        return false;
    printf("%d warps served their host and were told to stop\n", SLOTS);
    return true;
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : ".";
    if (argc == 2 && strcmp(folder, "--help") == 0) {
        printf("usage: host_calls [FOLDER]\n"
               "A kernel calls its host, and writes files to FOLDER; the host calls a kernel.\n"
               "Exit status: 0 done, 1 failed, 2 bad usage, 77 there is no fit GPU.\n");
        return 0;
    }
    if (argc > 2 || folder[0] == '-') {
        fprintf(stderr, "host_calls: takes a folder, not %s; --help says more\n",
                folder[0] == '-' ? folder : argv[2]);
        return STATUS_USAGE;
    }
    const char *reason;
    int fit = gpu_look(&reason);
    if (fit != GPU_FIT) {
        fprintf(stderr, "%s: %s\n", fit == GPU_UNFIT ? "skipped" : "cuda", reason);
        return fit;
    }
    describe();
    shared all;
    bool done = share(&all) && kernel_calls_host(&all, folder) && host_calls_kernel(&all);
    unshare(&all);
    return done ? EXIT_SUCCESS : STATUS_FAILED;
}
