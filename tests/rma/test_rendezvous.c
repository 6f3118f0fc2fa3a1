// tern-test: transports

/* Rendezvous: both directions, every size and way to move the data, limits, handlers, errors; what
 * is random is in test_rendezvous_order.c. */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "rma/notify/rendezvous.h"
#include "rma/memory/state.h"
#include "src/progress/wait.h"

enum { RANKS = 64, ROOM = 1 << 20 };

static fixture f;
static tern_ptr memory[RANKS];
static uint32_t next, previous;

static tern_worker_id to(uint32_t rank) { return (tern_worker_id){rank, 0}; }

static bool set_up(size_t ring_size, size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)8 << 20;
    config.ring_size = ring_size;
    config.workers = workers;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&f, &config))
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

static unsigned char letter(uint32_t rank, uint64_t n, size_t i) {
    return (unsigned char)(rank * 37 + n * 11 + i * 3 + (i >> 8) + 1);
}

static void fill(unsigned char *at, uint32_t rank, uint64_t n, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = letter(rank, n, i);
}

static size_t differ(const unsigned char *at, uint32_t rank, uint64_t n, size_t bytes) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += at[i] != letter(rank, n, i);
    return wrong;
}

static void expect_descriptor(const tern_descriptor *d, uint32_t peer, unsigned which, uint64_t tag,
                              size_t bytes) {
    CU_ASSERT_EQUAL(d->peer.rank, peer);
    CU_ASSERT_EQUAL(d->peer.index, 0);
    CU_ASSERT_EQUAL(d->which, which);
    CU_ASSERT_EQUAL(d->tag, tag);
    CU_ASSERT_EQUAL(d->bytes, bytes);
    CU_ASSERT_EQUAL(d->place.rank, peer);
}

static void expect_local_event(uint64_t cid) {
    tern_event event;
    memset(&event, 0, sizeof event);
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_LOCAL, &event));
    CU_ASSERT_EQUAL(event.local_cid, cid);
}

static void fill_buffer(const tern_descriptor *d, unsigned char *data, uint64_t n, uint64_t way) {
    size_t bytes = (size_t)d->bytes;
    tern_request request = {0};
    fill(data, f.rank, n, bytes);
    if (way % 3 == 0 || bytes == 0) {
        EXPECT_OK(tern_put(f.worker, d->place, data, bytes));
    } else if (way % 3 == 1) {
        EXPECT_OK(tern_put_start(f.worker, d->place, data, bytes, &request));
        EXPECT_OK(tern_wait(f.worker, &request));
    } else {
        EXPECT_OK(tern_put_notify(
            f.worker, d->peer, d->place, data, bytes,
            &(tern_notify_options){.local_cid = n, .flags = TERN_NOTIFY_NO_REMOTE}));
        expect_local_event(n);
    }
}

static void read_buffer(const tern_descriptor *d, unsigned char *data, uint64_t n, uint64_t way) {
    size_t bytes = (size_t)d->bytes;
    tern_request request = {0};
    memset(data, 0, bytes);
    if (way % 3 == 0 || bytes == 0) {
        EXPECT_OK(tern_get(f.worker, data, d->place, bytes));
    } else if (way % 3 == 1) {
        EXPECT_OK(tern_get_start(f.worker, data, d->place, bytes, &request));
        EXPECT_OK(tern_wait(f.worker, &request));
    } else {
        EXPECT_OK(tern_get_notify(
            f.worker, d->peer, data, d->place, bytes,
            &(tern_notify_options){.local_cid = n, .flags = TERN_NOTIFY_NO_REMOTE}));
        expect_local_event(n);
    }
    CU_ASSERT_EQUAL(differ(data, d->peer.rank, n, bytes), 0);
}

/* Every rank offers its buffer to the next one, by every size, way and kind. */
static void sizes_and_ways(void) {
    if (!set_up(4096, 1))
        return;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 127, 128, 129, 4096, 5000, 65536, ROOM};
    unsigned char *data = malloc(ROOM);
    uint64_t n = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (uint64_t way = 0; way < 3; way++) {
            for (unsigned which = TERN_POSTED_RECEIVE; which <= TERN_POSTED_SEND; which++) {
                size_t bytes = sizes[s];
                uint64_t moved = 99, tag = ++n << 40;
                bool send = which == TERN_POSTED_SEND;
                tern_request post = {0};
                tern_descriptor d;
                memset(my_memory(), 0, bytes);
                if (send)
                    fill(my_memory(), f.rank, n, bytes);
                EXPECT_OK((send ? tern_post_send : tern_post_receive)(
                    f.worker, to(next), tag, memory[f.rank], bytes, &post));
                EXPECT_OK(tern_descriptor_wait(f.worker, to(previous), TERN_POSTED_ANY, tag, &d));
                expect_descriptor(&d, previous, which, tag, bytes);
                if (send)
                    read_buffer(&d, data, n, way);
                else
                    fill_buffer(&d, data, n, way);
                EXPECT_OK(tern_rendezvous_finish(f.worker, &d, bytes));
                memset(data, 0xdd, bytes);
                CU_ASSERT_EQUAL(d.id, 0);
                EXPECT_OK(tern_wait(f.worker, &post));
                moved = tern_request_result(&post);
                CU_ASSERT_EQUAL(moved, bytes);
                CU_ASSERT_EQUAL(differ(my_memory(), send ? f.rank : next, n, bytes), 0);
            }
        }
    }
    tern_event event;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT(TERN_ERR_EMPTY, tern_probe(f.worker, TERN_PROBE_ANY, &event));
    free(data);
    tear_down();
}

/* By tag, kind and source; those of one kind in their order, whatever is taken before. */
static void matching(void) {
    if (!set_up(4096, 1))
        return;
    tern_request posts[6] = {0};
    tern_descriptor d;
    int done = 7;
    EXPECT(TERN_ERR_EMPTY,
           tern_descriptor_test(f.worker, TERN_ANY_WORKER, TERN_POSTED_ANY, UINT64_MAX, &d));
    EXPECT_OK(tern_barrier(f.worker));
    for (size_t i = 0; i < 6; i++)
        EXPECT_OK((i % 2 == 0 ? tern_post_receive : tern_post_send)(
            f.worker, to(next), i < 4 ? UINT64_MAX : 0, memory[f.rank], i + 1, &posts[i]));
    EXPECT_OK(tern_test(f.worker, &posts[5], &done));
    CU_ASSERT_EQUAL(done, 0);
    EXPECT_OK(tern_barrier(f.worker));
    static const struct {
        uint64_t tag;
        unsigned which;
        bool any;
        size_t bytes;
    } wanted[] = {
        {0, TERN_POSTED_SEND, false, 6},         {UINT64_MAX, TERN_POSTED_SEND, true, 2},
        {UINT64_MAX, TERN_POSTED_ANY, true, 1},  {0, TERN_POSTED_ANY, true, 5},
        {UINT64_MAX, TERN_POSTED_ANY, false, 3}, {UINT64_MAX, TERN_POSTED_SEND, false, 4},
    };
    for (size_t i = 0; i < 6; i++) {
        tern_worker_id source = wanted[i].any ? TERN_ANY_WORKER : to(previous);
        EXPECT_OK(tern_descriptor_wait(f.worker, source, wanted[i].which, wanted[i].tag, &d));
        expect_descriptor(&d, previous, wanted[i].bytes % 2 == 1 ? 1 : 2, wanted[i].tag,
                          wanted[i].bytes);
        EXPECT_OK(tern_rendezvous_finish(f.worker, &d, wanted[i].bytes / 2));
    }
    EXPECT(TERN_ERR_EMPTY,
           tern_descriptor_test(f.worker, to(previous), TERN_POSTED_ANY, UINT64_MAX, &d));
    for (size_t i = 6; i-- > 0;) {
        while (tern_test(f.worker, &posts[i], &done) == TERN_OK && done == 0)
            sched_yield();
        CU_ASSERT_EQUAL(done, 1);
        EXPECT_OK(tern_wait(f.worker, &posts[i]));
        CU_ASSERT_EQUAL(tern_request_result(&posts[i]), (i + 1) / 2);
    }
    tear_down();
}

static uint64_t called;

static tern_status count_call(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    called += bytes;
    return TERN_OK;
}
TERN_FUNCTION(count_call)

/* A peer that takes nothing: the limit ends the posts, calls go on, nothing is lost. */
static void slow_peer(void) {
    if (!set_up(4096, 1))
        return;
    called = 0;
    EXPECT_OK(tern_barrier(f.worker));
    tern_request posts[TERN_POSTS_MAX + 1] = {0};
    tern_descriptor d;
    uint64_t moved = 0;
    for (size_t i = 0; i < TERN_POSTS_MAX; i++) {
        EXPECT_OK(tern_post_receive(f.worker, to(next), i % 3, memory[f.rank], i, &posts[i]));
        EXPECT_OK(tern_call(f.worker, to(next), &count_call_function, &i, 8));
    }
    EXPECT(TERN_ERR_AGAIN,
           tern_post_send(f.worker, to(next), 0, memory[f.rank], 1, &posts[TERN_POSTS_MAX]));
    EXPECT_DETAIL("wait for one");
    EXPECT_OK(tern_wait(f.worker, &posts[TERN_POSTS_MAX])); /* nothing was started */
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(called, 8 * TERN_POSTS_MAX);
    for (size_t tag = 0; tag < 3; tag++)
        for (size_t i = tag; i < TERN_POSTS_MAX; i += 3) {
            EXPECT_OK(tern_descriptor_wait(f.worker, to(previous), TERN_POSTED_ANY, tag, &d));
            CU_ASSERT_EQUAL(d.bytes, i);
            EXPECT_OK(tern_rendezvous_finish(f.worker, &d, i));
        }
    /* Ended, but not waited for: it still counts. */
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT(TERN_ERR_AGAIN,
           tern_post_send(f.worker, to(next), 0, memory[f.rank], 1, &posts[TERN_POSTS_MAX]));
    EXPECT_OK(tern_wait(f.worker, &posts[30]));
    moved = tern_request_result(&posts[30]);
    CU_ASSERT_EQUAL(moved, 30);
    EXPECT_OK(tern_post_send(f.worker, to(next), 0, memory[f.rank], 1, &posts[30]));
    EXPECT_OK(tern_descriptor_wait(f.worker, TERN_ANY_WORKER, TERN_POSTED_SEND, 0, &d));
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 0));
    for (size_t i = 0; i < TERN_POSTS_MAX; i++) {
        EXPECT_OK(tern_wait(f.worker, &posts[i]));
        moved = tern_request_result(&posts[i]);
        CU_ASSERT_EQUAL(moved, i == 30 ? 0 : i);
    }
    tear_down();
}

/* The end waits for puts of which nothing is known here but that they were asked for. */
static void puts_under_way(void) {
    if (!set_up(4096, 1))
        return;
    enum { PIECES = 8 };
    unsigned char *data = malloc(ROOM);
    for (uint64_t n = 0; n < 4; n++) {
        tern_request post = {0};
        tern_descriptor d;
        memset(my_memory(), 0, ROOM);
        EXPECT_OK(tern_post_receive(f.worker, to(next), 3, memory[f.rank], ROOM, &post));
        EXPECT_OK(tern_descriptor_wait(f.worker, TERN_ANY_WORKER, TERN_POSTED_RECEIVE, 3, &d));
        fill(data, f.rank, n, ROOM);
        for (size_t i = 0; i < PIECES; i++)
            EXPECT_OK(tern_put_notify(
                f.worker, d.peer, tern_ptr_add(d.place, (int64_t)(i * (ROOM / PIECES))),
                data + i * (ROOM / PIECES), ROOM / PIECES,
                &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL | TERN_NOTIFY_NO_REMOTE}));
        EXPECT_OK(tern_rendezvous_finish(f.worker, &d, ROOM));
        EXPECT_OK(tern_wait(f.worker, &post));
        CU_ASSERT_EQUAL(differ(my_memory(), next, n, ROOM), 0);
        EXPECT_OK(tern_barrier(f.worker)); /* data may be reused: its puts are complete */
    }
    free(data);
    tear_down();
}

/* A handler offers and finishes, and may not wait. */
static tern_request answered;
static uint64_t answers;

static tern_status offer_back(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    tern_descriptor d;
    EXPECT(TERN_ERR_STATE,
           tern_descriptor_wait(call->worker, TERN_ANY_WORKER, TERN_POSTED_ANY, 9, &d));
    EXPECT_OK(tern_descriptor_test(call->worker, call->origin, TERN_POSTED_RECEIVE, 9, &d));
    if (fixture_all_direct(&f))
        EXPECT_OK(tern_put(call->worker, d.place, &f.rank, sizeof f.rank));
    EXPECT_OK(tern_rendezvous_finish(call->worker, &d, d.bytes));
    EXPECT_OK(tern_post_send(call->worker, call->origin, 10, memory[f.rank], 4, &answered));
    EXPECT(TERN_ERR_STATE, tern_wait(call->worker, &answered));
    answers++;
    return TERN_OK;
}
TERN_FUNCTION(offer_back)

static void in_handlers(void) {
    if (!set_up(4096, 1))
        return;
    answers = 0;
    tern_request post = {0};
    tern_descriptor d;
    uint64_t moved = 0;
    /* Opens the ring, so that what follows goes ahead of the call. */
    EXPECT_OK(tern_post_receive(f.worker, to(next), 0, TERN_NULL, 0, &post));
    EXPECT_OK(tern_descriptor_wait(f.worker, to(previous), TERN_POSTED_ANY, 0, &d));
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 0));
    EXPECT_OK(tern_wait(f.worker, &post));
    moved = tern_request_result(&post);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_post_receive(f.worker, to(next), 9, memory[f.rank], 4, &post));
    EXPECT_OK(tern_call(f.worker, to(next), &offer_back_function, NULL, 0));
    EXPECT_OK(tern_wait(f.worker, &post));
    moved = tern_request_result(&post);
    CU_ASSERT_EQUAL(moved, 4);
    CU_ASSERT(!fixture_all_direct(&f) || memcmp(my_memory(), &next, 4) == 0);
    EXPECT_OK(tern_descriptor_wait(f.worker, to(next), TERN_POSTED_SEND, 10, &d));
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 1));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(answers, 1);
    EXPECT_OK(tern_wait(f.worker, &answered));
    moved = tern_request_result(&answered);
    CU_ASSERT_EQUAL(moved, 1);
    tear_down();
}

static size_t progress_second(tern_worker *worker, void *second) {
    return tern_progress(worker == second ? f.worker : second);
}

/* Two workers of a rank, each with its own table; what is left at the end is forgotten. */
static void workers(void) {
    if (!set_up(4096, 2))
        return;
    tern_worker *second;
    EXPECT_OK(tern_worker_adopt(f.context, 1, &second));
    EXPECT_OK(tern_progress_hook_add(f.context, progress_second, second));
    tern_worker_id other = {next, 1}, from = {previous, 0};
    tern_request post = {0}, left = {0};
    tern_descriptor d;
    EXPECT_OK(tern_post_receive(f.worker, other, 1, memory[f.rank], 8, &post));
    EXPECT_OK(tern_post_receive(f.worker, other, 2, memory[f.rank], 8, &left));
    EXPECT(TERN_ERR_EMPTY, tern_descriptor_test(f.worker, from, TERN_POSTED_ANY, 1, &d));
    EXPECT_OK(tern_descriptor_wait(second, from, TERN_POSTED_ANY, 1, &d));
    expect_descriptor(&d, previous, TERN_POSTED_RECEIVE, 1, 8);
    EXPECT(TERN_ERR_ARGUMENT, tern_wait(second, &post));
    EXPECT_OK(tern_rendezvous_finish(second, &d, 8));
    EXPECT_OK(tern_wait(f.worker, &post));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_progress_hook_remove(f.context, progress_second, second));
    EXPECT_OK(tern_worker_release(second));
    tear_down();
}

static void errors(void) {
    if (!set_up(4096, 1))
        return;
    tern_request post = {0};
    tern_descriptor d, none = {.bytes = 8};
    tern_worker_id bad_rank = {f.size, 0}, bad_index = {0, 1};
    uint64_t moved = 77;
    tern_ptr mine = memory[f.rank], outside = tern_ptr_add(mine, (int64_t)64 << 20);
    EXPECT(TERN_ERR_ARGUMENT, tern_post_receive(NULL, to(0), 0, mine, 8, &post));
    EXPECT(TERN_ERR_ARGUMENT, tern_post_receive(f.worker, to(0), 0, mine, 8, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_post_receive(f.worker, bad_rank, 0, mine, 8, &post));
    EXPECT(TERN_ERR_ARGUMENT, tern_post_send(f.worker, bad_index, 0, mine, 8, &post));
    EXPECT(TERN_ERR_ARGUMENT, tern_post_send(f.worker, TERN_ANY_WORKER, 0, mine, 8, &post));
    EXPECT_DETAIL("there is no worker");
    EXPECT(TERN_ERR_RANGE, tern_post_receive(f.worker, to(0), 0, outside, 8, &post));
    EXPECT(TERN_ERR_RANGE,
           tern_post_send(f.worker, to(0), 0, (tern_ptr){f.rank, 0, 0, 0}, 8, &post));
    EXPECT(TERN_ERR_RANGE, tern_post_receive(f.worker, to(0), 0, mine, (size_t)64 << 20, &post));
    if (f.size > 1) {
        EXPECT(TERN_ERR_ARGUMENT, tern_post_receive(f.worker, to(0), 0, memory[next], 8, &post));
        EXPECT_DETAIL("offer your own");
    }
    EXPECT_OK(tern_wait(f.worker, &post)); /* nothing was started */
    EXPECT(TERN_ERR_ARGUMENT, tern_descriptor_test(NULL, to(0), TERN_POSTED_ANY, 0, &d));
    EXPECT(TERN_ERR_ARGUMENT, tern_descriptor_test(f.worker, to(0), TERN_POSTED_ANY, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_descriptor_test(f.worker, to(0), 0, 0, &d));
    EXPECT(TERN_ERR_ARGUMENT, tern_descriptor_wait(f.worker, to(0), 4, 0, &d));
    EXPECT(TERN_ERR_ARGUMENT, tern_descriptor_wait(f.worker, bad_rank, TERN_POSTED_ANY, 0, &d));
    EXPECT(TERN_ERR_ARGUMENT, tern_rendezvous_finish(f.worker, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_rendezvous_finish(f.worker, &none, 0));
    /* More than was posted; after it the rendezvous can still be finished. */
    EXPECT_OK(tern_post_receive(f.worker, to(next), 0, mine, 8, &post));
    EXPECT_OK(tern_descriptor_wait(f.worker, to(previous), TERN_POSTED_ANY, 0, &d));
    EXPECT(TERN_ERR_RANGE, tern_rendezvous_finish(f.worker, &d, 9));
    EXPECT_DETAIL("has only 8");
    tern_descriptor copy = d;
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 8));
    EXPECT(TERN_ERR_ARGUMENT, tern_rendezvous_finish(f.worker, &d, 8));
    /* Twice, by a copy: its poster is not disturbed. */
    EXPECT_OK(tern_rendezvous_finish(f.worker, &copy, 3));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_wait(f.worker, &post));
    moved = tern_request_result(&post);
    CU_ASSERT_EQUAL(moved, 8);
    /* One whose owner changed what it says. */
    EXPECT_OK(tern_post_receive(f.worker, to(next), 0, mine, 8, &post));
    EXPECT_OK(tern_descriptor_wait(f.worker, to(previous), TERN_POSTED_ANY, 0, &d));
    d.bytes = 100;
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 50));
    EXPECT(TERN_ERR_RANGE, tern_wait(f.worker, &post));
    CU_ASSERT_EQUAL(tern_request_result(&post), 0);
    tear_down();
}

/* What a correct peer never sends is refused and counted. */
static void inject(uint32_t type, const tern_offer *offer, size_t bytes) {
    if (!set_up(4096, 1))
        return;
    tern_request posts[TERN_POSTS_MAX] = {0};
    tern_descriptor d;
    /* Opens the ring, and posts up to the limit. */
    for (size_t i = 0; i < TERN_POSTS_MAX; i++)
        EXPECT_OK(tern_post_receive(f.worker, to(next), 0, TERN_NULL, 0, &posts[i]));
    EXPECT_OK(tern_descriptor_wait(f.worker, to(previous), TERN_POSTED_ANY, 0, &d));
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 0));
    EXPECT_OK(tern_wait(f.worker, &posts[0]));
    if (offer->tag != 99) /* room for one */
        EXPECT_OK(tern_barrier(f.worker));
    else
        EXPECT_OK(tern_post_receive(f.worker, to(next), 0, TERN_NULL, 0, &posts[0]));
    /* Nothing of the above waits for its way any more. */
    while (tern_notify_of(f.worker)->rendezvous->first != NULL)
        (void)tern_progress(f.worker);
    tern_out *out = NULL;
    void *room = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_stats stats = {0};
    tern_status status;
    while ((status = tern_ring_open(f.worker, next, &out)) == TERN_ERR_AGAIN ||
           (status == TERN_OK &&
            (status = tern_ring_reserve(f.worker, out, bytes, &room)) == TERN_ERR_AGAIN))
        (void)tern_progress(f.worker);
    EXPECT_OK(status);
    memset(room, 0, bytes);
    memcpy(room, offer, bytes < sizeof *offer ? bytes : sizeof *offer);
    tern_ring_commit(out, tern_record_header(TERN_RECORD_RENDEZVOUS, type, bytes));
    tern_ring_publish(f.worker, out);
    while (stats.records_malformed == 0 &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK) {
        EXPECT(TERN_ERR_EMPTY,
               tern_descriptor_test(f.worker, TERN_ANY_WORKER, TERN_POSTED_ANY, 99, &d));
        tern_stats_get(f.worker, &stats);
    }
    CU_ASSERT_EQUAL(stats.records_malformed, 1);
    EXPECT_OK(tern_barrier(f.worker));
    tear_down();
}

static void hostile_records(void) {
    const uint32_t rank = (uint32_t)tern_test_rank(), size = (uint32_t)tern_test_size();
    const uint64_t end = TERN_PTR_ORIGIN + ((uint64_t)8 << 20);
    tern_offer good = {1, 99, {rank, 0, 0, TERN_PTR_ORIGIN}, 8}, o = good;
    inject(TERN_END + 1, &good, sizeof good);
    inject(TERN_OFFER_SEND, &good, sizeof good - 8);
    inject(TERN_OFFER_SEND, &good, sizeof good); /* one more than the limit */
    o.tag = 98;
    o.gaddr.offset = end - 7;
    inject(TERN_OFFER_RECEIVE, &o, sizeof o);
    o = (tern_offer){1, 98, {(rank + 1) % size, 0, 0, TERN_PTR_ORIGIN}, 8};
    if (size > 1)
        inject(TERN_OFFER_RECEIVE, &o, sizeof o);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"sizes_and_ways", sizes_and_ways},
        {"matching", matching},
        {"slow_peer", slow_peer},
        {"puts_under_way", puts_under_way},
        {"in_handlers", in_handlers},
        {"workers", workers},
        {"errors", errors},
        {"hostile_records", hostile_records},
    };
    return tern_test_main(argc, argv, "rendezvous", tests, sizeof tests / sizeof tests[0]);
}
