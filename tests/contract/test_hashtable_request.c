// tern-test: transports

/* Operations on the hash table that start and return, against what each rank remembers. */

#include "nothing.h"
#include "table_tools.h"

#include <sched.h>
#include <stdlib.h>

static const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;

static tern_hashtable *make_table(fixture *f, size_t key_bytes, size_t value_bytes, int counter,
                                  uint64_t capacity) {
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f->worker,
                                    &(tern_hashtable_options){.key_bytes = key_bytes,
                                                              .value_bytes = value_bytes,
                                                              .counter = counter,
                                                              .capacity = capacity},
                                    &table));
    return table;
}

/* Waits by one function or the other. */
static tern_status outcome(fixture *f, tern_request *request, uint64_t *result, bool by_test) {
    for (int done = 0; by_test && !done; sched_yield())
        EXPECT_OK(tern_test(f->worker, request, &done));
    tern_status status = tern_wait(f->worker, request);
    if (status == TERN_OK && result != NULL)
        *result = tern_request_result(request);
    return status;
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_worker *w = f.worker;
    tern_hashtable *values = make_table(&f, 8, 8, 0, 10), *counters = make_table(&f, 8, 0, 1, 10);
    uint64_t key = 1, out = 77, result = 5;
    int done = 7;
    tern_request r = {0}, busy = {.outcome = -1};
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_start(NULL, values, &key, rma, &out, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_start(w, NULL, &key, rma, &out, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_start(w, values, NULL, rma, &out, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_start(w, values, &key, rma, NULL, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_start(w, values, &key, rma, &out, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_find_start(w, values, &key, TERN_WRITE_ONLY | rma, &out, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_start(w, values, &key, rma, &out, &busy));
    EXPECT_DETAIL("under way");
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_start(w, values, &key, NULL, rma, &r));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_insert_start(w, values, &key, &key, TERN_READ_ONLY | rma, &r));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_insert_new_start(w, values, &key, &key, TERN_BY_RMA | TERN_BY_CALL, &r));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert_start(w, counters, &key, &key, rma, &r));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_add_start(w, values, &key, 1, rma, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_test(w, NULL, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_test(w, &r, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait(NULL, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_all(w, NULL, 1));
    CU_ASSERT(done == 7 && out == 77);
    /* A zeroed one is complete. */
    EXPECT_OK(tern_test(w, &r, &done));
    EXPECT_OK(tern_wait(w, &r));
    result = tern_request_result(&r);
    CU_ASSERT(done == 1 && result == 0);
    EXPECT_OK(tern_wait_all(w, NULL, 0));
    EXPECT_OK(tern_hashtable_destroy(w, values));
    EXPECT_OK(tern_hashtable_destroy(w, counters));
    fixture_close(&f);
}

/* The life of a key, one request after the other. */
static void life_of_a_value(fixture *f, size_t key_bytes, size_t value_bytes, tern_flags path) {
    tern_hashtable *table = make_table(f, key_bytes, value_bytes, 0, 100);
    char *key = malloc(key_bytes), *value = malloc(value_bytes + 1), *out = malloc(value_bytes + 1);
    tern_request r = {0};
    uint64_t random = fixture_seed(f, key_bytes * 1000 + value_bytes), result = 9;
    tern_worker *w = f->worker;
    for (uint64_t n = f->rank * 5; n < f->rank * 5 + 5; n++) {
        make_key(key, key_bytes, n);
        EXPECT_OK(tern_hashtable_find_start(w, table, key, any_reader(&random) | path, out, &r));
        EXPECT(TERN_ERR_NOT_FOUND, outcome(f, &r, NULL, n % 2));
        EXPECT_DETAIL("no such key");
        for (uint64_t version = 0; version < 3; version++) {
            make_value(value, value_bytes, n, version);
            EXPECT_OK(
                tern_hashtable_insert_start(w, table, key, value, any_writer(&random) | path, &r));
            EXPECT_OK(outcome(f, &r, &result, n % 2));
            CU_ASSERT_EQUAL(result, version > 0);
            EXPECT_OK(tern_flush_all(w));
            EXPECT_OK(tern_hashtable_find_start(w, table, key, path, out, &r));
            EXPECT_OK(outcome(f, &r, &result, n % 2));
            CU_ASSERT(is_value(out, value_bytes, n, version));
        }
        EXPECT_OK(tern_hashtable_insert_new_start(w, table, key, out, path, &r));
        EXPECT_OK(outcome(f, &r, &result, n % 2));
        CU_ASSERT_EQUAL(result, 1);
        EXPECT_OK(tern_hashtable_erase(w, table, key, path));
        EXPECT_OK(tern_hashtable_find_start(w, table, key, path, out, &r));
        EXPECT(TERN_ERR_NOT_FOUND, outcome(f, &r, NULL, n % 2));
        EXPECT(TERN_ERR_NOT_FOUND, tern_wait(w, &r));
        make_value(value, value_bytes, n, 7);
        EXPECT_OK((n % 2 ? tern_hashtable_insert_new_start
                         : tern_hashtable_insert_start)(w, table, key, value, path, &r));
        EXPECT_OK(outcome(f, &r, &result, n % 2));
        CU_ASSERT_EQUAL(result, 0);
        memset(out, 0, value_bytes);
        EXPECT_OK(tern_hashtable_find(w, table, key, path, out));
        CU_ASSERT(is_value(out, value_bytes, n, 7));
    }
    CU_ASSERT_EQUAL(total_keys(f, table), 5 * f->size);
    EXPECT_OK(tern_hashtable_destroy(w, table));
    free(key);
    free(value);
    free(out);
}

static void life_of_a_counter(fixture *f, tern_flags path) {
    tern_hashtable *table = make_table(f, 8, 0, 1, 100);
    tern_request r = {0};
    uint64_t result = 9, out = 0;
    for (uint64_t n = f->rank * 5; n < f->rank * 5 + 5; n++) {
        EXPECT_OK(tern_hashtable_add_start(f->worker, table, &n, 3, path, &r));
        EXPECT_OK(outcome(f, &r, &result, n % 2));
        CU_ASSERT_EQUAL(result, 0);
        EXPECT_OK(tern_hashtable_add_start(f->worker, table, &n, 4, path, &r));
        EXPECT_OK(outcome(f, &r, &result, n % 2));
        CU_ASSERT_EQUAL(result, 3);
        EXPECT_OK(tern_hashtable_find_start(f->worker, table, &n, path, &out, &r));
        EXPECT_OK(outcome(f, &r, NULL, n % 2));
        CU_ASSERT_EQUAL(out, 7);
        EXPECT_OK(tern_hashtable_erase(f->worker, table, &n, path));
        EXPECT_OK(tern_hashtable_find_start(f->worker, table, &n, path, &out, &r));
        EXPECT(TERN_ERR_NOT_FOUND, outcome(f, &r, NULL, n % 2));
        EXPECT_OK(tern_hashtable_add_start(f->worker, table, &n, 5, path, &r));
        EXPECT_OK(outcome(f, &r, &result, n % 2));
        CU_ASSERT_EQUAL(result, 0);
        EXPECT_OK(tern_hashtable_find(f->worker, table, &n, path, &out));
        CU_ASSERT_EQUAL(out, 5);
    }
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static void one_after_the_other(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (uint64_t p = 0; p < 3; p++) {
        const tern_flags path = fixture_path(p);
        life_of_a_value(&f, 8, 8, path);
        life_of_a_value(&f, 13, 0, path);
        life_of_a_value(&f, 5, 1000, path);
        life_of_a_counter(&f, path);
    }
    life_of_a_value(&f, 1024, 65536, rma);
    fixture_close(&f);
}

/* Many under way, of keys of the rank's own: one at a time that writes a key. */
enum { MINE = 100, SLOTS = 40, VALUE = 16 };

typedef struct slot {
    tern_request request;
    uint64_t key, version; /* inserted; or when a find started */
    enum { IDLE, FINDS, INSERTS, INSERTS_NEW } what;
    unsigned char value[VALUE];
} slot;

typedef struct player {
    fixture *f;
    tern_hashtable *table;
    uint64_t random;
    uint64_t version[MINE], last[MINE]; /* 0: absent; last: number of versions so far */
    int writes[MINE], reads[MINE];      /* under way */
    slot slots[SLOTS];
    uint64_t fresh; /* keys that came and went */
} player;

static void finish(player *p, slot *s) {
    uint64_t result = 9, own = s->key % MINE, was = p->version[own];
    tern_status status = outcome(p->f, &s->request, &result, below(&p->random, 2));
    if (s->what == FINDS) {
        p->reads[own]--;
        if (was == 0)
            EXPECT(TERN_ERR_NOT_FOUND, status);
        else
            CU_ASSERT(EXPECT_OK(status) && is_value(s->value, VALUE, s->key, was));
    } else {
        p->writes[own]--;
        EXPECT_OK(status);
        CU_ASSERT_EQUAL(result, was > 0);
        if (was == 0 || s->what == INSERTS)
            p->version[own] = s->version;
    }
    s->what = IDLE;
}

static void begin(player *p, slot *s) {
    const uint64_t own = below(&p->random, MINE);
    s->key = p->f->rank * MINE + own;
    const bool find = below(&p->random, 2);
    if (p->writes[own] > 0 || (!find && p->reads[own] > 0))
        return;
    if (!find) {
        s->version = ++p->last[own];
        make_value(s->value, VALUE, s->key, s->version);
    }
    tern_status status = TERN_ERR_AGAIN;
    const tern_flags path = any_path(&p->random);
    s->what = find ? FINDS : below(&p->random, 3) ? INSERTS : INSERTS_NEW;
    uint64_t key = s->key; /* which is copied */
    if (s->what == FINDS)
        status =
            tern_hashtable_find_start(p->f->worker, p->table, &key, path, s->value, &s->request);
    else
        status =
            (s->what == INSERTS ? tern_hashtable_insert_start : tern_hashtable_insert_new_start)(
                p->f->worker, p->table, &key, s->value, path, &s->request);
    key = UINT64_MAX;
    EXPECT_OK(status);
    p->reads[own] += find;
    p->writes[own] += !find;
}

/* A blocking operation on a key of which nothing is under way, or a batch. */
static void do_something_else(player *p) {
    uint64_t own = below(&p->random, MINE), key = p->f->rank * MINE + own, value[VALUE / 8];
    if (p->writes[own] + p->reads[own] > 0)
        return;
    int existed = 9;
    const tern_flags path = any_path(&p->random);
    switch (below(&p->random, 4)) {
    case 0:
        EXPECT(p->version[own] == 0 ? TERN_ERR_NOT_FOUND : TERN_OK,
               tern_hashtable_erase(p->f->worker, p->table, &key, path));
        p->version[own] = 0;
        break;
    case 1:
        EXPECT(p->version[own] == 0 ? TERN_ERR_NOT_FOUND : TERN_OK,
               tern_hashtable_find(p->f->worker, p->table, &key, path, value));
        CU_ASSERT(p->version[own] == 0 || is_value(value, VALUE, key, p->version[own]));
        break;
    case 2:
        make_value(value, VALUE, key, ++p->last[own]);
        EXPECT_OK(tern_hashtable_insert(p->f->worker, p->table, &key, value, path, &existed));
        CU_ASSERT_EQUAL(existed, p->version[own] > 0);
        p->version[own] = p->last[own];
        break;
    default:
        make_value(value, VALUE, key, ++p->last[own]);
        EXPECT_OK(tern_hashtable_insert_many(p->f->worker, p->table, &key, value, 1, path, NULL));
        p->version[own] = p->last[own];
    }
}

/* A key that nobody had before comes and goes: the table fills up, and its keys move. */
static void turn_over(player *p) {
    tern_request request = {0};
    const uint64_t key = (UINT64_C(1) << 32) * (p->f->rank + 1) + p->fresh++,
                   value[VALUE / 8] = {0};
    const tern_flags path = any_path(&p->random);
    EXPECT_OK(tern_hashtable_insert_start(p->f->worker, p->table, &key, value, path, &request));
    EXPECT_OK(tern_wait(p->f->worker, &request));
    CU_ASSERT_EQUAL(tern_request_result(&request), 0);
    EXPECT_OK(tern_hashtable_erase(p->f->worker, p->table, &key, path));
}

/* turnover: so many keys come and go with each request. */
static void play(fixture *f, tern_hashtable *table, int times, int turnover) {
    static player p;
    memset(&p, 0, sizeof p);
    p.f = f;
    p.table = table;
    p.random = fixture_seed(f, 1);
    for (int i = times; i > 0; i--) {
        slot *s = &p.slots[below(&p.random, SLOTS)];
        if (s->what != IDLE)
            finish(&p, s);
        begin(&p, s);
        if (below(&p.random, 8) == 0)
            do_something_else(&p);
        for (int t = 0; t < turnover; t++)
            turn_over(&p);
    }
    for (int i = 0; i < SLOTS; i++)
        if (p.slots[i].what != IDLE)
            finish(&p, &p.slots[i]);
    uint64_t there = 0, value[VALUE / 8], present = total_keys(f, p.table), all[64];
    for (uint64_t own = 0; own < MINE; own++) {
        uint64_t key = f->rank * MINE + own;
        there += p.version[own] > 0;
        EXPECT(p.version[own] > 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
               tern_hashtable_find(f->worker, p.table, &key, TERN_READ_ONLY | rma, value));
        CU_ASSERT(p.version[own] == 0 || is_value(value, VALUE, key, p.version[own]));
    }
    fixture_share(f, &there, sizeof there, all);
    for (uint32_t r = 0; r < f->size; r++)
        present -= all[r];
    CU_ASSERT_EQUAL(present, 0);
    EXPECT_OK(tern_hashtable_destroy(f->worker, p.table));
}

static void many_under_way(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    play(&f, make_table(&f, 8, VALUE, 0, MINE * f.size), fixture_times(&f, 8000), 0);
    fixture_close(&f);
}

/* Parts grow from nothing, and are made anew in their size, while requests are under way. */
static void many_under_way_in_moves(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *growing = NULL;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = VALUE, .capacity = 1, .grow = 1};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &growing));
    play(&f, growing, fixture_times(&f, 1600), 1);
    play(&f, make_table(&f, 8, VALUE, 0, 2 * MINE * f.size), fixture_times(&f, 1600), 1);
    fixture_close(&f);
}

/* All ranks want the same keys at once, and each has several requests under way on each. */
static void all_want_the_same_keys(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 5, EACH = 4, COUNT = KEYS * EACH };
    uint64_t random = fixture_seed(&f, 2), won[COUNT], all[64 * COUNT];
    for (int round = fixture_times(&f, 60) / 4; round >= 0; round--) {
        tern_hashtable *values = make_table(&f, 8, 16, 0, 40), *sums = make_table(&f, 8, 0, 1, 40);
        tern_request fresh[COUNT] = {0}, adds[COUNT] = {0}, finds[COUNT] = {0},
                     inserts[COUNT] = {0};
        uint64_t given[COUNT][2], taken[COUNT][2];
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t i = 0; i < COUNT; i++) {
            uint64_t key = i % KEYS, other = 100 + key;
            make_value(given[i], 16, other, f.rank * 64 + i);
            EXPECT_OK(tern_hashtable_insert_new_start(f.worker, values, &key, given[i],
                                                      any_path(&random), &fresh[i]));
            EXPECT_OK(tern_hashtable_insert_start(f.worker, values, &other, given[i],
                                                  any_path(&random), &inserts[i]));
            EXPECT_OK(
                tern_hashtable_find_start(f.worker, values, &other, rma, taken[i], &finds[i]));
            tern_status status = TERN_ERR_AGAIN;
            while ((status = tern_hashtable_add_start(f.worker, sums, &key, i + 1,
                                                      any_path(&random), &adds[i])) ==
                   TERN_ERR_AGAIN) {
                tern_progress(f.worker);
                sched_yield();
            }
            EXPECT_OK(status);
        }
        for (uint64_t i = 0; i < COUNT; i++) {
            tern_status status = tern_wait(f.worker, &finds[i]);
            CU_ASSERT(status != TERN_OK || is_value(taken[i], 16, 100 + i % KEYS, taken[i][0]));
            if (status != TERN_OK)
                EXPECT(TERN_ERR_NOT_FOUND, status);
            won[i] = 9;
            EXPECT_OK(tern_wait(f.worker, &fresh[i]));
            won[i] = tern_request_result(&fresh[i]);
        }
        EXPECT_OK(tern_wait_all(f.worker, inserts, COUNT));
        EXPECT_OK(tern_wait_all(f.worker, adds, COUNT));
        fixture_share(&f, won, sizeof won, all);
        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t winners = 0, sum = 0, wanted = 0, value[2], other = 100 + key;
            for (uint64_t i = key; i < COUNT; i += KEYS)
                wanted += (i + 1) * f.size;
            for (uint64_t i = key; i < (uint64_t)f.size * COUNT; i += KEYS)
                winners += all[i] == 0;
            CU_ASSERT_EQUAL(winners, 1);
            EXPECT_OK(tern_hashtable_find(f.worker, sums, &key, rma, &sum));
            CU_ASSERT_EQUAL(sum, wanted);
            EXPECT_OK(tern_hashtable_find(f.worker, values, &other, rma, value));
            CU_ASSERT(is_value(value, 16, other, value[0]) && value[0] % 64 % KEYS == key);
        }
        CU_ASSERT_EQUAL(total_keys(&f, values), 2 * KEYS);
        EXPECT_OK(tern_hashtable_destroy(f.worker, values));
        EXPECT_OK(tern_hashtable_destroy(f.worker, sums));
    }
    fixture_close(&f);
}

/* A rank whose insert is under way waits for something else: another that wants the bucket gets
 * it. */
static void who_waits_elsewhere_moves_on(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 20 };
    tern_hashtable *table = make_table(&f, 8, 8, 0, 100);
    tern_request r[KEYS] = {0};
    uint64_t values[KEYS], got;
    for (uint64_t k = 0; k < KEYS; k++) {
        values[k] = f.rank;
        EXPECT_OK(tern_hashtable_insert_start(f.worker, table, &k, &values[k], rma, &r[k]));
        if (f.rank > 0)
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &k, &values[k], rma, NULL));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_wait_all(f.worker, r, KEYS));
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t k = 0; k < KEYS; k++) {
        EXPECT_OK(tern_hashtable_find(f.worker, table, &k, rma, &got));
        CU_ASSERT(got < f.size);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* The request tells of a key that does not fit, the start of one that cannot be started. */
static void limits(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { MORE = TERN_HASHTABLE_REQUESTS + 1, KEYS = 200 };
    tern_hashtable *table = make_table(&f, 8, 8, 0, 16);
    static tern_request r[MORE];
    tern_request one = {0};
    uint64_t key, refused = 0, out[MORE];
    const uint32_t next = (f.rank + 1) % f.size;
    memset(r, 0, sizeof r);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL && f.rank == 0; path *= 2) {
        for (key = 0; key < KEYS; key++) {
            EXPECT_OK(tern_hashtable_insert_start(f.worker, table, &key, &key, path, &one));
            tern_status status = tern_wait(f.worker, &one);
            refused += status == TERN_ERR_FULL;
            if (status == TERN_ERR_FULL)
                EXPECT_DETAIL("capacity");
            else
                EXPECT_OK(status);
        }
        CU_ASSERT(refused > 0 && refused <= 2 * (KEYS - 16));
    }
    EXPECT_OK(tern_barrier(f.worker));
    key = number_owned_by(table, next, 1000);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_status status = TERN_OK;
        int started = 0;
        for (; started < MORE && status == TERN_OK; started++)
            status =
                tern_hashtable_find_start(f.worker, table, &key, path, &out[started], &r[started]);
        if (status != TERN_OK) {
            EXPECT(TERN_ERR_AGAIN, status);
            EXPECT_DETAIL("wait for one");
            CU_ASSERT_EQUAL(started, MORE);
        }
        EXPECT(TERN_ERR_NOT_FOUND, tern_wait_all(f.worker, r, MORE));
        EXPECT_DETAIL("no such key");
    }
    /* A program that has all calls under way gets the other way. */
    tern_request held[TERN_CALL_REQUESTS] = {0};
    start_all_calls(&f, next, held);
    if (next != f.rank)
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_find_start(f.worker, table, &key, call, out, &one));
    EXPECT_OK(tern_hashtable_find_start(f.worker, table, &key, TERN_AUTO, out, &one));
    EXPECT(TERN_ERR_NOT_FOUND, tern_wait(f.worker, &one));
    wait_for_all_calls(&f, held);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* What a handler may do. */
static struct {
    tern_hashtable *table;
    uint32_t owner;
    bool remote;
    tern_request *under_way;
    int ran;
} inside;

static tern_status look_inside(tern_call_info *info, const void *arguments, size_t bytes) {
    (void)arguments, (void)bytes;
    tern_request r = {0};
    uint64_t key = number_owned_by(inside.table, inside.owner, 500), out = 0;
    int done = 7;
    tern_worker *w = info->worker;
    const tern_status wanted = inside.remote ? TERN_ERR_STATE : TERN_OK;
    EXPECT(wanted, tern_hashtable_find_start(w, inside.table, &key, rma, &out, &r));
    if (wanted == TERN_OK)
        EXPECT(TERN_ERR_NOT_FOUND, tern_wait(w, &r));
    if (inside.owner != tern_worker_self(w).rank)
        EXPECT(TERN_ERR_STATE, tern_hashtable_insert_start(w, inside.table, &key, &key, call, &r));
    EXPECT_OK(tern_test(w, inside.under_way, &done));
    if (!done)
        EXPECT(TERN_ERR_STATE, tern_wait(w, inside.under_way));
    inside.ran++;
    return TERN_OK;
}
TERN_FUNCTION(look_inside)

static void in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make_table(&f, 8, 8, 0, 100);
    tern_request r = {0};
    tern_transport transport = TERN_SHM;
    const uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(tern_context_transport(f.context, next, &transport));
    uint64_t key = number_owned_by(table, next, 0), out = 0;
    inside.table = table;
    inside.owner = next;
    inside.remote = transport != TERN_SHM;
    inside.under_way = &r;
    inside.ran = 0;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_find_start(f.worker, table, &key, call, &out, &r));
    EXPECT_OK(
        tern_call(f.worker, (tern_worker_id){.rank = f.rank}, &look_inside_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(inside.ran, 1);
    EXPECT(TERN_ERR_NOT_FOUND, tern_wait(f.worker, &r));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* A table that goes first brings them to their end. */
static void destroyed_under_way(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 30 };
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_hashtable *table = make_table(&f, 8, 8, 0, 1000);
        tern_request r[KEYS] = {0};
        uint64_t values[KEYS];
        for (uint64_t k = 0; k < KEYS; k++) {
            uint64_t key = f.rank * KEYS + k;
            values[k] = key;
            EXPECT_OK(tern_hashtable_insert_start(f.worker, table, &key, &values[k], path, &r[k]));
        }
        /* By call they have to be waited for: the owner may be done with the table. */
        if (path == TERN_BY_CALL)
            EXPECT_OK(tern_wait_all(f.worker, r, KEYS));
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
        int done = 0;
        EXPECT_OK(tern_test(f.worker, &r[KEYS - 1], &done));
        CU_ASSERT_EQUAL(done, 1);
        EXPECT_OK(tern_wait_all(f.worker, r, KEYS));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"one_after_the_other", one_after_the_other},
        {"many_under_way", many_under_way},
        {"many_under_way_in_moves", many_under_way_in_moves},
        {"all_want_the_same_keys", all_want_the_same_keys},
        {"who_waits_elsewhere_moves_on", who_waits_elsewhere_moves_on},
        {"limits", limits},
        {"in_a_handler", in_a_handler},
        {"destroyed_under_way", destroyed_under_way},
    };
    return tern_test_main(argc, argv, "hashtable_request", tests, sizeof tests / sizeof *tests);
}
