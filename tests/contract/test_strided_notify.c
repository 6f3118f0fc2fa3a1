// tern-test: transports

/* Non-contiguous transfers with notifications, and in handlers. */

#include "fixture.h"

#include <stdlib.h>

/*
 * Notified puts and gets in the order of their pair, between others: the event of a strided put
 * finds all its elements at their places. Each rank sends TIMES to each other rank.
 */
enum { TIMES = 30, COLUMN = 50 };

typedef struct letter {
    uint32_t from, number;
    uint32_t kind; /* 0: strided put, 1: contiguous put, 2: strided get, 3: vector put */
} letter;

static const tern_section column = {.element_bytes = 8,
                                    .dimensions = 1,
                                    .count = {COLUMN},
                                    .remote_stride = {24},
                                    .local_stride = {8}};

static uint64_t value_of(uint32_t from, uint32_t number, uint32_t k) {
    return (uint64_t)from << 40 | (uint64_t)number << 20 | k;
}

static void notify_send(fixture *f, uint32_t target, uint32_t number, tern_ptr there,
                        uint64_t *from) {
    const letter cid = {f->rank, number, number % 4};
    const tern_notify_options options = {
        .local_cid = (uint64_t)target << 32 | number, .cid = &cid, .cid_bytes = sizeof cid};
    const tern_worker_id to = {target, 0};
    tern_extent extents[COLUMN];
    for (uint32_t k = 0; k < COLUMN; k++) {
        from[k] = value_of(f->rank, number, k);
        extents[k] = (tern_extent){tern_ptr_add(there, 24 * (int64_t)k), &from[k], 8};
    }
    tern_status status = TERN_ERR_AGAIN;
    while (status == TERN_ERR_AGAIN) {
        if (cid.kind == 0)
            status = tern_put_strided_notify(f->worker, to, there, from, &column, &options);
        else if (cid.kind == 1)
            status = tern_put_notify(f->worker, to, there, from, 8 * COLUMN, &options);
        else if (cid.kind == 2)
            status = tern_get_strided_notify(f->worker, to, from, there, &column, &options);
        else
            status = tern_put_vector_notify(f->worker, to, extents, COLUMN, &options);
        tern_progress(f->worker);
    }
    EXPECT(TERN_OK, status);
}

/* Returns how many elements are wrong. */
static size_t notify_check_data(const letter *cid, const char *there) {
    size_t wrong = 0;
    const size_t stride = cid->kind == 1 ? 8 : 24;
    for (uint32_t k = 0; k < COLUMN && cid->kind != 2; k++) {
        const uint64_t wanted = value_of(cid->from, cid->number, k);
        wrong += memcmp(there + stride * k, &wanted, 8) != 0;
    }
    return wrong;
}

static void notified(void) {
    enum { BYTES = 24 * COLUMN };
    fixture own, *f = &own;
    if (!fixture_enter(f))
        return;
    tern_ptr all[64];
    uint64_t *data = calloc((size_t)f->size * TIMES * COLUMN, 8);
    uint32_t next[64] = {0}, local_next[64] = {0};
    size_t wrong = 0, disorder = 0, remote = 0, local = 0;
    fixture_alloc_all(f, (size_t)f->size * TIMES * BYTES, TERN_DOMAIN_GLOBAL, all);
    const char *mine = tern_local(f->context, all[f->rank]);
    EXPECT_OK(tern_barrier(f->worker));
    for (uint32_t i = 0; i < TIMES; i++)
        for (uint32_t r = 0; r < f->size; r++)
            notify_send(f, r, i,
                        tern_ptr_add(all[r], ((int64_t)f->rank * TIMES + i) * (int64_t)BYTES),
                        &data[((size_t)r * TIMES + i) * COLUMN]);
    while (remote + local < 2 * (size_t)f->size * TIMES) {
        tern_event event;
        letter cid;
        if (!EXPECT_OK(tern_event_wait(f->worker, TERN_PROBE_ANY, &event)))
            break;
        CU_ASSERT_EQUAL(event.status, TERN_OK);
        CU_ASSERT_EQUAL(event.bytes, 8 * COLUMN);
        if (event.kind == TERN_EVENT_LOCAL) {
            const uint32_t target = (uint32_t)(event.local_cid >> 32);
            disorder += (uint32_t)event.local_cid != local_next[target]++;
            local++;
            continue;
        }
        CU_ASSERT_EQUAL_FATAL(event.cid_bytes, sizeof cid);
        memcpy(&cid, event.cid, sizeof cid);
        disorder += cid.number != next[cid.from]++;
        CU_ASSERT_EQUAL(event.is_get, cid.kind == 2);
        wrong += notify_check_data(&cid, mine + ((size_t)cid.from * TIMES + cid.number) * BYTES);
        remote++;
    }
    for (uint32_t r = 0; r < f->size; r++) /* what was got: nobody has written there */
        for (uint32_t i = 2; i < TIMES; i += 4)
            for (uint32_t k = 0; k < COLUMN; k++)
                wrong += data[((size_t)r * TIMES + i) * COLUMN + k] != 0;
    CU_ASSERT(wrong == 0 && disorder == 0);
    free(data);
    fixture_free_all(f, all);
    fixture_close(f);
}

/* One transfer to the segment and to registered memory: both have arrived at the event. */
static void mixed_memory(void) {
    enum { ROUNDS = 20, WORDS = 300 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    const uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    tern_ptr all[64], registered[64], mine = TERN_NULL;
    uint64_t *region = calloc(ROUNDS * WORDS, 8), *data = calloc(ROUNDS * WORDS, 8);
    fixture_alloc_all(&f, (size_t)ROUNDS * WORDS * 8, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_register(f.worker, region, (size_t)ROUNDS * WORDS * 8, &mine));
    fixture_share(&f, &mine, sizeof mine, registered);
    const uint64_t *segment = tern_local(f.context, all[f.rank]);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const int64_t at = 8 * (int64_t)i * WORDS;
        uint64_t *from = data + (size_t)i * WORDS;
        tern_event event;
        tern_status status = TERN_ERR_AGAIN;
        for (uint32_t k = 0; k < WORDS; k++)
            from[k] = value_of(f.rank, i, k);
        const tern_extent extents[2] = {{tern_ptr_add(all[next], at), from, 8 * WORDS / 2},
                                        {tern_ptr_add(registered[next], at), from, 8 * WORDS}};
        for (; status == TERN_ERR_AGAIN; tern_progress(f.worker))
            status = tern_put_vector_notify(
                f.worker, (tern_worker_id){next, 0}, extents, 2,
                &(tern_notify_options){.cid = &i, .cid_bytes = 4, .flags = TERN_NOTIFY_NO_LOCAL});
        if (status == TERN_ERR_UNSUPPORTED) {
            tern_test_lack("the system refuses copies between processes");
            break;
        }
        EXPECT(TERN_OK, status);
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
        CU_ASSERT(memcmp(event.cid, &i, 4) == 0 && event.bytes == 8 * WORDS + 8 * WORDS / 2);
        for (uint32_t k = 0; k < WORDS; k++) {
            CU_ASSERT_EQUAL(region[(size_t)i * WORDS + k], value_of(before, i, k));
            if (k < WORDS / 2)
                CU_ASSERT_EQUAL(segment[(size_t)i * WORDS + k], value_of(before, i, k));
        }
    }
    EXPECT_OK(tern_flush_all(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_deregister(f.worker, mine));
    free(region);
    free(data);
    fixture_free_all(&f, all);
    fixture_close(&f);
}

/* In a handler: puts are allowed, gets from this node, too. */
static struct {
    fixture *f;
    tern_ptr all[64];
    bool direct[64];
    uint64_t handled;
} inside;

static tern_status strided_inside(tern_call_info *call, const void *arguments, size_t bytes) {
    const uint32_t origin = call->origin.rank;
    const tern_ptr there = tern_ptr_add(inside.all[origin], 64 * (int64_t)inside.f->rank);
    const tern_section three = {.element_bytes = 4,
                                .dimensions = 1,
                                .count = {3},
                                .remote_stride = {16},
                                .local_stride = {4}};
    uint32_t words[3] = {origin, inside.f->rank, 77}, back[3] = {0};
    tern_request request = {0};
    (void)arguments;
    (void)bytes;
    EXPECT_OK(tern_put_strided(call->worker, there, words, &three));
    if (inside.direct[origin]) {
        EXPECT_OK(tern_get_strided(call->worker, back, there, &three));
        CU_ASSERT_EQUAL(memcmp(back, words, sizeof back), 0);
    } else {
        EXPECT(TERN_ERR_STATE, tern_get_strided(call->worker, back, there, &three));
        EXPECT(TERN_ERR_STATE, tern_get_strided_start(call->worker, back, there, &three, &request));
    }
    inside.handled++;
    return TERN_OK;
}
TERN_FUNCTION(strided_inside)

static void in_handlers(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    inside.f = &f;
    inside.handled = 0;
    fixture_alloc_all(&f, 64 * (size_t)f.size, TERN_DOMAIN_GLOBAL, inside.all);
    for (uint32_t r = 0; r < f.size; r++) {
        tern_transport transport = TERN_P2P;
        EXPECT_OK(tern_context_transport(f.context, r, &transport));
        inside.direct[r] = transport == TERN_SHM;
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++)
        EXPECT_OK(tern_call(f.worker, (tern_worker_id){r, 0}, &strided_inside_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(inside.handled, f.size);
    EXPECT_OK(tern_flush_all(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    const char *mine = tern_local(f.context, inside.all[f.rank]);
    for (uint32_t r = 0; r < f.size; r++)
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t wanted[3] = {f.rank, r, 77};
            CU_ASSERT_EQUAL(memcmp(mine + 64 * (size_t)r + 16 * (size_t)k, &wanted[k], 4), 0);
        }
    fixture_free_all(&f, inside.all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"notified", notified}, {"mixed_memory", mixed_memory}, {"in_handlers", in_handlers}};
    return tern_test_main(argc, argv, "strided_notify", tests, sizeof tests / sizeof *tests);
}
