// tern-test: transports

/* Notified transfers: sizes and cids at their edges, flags, events, limits, errors, cost. */

#include "fixture.h"
#include "flaky.h"

#include <stdlib.h>

#include "rma/notify/notify.h"
#include "rma/network/process.h"
#include "rma/memory/state.h"
#include "src/progress/wait.h"

enum { RANKS = 64, ROOM = 32 << 10 };

static fixture f;
static tern_ptr memory[RANKS];
static uint32_t next, previous;

static tern_worker_id to(uint32_t rank) { return (tern_worker_id){rank, 0}; }

static tern_config usual(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.log_level = TERN_LOG_NONE;
    return config;
}

static bool set_up(const tern_config *config) {
    if (!fixture_open(&f, config))
        return false;
    next = (f.rank + 1) % f.size;
    previous = (f.rank + f.size - 1) % f.size;
    fixture_alloc_all(&f, ROOM, TERN_DOMAIN_GLOBAL, memory);
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

static void tear_down(void) {
    fixture_free_all(&f, memory);
    fixture_close(&f);
}

static unsigned char *my_memory(void) { return tern_local(f.context, memory[f.rank]); }

static void expect_no_event(unsigned which) {
    tern_event event;
    EXPECT(TERN_ERR_EMPTY, tern_probe(f.worker, which, &event));
}

static bool expect_event(unsigned which, tern_event *event) {
    memset(event, 0, sizeof *event);
    return EXPECT_OK(tern_event_wait(f.worker, which, event));
}

static void expect_local(uint32_t target, uint64_t cid, size_t bytes, bool is_get) {
    tern_event event;
    if (!expect_event(TERN_PROBE_LOCAL, &event))
        return;
    CU_ASSERT_EQUAL(event.kind, TERN_EVENT_LOCAL);
    CU_ASSERT_EQUAL(event.status, TERN_OK);
    CU_ASSERT_EQUAL(event.peer.rank, target);
    CU_ASSERT_EQUAL(event.local_cid, cid);
    CU_ASSERT_EQUAL(event.bytes, bytes);
    CU_ASSERT_EQUAL(event.is_get, is_get);
    CU_ASSERT_EQUAL(event.cid_bytes, 0);
}

static void expect_remote(uint32_t origin, const void *cid, size_t cid_bytes, size_t bytes,
                          bool is_get) {
    tern_event event;
    if (!expect_event(TERN_PROBE_REMOTE, &event))
        return;
    CU_ASSERT_EQUAL(event.kind, TERN_EVENT_REMOTE);
    CU_ASSERT_EQUAL(event.peer.rank, origin);
    CU_ASSERT_EQUAL(event.peer.index, 0);
    CU_ASSERT_EQUAL(event.bytes, bytes);
    CU_ASSERT_EQUAL(event.is_get, is_get);
    CU_ASSERT_EQUAL(event.cid_bytes, cid_bytes);
    CU_ASSERT(cid_bytes == 0 || memcmp(event.cid, cid, cid_bytes) == 0);
}

/* Every size with every cid, to the next rank: what comes from the previous one is the same. */
static void sizes_and_cids(void) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    static const size_t sizes[] = {0,   1,   7,   8,    9,    63,   64,   65,
                                   127, 128, 129, 4095, 4096, 4097, 20000};
    static const size_t cids[] = {0, 1, 7, 8, 9, 64, 255, 256};
    unsigned char *data = malloc(ROOM), *back = malloc(ROOM), cid[TERN_CID_MAX];
    uint64_t number = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t c = 0; c < sizeof cids / sizeof *cids; c++) {
            size_t bytes = sizes[s], at = (s + c) % 9;
            memset(cid, (int)(s * 16 + c + 1), sizeof cid);
            memset(data, (int)(s * 8 + c + 1), bytes);
            memset(my_memory() + at, 0, bytes + 1);
            EXPECT_OK(tern_barrier(f.worker));
            EXPECT_OK(tern_put_notify(
                f.worker, to(next), tern_ptr_add(memory[next], (int64_t)at), data, bytes,
                &(tern_notify_options){.local_cid = ++number, .cid = cid, .cid_bytes = cids[c]}));
            expect_remote(previous, cid, cids[c], bytes, false);
            CU_ASSERT(memcmp(my_memory() + at, data, bytes) == 0);
            CU_ASSERT_EQUAL(my_memory()[at + bytes], 0);
            expect_local(next, number, bytes, false);
            /* And back; packed data is there when the next rank has probed. */
            EXPECT_OK(tern_barrier(f.worker));
            memset(back, 0, bytes + 1);
            EXPECT_OK(tern_get_notify(
                f.worker, to(next), back, tern_ptr_add(memory[next], (int64_t)at), bytes,
                &(tern_notify_options){.local_cid = ++number, .cid = cid, .cid_bytes = cids[c]}));
            expect_local(next, number, bytes, true);
            CU_ASSERT(memcmp(back, data, bytes) == 0);
            CU_ASSERT_EQUAL(back[bytes], 0);
            expect_remote(previous, cid, cids[c], bytes, true);
        }
    }
    expect_no_event(TERN_PROBE_ANY);
    free(data);
    free(back);
    tear_down();
}

static void flags(void) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    static const size_t sizes[] = {8, 10000};
    unsigned char data[10000], back[10000];
    for (int i = 0; i < 2; i++) {
        size_t bytes = sizes[i];
        memset(data, 3 + i, bytes);
        tern_notify_options one = {.local_cid = 1, .cid = "r", .cid_bytes = 1};
        one.flags = TERN_NOTIFY_NO_LOCAL;
        EXPECT_OK(tern_put_notify(f.worker, to(next), memory[next], data, bytes, &one));
        expect_remote(previous, "r", 1, bytes, false);
        CU_ASSERT(memcmp(my_memory(), data, bytes) == 0);
        EXPECT_OK(tern_barrier(f.worker));
        /* A plain put with a local event: complete there after a flush. */
        memset(data, 5 + i, bytes);
        one = (tern_notify_options){.local_cid = 2, .cid = "r", .cid_bytes = 1};
        one.flags = TERN_NOTIFY_NO_REMOTE;
        EXPECT_OK(tern_put_notify(f.worker, to(next), memory[next], data, bytes, &one));
        expect_local(next, 2, bytes, false);
        EXPECT_OK(tern_barrier(f.worker));
        CU_ASSERT(memcmp(my_memory(), data, bytes) == 0);
        EXPECT_OK(tern_barrier(f.worker));
        one = (tern_notify_options){.local_cid = 3};
        one.flags = TERN_NOTIFY_NO_LOCAL | TERN_NOTIFY_NO_REMOTE;
        EXPECT_OK(tern_put_notify(f.worker, to(next), memory[next], data, bytes, &one));
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_get_notify(
            f.worker, to(next), back, memory[next], bytes,
            &(tern_notify_options){.local_cid = 4, .flags = TERN_NOTIFY_NO_REMOTE}));
        expect_local(next, 4, bytes, true);
        CU_ASSERT(memcmp(back, data, bytes) == 0);
        one = (tern_notify_options){.local_cid = 5, .cid = "g", .cid_bytes = 1};
        one.flags = TERN_NOTIFY_NO_LOCAL;
        EXPECT_OK(tern_get_notify(f.worker, to(next), back, memory[next], bytes, &one));
        expect_remote(previous, "g", 1, bytes, true);
    }
    EXPECT_OK(tern_barrier(f.worker));
    expect_no_event(TERN_PROBE_ANY);
    tear_down();
}

/* To oneself, and to every rank. */
static void everybody(void) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    for (uint32_t r = 0; r < f.size; r++)
        EXPECT_OK(tern_put_notify(
            f.worker, to(r), tern_ptr_add(memory[r], 8 * (int64_t)f.rank), &f.rank, sizeof f.rank,
            &(tern_notify_options){.local_cid = r, .cid = &f.rank, .cid_bytes = sizeof f.rank}));
    bool seen[RANKS] = {false};
    for (uint32_t i = 0; i < f.size; i++) {
        tern_event event;
        expect_event(TERN_PROBE_REMOTE, &event);
        uint32_t origin = RANKS, placed;
        memcpy(&origin, event.cid, sizeof origin);
        CU_ASSERT_FATAL(origin == event.peer.rank && !seen[origin]);
        seen[origin] = true;
        memcpy(&placed, my_memory() + 8 * (size_t)origin, sizeof placed);
        CU_ASSERT_EQUAL(placed, origin);
    }
    for (uint32_t r = 0; r < f.size; r++)
        expect_event(TERN_PROBE_LOCAL, &(tern_event){0});
    expect_no_event(TERN_PROBE_ANY);
    tear_down();
}

static void errors(void) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    unsigned char data[300] = {0};
    tern_ptr p = memory[next], beyond = tern_ptr_add(p, (int64_t)1 << 20), other = p;
    other.rank = f.size;
    const struct {
        tern_worker_id target;
        tern_ptr place;
        const void *memory;
        size_t bytes;
        const void *cid;
        size_t cid_bytes;
        unsigned flags;
        tern_status status;
        const char *detail;
    } wrong[] = {
        {to(f.size), p, data, 8, "", 0, 0, TERN_ERR_ARGUMENT, "there is no worker"},
        {{next, 1}, p, data, 8, "", 0, 0, TERN_ERR_ARGUMENT, "there is no worker 1"},
        {to(next), p, NULL, 8, "", 0, 0, TERN_ERR_ARGUMENT, "NULL"},
        {to(next), p, data, 8, NULL, 1, 0, TERN_ERR_ARGUMENT, "NULL"},
        {to(next), p, data, 8, data, 257, 0, TERN_ERR_ARGUMENT, "257"},
        {to(next), p, data, 8, "", 0, 4, TERN_ERR_ARGUMENT, "flags is 0x4"},
        {to(next), other, data, 8, "", 0, 0, TERN_ERR_ARGUMENT, "memory of rank"},
        {to(next), beyond, data, 8, "", 0, 0, TERN_ERR_RANGE, "8 bytes at offset"},
        {to(next), beyond, data, 300, "", 0, 0, TERN_ERR_RANGE, "300 bytes at offset"},
        {to(next), {next, 0, 0, 4095}, data, 8, "", 0, 0, TERN_ERR_RANGE, "offset 4095"},
        {to(next), {next, 7, 0, 4095}, data, 8, "", 0, 0, TERN_ERR_RANGE, "segment 7"},
        {to(next), {next, 0, 0, UINT64_MAX}, data, 8, "", 0, 0, TERN_ERR_RANGE, "8 bytes"},
    };
    tern_event event;
    /* From the second operation on there is a short path, whose checks are its own. */
    EXPECT_OK(tern_put_notify(f.worker, to(next), p, data, 8, NULL));
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_LOCAL, &event));
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tern_notify_options options = {
            .cid = wrong[i].cid, .cid_bytes = wrong[i].cid_bytes, .flags = wrong[i].flags};
        EXPECT(wrong[i].status, tern_put_notify(f.worker, wrong[i].target, wrong[i].place,
                                                wrong[i].memory, wrong[i].bytes, &options));
        EXPECT_DETAIL(wrong[i].detail);
        EXPECT(wrong[i].status,
               tern_get_notify(f.worker, wrong[i].target, (void *)(uintptr_t)wrong[i].memory,
                               wrong[i].place, wrong[i].bytes, &options));
        EXPECT_DETAIL(wrong[i].detail);
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_put_notify(NULL, to(0), p, data, 8, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_probe(f.worker, 0, &event));
    EXPECT(TERN_ERR_ARGUMENT, tern_probe(f.worker, 4, &event));
    EXPECT(TERN_ERR_ARGUMENT, tern_probe(f.worker, TERN_PROBE_ANY, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_probe(NULL, TERN_PROBE_ANY, &event));
    EXPECT(TERN_ERR_ARGUMENT, tern_probe_each(f.worker, 1, NULL, NULL, 1, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    expect_no_event(TERN_PROBE_ANY);
    EXPECT_OK(tern_barrier(f.worker));
    /* Where nothing is put, the place is not looked at. */
    EXPECT_OK(tern_put_notify(f.worker, to(next), other, NULL, 0,
                              &(tern_notify_options){.local_cid = 9, .cid = "x", .cid_bytes = 1}));
    expect_remote(previous, "x", 1, 0, false);
    expect_local(next, 9, 0, false);
    tear_down();
}

/* A handler answers, calls, and is refused what waits or probes. */
typedef struct {
    int events;
    uint64_t last;
} heard;

static int called;

static tern_status note(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    called += bytes == 0;
    return TERN_OK;
}
TERN_FUNCTION(note)

static void hear(tern_worker *worker, const tern_event *event, const void *cid, void *argument) {
    heard *h = argument;
    tern_event other;
    h->events++;
    CU_ASSERT_EQUAL(event->kind, TERN_EVENT_REMOTE);
    CU_ASSERT_EQUAL(event->cid_bytes, 8);
    uint64_t number;
    memcpy(&number, cid, 8);
    CU_ASSERT_EQUAL(number, h->last + 1);
    h->last = number;
    EXPECT(TERN_ERR_STATE, tern_probe(worker, TERN_PROBE_ANY, &other));
    EXPECT(TERN_ERR_STATE, tern_probe_each(worker, TERN_PROBE_ANY, hear, h, 1, NULL));
    EXPECT(TERN_ERR_STATE, tern_event_wait(worker, TERN_PROBE_ANY, &other));
    EXPECT(TERN_ERR_STATE, tern_barrier(worker));
    CU_ASSERT_EQUAL(tern_progress(worker), 0);
    if (number <= 10)
        EXPECT_OK(tern_call(worker, event->peer, &note_function, NULL, 0));
    if (number <= 10)
        EXPECT_OK(tern_put_notify(worker, event->peer, TERN_NULL, NULL, 0,
                                  &(tern_notify_options){.cid = &(uint64_t){number + 10},
                                                         .cid_bytes = 8,
                                                         .flags = TERN_NOTIFY_NO_LOCAL}));
}

static void handlers(void) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    called = 0;
    EXPECT_OK(tern_barrier(f.worker));
    /* To the next rank in pairs of ranks, so that both streams of a rank come from one. */
    uint32_t partner = f.rank ^ 1;
    heard h = {0, 0};
    for (uint64_t n = 1; n <= 10 && partner < f.size; n++)
        EXPECT_OK(tern_put_notify(
            f.worker, to(partner), TERN_NULL, NULL, 0,
            &(tern_notify_options){.cid = &n, .cid_bytes = 8, .flags = TERN_NOTIFY_NO_LOCAL}));
    while (partner < f.size && (h.events < 20 || called < 10)) {
        size_t handled = 0;
        EXPECT(TERN_OK, tern_probe_each(f.worker, TERN_PROBE_ANY, hear, &h, 3, &handled));
        CU_ASSERT(handled <= 3);
        if (CU_get_number_of_failures() > 0)
            break;
        tern_progress(f.worker);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT(partner >= f.size || (h.events == 20 && called == 10));
    tear_down();
}

/* Probing from a handler of calls takes what is there. */
static int probed;

static tern_status probe_inside(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    tern_event event;
    while (tern_probe(call->worker, TERN_PROBE_REMOTE, &event) == TERN_OK)
        probed++;
    EXPECT(TERN_ERR_STATE, tern_event_wait(call->worker, TERN_PROBE_REMOTE, &event));
    return TERN_OK;
}
TERN_FUNCTION(probe_inside)

static void probing_in_a_call(void) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    probed = 0;
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < 5; i++)
        EXPECT_OK(tern_put_notify(f.worker, to(next), TERN_NULL, NULL, 0,
                                  &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL}));
    tern_wait_state wait = TERN_WAIT_START;
    while (probed < 5 && tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK) {
        EXPECT_OK(tern_call(f.worker, to(f.rank), &probe_inside_function, NULL, 0));
        tern_progress(f.worker);
    }
    CU_ASSERT_EQUAL(probed, 5);
    EXPECT_OK(tern_quiesce(f.worker));
    tear_down();
}

/* The next rank does not probe: the origin is stopped at the limit, calls flow, nothing is lost. */
static void slow_prober(tern_order order, size_t growth) {
    tern_config config = usual();
    config.ring_size = 4096;
    config.ring_growth = growth;
    config.notify_queue = 10;
    config.order = order;
    if (!set_up(&config))
        return;
    called = 0;
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t sent = 0, *all = calloc(f.size, sizeof *all);
    tern_status status = TERN_OK;
    int refused = 0, explained = 0;
    while (refused < 500) {
        unsigned char cid[40];
        memset(cid, 1, sizeof cid);
        memcpy(cid, &sent, 8);
        status = tern_put_notify(
            f.worker, to(next), memory[next], &sent, 8,
            &(tern_notify_options){
                .local_cid = sent, .cid = cid, .cid_bytes = 40, .flags = TERN_NOTIFY_NO_LOCAL});
        if (status != TERN_OK && !EXPECT(TERN_ERR_AGAIN, status))
            break;
        sent += status == TERN_OK;
        refused += status == TERN_ERR_AGAIN;
        if (status == TERN_ERR_AGAIN && strstr(tern_error_detail(), "TERN_NOTIFY_QUEUE") != NULL)
            explained++;
        if (refused > 0 && sent > 10) /* the ring is there */
            refused++;
        tern_progress(f.worker);
    }
    CU_ASSERT(explained > 0);
    /* A ring of each size, and the queue. */
    CU_ASSERT(sent >= 10 && sent <= (2 * growth - 1) * 4096 / 64 + 10);
    EXPECT_OK(tern_call(f.worker, to(next), &note_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(called, 1);
    fixture_share(&f, &sent, sizeof sent, all);
    bool *seen = calloc(all[previous], sizeof *seen);
    for (uint64_t n = 0; n < all[previous]; n++) {
        tern_event event;
        uint64_t number = UINT64_MAX;
        if (!expect_event(TERN_PROBE_REMOTE, &event))
            break;
        memcpy(&number, event.cid, 8);
        CU_ASSERT(order == TERN_ORDER_RELAXED || number == n);
        CU_ASSERT_FATAL(number < all[previous] && !seen[number]);
        seen[number] = true;
        CU_ASSERT_EQUAL(event.cid_bytes, 40);
        CU_ASSERT_EQUAL(event.cid[39], 1);
    }
    /* The others may wait for what is queued here. */
    EXPECT_OK(tern_barrier(f.worker));
    expect_no_event(TERN_PROBE_ANY);
    free(seen);
    free(all);
    tear_down();
}

static void slow_prober_strict(void) { slow_prober(TERN_ORDER_STRICT, 1); }

static void slow_prober_relaxed(void) { slow_prober(TERN_ORDER_RELAXED, 4); }

static void local_events_have_a_limit(void) {
    tern_config config = usual();
    config.notify_events = 70;
    if (!set_up(&config))
        return;
    uint64_t sent = 0;
    while (sent < 1000 && tern_put_notify(f.worker, to(f.rank), memory[f.rank], &sent, 8,
                                          &(tern_notify_options){.local_cid = sent}) == TERN_OK)
        sent++;
    CU_ASSERT_EQUAL(sent, 70);
    EXPECT_DETAIL("TERN_NOTIFY_EVENTS");
    EXPECT_OK(tern_put_notify(f.worker, to(f.rank), memory[f.rank], &sent, 8,
                              &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL}));
    for (uint64_t n = 0; n < sent; n++)
        expect_local(f.rank, n, 8, false);
    for (uint64_t n = 0; n <= sent; n++)
        expect_remote(f.rank, NULL, 0, 8, false);
    expect_no_event(TERN_PROBE_ANY);
    tear_down();
}

/* Whether what is published is taken at once: a network that waits for its target may refuse. */
static bool takes_all(void) {
    const tern_native *native = tern_rma_of(f.context)->native;
    return flaky_network_counts().refused == 0 && (native == NULL || native->network->one_sided);
}

/* Packed: one record, and one frame over rma and p2p. Ledger over rma: one flush for many. */
static void cost(void) {
    tern_config config = usual();
    config.ring_size = 64 << 10;
    if (!set_up(&config))
        return;
    enum { TIMES = 50, PIECES = 20 };
    tern_stats before, after;
    EXPECT_OK(tern_put_notify(f.worker, to(next), TERN_NULL, NULL, 0, NULL));
    expect_local(next, 0, 0, false);
    expect_remote(previous, NULL, 0, 0, false);
    EXPECT_OK(tern_barrier(f.worker));
    tern_stats_get(f.worker, &before);
    for (uint64_t i = 0; i < TIMES; i++)
        EXPECT_OK(
            tern_put_notify(f.worker, to(next), memory[next], &i, 8,
                            &(tern_notify_options){.local_cid = i, .cid = &i, .cid_bytes = 8}));
    tern_stats_get(f.worker, &after);
    bool direct = tern_rank_is_direct(f.context, next);
    CU_ASSERT_EQUAL(after.notices_packed - before.notices_packed, TIMES);
    CU_ASSERT_EQUAL(after.notices_queued, before.notices_queued);
    CU_ASSERT_EQUAL(after.puts, before.puts);
    CU_ASSERT_EQUAL(after.flushes, before.flushes);
    if (tern_transport_to(f.context, next)->reads_own_frames && takes_all())
        CU_ASSERT_EQUAL(after.frames_sent - before.frames_sent, TIMES);
    if (direct)
        CU_ASSERT_EQUAL(after.frames_sent - before.frames_sent, 0);
    for (uint64_t i = 0; i < TIMES; i++) {
        expect_remote(previous, &i, 8, 8, false);
        expect_local(next, i, 8, false);
    }
    EXPECT_OK(tern_barrier(f.worker));
    char *data = calloc(PIECES, 1000);
    tern_stats_get(f.worker, &before);
    for (uint64_t i = 0; i < PIECES; i++)
        EXPECT_OK(tern_put_notify(
            f.worker, to(next), tern_ptr_add(memory[next], 1000 * (int64_t)i), data + 1000 * i,
            1000, &(tern_notify_options){.local_cid = i, .flags = TERN_NOTIFY_NO_REMOTE}));
    for (uint64_t i = 0; i < PIECES; i++)
        expect_local(next, i, 1000, false);
    tern_stats_get(f.worker, &after);
    CU_ASSERT_EQUAL(after.notices_ledger - before.notices_ledger, PIECES);
    if (takes_all())
        CU_ASSERT_EQUAL(after.flushes - before.flushes,
                        tern_transport_to(f.context, next)->settle != NULL ? 1 : 0);
    free(data);
    EXPECT_OK(tern_barrier(f.worker));
    tear_down();
}

/* What a correct origin never writes is refused and counted; nothing is written for it. */
static void inject(uint64_t header, uint64_t word) {
    tern_config config = usual();
    if (!set_up(&config))
        return;
    EXPECT_OK(tern_put_notify(f.worker, to(next), memory[next], "abcdefgh", 8,
                              &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL}));
    expect_remote(previous, NULL, 0, 8, false);
    EXPECT_OK(tern_barrier(f.worker));
    tern_out *out = tern_notify_of(f.worker)->out[next];
    void *room = NULL;
    EXPECT_OK(tern_ring_reserve(f.worker, out, 16, &room));
    memset(room, 0, 16);
    memcpy(room, &word, 8);
    uint64_t at = out->lane.write;
    tern_ring_commit(out, tern_notice_header(TERN_NOTICE_PACKED, 0, 0, 16));
    if (out->direct)
        out->lane.first_header = header;
    else
        memcpy(out->lane.data + (at & out->lane.mask), &header, sizeof header);
    tern_ring_publish(f.worker, out);
    tern_stats stats = {0};
    tern_wait_state wait = TERN_WAIT_START;
    while (stats.records_malformed == 0 &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK) {
        expect_no_event(TERN_PROBE_ANY);
        tern_stats_get(f.worker, &stats);
    }
    CU_ASSERT_EQUAL(stats.records_malformed, 1);
    CU_ASSERT(memcmp(my_memory(), "abcdefgh", 8) == 0);
    EXPECT_OK(tern_barrier(f.worker));
    tear_down();
}

static void hostile_records(void) {
    const unsigned packed = TERN_NOTICE_PACKED, pure = TERN_NOTICE_PURE, put = TERN_NOTICE_PUT;
    const uint64_t end = (uint64_t)1 << 20;
    const struct {
        uint64_t header, word;
    } records[] = {
        {tern_notice_header(packed, 0, 0, 16), end - 7},
        {tern_notice_header(packed, 9, 0, 16), 0},
        {tern_record_header(TERN_RECORD_CALL, 0, 16), 0},
        {tern_notice_header(packed, 0, 0, 16), UINT64_MAX - 3},
        {tern_notice_header(packed, 0, 0, 16), end},
        {tern_notice_header(packed, 257, 0, 16), 0},
        {tern_notice_header(packed, 8, 0, 16), 0},
        {tern_notice_header(packed, 0, 0, 13), 0},
        {tern_notice_header(packed, 0, 0, 0xfffffff0u), 0},
        {tern_notice_header(pure, 1, 0, 16), 0},
        {tern_notice_header(put, 0, 0, 16), 0},
        {tern_notice_header(put, 8, 1, 16), 0},
        {tern_notice_header(77, 8, 0, 16), 0},
    };
    /* A ring is closed by one, and windows take their time to be made. */
    const char *transport = getenv("TERN_TRANSPORT");
    size_t count = sizeof records / sizeof *records;
    if (transport != NULL && !tern_test_full())
        count = 3;
    for (size_t i = 0; i < count; i++)
        inject(records[i].header, records[i].word);
}

/* Destroyed with events that nobody has probed for, and requests that never found room. */
static void left_behind(void) {
    tern_config config = usual();
    config.ring_size = 4096;
    if (!set_up(&config))
        return;
    char *data = malloc(ROOM);
    memset(data, 1, ROOM);
    for (uint64_t i = 0; i < 300; i++)
        EXPECT_OK(tern_put_notify(f.worker, to(next), memory[next], data, 64,
                                  &(tern_notify_options){.local_cid = i}));
    EXPECT_OK(tern_put_notify(f.worker, to(next), memory[next], data, ROOM, NULL));
    char *back = malloc(ROOM);
    EXPECT_OK(tern_get_notify(f.worker, to(next), back, memory[next], ROOM, NULL));
    tear_down();
    free(data);
    free(back);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"sizes_and_cids", sizes_and_cids},
        {"flags", flags},
        {"everybody", everybody},
        {"errors", errors},
        {"handlers", handlers},
        {"probing_in_a_call", probing_in_a_call},
        {"slow_prober_strict", slow_prober_strict},
        {"slow_prober_relaxed", slow_prober_relaxed},
        {"local_events_have_a_limit", local_events_have_a_limit},
        {"cost", cost},
        {"hostile_records", hostile_records},
        {"left_behind", left_behind},
    };
    return tern_test_main(argc, argv, "notify", tests, sizeof tests / sizeof tests[0]);
}
