/*
 * What the suites of queues share: queues of all shapes, and items whose bytes tell their producer,
 * and whether they are whole.
 */

#ifndef TERN_TESTS_HARNESS_QUEUE_TOOLS_H
#define TERN_TESTS_HARNESS_QUEUE_TOOLS_H

#include <stdlib.h>

#include "fixture.h"

static inline tern_queue *make_queue(fixture *f, tern_queue_options options) {
    tern_queue *queue = NULL;
    EXPECT_OK(tern_queue_create(f->worker, &options, &queue));
    return queue;
}

static inline tern_flags any_path(uint64_t *random) { return fixture_path(below(random, 3)); }

/* Makes item number of a producer. Its first bytes name both, and the others follow from them. */
static inline void make_item(void *item, size_t bytes, uint32_t producer, uint32_t number) {
    unsigned char *to = item;
    uint64_t state = (uint64_t)producer << 32 | number;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = i == 0 ? state : tern_test_random(&state);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* Reads an item of 8 bytes or more. False: it is not whole. */
static inline bool read_item(const void *item, size_t bytes, uint32_t *producer, uint32_t *number) {
    static unsigned char wanted[65536];
    uint64_t word;
    memcpy(&word, item, 8);
    *producer = (uint32_t)(word >> 32);
    *number = (uint32_t)word;
    make_item(wanted, bytes, *producer, *number);
    return memcmp(item, wanted, bytes) == 0;
}

/* What a consumer has seen: it checks that items are whole, and that those of each producer come in
 * order. */
typedef struct queue_book {
    uint32_t next[64]; /* by producer */
    uint64_t items, sum, wrong;
} queue_book;

static inline void enter(queue_book *book, const void *items, size_t bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t producer, number;
        bool whole = read_item((const char *)items + i * bytes, bytes, &producer, &number);
        if (!whole || producer >= 64 || number < book->next[producer]) {
            book->wrong++;
            continue;
        }
        book->next[producer] = number + 1;
        book->items++;
        book->sum += ((uint64_t)producer << 32) + number;
    }
}

/* Collective: expects that all ranks have popped what all have pushed, by count and sum. */
static inline void balance(fixture *f, const queue_book *pushed, const queue_book *popped) {
    uint64_t mine[4] = {pushed->items, pushed->sum, popped->items, popped->sum}, all[64][4];
    uint64_t sum[4] = {0};
    CU_ASSERT_EQUAL(popped->wrong, 0);
    fixture_share(f, mine, sizeof mine, all);
    for (uint32_t r = 0; r < f->size; r++)
        for (int i = 0; i < 4; i++)
            sum[i] += all[r][i];
    CU_ASSERT_EQUAL(sum[0], sum[2]);
    CU_ASSERT_EQUAL(sum[1], sum[3]);
}

static inline void note_push(queue_book *book, uint32_t producer, uint32_t number) {
    book->items++;
    book->sum += ((uint64_t)producer << 32) + number;
}

#endif
