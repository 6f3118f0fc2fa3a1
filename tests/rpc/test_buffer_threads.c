// tern-test: unit
/*
 * Threads that keep, drop and share buffers and vectors: memory is given back once, after all that
 * was done to it; the one that is alone with it may write. For ThreadSanitizer.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fixture.h"

enum { THREADS = 4, ROUNDS = 2000, WORDS = 64 };

static atomic_int releases;

/* Plain accesses to all of it: a race if anybody still uses it. */
static void release(void *data, size_t bytes, void *user) {
    memset(data, 0xff, bytes);
    atomic_fetch_add_explicit(&releases, 1, memory_order_relaxed);
    free(data);
    (void)user;
}

typedef struct share {
    tern_buffer *buffer;
    tern_vector vector;
    uint64_t sum, wrong;
    size_t number;
} share;

/* Reads what is nobody's own, keeps and drops, and drops its own reference last. */
static void *use_buffer(void *argument) {
    share *s = argument;
    uint64_t *words = tern_buffer_data(s->buffer);
    for (int i = 0; i < ROUNDS; i++) {
        tern_buffer *again = tern_buffer_keep(s->buffer);
        s->sum += words[THREADS + i % (WORDS - THREADS)];
        tern_buffer_drop(again);
    }
    words[s->number]++; /* a word of its own */
    if (tern_buffer_alone(s->buffer))
        memset(words, 0, WORDS * sizeof *words);
    tern_buffer_drop(s->buffer);
    return NULL;
}

static void run(share *shares, void *(*body)(void *)) {
    pthread_t thread[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, body, &shares[i]);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void buffers(void) {
    enum { TIMES = 50 };
    for (int time = 0; time < TIMES; time++) {
        share shares[THREADS];
        tern_buffer *buffer = NULL;
        uint64_t *words = calloc(WORDS, sizeof *words);
        EXPECT_OK(tern_buffer_wrap(words, WORDS * sizeof *words, release, NULL, &buffer));
        for (size_t i = 0; i < WORDS; i++)
            words[i] = i >= THREADS;
        for (size_t i = 0; i < THREADS; i++)
            shares[i] = (share){.buffer = tern_buffer_keep(buffer), .number = i};
        tern_buffer_drop(buffer);
        run(shares, use_buffer);
    }
    CU_ASSERT_EQUAL(atomic_load(&releases), TIMES);
}

/* Vectors with one memory: each thread takes its own before it writes. */
static void *use_vector(void *argument) {
    share *s = argument;
    for (int i = 0; i < 200; i++) {
        tern_vector mine;
        tern_vector_share(&s->vector, &mine);
        s->wrong += tern_vector_own(&mine) != TERN_OK;
        uint32_t *values = tern_vector_data(&mine);
        for (size_t k = 0; k < WORDS; k++) {
            s->wrong += values[k] != k;
            values[k] = (uint32_t)s->number;
        }
        tern_vector_destroy(&mine);
    }
    s->wrong += tern_vector_own(&s->vector) != TERN_OK;
    ((uint32_t *)tern_vector_data(&s->vector))[0] = 77;
    tern_vector_destroy(&s->vector);
    return NULL;
}

static void vectors(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (int placed = 0; placed < 2; placed++) {
        share shares[THREADS];
        tern_vector v;
        EXPECT_OK(TERN_VECTOR_CREATE(placed ? f.worker : NULL, uint32_t, WORDS, &v));
        for (uint32_t i = 0; i < WORDS; i++)
            ((uint32_t *)tern_vector_data(&v))[i] = i;
        for (size_t i = 0; i < THREADS; i++) {
            shares[i] = (share){.number = i};
            tern_vector_share(&v, &shares[i].vector);
        }
        tern_vector_destroy(&v);
        run(shares, use_vector);
        for (size_t i = 0; i < THREADS; i++)
            CU_ASSERT_EQUAL(shares[i].wrong, 0);
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"buffers", buffers}, {"vectors", vectors}};
    return tern_test_main(argc, argv, "buffer_threads", tests, sizeof tests / sizeof tests[0]);
}
