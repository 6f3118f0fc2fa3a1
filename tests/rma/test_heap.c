// tern-test: unit
/*
 * The general allocator (rma/memory/heap.h) against a model: a table of pieces that may not
 * overlap, that lie where they were asked for, and that come back whole.
 */

#include "harness.h"
#include "rma/memory/heap.h"

#include <string.h>

#define START ((uint64_t)4096)
#define BYTES ((uint64_t)1 << 20)
#define PIECES 512

typedef struct piece {
    uint64_t offset, bytes;
} piece;

static tern_heap *heap;

static void open_heap(void) {
    const uint64_t cut[2] = {START, START + BYTES};
    CU_ASSERT_EQUAL_FATAL(tern_heap_create(cut, 1, &heap), TERN_OK);
}

/* Three parts; no multiples of what most pieces are aligned to. */
static const uint64_t three[4] = {START, START + 300032, START + 700160, START + BYTES};

static void open_parts(void) { CU_ASSERT_EQUAL_FATAL(tern_heap_create(three, 3, &heap), TERN_OK); }

static void close_heap(void) {
    tern_heap_destroy(heap);
    heap = NULL;
}

static bool overlaps(const piece *pieces, size_t count, uint64_t offset, uint64_t bytes) {
    for (size_t i = 0; i < count; i++)
        if (offset < pieces[i].offset + pieces[i].bytes && pieces[i].offset < offset + bytes)
            return true;
    return false;
}

/* In each of so many parts. */
static void check_against_model(size_t parts) {
    uint64_t state = tern_test_seed();
    piece pieces[PIECES];
    size_t count = 0;
    int wrong = 0;
    for (int step = 0; step < 20000; step++) {
        uint64_t dice = tern_test_random(&state);
        if (count < PIECES && dice % 100 < 55) {
            uint64_t bytes = 1 + tern_test_random(&state) % (dice % 7 == 0 ? 100000 : 3000);
            uint64_t alignment = (uint64_t)64 << tern_test_random(&state) % 8;
            uint64_t offset = 0;
            const size_t part = tern_test_random(&state) % parts;
            const bool only = parts > 1 && dice % 3 == 0, from = dice % 5 == 1;
            const uint64_t lowest = START + tern_test_random(&state) % BYTES;
            tern_status status = from ? tern_heap_take_from(heap, lowest, bytes, alignment, &offset)
                                 : only ? tern_heap_take_in(heap, part, bytes, alignment, &offset)
                                        : tern_heap_take(heap, part, bytes, alignment, &offset);
            if (status == TERN_ERR_MEMORY)
                continue;
            wrong += from ? offset < lowest
                          : only && (offset < three[part] || offset + bytes > three[part + 1]);
            wrong += status != TERN_OK || offset % alignment != 0 || offset < START ||
                     offset + bytes > START + BYTES || overlaps(pieces, count, offset, bytes);
            pieces[count++] = (piece){offset, bytes};
        } else if (count > 0) {
            size_t victim = tern_test_random(&state) % count;
            wrong += tern_heap_give(heap, pieces[victim].offset) != TERN_OK;
            pieces[victim] = pieces[--count];
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    while (count > 0)
        CU_ASSERT_EQUAL(tern_heap_give(heap, pieces[--count].offset), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_in_use(heap), 0);
    /* Everything has grown together again. */
    uint64_t offset = 0;
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, BYTES, 64, &offset), TERN_OK);
    CU_ASSERT_EQUAL(offset, START);
    close_heap();
}

static void random_against_model(void) {
    open_heap();
    check_against_model(1);
    open_parts();
    check_against_model(3);
}

/* The lowest place that is free, beside pieces of one size and holes of another. */
static void lowest(void) {
    enum { COUNT = 8, EACH = 1024 };
    uint64_t at[2 * COUNT], offset = 0;
    open_parts();
    for (int i = 0; i < 2 * COUNT; i++)
        CU_ASSERT_EQUAL(tern_heap_take(heap, 0, EACH, 64, &at[i]), TERN_OK);
    for (int i = 0; i < 2 * COUNT; i += 2)
        CU_ASSERT_EQUAL(tern_heap_give(heap, at[i]), TERN_OK);
    for (int i = 0; i + 2 < 2 * COUNT; i += 2) {
        CU_ASSERT_EQUAL(tern_heap_take_from(heap, at[i], EACH, 64, &offset), TERN_OK);
        CU_ASSERT_EQUAL(offset, at[i]);
        CU_ASSERT_EQUAL(tern_heap_give(heap, offset), TERN_OK);
        CU_ASSERT_EQUAL(tern_heap_take_from(heap, at[i] + 64, EACH, 64, &offset), TERN_OK);
        CU_ASSERT_EQUAL(offset, at[i + 2]);
        CU_ASSERT_EQUAL(tern_heap_give(heap, offset), TERN_OK);
    }
    CU_ASSERT_EQUAL(tern_heap_take_from(heap, START, 2 * EACH, 4096, &offset), TERN_OK);
    CU_ASSERT(offset >= at[2 * COUNT - 1] + EACH && offset % 4096 == 0);
    CU_ASSERT_EQUAL(tern_heap_give(heap, offset), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take_from(heap, START + 64, BYTES - 64, 64, &offset),
                    TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(tern_heap_take_from(heap, START + BYTES, 64, 64, &offset), TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(tern_heap_take_from(heap, START, 0, 64, &offset), TERN_ERR_MEMORY);
    for (int i = 1; i < 2 * COUNT; i += 2)
        CU_ASSERT_EQUAL(tern_heap_give(heap, at[i]), TERN_OK);
    /* Across all parts. */
    CU_ASSERT_EQUAL(tern_heap_take_from(heap, START + 64, BYTES - 64, 64, &offset), TERN_OK);
    CU_ASSERT_EQUAL(offset, START + 64);
    close_heap();
}

/* A piece comes from the part that is asked for, then from the next one, then from several. */
static void parts(void) {
    open_parts();
    uint64_t got[4], all = 0, more = 77;
    CU_ASSERT_EQUAL(tern_heap_take_in(heap, 1, three[2] - three[1], 64, &got[0]), TERN_OK);
    CU_ASSERT_EQUAL(got[0], three[1]);
    CU_ASSERT_EQUAL(tern_heap_take_in(heap, 1, 64, 64, &more), TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(more, 77);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 1, 64, 64, &got[1]), TERN_OK);
    CU_ASSERT_EQUAL(got[1], three[2]);
    CU_ASSERT_EQUAL(tern_heap_give(heap, got[0]), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_give(heap, got[1]), TERN_OK);

    /* It is aligned, and what lies before and behind it stays free. */
    CU_ASSERT_EQUAL(tern_heap_take(heap, 2, 500000, 8192, &got[0]), TERN_OK);
    CU_ASSERT_EQUAL(got[0], 2 * START);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, START, 64, &got[1]), TERN_OK);
    CU_ASSERT_EQUAL(got[1], START);
    CU_ASSERT_EQUAL(tern_heap_take_in(heap, 0, 64, 64, &more), TERN_ERR_MEMORY);
    const uint64_t behind = 2 * START + (500000 + 63) / 64 * 64;
    CU_ASSERT_EQUAL(tern_heap_take_in(heap, 1, three[2] - behind, 64, &got[2]), TERN_OK);
    CU_ASSERT_EQUAL(got[2], behind);
    CU_ASSERT_EQUAL(tern_heap_take_in(heap, 1, 64, 64, &more), TERN_ERR_MEMORY);

    /* It comes back in pieces, one for each part. */
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(tern_heap_give(heap, got[i]), TERN_OK);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(tern_heap_take_in(heap, i, three[i + 1] - three[i], 64, &got[i]), TERN_OK);
        CU_ASSERT_EQUAL(got[i], three[i]);
    }
    CU_ASSERT_EQUAL(tern_heap_in_use(heap), BYTES);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(tern_heap_give(heap, got[i]), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 1, BYTES, 64, &all), TERN_OK);
    CU_ASSERT_EQUAL(all, START);
    close_heap();
}

static void edges(void) {
    open_heap();
    uint64_t offset = 77, whole = 0;
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 0, 64, &offset), TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, BYTES + 1, 64, &offset), TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, UINT64_MAX, 64, &offset), TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(offset, 77);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, BYTES, 64, &whole), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 1, 64, &offset), TERN_ERR_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(tern_error_detail(), "TERN_SEGMENT_SIZE"));
    CU_ASSERT_EQUAL(tern_heap_in_use(heap), BYTES);
    CU_ASSERT_EQUAL(tern_heap_give(heap, whole), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_give(heap, whole), TERN_ERR_ARGUMENT);
    CU_ASSERT_EQUAL(tern_heap_give(heap, whole + 64), TERN_ERR_ARGUMENT);
    close_heap();
}

/* Once what rests has been joined, the smallest piece that fits is the one that is used. */
static void best_fit(void) {
    open_heap();
    uint64_t small = 0, large = 0, fence[2], got = 0;
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 4096, 64, &large), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 64, 64, &fence[0]), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 320, 64, &small), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 64, 64, &fence[1]), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_give(heap, large), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_give(heap, small), TERN_OK);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, BYTES, 64, &got), TERN_ERR_MEMORY);
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 200, 64, &got), TERN_OK);
    CU_ASSERT_EQUAL(got, small);
    close_heap();
}

/* Blocks that were given back are taken again as they are, in any order, if aligned; never twice.
 * */
static void resting(void) {
    open_heap();
    enum { MANY = 12 };
    uint64_t at[MANY], got = 0;
    for (int i = 0; i < MANY; i++)
        CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 64 * ((uint64_t)i + 1), 64, &at[i]), TERN_OK);
    for (int i = 0; i < MANY; i++) {
        CU_ASSERT_EQUAL(tern_heap_give(heap, at[i]), TERN_OK);
        CU_ASSERT_EQUAL(tern_heap_give(heap, at[i]), TERN_ERR_ARGUMENT);
    }
    CU_ASSERT_EQUAL(tern_heap_in_use(heap), 0);
    for (int i = MANY - 1; i >= MANY - 8; i -= 2) {
        CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 64 * ((uint64_t)i + 1), 64, &got), TERN_OK);
        CU_ASSERT_EQUAL(got, at[i]);
    }
    CU_ASSERT_EQUAL(tern_heap_take(heap, 0, 64 * (MANY - 1), (uint64_t)1 << 18, &got), TERN_OK);
    CU_ASSERT_NOT_EQUAL(got, at[MANY - 2]);
    CU_ASSERT_EQUAL(got % ((uint64_t)1 << 18), 0);
    close_heap();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"random against a model", random_against_model},
                                           {"lowest", lowest},
                                           {"parts", parts},
                                           {"edges", edges},
                                           {"best fit", best_fit},
                                           {"resting", resting}};
    return tern_test_main(argc, argv, "heap", tests, sizeof tests / sizeof tests[0]);
}
