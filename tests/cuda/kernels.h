/*
 * The kernels of the tests. They are C but for the names that CUDA brings, so that a test without a
 * GPU can have threads play the lanes (played.h).
 */

#ifndef TERN_TESTS_CUDA_KERNELS_H
#define TERN_TESTS_CUDA_KERNELS_H

#include "examples/cuda/clock.h"
#include "model.h"

/* The argument is the time at which a call ends. */
static __device__ int kernel_idle(void *argument, uint32_t calls) {
    (void)calls;
    return clock_ns() > *(const uint64_t *)argument;
}

/* The lanes of this thread's warp: fewer than 32 at the end of a block. */
static __device__ uint32_t kernel_lanes(void) {
    uint32_t left = blockDim.x - threadIdx.x / 32 * 32;
    return left >= 32 ? ~(uint32_t)0 : ((uint32_t)1 << left) - 1;
}

static __device__ uint32_t kernel_warp(void) {
    return blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32;
}

/* One call of a lane, by the party. Not 0: no answer came. */
static __device__ int kernel_call(const kernel_plan *plan, tern_mailbox_client *client,
                                  tern_mailbox_party party, uint64_t *random) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t end = clock_ns() + plan->patience;
    model_call call = model_call_of(random);
    tern_mailbox_wait wait;
    wait.idle = kernel_idle;
    wait.argument = &end;
    int stop = plan->own ? tern_mailbox_warp_call_on(client, client->name - 1, party,
                                                     model_fill_mine, model_use_mine, &call, &wait)
                         : tern_mailbox_warp_call(client, party, model_fill_mine, model_use_mine,
                                                  &call, &wait);
    plan->calls[thread] += stop == 0;
    plan->wrong[thread] += stop != 0 || !model_call_is_right(&call);
    return stop;
}

/* Warps call the host, each time with some of their lanes, or, on two slots, as two parties. */
static __global__ void kernel_calls(kernel_plan plan) {
    uint32_t warp = kernel_warp(), lanes = kernel_lanes(), lane = threadIdx.x % 32;
    uint64_t together = plan.seed + warp, mine = plan.seed + 1000000 + warp * 32 + lane;
    tern_mailbox box = tern_mailbox_at(plan.memory, plan.slots, sizeof(tern_mailbox_warp));
    tern_mailbox_client client = tern_mailbox_client_at(&box, warp + 1);
    int stop = 0;
    /* Calls of several packets: servers see from the lock that their client is there. */
    if (plan.own && lane == 0)
        (void)tern_mailbox_client_own(&client, warp);
    __syncwarp(lanes);
    for (uint32_t round = 0; round < plan.rounds && stop == 0; round++) {
        uint32_t chosen = model_mask(&together), two = model_random(&together) % 4 == 0;
        if (chosen >> lane & 1)
            stop =
                kernel_call(&plan, &client, tern_mailbox_party_lane(lanes & chosen, lane), &mine);
        else if (two && !plan.own)
            stop =
                kernel_call(&plan, &client, tern_mailbox_party_lane(lanes & ~chosen, lane), &mine);
        stop = __ballot_sync(lanes, stop != 0) != 0;
    }
}

/* Warps serve the host, each the slots of its number and every so many behind, until it says stop
 * or nothing has come for long. */
static __global__ void kernel_serves(kernel_plan plan) {
    uint32_t warps = gridDim.x * ((blockDim.x + 31) / 32), warp = kernel_warp();
    uint64_t end = clock_ns() + plan.patience;
    tern_mailbox box = tern_mailbox_at(plan.memory, plan.slots, sizeof(tern_mailbox_warp));
    tern_mailbox_server server = tern_mailbox_server_at(&box, warp + 1);
    tern_mailbox_party party = tern_mailbox_party_lane(kernel_lanes(), threadIdx.x % 32);
    tern_mailbox_crew crew;
    crew.work = model_work;
    crew.argument = plan.sessions;
    crew.worked = 0; /* a slot is a warp's */
    for (int stop = 0; !stop;) {
        /* Stop first, slots then: what was posted before it is served. */
        if (tern_mailbox_party_leads(party))
            stop = tern_mailbox_load32(plan.stop) != 0 || clock_ns() > end;
        stop = tern_internal_mailbox_party_share(party, stop);
        for (uint32_t slot = warp; slot < plan.slots; slot += warps)
            if (tern_mailbox_warp_serve_on(&server, slot, party, &crew))
                end = clock_ns() + plan.patience;
        tern_mailbox_pause();
    }
}

#endif
