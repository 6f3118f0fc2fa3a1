/* The host as the client of a running kernel. */

#include "host.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include <tern/mailbox_warp.h>

#include "functions.h"

typedef struct sums {
    uint64_t function;
    const uint64_t *n;
    uint64_t *sums;
} sums;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int late(void *argument, uint32_t calls) {
    (void)calls;
    sched_yield();
    return now() > *(const uint64_t *)argument;
}

static void fill(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    const sums *request = argument;
    line->word[0] = request->function;
    line->word[1] = request->n != NULL ? request->n[place.lane] : 0;
}

static void use(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    const sums *request = argument;
    if (request->sums != NULL)
        request->sums[place.lane] = line->word[0];
}

static int call(const host_memory *memory, uint32_t slot, uint32_t mask, sums request,
                uint64_t timeout_ns) {
    uint64_t end = now() + timeout_ns;
    tern_mailbox_wait wait = {late, &end};
    tern_mailbox box = tern_mailbox_at(memory->mailbox, memory->slots, sizeof(tern_mailbox_warp));
    /* Only this thread calls, so no slot needs a lock. */
    tern_mailbox_client client = tern_mailbox_client_at(&box, 1);
    return tern_mailbox_warp_call_on(&client, slot, tern_mailbox_party_whole(mask), fill, use,
                                     &request, &wait);
}

int host_call_sums(const host_memory *memory, uint32_t slot, uint32_t mask, const uint64_t *n,
                   uint64_t *results, uint64_t timeout_ns) {
    sums request = {ASK_SUM, n, results};
    return call(memory, slot, mask, request, timeout_ns);
}

int host_call_stop(const host_memory *memory, uint32_t slot, uint64_t timeout_ns) {
    sums request = {ASK_STOP, NULL, NULL};
    return call(memory, slot, 1, request, timeout_ns);
}
