// tern-test: transports crowd

/* Broadcasts and all-reduces of all lengths against a model, among calls and notifications, with a
 * rank that comes late, and with lengths that differ between ranks. */

#include "fixture.h"

#include <stdlib.h>

#include "rma/notify/collectives.h"

enum { GENERATIONS = 48, SHORT_RING = 4096 }; /* 3 MiB in a ring of the default size */

/* Around the bounds of whole vectors, of fragments in rings of 4 and 64 KiB, and of credit. */
static const size_t sizes[] = {0,    1,    7,     8,     959,   960,   961,   1023,
                               1024, 1025, 16319, 16320, 16321, 65535, 65536, 65537};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static bool set_up(fixture *f, size_t ring_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    config.workers = 1;
    return fixture_open(f, &config);
}

static uint64_t mix(uint64_t x) {
    x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* From each root at once; the vector begins at any address. */
static void broadcast_from_all(fixture *f, size_t bytes, uint64_t turn) {
    unsigned char *memory = malloc(bytes + 9);
    for (uint32_t root = 0; root < f->size; root++) {
        unsigned char *data = memory + (turn + root) % 8;
        const uint64_t seed = mix(turn * 64 + root);
        for (size_t i = 0; i < bytes; i++)
            data[i] = f->rank == root ? (unsigned char)mix(seed + i) : 0xee;
        data[bytes] = 0xdd;
        EXPECT_OK(tern_notify_broadcast(f->worker, root, data, bytes));
        size_t wrong = 0;
        for (size_t i = 0; i < bytes; i++)
            wrong += data[i] != (unsigned char)mix(seed + i);
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(data[bytes], 0xdd);
    }
    free(memory);
}

static void broadcasts_in(size_t ring_size) {
    fixture f;
    if (!set_up(&f, ring_size))
        return;
    uint64_t random = tern_test_seed();
    for (size_t i = 0; i < SIZES; i++)
        broadcast_from_all(&f, sizes[i], i);
    broadcast_from_all(&f, GENERATIONS * ring_size + 5, SIZES);
    const int times = fixture_times(&f, 20);
    for (int i = 0; i < times; i++)
        broadcast_from_all(&f, below(&random, (uint64_t)1 << below(&random, 18)),
                           100 + (uint64_t)i);
    fixture_close(&f);
}

static void broadcasts(void) { broadcasts_in(64 << 10); }
static void broadcasts_in_short_rings(void) { broadcasts_in(SHORT_RING); }

/* Numbers whose sums of doubles are exact. */
static uint64_t number_of(uint32_t rank, uint64_t turn, size_t i, tern_number type) {
    const uint64_t drawn = mix(turn * 1000003 + rank * UINT64_C(0x100000001b3) + i);
    if (type != TERN_DOUBLE)
        return drawn;
    const double value = (double)(int64_t)(drawn >> 24) - 0x1p39;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static uint64_t model_reduce(tern_number type, tern_reduction op, uint64_t a, uint64_t b) {
    if (type == TERN_DOUBLE) {
        double x, y;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        x = op == TERN_REDUCE_SUM ? x + y : (op == TERN_REDUCE_MIN) == (x < y) ? x : y;
        memcpy(&a, &x, 8);
        return a;
    }
    if (op == TERN_REDUCE_SUM)
        return a + b;
    const bool less = type == TERN_UINT64 ? a < b : (int64_t)a < (int64_t)b;
    return (op == TERN_REDUCE_MIN) == less ? a : b;
}

static void allreduce(fixture *f, tern_number type, tern_reduction op, size_t count,
                      uint64_t turn) {
    char *memory = malloc(count * 8 + 16), *values = memory + turn % 8;
    for (size_t i = 0; i < count; i++) {
        const uint64_t mine = number_of(f->rank, turn, i, type);
        memcpy(values + 8 * i, &mine, 8);
    }
    values[count * 8] = 0x77;
    EXPECT_OK(tern_notify_allreduce(f->worker, type, op, values, count));
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t all = number_of(0, turn, i, type);
        for (uint32_t r = 1; r < f->size; r++)
            all = model_reduce(type, op, all, number_of(r, turn, i, type));
        wrong += memcmp(values + 8 * i, &all, 8) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(values[count * 8], 0x77);
    free(memory);
}

static void reductions_in(size_t ring_size) {
    fixture f;
    if (!set_up(&f, ring_size))
        return;
    static const size_t counts[] = {0, 1, 2, 127, 128, 129, 130, 131, 4081, 8191, 8192, 8193};
    uint64_t random = tern_test_seed(), turn = 0;
    for (unsigned type = 0; type <= TERN_DOUBLE; type++) {
        for (unsigned op = 0; op <= TERN_REDUCE_MAX; op++) {
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
                allreduce(&f, type, op, counts[i], turn++);
            allreduce(&f, type, op, below(&random, 3 * 8192), turn++);
        }
        allreduce(&f, type, type, GENERATIONS * ring_size / 8 + type, turn++);
    }
    fixture_close(&f);
}

static void reductions(void) { reductions_in(64 << 10); }
static void reductions_in_short_rings(void) { reductions_in(SHORT_RING); }

static uint64_t called, answered;

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments;
    answered += bytes;
    return TERN_OK;
}
TERN_FUNCTION(answer)

static tern_status ask(tern_call_info *call, const void *arguments, size_t bytes) {
    called += bytes;
    return tern_call(call->worker, call->origin, &answer_function, arguments, bytes);
}
TERN_FUNCTION(ask)

/* Asks the rank and waits for its answer; it is in a collective. */
static void ask_and_wait(fixture *f, uint32_t rank) {
    const uint64_t before = answered;
    EXPECT_OK(tern_call(f->worker, (tern_worker_id){rank, 0}, &ask_function, &before, 8));
    EXPECT_OK(tern_call_flush_all(f->worker));
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE; answered == before && MPI_Wtime() < end;)
        (void)tern_progress(f->worker);
    CU_ASSERT_EQUAL(answered, before + 8);
}

/* Each round another rank is late: it first asks all others, who run its calls while they wait for
 * it and while the fragments that they have sent lie here. Notifications come meanwhile, too. */
static void among_others(void) {
    fixture f;
    if (!set_up(&f, SHORT_RING))
        return;
    called = answered = 0;
    EXPECT_OK(tern_notify_barrier(f.worker));
    const tern_worker_id next = {(f.rank + 1) % f.size, 0};
    const uint64_t times = (uint64_t)fixture_times(&f, 40);
    for (uint64_t i = 0; i < times; i++) {
        EXPECT_OK(tern_put_notify(
            f.worker, next, TERN_NULL, NULL, 0,
            &(tern_notify_options){.cid = &i, .cid_bytes = 8, .flags = TERN_NOTIFY_NO_LOCAL}));
        for (uint32_t r = 0; i % f.size == f.rank && r < f.size; r++)
            if (r != f.rank)
                ask_and_wait(&f, r);
        if (i % 2 == 0)
            allreduce(&f, TERN_UINT64, TERN_REDUCE_SUM, 1000 * i, i);
        else
            broadcast_from_all(&f, 8000 * i, i);
    }
    for (uint64_t i = 0; i < times; i++) {
        tern_event event;
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
        CU_ASSERT(memcmp(event.cid, &i, 8) == 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t asked = 0;
    for (uint64_t i = 0; i < times; i++)
        asked += i % f.size != f.rank;
    CU_ASSERT_EQUAL(called, 8 * asked);
    fixture_close(&f);
}

static size_t fragments_kept(const fixture *f) {
    size_t kept = 0;
    for (const tern_notified_fragment *p = tern_notify_of(f->worker)->fragments; p != NULL;
         p = p->next)
        kept += p->type == TERN_FRAGMENT_DATA;
    return kept;
}

/* Of a long vector a rank that does not wait for it keeps TERN_STREAM_CREDIT fragments, whatever
 * the vector's length. */
static void late_rank_keeps_few_fragments(void) {
    enum { CREDIT = TERN_STREAM_CREDIT, BYTES = 200000 };
    fixture f;
    if (!set_up(&f, SHORT_RING))
        return;
    char *data = calloc(BYTES, 1);
    called = answered = 0;
    if (f.rank == 1) {
        for (double end = MPI_Wtime() + TERN_TEST_PATIENCE;
             fragments_kept(&f) < CREDIT && MPI_Wtime() < end;)
            (void)tern_progress(f.worker);
        for (int i = 0; i < 20; i++)
            ask_and_wait(&f, 0);
        CU_ASSERT_EQUAL(fragments_kept(&f), CREDIT);
    }
    memset(data, f.rank == 0 ? 'x' : 0, BYTES);
    EXPECT_OK(tern_notify_broadcast(f.worker, 0, data, BYTES));
    CU_ASSERT(data[0] == 'x' && memcmp(data, data + 1, BYTES - 1) == 0);
    CU_ASSERT_EQUAL(fragments_kept(&f), 0);
    free(data);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* Records that all ranks have received since; *before is what they had. */
static uint64_t received(fixture *f, uint64_t *before) {
    tern_stats stats;
    uint64_t all[64] = {0}, sum = 0;
    tern_stats_get(f->worker, &stats);
    fixture_share(f, &stats.records_received, 8, all);
    for (uint32_t r = 0; r < f->size; r++)
        sum += all[r];
    const uint64_t since = sum - *before;
    *before = sum;
    return since;
}

/* A wait that is long costs a message more: that this rank waits. */
static void check_messages(fixture *f, uint64_t *before, uint64_t expected) {
    const uint64_t messages = received(f, before);
    CU_ASSERT(messages >= expected && messages <= 2 * expected);
}

/* A barrier and a short all-reduce take log2(P) messages of each rank, a broadcast one of each
 * fragment on each edge of the tree, and an acknowledgement for half of the credit. A long
 * all-reduce sends less than 2 n bytes. */
static void messages(void) {
    enum { FRAGMENTS = 100 };
    fixture f;
    if (!set_up(&f, SHORT_RING))
        return;
    const size_t fragment = tern_notify_of(f.worker)->fragment_max, bytes = FRAGMENTS * fragment;
    const uint64_t size = f.size, acknowledged = (FRAGMENTS - 1) / (TERN_STREAM_CREDIT / 2) - 1;
    char *data = calloc(bytes, 1);
    uint64_t before = 0, steps = 0, most = 1, doublings = 0;
    for (uint64_t reach = 1; reach < size; reach *= 2)
        steps++;
    for (; most <= size / 2; most *= 2)
        doublings++;
    const uint64_t extras = size - most;
    (void)received(&f, &before);
    EXPECT_OK(tern_notify_barrier(f.worker));
    check_messages(&f, &before, size * steps);
    EXPECT_OK(tern_notify_allreduce(f.worker, TERN_INT64, TERN_REDUCE_SUM, data, 100));
    check_messages(&f, &before, most * doublings + 2 * extras);
    EXPECT_OK(tern_notify_broadcast(f.worker, 0, data, bytes));
    check_messages(&f, &before, (size - 1) * (FRAGMENTS + acknowledged));
    EXPECT_OK(tern_notify_allreduce(f.worker, TERN_INT64, TERN_REDUCE_SUM, data, bytes / 8));
    check_messages(&f, &before,
                   2 * FRAGMENTS * (most - 1) + 2 * extras * (FRAGMENTS + acknowledged));
    free(data);
    fixture_close(&f);
}

/* After a collective that has failed the next one works. */
static void expect_to_go_on(const fixture *f) {
    uint64_t one = 1;
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_notify_allreduce(f->worker, TERN_UINT64, TERN_REDUCE_SUM, &one, 1));
    CU_ASSERT_EQUAL(one, f->size);
}

/* One rank, each in turn, gives another length. Nobody waits for ever, no rank of another length
 * than the root's gets a broadcast, and the next collective works. */
static void lengths_differ(void) {
    static const size_t pairs[][2] = {{8, 16},       {1024, 1032},   {1024, 80000},
                                      {80000, 1024}, {80000, 80008}, {400000, 300000},
                                      {8, 400000},   {0, 100000},    {100000, 0}};
    fixture f;
    if (!set_up(&f, SHORT_RING))
        return;
    char *data = calloc(400000, 1);
    for (size_t i = 0; f.size > 1 && i < 2 * f.size * (sizeof pairs / sizeof pairs[0]); i++) {
        const size_t *lengths = pairs[i / f.size / 2];
        const uint32_t odd = (uint32_t)(i / 2 % f.size), root = (uint32_t)(i % f.size);
        const size_t bytes = lengths[f.rank == odd];
        if (i % 2 == 0) {
            EXPECT(TERN_ERR_MISMATCH,
                   tern_notify_allreduce(f.worker, TERN_INT64, TERN_REDUCE_MIN, data, bytes / 8));
        } else {
            const tern_status status = tern_notify_broadcast(f.worker, root, data, bytes);
            if (status != TERN_OK || bytes != lengths[root == odd])
                EXPECT(TERN_ERR_MISMATCH, status);
        }
        expect_to_go_on(&f);
    }
    free(data);
    fixture_close(&f);
}

/* One rank, each in turn, reduces other numbers or by another operation. */
static void numbers_differ(void) {
    static const tern_number types[] = {TERN_UINT64, TERN_INT64, TERN_DOUBLE};
    static const size_t counts[] = {1, 128, 10000};
    fixture f;
    if (!set_up(&f, SHORT_RING))
        return;
    char *data = calloc(80000, 1);
    for (unsigned i = 0; f.size > 1 && i < 2 * 3 * f.size; i++) {
        const bool odd = f.rank == i % f.size;
        const tern_number type = types[(i + (odd && i % 2 == 0)) % 3];
        const tern_reduction op = odd && i % 2 == 1 ? TERN_REDUCE_MIN : TERN_REDUCE_MAX;
        EXPECT(TERN_ERR_MISMATCH,
               tern_notify_allreduce(f.worker, type, op, data, counts[i / 2 % 3]));
        EXPECT_DETAIL("allreduce");
        expect_to_go_on(&f);
    }
    free(data);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"broadcasts", broadcasts},
        {"broadcasts_in_short_rings", broadcasts_in_short_rings},
        {"reductions", reductions},
        {"reductions_in_short_rings", reductions_in_short_rings},
        {"among_others", among_others},
        {"late_rank_keeps_few_fragments", late_rank_keeps_few_fragments},
        {"messages", messages},
        {"lengths_differ", lengths_differ},
        {"numbers_differ", numbers_differ},
    };
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "collective_sizes", tests, sizeof tests / sizeof tests[0]);
}
