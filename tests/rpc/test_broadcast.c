// tern-test: transports

/* Broadcasts whose buffer is put to a place of every rank before the function runs there. */

#include "call_tools.h"

#include <stdlib.h>

#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"
#include "rpc/call/extended.h"

enum { SLOTS = 2, SLOT = 100000, WORKERS = 2 };

/* What the arguments of every broadcast here say. */
typedef struct {
    uint64_t number; /* of the origin's broadcasts */
    uint64_t bytes;
    uint32_t origin, slot;
    uint32_t spoils; /* the function changes the buffer in its place */
    uint32_t unused;
} notice;

static struct { uint64_t wrong, run; } heard;
static unsigned char *mine; /* this rank's places: by origin, SLOTS of SLOT bytes */

static unsigned char byte_of(const notice *n, uint64_t i) {
    return (unsigned char)(n->origin * 5 + n->number * 11 + n->bytes + i * 7 + i / 251);
}

static uint64_t differences(const unsigned char *at, const notice *n) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n->bytes; i++)
        wrong += at[i] != byte_of(n, i);
    return wrong;
}

static uint64_t slot_of(const notice *n) { return (uint64_t)(n->origin * SLOTS + n->slot) * SLOT; }

static tern_status hear(tern_call_info *call, const void *arguments, size_t bytes) {
    notice n;
    memcpy(&n, arguments, sizeof n);
    unsigned char *place = mine + slot_of(&n);
    heard.wrong += bytes != sizeof n || call->origin.rank != n.origin || call->buffer != place ||
                   call->buffer_bytes != n.bytes;
    heard.wrong += differences(place, &n);
    if (n.spoils)
        memset(place, 255, n.bytes);
    heard.run++;
    return TERN_OK;
}
TERN_FUNCTION(hear)

typedef struct {
    fixture f;
    tern_ptr places[RANKS];
    tern_synchronizer s;
    unsigned char *source; /* SLOT bytes */
} hall;

static bool open_hall(hall *h, size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)2 << 20;
    config.ring_size = 16384;
    config.ring_growth = 2;
    config.workers = workers;
    if (!fixture_open(&h->f, &config))
        return false;
    fixture_alloc_all(&h->f, (size_t)h->f.size * SLOTS * SLOT, TERN_DOMAIN_GLOBAL, h->places);
    bool alike = true;
    for (uint32_t r = 0; r < h->f.size; r++)
        alike = alike && h->places[r].offset == h->places[0].offset;
    CU_ASSERT(alike);
    mine = tern_local(h->f.context, h->places[h->f.rank]);
    EXPECT_OK(tern_synchronizer_create(h->f.worker, &h->s));
    h->source = malloc(SLOT);
    memset(&heard, 0, sizeof heard);
    EXPECT_OK(tern_barrier(h->f.worker));
    return alike && h->source != NULL;
}

static void close_hall(hall *h) {
    EXPECT_OK(tern_quiesce(h->f.worker));
    CU_ASSERT_EQUAL(heard.wrong, 0);
    EXPECT_OK(tern_synchronizer_destroy(h->f.worker, &h->s));
    fixture_free_all(&h->f, h->places);
    fixture_close(&h->f);
    free(h->source);
}

static tern_status tell(hall *h, const notice *n, uint32_t arity, tern_notify_on notify) {
    for (uint64_t i = 0; i < n->bytes; i++)
        h->source[i] = byte_of(n, i);
    tern_call_options options = {.synchronizer = &h->s,
                                 .notify = notify,
                                 .transfer = TERN_BUFFER_PUT,
                                 .buffer = h->source,
                                 .place = tern_ptr_add(h->places[0], (int64_t)slot_of(n)),
                                 .buffer_bytes = n->bytes,
                                 .arity = arity};
    tern_status status = tern_call_all(h->f.worker, &hear_function, n, sizeof *n, &options);
    memset(h->source, 0xee, SLOT); /* it may be reused at once */
    return status;
}

/* Sizes at which something begins or ends, and others. */
static uint64_t some_size(uint64_t *random) {
    static const uint64_t edges[] = {0, 1, 7, 8, 4096, 32768, 32769, 65536, SLOT - 1, SLOT};
    uint64_t i = below(random, 2 * sizeof edges / sizeof edges[0]);
    return i < sizeof edges / sizeof edges[0] ? edges[i] : below(random, 3000);
}

/* A network that lets puts of buffers lie until they are flushed, while the frames with the calls
 * pass them. */
static struct {
    uint32_t count;
    struct {
        const void *from;
        uint64_t offset, bytes;
        uint32_t rank;
    } put[64];
} late;

static bool hold_back(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                      uint64_t bytes) {
    uintptr_t at = (uintptr_t)from - (uintptr_t)mine;
    if (at >= (uintptr_t)worker->context->size * SLOTS * SLOT || late.count == 64)
        return false;
    late.put[late.count].from = from;
    late.put[late.count].offset = offset;
    late.put[late.count].bytes = bytes;
    late.put[late.count++].rank = rank;
    return true;
}

static void let_go(tern_worker *worker, uint32_t rank) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < late.count; i++) {
        if (late.put[i].rank != rank)
            late.put[left++] = late.put[i];
        else
            heard.wrong += tern_window_put(worker, rank, late.put[i].offset, late.put[i].from,
                                           late.put[i].bytes) != MPI_SUCCESS;
    }
    late.count = left;
}

/* Every rank at once, each two broadcasts to different places of its own. */
static void all_at_once(size_t workers, bool lately) {
    static const tern_put_hook hook = {.put = hold_back, .flush = let_go};
    hall h;
    if (!open_hall(&h, workers))
        return;
    if (lately && fixture_uses_rma(&h.f))
        tern_window_set_hook(tern_rma_of(h.f.context)->window, &hook);
    uint64_t random = fixture_seed(&h.f, 80 + workers);
    int rounds = fixture_times(&h.f, 60);
    for (int i = 0; i < rounds; i++) {
        notice told[SLOTS];
        memset(mine, 0, (size_t)h.f.size * SLOTS * SLOT);
        EXPECT_OK(tern_barrier(h.f.worker));
        for (uint32_t k = 0; k < SLOTS; k++) {
            told[k] = (notice){.number = (uint64_t)i * SLOTS + k,
                               .bytes = some_size(&random),
                               .origin = h.f.rank,
                               .slot = k};
            EXPECT_OK(tell(&h, &told[k], (uint32_t)below(&random, 4),
                           below(&random, 2) == 0 ? TERN_ON_SENT : TERN_ON_EXECUTED));
        }
        /* The second worker of each process has no thread: quiesce makes progress for it. */
        EXPECT_OK(tern_quiesce(h.f.worker));
        EXPECT_OK(tern_synchronizer_wait(h.f.worker, h.s));
        CU_ASSERT_EQUAL(heard.run, (uint64_t)(i + 1) * SLOTS * h.f.size * workers);
        notice all[RANKS * SLOTS];
        fixture_share(&h.f, told, sizeof told, all);
        for (uint32_t k = 0; k < h.f.size * SLOTS; k++) {
            const unsigned char *place = mine + slot_of(&all[k]);
            CU_ASSERT_EQUAL(differences(place, &all[k]), 0);
            uint64_t beyond = 0;
            for (uint64_t b = all[k].bytes; b < SLOT; b++)
                beyond += place[b] != 0;
            CU_ASSERT_EQUAL(beyond, 0);
        }
    }
    close_hall(&h);
}

static void one_worker(void) { all_at_once(1, true); }

static void two_workers(void) { all_at_once(WORKERS, false); }

/* A buffer that lies in its place already. */
static void tell_in_place(hall *h) {
    notice n = {.bytes = SLOT, .origin = h->f.rank, .slot = 1};
    unsigned char *place = mine + slot_of(&n);
    for (uint64_t i = 0; i < n.bytes; i++)
        place[i] = byte_of(&n, i);
    tern_call_options options = {.transfer = TERN_BUFFER_PUT,
                                 .buffer = place,
                                 .place = tern_ptr_add(h->places[0], (int64_t)slot_of(&n)),
                                 .buffer_bytes = n.bytes};
    EXPECT_OK(tern_call_all(h->f.worker, &hear_function, &n, sizeof n, &options));
}

/* What the function does to the buffer stays on its rank; a wait for the synchronizer is enough,
 * and then the place is free again. */
static void spoiled(void) {
    hall h;
    if (!open_hall(&h, 1))
        return;
    tell_in_place(&h);
    int rounds = fixture_times(&h.f, 100);
    for (int i = 0; i < rounds; i++) {
        notice n = {.number = (uint64_t)i, .bytes = 5000, .origin = h.f.rank, .spoils = 1};
        EXPECT_OK(tell(&h, &n, 1 + (uint32_t)i % 3, TERN_ON_EXECUTED));
        EXPECT_OK(tern_synchronizer_wait(h.f.worker, h.s));
    }
    EXPECT_OK(tern_quiesce(h.f.worker));
    CU_ASSERT_EQUAL(heard.run, (uint64_t)(rounds + 1) * h.f.size);
    close_hall(&h);
}

/* Handlers may broadcast so, over every transport. */
static hall *public_hall;

static tern_status pass_word(tern_call_info *call, const void *arguments, size_t bytes) {
    notice n;
    memcpy(&n, arguments, sizeof n);
    heard.wrong += bytes != sizeof n;
    n.origin = tern_worker_self(call->worker).rank;
    return tell(public_hall, &n, 0, TERN_ON_EXECUTED);
}
TERN_FUNCTION(pass_word)

static void from_handlers(void) {
    hall h;
    if (!open_hall(&h, 1))
        return;
    public_hall = &h;
    EXPECT_OK(tern_barrier(h.f.worker));
    int rounds = fixture_times(&h.f, 40);
    for (int i = 0; i < rounds; i++) {
        notice n = {.number = (uint64_t)i, .bytes = (uint64_t)i * 997 % SLOT};
        EXPECT_OK(tern_call(h.f.worker, to((h.f.rank + 1) % h.f.size), &pass_word_function, &n,
                            sizeof n));
        EXPECT_OK(tern_quiesce(h.f.worker));
        EXPECT_OK(tern_synchronizer_wait(h.f.worker, h.s));
        CU_ASSERT_EQUAL(heard.run, (uint64_t)(i + 1) * h.f.size);
        EXPECT_OK(tern_barrier(h.f.worker));
    }
    close_hall(&h);
}

/* A record that no tern writes: its function does not run, on this rank or on those below, and
 * nothing is read or written. */
static void no_such_place(hall *h) {
    tern_log_level quiet = tern_context_config(h->f.context)->log_level;
    tern_log_set_level(TERN_LOG_NONE);
    EXPECT_OK(tern_barrier(h->f.worker));
    tern_extension e = {.gaddr = tern_ptr_add(h->places[0], (int64_t)1 << 40),
                        .buffer_bytes = 64,
                        .origin = h->f.rank,
                        .transfer = TERN_BUFFER_PUT,
                        .arity = 2};
    tern_passing passing = {0};
    tern_rpc *rpc = tern_rpc_of(h->f.context);
    uint32_t id = tern_record_id(rpc->header[hear_function.id]);
    while (!tern_broadcast_pass(h->f.worker, &e, id, NULL, 0, true, &passing))
        tern_progress(h->f.worker);
    CU_ASSERT_EQUAL(passing.put, 0);
    EXPECT_OK(tern_quiesce(h->f.worker));
    tern_log_set_level(quiet);
    tern_stats stats;
    tern_stats_get(h->f.worker, &stats);
    CU_ASSERT_EQUAL(heard.run, 0);
    CU_ASSERT_EQUAL(stats.calls_refused, h->f.size - 1);
}

/* Nothing is written, sent or counted. */
static void refusals(void) {
    hall h;
    if (!open_hall(&h, 1))
        return;
    const tern_function *fn = &hear_function;
    unsigned char before = mine[0];
    uint64_t left = 9;
    tern_call_options o = {.synchronizer = &h.s, .transfer = TERN_BUFFER_PUT, .buffer_bytes = 8};
    o.buffer = h.source;
    EXPECT(TERN_ERR_RANGE, tern_call_all(h.f.worker, fn, NULL, 0, &o));
    EXPECT_DETAIL("offset 0");
    o.place = tern_ptr_add(h.places[0], (int64_t)1 << 32);
    EXPECT(TERN_ERR_RANGE, tern_call_all(h.f.worker, fn, NULL, 0, &o));
    o.place = h.places[0];
    o.buffer_bytes = (size_t)1 << 29;
    EXPECT(TERN_ERR_RANGE, tern_call_all(h.f.worker, fn, NULL, 0, &o));
    o.buffer_bytes = (size_t)TERN_BUFFER_MAX + 1;
    EXPECT(TERN_ERR_RANGE, tern_call_all(h.f.worker, fn, NULL, 0, &o));
    o.buffer_bytes = 8;
    o.place.segment = 1;
    EXPECT(TERN_ERR_RANGE, tern_call_all(h.f.worker, fn, NULL, 0, &o));
    o.place.segment = 0;
    o.buffer = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_call_all(h.f.worker, fn, NULL, 0, &o));
    o.buffer = h.source;
    EXPECT(TERN_ERR_ARGUMENT, tern_call_all(NULL, fn, NULL, 0, &o));
    EXPECT_OK(tern_synchronizer_test(h.f.worker, h.s, &left));
    CU_ASSERT_EQUAL(left, 0);
    CU_ASSERT_EQUAL(mine[0], before);
    EXPECT_OK(tern_quiesce(h.f.worker));
    CU_ASSERT_EQUAL(heard.run, 0);
    no_such_place(&h);
    close_hall(&h);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"refusals", refusals}, {"one worker", one_worker},       {"two workers", two_workers},
        {"spoiled", spoiled},   {"from handlers", from_handlers},
    };
    return tern_test_main(argc, argv, "broadcast", tests, sizeof tests / sizeof tests[0]);
}
