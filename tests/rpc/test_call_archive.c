// tern-test: transports

/* Calls that carry archives, whose large content is not copied at the caller's. */

#include "letters.h"

#include <stdlib.h>

/* Where the content of arrays may be. */
typedef enum { IN_HEAP, IN_VECTOR, IN_HEAP_VECTOR, IN_REGION, PLACES } place;

typedef struct {
    uint32_t *memory; /* IN_HEAP, IN_REGION */
    tern_ptr region;
    tern_vector vector;
    bool is_vector;
} matter;

static void make_content(matter *c, place where, size_t count, uint64_t seed) {
    *c = (matter){.is_vector = where == IN_VECTOR || where == IN_HEAP_VECTOR};
    if (c->is_vector) {
        EXPECT_OK(
            TERN_VECTOR_CREATE(where == IN_VECTOR ? f.worker : NULL, uint32_t, count, &c->vector));
        fill(tern_vector_data(&c->vector), count, seed);
        return;
    }
    c->memory = malloc(count * sizeof(uint32_t) + 1);
    fill(c->memory, count, seed);
    if (where == IN_REGION && count > 0)
        EXPECT_OK(tern_register(f.worker, c->memory, count * sizeof(uint32_t), &c->region));
}

static void write_content(tern_writer *writer, const matter *c, size_t count) {
    if (c->is_vector)
        EXPECT_OK(tern_write_vector(writer, &c->vector));
    else
        EXPECT_OK(TERN_WRITE(writer, c->memory, count));
}

/* What the memory held may not matter any more. */
static void end_content(matter *c, size_t count) {
    if (c->is_vector) {
        tern_vector_destroy(&c->vector);
        return;
    }
    memset(c->memory, 0xee, count * sizeof(uint32_t));
    if (!tern_ptr_is_null(c->region))
        EXPECT_OK(tern_deregister(f.worker, c->region));
    free(c->memory);
}

enum { ARRAYS = 6 };

/* Writes and sends one archive of random arrays, by any means; until it is taken. */
static void send_any(uint64_t *random, tern_writer *writer, tern_worker_id target, uint64_t number,
                     bool in_order) {
    head h = {number, in_order, below(random, ARRAYS + 1), below(random, 20) == 0};
    matter contents[ARRAYS];
    size_t counts[ARRAYS];
    EXPECT_OK(tern_writer_reset(writer));
    EXPECT_OK(TERN_WRITE(writer, &h, 1));
    for (uint64_t i = 0; i < h.arrays; i++) {
        size_t most = below(random, 4) == 0 ? 20000 : 300; /* 250 are shared */
        counts[i] = below(random, most);
        make_content(&contents[i], (place)below(random, PLACES), counts[i],
                     number * 16 + f.rank * 1000 + i);
        write_content(writer, &contents[i], counts[i]);
    }
    tern_archive_options options = {.full = (tern_full)below(random, 3),
                                    .reusable = &reusable,
                                    .executed = below(random, 2) == 0 ? &executed : NULL,
                                    .aside = !in_order && below(random, 2) == 0};
    tern_status status;
    while ((status = tern_call_archive(f.worker, target, &open_letter_function, writer,
                                       &options)) == TERN_ERR_AGAIN)
        tern_progress(f.worker);
    EXPECT_OK(status);
    /* Vectors are kept where they are needed; other memory only until it may be reused. */
    EXPECT_OK(tern_writer_reset(writer));
    for (uint64_t i = 0; i < h.arrays; i++)
        if (contents[i].is_vector)
            end_content(&contents[i], counts[i]);
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    for (uint64_t i = 0; i < h.arrays; i++)
        if (!contents[i].is_vector)
            end_content(&contents[i], counts[i]);
}

static void any_archive(tern_cma cross, bool in_order) {
    if (!open_with(16384, cross))
        return;
    forget();
    uint64_t random = fixture_seed(&f, 90 + in_order), sent[RANKS] = {0}, all[RANKS * RANKS];
    tern_writer writer;
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, (size_t)1 << 20));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
    int times = fixture_times(&f, 600);
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, f.size);
        send_any(&random, &writer, to(r), sent[r]++, in_order);
    }
    tern_writer_close(&writer);
    EXPECT_OK(tern_synchronizer_wait(f.worker, executed));
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_share(&f, sent, sizeof sent, all);
    uint64_t wanted = 0;
    for (uint32_t r = 0; r < f.size; r++)
        wanted += all[r * RANKS + f.rank];
    CU_ASSERT_EQUAL(found.run, wanted);
    CU_ASSERT_EQUAL(found.wrong, 0);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, 0);
    forget();
    close_all();
}

static void in_order(void) { any_archive(TERN_CMA_AUTO, true); }
static void aside(void) { any_archive(TERN_CMA_AUTO, false); }
static void staged(void) { any_archive(TERN_CMA_OFF, true); }

/* One copy of what is shared, end to end, where ranks share memory; none at the caller's. */
static void one_copy(void) {
    enum { COUNT = 100000, TIMES = 5 };
    if (!open_with(16384, TERN_CMA_AUTO))
        return;
    forget();
    uint32_t next = (f.rank + 1) % f.size;
    tern_vector vector;
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, uint32_t, COUNT, &vector));
    for (uint64_t i = 0; i < TIMES; i++) {
        tern_writer writer;
        begin(&writer, i, 2);
        uint64_t seed = i * 16 + f.rank * 1000;
        uint32_t small[10];
        fill(small, 10, seed);
        EXPECT_OK(tern_vector_own(&vector));
        fill(tern_vector_data(&vector), COUNT, seed + 1);
        EXPECT_OK(TERN_WRITE(&writer, small, 10));
        EXPECT_OK(tern_write_vector(&writer, &vector));
        EXPECT_OK(tern_call_archive(f.worker, to(next), &open_letter_function, &writer, NULL));
        tern_writer_close(&writer);
    }
    tern_vector_destroy(&vector);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, TIMES);
    CU_ASSERT_EQUAL(found.vectors, TIMES);
    CU_ASSERT_EQUAL(found.wrong, 0);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.bytes_got, (uint64_t)TIMES * COUNT * sizeof(uint32_t));
    if (fixture_all_direct(&f))
        CU_ASSERT_EQUAL(stats.bytes_staged, 0);
    /* The vector that was taken over lies in the segment, to be sent on as it is. */
    CU_ASSERT_EQUAL(tern_vector_place(&found.kept).rank, f.rank);
    CU_ASSERT(!tern_ptr_is_null(tern_vector_place(&found.kept)));
    forget();
    close_all();
}

/* Sends its archive on, as it is, to the next rank, until it has been around. */
static tern_status send_on(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(send_on)

static tern_status send_on(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_reader reader;
    uint64_t left = 0;
    tern_vector v;
    if (tern_call_reader(call, arguments, bytes, &reader) != TERN_OK ||
        TERN_READ(&reader, &left, 1) != TERN_OK ||
        TERN_READ_VECTOR(&reader, call->worker, uint32_t, &v) != TERN_OK)
        return tern_reader_close(&reader);
    tern_status status = tern_reader_close(&reader);
    if (left-- > 0 && status == TERN_OK) {
        tern_writer writer;
        tern_worker_id next = to((tern_worker_self(call->worker).rank + 1) % f.size);
        (void)tern_writer_open(&writer, NULL, 0, 1000);
        (void)tern_writer_share(&writer, call->worker, 0);
        (void)TERN_WRITE(&writer, &left, 1);
        (void)tern_write_vector(&writer, &v);
        status = tern_call_archive(call->worker, next, &send_on_function, &writer, NULL);
        tern_writer_close(&writer);
    } else {
        found.wrong += wrong_values(tern_vector_data(&v), tern_vector_count(&v), 77);
        found.run++;
    }
    tern_vector_destroy(&v);
    return status;
}

static void sent_on_by_handlers(void) {
    if (!open_with(16384, TERN_CMA_AUTO))
        return;
    forget();
    tern_writer writer;
    tern_vector v;
    uint64_t left = 3 * (uint64_t)f.size - 1;
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, uint32_t, 5000, &v));
    fill(tern_vector_data(&v), 5000, 77);
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1000));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
    EXPECT_OK(TERN_WRITE(&writer, &left, 1));
    EXPECT_OK(tern_write_vector(&writer, &v));
    EXPECT_OK(
        tern_call_archive(f.worker, to((f.rank + 1) % f.size), &send_on_function, &writer, NULL));
    tern_writer_close(&writer);
    tern_vector_destroy(&v);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 1);
    CU_ASSERT_EQUAL(found.wrong, 0);
    forget();
    close_all();
}

/* A vector in the segment of one context goes through another: its place means nothing there. */
static void of_another_context(void) {
    fixture other;
    if (!open_with(16384, TERN_CMA_AUTO) || !fixture_open(&other, NULL))
        return;
    forget();
    tern_writer writer;
    tern_vector v;
    begin(&writer, 3, 1);
    EXPECT_OK(TERN_VECTOR_CREATE(other.worker, uint32_t, 4000, &v));
    fill(tern_vector_data(&v), 4000, 3 * 16 + f.rank * 1000);
    EXPECT_OK(tern_write_vector(&writer, &v));
    EXPECT_OK(tern_call_archive(f.worker, to((f.rank + 1) % f.size), &open_letter_function, &writer,
                                NULL));
    tern_writer_close(&writer);
    tern_vector_destroy(&v);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 1);
    CU_ASSERT_EQUAL(found.wrong, 0);
    forget();
    fixture_close(&other);
    close_all();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"in order", in_order},
        {"aside", aside},
        {"staged", staged},
        {"one copy", one_copy},
        {"sent on by handlers", sent_on_by_handlers},
        {"of another context", of_another_context},
    };
    return tern_test_main(argc, argv, "call_archive", tests, sizeof tests / sizeof tests[0]);
}
