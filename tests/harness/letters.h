/*
 * What the suites of calls with archives share: archives of arrays whose content follows from their
 * number, and the function that opens them.
 */

#ifndef TERN_TESTS_HARNESS_LETTERS_H
#define TERN_TESTS_HARNESS_LETTERS_H

#include "call_tools.h"

static fixture f;
static tern_synchronizer reusable, executed;

static bool open_with(size_t ring_size, tern_cma cross) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)8 << 20;
    config.ring_size = ring_size;
    config.ring_growth = 1;
    config.zero_copy_min = 1000;
    config.cma = cross;
    if (!fixture_open(&f, &config))
        return false;
    EXPECT_OK(tern_synchronizer_create(f.worker, &reusable));
    EXPECT_OK(tern_synchronizer_create(f.worker, &executed));
    return true;
}

static void close_all(void) {
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &reusable));
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &executed));
    fixture_close(&f);
}

/* What the functions here have found. */
static struct {
    uint64_t next[RANKS], run, wrong, vectors, again;
    tern_vector kept;
} found;

static void forget(void) {
    tern_vector_destroy(&found.kept);
    memset(&found, 0, sizeof found);
    EXPECT_OK(tern_barrier(f.worker));
}

static uint32_t value(uint64_t seed, size_t i) {
    return (uint32_t)(seed * 2654435761u + i * 40503);
}

static uint64_t wrong_values(const uint32_t *values, size_t count, uint64_t seed) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += values[i] != value(seed, i);
    return wrong;
}

static void fill(uint32_t *values, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        values[i] = value(seed, i);
}

/* The first item of every archive here. */
typedef struct {
    uint64_t number, in_order, arrays, again;
} head;

/* Reads the arrays of an archive: in turn one in place, and one that it takes over. */
static tern_status open_letter(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_reader reader;
    head h = {0};
    if (tern_call_reader(call, arguments, bytes, &reader) == TERN_OK)
        (void)TERN_READ(&reader, &h, 1);
    if (found.again < h.again) {
        found.again++;
        return TERN_ERR_AGAIN;
    }
    found.again = 0;
    if (h.in_order)
        found.wrong += h.number != found.next[call->origin.rank]++;
    for (uint64_t i = 0; i < h.arrays && reader.status == TERN_OK; i++) {
        uint64_t seed = h.number * 16 + call->origin.rank * 1000 + i;
        const uint32_t *values = NULL;
        size_t count = 0;
        if (i % 2 == 0) {
            if (TERN_READ_ARRAY(&reader, &values, &count) == TERN_OK)
                found.wrong += wrong_values(values, count, seed);
            continue;
        }
        tern_vector v;
        if (TERN_READ_VECTOR(&reader, call->worker, uint32_t, &v) != TERN_OK)
            break;
        found.wrong += wrong_values(tern_vector_data(&v), tern_vector_count(&v), seed);
        found.vectors++;
        tern_vector_destroy(&found.kept);
        tern_vector_move(&v, &found.kept);
    }
    found.wrong += tern_reader_close(&reader) != TERN_OK;
    found.run++;
    return TERN_OK;
}
TERN_FUNCTION(open_letter)

static inline void begin(tern_writer *writer, uint64_t number, uint64_t arrays) {
    head h = {number, 0, arrays, 0};
    EXPECT_OK(tern_writer_open(writer, NULL, 0, (size_t)1 << 24));
    EXPECT_OK(tern_writer_share(writer, f.worker, 0));
    EXPECT_OK(TERN_WRITE(writer, &h, 1));
}

#endif
