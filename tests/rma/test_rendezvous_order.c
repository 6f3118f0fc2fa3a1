// tern-test: transports

/*
 * Rendezvous against a model: every rank offers every rank a stream of buffers whose kind, tag,
 * size and content follow from the two ranks and a number. Each side takes, fills, reads, finishes
 * and waits in an order of its own, and knows what every descriptor and every end has to be.
 */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

enum { RANKS = 8, TAGS = 3, POSTS = 12, TAKEN = 10, MOST = 1 << 20 };

typedef struct {
    unsigned which;
    unsigned tag; /* which of the tags */
    size_t bytes, moved;
} offer;

static struct {
    fixture f;
    uint64_t times, random, wrong;
    unsigned char *data;
    struct {
        /* Offers of this rank to it: so many made, and those that are open. */
        uint64_t made;
        struct {
            tern_request post;
            tern_ptr buffer;
            uint64_t n; /* + 1; 0: free */
        } open[POSTS];
        /* Its offers: the next of each tag and kind, and how many were finished. */
        uint64_t due[TAGS][2], finished;
    } with[RANKS];
    struct {
        tern_descriptor d;
        uint64_t n;
    } taken[TAKEN];
    size_t taken_count;
} model;

static const uint64_t tags[TAGS] = {0, 77, UINT64_MAX};

static unsigned char letter(uint32_t writer, uint32_t poster, uint64_t n, size_t i) {
    return (unsigned char)(writer * 17 + poster * 59 + n * 31 + i * 13 + (i >> 8));
}

static offer nth(uint32_t poster, uint32_t peer, uint64_t n) {
    static const size_t sizes[] = {0, 1, 8, 127, 1280, 1281, 4096, 65536};
    uint64_t state = ((uint64_t)poster << 32 | peer) * 1000003 + n + tern_test_seed() * 77;
    offer o = {.which = 1 + (unsigned)below(&state, 2), .tag = (unsigned)below(&state, TAGS)};
    uint64_t dice = below(&state, 64);
    o.bytes = dice == 0   ? MOST - below(&state, 3)
              : dice < 32 ? sizes[below(&state, sizeof sizes / sizeof *sizes)]
                          : below(&state, 3000);
    o.moved = below(&state, 4) == 0 ? below(&state, o.bytes + 1) : o.bytes;
    return o;
}

/* The next number from n on with this tag and kind. */
static uint64_t find(uint32_t poster, uint64_t n, unsigned tag, unsigned which) {
    for (; n < model.times; n++) {
        offer o = nth(poster, model.f.rank, n);
        if (o.tag == tag && (o.which & which) != 0)
            break;
    }
    return n;
}

static size_t differ(const unsigned char *at, uint32_t writer, uint32_t poster, uint64_t n,
                     size_t bytes) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += at[i] != letter(writer, poster, n, i);
    return wrong;
}

static void make_offer(uint32_t peer) {
    uint64_t n = model.with[peer].made;
    size_t at = 0;
    while (at < POSTS && model.with[peer].open[at].n != 0)
        at++;
    if (n == model.times || at == POSTS)
        return;
    offer o = nth(model.f.rank, peer, n);
    tern_ptr buffer = TERN_NULL;
    if (o.bytes > 0 &&
        tern_alloc(model.f.worker, o.bytes, 0, TERN_DOMAIN_GLOBAL, &buffer) != TERN_OK)
        return; /* later, when others are free */
    unsigned char *local = o.bytes > 0 ? tern_local(model.f.context, buffer) : NULL;
    for (size_t i = 0; i < o.bytes; i++)
        local[i] = o.which == TERN_POSTED_SEND ? letter(model.f.rank, model.f.rank, n, i) : 0xdd;
    model.with[peer].open[at].buffer = buffer;
    model.with[peer].open[at].n = n + 1;
    model.with[peer].made++;
    EXPECT_OK((o.which == TERN_POSTED_SEND ? tern_post_send : tern_post_receive)(
        model.f.worker, (tern_worker_id){peer, 0}, tags[o.tag], buffer, o.bytes,
        &model.with[peer].open[at].post));
}

/* Looks at one open offer to peer. */
static int meet_end(uint32_t peer, size_t at) {
    tern_request *post = &model.with[peer].open[at].post;
    uint64_t n = model.with[peer].open[at].n - 1;
    int done = 0;
    if (model.with[peer].open[at].n == 0)
        return 0;
    EXPECT_OK(tern_test(model.f.worker, post, &done));
    if (done == 0)
        return 0;
    EXPECT_OK(tern_wait(model.f.worker, post));
    offer o = nth(model.f.rank, peer, n);
    tern_ptr buffer = model.with[peer].open[at].buffer;
    const unsigned char *local = o.bytes > 0 ? tern_local(model.f.context, buffer) : NULL;
    uint32_t writer = o.which == TERN_POSTED_SEND ? model.f.rank : peer;
    model.wrong += tern_request_result(post) != o.moved;
    model.wrong +=
        differ(local, writer, model.f.rank, n, o.which == TERN_POSTED_SEND ? o.bytes : o.moved);
    for (size_t i = o.moved; i < o.bytes && o.which == TERN_POSTED_RECEIVE; i++)
        model.wrong += local[i] != 0xdd;
    EXPECT_OK(tern_free(model.f.worker, buffer));
    model.with[peer].open[at].n = 0;
    return 1;
}

static int take(void) {
    const fixture *f = &model.f;
    unsigned which = 1 + (unsigned)below(&model.random, 3);
    unsigned tag = (unsigned)below(&model.random, TAGS);
    bool any = below(&model.random, 2) == 0;
    tern_worker_id source = {(uint32_t)below(&model.random, f->size), 0};
    tern_descriptor d;
    if (model.taken_count == TAKEN)
        return 0;
    tern_status status =
        tern_descriptor_test(f->worker, any ? TERN_ANY_WORKER : source, which, tags[tag], &d);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
    if (status != TERN_OK)
        return 0;
    uint32_t poster = d.peer.rank;
    model.wrong += d.peer.index != 0 || poster >= f->size || (!any && poster != source.rank) ||
                   d.tag != tags[tag] || (d.which & which) == 0 || d.which > 2;
    if (model.wrong > 0)
        return 0;
    uint64_t *due = model.with[poster].due[tag], *mine = &due[d.which - 1];
    uint64_t n = find(poster, *mine, tag, d.which);
    /* Of both kinds the one that was posted first. */
    if (which == TERN_POSTED_ANY)
        model.wrong += find(poster, due[2 - d.which], tag, 3 - d.which) < n;
    offer o = nth(poster, f->rank, n);
    *mine = n + 1;
    model.wrong += n == model.times || d.bytes != o.bytes;
    model.taken[model.taken_count].d = d;
    model.taken[model.taken_count++].n = n;
    return 1;
}

static void move(const tern_descriptor *d, uint64_t n, size_t bytes) {
    const fixture *f = &model.f;
    uint64_t way = below(&model.random, 3);
    bool send = d->which == TERN_POSTED_SEND;
    tern_event event;
    for (size_t i = 0; i < bytes; i++)
        model.data[i] = send ? 0 : letter(f->rank, d->peer.rank, n, i);
    if (way == 0 || bytes == 0)
        EXPECT_OK(send ? tern_get(f->worker, model.data, d->place, bytes)
                       : tern_put(f->worker, d->place, model.data, bytes));
    else
        EXPECT_OK(send ? tern_get_notify(
                             f->worker, d->peer, model.data, d->place, bytes,
                             &(tern_notify_options){.local_cid = n, .flags = TERN_NOTIFY_NO_REMOTE})
                       : tern_put_notify(f->worker, d->peer, d->place, model.data, bytes,
                                         &(tern_notify_options){.local_cid = n,
                                                                .flags = TERN_NOTIFY_NO_REMOTE}));
    if (way != 0 && bytes > 0) {
        memset(&event, 0, sizeof event);
        EXPECT_OK(tern_event_wait(f->worker, TERN_PROBE_LOCAL, &event));
        model.wrong += event.local_cid != n || event.status != TERN_OK;
    }
    if (send)
        model.wrong += differ(model.data, d->peer.rank, d->peer.rank, n, bytes);
}

static int finish_one(void) {
    if (model.taken_count == 0)
        return 0;
    size_t at = (size_t)below(&model.random, model.taken_count);
    tern_descriptor d = model.taken[at].d;
    uint64_t n = model.taken[at].n;
    model.taken[at] = model.taken[--model.taken_count];
    uint32_t poster = d.peer.rank;
    offer o = nth(poster, model.f.rank, n);
    move(&d, n, o.moved);
    EXPECT_OK(tern_rendezvous_finish(model.f.worker, &d, o.moved));
    model.with[poster].finished++;
    return 1;
}

static bool over(void) {
    for (uint32_t r = 0; r < model.f.size; r++) {
        if (model.with[r].made < model.times || model.with[r].finished < model.times)
            return false;
        for (size_t at = 0; at < POSTS; at++)
            if (model.with[r].open[at].n != 0)
                return false;
    }
    return true;
}

static bool wrong_anywhere(void) {
    uint64_t any = model.wrong != 0;
    EXPECT_OK(tern_team_allreduce(model.f.worker, NULL, TERN_UINT64, TERN_REDUCE_MAX, &any, 1));
    return any != 0;
}

static void play(size_t ring_size, int times) {
    tern_config config;
    memset(&model, 0, sizeof model);
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)64 << 20;
    config.ring_size = ring_size;
    if (!fixture_open(&model.f, &config))
        return;
    fixture *f = &model.f;
    model.times = (uint64_t)fixture_times(f, times);
    model.random = fixture_seed(f, 31);
    model.data = malloc(MOST);
    EXPECT_OK(tern_barrier(f->worker));
    double start = MPI_Wtime();
    while (!over() && model.wrong == 0 && MPI_Wtime() - start < 50) {
        int met = 0;
        for (uint64_t k = below(&model.random, 12); k > 0; k--)
            make_offer((uint32_t)below(&model.random, f->size));
        for (uint64_t k = below(&model.random, 12); k > 0; k--)
            met += take();
        for (uint64_t k = below(&model.random, 8); k > 0; k--)
            met += finish_one();
        for (uint64_t k = below(&model.random, 20); k > 0; k--)
            met += meet_end((uint32_t)below(&model.random, f->size),
                            (size_t)below(&model.random, POSTS));
        if (met == 0)
            sched_yield();
    }
    CU_ASSERT(over());
    CU_ASSERT_EQUAL(model.wrong, 0);
    tern_event event;
    tern_descriptor d;
    if (!wrong_anywhere()) {
        EXPECT(TERN_ERR_EMPTY, tern_probe(f->worker, TERN_PROBE_ANY, &event));
        for (size_t t = 0; t < TAGS; t++)
            EXPECT(TERN_ERR_EMPTY,
                   tern_descriptor_test(f->worker, TERN_ANY_WORKER, TERN_POSTED_ANY, tags[t], &d));
    }
    EXPECT_OK(tern_barrier(f->worker));
    fixture_close(f);
    free(model.data);
}

static void random_rendezvous(void) { play(64 << 10, 1200); }

/* Rings that are nearly always full. */
static void through_small_rings(void) { play(4096, 400); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"random_rendezvous", random_rendezvous},
        {"through_small_rings", through_small_rings},
    };
    return tern_test_main(argc, argv, "rendezvous_order", tests, sizeof tests / sizeof tests[0]);
}
