// tern-test: transports

/* Every kind of call by message, of any size, by workers and by threads that have none, against a
 * model: each runs once, in the order of its thread, with what it was sent, and gives its result.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "call_tools.h"
#include "rma/memory/state.h"
#include "rma/reply/thread_reply.h"
#include "rpc/call/extended.h"
#include "tern/remote.h"

enum { WORKERS = 3, THREADS = 3, ACTORS = 1 + THREADS, PLACE = 50000, NO_ORDER = 1, FAIL = 2 };

static fixture f;

/* What the arguments of every call here begin with. */
typedef struct {
    uint32_t actor, number;
    uint64_t bytes, buffer_bytes, result_bytes;
    uint32_t flags, to_all; /* NO_ORDER, FAIL; a broadcast */
} head;

static unsigned char byte_of(const head *h, uint64_t i) {
    return (unsigned char)(h->actor * 41 + h->number * 7 + i * 13 + i / 251);
}

static void fill(const head *h, unsigned char *to, uint64_t from, uint64_t bytes) {
    for (uint64_t i = from; i < bytes; i++)
        to[i] = byte_of(h, i);
}

static uint64_t differences(const head *h, const unsigned char *at, uint64_t from, uint64_t bytes) {
    uint64_t wrong = 0;
    for (uint64_t i = from; i < bytes; i++)
        wrong += at[i] != byte_of(h, i);
    return wrong;
}

/* Of each worker of this process; touched by its thread only. */
static struct {
    uint64_t wrong, runs[RANKS][ACTORS];
    uint32_t next[RANKS][ACTORS];
} seen[WORKERS];

static tern_status run(tern_call_info *call, const void *arguments, size_t bytes) {
    head h = {.actor = 0};
    const uint32_t at = tern_worker_self(call->worker).index, rank = call->origin.rank;
    memcpy(&h, arguments, bytes < sizeof h ? bytes : sizeof h);
    const bool by_worker = h.actor == 0;
    seen[at].wrong += bytes != h.bytes || (uintptr_t)arguments % 8 != 0;
    seen[at].wrong += call->origin.index != (by_worker ? 0 : TERN_NO_WORKER);
    seen[at].wrong += differences(&h, arguments, sizeof h, h.bytes);
    seen[at].wrong += call->buffer_bytes != h.buffer_bytes;
    if (h.buffer_bytes > 0)
        seen[at].wrong += differences(&h, call->buffer, 0, h.buffer_bytes);
    if ((h.flags & NO_ORDER) == 0)
        seen[at].wrong += h.number != seen[at].next[rank][h.actor]++;
    seen[at].runs[rank][h.actor]++;
    if (h.flags & FAIL)
        return tern_call_fail(call, TERN_ERR_FULL, "number %u of %u", h.number, h.actor);
    tern_status status = tern_call_result(call, h.result_bytes);
    if (status == TERN_OK)
        fill(&h, call->result, 0, h.result_bytes);
    return status;
}
TERN_FUNCTION(run)

TERN_REMOTE_RETURN(double, total, (uint32_t, key), TERN_BUFFER(double, values))

tern_status total_here(tern_call_info *call, uint32_t key, const double *values,
                       size_t values_count, double *result) {
    (void)call;
    *result = key;
    for (size_t i = 0; i < values_count; i++)
        *result += values[i];
    return TERN_OK;
}

/* One who calls: the worker, or a thread without one. */
typedef struct {
    uint32_t number;
    tern_worker *worker; /* or what stands for one */
    uint64_t random;
    uint64_t sent[RANKS][WORKERS];
    uint32_t next[RANKS][WORKERS]; /* of those in order */
    unsigned char *arguments, *result;
    tern_synchronizer done;
    tern_ptr source; /* PLACE bytes here */
    pthread_t thread;
    uint64_t wrong;
} actor;

static actor actors[ACTORS];
static tern_ptr places[RANKS]; /* by rank: of ACTORS by rank and actor, PLACE bytes each */
static uint32_t workers;
static int times;
static atomic_int running;
static size_t largest;

static size_t any_size(uint64_t *random) {
    const size_t sizes[] = {0,     1,     8,     200,   900,   1024,   1025,
                            20000, 32600, 32768, 32769, 40000, largest};
    return sizes[below(random, sizeof sizes / sizeof sizes[0] - (below(random, 8) != 0))];
}

static tern_worker_id named(const actor *a, tern_worker_id target) {
    return a->number == 0 ? tern_by_message(target) : target;
}

static bool good(actor *a, tern_status status) {
    if (status == TERN_OK)
        return true;
    a->wrong++;
    fprintf(stderr, "actor %u: %s\n", a->number, tern_error_detail());
    return false;
}

static void expect_of(actor *a, bool right, const char *what) {
    a->wrong += !right;
    if (!right)
        fprintf(stderr, "actor %u: %s is wrong\n", a->number, what);
}

/* [out] h: of the next call to target. */
static void compose_call(actor *a, tern_worker_id target, head *h) {
    *h = (head){.actor = a->number,
                .number = a->next[target.rank][target.index]++,
                .bytes = sizeof *h + any_size(&a->random)};
    a->sent[target.rank][target.index]++;
}

static void write_call(actor *a, const head *h) {
    memcpy(a->arguments, h, sizeof *h);
    fill(h, a->arguments, sizeof *h, h->bytes);
}

static void act_plain(actor *a, tern_worker_id target) {
    head h;
    compose_call(a, target, &h);
    write_call(a, &h);
    good(a, tern_call(a->worker, named(a, target), &run_function, a->arguments, h.bytes));
    memset(a->arguments, 0xee, h.bytes);
}

static void check_result(actor *a, const head *h, tern_status status, size_t got) {
    if (h->flags & FAIL)
        expect_of(a, status == TERN_ERR_FULL && strstr(tern_error_detail(), ": number ") != NULL,
                  "the error");
    else if (good(a, status))
        expect_of(a, got == h->result_bytes && differences(h, a->result, 0, got) == 0,
                  "the result");
}

static void act_return(actor *a, tern_worker_id target) {
    head h;
    compose_call(a, target, &h);
    h.result_bytes = any_size(&a->random);
    h.flags = below(&a->random, 8) == 0 ? FAIL : 0;
    write_call(a, &h);
    size_t got = 0;
    const tern_status status = tern_call_return(a->worker, named(a, target), &run_function,
                                                a->arguments, h.bytes, a->result, largest, &got);
    check_result(a, &h, status, got);
}

static void act_start(actor *a, tern_worker_id target) {
    head h;
    int over = 0;
    tern_request request = {0};
    compose_call(a, target, &h);
    h.result_bytes = any_size(&a->random);
    write_call(a, &h);
    if (!good(a, tern_call_start(a->worker, named(a, target), &run_function, a->arguments, h.bytes,
                                 a->result, largest, &request)))
        return;
    while (below(&a->random, 2) == 0 && !over && good(a, tern_test(a->worker, &request, &over)))
        sched_yield();
    const tern_status status = tern_wait(a->worker, &request);
    check_result(a, &h, status, tern_request_result(&request));
}

static void act_with(actor *a, tern_worker_id target, tern_buffer_transfer transfer) {
    head h;
    compose_call(a, target, &h);
    tern_ptr place = places[target.rank];
    place.offset += (uint64_t)(f.rank * ACTORS + a->number) * PLACE;
    h.buffer_bytes = any_size(&a->random) % PLACE;
    if (transfer == TERN_BUFFER_GET_ASIDE) {
        h.flags = NO_ORDER;
        a->next[target.rank][target.index]--;
    }
    write_call(a, &h);
    unsigned char *buffer = tern_local(f.context, a->source);
    fill(&h, buffer, 0, h.buffer_bytes);
    const bool got = transfer == TERN_BUFFER_GET || transfer == TERN_BUFFER_GET_ASIDE;
    const tern_call_options options = {
        .synchronizer = &a->done,
        .notify = got || below(&a->random, 2) == 0 ? TERN_ON_EXECUTED : TERN_ON_SENT,
        .transfer = transfer,
        .buffer = buffer,
        .from = a->source,
        .place =
            transfer == TERN_BUFFER_PUT || (got && below(&a->random, 2) == 0) ? place : TERN_NULL,
        .buffer_bytes = h.buffer_bytes};
    if (good(a, tern_call_with(a->worker, named(a, target), &run_function, a->arguments, h.bytes,
                               &options)))
        good(a, tern_synchronizer_wait(a->worker, a->done));
    /* What lies in a place must stay there until the function has run: a result tells. */
    if (options.notify == TERN_ON_SENT)
        act_return(a, target);
}

static void act_broadcast(actor *a) {
    head h = {.actor = a->number, .bytes = sizeof h + any_size(&a->random), .flags = NO_ORDER};
    h.to_all = 1;
    for (uint32_t r = 0; r < f.size; r++)
        for (uint32_t w = 0; w < workers; w++)
            a->sent[r][w]++;
    h.buffer_bytes = any_size(&a->random) % PLACE;
    write_call(a, &h);
    unsigned char *buffer = tern_local(f.context, a->source);
    fill(&h, buffer, 0, h.buffer_bytes);
    tern_ptr place = places[f.rank];
    place.offset += (uint64_t)(f.rank * ACTORS + a->number) * PLACE;
    const tern_buffer_transfer transfers[] = {TERN_BUFFER_INSIDE, TERN_BUFFER_PUT, TERN_BUFFER_GET};
    const tern_buffer_transfer transfer = transfers[below(&a->random, 3)];
    const tern_call_options options = {.synchronizer = &a->done,
                                       .transfer = transfer,
                                       .buffer = buffer,
                                       .from = a->source,
                                       .place = transfer == TERN_BUFFER_INSIDE ? TERN_NULL : place,
                                       .buffer_bytes = h.buffer_bytes,
                                       .arity = 1 + (uint32_t)below(&a->random, 3),
                                       .by_message = a->number == 0};
    if (good(a, tern_call_all(a->worker, &run_function, a->arguments, h.bytes, &options)))
        good(a, tern_synchronizer_wait(a->worker, a->done));
}

static void act_typed(actor *a, tern_worker_id target) {
    const size_t count = below(&a->random, 2) == 0 ? 5 : 9000;
    double *values = (double *)(void *)a->arguments, sum = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = (double)i;
    if (good(a, total(a->worker, named(a, target), a->number, values, count, &sum)))
        expect_of(a, sum == a->number + (double)count * (double)(count - 1) / 2, "the sum");
}

static void *act(void *argument) {
    actor *a = argument;
    for (int i = 0; i < times; i++) {
        const tern_worker_id target = {(uint32_t)below(&a->random, f.size),
                                       (uint32_t)below(&a->random, workers)};
        switch (below(&a->random, 8)) {
        case 0:
            act_return(a, target);
            break;
        case 1:
            act_start(a, target);
            break;
        case 2:
            act_with(a, target, TERN_BUFFER_INSIDE);
            break;
        case 3:
            act_with(a, target, TERN_BUFFER_PUT);
            break;
        case 4:
            act_with(a, target,
                     below(&a->random, 2) == 0 ? TERN_BUFFER_GET : TERN_BUFFER_GET_ASIDE);
            break;
        case 5:
            act_broadcast(a);
            break;
        case 6:
            act_typed(a, target);
            break;
        default:
            act_plain(a, target);
        }
    }
    running--;
    return NULL;
}

static bool open_with(size_t application, size_t service) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.workers = application;
    config.service_threads = service;
    workers = (uint32_t)(application + service);
    memset(seen, 0, sizeof seen);
    count_empty = 0;
    if (!fixture_open(&f, &config))
        return false;
    return EXPECT_OK(tern_barrier(f.worker));
}

static void actors_open(int count) {
    largest = (size_t)1 << 20;
    fixture_alloc_all(&f, (size_t)f.size * ACTORS * PLACE, TERN_DOMAIN_GLOBAL, places);
    for (int i = 0; i < count; i++) {
        actor *a = &actors[i];
        memset(a, 0, sizeof *a);
        a->number = (uint32_t)i;
        a->worker = i == 0 ? f.worker : tern_context_caller(f.context);
        a->random = fixture_seed(&f, 4000 + (uint64_t)i);
        a->arguments = malloc(sizeof(head) + largest);
        a->result = malloc(largest);
        EXPECT_OK(tern_synchronizer_create(f.worker, &a->done));
        EXPECT_OK(tern_alloc(f.worker, PLACE, 0, TERN_DOMAIN_OWNER, &a->source));
    }
    EXPECT_OK(tern_barrier(f.worker));
}

/* Collective, after a quiesce: every call has run, where it was sent. */
static void actors_close(int count) {
    static uint64_t sent[RANKS][WORKERS][ACTORS];
    memset(sent, 0, sizeof sent);
    for (int i = 0; i < count; i++) {
        actor *a = &actors[i];
        CU_ASSERT_EQUAL(a->wrong, 0);
        for (uint32_t r = 0; r < f.size; r++)
            for (uint32_t w = 0; w < workers; w++)
                sent[r][w][i] = a->sent[r][w];
        EXPECT_OK(tern_synchronizer_destroy(f.worker, &a->done));
        EXPECT_OK(tern_free(f.worker, a->source));
        free(a->arguments);
        free(a->result);
    }
    uint64_t(*all)[RANKS][WORKERS][ACTORS] = calloc(f.size, sizeof *all);
    fixture_share(&f, sent, sizeof sent, all);
    for (uint32_t w = 0; w < workers; w++) {
        CU_ASSERT_EQUAL(seen[w].wrong, 0);
        for (uint32_t r = 0; r < f.size; r++)
            for (int i = 0; i < count; i++)
                CU_ASSERT_EQUAL(seen[w].runs[r][i], all[r][f.rank][w][i]);
    }
    free(all);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.records_malformed, 0);
    fixture_free_all(&f, places);
}

static atomic_bool over;

static void *work(void *worker) {
    while (!atomic_load(&over))
        if (tern_progress(worker) == 0)
            sched_yield();
    return NULL;
}

static void kinds(size_t application, size_t service, int threads) {
    if (!open_with(application, service))
        return;
    pthread_t other;
    tern_worker *second = NULL;
    const int count = 1 + threads;
    times = fixture_times(&f, 400);
    times = times > 120 / (int)f.size ? 120 / (int)f.size : times;
    over = false;
    if (application > 1) {
        EXPECT_OK(tern_worker_adopt(f.context, 1, &second));
        pthread_create(&other, NULL, work, second);
    }
    actors_open(count);
    running = count;
    for (int i = 1; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
    act(&actors[0]);
    while (running > 0)
        if (tern_progress(f.worker) == 0)
            sched_yield();
    for (int i = 1; i < count; i++)
        pthread_join(actors[i].thread, NULL);
    EXPECT_OK(tern_quiesce(f.worker));
    actors_close(count);
    EXPECT_OK(tern_barrier(f.worker));
    if (application > 1) {
        over = true;
        pthread_join(other, NULL);
        EXPECT_OK(tern_worker_release(second));
    }
    fixture_close(&f);
}

static void of_workers(void) { kinds(1, 0, 0); }

static void of_threads(void) { kinds(1, 0, THREADS); }

static void of_threads_to_workers(void) { kinds(2, 1, 2); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"of workers", of_workers},
        {"of threads", of_threads},
        {"of threads to workers", of_threads_to_workers},
    };
    return tern_test_main(argc, argv, "call_message_kinds_threads", tests,
                          sizeof tests / sizeof tests[0]);
}
