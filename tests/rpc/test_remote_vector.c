// tern-test: transports

/* Vectors as parameters of TERN_REMOTE functions, and buffers of callers that wait: what is large
 * travels without a copy at the caller's, who may let go of it at once, and may be kept. */

#include "call_tools.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "rma/region/cma.h"
#include "rma/memory/state.h"
#include "rpc/state.h"
#include "tern/remote.h"

enum { SHARED = 1000 }; /* TERN_ZERO_COPY_MIN */

static fixture f;

static struct {
    uint64_t runs, wrong, again;
    tern_vector kept;
} seen;

static bool open_all(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)8 << 20;
    config.ring_size = 16384;
    config.ring_growth = 1;
    config.zero_copy_min = SHARED;
    memset(&seen, 0, sizeof seen);
    return fixture_open(&f, &config);
}

static void begin(void) {
    EXPECT_OK(tern_quiesce(f.worker));
    tern_vector_destroy(&seen.kept);
    memset(&seen, 0, sizeof seen);
    EXPECT_OK(tern_barrier(f.worker));
}

static void close_all(void) {
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.wrong, 0);
    tern_vector_destroy(&seen.kept);
    fixture_close(&f);
}

static tern_stats stats(void) {
    tern_stats now;
    tern_stats_get(f.worker, &now);
    return now;
}

/* Content that follows from a key. */
static double value(uint64_t key, size_t i) { return (double)(key % 1000003 * 17 + i); }

static void fill(tern_vector *v, tern_worker *worker, uint64_t key, size_t count) {
    EXPECT_OK(TERN_VECTOR_CREATE(worker, double, count, v));
    double *values = tern_vector_data(v);
    for (size_t i = 0; i < count; i++)
        values[i] = value(key, i);
}

static uint64_t wrong_values(const double *values, size_t count, uint64_t key) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += values[i] != value(key, i);
    return wrong;
}

static uint64_t wrong_vector(const tern_vector *v, uint64_t key, size_t count) {
    return (uint64_t)(v->count != count) + (v->element != sizeof(double)) +
           (v->type != TERN_ITEM_FLOAT) + wrong_values(tern_vector_data(v), v->count, key);
}

/* Vectors beside all other kinds; every third first vector is taken over, and one call in nine
 * comes back. */
TERN_REMOTE(mixture, (uint64_t, key), TERN_VECTOR(double, first), TERN_STRING(text),
            (uint32_t, first_count), TERN_BUFFER(double, values), TERN_VECTOR(double, second),
            (uint32_t, second_count), TERN_ARRAY(char, name, 3))

tern_status mixture_here(tern_call_info *call, uint64_t key, tern_vector *first, const char *text,
                         uint32_t first_count, const double *values, size_t values_count,
                         tern_vector *second, uint32_t second_count, const char *name) {
    if (key % 9 == 0 && seen.again++ % 3 != 2)
        return TERN_ERR_AGAIN;
    seen.runs++;
    seen.wrong += wrong_vector(first, key, first_count);
    seen.wrong += wrong_vector(second, key + 1, second_count);
    seen.wrong += wrong_values(values, values_count, key) + (values_count != key % 50);
    seen.wrong += strcmp(text, "some text") != 0 || memcmp(name, "abc", 3) != 0;
    if (key % 3 == 0) {
        tern_vector_destroy(&seen.kept);
        tern_vector_move(first, &seen.kept);
        EXPECT_OK(tern_vector_append(&seen.kept, &(double){1}, 1));
        seen.wrong += seen.kept.worker != call->worker || seen.kept.count != first_count + 1;
    }
    return TERN_OK;
}

static uint64_t some_count(uint64_t *random) {
    static const uint64_t edges[] = {0, 1, SHARED / 8 - 1, SHARED / 8, SHARED / 8 + 1};
    return below(random, 3) == 0 ? edges[below(random, 5)] : below(random, 3000);
}

static void send_mixture(uint64_t *random, uint32_t rank) {
    uint64_t key = tern_test_random(random) >> 1, first_count = some_count(random);
    uint64_t second_count = some_count(random);
    double values[50];
    tern_vector first, second;
    fill(&first, below(random, 2) == 0 ? f.worker : NULL, key, first_count);
    fill(&second, f.worker, key + 1, second_count);
    for (size_t i = 0; i < 50; i++)
        values[i] = value(key, i);
    EXPECT_OK(mixture(f.worker, to(rank), key, &first, "some text", (uint32_t)first_count, values,
                      key % 50, &second, (uint32_t)second_count, "abc"));
    memset(values, 0, sizeof values);
    tern_vector_destroy(&first);
    tern_vector_destroy(&second);
}

static void any_vectors(void) {
    uint64_t random = fixture_seed(&f, 5), sent = 0;
    begin();
    int rounds = fixture_times(&f, 200);
    for (int round = 0; round < rounds; round++)
        for (uint32_t r = 0; r < f.size; r++, sent++)
            send_mixture(&random, r);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.runs, sent);
    CU_ASSERT_EQUAL(seen.wrong, 0);
    CU_ASSERT_EQUAL(stats().calls_refused, 0);
}

/* Results of functions with vectors and with buffers. */
TERN_REMOTE_RETURN(double, sum_of, TERN_BUFFER(double, values))
TERN_REMOTE_RETURN(double, product_of, TERN_VECTOR(double, a), TERN_VECTOR(double, b))
TERN_REMOTE_RETURN(uint64_t, refused, TERN_VECTOR(double, a), (int, status))

tern_status sum_of_here(tern_call_info *call, const double *values, size_t values_count,
                        double *result) {
    (void)call;
    *result = 0;
    for (size_t i = 0; i < values_count; i++)
        *result += values[i];
    return TERN_OK;
}

tern_status product_of_here(tern_call_info *call, tern_vector *a, tern_vector *b, double *result) {
    const double *x = tern_vector_data(a), *y = tern_vector_data(b);
    (void)call;
    *result = 0;
    for (size_t i = 0; i < a->count; i++)
        *result += x[i] * y[i];
    return a->count == b->count ? TERN_OK : TERN_ERR_ARGUMENT;
}

tern_status refused_here(tern_call_info *call, tern_vector *a, int status, uint64_t *result) {
    (void)call;
    *result = a->count;
    return (tern_status)status;
}

static double wanted_product(uint64_t key, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += value(key, i) * value(key + 1, i);
    return sum;
}

static void results(void) {
    static double values[3000];
    uint64_t random = fixture_seed(&f, 6), got = 0;
    int rounds = fixture_times(&f, 60);
    for (int round = 0; round < rounds; round++) {
        uint32_t r = (f.rank + (uint32_t)round) % f.size;
        uint64_t key = tern_test_random(&random) >> 1, count = some_count(&random);
        double sum = -1, wanted = 0;
        tern_vector a, b;
        fill(&a, f.worker, key, count);
        fill(&b, NULL, key + 1, count);
        for (size_t i = 0; i < count; i++)
            wanted += values[i] = (double)(i % 7);
        EXPECT_OK(sum_of(f.worker, to(r), values, count, &sum));
        CU_ASSERT_EQUAL(sum, wanted);
        memset(values, 0xff, sizeof values);
        EXPECT_OK(product_of(f.worker, to(r), &a, &b, &sum));
        CU_ASSERT_EQUAL(sum, wanted_product(key, count));
        EXPECT_OK(refused(f.worker, to(r), &a, TERN_OK, &got));
        CU_ASSERT_EQUAL(got, count);
        EXPECT(TERN_ERR_EXISTS, refused(f.worker, to(r), &a, TERN_ERR_EXISTS, &got));
        tern_vector_destroy(&a);
        tern_vector_destroy(&b);
    }
}

/* Buffers of a caller that does not wait are copied, its vectors kept; as many calls as may be. */
static void requests(void) {
    enum { PAIRS = 12 };
    tern_request sums[PAIRS] = {0}, products[PAIRS] = {0};
    double values[300], sum[PAIRS], product[PAIRS];
    int rounds = fixture_times(&f, 10);
    for (int round = 0; round < rounds; round++) {
        uint32_t r = (f.rank + (uint32_t)round) % f.size;
        for (uint64_t i = 0; i < PAIRS; i++) {
            size_t count = 20 + i * 20;
            tern_vector a, b;
            fill(&a, f.worker, i, count);
            fill(&b, i % 2 == 0 ? f.worker : NULL, i + 1, count);
            for (size_t k = 0; k < count; k++)
                values[k] = (double)i;
            EXPECT_OK(sum_of_start(f.worker, to(r), values, count, &sum[i], &sums[i]));
            EXPECT_OK(product_of_start(f.worker, to(r), &a, &b, &product[i], &products[i]));
            tern_vector_destroy(&a);
            tern_vector_destroy(&b);
        }
        for (uint64_t i = PAIRS; i-- > 0;) {
            EXPECT_OK(tern_wait(f.worker, &sums[i]));
            CU_ASSERT_EQUAL(sum[i], (double)(i * (20 + i * 20)));
            EXPECT_OK(tern_wait(f.worker, &products[i]));
            CU_ASSERT_EQUAL(product[i], wanted_product(i, 20 + i * 20));
        }
    }
    /* No reply cell is left over. */
    while (tern_rpc_worker_of(f.worker)->shipments != NULL)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(tern_rma_worker_of(f.worker)->cells_used, 0);
}

/* As many results under way as there may be, with chunks and without. */
static void as_many_as_there_may_be(void) {
    tern_request request[TERN_CALL_REQUESTS + 1] = {0};
    double got[TERN_CALL_REQUESTS + 1];
    tern_vector v;
    uint32_t next = (f.rank + 1) % f.size, started = 0;
    tern_status status = TERN_OK;
    fill(&v, f.worker, 3, 200);
    while (status == TERN_OK && started <= TERN_CALL_REQUESTS) {
        status = product_of_start(f.worker, to(next), &v, &v, &got[started], &request[started]);
        started += status == TERN_OK;
    }
    /* Earlier chunks are waited for, results are not. */
    EXPECT(TERN_ERR_AGAIN, status);
    EXPECT_DETAIL("64 results");
    CU_ASSERT(started >= TERN_CALL_REQUESTS - 1);
    EXPECT_OK(tern_wait_all(f.worker, request, started));
    tern_vector_destroy(&v);
}

/* One copy end to end where ranks share memory, by counters; what is small is no chunk. */
static void one_copy(void) {
    enum { COUNT = 50000, TIMES = 4 };
    uint32_t next = (f.rank + 1) % f.size;
    uint64_t got_before = stats().bytes_got, staged_before = stats().bytes_staged;
    begin();
    for (uint64_t i = 0; i < TIMES; i++) {
        double got = 0;
        tern_vector large, small;
        fill(&large, f.worker, i, COUNT);
        fill(&small, f.worker, i, SHARED / 8 - 1);
        EXPECT_OK(product_of(f.worker, to(next), &large, &large, &got));
        EXPECT_OK(product_of(f.worker, to(next), &small, &small, &got));
        tern_vector_destroy(&large);
        tern_vector_destroy(&small);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(stats().bytes_got - got_before, (uint64_t)TIMES * 2 * COUNT * sizeof(double));
    if (fixture_all_direct(&f))
        CU_ASSERT_EQUAL(stats().bytes_staged, staged_before);
}

/* A vector that is taken over lies in the segment of the rank that took it; growing a vector that
 * is under way does not change what arrives. */
TERN_REMOTE(take, TERN_VECTOR(double, v))

tern_status take_here(tern_call_info *call, tern_vector *v) {
    seen.runs++;
    seen.wrong += wrong_vector(v, 77, 4000);
    tern_vector_destroy(&seen.kept);
    tern_vector_move(v, &seen.kept);
    seen.wrong += tern_vector_place(&seen.kept).rank != tern_worker_self(call->worker).rank;
    return TERN_OK;
}

static void taken_over(void) {
    uint32_t next = (f.rank + 1) % f.size;
    tern_vector v;
    begin();
    fill(&v, f.worker, 77, 4000);
    EXPECT_OK(take(f.worker, to(next), &v));
    EXPECT_OK(tern_vector_own(&v));
    memset(tern_vector_data(&v), 0, 4000 * sizeof(double));
    tern_vector_destroy(&v);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.runs, 1);
    /* And sent on as it is. */
    tern_vector_move(&seen.kept, &v);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(take(f.worker, to(next), &v));
    tern_vector_destroy(&v);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.runs, 2);
    CU_ASSERT(!tern_ptr_is_null(tern_vector_place(&seen.kept)));
}

/* Where the segment is full what arrives lies in heap memory. */
static void full_segment(void) {
    enum { PIECES = 64 };
    tern_ptr piece[PIECES];
    size_t pieces = 0, bytes = (size_t)4 << 20;
    double got = 0, wanted = 0;
    tern_vector small;
    fill(&small, NULL, 2, 50);
    for (size_t i = 0; i < 50; i++)
        wanted += value(2, i) * value(2, i);
    for (; bytes >= 64 && pieces < PIECES; bytes /= 2)
        while (pieces < PIECES &&
               tern_alloc(f.worker, bytes, 0, TERN_DOMAIN_GLOBAL, &piece[pieces]) == TERN_OK)
            pieces++;
    CU_ASSERT(pieces < PIECES);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(product_of(f.worker, to((f.rank + 1) % f.size), &small, &small, &got));
    CU_ASSERT_EQUAL(got, wanted);
    EXPECT_OK(tern_quiesce(f.worker));
    while (pieces > 0)
        EXPECT_OK(tern_free(f.worker, piece[--pieces]));
    tern_vector_destroy(&small);
}

/* Its place there means other memory here. */
static void vector_of_another_context(void) {
    fixture other;
    double got = 0;
    tern_vector v, here;
    if (!fixture_open_on(&other, MPI_COMM_SELF, NULL))
        return;
    fill(&here, f.worker, 1, 400);
    fill(&v, other.worker, 2, 400);
    EXPECT_OK(product_of(f.worker, to((f.rank + 1) % f.size), &v, &v, &got));
    double wanted = 0;
    for (size_t i = 0; i < 400; i++)
        wanted += value(2, i) * value(2, i);
    CU_ASSERT_EQUAL(got, wanted);
    EXPECT_OK(tern_quiesce(f.worker)); /* v is let go of before its context */
    while (tern_rpc_worker_of(f.worker)->shipments != NULL)
        tern_progress(f.worker);
    tern_vector_destroy(&v);
    tern_vector_destroy(&here);
    fixture_close(&other);
}

static void wrong_vectors(void) {
    tern_vector bytes, numbers, floats, empty;
    tern_request request = {0};
    double got = 0;
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, char, 8, &bytes));
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, int64_t, 1, &numbers));
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, float, 2, &floats));
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, double, 0, &empty));
    tern_vector *all[] = {&bytes, &numbers, &floats};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(TERN_ERR_MISMATCH, product_of(f.worker, to(0), &empty, all[i], &got));
        EXPECT_DETAIL("product_of(float64 vector, float64 vector):float64: vector b has elements");
        EXPECT(TERN_ERR_MISMATCH,
               product_of_start(f.worker, to(0), all[i], &empty, &got, &request));
        EXPECT_DETAIL("vector a");
        EXPECT(TERN_ERR_MISMATCH, take(f.worker, to(0), all[i]));
        EXPECT_DETAIL("take(float64 vector)");
    }
    const tern_vector *volatile none = NULL;
    EXPECT(TERN_ERR_ARGUMENT, take(f.worker, to(0), none));
    EXPECT_DETAIL("vector is NULL");
    EXPECT(TERN_ERR_ARGUMENT, take(f.worker, to(f.size), &empty));
    EXPECT(TERN_ERR_ARGUMENT, take(NULL, to(0), &empty));
    EXPECT(TERN_ERR_ARGUMENT, product_of(NULL, to(0), &empty, &empty, &got));
    EXPECT_OK(product_of(f.worker, to(0), &empty, &empty, &got));
    CU_ASSERT_EQUAL(got, 0);
    for (size_t i = 0; i < 3; i++)
        tern_vector_destroy(all[i]);
    tern_vector_destroy(&empty);
}

/* A chunk that is no more where the archive says: the result is an error, and nothing has run.
 * Where the target does not read it itself there is nothing to see. */
static void chunk_that_is_gone(void) {
    double got = -1;
    tern_writer writer;
    tern_request request = {0};
    tern_worker_id next = to((f.rank + 1) % f.size);
    size_t bytes = 500 * sizeof(double);
    double *values = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool reads = tern_cma_allowed(f.worker, next.rank);
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1000));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
    EXPECT_OK(tern_write_items(&writer, TERN_ITEM_BYTES, 1, values, 0)); /* no fixed ones */
    EXPECT_OK(TERN_WRITE(&writer, values, 500));
    if (reads)
        CU_ASSERT_EQUAL(mprotect(values, bytes, PROT_NONE), 0);
    tern_log_set_level(TERN_LOG_NONE);
    EXPECT_OK(tern_call_archive_start(f.worker, next, &sum_of_function, &writer, &got, sizeof got,
                                      &request));
    EXPECT(reads ? TERN_ERR_SYSTEM : TERN_OK, tern_wait(f.worker, &request));
    if (reads)
        EXPECT_DETAIL("sum_of(float64*):float64 has not run");
    munmap(values, bytes);
    EXPECT_OK(tern_barrier(f.worker));
    tern_log_set_level(TERN_LOG_WARN);
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_archive_start(f.worker, next, &sum_of_function, &writer, NULL, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_archive_start(f.worker, next, &sum_of_function, NULL, NULL, 0, &request));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_archive_start(f.worker, next, NULL, &writer, NULL, 0, &request));
    tern_writer_close(&writer);
    EXPECT(TERN_ERR_STATE,
           tern_call_archive_start(f.worker, next, &sum_of_function, &writer, NULL, 0, &request));
}

/* A function that calls on with the vector that it got, and one that would wait. */
TERN_REMOTE(relay, (uint32_t, left), TERN_VECTOR(double, v))
TERN_REMOTE_RETURN(int, wait_inside, TERN_BUFFER(double, values))

tern_status relay_here(tern_call_info *call, uint32_t left, tern_vector *v) {
    if (left == 0)
        return take_here(call, v);
    return relay(call->worker, to((f.rank + 1) % f.size), left - 1, v);
}

tern_status wait_inside_here(tern_call_info *call, const double *values, size_t values_count,
                             int *result) {
    double got = 0;
    *result = (int)sum_of(call->worker, call->origin, values, values_count, &got);
    return TERN_OK;
}

static void calls_in_handlers(void) {
    static double values[1000];
    int got = 0, rounds = fixture_times(&f, 8);
    for (int i = 0; i < rounds; i++) {
        tern_vector v;
        fill(&v, f.worker, 77, 4000);
        EXPECT_OK(relay(f.worker, to((f.rank + 1) % f.size), 2 * f.size - 1, &v));
        tern_vector_destroy(&v);
        EXPECT_OK(wait_inside(f.worker, to(0), values, 1000, &got));
        CU_ASSERT_EQUAL(got, TERN_ERR_STATE);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.runs, (uint64_t)rounds);
}

/* Creating a context costs more than most of the tests do. */
static void arguments(void) {
    if (!open_all())
        return;
    any_vectors();
    one_copy();
    taken_over();
    vector_of_another_context();
    full_segment();
    close_all();
}

static void answers(void) {
    if (!open_all())
        return;
    results();
    requests();
    as_many_as_there_may_be();
    close_all();
}

static void refusals(void) {
    if (!open_all())
        return;
    wrong_vectors();
    chunk_that_is_gone();
    close_all();
}

static void handlers(void) {
    if (!open_all())
        return;
    calls_in_handlers();
    close_all();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments", arguments},
        {"answers", answers},
        {"refusals", refusals},
        {"handlers", handlers},
    };
    return tern_test_main(argc, argv, "remote_vector", tests, sizeof tests / sizeof tests[0]);
}
