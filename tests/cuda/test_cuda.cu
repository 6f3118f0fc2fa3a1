/*
 * Kernels and their host call each other, at random and beside a model. For a machine with a GPU;
 * 77 without one. test_mailbox_warp_threads.c runs the same kernels with lanes that threads play.
 */

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "examples/cuda/gpu.h"
#include "hosts.h"
#include "kernels.h"

enum { STATUS_FAILED = 1, SLOTS_MAX = HOSTS_SLOTS_MAX, LANES_MAX = 8192 };

/* Memory that is mapped on both sides. */
typedef struct play {
    alignas(TERN_MAILBOX_LINE)
        uint8_t memory[SLOTS_MAX * (sizeof(tern_mailbox_warp) + 6 * TERN_MAILBOX_LINE)];
    model_session sessions[SLOTS_MAX * TERN_MAILBOX_LANES];
    uint64_t calls[LANES_MAX], wrong[LANES_MAX];
    uint32_t stop;
} play;

static play *here, *there;
static hosts servers, clients;
static uint32_t failed, times = 1;

#define CHECK(condition) check((condition), #condition, __LINE__)

static bool check(bool good, const char *what, int line) {
    if (!good) {
        printf("FAILED test_cuda.cu:%d: %s\n", line, what);
        failed++;
    }
    return good;
}

#define CHECK_CUDA(call) check_cuda((call), #call, __LINE__)

static bool check_cuda(cudaError_t error, const char *what, int line) {
    if (error != cudaSuccess)
        printf("test_cuda.cu:%d: %s\n", line, cudaGetErrorString(error));
    return check(error == cudaSuccess, what, line);
}

/* ---- A round ---- */

static kernel_plan open_play(uint32_t slots, uint32_t rounds) {
    kernel_plan plan;
    memset(here, 0, sizeof *here);
    memset(&servers, 0, sizeof servers);
    memset(&plan, 0, sizeof plan);
    plan.memory = there->memory;
    plan.slots = slots;
    plan.rounds = rounds * times;
    plan.seed = 1;
    plan.patience = 20000000000u;
    plan.sessions = there->sessions;
    plan.stop = &there->stop;
    plan.calls = there->calls;
    plan.wrong = there->wrong;
    servers.box = tern_mailbox_at(here->memory, slots, sizeof(tern_mailbox_warp));
    servers.sessions = here->sessions;
    servers.rounds = plan.rounds;
    servers.seed = plan.seed;
    clients = servers;
    CHECK(tern_mailbox_bytes(slots, sizeof(tern_mailbox_warp)) <= sizeof here->memory);
    return plan;
}

static uint64_t sum(const uint64_t *of) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < LANES_MAX; i++)
        all += of[i];
    return all;
}

static void close_play(uint64_t made) {
    uint64_t wrong;
    CHECK(hosts_served(&servers, &wrong) == made);
    CHECK(made > 0);
    CHECK(wrong == 0);
    CHECK(clients.wrong == 0);
    CHECK(sum(here->wrong) == 0);
    for (uint32_t slot = 0; slot < servers.box.slots; slot++)
        CHECK(tern_mailbox_look(&servers.box, slot) == TERN_MAILBOX_QUIET);
}

/* ---- Tests ---- */

static void kernel_to_hosts_as(uint32_t blocks, uint32_t threads, uint32_t slots, uint32_t count,
                               uint32_t own) {
    kernel_plan plan = open_play(slots, 50);
    plan.own = own;
    CHECK(hosts_start(&servers, count, hosts_serve) == 0);
    kernel_calls<<<blocks, threads>>>(plan);
    bool launched = CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    hosts_end(&servers);
    if (!launched)
        return;
    close_play(sum(here->calls));
}

static void kernel_to_hosts() {
    kernel_to_hosts_as(1, 32, 1, 1, 1);
    kernel_to_hosts_as(1, 32, 1, 1, 0);
    kernel_to_hosts_as(1, 7, 2, 1, 0);
    kernel_to_hosts_as(2, 40, 4, 2, 1);
    kernel_to_hosts_as(16, 64, 5, 2, 0);
    kernel_to_hosts_as(40, 128, 160, 4, 1);
    kernel_to_hosts_as(64, 128, 200, 4, 0);
}

static void hosts_to_kernel_as(uint32_t blocks, uint32_t threads, uint32_t slots, uint32_t count) {
    kernel_plan plan = open_play(slots, 300);
    kernel_serves<<<blocks, threads>>>(plan);
    if (!CHECK_CUDA(cudaGetLastError()))
        return;
    CHECK(hosts_start(&clients, count, hosts_call) == 0);
    hosts_join(&clients);
    for (uint32_t slot = 0; slot < slots; slot++)
        while (tern_mailbox_look(&clients.box, slot) != TERN_MAILBOX_QUIET &&
               cudaStreamQuery(0) == cudaErrorNotReady)
            sched_yield();
    tern_mailbox_store32(&here->stop, 1);
    CHECK_CUDA(cudaDeviceSynchronize());
    close_play(clients.asked);
}

static void hosts_to_kernel() {
    hosts_to_kernel_as(1, 32, 1, 1);
    hosts_to_kernel_as(1, 32, 5, 3);
    hosts_to_kernel_as(4, 64, 8, 4);
    hosts_to_kernel_as(8, 32, 3, 4);
}

/* Nobody serves, and nobody calls: both kernels end. */
static void kernels_alone() {
    kernel_plan plan = open_play(2, 10);
    plan.patience = 1000000;
    kernel_calls<<<2, 64>>>(plan);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(sum(here->calls) == 0);
    CHECK(sum(here->wrong) > 0);
    for (uint32_t slot = 0; slot < 2; slot++)
        CHECK(servers.box.client_locks[slot].holder == 0);
    plan = open_play(2, 10);
    plan.patience = 1000000;
    kernel_serves<<<2, 32>>>(plan);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    uint64_t wrong;
    CHECK(hosts_served(&servers, &wrong) == 0);
}

int main(int argc, char **argv) {
    const char *reason;
    int fit = gpu_look(&reason);
    if (fit != GPU_FIT) {
        printf("%s: %s\n", fit == GPU_UNFIT ? "skipped" : "FAILED", reason);
        return fit;
    }
    /* A test that is ended for its time has said what failed. */
    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    if (argc > 1 && strcmp(argv[1], "--full") == 0)
        times = 20;
    void *memory = nullptr, *mapped = nullptr;
    if (!CHECK_CUDA(cudaHostAlloc(&memory, sizeof(play), cudaHostAllocMapped)) ||
        !CHECK_CUDA(cudaHostGetDevicePointer(&mapped, memory, 0)))
        return STATUS_FAILED;
    here = static_cast<play *>(memory);
    there = static_cast<play *>(mapped);
    kernel_to_hosts();
    hosts_to_kernel();
    kernels_alone();
    CHECK_CUDA(cudaFreeHost(memory));
    printf("cuda: %u checks failed\n", failed);
    return failed == 0 ? EXIT_SUCCESS : STATUS_FAILED;
}
