// tern-test: transports

/* Memory at the same place of all ranks: zeroed, made larger and smaller, and freed, in any order.
 */

#include "fixture.h"

#include <stdlib.h>

enum { SLOTS = 12, MOST = 20000 };

/* A piece on every rank. Byte i of the piece of rank r is content(r, seed, i) up to known. */
typedef struct piece {
    tern_ptr mine;
    size_t bytes, known; /* bytes 0: not allocated */
    uint64_t seed;       /* 0: the content is zero */
} piece;

static unsigned char content(uint32_t rank, uint64_t seed, size_t i) {
    return seed == 0 ? 0 : (unsigned char)(seed * 31 + rank * 7 + i * 13 + (i >> 8));
}

static size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

static void check_piece(const fixture *f, const piece *p) {
    const unsigned char *bytes = tern_local(f->context, p->mine);
    size_t wrong = 0;
    for (size_t i = 0; i < p->known; i++)
        wrong += bytes[i] != content(f->rank, p->seed, i);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Each rank fills the next one's piece, which is complete when a function of all ranks begins. */
static void fill_next(fixture *f, piece *p, uint64_t seed) {
    static unsigned char data[MOST];
    const uint32_t next = (f->rank + 1) % f->size;
    for (size_t i = 0; i < p->bytes; i++)
        data[i] = content(next, seed, i);
    EXPECT_OK(tern_put(f->worker, tern_ptr_on(p->mine, next), data, p->bytes));
    p->seed = seed;
    p->known = p->bytes;
}

/* All ranks draw the same. */
static void against_a_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const size_t before = in_use(&f);
    piece all[SLOTS] = {{.bytes = 0}};
    uint64_t random = tern_test_seed();
    for (int step = fixture_times(&f, 150); step > 0; step--) {
        piece *p = &all[below(&random, SLOTS)];
        const size_t bytes = 1 + below(&random, MOST), alignment = (size_t)1 << below(&random, 13);
        if (p->bytes == 0) {
            EXPECT_OK(tern_calloc_all(f.worker, bytes, alignment, TERN_DOMAIN_GLOBAL, &p->mine));
            *p = (piece){.mine = p->mine, .bytes = bytes, .known = bytes};
        } else if (below(&random, 4) == 0) {
            EXPECT_OK(tern_free_all(f.worker, p->mine));
            p->bytes = 0;
            continue;
        } else {
            const uint32_t rank = (uint32_t)below(&random, f.size); /* by any rank's piece */
            EXPECT_OK(
                tern_realloc_all(f.worker, tern_ptr_on(p->mine, rank), bytes, alignment, &p->mine));
            p->bytes = bytes;
            p->known = bytes < p->known ? bytes : p->known;
        }
        CU_ASSERT_EQUAL(p->mine.rank, f.rank);
        CU_ASSERT_EQUAL((uintptr_t)tern_local(f.context, p->mine) % alignment, 0);
        check_piece(&f, p);
        EXPECT_OK(tern_barrier(f.worker)); /* the puts below come after the look above */
        if (below(&random, 2) == 0)
            fill_next(&f, p, 1 + below(&random, 1000));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (piece *p = all; p < all + SLOTS; p++) {
        if (p->bytes == 0)
            continue;
        check_piece(&f, p);
        EXPECT_OK(tern_free_all(f.worker, p->mine));
    }
    CU_ASSERT_EQUAL(in_use(&f), before);
    fixture_close(&f);
}

/* What is refused changes nothing. */
static void refusals(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return;
    const tern_domain domain = TERN_DOMAIN_OWNER;
    tern_ptr p = TERN_NULL, same = TERN_NULL;
    EXPECT_OK(tern_calloc_all(f.worker, 1000, 0, domain, &p));
    same = p;
    memset(tern_local(f.context, p), 7, 1000);
    const size_t used = in_use(&f);
    EXPECT(TERN_ERR_ARGUMENT, tern_calloc_all(NULL, 8, 0, domain, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_calloc_all(f.worker, 0, 0, domain, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_calloc_all(f.worker, 8, 0, domain, NULL));
    EXPECT_DETAIL("tern_calloc_all: mine is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_realloc_all(NULL, p, 8, 0, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_realloc_all(f.worker, TERN_NULL, 8, 0, &same));
    EXPECT_DETAIL("allocate by tern_alloc_all");
    EXPECT(TERN_ERR_ARGUMENT, tern_realloc_all(f.worker, p, 0, 0, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_realloc_all(f.worker, p, 8, 3, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_realloc_all(f.worker, p, 8, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_realloc_all(f.worker, tern_ptr_add(p, 64), 8, 0, &same));
    EXPECT_DETAIL("not the start of an allocation");
    EXPECT(TERN_ERR_MEMORY, tern_realloc_all(f.worker, p, (size_t)1 << 20, 0, &same));
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH, tern_realloc_all(f.worker, p, 64 + f.rank, 0, &same));
        EXPECT(TERN_ERR_MISMATCH,
               tern_realloc_all(f.worker, f.rank == 0 ? p : tern_ptr_add(p, 64), 8, 0, &same));
        EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? tern_realloc_all(f.worker, p, 64, 0, &same)
                                              : tern_free_all(f.worker, p));
    }
    CU_ASSERT(tern_ptr_equal(same, p));
    CU_ASSERT_EQUAL(in_use(&f), used);
    const unsigned char *bytes = tern_local(f.context, p);
    CU_ASSERT(bytes[0] == 7 && bytes[999] == 7);
    EXPECT_OK(tern_free_all(f.worker, p));
    fixture_close(&f);
}

/* Half of the heap is free in small gaps: a larger piece has no room until they are one. */
static void gaps(void) {
    enum { EACH = 4096, MANY = 64 };
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)MANY * EACH;
    if (!fixture_open(&f, &config))
        return;
    tern_ptr all[MANY];
    size_t count = 0;
    while (count < MANY &&
           tern_alloc_all(f.worker, EACH, 0, TERN_DOMAIN_NODE, &all[count]) == TERN_OK)
        count++;
    CU_ASSERT_FATAL(count > 8);
    for (size_t i = 0; i < count; i += 2)
        EXPECT_OK(tern_free_all(f.worker, all[i]));
    memset(tern_local(f.context, all[1]), 9, EACH);
    EXPECT(TERN_ERR_MEMORY, tern_realloc_all(f.worker, all[1], (size_t)2 * EACH, 0, &all[1]));
    EXPECT_OK(tern_free_all(f.worker, all[3]));
    EXPECT_OK(tern_realloc_all(f.worker, all[1], (size_t)2 * EACH, 0, &all[1]));
    const unsigned char *bytes = tern_local(f.context, all[1]);
    CU_ASSERT(bytes[0] == 9 && bytes[EACH - 1] == 9);
    EXPECT_OK(tern_free_all(f.worker, all[1]));
    for (size_t i = 5; i < count; i += 2)
        EXPECT_OK(tern_free_all(f.worker, all[i]));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"against_a_model", against_a_model},
        {"refusals", refusals},
        {"gaps", gaps},
    };
    return tern_test_main(argc, argv, "world_heap", tests, sizeof tests / sizeof tests[0]);
}
