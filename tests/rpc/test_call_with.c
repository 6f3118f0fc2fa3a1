// tern-test: transports

/* Calls with synchronizers and buffers, and broadcasts. */

#include "call_tools.h"

#include <stdlib.h>

enum { SLOTS = 8, SLOT = 40000, WORKERS = 2 };

/* What the arguments of every call here say. */
typedef struct {
    uint64_t number; /* of its pair, or of its broadcast */
    uint64_t bytes;  /* of its buffer */
    uint32_t transfer, in_order;
    uint32_t again; /* how often its function asks for another time */
    uint32_t origin;
} letter;

static struct { uint64_t next[RANKS], wrong, run, late, again; } got;

/* In the segment, for a rank that looks without a call; or NULL. */
static uint64_t *tally;

static unsigned char at(const letter *l, uint64_t i) {
    return (unsigned char)(l->origin * 5 + l->number * 3 + l->bytes + i * 7);
}

static void fill(unsigned char *buffer, const letter *l) {
    for (uint64_t i = 0; i < l->bytes; i++)
        buffer[i] = at(l, i);
}

static tern_status read_letter(tern_call_info *call, const void *arguments, size_t bytes) {
    letter l;
    memcpy(&l, arguments, sizeof l);
    const unsigned char *buffer = call->buffer;
    if (got.again < l.again) {
        got.again++;
        return TERN_ERR_AGAIN;
    }
    got.again = 0;
    got.wrong +=
        bytes != sizeof l || call->origin.rank != l.origin || call->buffer_bytes != l.bytes;
    for (uint64_t i = 0; i < l.bytes && buffer != NULL; i++)
        got.wrong += buffer[i] != at(&l, i);
    got.wrong += l.bytes > 0 && buffer == NULL;
    if (l.in_order)
        got.wrong += l.number != got.next[l.origin]++;
    got.run++;
    if (tally != NULL)
        __atomic_fetch_add(tally, 1, __ATOMIC_RELAXED);
    return TERN_OK;
}
TERN_FUNCTION(read_letter)

typedef struct {
    fixture f;
    tern_ptr from[RANKS], places[RANKS]; /* by rank: SLOTS times SLOT bytes */
    tern_synchronizer s, sent;
} post;

static bool open_post(post *p, size_t workers, tern_publish policy) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)2 << 20;
    config.ring_size = 16384;
    config.ring_growth = 2;
    config.workers = workers;
    config.publish = policy;
    if (!fixture_open(&p->f, &config))
        return false;
    fixture_alloc_all(&p->f, (size_t)SLOTS * SLOT, TERN_DOMAIN_GLOBAL, p->from);
    fixture_alloc_all(&p->f, (size_t)SLOTS * SLOT, TERN_DOMAIN_GLOBAL, p->places);
    EXPECT_OK(tern_synchronizer_create(p->f.worker, &p->s));
    EXPECT_OK(tern_synchronizer_create(p->f.worker, &p->sent));
    memset(&got, 0, sizeof got);
    return EXPECT_OK(tern_barrier(p->f.worker));
}

static void close_post(post *p) {
    EXPECT_OK(tern_quiesce(p->f.worker));
    CU_ASSERT_EQUAL(got.wrong, 0);
    uint64_t left = 99;
    EXPECT_OK(tern_synchronizer_test(p->f.worker, p->s, &left));
    CU_ASSERT_EQUAL(left, 0);
    EXPECT_OK(tern_synchronizer_test(p->f.worker, p->sent, &left));
    CU_ASSERT_EQUAL(left, 0);
    EXPECT_OK(tern_synchronizer_destroy(p->f.worker, &p->s));
    EXPECT_OK(tern_synchronizer_destroy(p->f.worker, &p->sent));
    fixture_free_all(&p->f, p->from);
    fixture_free_all(&p->f, p->places);
    fixture_close(&p->f);
}

/* Sends a letter, by one of the slots for buffers that are fetched or placed. */
static void post_letter(post *p, uint32_t r, letter *l, uint32_t slot, const tern_synchronizer *s,
                        tern_notify_on notify, bool placed) {
    static unsigned char memory[SLOT];
    bool gets = l->transfer >= TERN_BUFFER_GET;
    unsigned char *buffer =
        gets ? (unsigned char *)tern_local(p->f.context, p->from[p->f.rank]) + slot * SLOT : memory;
    fill(buffer, l);
    tern_call_options options = {.synchronizer = s,
                                 .notify = notify,
                                 .transfer = (tern_buffer_transfer)l->transfer,
                                 .buffer = memory,
                                 .from = tern_ptr_add(p->from[p->f.rank], slot * SLOT),
                                 .buffer_bytes = l->bytes};
    /* Of a target's slots each origin has its own. */
    if (placed || l->transfer == TERN_BUFFER_PUT)
        options.place = tern_ptr_add(p->places[r], p->f.rank % SLOTS * SLOT);
    EXPECT_OK(tern_call_with(p->f.worker, to(r), &read_letter_function, l, sizeof *l, &options));
}

/* Every transfer, sizes and places at random; in order but for those got aside, once each. */
static void transfers(tern_publish policy) {
    post p;
    if (!open_post(&p, 1, policy))
        return;
    uint64_t random = fixture_seed(&p.f, 70), sent[RANKS] = {0}, made[RANKS] = {0};
    int times = fixture_times(&p.f, 600);
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, p.f.size);
        uint64_t most[] = {0, 4000, SLOT, SLOT, SLOT};
        letter l = {.transfer = (uint32_t)below(&random, 5), .origin = p.f.rank};
        l.bytes = below(&random,
                        below(&random, 4) == 0 ? most[l.transfer] + 1 : most[l.transfer] / 50 + 1);
        l.in_order = l.transfer != TERN_BUFFER_GET_ASIDE;
        l.number = l.in_order ? sent[r]++ : below(&random, 1000);
        l.again = below(&random, 20) == 0 && l.in_order && p.f.size == 1;
        made[r]++;
        /* A slot is not written again before its call has left or has run. */
        uint32_t slot = (uint32_t)i % SLOTS;
        if (slot == 0) {
            EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.sent));
            EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.s));
        }
        bool placed = l.transfer == TERN_BUFFER_GET && below(&random, 2) == 0;
        bool leaves = below(&random, 2) == 0;
        /* Nobody waits for some of those that come as a whole. */
        bool counted = l.transfer > TERN_BUFFER_INSIDE || below(&random, 2) == 0;
        /* Places are written once at a time. */
        if (placed || l.transfer == TERN_BUFFER_PUT) {
            EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.s));
            leaves = false;
        }
        post_letter(&p, r, &l, slot,
                    !counted ? NULL
                    : leaves ? &p.sent
                             : &p.s,
                    leaves ? TERN_ON_SENT : TERN_ON_EXECUTED, placed);
    }
    EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.sent));
    EXPECT_OK(tern_quiesce(p.f.worker));
    uint64_t *all = calloc((size_t)p.f.size * RANKS, sizeof *all), due = 0;
    fixture_share(&p.f, made, sizeof made, all);
    for (uint32_t r = 0; r < p.f.size; r++)
        due += all[r * RANKS + p.f.rank];
    CU_ASSERT_EQUAL(got.run, due);
    free(all);
    close_post(&p);
}

static void transfers_at_once(void) { transfers(TERN_PUBLISH_WRITE); }

static void transfers_gathered(void) { transfers(TERN_PUBLISH_BATCHED); }

static void transfers_kept(void) { transfers(TERN_PUBLISH_SPILL); }

static const uint32_t argument_sizes[] = {0, 1, 7, 8, 9, 40}, buffer_sizes[] = {0, 1, 8, 9, 333};
enum { ARGUMENTS = 6, BUFFERS = 5, SIZES = ARGUMENTS * BUFFERS };

/* The calls of each origin come in order, so their number says what they bring. */
static tern_status read_sizes(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number = got.next[call->origin.rank];
    size_t own = argument_sizes[number / BUFFERS % ARGUMENTS],
           more = buffer_sizes[number % BUFFERS];
    const unsigned char *argument = arguments, *buffer = call->buffer;
    if (number % 7 == 0 && got.again++ == 0)
        return TERN_ERR_AGAIN;
    got.again = 0;
    got.next[call->origin.rank]++;
    got.run++;
    if (bytes != own || call->buffer_bytes != more) {
        got.wrong++;
        return TERN_OK;
    }
    for (size_t i = 0; i < own; i++)
        got.wrong += argument[i] != (unsigned char)(number + i);
    for (size_t i = 0; i < more; i++)
        got.wrong += buffer[i] != (unsigned char)(number * 3 + i);
    return TERN_OK;
}
TERN_FUNCTION(read_sizes)

/* Arguments and buffers of all sizes together, whatever a full ring does to them. */
static void sizes(tern_publish policy) {
    post p;
    unsigned char arguments[40], buffer[333];
    if (!open_post(&p, 1, policy))
        return;
    uint64_t times = (uint64_t)fixture_times(&p.f, 20 * SIZES);
    for (uint64_t number = 0; number < times; number++) {
        for (size_t i = 0; i < sizeof arguments; i++)
            arguments[i] = (unsigned char)(number + i);
        for (size_t i = 0; i < sizeof buffer; i++)
            buffer[i] = (unsigned char)(number * 3 + i);
        size_t own = argument_sizes[number / BUFFERS % ARGUMENTS];
        const tern_call_options options = {.full = (tern_full)(number / SIZES % 3),
                                           .transfer = TERN_BUFFER_INSIDE,
                                           .buffer = buffer,
                                           .buffer_bytes = buffer_sizes[number % BUFFERS]};
        tern_status status;
        while ((status = tern_call_with(p.f.worker, to((p.f.rank + 1) % p.f.size),
                                        &read_sizes_function, arguments, own, &options)) ==
               TERN_ERR_AGAIN)
            (void)tern_progress(p.f.worker);
        EXPECT_OK(status);
        memset(buffer, 0, sizeof buffer); /* it was copied */
    }
    EXPECT_OK(tern_quiesce(p.f.worker));
    CU_ASSERT_EQUAL(got.run, times);
    close_post(&p);
}

static void sizes_at_once(void) { sizes(TERN_PUBLISH_WRITE); }

static void sizes_gathered(void) { sizes(TERN_PUBLISH_BATCHED); }

/* A wait for a synchronizer is enough: what it counts has run, without any other collective. */
static void executed(void) {
    post p;
    if (!open_post(&p, 1, TERN_PUBLISH_BATCHED))
        return;
    uint32_t next = (p.f.rank + 1) % p.f.size;
    tally = tern_local(p.f.context, p.places[p.f.rank]);
    EXPECT_OK(tern_barrier(p.f.worker));
    letter l = {.origin = p.f.rank, .in_order = 1};
    tern_call_options options = {.synchronizer = &p.s};
    int rounds = fixture_times(&p.f, 100);
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 10; k++, l.number++)
            EXPECT_OK(tern_call_with(p.f.worker, to(next), &read_letter_function, &l, sizeof l,
                                     &options));
        uint64_t left = 0;
        EXPECT_OK(tern_synchronizer_test(p.f.worker, p.s, &left));
        CU_ASSERT(left <= 10);
        EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.s));
        uint64_t run = 0;
        EXPECT_OK(tern_get(p.f.worker, &run, p.places[next], sizeof run));
        CU_ASSERT_EQUAL(run, l.number);
    }
    EXPECT_OK(tern_barrier(p.f.worker));
    tally = NULL;
    close_post(&p);
}

/* Handlers may make such calls too, and lower what others wait for. */
static tern_status pass_letter(tern_call_info *call, const void *arguments, size_t bytes) {
    letter l;
    tern_synchronizer s;
    memcpy(&l, arguments, sizeof l);
    memcpy(&s, (const char *)arguments + sizeof l, sizeof s);
    got.wrong += bytes != sizeof l + sizeof s;
    tern_status status = l.again == 0 ? TERN_OK : tern_synchronizer_lower(call->worker, s, l.again);
    if (status != TERN_OK)
        return status;
    unsigned char buffer[500];
    fill(buffer, &l);
    tern_call_options options = {
        .transfer = TERN_BUFFER_INSIDE, .buffer = buffer, .buffer_bytes = l.bytes};
    l.origin = tern_worker_self(call->worker).rank;
    fill(buffer, &l);
    l.again = 0;
    return tern_call_with(call->worker, call->origin, &read_letter_function, &l, sizeof l,
                          &options);
}
TERN_FUNCTION(pass_letter)

static void from_handlers(void) {
    post p;
    if (!open_post(&p, 1, TERN_PUBLISH_WRITE))
        return;
    uint64_t random = fixture_seed(&p.f, 71);
    char arguments[sizeof(letter) + sizeof p.s];
    int times = fixture_times(&p.f, 300);
    for (int i = 0; i < times; i++) {
        letter l = {.bytes = below(&random, 500), .again = (uint32_t)below(&random, 3)};
        memcpy(arguments, &l, sizeof l);
        memcpy(arguments + sizeof l, &p.s, sizeof p.s);
        if (l.again > 0)
            EXPECT_OK(tern_synchronizer_raise(p.f.worker, p.s, l.again));
        EXPECT_OK(tern_call(p.f.worker, to((uint32_t)below(&random, p.f.size)),
                            &pass_letter_function, arguments, sizeof arguments));
    }
    EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.s));
    EXPECT_OK(tern_quiesce(p.f.worker));
    CU_ASSERT_EQUAL(got.run, (uint64_t)times);
    close_post(&p);
}

/* Broadcasts of every rank at once, over trees of any arity, reach every worker once. */
static void broadcasts(void) {
    post p;
    if (!open_post(&p, WORKERS, TERN_PUBLISH_WRITE))
        return;
    uint64_t random = fixture_seed(&p.f, 72);
    int rounds = fixture_times(&p.f, 60);
    for (int i = 0; i < rounds; i++) {
        letter l = {
            .transfer = (uint32_t)below(&random, 5), .origin = p.f.rank, .number = (uint64_t)i};
        if (l.transfer == TERN_BUFFER_PUT) /* tests/rpc/test_broadcast.c */
            l.transfer = TERN_BUFFER_NONE;
        l.bytes = below(&random, l.transfer == 0                    ? 1
                                 : l.transfer == TERN_BUFFER_INSIDE ? 3000
                                                                    : SLOT);
        unsigned char inside[3000];
        unsigned char *source = tern_local(p.f.context, p.from[p.f.rank]);
        bool leaves = l.transfer >= TERN_BUFFER_GET && below(&random, 2) == 0;
        fill(l.transfer == TERN_BUFFER_INSIDE ? inside : source, &l);
        tern_call_options options = {.synchronizer = leaves ? &p.sent : &p.s,
                                     .notify = leaves ? TERN_ON_SENT : TERN_ON_EXECUTED,
                                     .transfer = (tern_buffer_transfer)l.transfer,
                                     .buffer = inside,
                                     .from = p.from[p.f.rank],
                                     .buffer_bytes = l.bytes,
                                     .arity = (uint32_t)below(&random, 5)};
        EXPECT_OK(tern_call_all(p.f.worker, &read_letter_function, &l, sizeof l, &options));
        /* The second worker of each process has no thread: quiesce makes progress for it. */
        EXPECT_OK(tern_quiesce(p.f.worker));
        EXPECT_OK(tern_synchronizer_wait(p.f.worker, *options.synchronizer));
        CU_ASSERT_EQUAL(got.run, (uint64_t)(i + 1) * p.f.size * WORKERS);
        EXPECT_OK(tern_barrier(p.f.worker));
    }
    close_post(&p);
}

/* A broadcast buffer with a place lies in it on every rank, and stays there. */
static void broadcasts_to_a_place(void) {
    post p;
    if (!open_post(&p, WORKERS, TERN_PUBLISH_WRITE))
        return;
    bool alike = true;
    for (uint32_t r = 0; r < p.f.size; r++)
        alike = alike && p.places[r].offset == p.places[0].offset;
    CU_ASSERT(alike);
    int rounds = fixture_times(&p.f, 30);
    for (int i = 0; i < rounds; i++) {
        uint32_t root = (uint32_t)i % p.f.size;
        letter l = {
            .origin = root, .bytes = 777, .number = (uint64_t)i, .transfer = TERN_BUFFER_GET};
        unsigned char *mine = tern_local(p.f.context, p.places[p.f.rank]);
        memset(mine, 0, SLOT);
        EXPECT_OK(tern_barrier(p.f.worker));
        if (root == p.f.rank) {
            fill(tern_local(p.f.context, p.from[root]), &l);
            tern_call_options options = {.synchronizer = &p.s,
                                         .transfer = TERN_BUFFER_GET,
                                         .from = p.from[root],
                                         .place = p.places[root],
                                         .buffer_bytes = l.bytes};
            EXPECT_OK(tern_call_all(p.f.worker, &read_letter_function, &l, sizeof l, &options));
        }
        EXPECT_OK(tern_quiesce(p.f.worker));
        CU_ASSERT_EQUAL(got.run, (uint64_t)(i + 1) * WORKERS);
        uint64_t wrong = 0;
        for (uint64_t b = 0; b < SLOT; b++)
            wrong += mine[b] != (b < l.bytes ? at(&l, b) : 0);
        CU_ASSERT_EQUAL(wrong, 0);
        EXPECT_OK(tern_barrier(p.f.worker));
    }
    close_post(&p);
}

/* A buffer that cannot be got: its function does not run, and its caller hears of it all the same.
 */
static void a_bad_place(void) {
    post p;
    if (!open_post(&p, 1, TERN_PUBLISH_WRITE))
        return;
    uint32_t next = (p.f.rank + 1) % p.f.size;
    letter l = {.origin = p.f.rank, .bytes = 100};
    tern_call_options options = {.synchronizer = &p.s,
                                 .transfer = TERN_BUFFER_GET,
                                 .from = p.from[p.f.rank],
                                 .place = tern_ptr_add(p.places[next], (int64_t)1 << 40),
                                 .buffer_bytes = l.bytes};
    tern_log_level quiet = tern_context_config(p.f.context)->log_level;
    tern_log_set_level(TERN_LOG_NONE);
    EXPECT_OK(tern_barrier(p.f.worker));
    EXPECT_OK(tern_call_with(p.f.worker, to(next), &read_letter_function, &l, sizeof l, &options));
    EXPECT_OK(tern_synchronizer_wait(p.f.worker, p.s));
    EXPECT_OK(tern_quiesce(p.f.worker));
    tern_log_set_level(quiet);
    CU_ASSERT_EQUAL(got.run, 0);
    tern_stats stats;
    tern_stats_get(p.f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, 1);
    close_post(&p);
}

static void refusals(void) {
    post p;
    if (!open_post(&p, 1, TERN_PUBLISH_WRITE))
        return;
    tern_worker *w = p.f.worker;
    const tern_function *fn = &read_letter_function;
    uint32_t next = (p.f.rank + 1) % p.f.size;
    letter l = {0};
    tern_call_options o = {.transfer = (tern_buffer_transfer)5};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    o = (tern_call_options){.full = (tern_full)3};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    o = (tern_call_options){.transfer = TERN_BUFFER_INSIDE, .buffer_bytes = 1};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    o = (tern_call_options){.transfer = TERN_BUFFER_GET, .buffer_bytes = 1};
    EXPECT(TERN_ERR_RANGE, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    o = (tern_call_options){.transfer = TERN_BUFFER_GET,
                            .from = p.from[next],
                            .buffer_bytes = (size_t)TERN_BUFFER_MAX + 1};
    EXPECT(TERN_ERR_RANGE, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    static char large[8];
    o = (tern_call_options){.synchronizer = &p.s,
                            .transfer = TERN_BUFFER_INSIDE,
                            .buffer = large,
                            .buffer_bytes = TERN_BUFFER_MAX};
    EXPECT(TERN_ERR_RANGE, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    EXPECT_DETAIL("let the target get a large buffer");
    o = (tern_call_options){.transfer = TERN_BUFFER_PUT, .buffer = large, .buffer_bytes = 8};
    o.place = (tern_ptr){p.f.size + 1, 0, 0, TERN_PTR_ORIGIN};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_all(NULL, fn, &l, sizeof l, NULL));
    tern_synchronizer odd = {tern_ptr_add(p.s.counter, 4)}, none = {TERN_NULL};
    EXPECT(TERN_ERR_ARGUMENT, tern_synchronizer_raise(w, odd, 1));
    EXPECT(TERN_ERR_RANGE, tern_synchronizer_wait(w, none));
    EXPECT_OK(tern_synchronizer_raise(w, p.s, 1));
    EXPECT(TERN_ERR_STATE, tern_synchronizer_destroy(w, &p.s));
    EXPECT_OK(tern_synchronizer_lower(w, p.s, 1));
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(p.f.context, next, &transport));
    tern_synchronizer theirs = {p.places[next]};
    if (transport != TERN_SHM) {
        EXPECT(TERN_ERR_UNSUPPORTED, tern_synchronizer_raise(w, theirs, 1));
        o = (tern_call_options){.synchronizer = &theirs};
        EXPECT(TERN_ERR_UNSUPPORTED, tern_call_with(w, to(next), fn, &l, sizeof l, &o));
    }
    CU_ASSERT_EQUAL(got.run, 0);
    EXPECT_OK(tern_barrier(w));
    EXPECT_OK(tern_call_with(w, to(next), fn, &l, sizeof l, NULL));
    got.wrong = 0;
    EXPECT_OK(tern_quiesce(w));
    CU_ASSERT_EQUAL(got.run, 1);
    got.wrong = 0;
    close_post(&p);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"refusals", refusals},
        {"executed", executed},
        {"transfers_at_once", transfers_at_once},
        {"transfers_gathered", transfers_gathered},
        {"transfers_kept", transfers_kept},
        {"sizes_at_once", sizes_at_once},
        {"sizes_gathered", sizes_gathered},
        {"from_handlers", from_handlers},
        {"broadcasts", broadcasts},
        {"broadcasts_to_a_place", broadcasts_to_a_place},
        {"a_bad_place", a_bad_place},
    };
    return tern_test_main(argc, argv, "call_with", tests, sizeof tests / sizeof tests[0]);
}
