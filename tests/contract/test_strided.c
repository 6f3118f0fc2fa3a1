// tern-test: transports

/* Non-contiguous puts and gets: sections and extents against a model that moves one byte after the
 * other; blocking, as requests, with local events. */

#include "fixture.h"

#include <stdlib.h>

enum { SLICE = 6000, DIMENSIONS = 5 };

static const size_t element_sizes[] = {1, 2, 4, 8, 16, 3, 7, 24};

static void scribble(uint64_t *random, char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)tern_test_random(random);
}

/* One side of a section: strides, and where the first element lies in a slice. */
typedef struct side {
    int64_t stride[TERN_DIMENSIONS_MAX];
    int64_t first;
    size_t bytes; /* from the lowest element to the end of the highest */
} side;

/* Chooses strides. Elements do not overlap, unless repeats is set. The dimensions are nested in any
 * order: the innermost of a section need not have the smallest stride. */
static void draw_side(uint64_t *random, const tern_section *s, bool repeats, side *out) {
    uint32_t order[TERN_DIMENSIONS_MAX];
    int64_t low = 0, reach = (int64_t)s->element_bytes;
    memset(out, 0, sizeof *out);
    for (uint32_t d = 0; d < s->dimensions; d++) {
        const uint32_t at = below(random, 3) == 0 ? (uint32_t)below(random, d + 1) : d;
        memmove(&order[at + 1], &order[at], (d - at) * sizeof *order);
        order[at] = d;
    }
    for (uint32_t i = 0; i < s->dimensions; i++) {
        const uint32_t d = order[i];
        int64_t stride = reach + (int64_t)(below(random, 2) == 0 ? 0 : below(random, 20));
        if (repeats && below(random, 3) == 0)
            stride = (int64_t)below(random, s->element_bytes + 3);
        const int64_t more = stride * (int64_t)(s->count[d] > 0 ? s->count[d] - 1 : 0);
        const bool negative = below(random, 3) == 0;
        out->stride[d] = negative ? -stride : stride;
        low -= negative ? more : 0;
        reach += more;
    }
    out->first = -low;
    out->bytes = (size_t)reach;
}

/* A section whose two sides both fit into a slice. */
typedef struct drawn {
    tern_section section;
    side remote, local;
    bool empty;
} drawn;

static drawn draw_section(uint64_t *random, bool is_get) {
    drawn d;
    do {
        memset(&d, 0, sizeof d);
        d.section.element_bytes = element_sizes[below(random, 8)];
        d.section.dimensions = (uint32_t)below(random, DIMENSIONS + 1);
        d.empty = false;
        for (uint32_t i = 0; i < d.section.dimensions; i++) {
            d.section.count[i] = below(random, 25) == 0 ? 0 : 1 + below(random, 6);
            d.empty = d.empty || d.section.count[i] == 0;
        }
        draw_side(random, &d.section, is_get, &d.remote);
        draw_side(random, &d.section, !is_get, &d.local);
    } while (d.remote.bytes > SLICE || d.local.bytes > SLICE);
    memcpy(d.section.remote_stride, d.remote.stride, sizeof d.remote.stride);
    memcpy(d.section.local_stride, d.local.stride, sizeof d.local.stride);
    d.remote.first += (int64_t)below(random, SLICE - d.remote.bytes + 1);
    d.local.first += (int64_t)below(random, SLICE - d.local.bytes + 1);
    return d;
}

/* The model: moves all elements, one after the other. */
static void model_move(const tern_section *s, char *remote, char *local, bool is_get) {
    size_t index[TERN_DIMENSIONS_MAX] = {0};
    for (uint32_t d = 0; d < s->dimensions; d++)
        if (s->count[d] == 0)
            return;
    for (;;) {
        char *there = remote, *here = local;
        for (uint32_t d = 0; d < s->dimensions; d++) {
            there += (int64_t)index[d] * s->remote_stride[d];
            here += (int64_t)index[d] * s->local_stride[d];
        }
        memcpy(is_get ? here : there, is_get ? there : here, s->element_bytes);
        uint32_t d = 0;
        while (d < s->dimensions && ++index[d] == s->count[d])
            index[d++] = 0;
        if (d == s->dimensions)
            return;
    }
}

/* Every rank has a slice of each rank's memory, and a model of these slices. */
typedef struct sliced {
    fixture f;
    tern_ptr all[64]; /* each rank's memory, registered or of its segment */
    tern_ptr own;     /* of the segment; TERN_NULL if the memory is registered */
    char *memory;     /* this rank's */
    char *model;      /* this rank's slice of each target */
    uint64_t random;
} sliced;

static bool sliced_open(sliced *s, bool registered, uint64_t salt) {
    if (!fixture_enter(&s->f))
        return false;
    fixture *f = &s->f;
    const size_t bytes = (size_t)SLICE * f->size;
    s->own = TERN_NULL;
    s->model = calloc(f->size, SLICE);
    s->random = fixture_seed(f, salt);
    if (registered) {
        s->memory = calloc(f->size, SLICE);
        tern_ptr mine = TERN_NULL;
        EXPECT_OK(tern_register(f->worker, s->memory, bytes, &mine));
        fixture_share(f, &mine, sizeof mine, s->all);
    } else {
        fixture_alloc_all(f, bytes, TERN_DOMAIN_GLOBAL, s->all);
        s->own = s->all[f->rank];
        s->memory = tern_local(f->context, s->own);
    }
    return true;
}

static tern_ptr sliced_at(const sliced *s, uint32_t target, int64_t at) {
    return tern_ptr_add(s->all[target], (int64_t)s->f.rank * SLICE + at);
}

static void sliced_close(sliced *s) {
    fixture *f = &s->f;
    char *others = malloc((size_t)f->size * f->size * SLICE);
    EXPECT_OK(tern_flush_all(f->worker));
    fixture_share(f, s->model, (size_t)f->size * SLICE, others);
    for (uint32_t r = 0; r < f->size; r++)
        CU_ASSERT_EQUAL(memcmp(s->memory + (size_t)r * SLICE,
                               others + ((size_t)r * f->size + f->rank) * SLICE, SLICE),
                        0);
    free(others);
    free(s->model);
    EXPECT_OK(tern_barrier(f->worker));
    if (tern_ptr_is_null(s->own)) {
        EXPECT_OK(tern_deregister(f->worker, s->all[f->rank]));
        free(s->memory);
    } else {
        EXPECT_OK(tern_free(f->worker, s->own));
    }
    fixture_close(f);
}

/* Waits by tests or by a wait. */
static void finish(sliced *s, tern_request *request) {
    int done = below(&s->random, 2) == 0;
    while (!done) {
        EXPECT_OK(tern_test(s->f.worker, request, &done));
        sched_yield();
    }
    EXPECT_OK(tern_wait(s->f.worker, request));
}

/* Waits for the local event of an operation without a remote one. */
static void finish_event(sliced *s, uint64_t cid, size_t bytes, bool is_get) {
    tern_event event;
    EXPECT_OK(tern_event_wait(s->f.worker, TERN_PROBE_LOCAL, &event));
    CU_ASSERT(event.local_cid == cid && event.status == TERN_OK && event.bytes == bytes);
    CU_ASSERT_EQUAL(event.is_get, is_get);
}

/* Moves a section in one of the three ways. */
static void move_section(sliced *s, uint32_t target, const drawn *d, char *local, uint64_t number) {
    tern_worker *worker = s->f.worker;
    tern_request request = {0};
    tern_status status = TERN_ERR_AGAIN;
    const bool is_get = (number & 1) != 0;
    const tern_ptr p = sliced_at(s, target, d->remote.first);
    const tern_section *section = &d->section;
    size_t bytes = section->element_bytes;
    for (uint32_t i = 0; i < section->dimensions; i++)
        bytes *= section->count[i];
    char *here = local + d->local.first;
    switch (below(&s->random, 3)) {
    case 0:
        EXPECT_OK(is_get ? tern_get_strided(worker, here, p, section)
                         : tern_put_strided(worker, p, here, section));
        break;
    case 1:
        EXPECT_OK(is_get ? tern_get_strided_start(worker, here, p, section, &request)
                         : tern_put_strided_start(worker, p, here, section, &request));
        finish(s, &request);
        break;
    default:;
        const tern_notify_options options = {.local_cid = number, .flags = TERN_NOTIFY_NO_REMOTE};
        const tern_worker_id to = {target, 0};
        /* Registered memory of another node may be unknown yet. */
        for (; status == TERN_ERR_AGAIN; tern_progress(worker))
            status = is_get ? tern_get_strided_notify(worker, to, here, p, section, &options)
                            : tern_put_strided_notify(worker, to, p, here, section, &options);
        if (status == TERN_ERR_UNSUPPORTED) { /* the system refuses copies between processes */
            EXPECT_OK(is_get ? tern_get_strided(worker, here, p, section)
                             : tern_put_strided(worker, p, here, section));
        } else if (EXPECT(TERN_OK, status)) {
            finish_event(s, number, bytes, is_get);
        }
    }
}

static void sections_in(bool registered, int times) {
    sliced s;
    if (!sliced_open(&s, registered, 1))
        return;
    fixture *f = &s.f;
    char *local = malloc(SLICE), *expected = malloc(SLICE);
    size_t wrong = 0;
    times = fixture_times(f, times);
    for (int i = 0; i < times; i++) {
        const uint32_t target = (uint32_t)below(&s.random, f->size);
        const bool is_get = i % 2 != 0;
        const drawn d = draw_section(&s.random, is_get);
        char *model = s.model + (size_t)target * SLICE;
        scribble(&s.random, local, SLICE);
        memcpy(expected, local, SLICE);
        /* Earlier puts may overlap this one. */
        EXPECT_OK(is_get ? tern_flush(f->worker, target) : tern_fence(f->worker, target));
        model_move(&d.section, model + d.remote.first, expected + d.local.first, is_get);
        move_section(&s, target, &d, local, (uint64_t)i);
        wrong += memcmp(local, expected, SLICE) != 0;
        memset(local, 0x33, SLICE); /* a put's source may be reused */
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(local);
    free(expected);
    sliced_close(&s);
}

static void sections_against_model(void) { sections_in(false, 6000); }
static void sections_in_registered_memory(void) { sections_in(true, 1500); }

/* Extents that do not overlap, neither here nor there, in any order, some of them empty. */
static size_t draw_extents(sliced *s, uint32_t target, char *local, tern_extent *extents,
                           size_t most) {
    size_t count = below(&s->random, most + 1), at[2] = {0, 0}, used = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = below(&s->random, 5) == 0 ? 0 : below(&s->random, 120);
        at[0] += below(&s->random, 2) == 0 ? 0 : below(&s->random, 40);
        at[1] += below(&s->random, 2) == 0 ? 0 : below(&s->random, 40);
        if (at[0] + bytes > SLICE || at[1] + bytes > SLICE)
            break;
        const size_t place = below(&s->random, used + 1);
        extents[used++] = extents[place];
        extents[place] = (tern_extent){
            .remote = sliced_at(s, target, (int64_t)at[0]), .local = local + at[1], .bytes = bytes};
        at[0] += bytes;
        at[1] += bytes;
    }
    return used;
}

static void move_extents(sliced *s, uint32_t target, const tern_extent *extents, size_t count,
                         uint64_t number) {
    tern_worker *worker = s->f.worker;
    tern_request request = {0};
    tern_status status = TERN_ERR_AGAIN;
    const bool is_get = (number & 1) != 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += extents[i].bytes;
    switch (below(&s->random, 3)) {
    case 0:
        EXPECT_OK(is_get ? tern_get_vector(worker, target, extents, count)
                         : tern_put_vector(worker, target, extents, count));
        break;
    case 1:
        EXPECT_OK(is_get ? tern_get_vector_start(worker, target, extents, count, &request)
                         : tern_put_vector_start(worker, target, extents, count, &request));
        finish(s, &request);
        break;
    default:;
        const tern_notify_options options = {.local_cid = number, .flags = TERN_NOTIFY_NO_REMOTE};
        const tern_worker_id to = {target, 0};
        for (; status == TERN_ERR_AGAIN; tern_progress(worker))
            status = is_get ? tern_get_vector_notify(worker, to, extents, count, &options)
                            : tern_put_vector_notify(worker, to, extents, count, &options);
        if (status == TERN_ERR_UNSUPPORTED) {
            EXPECT_OK(is_get ? tern_get_vector(worker, target, extents, count)
                             : tern_put_vector(worker, target, extents, count));
        } else if (EXPECT(TERN_OK, status)) {
            finish_event(s, number, bytes, is_get);
        }
    }
}

static void extents_in(bool registered, int times) {
    enum { MOST = 60 };
    sliced s;
    if (!sliced_open(&s, registered, 2))
        return;
    fixture *f = &s.f;
    char *local = malloc(SLICE), *expected = malloc(SLICE);
    tern_extent extents[MOST + 1];
    size_t wrong = 0;
    times = fixture_times(f, times);
    for (int i = 0; i < times; i++) {
        const uint32_t target = (uint32_t)below(&s.random, f->size);
        const bool is_get = i % 2 != 0;
        char *model = s.model + (size_t)target * SLICE;
        scribble(&s.random, local, SLICE);
        memcpy(expected, local, SLICE);
        const size_t count = draw_extents(&s, target, local, extents, MOST);
        EXPECT_OK(is_get ? tern_flush(f->worker, target) : tern_fence(f->worker, target));
        for (size_t k = 0; k < count; k++) {
            char *there = model + tern_ptr_diff(extents[k].remote, sliced_at(&s, target, 0));
            char *here = expected + ((char *)extents[k].local - local);
            memcpy(is_get ? here : there, is_get ? there : here, extents[k].bytes);
        }
        move_extents(&s, target, extents, count, (uint64_t)i);
        wrong += memcmp(local, expected, SLICE) != 0;
        memset(local, 0x33, SLICE);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(local);
    free(expected);
    sliced_close(&s);
}

static void extents_against_model(void) { extents_in(false, 3000); }
static void extents_in_registered_memory(void) { extents_in(true, 800); }

/* Many requests under way at a time, each with more rows than may be under way, waited for in any
 * order. Row i of request n takes 12 bytes of 16. */
static void many_requests(void) {
    enum { REQUESTS = 24, ROWS = 15, WIDE = 100, BYTES = 16 * WIDE };
    sliced s;
    if (!sliced_open(&s, false, 3))
        return;
    fixture *f = &s.f;
    static char data[REQUESTS][BYTES];
    tern_request requests[REQUESTS] = {{0}};
    tern_ptr all[64];
    fixture_alloc_all(f, (size_t)REQUESTS * BYTES * f->size, TERN_DOMAIN_GLOBAL, all);
    const tern_section put = {.element_bytes = 12,
                              .dimensions = 1,
                              .count = {WIDE},
                              .remote_stride = {16},
                              .local_stride = {12}};
    tern_section get = put;
    get.local_stride[0] = 16;
    const int rounds = fixture_times(f, 200) > 20 ? 6 : 2;
    size_t wrong = 0;
    for (int round = 0; round < rounds; round++) {
        uint32_t target[REQUESTS];
        char *model = malloc(sizeof data);
        scribble(&s.random, model, sizeof data);
        memcpy(data, model, sizeof data);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            target[i] = (uint32_t)below(&s.random, f->size);
            const tern_ptr p =
                tern_ptr_add(all[target[i]], ((int64_t)f->rank * REQUESTS + i) * BYTES);
            EXPECT_OK(tern_put_strided_start(f->worker, p, data[i], &put, &requests[i]));
        }
        EXPECT_OK(tern_wait_all(f->worker, requests, REQUESTS));
        EXPECT_OK(tern_flush_all(f->worker));
        memset(data, 0x44, sizeof data);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            const tern_ptr p =
                tern_ptr_add(all[target[i]], ((int64_t)f->rank * REQUESTS + i) * BYTES);
            EXPECT_OK(tern_get_strided_start(f->worker, data[i], p, &get, &requests[i]));
        }
        size_t index = 0, seen = 0;
        while (tern_wait_any(f->worker, requests, REQUESTS, &index) == TERN_OK && index < REQUESTS)
            seen++;
        CU_ASSERT_EQUAL(seen, REQUESTS);
        for (uint32_t i = 0; i < REQUESTS; i++)
            for (uint32_t k = 0; k < WIDE; k++) {
                static const char gap[4] = {0x44, 0x44, 0x44, 0x44};
                wrong += memcmp(&data[i][16 * k], model + (size_t)i * BYTES + 12 * k, 12) != 0;
                wrong += memcmp(&data[i][16 * k + 12], gap, 4) != 0;
            }
        free(model);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_free_all(f, all);
    sliced_close(&s);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"sections_against_model", sections_against_model},
        {"sections_in_registered_memory", sections_in_registered_memory},
        {"extents_against_model", extents_against_model},
        {"extents_in_registered_memory", extents_in_registered_memory},
        {"many_requests", many_requests}};
    return tern_test_main(argc, argv, "strided", tests, sizeof tests / sizeof *tests);
}
