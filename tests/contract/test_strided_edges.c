// tern-test: transports

/* The edges of sections and extents, and what is refused. */

#include "fixture.h"

#include <stdlib.h>

static void scribble(uint64_t *random, char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)tern_test_random(random);
}

/* The largest sections and eight dimensions; one element; nothing. */
static void edges(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr all[64];
    const uint32_t next = (f.rank + 1) % f.size;
    fixture_alloc_all(&f, 4096, TERN_DOMAIN_GLOBAL, all);
    char data[256], back[256];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)i;
    tern_section eight = {.element_bytes = 1, .dimensions = 8};
    for (uint32_t d = 0; d < 8; d++) {
        eight.count[d] = 2;
        eight.remote_stride[d] = 1 << d;
        eight.local_stride[d] = 128 >> d; /* the other way round */
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_put_strided(f.worker, all[next], data, &eight));
    EXPECT_OK(tern_flush(f.worker, next));
    memset(back, 0, sizeof back);
    EXPECT_OK(tern_get_strided(f.worker, back, all[next], &eight));
    CU_ASSERT_EQUAL(memcmp(back, data, sizeof back), 0);
    EXPECT_OK(tern_get(f.worker, back, all[next], sizeof back));
    CU_ASSERT(back[1] == (char)128 && back[2] == 64 && back[128] == 1);
    const tern_section one = {.element_bytes = 256};
    EXPECT_OK(tern_put_strided(f.worker, all[next], data, &one));
    EXPECT_OK(tern_flush(f.worker, next));
    memset(back, 0, sizeof back);
    EXPECT_OK(tern_get_strided(f.worker, back, all[next], &one));
    CU_ASSERT_EQUAL(memcmp(back, data, sizeof back), 0);
    /* Strides of dimensions with one element are ignored, and everything of empty sections. */
    const tern_section single = {.element_bytes = 8,
                                 .dimensions = 2,
                                 .count = {1, 1},
                                 .remote_stride = {INT64_MIN, 0},
                                 .local_stride = {INT64_MAX, 1}};
    EXPECT_OK(tern_put_strided(f.worker, all[next], data, &single));
    tern_section none = {.element_bytes = 8, .dimensions = 3, .count = {5, 0, SIZE_MAX}};
    const tern_ptr nowhere = {.rank = next, .offset = 1};
    EXPECT_OK(tern_put_strided(f.worker, nowhere, NULL, &none));
    none.element_bytes = 0;
    none.count[1] = 7;
    EXPECT_OK(tern_get_strided(f.worker, NULL, nowhere, &none));
    tern_request request = {0};
    EXPECT_OK(tern_get_strided_start(f.worker, NULL, nowhere, &none, &request));
    EXPECT_OK(tern_wait(f.worker, &request));
    EXPECT_OK(tern_put_vector(f.worker, next, NULL, 0));
    /* A stride of 0 at the source repeats one element. */
    const tern_section repeat = {.element_bytes = 4,
                                 .dimensions = 1,
                                 .count = {10},
                                 .remote_stride = {4},
                                 .local_stride = {0}};
    EXPECT_OK(tern_put_strided(f.worker, all[next], data, &repeat));
    EXPECT_OK(tern_flush(f.worker, next));
    EXPECT_OK(tern_get(f.worker, back, all[next], 40));
    for (int i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(memcmp(back + 4 * i, data, 4), 0);
    fixture_free_all(&f, all);
    fixture_close(&f);
}

/* What is refused, and changes no byte: neither of the segment nor of local memory. */
static void refusals(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)256 << 10;
    if (!fixture_open(&f, &config))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    const uint32_t next = (f.rank + 1) % f.size;
    const tern_ptr low = {.rank = f.rank, .offset = TERN_PTR_ORIGIN};
    const tern_ptr first = {.rank = next, .offset = TERN_PTR_ORIGIN};
    const tern_ptr middle = tern_ptr_add(first, (int64_t)info.bytes / 2);
    char *heap = tern_local(f.context, low), *before = malloc(info.bytes);
    uint64_t random = fixture_seed(&f, 9);
    scribble(&random, heap, info.bytes);
    memcpy(before, heap, info.bytes);
    EXPECT_OK(tern_barrier(f.worker));
    tern_worker *w = f.worker;
    tern_request request = {0};
    static char data[4096], same[4096];
    memset(data, 0x11, sizeof data);
    memcpy(same, data, sizeof data);
    const int64_t half = (int64_t)info.bytes / 2;
    const tern_section good = {.element_bytes = 8,
                               .dimensions = 1,
                               .count = {4},
                               .remote_stride = {16},
                               .local_stride = {8}};
    const struct {
        tern_section section;
        const char *detail;
    } outside[] = {
        {{8, 1, {3}, {half / 2}, {8}}, "dimension 0"},
        {{8, 2, {2, 2}, {8, half}, {8, 16}}, "dimension 1"},
        {{8, 2, {2, 3}, {8, -half}, {8, 16}}, "dimension 1"},
        {{8, 1, {SIZE_MAX}, {8}, {0}}, "dimension 0"},
        {{8, 1, {3}, {INT64_MAX}, {8}}, "dimension 0"},
        {{8, 2, {2, 2}, {8, INT64_MIN}, {8, 16}}, "dimension 1"},
        {{8, 1, {2}, {8}, {INT64_MAX}}, "local stride"},
        {{(size_t)1 << 60, 0, {0}, {0}, {0}}, "element_bytes"},
        {{(size_t)info.bytes, 0, {0}, {0}, {0}}, "do not lie in the segment"},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        const tern_section *s = &outside[i].section;
        EXPECT(TERN_ERR_RANGE, tern_put_strided(w, middle, data, s));
        EXPECT_DETAIL(outside[i].detail);
        EXPECT(TERN_ERR_RANGE, tern_put_strided_start(w, middle, data, s, &request));
        EXPECT(TERN_ERR_RANGE,
               tern_put_strided_notify(w, (tern_worker_id){next, 0}, middle, data, s, NULL));
    }
    const tern_section wide = {8, 3, {(size_t)1 << 30, (size_t)1 << 30, 1 << 10}, {0}, {8, 8, 8}};
    EXPECT(TERN_ERR_RANGE, tern_get_strided(w, data, middle, &wide));
    EXPECT_DETAIL("more elements than memory");
    EXPECT(TERN_ERR_RANGE, tern_get_strided(w, data, tern_ptr_add(middle, 2 * half), &good));
    /* Elements that overlap at the target. */
    const int64_t bad[] = {0, 1, 7, -7};
    for (size_t i = 0; i < 4; i++) {
        tern_section s = good;
        s.remote_stride[0] = bad[i];
        EXPECT(TERN_ERR_ARGUMENT, tern_put_strided(w, middle, data, &s));
        EXPECT_DETAIL("overlap");
        s = good;
        s.local_stride[0] = bad[i];
        EXPECT(TERN_ERR_ARGUMENT, tern_get_strided(w, data, middle, &s));
        EXPECT_DETAIL("the local stride");
    }
    tern_section many = good;
    many.dimensions = 9;
    EXPECT(TERN_ERR_ARGUMENT, tern_put_strided(w, middle, data, &many));
    EXPECT_DETAIL("dimensions is 9");
    EXPECT(TERN_ERR_ARGUMENT, tern_put_strided(w, middle, data, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_strided(w, middle, NULL, &good));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_strided(NULL, middle, data, &good));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_put_strided_notify(NULL, (tern_worker_id){next, 0}, middle, data, &good, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_put_vector_notify(NULL, (tern_worker_id){next, 0}, NULL, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_strided(w, tern_ptr_on(middle, f.size), data, &good));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_strided_start(w, middle, data, &good, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_put_strided_notify(w, (tern_worker_id){f.size, 0}, middle, data, &good, NULL));
    if (f.size > 1)
        EXPECT(TERN_ERR_ARGUMENT,
               tern_put_strided_notify(w, (tern_worker_id){f.rank, 0}, middle, data, &good, NULL));
    /* One bad extent among good ones. */
    tern_extent extents[3] = {
        {middle, data, 8}, {tern_ptr_add(middle, half - 7), data, 8}, {middle, data, 8}};
    EXPECT(TERN_ERR_RANGE, tern_put_vector(w, next, extents, 3));
    EXPECT_DETAIL("extent 1");
    extents[1] = (tern_extent){middle, NULL, 8};
    EXPECT(TERN_ERR_ARGUMENT, tern_get_vector(w, next, extents, 3));
    extents[1] = (tern_extent){tern_ptr_on(middle, f.size), data, 8};
    EXPECT(TERN_ERR_ARGUMENT, tern_get_vector_start(w, next, extents, 3, &request));
    EXPECT_DETAIL("is memory of rank");
    EXPECT(TERN_ERR_ARGUMENT, tern_put_vector(w, next, NULL, 3));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_vector(w, f.size, extents, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_vector(NULL, next, extents, 1));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(memcmp(heap, before, info.bytes), 0);
    CU_ASSERT_EQUAL(memcmp(data, same, sizeof data), 0);
    free(before);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"edges", edges}, {"refusals", refusals}};
    return tern_test_main(argc, argv, "strided_edges", tests, sizeof tests / sizeof *tests);
}
