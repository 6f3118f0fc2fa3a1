// tern-test: transports

/*
 * Waits and tests for words of memory: every comparison of both widths against C's own, searches
 * among several words against a model, what other ranks put before the word, and the end of waits
 * in handlers.
 */

#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>

enum { WORDS = 12, COMPARISONS = 10, RANKS = 16 };

static bool compare(tern_comparison comparison, uint64_t word, uint64_t value) {
    const int64_t a = (int64_t)word, b = (int64_t)value;
    const bool results[COMPARISONS] = {
        word == value, word != value,     word<value, word <= value, word> value,
        word >= value, a<b, a <= b, a> b, a >= b};
    return results[comparison];
}

static bool compare32(tern_comparison comparison, uint32_t word, uint32_t value) {
    if (comparison >= TERN_LESS_SIGNED)
        return compare(comparison, (uint64_t)(int64_t)(int32_t)word,
                       (uint64_t)(int64_t)(int32_t)value);
    return compare(comparison, word, value);
}

static uint64_t draw_word(uint64_t *random) {
    static const uint64_t borders[] = {
        0, 1, 2, (uint64_t)-1, UINT64_C(1) << 63, INT64_MAX, UINT32_MAX, UINT64_C(1) << 31};
    const uint64_t draw = tern_test_random(random);
    return draw % 4 == 0 ? tern_test_random(random) : borders[draw / 4 % 8];
}

static void every_comparison(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    uint64_t random = tern_test_seed();
    for (int k = 0; k < 2000; k++) {
        const tern_comparison comparison = (tern_comparison)(k % COMPARISONS);
        const uint64_t word = draw_word(&random), value = draw_word(&random);
        const uint32_t half = (uint32_t)word, half_value = (uint32_t)value;
        int holds = 7;
        EXPECT_OK(tern_test_until(f.worker, &word, comparison, value, &holds));
        CU_ASSERT_EQUAL(holds, compare(comparison, word, value));
        if (holds)
            EXPECT_OK(tern_wait_until(f.worker, &word, comparison, value));
        EXPECT_OK(tern_test_until32(f.worker, &half, comparison, half_value, &holds));
        CU_ASSERT_EQUAL(holds, compare32(comparison, half, half_value));
        if (holds)
            EXPECT_OK(tern_wait_until32(f.worker, &half, comparison, half_value));
    }
    fixture_close(&f);
}

/* Tests of several words, and waits that need not wait. */
static void several_words(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    uint64_t random = tern_test_seed() + 1;
    for (int k = 0; k < 1500; k++) {
        uint64_t words[WORDS], values[WORDS];
        uint32_t halves[WORDS], half_values[WORDS];
        int skip[WORDS];
        bool wanted[WORDS];
        const uint64_t draw = tern_test_random(&random);
        const bool narrow = draw & 1, each = draw & 2, masked = draw & 4;
        const size_t count = draw / 8 % (WORDS + 1), start = draw / 1024 % 40;
        size_t satisfied = 0, counted = 0, first = TERN_NO_WORD, index, found, indices[WORDS];
        int all;
        tern_word_list list = {.words = narrow ? (const void *)halves : words,
                               .count = count,
                               .width = narrow      ? 4
                                        : draw & 16 ? 8
                                                    : 0,
                               .comparison = (tern_comparison)(draw / 32 % COMPARISONS),
                               .value = draw_word(&random),
                               .values = !each    ? NULL
                                         : narrow ? (const void *)half_values
                                                  : values,
                               .skip = masked ? skip : NULL,
                               .peer = draw & 512 ? &f.rank : NULL};
        for (size_t i = 0; i < count; i++) {
            words[i] = draw_word(&random);
            values[i] = draw_word(&random);
            halves[i] = (uint32_t)words[i];
            half_values[i] = (uint32_t)values[i];
            skip[i] = (int)(tern_test_random(&random) % 3) - 1;
            const uint64_t value = each ? values[i] : list.value;
            const bool counts = !masked || skip[i] == 0;
            wanted[i] = counts && (narrow ? compare32(list.comparison, halves[i], (uint32_t)value)
                                          : compare(list.comparison, words[i], value));
            satisfied += wanted[i];
            counted += counts;
        }
        for (size_t i = count; i-- > 0;)
            if (wanted[(start + i) % count])
                first = (start + i) % count;
        EXPECT_OK(tern_test_until_all(f.worker, &list, &all));
        CU_ASSERT_EQUAL(all, satisfied == counted);
        EXPECT_OK(tern_test_until_any(f.worker, &list, start, &index));
        CU_ASSERT_EQUAL(index, first);
        EXPECT_OK(tern_test_until_some(f.worker, &list, indices, &found));
        CU_ASSERT_EQUAL(found, satisfied);
        for (size_t i = 0, at = 0; i < count; i++)
            if (wanted[i])
                CU_ASSERT_EQUAL(indices[at++], i);
        if (satisfied == counted)
            EXPECT_OK(tern_wait_until_all(f.worker, &list));
        if (satisfied == 0 && counted > 0)
            continue;
        EXPECT_OK(tern_wait_until_any(f.worker, &list, start, &index));
        CU_ASSERT_EQUAL(index, first);
        EXPECT_OK(tern_wait_until_some(f.worker, &list, indices, &found));
        CU_ASSERT_EQUAL(found, satisfied);
    }
    fixture_close(&f);
}

/* Each word gets its turn, although the first ones always satisfy. */
static void any_is_fair(void) {
    fixture f;
    static const uint64_t words[WORDS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const tern_word_list list = {.words = words, .count = WORDS, .value = 1};
    size_t index = TERN_NO_WORD;
    if (!fixture_enter(&f))
        return;
    for (size_t k = 0; k < 5 * WORDS; k++) {
        EXPECT_OK(tern_wait_until_any(f.worker, &list, index + 1, &index));
        CU_ASSERT_EQUAL(index, k % WORDS);
    }
    fixture_close(&f);
}

typedef struct board {
    uint64_t data[32];
    uint64_t number; /* of the last data; from the rank before */
    uint64_t back;   /* from the rank behind: the data was read */
    uint32_t narrow[RANKS];
} board;

static tern_ptr on(const tern_ptr *all, uint32_t rank, size_t offset) {
    tern_ptr p = all[rank];
    p.offset += offset;
    return p;
}

/* A rank puts data, then a number behind a fence; the next rank sees the data with the number. */
static void data_before_the_word(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr all[RANKS];
    fixture_alloc_all(&f, sizeof(board), TERN_DOMAIN_NODE, all);
    board *own = tern_local(f.context, all[f.rank]);
    const uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    if (own == NULL)
        return;
    const tern_word_list back = {
        .words = &own->back, .count = 1, .comparison = TERN_GREATER_EQUAL, .peer = &next};
    memset(own, 0, sizeof *own);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t k = 1; k <= 60; k++) {
        uint64_t data[32];
        for (size_t i = 0; i < 32; i++)
            data[i] = k * 1000 + i;
        EXPECT_OK(tern_put(f.worker, on(all, next, offsetof(board, data)), data, sizeof data));
        EXPECT_OK(tern_fence(f.worker, next));
        EXPECT_OK(tern_put(f.worker, on(all, next, offsetof(board, number)), &k, sizeof k));
        EXPECT_OK(tern_wait_until(f.worker, &own->number, TERN_EQUAL, k));
        for (size_t i = 0; i < 32; i++)
            CU_ASSERT_EQUAL(own->data[i], k * 1000 + i);
        EXPECT_OK(tern_put(f.worker, on(all, before, offsetof(board, back)), &k, sizeof k));
        tern_word_list read = back;
        read.value = k;
        EXPECT_OK(tern_wait_until_all(f.worker, &read));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_free_all(&f, all);
    fixture_close(&f);
}

/* Rank 0 takes one word of each rank in the order in which they come, as a program that polls. */
static void words_of_all(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr all[RANKS];
    fixture_alloc_all(&f, sizeof(board), TERN_DOMAIN_NODE, all);
    board *own = tern_local(f.context, all[f.rank]);
    memset(own, 0, sizeof *own);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t round = 1; round <= 20; round++) {
        const tern_ptr place = on(all, 0, offsetof(board, narrow) + 4 * f.rank);
        EXPECT_OK(tern_put(f.worker, place, &round, sizeof round));
        EXPECT_OK(tern_flush(f.worker, 0));
        if (f.rank == 0) {
            int seen[RANKS] = {0};
            size_t left = f.size, index = 0, found, indices[RANKS];
            const tern_word_list list = {
                .words = own->narrow, .count = f.size, .width = 4, .value = round, .skip = seen};
            while (left > 0) {
                if (round % 2 == 0) {
                    EXPECT_OK(tern_wait_until_any(f.worker, &list, index + 1, &index));
                    CU_ASSERT(index < f.size && !seen[index]);
                    indices[0] = index;
                    found = 1;
                } else {
                    EXPECT_OK(tern_wait_until_some(f.worker, &list, indices, &found));
                }
                CU_ASSERT(found > 0 && found <= left);
                for (size_t i = 0; i < found; i++)
                    seen[indices[i]] = 1;
                left -= found;
            }
            EXPECT_OK(tern_wait_until_any(f.worker, &list, index, &index));
            CU_ASSERT_EQUAL(index, TERN_NO_WORD);
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    fixture_free_all(&f, all);
    fixture_close(&f);
}

static uint64_t called;

/* Progress runs within the wait; the word is no memory of a segment. */
static tern_status change(tern_call_info *call, const void *arguments, size_t bytes) {
    const uint64_t never = 0;
    int holds = 7;
    (void)arguments;
    (void)bytes;
    EXPECT(TERN_ERR_STATE, tern_wait_until(call->worker, &never, TERN_EQUAL, 1));
    EXPECT_DETAIL("not allowed in a handler");
    EXPECT(TERN_OK, tern_wait_until(call->worker, &never, TERN_EQUAL, 0));
    EXPECT(TERN_OK, tern_test_until(call->worker, &never, TERN_EQUAL, 1, &holds));
    CU_ASSERT_EQUAL(holds, 0);
    called++;
    return TERN_OK;
}
TERN_FUNCTION(change)

static void handlers_change_it(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    called = 0;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t k = 1; k <= 30; k++) {
        int holds = 0;
        EXPECT_OK(tern_call(f.worker, (tern_worker_id){(f.rank + 1) % f.size, 0}, &change_function,
                            NULL, 0));
        if (k % 2 == 0)
            EXPECT_OK(tern_wait_until(f.worker, &called, TERN_GREATER_EQUAL, k));
        while (k % 2 == 1 && !holds)
            EXPECT_OK(tern_test_until(f.worker, &called, TERN_GREATER_EQUAL, k, &holds));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static uint64_t of_thread;

static void *store(void *data) {
    sched_yield();
    *(uint64_t *)data = 5;
    __atomic_store_n(&of_thread, 9, __ATOMIC_RELEASE);
    return NULL;
}

/* A thread that does not use tern changes the word. */
static void a_thread_changes_it(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (int k = 0; k < 10; k++) {
        pthread_t thread;
        uint64_t data = 0;
        of_thread = 0;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, store, &data), 0);
        EXPECT_OK(tern_wait_until(f.worker, &of_thread, TERN_NOT_EQUAL, 0));
        CU_ASSERT_EQUAL(data, 5);
        pthread_join(thread, NULL);
    }
    fixture_close(&f);
}

static void refusals(void) {
    fixture f;
    static const uint64_t words[3] = {1, 2, 3};
    static const char *const odd = (const char *)words + 4;
    if (!fixture_enter(&f))
        return;
    const uint32_t nobody = f.size;
    size_t index = 77, found = 78, indices[3] = {5, 5, 5};
    int holds = 79;
    tern_word_list list = {.words = words, .count = 3, .value = 9};
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_until(NULL, words, TERN_EQUAL, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_until(f.worker, NULL, TERN_EQUAL, 1));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_wait_until(f.worker, (const uint64_t *)(const void *)odd, TERN_EQUAL, 1));
    EXPECT_DETAIL("align them");
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_until(f.worker, words, (tern_comparison)10, 1));
    EXPECT_DETAIL("comparison is 10");
    EXPECT(TERN_ERR_ARGUMENT, tern_test_until32(f.worker, NULL, TERN_EQUAL, 1, &holds));
    EXPECT(TERN_ERR_ARGUMENT, tern_test_until(f.worker, words, TERN_EQUAL, 1, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_until_any(f.worker, &list, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_test_until_any(f.worker, NULL, 0, &index));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_until_some(f.worker, &list, NULL, &found));
    EXPECT(TERN_ERR_ARGUMENT, tern_test_until_some(f.worker, &list, indices, NULL));
    list.width = 2;
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_until_all(f.worker, &list));
    EXPECT_DETAIL("width is 2");
    list.width = 0;
    list.peer = &nobody;
    EXPECT(TERN_ERR_ARGUMENT, tern_test_until_all(f.worker, &list, &holds));
    EXPECT_DETAIL("peer is");
    CU_ASSERT(index == 77 && found == 78 && indices[0] == 5 && holds == 79);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"every_comparison", every_comparison},
                                           {"several_words", several_words},
                                           {"any_is_fair", any_is_fair},
                                           {"data_before_the_word", data_before_the_word},
                                           {"words_of_all", words_of_all},
                                           {"handlers_change_it", handlers_change_it},
                                           {"a_thread_changes_it", a_thread_changes_it},
                                           {"refusals", refusals}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "wait_until", tests, sizeof tests / sizeof tests[0]);
}
