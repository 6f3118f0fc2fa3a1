// tern-test: transports

/*
 * Calls with synchronizers and buffers, and broadcasts, whose arguments or buffers no ring takes:
 * around every border and at random, in order with small ones, once each.
 */

#include "call_tools.h"
#include "hostile.h"
#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "rpc/lent/lent.h"

enum { PLACE = 40000, LARGEST = 300000, WORKERS = 2 };

/* What the arguments of every call here begin with; the rest follows from it. */
typedef struct {
    uint64_t number; /* of its pair, or of its broadcast */
    uint64_t bytes, buffer_bytes;
    uint32_t origin, in_order;
    uint32_t again; /* how often its function asks for another time */
    uint32_t unused;
} letter;

static struct { uint64_t next[RANKS], wrong, run, again; } got;

static unsigned char at(const letter *l, uint64_t i) {
    return (unsigned char)(l->origin * 5 + l->number * 3 + l->bytes + i * 7 + (i >> 9));
}

/* Of the arguments behind the letter, or of the buffer. */
static void fill(unsigned char *to, const letter *l, uint64_t from, uint64_t bytes) {
    for (uint64_t i = from; i < bytes; i++)
        to[i] = at(l, i);
}

static uint64_t differ(const unsigned char *there, const letter *l, uint64_t from, uint64_t bytes) {
    uint64_t wrong = 0;
    for (uint64_t i = from; i < bytes; i++)
        wrong += there[i] != at(l, i);
    return wrong;
}

static tern_status read_letter(tern_call_info *call, const void *arguments, size_t bytes) {
    letter l;
    memcpy(&l, arguments, sizeof l);
    if (call->worker->index == 0 && got.again < l.again) {
        got.again++;
        return TERN_ERR_AGAIN;
    }
    if (call->worker->index == 0)
        got.again = 0;
    uint64_t wrong = bytes != l.bytes || call->buffer_bytes != l.buffer_bytes ||
                     call->origin.rank != l.origin || (uintptr_t)arguments % 8 != 0;
    wrong += differ(arguments, &l, sizeof l, bytes);
    wrong += differ(call->buffer, &l, 0, call->buffer_bytes);
    if (l.in_order)
        wrong += l.number != got.next[l.origin]++;
    __atomic_fetch_add(&got.wrong, wrong, __ATOMIC_RELAXED);
    __atomic_fetch_add(&got.run, 1, __ATOMIC_RELAXED);
    return TERN_OK;
}
TERN_FUNCTION(read_letter)

typedef struct {
    fixture f;
    tern_ptr places[RANKS]; /* by rank: PLACE bytes for each origin, and one to get from */
    tern_synchronizer s, sent;
    unsigned char *arguments, *buffer;
    uint64_t sent_to[RANKS];
    size_t in_use;
} post;

static size_t in_use(const post *p) {
    tern_segment_info info;
    tern_segment_get_info(p->f.context, &info);
    return info.in_use;
}

static bool open_post_with(post *p, size_t ring_size, size_t workers, size_t overflow_memory) {
    tern_config config;
    memset(p, 0, sizeof *p);
    memset(&got, 0, sizeof got);
    EXPECT_OK(tern_config_init(&config));
    if (overflow_memory > 0)
        config.overflow_memory = overflow_memory;
    config.segment_size = (size_t)4 << 20;
    config.ring_size = ring_size;
    config.ring_growth = 1;
    config.workers = workers;
    if (!fixture_open(&p->f, &config))
        return false;
    fixture_alloc_all(&p->f, (size_t)(p->f.size + 1) * PLACE, TERN_DOMAIN_GLOBAL, p->places);
    EXPECT_OK(tern_synchronizer_create(p->f.worker, &p->s));
    EXPECT_OK(tern_synchronizer_create(p->f.worker, &p->sent));
    p->arguments = malloc(LARGEST);
    p->buffer = malloc(LARGEST);
    p->in_use = in_use(p);
    return EXPECT_OK(tern_barrier(p->f.worker));
}

static bool open_post(post *p, size_t ring_size, size_t workers) {
    return open_post_with(p, ring_size, workers, 0);
}

static void close_post(post *p) {
    uint64_t left = 99;
    EXPECT_OK(tern_quiesce(p->f.worker));
    CU_ASSERT_EQUAL(got.wrong, 0);
    EXPECT_OK(tern_synchronizer_test(p->f.worker, p->s, &left));
    CU_ASSERT_EQUAL(left, 0);
    EXPECT_OK(tern_synchronizer_test(p->f.worker, p->sent, &left));
    CU_ASSERT_EQUAL(left, 0);
    for (int i = 0; i < 100; i++)
        tern_progress(p->f.worker);
    CU_ASSERT_EQUAL(in_use(p), p->in_use);
    EXPECT_OK(tern_synchronizer_destroy(p->f.worker, &p->s));
    EXPECT_OK(tern_synchronizer_destroy(p->f.worker, &p->sent));
    fixture_free_all(&p->f, p->places);
    free(p->arguments);
    free(p->buffer);
    fixture_close(&p->f);
}

/* Each rank's place in the memory of rank r. */
static tern_ptr place_of(const post *p, uint32_t r, uint32_t origin) {
    return tern_ptr_add(p->places[r], (int64_t)origin * PLACE);
}

/* Sends a letter; its memory is the caller's again at once. */
static void post_letter(post *p, uint32_t r, letter *l, tern_buffer_transfer transfer, int how) {
    const bool gets = transfer == TERN_BUFFER_GET || transfer == TERN_BUFFER_GET_ASIDE;
    tern_ptr source = place_of(p, p->f.rank, p->f.size);
    unsigned char *buffer = gets ? tern_local(p->f.context, source) : p->buffer;
    tern_call_options options = {.synchronizer = how == 0   ? NULL
                                                 : how == 1 ? &p->s
                                                            : &p->sent,
                                 .notify = how == 2 ? TERN_ON_SENT : TERN_ON_EXECUTED,
                                 .transfer = transfer,
                                 .buffer = p->buffer,
                                 .from = source,
                                 .buffer_bytes = l->buffer_bytes};
    if (transfer == TERN_BUFFER_PUT || (gets && how == 2))
        options.place = place_of(p, r, p->f.rank);
    fill(buffer, l, 0, l->buffer_bytes);
    memcpy(p->arguments, l, sizeof *l);
    fill(p->arguments, l, sizeof *l, l->bytes);
    EXPECT_OK(tern_call_with(p->f.worker, to(r), &read_letter_function, p->arguments, l->bytes,
                             &options));
    memset(p->arguments, 0xa5, l->bytes);
    if (!gets)
        memset(p->buffer, 0xa5, l->buffer_bytes);
    /* A place is used again when the function has run. */
    if (gets || transfer == TERN_BUFFER_PUT)
        while (how == 0 ? false : tern_synchronizer_wait(p->f.worker, p->s) != TERN_OK)
            ;
}

static uint64_t bytes_of(tern_buffer_transfer transfer, uint64_t bytes) {
    if (transfer == TERN_BUFFER_NONE)
        return 0;
    return transfer == TERN_BUFFER_INSIDE || bytes < PLACE ? bytes : PLACE;
}

/* A call whose place or source is used again is waited for. */
static int how_for(tern_buffer_transfer transfer, uint64_t drawn) {
    return transfer == TERN_BUFFER_NONE || transfer == TERN_BUFFER_INSIDE ? (int)(drawn % 3) : 1;
}

static void around_every_border(void) {
    post p;
    if (!open_post(&p, 4096, 1))
        return;
    static const uint64_t borders[] = {2048 - 64, 2048 - 64 - sizeof(tern_extension), 2048, 4096,
                                       65536};
    const uint32_t next = (p.f.rank + 1) % p.f.size;
    for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++)
        for (uint64_t off = 0; off <= 24; off += 3)
            for (int transfer = TERN_BUFFER_NONE; transfer <= TERN_BUFFER_GET_ASIDE; transfer++) {
                const uint64_t bytes = borders[b] + off - 12;
                letter l = {.number = p.sent_to[next]++,
                            .bytes = off % 2 == 0 ? bytes : sizeof l + off,
                            .buffer_bytes = bytes_of((tern_buffer_transfer)transfer,
                                                     off % 6 == 0 ? off : bytes),
                            .origin = p.f.rank,
                            .in_order = transfer != TERN_BUFFER_GET_ASIDE};
                if (transfer == TERN_BUFFER_GET_ASIDE)
                    p.sent_to[next]--;
                post_letter(&p, next, &l, (tern_buffer_transfer)transfer,
                            how_for((tern_buffer_transfer)transfer, off));
            }
    close_post(&p);
}

/* All kinds at random, large ones so many that memory runs out now and then. */
static void of_random_sizes(void) {
    post p;
    if (!open_post(&p, 8192, 1))
        return;
    uint64_t random = fixture_seed(&p.f, 10);
    for (int times = fixture_times(&p.f, 400); times > 0; times--) {
        const uint32_t r = (uint32_t)below(&random, p.f.size);
        const tern_buffer_transfer transfer = (tern_buffer_transfer)below(&random, 5);
        const bool in_order = transfer != TERN_BUFFER_GET_ASIDE;
        letter l = {.number = in_order ? p.sent_to[r]++ : 7,
                    .bytes = sizeof l + below(&random, (uint64_t)1 << below(&random, 18)),
                    .origin = p.f.rank,
                    .in_order = in_order,
                    .again = below(&random, 8) == 0 ? 2 : 0};
        l.buffer_bytes = bytes_of(transfer, below(&random, (uint64_t)1 << below(&random, 18)));
        post_letter(&p, r, &l, transfer, how_for(transfer, tern_test_random(&random)));
    }
    close_post(&p);
}

/* Arguments that are lent and a buffer that is got, of which each alone would leave room for the
 * other's caller: a call waits for the memory of others, and not for its own. */
static void with_little_memory(void) {
    post p;
    if (!open_post_with(&p, 4096, 1, PLACE))
        return;
    const uint32_t next = (p.f.rank + 1) % p.f.size;
    for (uint64_t i = 0; i < 6; i++) {
        const bool aside = i % 2 == 1;
        letter l = {.number = i / 2,
                    .bytes = 10000 + i,
                    .buffer_bytes = PLACE,
                    .origin = p.f.rank,
                    .in_order = !aside};
        post_letter(&p, next, &l, aside ? TERN_BUFFER_GET_ASIDE : TERN_BUFFER_GET, 1);
    }
    close_post(&p);
}

/* Every worker gets each once. */
static void broadcasts(void) {
    post p;
    tern_worker *other = NULL;
    if (!open_post(&p, 4096, WORKERS))
        return;
    EXPECT_OK(tern_worker_adopt(p.f.context, 1, &other));
    uint64_t random = tern_test_seed(), sent = 0;
    for (int times = fixture_times(&p.f, 60); times > 0; times--) {
        const uint32_t origin = (uint32_t)below(&random, p.f.size);
        const tern_buffer_transfer transfer = (tern_buffer_transfer)below(&random, 4);
        letter l = {.number = sent++,
                    .bytes = sizeof l + below(&random, (uint64_t)1 << below(&random, 17)),
                    .origin = origin};
        l.buffer_bytes = bytes_of(transfer, below(&random, (uint64_t)1 << below(&random, 17)));
        tern_call_options options = {.synchronizer = &p.s,
                                     .transfer = transfer,
                                     .buffer = p.buffer,
                                     .from = place_of(&p, origin, p.f.size),
                                     .buffer_bytes = l.buffer_bytes,
                                     .arity = (uint32_t)below(&random, 4)};
        if (transfer == TERN_BUFFER_PUT || (below(&random, 2) == 0 && transfer == TERN_BUFFER_GET))
            options.place = place_of(&p, p.f.rank, origin);
        if (p.f.rank != origin)
            continue;
        fill(transfer == TERN_BUFFER_GET ? tern_local(p.f.context, options.from) : p.buffer, &l, 0,
             l.buffer_bytes);
        memcpy(p.arguments, &l, sizeof l);
        fill(p.arguments, &l, sizeof l, l.bytes);
        EXPECT_OK(tern_call_all(p.f.worker, &read_letter_function, p.arguments, l.bytes, &options));
        memset(p.arguments, 0xa5, l.bytes);
        uint64_t outstanding = 1;
        while (outstanding > 0) {
            EXPECT_OK(tern_synchronizer_test(p.f.worker, p.s, &outstanding));
            tern_progress(other);
        }
    }
    bool here = false;
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE; !here && MPI_Wtime() < end;) {
        tern_progress(p.f.worker);
        tern_progress(other);
        here = __atomic_load_n(&got.run, __ATOMIC_RELAXED) == sent * WORKERS;
    }
    CU_ASSERT_EQUAL(got.run, sent * WORKERS);
    EXPECT_OK(tern_worker_release(other));
    close_post(&p);
}

/* Handlers, which may not wait, send what no ring takes, until it goes. */
static tern_status send_back(tern_call_info *call, const void *arguments, size_t bytes) {
    static unsigned char answer[PLACE];
    letter l;
    memcpy(&l, arguments, sizeof l);
    if (bytes != sizeof l)
        return TERN_ERR_ARGUMENT;
    l.origin = tern_worker_self(call->worker).rank;
    memcpy(answer, &l, sizeof l);
    fill(answer, &l, sizeof l, l.bytes);
    const tern_call_options options = {
        .transfer = TERN_BUFFER_INSIDE, .buffer = answer, .buffer_bytes = 0};
    return tern_call_with(call->worker, call->origin, &read_letter_function, answer, l.bytes,
                          &options);
}
TERN_FUNCTION(send_back)

static void handlers_send(void) {
    enum { CALLS = 40 };
    post p;
    if (!open_post(&p, 4096, 1))
        return;
    tern_log_set_level(TERN_LOG_ERROR);
    for (uint32_t i = 0; i < CALLS; i++) {
        letter l = {.number = i, .bytes = PLACE - i};
        EXPECT_OK(tern_call(p.f.worker, to((p.f.rank + i) % p.f.size), &send_back_function, &l,
                            sizeof l));
    }
    EXPECT_OK(tern_quiesce(p.f.worker));
    CU_ASSERT_EQUAL(got.run, CALLS);
    close_post(&p);
}

/* A segment that is full of others' use refuses, and says so; nothing is left behind. */
static void without_memory(void) {
    post p;
    if (!open_post(&p, 4096, 1))
        return;
    tern_ptr all = TERN_NULL;
    EXPECT_OK(tern_alloc(p.f.worker, (size_t)3 << 20, 0, TERN_DOMAIN_GLOBAL, &all));
    letter l = {.bytes = sizeof l, .buffer_bytes = 0, .origin = p.f.rank};
    static unsigned char buffer[1 << 20];
    tern_call_options options = {.transfer = TERN_BUFFER_INSIDE,
                                 .synchronizer = &p.s,
                                 .buffer = buffer,
                                 .buffer_bytes = sizeof buffer};
    const uint32_t next = (p.f.rank + 1) % p.f.size;
    EXPECT(TERN_ERR_MEMORY,
           tern_call_with(p.f.worker, to(next), &read_letter_function, &l, sizeof l, &options));
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    EXPECT(TERN_ERR_MEMORY,
           tern_call_all(p.f.worker, &read_letter_function, &l, sizeof l, &options));
    options.transfer = TERN_BUFFER_NONE;
    EXPECT(TERN_ERR_RANGE, tern_call_with(p.f.worker, to(next), &read_letter_function, &l,
                                          (size_t)TERN_CHUNK_MAX + 1, &options));
    EXPECT_DETAIL("1073741825");
    EXPECT_OK(tern_free(p.f.worker, all));
    close_post(&p);
    CU_ASSERT_EQUAL(got.run, 0);
}

/* Loans that no tern writes: the call does not run, nothing is written, and calls go on. */
static void hostile_loans(void) {
    if (tern_test_rank() != 0)
        return;
    for (int what = 0; what < 4; what++) {
        fixture f;
        tern_stats stats;
        tern_config config;
        EXPECT_OK(tern_config_init(&config));
        config.segment_size = (size_t)1 << 20;
        config.log_level = TERN_LOG_NONE;
        memset(&got, 0, sizeof got);
        if (!fixture_open_on(&f, MPI_COMM_SELF, &config))
            return;
        tern_ptr memory = TERN_NULL;
        EXPECT_OK(tern_alloc(f.worker, 1024, 0, TERN_DOMAIN_OWNER, &memory));
        uint64_t *word = tern_local(f.context, memory);
        *word = 77;
        struct {
            tern_extension e;
            tern_loan loan;
        } record = {{.arguments = 8, .lent = 1}, {memory, 512}};
        record.loan.counter.offset += what == 0 ? 4 : what == 1 ? UINT64_C(1) << 40 : 0;
        record.loan.bytes = what == 2 ? TERN_CHUNK_MAX : 512;
        record.loan.counter.segment = what == 3;
        const uint32_t id = tern_record_id(tern_rpc_of(f.context)->header[read_letter_function.id]);
        tern_out *out = NULL;
        EXPECT_OK(tern_ring_open(f.worker, f.rank, &out));
        EXPECT_OK(inject_record(f.worker, out,
                                tern_record_header(TERN_RECORD_CALL_EXTENDED, id, sizeof record),
                                &record, sizeof record));
        tern_ring_publish(f.worker, out);
        for (int k = 0; k < 20; k++)
            tern_progress(f.worker);
        tern_stats_get(f.worker, &stats);
        CU_ASSERT_EQUAL(stats.calls_refused, 1);
        CU_ASSERT_EQUAL(got.run, 0);
        CU_ASSERT_EQUAL(*word, 77);
        f.worker->stats.calls_sent++; /* which quiesce counts */
        EXPECT_OK(tern_free(f.worker, memory));
        fixture_close(&f);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"around every border", around_every_border},
        {"of random sizes", of_random_sizes},
        {"with little memory", with_little_memory},
        {"broadcasts", broadcasts},
        {"handlers send", handlers_send},
        {"without memory", without_memory},
        {"hostile loans", hostile_loans},
    };
    return tern_test_main(argc, argv, "call_lent", tests, sizeof tests / sizeof tests[0]);
}
