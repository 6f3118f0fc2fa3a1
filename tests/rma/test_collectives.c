// tern-test: transports

/* Collectives over notifications against results worked out by hand, among calls and notifications,
 * and in several contexts and workers at once. */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

enum { RANKS = 64, MOST = 128 };

static bool set_up(fixture *f, size_t ring_size, size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    config.workers = workers;
    return fixture_open(f, &config);
}

/* Nobody leaves before all have come: each rank is late in its turn. */
static void barriers(void) {
    fixture f;
    if (!set_up(&f, 64 << 10, 1))
        return;
    tern_ptr counters[RANKS];
    fixture_alloc_all(&f, 8, TERN_DOMAIN_GLOBAL, counters);
    int times = fixture_times(&f, 200);
    for (uint32_t i = 0; i < (uint32_t)times; i++) {
        uint64_t count = 0;
        if (i % f.size == f.rank)
            sched_yield();
        EXPECT_OK(tern_atomic_fetch_add(f.worker, counters[0], 1, NULL));
        EXPECT_OK(tern_notify_barrier(f.worker));
        EXPECT_OK(tern_atomic_load(f.worker, counters[0], &count));
        CU_ASSERT(count >= (uint64_t)(i + 1) * f.size && count <= (uint64_t)(i + 2) * f.size);
    }
    fixture_free_all(&f, counters);
    fixture_close(&f);
}

static uint64_t number(uint32_t rank, uint64_t n, size_t i) {
    uint64_t state = rank * 1009 + n * 31 + i;
    return tern_test_random(&state);
}

/* Every size that counts from every root, the root far ahead of the others. */
static void broadcasts(void) {
    fixture f;
    if (!set_up(&f, 4096, 1))
        return;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 100, 1024};
    int times = fixture_times(&f, 300);
    for (int i = 0; i < times; i++) {
        uint32_t root = (uint32_t)(i / 40) % f.size;
        size_t bytes = sizes[(size_t)i % (sizeof sizes / sizeof *sizes)];
        unsigned char data[1024 + 1];
        memset(data, f.rank == root ? i : 0xee, sizeof data);
        data[bytes] = 0xdd;
        EXPECT_OK(tern_notify_broadcast(f.worker, root, data, bytes));
        size_t wrong = 0;
        for (size_t b = 0; b < bytes; b++)
            wrong += data[b] != (unsigned char)i;
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(data[bytes], 0xdd);
    }
    fixture_close(&f);
}

static void check_integers(fixture *f, uint64_t n, size_t count) {
    uint64_t values[MOST];
    int64_t numbers[MOST];
    for (int op = TERN_REDUCE_SUM; op <= TERN_REDUCE_MAX; op++) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = (int64_t)(values[i] = number(f->rank, n, i));
        EXPECT_OK(tern_notify_allreduce(f->worker, TERN_UINT64, (tern_reduction)op, values, count));
        EXPECT_OK(tern_notify_allreduce(f->worker, TERN_INT64, (tern_reduction)op, numbers, count));
        for (size_t i = 0; i < count; i++) {
            uint64_t sum = 0, least = UINT64_MAX, most = 0;
            int64_t low = INT64_MAX, high = INT64_MIN;
            for (uint32_t r = 0; r < f->size; r++) {
                uint64_t v = number(r, n, i);
                sum += v;
                least = v < least ? v : least;
                most = v > most ? v : most;
                low = (int64_t)v < low ? (int64_t)v : low;
                high = (int64_t)v > high ? (int64_t)v : high;
            }
            const uint64_t wanted[] = {sum, least, most};
            const int64_t wanted_signed[] = {(int64_t)sum, low, high};
            CU_ASSERT_EQUAL(values[i], wanted[op]);
            CU_ASSERT_EQUAL(numbers[i], wanted_signed[op]);
        }
    }
}

static void check_doubles(fixture *f, uint64_t n, size_t count) {
    double values[MOST], all[RANKS * MOST];
    for (int op = TERN_REDUCE_SUM; op <= TERN_REDUCE_MAX; op++) {
        for (size_t i = 0; i < count; i++)
            values[i] = (double)(number(f->rank, n, i) >> 12) / 1e9 - 2e6;
        EXPECT_OK(tern_notify_allreduce(f->worker, TERN_DOUBLE, (tern_reduction)op, values, count));
        for (size_t i = 0; i < count; i++) {
            double sum = 0, least = 1e300, most = -1e300;
            for (uint32_t r = 0; r < f->size; r++) {
                double v = (double)(number(r, n, i) >> 12) / 1e9 - 2e6;
                sum += v;
                least = v < least ? v : least;
                most = v > most ? v : most;
            }
            const double wanted[] = {sum, least, most};
            double error = values[i] - wanted[op];
            CU_ASSERT(error < 1e-6 && error > -1e-6);
        }
        /* The same bits everywhere. */
        fixture_share(f, values, count * 8, all);
        for (uint32_t r = 1; r < f->size; r++)
            CU_ASSERT(memcmp(all, (char *)all + r * count * 8, count * 8) == 0);
    }
}

static void reductions(void) {
    fixture f;
    if (!set_up(&f, 4096, 1))
        return;
    static const size_t counts[] = {0, 1, 2, 17, MOST};
    for (uint64_t n = 0; n < 5; n++) {
        check_integers(&f, n, counts[n]);
        check_doubles(&f, n, counts[n] > 0 ? counts[n] : 3);
    }
    fixture_close(&f);
}

static uint64_t called;

static tern_status count_call(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    called += bytes;
    double values[1] = {0};
    EXPECT(TERN_ERR_STATE, tern_notify_barrier(call->worker));
    EXPECT(TERN_ERR_STATE, tern_notify_broadcast(call->worker, 0, values, 8));
    EXPECT(TERN_ERR_STATE,
           tern_notify_allreduce(call->worker, TERN_DOUBLE, TERN_REDUCE_SUM, values, 1));
    return TERN_OK;
}
TERN_FUNCTION(count_call)

/* Among calls and notifications that nobody probes for. */
static void among_others(void) {
    fixture f;
    if (!set_up(&f, 4096, 1))
        return;
    called = 0;
    EXPECT_OK(tern_notify_barrier(f.worker));
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    uint64_t times = (uint64_t)fixture_times(&f, 300), sent = 0;
    for (uint64_t i = 0; i < times; i++) {
        EXPECT_OK(tern_call(f.worker, next, &count_call_function, &i, 8));
        if (i < 300) /* fits ring and queue */
            sent += tern_put_notify(
                        f.worker, next, TERN_NULL, NULL, 0,
                        &(tern_notify_options){
                            .cid = &i, .cid_bytes = 8, .flags = TERN_NOTIFY_NO_LOCAL}) == TERN_OK;
        uint64_t value = i + f.rank;
        EXPECT_OK(tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_MAX, &value, 1));
        CU_ASSERT_EQUAL(value, i + f.size - 1);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(called, times * 8);
    CU_ASSERT_EQUAL(sent, times < 300 ? times : 300);
    for (uint64_t i = 0; i < sent; i++) {
        tern_event event;
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
        CU_ASSERT(memcmp(event.cid, &i, 8) == 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* Two contexts, the second with its ranks the other way round, and two workers in each. */
static void several_at_once(void) {
    fixture f, g;
    if (!set_up(&f, 4096, 2))
        return;
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -tern_test_rank(), &reversed);
    tern_config config = *tern_context_config(f.context);
    if (!fixture_open_on(&g, reversed, &config))
        return;
    fixture *both[] = {&f, &g};
    tern_worker *second[2];
    for (int c = 0; c < 2; c++)
        EXPECT_OK(tern_worker_adopt(both[c]->context, 1, &second[c]));
    for (uint64_t i = 0; i < 20; i++) {
        for (int c = 0; c < 2; c++) {
            tern_worker *worker = i % 2 == 0 ? both[c]->worker : second[c];
            uint64_t data = both[c]->rank == 0 ? i : 99;
            EXPECT_OK(tern_notify_broadcast(worker, 0, &data, 8));
            CU_ASSERT_EQUAL(data, i);
            EXPECT_OK(tern_notify_allreduce(worker, TERN_UINT64, TERN_REDUCE_SUM, &data, 1));
            CU_ASSERT_EQUAL(data, i * f.size);
            EXPECT_OK(tern_notify_barrier(worker));
        }
    }
    for (int c = 0; c < 2; c++)
        EXPECT_OK(tern_worker_release(second[c]));
    fixture_close(&g);
    MPI_Comm_free(&reversed);
    fixture_close(&f);
}

static void errors(void) {
    fixture f;
    if (!set_up(&f, 4096, 1))
        return;
    uint64_t data[MOST + 1] = {0};
    EXPECT(TERN_ERR_ARGUMENT, tern_notify_barrier(NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_notify_broadcast(f.worker, f.size, data, 8));
    EXPECT(TERN_ERR_ARGUMENT, tern_notify_broadcast(f.worker, 0, NULL, 8));
    EXPECT_DETAIL("data is NULL");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_notify_allreduce(f.worker, (tern_number)3, TERN_REDUCE_SUM, data, 1));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_notify_allreduce(f.worker, TERN_UINT64, (tern_reduction)3, data, 1));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_SUM, data, SIZE_MAX / 8));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_SUM, NULL, 1));
    EXPECT_OK(tern_notify_barrier(f.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"barriers", barriers},
        {"broadcasts", broadcasts},
        {"reductions", reductions},
        {"among_others", among_others},
        {"several_at_once", several_at_once},
        {"errors", errors},
    };
    return tern_test_main(argc, argv, "collectives", tests, sizeof tests / sizeof tests[0]);
}
