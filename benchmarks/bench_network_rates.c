/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The rate of small puts by several workers of a process at once, each in a thread of its own, to
 * words of the other rank. To compare with as many processes, run as many programs at once, each
 * with one worker.
 */

#include "bench_network.h"

#include <pthread.h>

enum { WORKERS_MAX = 4, WORD = 8, APART = 128 };

typedef struct rates {
    bench group; /* with a context of so many workers */
    uint32_t count;
    tern_ptr words;
    uint64_t puts; /* of each worker in this block */
} rates;

typedef struct putter {
    rates *all;
    uint32_t index;
    pthread_t thread;
} putter;

static void stream(const rates *all, tern_worker *worker, uint32_t index) {
    const tern_ptr word = tern_ptr_add(all->words, (int64_t)index * APART);
    for (uint64_t n = all->puts; n-- > 0;)
        bench_ok(tern_put(worker, word, &n, WORD), "tern_put");
    bench_ok(tern_flush(worker, word.rank), "tern_flush");
}

static void *thread_of(void *argument) {
    const putter *p = argument;
    tern_worker *worker;
    bench_ok(tern_worker_adopt(p->all->group.context, p->index, &worker), "tern_worker_adopt");
    stream(p->all, worker, p->index);
    bench_ok(tern_worker_release(worker), "tern_worker_release");
    return NULL;
}

/* The calling thread is the first worker. */
static void all_at_once(bench *b, void *state, uint64_t n) {
    rates *all = state;
    putter putters[WORKERS_MAX];
    (void)b;
    all->puts = n / all->count + 1;
    for (uint32_t i = 1; i < all->count; i++) {
        putters[i] = (putter){.all = all, .index = i};
        if (pthread_create(&putters[i].thread, NULL, thread_of, &putters[i]) != 0)
            bench_fail("pthread_create", TERN_ERR_SYSTEM);
    }
    stream(all, all->group.worker, 0);
    for (uint32_t i = 1; i < all->count; i++)
        pthread_join(putters[i].thread, NULL);
}

void bench_network_rates(bench *b) {
    static rates here;
    if (!bench_selected(b, "rates"))
        return;
    if (!bench_may_thread(b, "rates, which has more threads, is run by name: --only rates"))
        return;
    for (uint32_t count = 1; count <= WORKERS_MAX; count *= 2) {
        tern_config config;
        bench_ok(tern_config_init(&config), "tern_config_init");
        config.workers = count;
        here.count = count;
        bench_group_open(b, &here.group, 2, &config, (int)count);
        bench_unpin(&here.group);
        here.words = bench_place(&here.group, BENCH_TARGET, (size_t)WORKERS_MAX * APART, NULL);
        bench_case c = {.name = "rates",
                        .params = {{"bytes", WORD, NULL}, {"workers", count, NULL}},
                        .unit = BENCH_RATE,
                        .measured =
                            bench_way("tern_put, one tern_flush", all_at_once, NULL, &here)};
        bench_measure(&here.group, &c);
        bench_unplace(&here.group, BENCH_TARGET, here.words);
        bench_group_close(&here.group);
    }
    bench_pin(b);
}
