// tern-test: transports

/*
 * Three workers of each process, each in a thread of its own, put and probe among themselves and
 * with those of other ranks; and one worker that posts for another to probe.
 */

#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WORKERS = 3, RANKS = 64, MOST = RANKS * WORKERS, SLOT = 512 };

typedef struct {
    fixture *f;
    tern_worker *worker;
    uint32_t index;
    uint64_t times, wrong;
    tern_ptr *all;
    uint64_t asked[MOST], local[MOST], remote[MOST]; /* by the other's number */
    tern_status first;
    char detail[200];
} sailor;

static sailor crew[WORKERS];
static atomic_int sailing;
static atomic_bool landed;

static uint32_t number(tern_worker_id id) { return id.rank * WORKERS + id.index; }

static tern_worker_id by_number(uint32_t n) { return (tern_worker_id){n / WORKERS, n % WORKERS}; }

static uint32_t self(const sailor *s) { return s->f->rank * WORKERS + s->index; }

/* Of some operation: packed, or straight to its place. */
static size_t size_of(uint64_t n) { return n % 5 == 0 ? SLOT : 1 + n % 100; }

static void note(sailor *s, tern_status status) {
    if (status == TERN_OK || s->first != TERN_OK)
        return;
    s->first = status;
    snprintf(s->detail, sizeof s->detail, "%.190s", tern_error_detail());
}

/* One place of the target for each origin: the next put waits for the target's answer. */
static void meet(tern_worker *worker, const tern_event *event, const void *cid, void *argument) {
    sailor *s = argument;
    uint32_t other = number(event->peer);
    s->wrong += worker != s->worker || event->status != TERN_OK;
    if (event->kind == TERN_EVENT_LOCAL) {
        s->wrong += event->local_cid != s->local[other]++;
        return;
    }
    uint64_t n = s->remote[other]++, got;
    memcpy(&got, cid, 8);
    s->wrong += got != n || event->bytes != size_of(n);
    const unsigned char *at = (const unsigned char *)tern_local(s->f->context, s->all[s->f->rank]) +
                              ((size_t)s->index * MOST + other) * SLOT;
    for (size_t i = 0; i < event->bytes; i++)
        s->wrong += at[i] != (unsigned char)(n + other + i);
}

/* With each other worker the two take turns, so a place is read before it is written again. */
static void ask(sailor *s, uint32_t other) {
    uint64_t n = s->asked[other];
    bool first = self(s) <= other;
    if (n == s->times || n > s->remote[other] || (!first && n >= s->remote[other]) ||
        n > s->local[other])
        return;
    unsigned char data[SLOT];
    for (size_t i = 0; i < size_of(n); i++)
        data[i] = (unsigned char)(n + self(s) + i);
    tern_worker_id target = by_number(other);
    tern_ptr place = tern_ptr_add(s->all[target.rank],
                                  (int64_t)(((size_t)target.index * MOST + self(s)) * SLOT));
    tern_status status =
        tern_put_notify(s->worker, target, place, data, size_of(n),
                        &(tern_notify_options){.local_cid = n, .cid = &n, .cid_bytes = sizeof n});
    if (status == TERN_ERR_AGAIN)
        return;
    note(s, status);
    s->asked[other]++;
    /* data goes: it may be reused only now if it was not packed. */
    while (s->first == TERN_OK && s->local[other] <= n) {
        size_t handled = 0;
        note(s, tern_probe_each(s->worker, TERN_PROBE_ANY, meet, s, 8, &handled));
        if (handled == 0)
            sched_yield();
    }
}

static bool over(const sailor *s, uint32_t all) {
    for (uint32_t w = 0; w < all; w++)
        if (s->asked[w] < s->times || s->remote[w] < s->times)
            return false;
    return true;
}

static void take_turns(sailor *s) {
    uint32_t all = s->f->size * WORKERS;
    uint64_t random = fixture_seed(s->f, 80 + s->index);
    while (s->first == TERN_OK && s->wrong == 0 && !over(s, all)) {
        for (uint32_t i = 0; i < all; i++)
            ask(s, (uint32_t)below(&random, all));
        tern_event event;
        tern_status status = tern_probe(s->worker, TERN_PROBE_ANY, &event);
        if (status == TERN_OK)
            meet(s->worker, &event, event.cid, s);
        else
            sched_yield();
    }
}

/* Worker 0 floods, worker 1 of the next rank probes: none of the other's progress is needed. */
static void flood(sailor *s) {
    uint32_t next = (s->f->rank + 1) % s->f->size;
    uint32_t previous = (s->f->rank + s->f->size - 1) % s->f->size * WORKERS;
    if (s->index == 0) {
        for (uint64_t n = 0; n < s->times && s->first == TERN_OK;) {
            tern_status status = tern_put_notify(
                s->worker, (tern_worker_id){next, 1}, TERN_NULL, NULL, 0,
                &(tern_notify_options){
                    .cid = &n, .cid_bytes = sizeof n, .flags = TERN_NOTIFY_NO_LOCAL});
            n += status == TERN_OK;
            if (status == TERN_ERR_AGAIN) {
                tern_progress(s->worker);
                sched_yield();
            } else {
                note(s, status);
            }
        }
    } else if (s->index == 1) {
        while (s->first == TERN_OK && s->wrong == 0 && s->remote[previous] < s->times) {
            tern_event event;
            uint64_t n = UINT64_MAX;
            note(s, tern_event_wait(s->worker, TERN_PROBE_REMOTE, &event));
            memcpy(&n, event.cid, 8);
            s->wrong += n != s->remote[number(event.peer)]++;
        }
    }
}

typedef struct {
    sailor *s;
    void (*work)(sailor *s);
} voyage;

static void *sail(void *argument) {
    voyage *v = argument;
    v->work(v->s);
    atomic_fetch_sub(&sailing, 1);
    while (v->s->index > 0 && !atomic_load(&landed)) {
        tern_progress(v->s->worker);
        sched_yield();
    }
    return NULL;
}

static void set_sail(void (*work)(sailor *s), int times) {
    fixture f;
    tern_config config;
    tern_ptr all[RANKS];
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.ring_size = 4096;
    config.workers = WORKERS;
    if (!fixture_open(&f, &config))
        return;
    fixture_alloc_all(&f, (size_t)WORKERS * MOST * SLOT, TERN_DOMAIN_GLOBAL, all);
    memset(crew, 0, sizeof crew);
    for (uint32_t i = 0; i < WORKERS; i++) {
        crew[i] = (sailor){.f = &f, .worker = f.worker, .index = i, .all = all};
        crew[i].times = (uint64_t)fixture_times(&f, times);
        if (i > 0)
            EXPECT_OK(tern_worker_adopt(f.context, i, &crew[i].worker));
    }
    EXPECT_OK(tern_barrier(f.worker));
    pthread_t threads[WORKERS];
    voyage voyages[WORKERS];
    atomic_store(&sailing, WORKERS);
    atomic_store(&landed, false);
    for (uint32_t i = 0; i < WORKERS; i++) {
        voyages[i] = (voyage){&crew[i], work};
        if (i > 0)
            CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, sail, &voyages[i]) == 0);
    }
    sail(&voyages[0]);
    while (atomic_load(&sailing) > 0) {
        tern_progress(f.worker);
        sched_yield();
    }
    EXPECT_OK(tern_barrier(f.worker));
    atomic_store(&landed, true);
    for (uint32_t i = 1; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < WORKERS; i++) {
        if (crew[i].first != TERN_OK)
            fprintf(stderr, "worker %u: %s\n", i, crew[i].detail);
        CU_ASSERT_EQUAL(crew[i].first, TERN_OK);
        CU_ASSERT_EQUAL(crew[i].wrong, 0);
        if (i > 0)
            EXPECT_OK(tern_worker_release(crew[i].worker));
    }
    fixture_free_all(&f, all);
    fixture_close(&f);
}

/* All workers of rank 0 at once are in another collective than those of the other ranks, and then
 * in the same one. */
static void differ(sailor *s) {
    const tern_status expected = s->f->size > 1 ? TERN_ERR_MISMATCH : TERN_OK;
    for (uint64_t n = 0; n < s->times && s->first == TERN_OK; n++) {
        uint64_t one = 1;
        const tern_status status =
            s->f->rank == 0
                ? tern_team_barrier(s->worker, NULL)
                : tern_team_allreduce(s->worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &one, 1);
        s->wrong += status != expected;
        note(s, tern_team_barrier(s->worker, NULL));
    }
}

static void all_differ(void) { set_sail(differ, 100); }

static void all_with_all(void) { set_sail(take_turns, 400); }

static void one_posts_another_probes(void) { set_sail(flood, 20000); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"all_with_all", all_with_all},
        {"all_differ", all_differ},
        {"one_posts_another_probes", one_posts_another_probes},
    };
    return tern_test_main(argc, argv, "notify_threads", tests, sizeof tests / sizeof tests[0]);
}
