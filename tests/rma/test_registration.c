// tern-test: transports
/*
 * Registered memory: every way of putting to it and getting from it, against a copy of what must be
 * there; counts, limits and refusals; and that a region in use does not end.
 */

#include <stdlib.h>

#include "fixture.h"
#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"
#include "src/progress/wait.h"
#include "nothing.h"

static fixture f;

static bool open_with(tern_cma cross) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.cma = cross;
    config.log_level = TERN_LOG_NONE;
    return fixture_open(&f, &config);
}

/* Some of the transfers of registered memory have to be copied by the owner. */
static bool by_owner(uint32_t rank) {
    return rank != f.rank && tern_rank_is_direct(f.context, rank) &&
           (tern_context_config(f.context)->cma == TERN_CMA_OFF ||
            tern_rma_of(f.context)->cma_refused);
}

/* Collective: registers memory on every rank and tells all. */
static void register_all(void *base, size_t bytes, tern_ptr *all) {
    tern_ptr mine = TERN_NULL;
    EXPECT_OK(tern_register(f.worker, base, bytes, &mine));
    fixture_share(&f, &mine, sizeof mine, all);
}

/* Everybody is done and has flushed; rkeys come back while all make progress. */
static void deregister_all(const tern_ptr *all) {
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_deregister(f.worker, all[f.rank]));
    EXPECT_OK(tern_barrier(f.worker));
}

static void fill(unsigned char *bytes, size_t count, uint64_t *state) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)tern_test_random(state);
}

static tern_status put_somehow(tern_ptr to, const unsigned char *from, size_t bytes, bool wait) {
    tern_request request = {0};
    if (wait)
        return tern_put(f.worker, to, from, bytes);
    tern_status status = tern_put_start(f.worker, to, from, bytes, &request);
    return status == TERN_OK ? tern_wait(f.worker, &request) : status;
}

static tern_status get_somehow(unsigned char *to, tern_ptr from, size_t bytes, bool wait) {
    tern_request request = {0};
    if (wait)
        return tern_get(f.worker, to, from, bytes);
    tern_status status = tern_get_start(f.worker, to, from, bytes, &request);
    return status == TERN_OK ? tern_wait(f.worker, &request) : status;
}

/* Each rank owns a lane of every rank's memory: puts into it and reads back, at any place. */
static void random_transfers(tern_cma cross, size_t lane) {
    if (!open_with(cross))
        return;
    size_t bytes = lane * f.size;
    unsigned char *memory = calloc(1, bytes), *model = calloc(f.size, lane);
    unsigned char *piece = malloc(lane), *back = malloc(lane);
    tern_ptr *all = calloc(f.size, sizeof *all);
    register_all(memory, bytes, all);
    uint64_t state = fixture_seed(&f, lane);
    int times = fixture_times(&f, 2000), wrong = 0;
    for (int i = 0; i < times; i++) {
        uint32_t rank = (uint32_t)below(&state, f.size);
        size_t count = below(&state, 8) == 0 ? lane : below(&state, 200), at;
        if (count > lane)
            count = lane;
        at = below(&state, lane - count + 1);
        tern_ptr place = tern_ptr_add(all[rank], (int64_t)(f.rank * lane + at));
        fill(piece, count, &state);
        memcpy(model + rank * lane + at, piece, count);
        wrong += put_somehow(place, piece, count, below(&state, 2) == 0) != TERN_OK;
        wrong += tern_flush(f.worker, rank) != TERN_OK;
        place = tern_ptr_add(all[rank], (int64_t)(f.rank * lane));
        wrong += get_somehow(back, place, lane, below(&state, 2) == 0) != TERN_OK;
        wrong += memcmp(back, model + rank * lane, lane) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    /* And by its owner's own eyes. */
    CU_ASSERT(memcmp(memory + f.rank * lane, model + f.rank * lane, lane) == 0);
    CU_ASSERT_PTR_EQUAL(tern_local(f.context, tern_ptr_add(all[f.rank], 5)), memory + 5);
    deregister_all(all);
    fixture_close(&f);
    free(all);
    free(back);
    free(piece);
    free(model);
    free(memory);
}

static void small_transfers(void) { random_transfers(TERN_CMA_AUTO, 300); }

static void large_transfers(void) { random_transfers(TERN_CMA_AUTO, 100000); }

static void transfers_by_owners(void) { random_transfers(TERN_CMA_OFF, 3000); }

/* Larger than what is copied at a time. */
static void pieces(void) {
    if (!open_with(TERN_CMA_OFF))
        return;
    enum { BYTES = (5 << 20) / 2 };
    unsigned char *memory = calloc(1, BYTES), *copy = malloc(BYTES), *back = calloc(1, BYTES);
    tern_ptr *all = calloc(f.size, sizeof *all);
    register_all(memory, BYTES, all);
    uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    uint64_t state = before, mine = f.rank;
    fill(copy, BYTES, &mine);
    tern_stats stats[2];
    tern_stats_get(f.worker, &stats[0]);
    EXPECT_OK(tern_put(f.worker, all[next], copy, BYTES));
    tern_stats_get(f.worker, &stats[1]);
    if (by_owner(next))
        CU_ASSERT_EQUAL(stats[1].bytes_staged - stats[0].bytes_staged, BYTES);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_get(f.worker, back, all[next], BYTES));
    CU_ASSERT(memcmp(back, copy, BYTES) == 0);
    fill(copy, BYTES, &state);
    CU_ASSERT(memcmp(memory, copy, BYTES) == 0);
    deregister_all(all);
    fixture_close(&f);
    free(all);
    free(back);
    free(copy);
    free(memory);
}

/* Waits for a remote event, dropping local ones. */
static void wait_for_remote(tern_event *event) {
    tern_status status;
    do
        status = tern_event_wait(f.worker, TERN_PROBE_ANY, event);
    while (status == TERN_OK && event->kind != TERN_EVENT_REMOTE);
    CU_ASSERT_EQUAL(status, TERN_OK);
}

static tern_status notify_surely(tern_worker_id to, tern_ptr place, void *memory, size_t bytes,
                                 bool get) {
    uint32_t cid = f.rank;
    tern_wait_state wait = TERN_WAIT_START;
    for (;;) {
        tern_status status =
            get ? tern_get_notify(
                      f.worker, to, memory, place, bytes,
                      &(tern_notify_options){.local_cid = 7, .cid = &cid, .cid_bytes = 4})
                : tern_put_notify(
                      f.worker, to, place, memory, bytes,
                      &(tern_notify_options){.local_cid = 7, .cid = &cid, .cid_bytes = 4});
        if (status != TERN_ERR_AGAIN)
            return status;
        tern_progress(f.worker);
        if (tern_wait_step(f.context, &wait, to.rank) != TERN_OK)
            return TERN_ERR_PEER;
    }
}

/* Packed, in ledger mode, and a get. */
static void notified(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    enum { BYTES = 50000 };
    unsigned char *memory = calloc(1, BYTES), *copy = malloc(BYTES), *back = calloc(1, BYTES);
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    tern_worker_id to = {next, 0};
    tern_event event;
    register_all(memory, BYTES, all);
    for (size_t bytes = 1; bytes <= BYTES; bytes *= 7) {
        uint64_t state = f.rank + bytes, theirs = before + bytes;
        fill(copy, bytes, &state);
        memset(memory, 0, BYTES);
        EXPECT_OK(tern_barrier(f.worker));
        if (by_owner(next) && bytes > tern_context_config(f.context)->packed_max) {
            EXPECT(TERN_ERR_UNSUPPORTED, notify_surely(to, all[next], copy, bytes, false));
            EXPECT_OK(tern_barrier(f.worker));
            continue;
        }
        EXPECT_OK(notify_surely(to, all[next], copy, bytes, false));
        wait_for_remote(&event);
        CU_ASSERT_EQUAL(event.bytes, bytes);
        CU_ASSERT_EQUAL(event.status, TERN_OK);
        CU_ASSERT_EQUAL(event.peer.rank, before);
        fill(back, bytes, &theirs);
        CU_ASSERT(memcmp(memory, back, bytes) == 0);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(notify_surely(to, all[next], back, bytes, true));
        wait_for_remote(&event);
        CU_ASSERT_EQUAL(event.is_get, 1);
        EXPECT_OK(tern_barrier(f.worker));
        do
            (void)tern_progress(f.worker);
        while (tern_probe(f.worker, TERN_PROBE_LOCAL, &event) == TERN_OK);
        CU_ASSERT(next == f.rank || memcmp(back, copy, bytes) == 0);
    }
    deregister_all(all);
    fixture_close(&f);
    free(all);
    free(back);
    free(copy);
    free(memory);
}

static void rendezvous(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    enum { BYTES = 20000 };
    unsigned char *memory = calloc(1, BYTES), *copy = malloc(BYTES);
    uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    uint64_t state = f.rank, theirs = before, moved = 0;
    tern_ptr p = TERN_NULL;
    tern_request post = {0};
    tern_descriptor d;
    EXPECT_OK(tern_register(f.worker, memory, BYTES, &p));
    EXPECT_OK(tern_post_receive(f.worker, (tern_worker_id){before, 0}, 3, p, BYTES, &post));
    EXPECT(TERN_ERR_STATE, tern_deregister(f.worker, p));
    EXPECT_DETAIL("post");
    EXPECT_OK(tern_descriptor_wait(f.worker, (tern_worker_id){next, 0}, TERN_POSTED_ANY, 3, &d));
    CU_ASSERT_EQUAL(d.bytes, BYTES);
    fill(copy, BYTES, &state);
    EXPECT_OK(tern_put(f.worker, d.place, copy, BYTES));
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, BYTES));
    EXPECT_OK(tern_wait(f.worker, &post));
    moved = tern_request_result(&post);
    CU_ASSERT_EQUAL(moved, BYTES);
    fill(copy, BYTES, &theirs);
    CU_ASSERT(memcmp(memory, copy, BYTES) == 0);
    EXPECT_OK(tern_deregister(f.worker, p)); /* the end came after all that was put */
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
    free(copy);
    free(memory);
}

static void counting(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    static char memory[1000];
    tern_ptr whole = TERN_NULL, again = TERN_NULL, part = TERN_NULL, other = TERN_NULL;
    EXPECT_OK(tern_register(f.worker, memory + 100, 800, &whole));
    EXPECT_OK(tern_register(f.worker, memory + 100, 800, &again));
    EXPECT_OK(tern_register(f.worker, memory + 899, 1, &part));
    CU_ASSERT(tern_ptr_equal(whole, again));
    CU_ASSERT(tern_ptr_equal(part, tern_ptr_add(whole, 799)));
    EXPECT(TERN_ERR_EXISTS, tern_register(f.worker, memory, 101, &other));
    EXPECT(TERN_ERR_EXISTS, tern_register(f.worker, memory + 899, 2, &other));
    EXPECT_DETAIL("overlap");
    CU_ASSERT(tern_ptr_is_null(other));
    EXPECT_OK(tern_register(f.worker, memory, 100, &other)); /* up to its edge */
    EXPECT_OK(tern_deregister(f.worker, part));
    EXPECT_OK(tern_deregister(f.worker, whole));
    CU_ASSERT_PTR_EQUAL(tern_local(f.context, again), memory + 100);
    EXPECT_OK(tern_deregister(f.worker, again));
    CU_ASSERT_PTR_NULL(tern_local(f.context, again));
    EXPECT(TERN_ERR_ARGUMENT, tern_deregister(f.worker, again));
    /* The slot is used again under another generation. */
    EXPECT_OK(tern_register(f.worker, memory + 100, 800, &again));
    CU_ASSERT(!tern_ptr_equal(whole, again));
    char byte = 0;
    EXPECT(TERN_ERR_RANGE, tern_get(f.worker, &byte, whole, 1));
    EXPECT_OK(tern_deregister(f.worker, again));
    EXPECT_OK(tern_deregister(f.worker, other));
    fixture_close(&f);
}

static void refusals(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    static unsigned char memory[256], byte[2];
    tern_ptr p = TERN_NULL, *all = calloc(f.size, sizeof *all), heap = TERN_NULL;
    EXPECT_OK(tern_alloc(f.worker, 64, 0, TERN_DOMAIN_GLOBAL, &heap));
    EXPECT(TERN_ERR_ARGUMENT, tern_register(NULL, memory, 1, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_register(f.worker, NULL, 1, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_register(f.worker, memory, 0, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_register(f.worker, memory, 1, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_register(f.worker, tern_local(f.context, heap), 64, &p));
    EXPECT(TERN_ERR_RANGE, tern_register(f.worker, memory, TERN_REGION_BYTES_MAX + 1, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_deregister(f.worker, heap));
    EXPECT(TERN_ERR_ARGUMENT, tern_deregister(f.worker, TERN_NULL));
    EXPECT_OK(tern_free(f.worker, heap));
    register_all(memory, sizeof memory, all);
    uint32_t next = (f.rank + 1) % f.size;
    uint64_t old = 0;
    EXPECT(TERN_ERR_ARGUMENT, tern_free(f.worker, all[f.rank]));
    EXPECT_DETAIL("tern_deregister");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_atomic_fetch_add(f.worker, all[next], 1, &old));
    EXPECT(TERN_ERR_RANGE, tern_put(f.worker, tern_ptr_add(all[next], 255), byte, 2));
    EXPECT(TERN_ERR_RANGE, tern_put(f.worker, tern_ptr_add(all[next], 256), byte, 1));
    EXPECT(TERN_ERR_RANGE, tern_get(f.worker, byte, tern_ptr_add(all[next], -1), 1));
    EXPECT(TERN_ERR_RANGE,
           notify_surely((tern_worker_id){next, 0}, tern_ptr_add(all[next], 255), byte, 2, false));
    tern_ptr wild = all[next];
    wild.segment = 4000;
    EXPECT(TERN_ERR_RANGE, tern_put(f.worker, wild, byte, 1));
    wild.segment = UINT16_MAX;
    EXPECT(TERN_ERR_RANGE, tern_put(f.worker, wild, byte, 1));
    EXPECT_OK(tern_put(f.worker, tern_ptr_add(all[next], 255), byte, 1));
    deregister_all(all);
    EXPECT(TERN_ERR_RANGE, tern_put(f.worker, all[next], byte, 1));
    EXPECT(TERN_ERR_RANGE, tern_get(f.worker, byte, all[next], 1));
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
    free(all);
}

/* As many as there may be, and one more; then all over again. */
static void as_many_as_may_be(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    char *memory = malloc(TERN_REGIONS_MAX + 1u);
    tern_ptr *p = calloc(TERN_REGIONS_MAX + 1u, sizeof *p);
    for (int round = 0; round < 2; round++) {
        uint32_t made = 0;
        tern_status status = TERN_OK;
        while (made <= TERN_REGIONS_MAX && status == TERN_OK) {
            status = tern_register(f.worker, memory + made, 1, &p[made]);
            made += status == TERN_OK;
        }
        EXPECT(TERN_ERR_FULL, status);
        CU_ASSERT_EQUAL(made, TERN_REGIONS_MAX);
        for (uint32_t i = 0; i < made; i++)
            EXPECT_OK(tern_deregister(f.worker, p[i]));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
    free(p);
    free(memory);
}

/* A put that its owner has to copy needs a reply cell, and the program has them all. */
static void no_reply_cell(void) {
    if (!open_with(TERN_CMA_OFF))
        return;
    static unsigned char memory[64], nine = 9;
    tern_ptr *all = calloc(f.size, sizeof *all);
    tern_request request[TERN_CALL_REQUESTS] = {0};
    uint32_t next = (f.rank + 1) % f.size;
    memory[0] = 0;
    register_all(memory, sizeof memory, all);
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_call_start(f.worker, tern_worker_self(f.worker), &nothing_function, NULL, 0,
                                  NULL, 0, &request[i]));
    EXPECT(by_owner(next) ? TERN_ERR_AGAIN : TERN_OK, tern_put(f.worker, all[next], &nine, 1));
    for (int i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_wait(f.worker, &request[i]));
    EXPECT_OK(tern_put(f.worker, all[next], &nine, 1));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(memory[0], 9);
    deregister_all(all);
    fixture_close(&f);
    free(all);
}

/* Whether puts to rank keep its region until they are flushed. */
static bool flush_counts(uint32_t rank) {
    const tern_rma *rma = tern_rma_of(f.context);
    return !tern_rank_is_direct(f.context, rank) && rma->window != NULL &&
           tern_window_has_regions(rma->window);
}

/* A put that is on its way when its region is to end arrives before, or keeps it. */
static void in_use(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    static unsigned char memory[64], nine = 9;
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    memory[0] = 0;
    register_all(memory, sizeof memory, all);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_put(f.worker, all[next], &nine, 1));
    /* Each tells the next that it has put, and the one before that it has tried. None flushes. */
    tern_event event;
    int told[2] = {0, 0};
    EXPECT_OK(notify_surely((tern_worker_id){next, 0}, TERN_NULL, NULL, 0, false));
    while (told[0] == 0) {
        wait_for_remote(&event);
        told[event.peer.rank != before]++;
    }
    /* Over a network it stays until the put has landed, as its origin knows. */
    const bool flies =
        !tern_rank_is_direct(f.context, before) && tern_rma_of(f.context)->native != NULL;
    tern_status status = tern_deregister(f.worker, all[f.rank]);
    bool stays = flies ? status == TERN_ERR_STATE : flush_counts(before);
    EXPECT(stays ? TERN_ERR_STATE : TERN_OK, status);
    if (stays) {
        EXPECT_DETAIL("not flushed");
        /* Still there, for everybody. */
        CU_ASSERT_PTR_EQUAL(tern_local(f.context, all[f.rank]), memory);
    } else {
        CU_ASSERT_EQUAL(memory[0], 9);
    }
    EXPECT_OK(notify_surely((tern_worker_id){before, 0}, TERN_NULL, NULL, 0, false));
    if (told[1] == 0)
        wait_for_remote(&event);
    EXPECT_OK(tern_barrier(f.worker));
    if (stays)
        EXPECT_OK(tern_deregister(f.worker, all[f.rank]));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(memory[0], 9);
    fixture_close(&f);
    free(all);
}

/* The owner ends its region after it has given the rkey and before the other rank has looked at
 * it. */
static void rkey_taken_back(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    static unsigned char memory[64], nine = 9;
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    uint64_t cid = 0;
    tern_event event;
    memory[0] = 0;
    register_all(memory, sizeof memory, all);
    EXPECT_OK(tern_barrier(f.worker));
    bool remote = !tern_rank_is_direct(f.context, next);
    if (remote)
        EXPECT(TERN_ERR_AGAIN,
               tern_put_notify(f.worker, (tern_worker_id){next, 0}, all[next], &nine, 1,
                               &(tern_notify_options){
                                   .cid = &cid, .cid_bytes = 8, .flags = TERN_NOTIFY_NO_LOCAL}));
    EXPECT_OK(notify_surely((tern_worker_id){next, 0}, TERN_NULL, NULL, 0, false));
    wait_for_remote(&event); /* the one before has asked */
    EXPECT_OK(tern_deregister(f.worker, all[f.rank]));
    EXPECT_OK(notify_surely((tern_worker_id){before, 0}, TERN_NULL, NULL, 0, false));
    wait_for_remote(&event); /* the next has ended its region */
    EXPECT(TERN_ERR_RANGE, notify_surely((tern_worker_id){next, 0}, all[next], &nine, 1, false));
    EXPECT(TERN_ERR_RANGE, tern_put(f.worker, all[next], &nine, 1));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(memory[0], 0);
    fixture_close(&f);
    free(all);
}

/* A transfer that is under way when its region ends is dropped, and said to be. */
static void late_notice(void) {
    if (!open_with(TERN_CMA_AUTO))
        return;
    static unsigned char memory[64], seven = 7;
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size;
    memset(memory, 1, sizeof memory);
    register_all(memory, sizeof memory, all);
    EXPECT_OK(notify_surely((tern_worker_id){next, 0}, all[next], &seven, 1, false));
    EXPECT_OK(tern_barrier(f.worker)); /* packed, and nobody has probed */
    EXPECT_OK(tern_deregister(f.worker, all[f.rank]));
    tern_event event;
    wait_for_remote(&event);
    CU_ASSERT_EQUAL(event.status, TERN_ERR_RANGE);
    CU_ASSERT_EQUAL(memory[0], 1);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
    free(all);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"small transfers", small_transfers},
        {"large transfers", large_transfers},
        {"transfers by owners", transfers_by_owners},
        {"pieces", pieces},
        {"notified", notified},
        {"rendezvous", rendezvous},
        {"counting", counting},
        {"refusals", refusals},
        {"as many as may be", as_many_as_may_be},
        {"no reply cell", no_reply_cell},
        {"in use", in_use},
        {"rkey taken back", rkey_taken_back},
        {"late notice", late_notice},
    };
    return tern_test_main(argc, argv, "registration", tests, sizeof tests / sizeof tests[0]);
}
