// tern-test: transports
/*
 * Registered memory under several workers: their threads put to the next rank's region, flush and
 * read back, while its owner ends the region and makes another, over and over.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "rma/memory/state.h"
#include "rma/region/rkey.h"

enum { THREADS = 2, BYTES = 64 };

typedef struct putter {
    pthread_t thread;
    tern_worker *worker;
    tern_ptr box; /* where the next rank says what its region is */
    uint64_t done, ended, wrong;
} putter;

static fixture f;
static atomic_bool stop;
static atomic_int running;
static unsigned char memory[BYTES * THREADS];

/* A pointer is told and asked for by halves, which may not fit: then it is refused like an old one.
 */
static bool ask(tern_worker *worker, tern_ptr box, tern_ptr *region) {
    uint64_t half[2] = {0, 0};
    bool asked = tern_get(worker, &half[0], box, 8) == TERN_OK &&
                 tern_get(worker, &half[1], tern_ptr_add(box, 8), 8) == TERN_OK;
    memcpy(region, half, sizeof half);
    return asked;
}

static void tell(tern_ptr box, tern_ptr region) {
    uint64_t half[2];
    memcpy(half, &region, sizeof half);
    EXPECT_OK(tern_put(f.worker, box, &half[0], 8));
    EXPECT_OK(tern_put(f.worker, tern_ptr_add(box, 8), &half[1], 8));
}

static bool good(tern_status status) { return status == TERN_OK || status == TERN_ERR_RANGE; }

static void *put_on(void *argument) {
    putter *p = argument;
    uint64_t state = p->worker->id + 1;
    unsigned char bytes[BYTES];
    while (!atomic_load(&stop) || p->done == 0) {
        tern_ptr region;
        p->wrong += !ask(p->worker, p->box, &region);
        memset(bytes, (int)tern_test_random(&state), BYTES);
        int64_t lane = BYTES * (int64_t)(p->worker->index - 1);
        tern_status status = tern_put(p->worker, tern_ptr_add(region, lane), bytes, BYTES);
        p->wrong += !good(status);
        p->wrong += tern_flush(p->worker, region.rank) != TERN_OK;
        p->ended += status != TERN_OK;
        p->done += status == TERN_OK;
        p->wrong += !good(tern_get(p->worker, bytes, tern_ptr_add(region, lane), BYTES));
        usleep(100); /* a region that is always in use never ends */
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* TERN_ERR_STATE: somebody is at it, or has not flushed. */
static void renew(tern_ptr box, tern_ptr region, int times) {
    int ended = 0, unexpected = 0;
    while (ended < times && unexpected == 0) {
        for (int i = 0; i < 50; i++)
            tern_progress(f.worker);
        tern_status status = tern_deregister(f.worker, region);
        unexpected += status != TERN_OK && status != TERN_ERR_STATE;
        if (status != TERN_OK)
            continue;
        ended++;
        memset(memory, 0, sizeof memory); /* nobody else's now */
        unexpected += tern_register(f.worker, memory, sizeof memory, &region) != TERN_OK;
        tell(box, region);
    }
    CU_ASSERT_EQUAL(unexpected, 0);
}

static void ended_under_puts(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.workers = THREADS + 1;
    if (!fixture_open(&f, &config))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, sizeof(tern_ptr), TERN_DOMAIN_GLOBAL, all);
    putter putters[THREADS] = {0};
    atomic_store(&stop, false);
    atomic_store(&running, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        putters[i].box = all[(f.rank + 1) % f.size];
        EXPECT_OK(tern_worker_adopt(f.context, i + 1, &putters[i].worker));
    }
    tern_ptr mine = all[f.rank], region = TERN_NULL;
    EXPECT_OK(tern_register(f.worker, memory, sizeof memory, &region));
    tell(mine, region);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_create(&putters[i].thread, NULL, put_on, &putters[i]);
    EXPECT_OK(tern_barrier(f.worker));
    renew(mine, region, fixture_times(&f, 200));
    EXPECT_OK(tern_barrier(f.worker));
    atomic_store(&stop, true);
    while (atomic_load(&running) > 0)
        tern_progress(f.worker);
    uint64_t malformed = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(putters[i].thread, NULL);
        CU_ASSERT_EQUAL(putters[i].wrong, 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t i = 0; i <= THREADS; i++) {
        tern_stats stats;
        tern_stats_get(f.context->worker[i], &stats);
        malformed += stats.records_malformed;
    }
    CU_ASSERT_EQUAL(malformed, 0);
    const tern_regions *regions = &tern_rma_of(f.context)->regions;
    for (uint32_t i = 0; i < TERN_RKEY_LISTS; i++)
        for (const tern_rkey *k = atomic_load(&regions->rkeys[i]); k != NULL; k = k->next)
            CU_ASSERT((uint32_t)atomic_load(&k->state) <= 1); /* known at most, neither held
                                                                 nor unflushed */
    for (uint32_t i = 0; i < THREADS; i++)
        EXPECT_OK(tern_worker_release(putters[i].worker));
    fixture_free_all(&f, all);
    fixture_close(&f);
    free(all);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"ended under puts", ended_under_puts}};
    return tern_test_main(argc, argv, "registration_threads", tests, 1);
}
