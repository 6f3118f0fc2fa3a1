// tern-test: transports

/* Functions declared with TERN_REMOTE: every kind of parameter arrives as it was sent, results and
 * requests come back, limits and wrong arguments are refused before anything is sent. */

#include "call_tools.h"

#include <stdlib.h>

#include "tern/remote.h"

typedef struct point {
    double x, y;
    int32_t label;
} point;

enum colour { RED, GREEN, BLUE };

static struct { uint64_t runs, wrong, sum; } seen;

static void reset(fixture *f) {
    memset(&seen, 0, sizeof seen);
    EXPECT_OK(tern_barrier(f->worker));
}

/* One of each size, all from one number. */
TERN_REMOTE(numbers, (int8_t, a), (uint8_t, b), (int16_t, c), (uint16_t, d), (int32_t, e),
            (uint32_t, f), (int64_t, g), (uint64_t, h), (float, i), (double, j), (bool, k),
            (size_t, l))

tern_status numbers_here(tern_call_info *call, int8_t a, uint8_t b, int16_t c, uint16_t d,
                         int32_t e, uint32_t f, int64_t g, uint64_t h, float i, double j, bool k,
                         size_t l) {
    uint64_t n = h;
    seen.runs++;
    seen.wrong += a != (int8_t)n || b != (uint8_t)n || c != (int16_t)n || d != (uint16_t)n;
    seen.wrong += e != (int32_t)n || f != (uint32_t)n || g != (int64_t)n;
    seen.wrong += i != (float)(n & 0xffff) || j != (double)(n & 0xffffffff);
    seen.wrong += k != ((n & 1) != 0) || l != (size_t)~n;
    seen.wrong += call->result_bytes != 0;
    return TERN_OK;
}

static tern_status send_numbers(tern_worker *worker, tern_worker_id target, uint64_t n) {
    return numbers(worker, target, (int8_t)n, (uint8_t)n, (int16_t)n, (uint16_t)n, (int32_t)n,
                   (uint32_t)n, (int64_t)n, n, (float)(n & 0xffff), (double)(n & 0xffffffff),
                   (n & 1) != 0, (size_t)~n);
}

TERN_REMOTE(nothing)

tern_status nothing_here(tern_call_info *call) {
    (void)call;
    seen.sum += 1000000;
    return TERN_OK;
}

TERN_REMOTE(shapes, (point, at), TERN_ARRAY(int16_t, tail, 5), (enum colour, paint),
            TERN_ARRAY(point, corners, 3), (tern_ptr, where))

tern_status shapes_here(tern_call_info *call, point at, const int16_t *tail, enum colour paint,
                        const point *corners, tern_ptr where) {
    seen.runs++;
    for (int16_t i = 0; i < 5; i++)
        seen.wrong += tail[i] != at.label + i;
    for (int i = 0; i < 3; i++)
        seen.wrong += corners[i].x != at.x + i || corners[i].y != at.y || corners[i].label != i;
    seen.wrong += paint != BLUE || where.rank != call->origin.rank || where.offset != 77;
    return TERN_OK;
}

static void fixed_parameters(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    reset(&f);
    uint64_t random = fixture_seed(&f, 1), sent = 0;
    int rounds = fixture_times(&f, 5000);
    for (int round = 0; round < rounds; round++) {
        point at = {(double)round, 0.5, round % 1000}, corners[3];
        for (int i = 0; i < 3; i++)
            corners[i] = (point){at.x + i, at.y, i};
        int16_t tail[5];
        for (int i = 0; i < 5; i++)
            tail[i] = (int16_t)(at.label + i);
        tern_ptr where = {f.rank, 0, 0, 77};
        for (uint32_t r = 0; r < f.size; r++) {
            EXPECT_OK(send_numbers(f.worker, to(r), tern_test_random(&random)));
            EXPECT_OK(nothing(f.worker, to(r)));
            EXPECT_OK(shapes(f.worker, to(r), at, tail, BLUE, corners, where));
            sent += 2;
        }
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.wrong, 0);
    CU_ASSERT_EQUAL(seen.runs, sent);
    CU_ASSERT_EQUAL(seen.sum, sent / 2 * 1000000);
    fixture_close(&f);
}

/* Strings and buffers of random lengths among other parameters; all content follows from key. */
TERN_REMOTE(mixture, (uint32_t, key), TERN_STRING(text), TERN_BUFFER(double, values),
            TERN_ARRAY(char, name, 3), TERN_BUFFER(point, points), TERN_STRING(last))

static char letter(uint32_t key, size_t i) { return (char)('a' + (key + i) % 26); }

static size_t wrong_text(const char *text, uint32_t key) {
    size_t wrong = strlen(text) != key % 301;
    for (size_t i = 0; text[i] != 0; i++)
        wrong += text[i] != letter(key, i);
    return wrong;
}

tern_status mixture_here(tern_call_info *call, uint32_t key, const char *text, const double *values,
                         size_t values_count, const char *name, const point *points,
                         size_t points_count, const char *last) {
    (void)call;
    seen.runs++;
    seen.wrong += wrong_text(text, key) + wrong_text(last, key / 2);
    seen.wrong += memcmp(name, "abc", 3) != 0;
    seen.wrong += values_count != key % 97 || points_count != key % 5;
    seen.wrong += (uintptr_t)values % 8 != 0 || (uintptr_t)points % 8 != 0;
    for (size_t i = 0; i < values_count; i++)
        seen.wrong += values[i] != key + (double)i;
    for (size_t i = 0; i < points_count; i++)
        seen.wrong += points[i].x != key || points[i].label != (int32_t)i;
    return TERN_OK;
}

static tern_status send_mixture(tern_worker *worker, tern_worker_id target, uint32_t key) {
    char text[301], last[301];
    double values[97];
    point points[5];
    for (size_t i = 0; i < 300; i++) {
        text[i] = letter(key, i);
        last[i] = letter(key / 2, i);
    }
    text[key % 301] = last[key / 2 % 301] = 0;
    for (int i = 0; i < 97; i++)
        values[i] = key + (double)i;
    for (int i = 0; i < 5; i++)
        points[i] = (point){key, 0, i};
    return mixture(worker, target, key, text, values, key % 97, "abc", points, key % 5, last);
}

static void variable_parameters(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    reset(&f);
    uint64_t random = fixture_seed(&f, 2), sent = 0;
    int rounds = fixture_times(&f, 3000);
    for (int round = 0; round < rounds; round++)
        for (uint32_t r = 0; r < f.size; r++) {
            uint32_t key = round == 0 ? 0 : (uint32_t)below(&random, 1000000);
            EXPECT_OK(send_mixture(f.worker, to(r), key));
            sent++;
        }
    /* NULL is no string, and no buffer unless that is empty. */
    void *volatile none = NULL;
    EXPECT(TERN_ERR_ARGUMENT, mixture(f.worker, to(0), 0, none, none, 0, "abc", none, 0, ""));
    EXPECT_DETAIL("mixture(uint32, string, float64*, char:1[3], point:24*, string)");
    EXPECT(TERN_ERR_ARGUMENT, mixture(f.worker, to(0), 0, "", none, 1, "abc", none, 0, ""));
    EXPECT_OK(mixture(f.worker, to(0), 0, "", none, 0, "abc", none, 0, ""));
    sent += 1;
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.wrong, 0);
    uint64_t all[2] = {sent, seen.runs};
    uint64_t *gathered = calloc(f.size, sizeof all);
    fixture_share(&f, all, sizeof all, gathered);
    for (uint32_t r = 0; r < f.size; r++) {
        all[0] -= r > 0 ? 0 : sent;
        all[0] += gathered[2 * r];
        all[1] += r == f.rank ? 0 : gathered[2 * r + 1];
    }
    CU_ASSERT_EQUAL(all[0], all[1]);
    free(gathered);
    fixture_close(&f);
}

/* Results, and how they are waited for. */
TERN_REMOTE_RETURN(double, sum_of, TERN_BUFFER(double, values))
TERN_REMOTE_RETURN(point, moved, (point, at), (double, by))
TERN_REMOTE_RETURN(uint8_t, refused, (int, status))

tern_status sum_of_here(tern_call_info *call, const double *values, size_t values_count,
                        double *result) {
    (void)call;
    *result = 0;
    for (size_t i = 0; i < values_count; i++)
        *result += values[i];
    return TERN_OK;
}

tern_status moved_here(tern_call_info *call, point at, double by, point *result) {
    *result = (point){at.x + by, at.y - by, (int32_t)call->origin.rank};
    return TERN_OK;
}

tern_status refused_here(tern_call_info *call, int status, uint8_t *result) {
    (void)call;
    *result = 5;
    return (tern_status)status;
}

static void results(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    static double values[500];
    int rounds = fixture_times(&f, 500);
    for (size_t i = 0; i < 500; i++)
        values[i] = (double)i;
    for (int round = 0; round < rounds; round++) {
        uint32_t r = (f.rank + (uint32_t)round) % f.size;
        double sum = -1;
        point there = {0, 0, -1};
        uint8_t number = 0;
        size_t count = (size_t)round % 501;
        EXPECT_OK(sum_of(f.worker, to(r), values, count, &sum));
        CU_ASSERT_EQUAL(sum, (double)count * ((double)count - 1) / 2);
        EXPECT_OK(moved(f.worker, to(r), (point){1, 2, 3}, round, &there));
        CU_ASSERT(there.x == 1 + round && there.y == 2 - round && there.label == (int32_t)f.rank);
        EXPECT(TERN_ERR_EXISTS, refused(f.worker, to(r), TERN_ERR_EXISTS, &number));
        CU_ASSERT_EQUAL(number, 0);
        EXPECT_OK(refused(f.worker, to(r), TERN_OK, &number));
        CU_ASSERT_EQUAL(number, 5);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

static void requests(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    static const double values[] = {1, 2, 4};
    tern_request sums[8] = {0}, moves[8] = {0}, plain = {0};
    double sum[8];
    point there[8];
    int rounds = fixture_times(&f, 100);
    reset(&f);
    for (int round = 0; round < rounds; round++) {
        uint32_t r = (f.rank + (uint32_t)round) % f.size;
        for (size_t i = 0; i < 8; i++) {
            EXPECT_OK(sum_of_start(f.worker, to(r), values, i % 4, &sum[i], &sums[i]));
            EXPECT_OK(
                moved_start(f.worker, to(r), (point){(double)i, 0, 0}, 1, &there[i], &moves[i]));
        }
        EXPECT_OK(nothing_start(f.worker, to(r), &plain));
        for (size_t i = 8; i-- > 0;) {
            EXPECT_OK(tern_wait(f.worker, &sums[i]));
            CU_ASSERT_EQUAL(sum[i], (double)((1u << i % 4) - 1));
            EXPECT_OK(tern_wait(f.worker, &moves[i]));
            CU_ASSERT_EQUAL(there[i].x, (double)i + 1);
        }
        EXPECT_OK(tern_wait(f.worker, &plain));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.sum, (uint64_t)rounds * 1000000);
    fixture_close(&f);
}

/* An object of the program's, and a table. */
typedef struct till {
    uint64_t money, sales;
} till;

TERN_REMOTE_RETURN(uint64_t, sell, TERN_PART(till, desk), (uint32_t, price), TERN_STRING(what))
TERN_REMOTE(tally, TERN_PART(tern_hashtable, table), (uint64_t, key))

tern_status sell_here(tern_call_info *call, till *desk, uint32_t price, const char *what,
                      uint64_t *result) {
    (void)call;
    desk->money += price + strlen(what);
    *result = ++desk->sales;
    return TERN_OK;
}

tern_status tally_here(tern_call_info *call, tern_hashtable *table, uint64_t key) {
    return tern_hashtable_add(call->worker, table, &key, 1, TERN_BY_RMA, NULL);
}

static void parts_of_objects(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    till mine[2] = {{0}, {0}};
    tern_part *tills[2], *tables, *gone;
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {
        .key_bytes = 8, .counter = true, .capacity = 64 * f.size};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    EXPECT_OK(tern_part_create(f.worker, "till", &mine[0], &tills[0]));
    EXPECT_OK(tern_part_create(f.worker, "till", &mine[1], &tills[1]));
    EXPECT_OK(tern_part_create(f.worker, "tern_hashtable", table, &tables));
    EXPECT_OK(tern_part_create(f.worker, "till", &mine[0], &gone));
    if (f.rank != 0)
        tern_part_destroy(gone);
    EXPECT_OK(tern_barrier(f.worker));
    const uint32_t next = (f.rank + 1) % f.size;
    uint64_t got = 0;
    for (uint64_t i = 1; i <= 10; i++) {
        EXPECT_OK(sell(f.worker, to(next), tills[i % 2], 5, "tea", &got));
        CU_ASSERT_EQUAL(got, (i + 1) / 2);
    }
    if (f.rank == 0 && f.size > 1)
        EXPECT(TERN_ERR_STATE, sell(f.worker, to(next), gone, 5, "tea", &got));
    EXPECT(TERN_ERR_STATE, sell(f.worker, to(next), tables, 5, "tea", &got));
    EXPECT_DETAIL("till");
    EXPECT(TERN_ERR_STATE, sell(f.worker, to(next), NULL, 5, "tea", &got));
    /* Counted by the owners, since handlers do not wait. */
    for (uint64_t key = 0; key < 8; key++)
        EXPECT_OK(tally(f.worker, to(tern_hashtable_owner(table, &key)), tables, key));
    EXPECT_OK(tern_quiesce(f.worker));
    for (int t = 0; t < 2; t++) {
        CU_ASSERT_EQUAL(mine[t].money, 5 * (5 + 3));
        CU_ASSERT_EQUAL(mine[t].sales, 5);
    }
    for (uint64_t key = 0; key < 8; key++) {
        EXPECT_OK(tern_hashtable_find(f.worker, table, &key, 0, &got));
        CU_ASSERT_EQUAL(got, f.size);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        tern_part_destroy(gone);
    tern_part_destroy(tables);
    tern_part_destroy(tills[0]);
    tern_part_destroy(tills[1]);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Memory of the target's segment, and what is not there. */
TERN_REMOTE_RETURN(uint64_t, doubled, TERN_SEGMENT(uint64_t, words), (uint64_t, by))

tern_status doubled_here(tern_call_info *call, uint64_t *words, size_t words_count, uint64_t by,
                         uint64_t *result) {
    (void)call;
    *result = (words == NULL) + words_count;
    for (size_t i = 0; i < words_count; i++)
        words[i] *= by;
    return TERN_OK;
}

static void segment_memory(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 512, TERN_DOMAIN_GLOBAL, all);
    uint32_t next = (f.rank + 1) % f.size;
    uint64_t words[64], got = 0;
    for (uint64_t i = 0; i < 64; i++)
        words[i] = i + f.rank;
    EXPECT_OK(tern_put(f.worker, all[next], words, sizeof words));
    EXPECT_OK(tern_fence(f.worker, next));
    EXPECT_OK(doubled(f.worker, to(next), all[next], 64, 2, &got));
    CU_ASSERT_EQUAL(got, 64);
    EXPECT_OK(doubled(f.worker, to(next), tern_ptr_add(all[next], 8), 1, 5, &got));
    EXPECT_OK(doubled(f.worker, to(next), TERN_NULL, 0, 3, &got));
    CU_ASSERT_EQUAL(got, 1);
    EXPECT_OK(tern_get(f.worker, words, all[next], sizeof words));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 64; i++)
        wrong += words[i] != (i + f.rank) * (i == 1 ? 10 : 2);
    CU_ASSERT_EQUAL(wrong, 0);

    got = 99;
    tern_ptr nowhere[] = {TERN_NULL, all[next], all[next], all[next], all[next]};
    nowhere[1].offset += 4; /* not aligned */
    nowhere[2].offset = UINT64_MAX - 7;
    nowhere[3].rank = f.size;
    nowhere[4].segment = 1;
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        EXPECT(TERN_ERR_RANGE, doubled(f.worker, to(next), nowhere[i], 1, 7, &got));
        EXPECT_DETAIL("doubled");
    }
    static const size_t counts[] = {1 << 20, SIZE_MAX / 8, SIZE_MAX / 8 + 2, SIZE_MAX};
    for (size_t i = 0; i < 4; i++)
        EXPECT(TERN_ERR_RANGE, doubled(f.worker, to(next), all[next], counts[i], 7, &got));
    /* Of a rank that the target does not reach by load and store. */
    if (f.size > 1 && !fixture_all_direct(&f)) {
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, next, &transport));
        tern_status wanted = transport == TERN_SHM ? TERN_OK : TERN_ERR_RANGE;
        EXPECT(wanted, doubled(f.worker, to(next), all[f.rank], 1, 1, &got));
    } else {
        EXPECT_OK(doubled(f.worker, to(next), all[f.rank], 1, 1, &got));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

/* Memory that the target has registered, up to its last byte and no further. */
static void registered_memory(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    static uint64_t words[64];
    tern_ptr mine = TERN_NULL, *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size;
    uint64_t got = 0, wrong = 0;
    for (uint64_t i = 0; i < 64; i++)
        words[i] = i;
    EXPECT_OK(tern_register(f.worker, words, sizeof words, &mine));
    fixture_share(&f, &mine, sizeof mine, all);
    EXPECT_OK(doubled(f.worker, to(next), all[next], 64, 2, &got));
    CU_ASSERT_EQUAL(got, 64);
    EXPECT_OK(doubled(f.worker, to(next), tern_ptr_add(all[next], 504), 1, 5, &got));
    EXPECT(TERN_ERR_RANGE, doubled(f.worker, to(next), tern_ptr_add(all[next], 504), 2, 7, &got));
    EXPECT(TERN_ERR_RANGE, doubled(f.worker, to(next), tern_ptr_add(all[next], 4), 1, 7, &got));
    EXPECT(TERN_ERR_RANGE, doubled(f.worker, to(next), all[next], SIZE_MAX / 4, 7, &got));
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < 64; i++)
        wrong += words[i] != i * (i == 63 ? 10 : 2);
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_deregister(f.worker, mine));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT(TERN_ERR_RANGE, doubled(f.worker, to(next), all[next], 1, 7, &got));
    EXPECT_OK(tern_quiesce(f.worker));
    free(all);
    fixture_close(&f);
}

/* A handler that calls back, with more than fits the ring at once. */
TERN_REMOTE(ask, (uint32_t, key), (uint32_t, depth))

tern_status ask_here(tern_call_info *call, uint32_t key, uint32_t depth) {
    if (depth == 0)
        return send_mixture(call->worker, call->origin, key);
    return ask(call->worker, call->origin, key, depth - 1);
}

static void calls_in_handlers(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    reset(&f);
    uint64_t random = fixture_seed(&f, 3), sent = 0;
    int rounds = fixture_times(&f, 2000);
    for (int round = 0; round < rounds; round++)
        for (uint32_t r = 0; r < f.size; r++, sent++)
            EXPECT_OK(ask(f.worker, to(r), (uint32_t)below(&random, 1000000),
                          (uint32_t)below(&random, 4)));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.wrong, 0);
    uint64_t runs = 0, *all = calloc(f.size, sizeof *all);
    fixture_share(&f, &seen.runs, sizeof seen.runs, all);
    for (uint32_t r = 0; r < f.size; r++)
        runs += all[r];
    CU_ASSERT_EQUAL(runs, sent * f.size);
    free(all);
    fixture_close(&f);
}

/* The largest arguments, and one element more. */
TERN_REMOTE(large, TERN_BUFFER(char, bytes))

tern_status large_here(tern_call_info *call, const char *bytes, size_t bytes_count) {
    (void)call;
    seen.runs++;
    seen.sum += bytes_count;
    for (size_t i = 0; i < bytes_count; i++)
        seen.wrong += bytes[i] != (char)i;
    return TERN_OK;
}

static void size_limits(void) {
    static const size_t rings[] = {4096, (size_t)16 << 20};
    static char bytes[TERN_ARGUMENTS_MAX];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        if (!open_with_rings(&f, rings[i]))
            return;
        reset(&f);
        tern_worker_id next = to((f.rank + 1) % f.size);
        /* Beside it: the archive's header, and two items'. */
        size_t most = rings[i] / 2 - 64 - 24;
        EXPECT_OK(large(f.worker, next, bytes, most));
        EXPECT_OK(large(f.worker, next, bytes, 0));
        volatile size_t endless = SIZE_MAX; /* that the compiler knows of, it refuses itself */
        EXPECT(TERN_ERR_RANGE, large(f.worker, next, bytes, endless));
        EXPECT_DETAIL("large(char:1*)");
        EXPECT_DETAIL("TERN_CHUNK_MAX");
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(seen.runs, 2);
        CU_ASSERT_EQUAL(seen.sum, most);
        CU_ASSERT_EQUAL(seen.wrong, 0);
        fixture_close(&f);
    }
}

/* Far more than any ring takes, and more than this rank's segment has room for. */
static void beyond_any_ring(void) {
    enum { MOST = (10 << 20) + 5 };
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)24 << 20;
    config.ring_size = 4096;
    if (!fixture_open(&f, &config))
        return;
    char *bytes = malloc((size_t)3 * MOST);
    for (size_t i = 0; i < (size_t)3 * MOST; i++)
        bytes[i] = (char)i;
    reset(&f);
    tern_worker_id next = to((f.rank + 1) % f.size);
    EXPECT_OK(large(f.worker, next, bytes, MOST));
    EXPECT(TERN_ERR_MEMORY, large(f.worker, next, bytes, (size_t)3 * MOST));
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen.runs, 1);
    CU_ASSERT_EQUAL(seen.sum, MOST);
    CU_ASSERT_EQUAL(seen.wrong, 0);
    free(bytes);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"fixed_parameters", fixed_parameters},
        {"variable_parameters", variable_parameters},
        {"results", results},
        {"requests", requests},
        {"parts_of_objects", parts_of_objects},
        {"segment_memory", segment_memory},
        {"registered_memory", registered_memory},
        {"calls_in_handlers", calls_in_handlers},
        {"size_limits", size_limits},
        {"beyond_any_ring", beyond_any_ring},
    };
    return tern_test_main(argc, argv, "remote", tests, sizeof tests / sizeof tests[0]);
}
