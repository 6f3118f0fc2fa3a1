// tern-test: transports
/*
 * Buffers and vectors: memory is given back once, to where it came from, when the last reference
 * goes; what is shared is not copied, what is written to afterwards is. Archives of them have RMA
 * chunks that other ranks can get.
 */

#include <stdlib.h>

#include "fixture.h"

typedef struct released {
    int times;
    void *data;
    size_t bytes;
} released;

static void note(void *data, size_t bytes, void *user) {
    released *r = user;
    r->times++;
    r->data = data;
    r->bytes = bytes;
}

static void wrapped(void) {
    char memory[100];
    released r = {0};
    tern_buffer *buffer = NULL;
    EXPECT_OK(tern_buffer_wrap(memory, sizeof memory, note, &r, &buffer));
    CU_ASSERT(tern_buffer_data(buffer) == memory && tern_buffer_bytes(buffer) == sizeof memory);
    CU_ASSERT(tern_ptr_is_null(tern_buffer_place(buffer)) && tern_buffer_alone(buffer));
    CU_ASSERT(tern_buffer_keep(buffer) == buffer && !tern_buffer_alone(buffer));
    tern_buffer_drop(buffer);
    CU_ASSERT(tern_buffer_alone(buffer) && r.times == 0);
    tern_buffer_drop(buffer);
    CU_ASSERT(r.times == 1 && r.data == memory && r.bytes == sizeof memory);
    EXPECT_OK(tern_buffer_wrap(NULL, 0, NULL, NULL, &buffer));
    tern_buffer_drop(buffer);
    CU_ASSERT(tern_buffer_keep(NULL) == NULL && tern_buffer_data(NULL) == NULL);
    CU_ASSERT(tern_buffer_bytes(NULL) == 0 && !tern_buffer_alone(NULL));
    CU_ASSERT(tern_ptr_is_null(tern_buffer_place(NULL)));
    tern_buffer_drop(NULL);
    EXPECT(TERN_ERR_ARGUMENT, tern_buffer_wrap(NULL, 1, note, &r, &buffer));
    EXPECT(TERN_ERR_ARGUMENT, tern_buffer_wrap(memory, 1, note, &r, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_buffer_create(NULL, 1, NULL));
    EXPECT(TERN_ERR_MEMORY, tern_buffer_create(NULL, SIZE_MAX, &buffer));
    CU_ASSERT_EQUAL(r.times, 1);
}

static size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

/* A writer keeps a buffer from its threshold on, and lets go at reset and close. */
static void kept_by_writers(void) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 5000};
    static char memory[5000];
    for (size_t i = 0; i < 6; i++)
        for (int reset = 0; reset < 2; reset++) {
            released r = {0};
            tern_buffer *buffer = NULL, *got = NULL;
            tern_writer writer;
            tern_reader reader;
            size_t count = 0;
            bool kept = sizes[i] >= 64;
            EXPECT_OK(tern_buffer_wrap(memory, sizes[i], note, &r, &buffer));
            EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1 << 20));
            EXPECT_OK(tern_writer_share(&writer, NULL, 64));
            EXPECT_OK(tern_write_buffer(&writer, buffer));
            tern_buffer_drop(buffer);
            CU_ASSERT_EQUAL(r.times, kept ? 0 : 1);
            const tern_chunk *chunks = tern_writer_chunks(&writer, &count);
            CU_ASSERT_EQUAL(count, kept);
            EXPECT_OK(tern_reader_open(&reader, writer.data, writer.bytes));
            EXPECT_OK(tern_reader_chunks(&reader, chunks, count));
            EXPECT_OK(tern_read_buffer(&reader, NULL, &got));
            EXPECT_OK(tern_reader_close(&reader));
            CU_ASSERT(tern_buffer_bytes(got) == sizes[i] &&
                      (tern_buffer_data(got) == memory) == kept);
            if (reset)
                EXPECT_OK(tern_writer_reset(&writer));
            tern_writer_close(&writer);
            CU_ASSERT_EQUAL(r.times, kept ? 0 : 1);
            CU_ASSERT(tern_buffer_alone(got));
            tern_buffer_drop(got);
            CU_ASSERT_EQUAL(r.times, 1);
        }
}

/* Against an array that is too simple to be wrong. */
static void random_vectors(const fixture *f) {
    enum { VECTORS = 4, MOST = 3000 };
    static uint32_t model[VECTORS][MOST];
    size_t count[VECTORS] = {0}, wrong = 0;
    uint64_t random = tern_test_seed();
    size_t before = in_use(f);
    tern_vector v[VECTORS];
    for (size_t i = 0; i < VECTORS; i++)
        EXPECT_OK(TERN_VECTOR_CREATE(i % 2 ? f->worker : NULL, uint32_t, 0, &v[i]));
    for (int round = 0; round < 3000; round++) {
        size_t a = below(&random, VECTORS), b = below(&random, VECTORS), n = below(&random, 9);
        uint32_t some[9];
        for (size_t i = 0; i < 9; i++)
            some[i] = (uint32_t)tern_test_random(&random);
        switch (below(&random, 6)) {
        case 0: /* append, of its own elements too */
            if (count[a] + n > MOST)
                break;
            wrong +=
                tern_vector_append(&v[a], n <= count[a] ? tern_vector_data(&v[a]) : (void *)some,
                                   n) != TERN_OK;
            memcpy(model[a] + count[a], n <= count[a] ? model[a] : some, n * sizeof *some);
            count[a] += n;
            break;
        case 1: {
            size_t wanted = below(&random, MOST);
            wrong += tern_vector_resize(&v[a], wanted) != TERN_OK;
            for (size_t i = count[a]; i < wanted; i++)
                ((uint32_t *)tern_vector_data(&v[a]))[i] = model[a][i] = (uint32_t)(i * a);
            /* Elements cut off a shared vector stay where the others see them. */
            count[a] = wanted;
            break;
        }
        case 2:
            if (a == b)
                break;
            tern_vector_destroy(&v[a]);
            tern_vector_share(&v[b], &v[a]);
            memcpy(model[a], model[b], sizeof model[a]);
            count[a] = count[b];
            break;
        case 3:
            wrong += tern_vector_own(&v[a]) != TERN_OK;
            if (count[a] > 0)
                ((uint32_t *)tern_vector_data(&v[a]))[0] = model[a][0] = some[0];
            break;
        case 4:
            if (a == b)
                break;
            tern_vector_destroy(&v[a]);
            tern_vector_move(&v[b], &v[a]);
            memcpy(model[a], model[b], sizeof model[a]);
            count[a] = count[b];
            count[b] = 0;
            break;
        default:
            tern_vector_destroy(&v[a]);
            count[a] = 0;
        }
        for (size_t i = 0; i < VECTORS; i++)
            wrong += tern_vector_count(&v[i]) != count[i] ||
                     (count[i] > 0 &&
                      memcmp(tern_vector_data(&v[i]), model[i], count[i] * sizeof *some) != 0);
    }
    for (size_t i = 0; i < VECTORS; i++)
        tern_vector_destroy(&v[i]);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(in_use(f), before);
}

static void vector_limits(const fixture *f) {
    tern_vector v;
    static const double one = 1;
    size_t before = in_use(f);
    EXPECT(TERN_ERR_ARGUMENT, tern_vector_create(NULL, TERN_ITEM_BYTES, 0, 1, &v));
    EXPECT(TERN_ERR_ARGUMENT, tern_vector_create(NULL, TERN_ITEM_BYTES, 8, 1, NULL));
    EXPECT(TERN_ERR_RANGE,
           tern_vector_create(NULL, TERN_ITEM_BYTES, TERN_ITEM_ELEMENT_MAX + 1, 1, &v));
    EXPECT(TERN_ERR_RANGE, TERN_VECTOR_CREATE(NULL, double, (size_t)TERN_ITEM_COUNT_MAX + 1, &v));
    EXPECT(TERN_ERR_MEMORY, TERN_VECTOR_CREATE(f->worker, double, (size_t)1 << 30, &v));
    EXPECT_OK(TERN_VECTOR_CREATE(f->worker, double, 1, &v));
    *(double *)tern_vector_data(&v) = 5;
    EXPECT(TERN_ERR_MEMORY, tern_vector_resize(&v, (size_t)1 << 30));
    EXPECT(TERN_ERR_RANGE, tern_vector_resize(&v, SIZE_MAX));
    EXPECT(TERN_ERR_RANGE, tern_vector_append(&v, &one, SIZE_MAX));
    EXPECT(TERN_ERR_ARGUMENT, tern_vector_append(&v, NULL, 1));
    CU_ASSERT(tern_vector_count(&v) == 1 && *(double *)tern_vector_data(&v) == 5);
    CU_ASSERT(tern_buffer_alone(v.buffer));
    CU_ASSERT(tern_local(f->context, tern_vector_place(&v)) == tern_vector_data(&v));
    tern_vector_destroy(&v);
    tern_vector_destroy(&v);
    CU_ASSERT_EQUAL(in_use(f), before);
}

/* Which chunk memory becomes: of the segment, registered, private, and neither beyond their ends.
 */
static void kinds_of_chunks(const fixture *f) {
    enum { BYTES = 16384 };
    static char private_memory[3 * BYTES];
    tern_ptr in_segment = TERN_NULL, region = TERN_NULL;
    tern_writer writer;
    size_t count = 0;
    EXPECT_OK(tern_alloc(f->worker, BYTES, 0, TERN_DOMAIN_GLOBAL, &in_segment));
    EXPECT_OK(tern_register(f->worker, private_memory + BYTES, BYTES, &region));
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1 << 20));
    EXPECT_OK(tern_writer_share(&writer, f->worker, 0)); /* TERN_ZERO_COPY_MIN: 16 KiB */
    const char *segment = tern_local(f->context, in_segment);
    EXPECT_OK(TERN_WRITE(&writer, segment, BYTES - 1));
    CU_ASSERT_PTR_NULL(tern_writer_chunks(&writer, &count));
    EXPECT_OK(TERN_WRITE(&writer, segment, BYTES));
    CU_ASSERT(tern_writer_chunks(&writer, &count) != NULL && count == 1);
    EXPECT_OK(tern_writer_reset(&writer));
    EXPECT_OK(tern_writer_share(&writer, f->worker, BYTES / 2));
    EXPECT_OK(TERN_WRITE(&writer, segment, BYTES));
    EXPECT_OK(TERN_WRITE(&writer, segment + 100, BYTES - 100));
    EXPECT_OK(TERN_WRITE(&writer, private_memory + BYTES, BYTES));
    EXPECT_OK(TERN_WRITE(&writer, private_memory + BYTES + 5, BYTES - 5));
    EXPECT_OK(TERN_WRITE(&writer, private_memory + BYTES, BYTES + 1));
    EXPECT_OK(TERN_WRITE(&writer, private_memory + BYTES - 1, BYTES));
    EXPECT_OK(TERN_WRITE(&writer, private_memory, BYTES));
    EXPECT_OK(TERN_WRITE(&writer, private_memory + 2 * BYTES, BYTES));
    const tern_chunk *c = tern_writer_chunks(&writer, &count);
    CU_ASSERT_EQUAL(count, 8);
    CU_ASSERT(tern_ptr_equal(c[0].place, in_segment));
    CU_ASSERT(tern_ptr_equal(c[1].place, tern_ptr_add(in_segment, 100)));
    CU_ASSERT(tern_ptr_equal(c[2].place, region));
    CU_ASSERT(tern_ptr_equal(c[3].place, tern_ptr_add(region, 5)));
    for (size_t i = 4; i < 8; i++)
        CU_ASSERT(tern_ptr_is_null(c[i].place));
    CU_ASSERT(writer.bytes < 1024);
    EXPECT_OK(tern_deregister(f->worker, region));
    EXPECT_OK(tern_writer_reset(&writer));
    EXPECT_OK(TERN_WRITE(&writer, private_memory + BYTES, BYTES));
    CU_ASSERT(tern_ptr_is_null(tern_writer_chunks(&writer, &count)->place));
    tern_writer_close(&writer);
    EXPECT_OK(tern_free(f->worker, in_segment));
}

enum { ELEMENTS = 4096, INDEX = 256 };

/* A vector in an archive of this rank, published as a program without calls would do it. */
typedef struct parcel {
    char index[INDEX];
    size_t bytes;
    tern_ptr place;
} parcel;

static double element_of(uint32_t rank, size_t i) { return rank * 1e6 + (double)i; }

static void write_parcel(const fixture *f, tern_writer *writer, parcel *p) {
    tern_vector v;
    size_t count = 0;
    EXPECT_OK(TERN_VECTOR_CREATE(f->worker, double, ELEMENTS, &v));
    for (size_t i = 0; i < ELEMENTS; i++)
        ((double *)tern_vector_data(&v))[i] = element_of(f->rank, i);
    EXPECT_OK(tern_writer_open(writer, NULL, 0, INDEX));
    EXPECT_OK(tern_writer_share(writer, NULL, 1024)); /* its place is known without a worker */
    EXPECT_OK(tern_write_string(writer, "values"));
    EXPECT_OK(tern_write_vector(writer, &v));
    tern_vector_destroy(&v); /* the writer keeps the memory */
    memset(p, 0, sizeof *p);
    p->bytes = writer->bytes;
    memcpy(p->index, writer->data, p->bytes);
    p->place = tern_writer_chunks(writer, &count)->place;
    CU_ASSERT_EQUAL(count, 1);
}

/* The chunk is got into a buffer, which becomes the vector's memory. */
static void read_parcel(const fixture *f, const parcel *p, uint32_t from) {
    _Alignas(8) char index[INDEX];
    tern_buffer *buffer = NULL;
    tern_vector v = {0};
    tern_reader reader;
    const char *text = NULL;
    size_t wrong = 0;
    memcpy(index, p->index, p->bytes);
    EXPECT_OK(tern_buffer_create(f->worker, ELEMENTS * sizeof(double), &buffer));
    EXPECT_OK(tern_get(f->worker, tern_buffer_data(buffer), p->place, tern_buffer_bytes(buffer)));
    tern_chunk chunk = {tern_buffer_data(buffer), tern_buffer_bytes(buffer), TERN_NULL, buffer};
    EXPECT_OK(tern_reader_open(&reader, index, p->bytes));
    EXPECT_OK(tern_reader_chunks(&reader, &chunk, 1));
    EXPECT_OK(tern_read_string(&reader, &text, NULL));
    CU_ASSERT_STRING_EQUAL(text, "values");
    tern_reader here = reader;
    EXPECT(TERN_ERR_MISMATCH, TERN_READ_VECTOR(&here, f->worker, float, &v));
    EXPECT_OK(TERN_READ_VECTOR(&reader, f->worker, double, &v));
    EXPECT_OK(tern_reader_close(&reader));
    tern_buffer_drop(buffer);
    CU_ASSERT(tern_vector_data(&v) == chunk.memory && tern_vector_count(&v) == ELEMENTS);
    CU_ASSERT(tern_buffer_alone(v.buffer));
    for (size_t i = 0; i < ELEMENTS; i++)
        wrong += ((double *)tern_vector_data(&v))[i] != element_of(from, i);
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_vector_resize(&v, ELEMENTS + 1)); /* it is a vector like any other */
    tern_vector_destroy(&v);
}

static void moved_between_ranks(fixture *f) {
    parcel mine, *all;
    tern_writer writer;
    size_t before = in_use(f);
    all = malloc(f->size * sizeof *all);
    write_parcel(f, &writer, &mine);
    fixture_share(f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f->size; r++)
        read_parcel(f, &all[r], r);
    EXPECT_OK(tern_barrier(f->worker));
    tern_writer_close(&writer);
    CU_ASSERT_EQUAL(in_use(f), before);
    free(all);
}

static void with_a_context(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    random_vectors(&f);
    vector_limits(&f);
    kinds_of_chunks(&f);
    moved_between_ranks(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"wrapped", wrapped},
        {"kept_by_writers", kept_by_writers},
        {"with_a_context", with_a_context},
    };
    return tern_test_main(argc, argv, "buffer", tests, sizeof tests / sizeof tests[0]);
}
