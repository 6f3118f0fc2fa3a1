// tern-test: transports

/*
 * Circular buffers: limits, what is waited for and how often, and that no put brings other bytes
 * than those its piece was filled with, however soon its memory is used again. Every pair of ranks
 * has a stream of puts whose places, sizes and content follow from the ranks and the round, so the
 * target knows every byte.
 */

#include "fixture.h"

#include <stdlib.h>

#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"

enum { RANKS = 64, AREA = 8192, UNIT = 512, HOLDS = 3 };

static struct {
    fixture f;
    tern_ptr memory[RANKS]; /* an area for each origin */
    uint64_t random;
    size_t wrong;
    unsigned char expected[RANKS][AREA]; /* of this rank's memory, by origin */
} test;

static bool set_up(void) {
    memset(&test, 0, sizeof test);
    if (!fixture_open(&test.f, NULL))
        return false;
    fixture_alloc_all(&test.f, (size_t)test.f.size * AREA, TERN_DOMAIN_GLOBAL, test.memory);
    test.random = fixture_seed(&test.f, 17);
    EXPECT_OK(tern_barrier(test.f.worker));
    return true;
}

static void clean_up(void) {
    CU_ASSERT_EQUAL(test.wrong, 0);
    fixture_free_all(&test.f, test.memory);
    fixture_close(&test.f);
}

static tern_circular *make(tern_circular_options options) {
    tern_circular *circular = NULL;
    EXPECT_OK(tern_circular_create(test.f.worker, &options, &circular));
    return circular;
}

static tern_ptr area_of(uint32_t owner, uint32_t origin) {
    return tern_ptr_add(test.memory[owner], (int64_t)origin * AREA);
}

static tern_stats stats_now(void) {
    tern_stats stats;
    tern_stats_get(test.f.worker, &stats);
    return stats;
}

/* A rank that puts are posted to and waited for later, or size. */
static uint32_t posting_rank(void) {
    for (uint32_t r = 0; r < test.f.size; r++)
        if (tern_transport_to(test.f.context, r)->settle != NULL)
            return r;
    return test.f.size;
}

/* A rank that is reached over a remote transport, or size. */
static uint32_t remote_rank(tern_transport wanted) {
    for (uint32_t r = 0; r < test.f.size; r++) {
        tern_transport transport = TERN_SHM;
        if (tern_context_transport(test.f.context, r, &transport) == TERN_OK && transport == wanted)
            return r;
    }
    return test.f.size;
}

static void arguments(void) {
    tern_worker *w = test.f.worker;
    tern_circular *c = NULL;
    tern_piece p = {NULL, 0, 0};
    tern_circular_options o = {.unit_bytes = ((size_t)1 << 30) + 1};
    EXPECT(TERN_ERR_ARGUMENT, tern_circular_create(NULL, NULL, &c));
    EXPECT(TERN_ERR_ARGUMENT, tern_circular_create(w, NULL, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_circular_create(w, &o, &c));
    EXPECT_DETAIL("unit_bytes is 1073741825");
    o = (tern_circular_options){.units = 5, .units_max = 4};
    EXPECT(TERN_ERR_ARGUMENT, tern_circular_create(w, &o, &c));
    o = (tern_circular_options){.units_max = ((size_t)1 << 30) + 1};
    EXPECT(TERN_ERR_ARGUMENT, tern_circular_create(w, &o, &c));
    o = (tern_circular_options){.unit_bytes = (size_t)1 << 30};
    EXPECT(TERN_ERR_MEMORY, tern_circular_create(w, &o, &c));
    CU_ASSERT_PTR_NULL(c);
    EXPECT_OK(tern_circular_create(w, NULL, &c));
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_take(NULL, c, 1, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_try(w, NULL, 1, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_take(w, c, 1, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_give(w, c, NULL));
    EXPECT(TERN_ERR_RANGE, tern_piece_take(w, c, 4097, &p));
    CU_ASSERT_PTR_NULL(p.memory);
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_give(w, c, &p)); /* none was taken yet */
    EXPECT_OK(tern_piece_take(w, c, 4096, &p));
    tern_ptr mine = area_of(test.f.rank, 0), nowhere = {test.f.size, 0, 0, TERN_PTR_ORIGIN};
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_put(w, c, &p, nowhere, 1));
    EXPECT(TERN_ERR_RANGE, tern_piece_put(w, c, &p, mine, 4097));
    EXPECT(TERN_ERR_RANGE, tern_piece_put(w, c, &p, TERN_NULL, 8));
    EXPECT(TERN_ERR_ARGUMENT, tern_circular_put(w, c, nowhere, "data", 4));
    EXPECT_OK(tern_piece_put(w, c, &p, mine, 0)); /* it was still held */
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_put(w, c, &p, mine, 0));
    EXPECT_DETAIL("put or given back");
    EXPECT_OK(tern_piece_take(w, c, 0, &p));
    EXPECT_OK(tern_piece_give(w, c, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_piece_give(w, c, &p));
    EXPECT_OK(tern_circular_destroy(w, c));
    EXPECT_OK(tern_circular_destroy(w, NULL));
}

static size_t in_use(void) {
    tern_segment_info info;
    tern_segment_get_info(test.f.context, &info);
    return info.in_use;
}

/* Takes pieces until there are no more. */
static size_t take_all(tern_circular *c, size_t bytes, tern_piece *pieces, tern_status last) {
    size_t count = 0;
    tern_status status = TERN_OK;
    while ((status = tern_piece_take(test.f.worker, c, bytes, &pieces[count])) == TERN_OK) {
        memset(pieces[count].memory, (int)count, bytes);
        count++;
    }
    EXPECT(last, status);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < bytes; k++)
            test.wrong += ((unsigned char *)pieces[i].memory)[k] != (unsigned char)i;
    return count;
}

static void growth_and_limits(void) {
    static tern_piece p[4096];
    size_t before = in_use();
    static const struct {
        tern_circular_options options;
        size_t bytes, pieces, growths;
    } cases[] = {
        {{.unit_bytes = 100, .units = 1, .units_max = 1}, 1, 1, 0},
        {{.unit_bytes = 100, .units = 1, .units_max = 9}, 128, 9, 4}, /* 1, 2, 4, 8, 9 */
        {{.unit_bytes = 64, .units = 2, .units_max = 9, .grow_by = 3}, 64, 9, 3},
        {{.unit_bytes = 64, .units = 2, .units_max = 3, .linear = 1}, 1, 24, 1},
        {{.unit_bytes = 64, .units = 3, .units_max = 3, .linear = 1}, 24, 6, 0},
        {{.unit_bytes = 64, .units = 3, .units_max = 3, .linear = 1}, 33, 3, 0},
        {{.units = 2000}, 1, 2000, 0},
        {{.unit_bytes = 64}, 8, 1024, 6}, /* by default 1 MiB, or as many as that */
        {{.unit_bytes = 65536}, 8, 16, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t grown = stats_now().circulars_grown;
        tern_circular *c = make(cases[i].options);
        CU_ASSERT_EQUAL(take_all(c, cases[i].bytes, p, TERN_ERR_FULL), cases[i].pieces);
        EXPECT_DETAIL("units_max");
        tern_piece q = {NULL, 1, 2};
        EXPECT(TERN_ERR_FULL, tern_piece_try(test.f.worker, c, cases[i].bytes, &q));
        CU_ASSERT(q.memory == NULL && q.bytes == 1 && q.id == 2);
        CU_ASSERT_EQUAL(stats_now().circulars_grown - grown, cases[i].growths);
        for (size_t k = 0; k < cases[i].pieces; k++)
            EXPECT_OK(tern_piece_give(test.f.worker, c, &p[k]));
        EXPECT_OK(tern_piece_try(test.f.worker, c, cases[i].bytes, &q));
        EXPECT_OK(tern_circular_destroy(test.f.worker, c)); /* with a piece held */
    }
    CU_ASSERT_EQUAL(in_use(), before);
    /* The segment ends first. */
    tern_circular *c =
        make((tern_circular_options){.unit_bytes = (size_t)1 << 20, .units = 4, .units_max = 99});
    CU_ASSERT(take_all(c, 8, p, TERN_ERR_MEMORY) >= 8);
    EXPECT_OK(tern_circular_destroy(test.f.worker, c));
    CU_ASSERT_EQUAL(in_use(), before);
}

/* One put of a pair's stream. */
typedef struct {
    uint64_t state;
    size_t at, bytes;
} stream;

static stream stream_of(uint32_t origin, uint32_t target, uint64_t round) {
    return (stream){.state = (tern_test_seed() * 31 + round) * 1000003 + origin * 1009 + target};
}

/* The next place; false: the area is full. */
static bool stream_next(stream *s) {
    static const size_t sizes[] = {1, 7, 8, 9, 64, UNIT - 1, UNIT, UNIT + 1};
    uint64_t dice = below(&s->state, 16);
    s->at += s->bytes + below(&s->state, 20);
    s->bytes = dice < 8 ? sizes[dice] : 1 + below(&s->state, 120);
    return s->at + s->bytes <= AREA;
}

static unsigned char letter(uint32_t origin, uint64_t round, size_t at) {
    return (unsigned char)(origin * 89 + round * 37 + at * 11 + (at >> 8) + 1);
}

static void fill(char *memory, uint64_t round, const stream *s) {
    for (size_t i = 0; i < s->bytes; i++)
        memory[i] = (char)letter(test.f.rank, round, s->at + i);
}

static void check_area(uint32_t origin, uint64_t round) {
    unsigned char *expected = test.expected[origin];
    const unsigned char *area = tern_local(test.f.context, area_of(test.f.rank, origin));
    for (stream s = stream_of(origin, test.f.rank, round); stream_next(&s);)
        for (size_t i = s.at; i < s.at + s.bytes; i++)
            expected[i] = letter(origin, round, i);
    for (size_t i = 0; i < AREA; i++)
        test.wrong += area[i] != expected[i];
}

/* A piece that is filled, and where it goes. */
typedef struct {
    tern_piece piece;
    tern_ptr to;
    size_t bytes;
} held;

/* The pieces of a buffer that wait, in the order in which they were taken. */
typedef struct {
    tern_circular *buffer;
    held holds[HOLDS];
    size_t count;
} sender;

static void put_held(sender *s, size_t i) {
    const held *h = &s->holds[i];
    EXPECT_OK(tern_piece_put(test.f.worker, s->buffer, &h->piece, h->to, h->bytes));
    s->count--;
    memmove(&s->holds[i], &s->holds[i + 1], (s->count - i) * sizeof *h);
}

/* Whether to try again. */
static bool again(sender *s, tern_status status) {
    if (status == TERN_ERR_FULL && s->count > 0)
        put_held(s, 0); /* all behind it may be free */
    else if (status == TERN_ERR_AGAIN)
        tern_progress(test.f.worker);
    else if (!EXPECT_OK(status))
        CU_FAIL_FATAL("no piece can be had");
    return status != TERN_OK;
}

static void put_copy(sender *s, tern_ptr to, uint64_t round, const stream *what) {
    char source[UNIT + 1];
    fill(source, round, what);
    while (again(s, tern_circular_put(test.f.worker, s->buffer, to, source, what->bytes)))
        ;
    memset(source, 0xdd, what->bytes);
    __asm__ volatile("" : : "r"(source) : "memory");
}

/* Puts that are still under way from here are spoilt. */
static void take_piece(sender *s, size_t bytes, tern_piece *piece) {
    bool waits = below(&test.random, 2) == 0;
    while (again(s, waits ? tern_piece_take(test.f.worker, s->buffer, bytes, piece)
                          : tern_piece_try(test.f.worker, s->buffer, bytes, piece)))
        ;
    memset(piece->memory, 0xee, bytes);
}

/* One put: in one call, or of a piece at once, or of one that is held for later. */
static void one_put(sender *s, uint64_t round, tern_ptr to, const stream *what) {
    uint64_t dice = below(&test.random, 4);
    if (dice == 0 || what->bytes > UNIT) {
        put_copy(s, to, round, what);
        return;
    }
    if (s->count == HOLDS)
        put_held(s, (size_t)below(&test.random, HOLDS));
    held h = {.to = to, .bytes = what->bytes};
    if (dice == 1) {
        take_piece(s, what->bytes, &h.piece);
        EXPECT_OK(tern_piece_give(test.f.worker, s->buffer, &h.piece));
    }
    take_piece(s, h.bytes + below(&test.random, UNIT + 1 - h.bytes), &h.piece);
    fill(h.piece.memory, round, what);
    s->holds[s->count++] = h;
    if (dice == 2)
        put_held(s, s->count - 1);
}

/* To each rank from its own buffer, or to all from one. */
static void send_round(sender *senders, bool one, uint64_t round) {
    stream streams[RANKS];
    uint32_t open[RANKS], left = test.f.size;
    for (uint32_t r = 0; r < test.f.size; r++) {
        streams[r] = stream_of(test.f.rank, r, round);
        open[r] = r;
    }
    while (left > 0) {
        uint32_t i = (uint32_t)below(&test.random, left), r = open[i];
        if (stream_next(&streams[r]))
            one_put(&senders[one ? 0 : r], round,
                    tern_ptr_add(area_of(r, test.f.rank), (int64_t)streams[r].at), &streams[r]);
        else
            open[i] = open[--left];
    }
    for (uint32_t r = 0; r < (one ? 1 : test.f.size); r++)
        while (senders[r].count > 0)
            put_held(&senders[r], (size_t)below(&test.random, senders[r].count));
}

static void play(sender *senders, bool one, uint64_t *round, int rounds) {
    for (; rounds > 0; rounds--, ++*round) {
        send_round(senders, one, *round);
        EXPECT_OK(tern_barrier(test.f.worker));
        for (uint32_t r = 0; r < test.f.size; r++)
            check_area(r, *round);
        EXPECT_OK(tern_barrier(test.f.worker));
    }
}

static const tern_circular_options shapes[] = {
    {.unit_bytes = UNIT, .units = 1, .units_max = 1},
    {.unit_bytes = UNIT, .units = 1, .units_max = 40, .flush_every = 7},
    {.unit_bytes = UNIT, .units = 2, .units_max = 5, .linear = 1},
    {.unit_bytes = UNIT, .units = 1, .units_max = 30, .grow_by = 1, .flush_every = 16, .linear = 1},
    {.unit_bytes = 4 * UNIT, .flush_every = SIZE_MAX, .linear = 1},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* All shapes, each for all ranks and for each rank. */
static void play_all(int rounds) {
    uint64_t round = 0;
    for (size_t i = 0; i < SHAPES; i++) {
        sender one = {.buffer = make(shapes[i])};
        play(&one, true, &round, rounds);
        EXPECT_OK(tern_circular_destroy(test.f.worker, one.buffer));
    }
    for (uint32_t turn = 0; turn < 2; turn++) {
        sender senders[RANKS] = {{.count = 0}};
        for (uint32_t r = 0; r < test.f.size; r++)
            senders[r].buffer = make(shapes[(r + turn) % SHAPES]);
        play(senders, false, &round, rounds);
        for (uint32_t r = 0; r < test.f.size; r++)
            EXPECT_OK(tern_circular_destroy(test.f.worker, senders[r].buffer));
    }
}

/* Puts that a network has not looked at yet: their bytes are read when they are flushed. */
enum { DELAYED = 512 };
static struct {
    uint32_t rank;
    uint64_t offset, bytes;
    const char *from;
} delayed[DELAYED];
static size_t delayed_count;
static uint64_t delayed_ever;

static bool delay(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                  uint64_t bytes) {
    (void)worker;
    if (delayed_count == DELAYED)
        return false;
    delayed[delayed_count].rank = rank;
    delayed[delayed_count].offset = offset;
    delayed[delayed_count].bytes = bytes;
    delayed[delayed_count++].from = from;
    delayed_ever++;
    return true;
}

static void let_go(tern_worker *worker, uint32_t rank) {
    size_t kept = 0;
    for (size_t i = 0; i < delayed_count; i++) {
        if (delayed[i].rank == rank)
            (void)tern_window_put(worker, rank, delayed[i].offset, delayed[i].from,
                                  delayed[i].bytes);
        else
            delayed[kept++] = delayed[i];
    }
    delayed_count = kept;
}

static const tern_put_hook late = {.put = delay, .flush = let_go};

static void late_puts(struct tern_window *window, int rounds) {
    delayed_ever = 0;
    tern_window_set_hook(window, &late);
    play_all(rounds);
    uint32_t target = remote_rank(TERN_RMA);
    if (target < test.f.size) {
        /* Destroying a buffer waits for what is under way from it. */
        tern_circular *c = make((tern_circular_options){.unit_bytes = 64});
        EXPECT_OK(
            tern_circular_put(test.f.worker, c, area_of(target, test.f.rank), "under way", 9));
        CU_ASSERT_EQUAL(delayed_count, 1);
        EXPECT_OK(tern_circular_destroy(test.f.worker, c));
        CU_ASSERT_EQUAL(delayed_count, 0);
        CU_ASSERT(delayed_ever > 0);
    }
    EXPECT_OK(tern_barrier(test.f.worker));
    tern_window_set_hook(window, NULL);
}

/* Puts count pieces and returns how many waits that took. */
static uint64_t settles_of(tern_circular_options options, uint32_t target, uint64_t count,
                           size_t bytes) {
    char data[UNIT] = {0};
    tern_worker *w = test.f.worker;
    EXPECT_OK(tern_flush(w, target));
    tern_circular *c = make(options);
    tern_stats before = stats_now();
    for (uint64_t i = 0; i < count; i++)
        EXPECT_OK(tern_circular_put(w, c, area_of(target, test.f.rank), data, bytes));
    tern_stats after = stats_now();
    CU_ASSERT_EQUAL(after.puts - before.puts,
                    tern_rank_is_direct(test.f.context, target) ? 0 : count);
    CU_ASSERT_EQUAL(after.flushes, before.flushes);
    EXPECT_OK(tern_circular_destroy(w, c));
    return after.settles - before.settles;
}

/* The buffer waits once for flush_every puts, or once per generation; a flush of the program's
 * saves the wait. Only one rank works: MPI's flushes take long where ranks share processors. */
static void waits_are_counted(void) {
    enum { MANY = 205 };
    uint32_t target = posting_rank(), other = remote_rank(TERN_P2P);
    tern_circular_options every = {.unit_bytes = 64, .flush_every = 8};
    tern_circular_options generation = {.unit_bytes = 64, .units_max = 20, .flush_every = SIZE_MAX};
    tern_circular_options part = {
        .unit_bytes = 64, .units = 4, .units_max = 5, .flush_every = SIZE_MAX, .linear = 1};
    if (test.f.rank == 0 && target < test.f.size) {
        CU_ASSERT_EQUAL(settles_of(every, target, 7, 8), 0);
        CU_ASSERT_EQUAL(settles_of(every, target, 8, 8), 1);
        CU_ASSERT_EQUAL(settles_of(every, target, MANY, 64), MANY / 8);
        CU_ASSERT_EQUAL(settles_of(generation, target, 20, 8), 0);
        CU_ASSERT_EQUAL(settles_of(generation, target, 21, 8), 1);
        CU_ASSERT_EQUAL(settles_of(generation, target, MANY, 64), (MANY - 1) / 20);
        CU_ASSERT_EQUAL(settles_of(part, target, 40, 8), 0); /* 8 pieces a unit */
        CU_ASSERT_EQUAL(settles_of(part, target, MANY, 8), (MANY - 1) / 40);
        CU_ASSERT_EQUAL(settles_of((tern_circular_options){0}, target, MANY, 8), MANY / 16);
        tern_circular *c = make(generation);
        tern_stats before = stats_now();
        for (int i = 0; i < MANY; i++) {
            uint64_t word = 0;
            EXPECT_OK(tern_circular_put(test.f.worker, c, area_of(target, test.f.rank), &word, 8));
            if (i % 20 == 19)
                EXPECT_OK(tern_flush(test.f.worker, target));
        }
        CU_ASSERT_EQUAL(stats_now().settles, before.settles);
        CU_ASSERT_EQUAL(stats_now().flushes, before.flushes + MANY / 20);
        EXPECT_OK(tern_circular_destroy(test.f.worker, c));
    }
    for (int i = 0; i < 2; i++) {
        uint32_t copied = i == 0 ? test.f.rank : other;
        if (copied < test.f.size) {
            CU_ASSERT_EQUAL(settles_of(every, copied, MANY, 8), 0);
            CU_ASSERT_EQUAL(settles_of(generation, copied, MANY, 8), 0);
        }
    }
    EXPECT_OK(tern_barrier(test.f.worker));
}

/* Handlers put from buffers as well, and never wait: they ask to be called again. */
static tern_circular *handlers_buffer;
static uint64_t refusals;

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t n = 0;
    tern_piece piece;
    memcpy(&n, arguments, bytes);
    CU_ASSERT_EQUAL(tern_circular_destroy(test.f.worker, handlers_buffer), TERN_ERR_STATE);
    tern_status status = tern_piece_take(test.f.worker, handlers_buffer, 8, &piece);
    if (status == TERN_ERR_AGAIN) {
        refusals++;
        return status;
    }
    EXPECT_OK(status);
    n = ~n;
    memcpy(piece.memory, &n, 8);
    tern_ptr to = tern_ptr_add(area_of(call->origin.rank, test.f.rank), (int64_t)(~n % 100 * 8));
    EXPECT_OK(tern_piece_put(test.f.worker, handlers_buffer, &piece, to, 8));
    return TERN_OK;
}
TERN_FUNCTION(answer)

static void in_handlers(void) {
    const fixture *f = &test.f;
    for (size_t every = 3; every < 4096; every += 4000) {
        handlers_buffer = make((tern_circular_options){
            .unit_bytes = 64, .units = 2, .units_max = 2, .flush_every = every});
        refusals = 0;
        EXPECT_OK(tern_barrier(f->worker));
        for (uint64_t n = 0; n < 100; n++)
            for (uint32_t r = 0; r < f->size; r++)
                EXPECT_OK(tern_call(f->worker, (tern_worker_id){r, 0}, &answer_function, &n, 8));
        EXPECT_OK(tern_quiesce(f->worker));
        EXPECT_OK(tern_barrier(f->worker));
        for (uint32_t r = 0; r < f->size; r++) {
            uint64_t *words = tern_local(f->context, area_of(f->rank, r));
            for (uint64_t n = 0; n < 100; n++)
                test.wrong += words[n] != ~n;
            memset(words, 0, 800);
        }
        CU_ASSERT_EQUAL(refusals > 0, posting_rank() < f->size);
        EXPECT_OK(tern_barrier(f->worker));
        EXPECT_OK(tern_circular_destroy(f->worker, handlers_buffer));
    }
}

/* Each rank to all others' and its own. */
static void registered_memory(void) {
    const fixture *f = &test.f;
    uint64_t memory[2 * RANKS] = {0}, word = f->rank + 5;
    tern_ptr mine, all[RANKS];
    tern_piece piece;
    tern_circular *c = make((tern_circular_options){.unit_bytes = 64, .units_max = 2, .units = 2});
    EXPECT_OK(tern_register(f->worker, memory, sizeof memory, &mine));
    fixture_share(&test.f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f->size; r++) {
        tern_ptr to = tern_ptr_add(all[r], f->rank * 16);
        EXPECT_OK(tern_circular_put(f->worker, c, to, &word, 8));
        EXPECT_OK(tern_piece_take(f->worker, c, 8, &piece));
        memcpy(piece.memory, &word, 8);
        EXPECT_OK(tern_piece_put(f->worker, c, &piece, tern_ptr_add(to, 8), 8));
    }
    EXPECT_OK(tern_barrier(f->worker));
    for (uint64_t r = 0; r < f->size; r++)
        test.wrong += memory[2 * r] != r + 5 || memory[2 * r + 1] != r + 5;
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_circular_destroy(f->worker, c));
    EXPECT_OK(tern_deregister(f->worker, mine));
}

static void limits(void) {
    if (!set_up())
        return;
    arguments();
    growth_and_limits();
    waits_are_counted();
    in_handlers();
    registered_memory();
    clean_up();
}

static void puts_of_all_shapes(void) {
    if (!set_up())
        return;
    int rounds = (fixture_times(&test.f, 40) + 3) / 4;
    struct tern_window *window = tern_rma_of(test.f.context)->window;
    play_all(rounds);
    if (window != NULL)
        late_puts(window, rounds);
    clean_up();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"limits", limits},
                                           {"puts_of_all_shapes", puts_of_all_shapes}};
    return tern_test_main(argc, argv, "circular", tests, sizeof tests / sizeof tests[0]);
}
