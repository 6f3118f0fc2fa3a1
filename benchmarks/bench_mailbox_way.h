/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Calls through a mailbox of the layout that the including file has chosen. Each layout's file
 * includes it once. */

#include <sched.h>
#include <time.h>

#include "bench_mailbox.h"
#include "tern/mailbox_host.h"

typedef struct mailbox_call_state {
    uint64_t number, wrong;
} mailbox_call_state;

/* Waits as the workers of a share do (mailbox/workers.c). */
static int give_way(void *argument, uint32_t calls) {
    static const struct timespec nap = {0, TERN_MAILBOX_NAP_NS};
    if (((const mailbox_run *)argument)->crowded && calls >= TERN_MAILBOX_YIELDS)
        nanosleep(&nap, NULL);
    else
        sched_yield();
    return 0;
}

static void fill(void *packet, uint32_t slot, void *argument) {
    (void)slot;
    *(uint64_t *)packet = ((mailbox_call_state *)argument)->number;
}

static void use(void *packet, uint32_t slot, void *argument) {
    mailbox_call_state *call = argument;
    (void)slot;
    call->wrong += *(uint64_t *)packet != call->number + 1;
}

static int work(void *packet, uint32_t slot, void *argument) {
    (void)slot, (void)argument;
    ++*(uint64_t *)packet;
    return 0;
}

static void no_use(void *packet, uint32_t slot, void *argument) {
    (void)packet, (void)slot, (void)argument;
}

static int no_work(void *packet, uint32_t slot, void *argument) {
    (void)packet, (void)slot, (void)argument;
    return 0;
}

/* Two mailboxes, of which one has only the slot of the pair's own. */
static tern_mailbox box_of(const mailbox_run *run) {
    size_t first = tern_mailbox_bytes(MAILBOX_SLOTS, MAILBOX_PACKET);
    return run->own ? tern_mailbox_at((char *)run->memory + first, 1, MAILBOX_PACKET)
                    : tern_mailbox_at(run->memory, MAILBOX_SLOTS, MAILBOX_PACKET);
}

/* Waits until every call is answered and cleaned, including asynchronous ones. */
static void settle(tern_mailbox_client *client, mailbox_run *run) {
    uint32_t calls = 0;
    for (uint32_t slot = 0; slot < client->box.slots; slot++)
        while (tern_mailbox_look(&client->box, slot) != TERN_MAILBOX_QUIET) {
            tern_mailbox_recycle(client, slot / TERN_MAILBOX_GROUP * TERN_MAILBOX_GROUP,
                                 (uint64_t)1 << slot % TERN_MAILBOX_GROUP);
            give_way(run, calls++);
        }
}

static void call_n(mailbox_run *run, uint32_t number, uint64_t n) {
    const tern_mailbox_wait patient = {give_way, run};
    tern_mailbox box = box_of(run);
    tern_mailbox_client client = tern_mailbox_client_at(&box, number + 1);
    mailbox_call_state call = {0, 0};
    if (run->own) {
        (void)tern_mailbox_client_own(&client, 0);
        for (; call.number < n; call.number++)
            (void)(run->payload
                       ? tern_mailbox_call_on(&client, 0, fill, use, &call, &patient)
                       : tern_mailbox_call_on(&client, 0, no_use, no_use, &call, &patient));
        (void)tern_mailbox_client_reclaim(&client, client.name);
    } else if (run->send) {
        for (; call.number < n; call.number++)
            (void)tern_mailbox_send(&client, fill, &call, &patient);
    } else {
        for (; call.number < n; call.number++)
            (void)tern_mailbox_call(&client, fill, use, &call, &patient);
    }
    settle(&client, run);
    __atomic_fetch_add(&run->wrong, call.wrong, __ATOMIC_RELAXED);
}

static void serve_until(mailbox_run *run, uint32_t number, uint64_t steps) {
    const tern_mailbox_wait patient = {give_way, run};
    tern_mailbox box = box_of(run);
    tern_mailbox_server server = tern_mailbox_server_at(&box, number + 1);
    tern_mailbox_work *task = run->payload ? work : no_work;
    if (run->own)
        (void)tern_mailbox_server_own(&server, 0);
    for (uint32_t idle = 0; __atomic_load_n(&run->steps, __ATOMIC_RELAXED) < steps;) {
        uint32_t done = tern_mailbox_serve(&server, task, NULL, NULL);
        if (done > 0) {
            __atomic_fetch_add(&run->steps, done, __ATOMIC_RELAXED);
            idle = 0;
        } else {
            (void)tern_mailbox_rest(&patient, idle++);
        }
    }
    if (run->own)
        (void)tern_mailbox_server_reclaim(&server, server.name, no_work, NULL);
}

static size_t bytes_of(void) {
    return tern_mailbox_bytes(MAILBOX_SLOTS, MAILBOX_PACKET) +
           tern_mailbox_bytes(1, MAILBOX_PACKET);
}

static uint64_t *beside_flag(void *memory, int server) {
    const mailbox_run run = {.memory = memory, .own = 1};
    tern_mailbox box = box_of(&run);
    char *line = (char *)box.packets + (size_t)box.slots * box.bytes +
                 (server ? tern_mailbox_flags_bytes(box.slots) : 0);
    return (uint64_t *)(void *)line + 1;
}

const mailbox_way MAILBOX_WAY = {MAILBOX_NAME, bytes_of, beside_flag, call_n, serve_until};
