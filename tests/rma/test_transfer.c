// tern-test: transports

/* Put and get, blocking and not, against a model; flush; bounds. */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

static uint64_t hash(const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void scribble(uint64_t *random, char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)tern_test_random(random);
}

/* Mostly small, now and then up to most. */
static size_t some_size(uint64_t *random, size_t most) {
    switch (below(random, 10)) {
    case 0:
        return below(random, most + 1);
    case 1:
    case 2:
        return below(random, most < 5000 ? most + 1 : 5000);
    default:
        return below(random, 65);
    }
}

/*
 * Every rank has a slice of every rank's memory and a model of it. Puts and gets at random places
 * of the slices; what is got must be what the model says, and in the end every owner must hold what
 * the others say that they wrote.
 */
typedef struct {
    fixture f;
    size_t slice;
    tern_ptr *all; /* each rank's memory */
    char *model;   /* slice bytes of each target */
} sliced;

static bool sliced_open(sliced *s, size_t slice) {
    if (!fixture_open(&s->f, NULL))
        return false;
    s->slice = slice;
    s->all = calloc(s->f.size, sizeof *s->all);
    s->model = calloc(s->f.size, slice);
    fixture_alloc_all(&s->f, slice * s->f.size, TERN_DOMAIN_GLOBAL, s->all);
    return true;
}

static tern_ptr sliced_at(const sliced *s, uint32_t target, size_t at) {
    return tern_ptr_add(s->all[target], (int64_t)(s->f.rank * s->slice + at));
}

static void sliced_verify(sliced *s) {
    fixture *f = &s->f;
    uint64_t *mine = calloc(f->size, sizeof *mine);
    uint64_t *others = calloc((size_t)f->size * f->size, sizeof *others);
    for (uint32_t r = 0; r < f->size; r++)
        mine[r] = hash(s->model + r * s->slice, s->slice);
    fixture_share(f, mine, f->size * sizeof *mine, others);
    const char *here = tern_local(f->context, s->all[f->rank]);
    for (uint32_t r = 0; r < f->size; r++)
        CU_ASSERT_EQUAL(hash(here + r * s->slice, s->slice), others[r * f->size + f->rank]);
    free(mine);
    free(others);
}

static void sliced_close(sliced *s) {
    fixture_free_all(&s->f, s->all);
    free(s->all);
    free(s->model);
    fixture_close(&s->f);
}

static void random_transfers(size_t slice, int times) {
    sliced s;
    if (!sliced_open(&s, slice))
        return;
    fixture *f = &s.f;
    char *data = malloc(slice);
    uint64_t random = fixture_seed(f, 3);
    size_t wrong = 0;
    times = fixture_times(f, times);
    for (int i = 0; i < times; i++) {
        uint32_t target = (uint32_t)below(&random, f->size);
        size_t bytes = some_size(&random, slice), at = below(&random, slice - bytes + 1);
        char *model = s.model + target * slice + at;
        tern_ptr p = sliced_at(&s, target, at);
        if (below(&random, 2) == 0) {
            scribble(&random, model, bytes);
            memcpy(data, model, bytes);
            /* Earlier puts may overlap this one. */
            EXPECT_OK(tern_fence(f->worker, target));
            EXPECT_OK(tern_put(f->worker, p, data, bytes));
            memset(data, 0x77, bytes);
        } else {
            EXPECT_OK(tern_flush(f->worker, target));
            EXPECT_OK(tern_get(f->worker, data, p, bytes));
            wrong += memcmp(data, model, bytes) != 0;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_flush_all(f->worker));
    sliced_verify(&s);
    free(data);
    sliced_close(&s);
}

static void small_against_model(void) { random_transfers(3000, 20000); }

static void large_against_model(void) { random_transfers((size_t)1 << 20, 300); }

/* If the compiler knows that the size is 8, the operation takes other code than if it does not. */
static void words_against_model(void) {
    sliced s;
    if (!sliced_open(&s, 512))
        return;
    fixture *f = &s.f;
    uint64_t random = fixture_seed(f, 4), wrong = 0;
    int times = fixture_times(f, 20000);
    for (int i = 0; i < times; i++) {
        uint32_t target = (uint32_t)below(&random, f->size);
        size_t at = below(&random, 512 - 7);
        uint64_t word = tern_test_random(&random), back;
        EXPECT_OK(tern_fence(f->worker, target));
        EXPECT_OK(tern_put(f->worker, sliced_at(&s, target, at), &word, 8));
        memcpy(s.model + target * s.slice + at, &word, 8);
        at = below(&random, 512 - 7);
        EXPECT_OK(tern_flush(f->worker, target));
        EXPECT_OK(tern_get(f->worker, &back, sliced_at(&s, target, at), 8));
        wrong += memcmp(s.model + target * s.slice + at, &back, 8) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    sliced_verify(&s);
    sliced_close(&s);
}

/* Many puts at once into places of their own, then as many gets; waited for in any order. */
static void many_non_blocking(void) {
    enum { REQUESTS = 300, MOST = 3000 };
    sliced s;
    if (!sliced_open(&s, REQUESTS * MOST))
        return;
    fixture *f = &s.f;
    static char data[REQUESTS][MOST];
    static tern_request requests[REQUESTS];
    static uint32_t target[REQUESTS];
    static size_t bytes[REQUESTS];
    uint64_t random = fixture_seed(f, 5);
    size_t wrong = 0;
    int rounds = fixture_times(f, 200) > 20 ? 8 : 3;
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < REQUESTS; i++) {
            target[i] = (uint32_t)below(&random, f->size);
            bytes[i] = some_size(&random, MOST);
            char *model = s.model + target[i] * s.slice + i * MOST;
            scribble(&random, model, bytes[i]);
            memcpy(data[i], model, bytes[i]);
            EXPECT_OK(tern_put_start(f->worker, sliced_at(&s, target[i], i * MOST), data[i],
                                     bytes[i], &requests[i]));
        }
        for (size_t i = 0; i < REQUESTS; i++)
            EXPECT_OK(tern_wait(f->worker, &requests[i * 7 % REQUESTS]));
        memset(data, 0x55, sizeof data);
        EXPECT_OK(tern_flush_all(f->worker));
        for (size_t i = 0; i < REQUESTS; i++)
            EXPECT_OK(tern_get_start(f->worker, data[i], sliced_at(&s, target[i], i * MOST),
                                     bytes[i], &requests[i]));
        if (round % 2 == 0) {
            EXPECT_OK(tern_wait_all(f->worker, requests, REQUESTS));
        } else {
            for (size_t left = REQUESTS; left > 0;) {
                left = 0;
                for (size_t i = 0; i < REQUESTS; i++) {
                    int done = 0;
                    EXPECT_OK(tern_test(f->worker, &requests[i], &done));
                    left += !done;
                }
                sched_yield();
            }
        }
        for (size_t i = 0; i < REQUESTS; i++)
            wrong += memcmp(data[i], s.model + target[i] * s.slice + i * MOST, bytes[i]) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    sliced_verify(&s);
    sliced_close(&s);
}

static void empty_requests(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_request request = {0}, none[3];
    memset(&request, 0, sizeof request);
    memset(none, 0, sizeof none);
    int done = 0;
    EXPECT_OK(tern_test(f.worker, &request, &done));
    CU_ASSERT_EQUAL(done, 1);
    EXPECT_OK(tern_wait(f.worker, &request));
    EXPECT_OK(tern_wait_all(f.worker, none, 3));
    EXPECT_OK(tern_wait_all(f.worker, NULL, 0));
    fixture_close(&f);
}

/* One past the end, before the beginning, far away, in no segment, of no rank: an error, and not a
 * byte of any segment changes, the caller's buffer included. */
static void out_of_range(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)256 << 10;
    if (!fixture_open(&f, &config))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    tern_ptr base = {.rank = f.rank, .offset = TERN_PTR_ORIGIN};
    char *heap = tern_local(f.context, base);
    CU_ASSERT_PTR_NOT_NULL_FATAL(heap);
    uint64_t random = fixture_seed(&f, 6);
    scribble(&random, heap, info.bytes);
    uint64_t before = hash(heap, info.bytes);
    EXPECT_OK(tern_barrier(f.worker));

    static char data[8192], same[8192];
    memset(data, 0x11, sizeof data);
    memcpy(same, data, sizeof data);
    const uint64_t end = TERN_PTR_ORIGIN + info.bytes;
    const struct {
        uint64_t offset;
        size_t bytes;
    } bad[] = {
        {end, 1},
        {end - 1, 2},
        {end - 8, 9},
        {end - 7, 8},
        {end - 1000, 1001},
        {TERN_PTR_ORIGIN - 1, 1},
        {0, 1},
        {0, 8},
        {8, 8},
        {TERN_PTR_ORIGIN - 1, 8},
        {UINT64_MAX, 1},
        {UINT64_MAX, 8},
        {UINT64_MAX - 7, 8},
        {UINT64_MAX - 7, 16},
        {UINT64_MAX / 2, 8},
        {end + (UINT64_C(1) << 32), 8},
        {TERN_PTR_ORIGIN, info.bytes + 1},
        {TERN_PTR_ORIGIN, SIZE_MAX},
        {TERN_PTR_ORIGIN + 8, SIZE_MAX},
        {TERN_PTR_ORIGIN + 8, SIZE_MAX - 7},
        {end, SIZE_MAX},
        {UINT64_MAX, SIZE_MAX},
        {TERN_PTR_ORIGIN - 64, 0},
        {end + 1, 0},
    };
    for (uint32_t r = 0; r < f.size; r++) {
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            tern_ptr p = {.rank = r, .offset = bad[i].offset};
            tern_request request = {0};
            memset(&request, 0, sizeof request);
            EXPECT(TERN_ERR_RANGE, tern_put(f.worker, p, data, bad[i].bytes));
            EXPECT(TERN_ERR_RANGE, tern_get(f.worker, data, p, bad[i].bytes));
            EXPECT(TERN_ERR_RANGE, tern_put_start(f.worker, p, data, bad[i].bytes, &request));
            EXPECT(TERN_ERR_RANGE, tern_get_start(f.worker, data, p, bad[i].bytes, &request));
            /* A request that was not started is still empty. */
            EXPECT_OK(tern_wait(f.worker, &request));
        }
        uint64_t word = 0;
        EXPECT(TERN_ERR_RANGE,
               tern_put(f.worker, (tern_ptr){.rank = r, .offset = end - 4}, &word, 8));
        EXPECT_DETAIL("rank");
        EXPECT(TERN_ERR_RANGE, tern_get(f.worker, &word, (tern_ptr){.rank = r, .offset = end}, 8));
        EXPECT(TERN_ERR_RANGE, tern_put(f.worker, (tern_ptr){.rank = r, .offset = end}, data, 1));
        /* Nothing at the very end is something that fits. */
        EXPECT_OK(tern_put(f.worker, (tern_ptr){.rank = r, .offset = end}, data, 0));
        EXPECT_OK(tern_get(f.worker, data, (tern_ptr){.rank = r, .offset = end}, 0));
    }
    tern_ptr strange[] = {TERN_NULL,
                          {.rank = f.size, .offset = TERN_PTR_ORIGIN},
                          {.rank = UINT32_MAX, .offset = TERN_PTR_ORIGIN},
                          {.rank = f.rank, .segment = 1, .offset = TERN_PTR_ORIGIN},
                          {.rank = (f.rank + 1) % f.size, .segment = 9, .offset = TERN_PTR_ORIGIN}};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        for (size_t bytes = 1; bytes <= 8; bytes += 7) {
            tern_status put = tern_put(f.worker, strange[i], data, bytes);
            tern_status get = tern_get(f.worker, data, strange[i], bytes);
            CU_ASSERT(put == TERN_ERR_RANGE || put == TERN_ERR_ARGUMENT);
            CU_ASSERT(get == TERN_ERR_RANGE || get == TERN_ERR_ARGUMENT);
            CU_ASSERT(strlen(tern_error_detail()) > 10);
        }
    }
    CU_ASSERT(memcmp(data, same, sizeof data) == 0);
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(hash(heap, info.bytes), before);
    EXPECT_OK(tern_barrier(f.worker));

    EXPECT(TERN_ERR_ARGUMENT, tern_flush(f.worker, f.size));
    EXPECT(TERN_ERR_ARGUMENT, tern_flush(f.worker, UINT32_MAX));
    EXPECT(TERN_ERR_ARGUMENT, tern_fence(f.worker, f.size));
    fixture_close(&f);
}

/* The whole segment in one go, there and back. */
static void the_whole_segment(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)3 << 20;
    if (!fixture_open(&f, &config))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    tern_ptr next = {.rank = (f.rank + 1) % f.size, .offset = TERN_PTR_ORIGIN};
    tern_ptr self = {.rank = f.rank, .offset = TERN_PTR_ORIGIN};
    char *data = malloc(info.bytes), *back = malloc(info.bytes);
    uint64_t random = fixture_seed(&f, 7);
    scribble(&random, data, info.bytes);
    EXPECT_OK(tern_put(f.worker, next, data, info.bytes));
    EXPECT_OK(tern_flush(f.worker, next.rank));
    EXPECT_OK(tern_get(f.worker, back, next, info.bytes));
    CU_ASSERT(memcmp(data, back, info.bytes) == 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_get(f.worker, back, self, info.bytes));
    CU_ASSERT(memcmp(back, tern_local(f.context, self), info.bytes) == 0);
    EXPECT_OK(tern_barrier(f.worker));
    free(data);
    free(back);
    fixture_close(&f);
}

/* A put that was flushed is seen by every rank that is told, in any way. */
static void flush_completes(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 4096, TERN_DOMAIN_GLOBAL, all);
    char data[3000], back[3000];
    size_t wrong = 0;
    int rounds = fixture_times(&f, 400);
    uint64_t random = fixture_seed(&f, 9);
    for (int round = 0; round < rounds; round++) {
        /* The writer goes around; everybody else reads from the target once told through MPI. */
        uint32_t writer = (uint32_t)round % f.size, target = (writer + 1) % f.size;
        uint64_t sum = 0;
        if (f.rank == writer) {
            scribble(&random, data, sizeof data);
            sum = hash(data, sizeof data);
            EXPECT_OK(tern_put(f.worker, all[target], data, sizeof data));
            EXPECT_OK(tern_flush(f.worker, target));
        }
        MPI_Request told;
        tern_mpi_lock();
        MPI_Ibcast(&sum, 1, MPI_UINT64_T, (int)writer, MPI_COMM_WORLD, &told);
        tern_mpi_unlock();
        for (int done = 0; !done;) {
            tern_mpi_lock();
            MPI_Test(&told, &done, MPI_STATUS_IGNORE);
            tern_mpi_unlock();
            tern_progress(f.worker);
            sched_yield();
        }
        EXPECT_OK(tern_get(f.worker, back, all[target], sizeof back));
        wrong += hash(back, sizeof back) != sum;
        if (f.rank == target)
            wrong += hash(tern_local(f.context, all[target]), sizeof back) != sum;
        EXPECT_OK(tern_barrier(f.worker));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

static bool is_whole(const void *at, size_t bytes) {
    const unsigned char *b = at;
    for (size_t i = 1; i < bytes; i++)
        if (b[i] != b[0])
            return false;
    return true;
}

/* Aligned words of 1 to 8 bytes are never seen half old, half new (over shm and p2p). */
static void words_are_never_torn(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    if (fixture_uses_rma(&f)) {
        tern_test_skip("over rma words may be torn");
        fixture_close(&f);
        return;
    }
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 64, TERN_DOMAIN_GLOBAL, all);
    const volatile uint64_t *here = tern_local(f.context, all[f.rank]);
    uint64_t torn = 0, random = fixture_seed(&f, 10);
    int times = fixture_times(&f, 100000);
    for (int i = 0; i < times; i++) {
        /* Everybody writes words of one repeated byte at everybody, and reads. */
        uint32_t r = (uint32_t)below(&random, f.size);
        unsigned char pattern[8], got[8];
        memset(pattern, (int)below(&random, 256), 8);
        size_t bytes = (size_t)1 << below(&random, 4);
        tern_ptr p = tern_ptr_add(all[r], (int64_t)(i % 2 == 0 ? 0 : bytes * 8));
        uint64_t word, back;
        memcpy(&word, pattern, 8);
        if (i % 3 == 0)
            EXPECT_OK(tern_put(f.worker, all[r], &word, 8));
        else if (i % 2 == 0)
            EXPECT_OK(tern_put(f.worker, all[r], pattern, 8));
        else if (bytes < 8)
            EXPECT_OK(tern_put(f.worker, p, pattern, bytes));
        EXPECT_OK(tern_get(f.worker, &back, all[r], 8));
        torn += !is_whole(&back, 8);
        if (bytes < 8) {
            EXPECT_OK(tern_get(f.worker, got, tern_ptr_add(all[r], (int64_t)bytes * 8), bytes));
            torn += !is_whole(got, bytes);
        }
        back = here[0];
        torn += !is_whole(&back, 8);
    }
    CU_ASSERT_EQUAL(torn, 0);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

/* The source of a blocking put is the caller's again at once, also far away and large. */
static void sources_may_be_reused(void) {
    sliced s;
    if (!sliced_open(&s, 32 * 20000))
        return;
    fixture *f = &s.f;
    static char data[20000];
    uint64_t random = fixture_seed(f, 11);
    uint32_t target = (f->rank + 1) % f->size;
    for (size_t i = 0; i < 32; i++) {
        char *model = s.model + target * s.slice + i * sizeof data;
        scribble(&random, model, sizeof data);
        memcpy(data, model, sizeof data);
        EXPECT_OK(tern_put(f->worker, sliced_at(&s, target, i * sizeof data), data, sizeof data));
        memset(data, 0xee, sizeof data);
    }
    EXPECT_OK(tern_flush(f->worker, target));
    sliced_verify(&s);
    sliced_close(&s);
}

/* In a handler: puts anywhere; gets, flushes and barriers where they wait for nobody. */
static struct {
    tern_status put, get, barrier, wait;
    uint64_t got;
} in_handler;

static tern_status transfer_in_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_ptr remote;
    memcpy(&remote, arguments, bytes);
    uint64_t word = 4711;
    in_handler.put = tern_put(call->worker, remote, &word, 8);
    in_handler.get = tern_get(call->worker, &in_handler.got, tern_ptr_add(remote, 8), 8);
    in_handler.barrier = tern_barrier(call->worker);
    return TERN_OK;
}
TERN_FUNCTION(transfer_in_handler)

static void in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 16, TERN_DOMAIN_GLOBAL, all);
    uint64_t *here = tern_local(f.context, all[f.rank]);
    here[1] = 12;
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t next = (f.rank + 1) % f.size;
    tern_worker_id self = {f.rank, 0};
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f.context, next, &transport));
    memset(&in_handler, 0, sizeof in_handler);
    EXPECT_OK(tern_call_return(f.worker, self, &transfer_in_handler_function, &all[next],
                               sizeof all[next], NULL, 0, NULL));
    CU_ASSERT_EQUAL(in_handler.put, TERN_OK);
    CU_ASSERT_EQUAL(in_handler.barrier, TERN_ERR_STATE);
    if (transport == TERN_SHM) {
        CU_ASSERT_EQUAL(in_handler.get, TERN_OK);
        CU_ASSERT_EQUAL(in_handler.got, 12);
    } else {
        CU_ASSERT_EQUAL(in_handler.get, TERN_ERR_STATE);
    }
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(here[0], 4711);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"small_against_model", small_against_model},
        {"large_against_model", large_against_model},
        {"words_against_model", words_against_model},
        {"many_non_blocking", many_non_blocking},
        {"empty_requests", empty_requests},
        {"out_of_range", out_of_range},
        {"the_whole_segment", the_whole_segment},
        {"flush_completes", flush_completes},
        {"words_are_never_torn", words_are_never_torn},
        {"sources_may_be_reused", sources_may_be_reused},
        {"in_a_handler", in_a_handler},
    };
    return tern_test_main(argc, argv, "transfer", tests, sizeof tests / sizeof tests[0]);
}
