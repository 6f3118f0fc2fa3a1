// tern-test: transports

/* What the operations of the map cost, in puts, gets and atomics of the caller: the table in
 * tern/map.h. One rank works, the others serve it. */

#include "map_buckets.h"
#include "map_tools.h"

typedef struct cost {
    uint64_t gets, puts, atomics, calls;
} cost;

enum { KEYS = 6, CAPACITY = 20000, SMALL = 16, LARGE = 500, LARGER = 5000 };

static const tern_flags reads = TERN_READ_ONLY;
static const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;
static tern_stats before;
static unsigned char value[LARGER];

static void begin(fixture *f) { tern_stats_get(f->worker, &before); }

/* Per key, since begin. */
static bool costs(fixture *f, cost wanted, const char *what) {
    tern_stats after;
    tern_stats_get(f->worker, &after);
    cost got = {after.gets - before.gets, after.puts - before.puts, after.atomics - before.atomics,
                after.calls_sent - before.calls_sent};
    bool same = got.gets == wanted.gets * KEYS && got.puts == wanted.puts * KEYS &&
                got.atomics == wanted.atomics * KEYS && got.calls == wanted.calls * KEYS;
    if (!same)
        fprintf(stderr, "%s: %d operations cost %d gets, %d puts, %d atomics, %d calls\n", what,
                KEYS, (int)got.gets, (int)got.puts, (int)got.atomics, (int)got.calls);
    return same;
}

/* A rank that shares no memory with rank 0, or none. */
static uint32_t remote_rank(const fixture *f) {
    for (uint32_t r = 0; r < f->size; r++) {
        tern_transport transport = TERN_SHM;
        if (tern_context_transport(f->context, r, &transport) == TERN_OK && transport != TERN_SHM)
            return r;
    }
    return UINT32_MAX;
}

/* Keys of that owner, no two of them, nor of those chosen before, in neighbouring buckets. */
static void choose_keys(const tern_map *map, uint32_t owner, uint64_t start, uint64_t *keys) {
    static uint64_t taken[14 * KEYS]; /* three rounds of three, one of two, and three of one */
    static size_t count;
    count = start == 0 ? 0 : count;
    for (int i = 0; i < KEYS; start++) {
        const uint64_t bucket = map_bucket_of(map, start);
        bool skip = tern_map_owner(map, &start, sizeof start) != owner;
        for (size_t t = 0; t < count; t++)
            skip = skip || bucket - taken[t] + 1 <= 2;
        if (skip)
            continue;
        taken[count++] = bucket;
        keys[i++] = start;
    }
}

static void insert_all(fixture *f, tern_map *map, const uint64_t *keys, size_t bytes,
                       tern_flags path) {
    for (int i = 0; i < KEYS; i++)
        EXPECT_OK(tern_map_insert(f->worker, map, &keys[i], 8, value, bytes, path, NULL));
}

static void insert_all_new(fixture *f, tern_map *map, const uint64_t *keys, size_t bytes) {
    for (int i = 0; i < KEYS; i++)
        EXPECT_OK(tern_map_insert_new(f->worker, map, &keys[i], 8, value, bytes, rma, NULL));
}

static void find_all(fixture *f, tern_map *map, const uint64_t *keys, tern_flags flags,
                     tern_status wanted) {
    static unsigned char found[LARGER];
    for (int i = 0; i < KEYS; i++)
        EXPECT(wanted,
               tern_map_find(f->worker, map, &keys[i], 8, flags, found, sizeof found, NULL));
}

static void erase_all(fixture *f, tern_map *map, const uint64_t *keys, tern_flags path) {
    for (int i = 0; i < KEYS; i++)
        EXPECT_OK(tern_map_erase(f->worker, map, &keys[i], 8, path));
}

static void modify_all(fixture *f, tern_map *map, const uint64_t *keys, uint64_t delta,
                       tern_flags path) {
    for (int i = 0; i < KEYS; i++)
        EXPECT_OK(tern_map_add(f->worker, map, &keys[i], 8, delta, path, NULL));
}

/* By RMA as a find and an insert; an add of 0 does not change the number, and is a find. */
static void modified(fixture *f, tern_map *map, uint32_t owner, uint64_t start) {
    uint64_t keys[KEYS], others[KEYS];
    choose_keys(map, owner, start, keys);
    choose_keys(map, owner, start + 100000, others);
    modify_all(f, map, others, 1, rma);
    begin(f);
    modify_all(f, map, keys, 1, rma);
    CU_ASSERT(costs(f, (cost){.gets = 1, .atomics = 1}, "add to a new key"));
    begin(f);
    modify_all(f, map, keys, 1, rma);
    CU_ASSERT(costs(f, (cost){.gets = 3, .atomics = 2, .puts = 1}, "add"));
    begin(f);
    modify_all(f, map, keys, 0, rma);
    CU_ASSERT(costs(f, (cost){.gets = 1}, "add of 0"));
    begin(f);
    modify_all(f, map, keys, 1, TERN_AUTO);
    CU_ASSERT(costs(f, (cost){.calls = 1}, "add by call"));
    begin(f);
    erase_all(f, map, others, rma);
    CU_ASSERT(costs(f, (cost){.gets = 1, .atomics = 1}, "erase of numbers"));
}

/* The first insert of a row does not meet what the last one did: it is not counted. */
static void by_rma(fixture *f, tern_map *map, uint32_t owner, size_t bytes, uint64_t start) {
    const uint64_t blocks = bytes > SMALL;
    uint64_t keys[KEYS], absent[KEYS];
    choose_keys(map, owner, start, keys);
    choose_keys(map, owner, start + 100000, absent);
    insert_all(f, map, absent, bytes, rma);
    begin(f);
    insert_all(f, map, keys, bytes, rma);
    CU_ASSERT(costs(f, (cost){.atomics = 1}, "insert"));
    EXPECT_OK(tern_map_insert(f->worker, map, &keys[0], 8, value, bytes, rma, NULL));
    begin(f);
    insert_all(f, map, keys, bytes, rma);
    CU_ASSERT(costs(f, (cost){.atomics = 2}, "insert of a known key"));
    begin(f);
    insert_all_new(f, map, keys, bytes);
    CU_ASSERT(costs(f, (cost){.gets = 1, .atomics = 1}, "insert_new of a known key"));
    begin(f);
    find_all(f, map, keys, rma, TERN_OK);
    CU_ASSERT(costs(f, (cost){.gets = 1}, "find of own blocks"));
    begin(f);
    erase_all(f, map, absent, rma);
    CU_ASSERT(costs(f, (cost){.gets = 1, .atomics = 1}, "erase"));
    choose_keys(map, owner, start + 200000, absent);
    begin(f);
    find_all(f, map, absent, rma, TERN_ERR_NOT_FOUND);
    CU_ASSERT(costs(f, (cost){.gets = 1}, "find of an absent key"));
    begin(f);
    find_all(f, map, absent, reads | rma, TERN_ERR_NOT_FOUND);
    CU_ASSERT(costs(f, (cost){.gets = 1}, "find of an absent key in a phase"));

    /* By call the block lies at the owner. */
    begin(f);
    insert_all(f, map, absent, bytes, call);
    CU_ASSERT(costs(f, (cost){.calls = 1}, "insert by call"));
    begin(f);
    find_all(f, map, absent, rma, TERN_OK);
    find_all(f, map, absent, reads | rma, TERN_OK);
    CU_ASSERT(costs(f, (cost){.gets = 2 + 2 * blocks}, "find"));
    begin(f);
    find_all(f, map, absent, call, TERN_OK);
    CU_ASSERT(costs(f, (cost){.calls = 1, .gets = bytes > 960}, "find by call"));
    begin(f);
    erase_all(f, map, absent, rma);
    CU_ASSERT(costs(f, (cost){.gets = 1, .atomics = 1, .calls = blocks},
                    "erase of what lies at the owner"));
    begin(f);
    erase_all(f, map, keys, call);
    CU_ASSERT(costs(f, (cost){.calls = 1}, "erase by call"));
}

/* Finds that are started and waited for cost what blocking ones do. */
static void started(fixture *f, tern_map *map, uint32_t owner, size_t bytes, uint64_t start) {
    static unsigned char found[KEYS][LARGER];
    uint64_t keys[KEYS];
    tern_request request[KEYS] = {0};
    choose_keys(map, owner, start, keys);
    insert_all(f, map, keys, bytes, call); /* a block lies at the owner */
    begin(f);
    for (int i = 0; i < KEYS; i++)
        EXPECT_OK(
            tern_map_find_start(f->worker, map, &keys[i], 8, rma, found[i], LARGER, &request[i]));
    EXPECT_OK(tern_wait_all(f->worker, request, KEYS));
    CU_ASSERT(costs(f, (cost){.gets = bytes > SMALL ? 2 : 1}, "find_start"));
    for (int i = 0; i < KEYS; i++)
        CU_ASSERT(tern_request_result(&request[i]) == bytes && memcmp(found[i], value, bytes) == 0);
}

/* Inserts that are started and waited for cost what blocking ones do, and the blocks that they
 * replace or have made in vain are given back. */
static void started_inserts(fixture *f, tern_map *map, uint32_t owner, size_t bytes,
                            uint64_t start) {
    uint64_t keys[KEYS];
    size_t used[3];
    tern_request request[KEYS] = {0};
    choose_keys(map, owner, start, keys);
    for (int round = 0; round < 3; round++) {
        begin(f);
        for (int i = 0; i < KEYS; i++)
            EXPECT_OK((round < 2 ? tern_map_insert_start : tern_map_insert_new_start)(
                f->worker, map, &keys[i], 8, value, bytes, rma, &request[i]));
        EXPECT_OK(tern_wait_all(f->worker, request, KEYS));
        CU_ASSERT(round == 2 ||
                  costs(f, (cost){.atomics = 1 + (uint64_t)(round > 0)}, "insert_start"));
        for (int i = 0; i < KEYS; i++)
            CU_ASSERT_EQUAL(tern_request_result(&request[i]), round > 0);
        used[round] = heap_in_use(f);
    }
    CU_ASSERT(used[1] == used[0] && used[2] == used[0]);
    find_all(f, map, keys, rma, TERN_OK);
    erase_all(f, map, keys, rma);
}

static void over_a_network(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = CAPACITY}, &map));
    uint32_t owner = remote_rank(&f);
    if (f.rank == 0 && owner != UINT32_MAX) {
        by_rma(&f, map, owner, SMALL, 0);
        by_rma(&f, map, owner, LARGE, 1000000);
        by_rma(&f, map, owner, LARGER, 2000000);
        modified(&f, map, owner, 3000000);
        started(&f, map, owner, SMALL, 5000000);
        started(&f, map, owner, LARGER, 6000000);
        started_inserts(&f, map, owner, LARGER, 4000000);
    } else if (owner == UINT32_MAX) {
        tern_test_skip("every rank is reached by load and store");
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

/* Operations on direct memory cost nothing that is counted, but for blocks of others' that are
 * given back. */
static void by_load_and_store(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = CAPACITY}, &map));
    uint64_t keys[KEYS];
    choose_keys(map, (f.rank + 1) % f.size, 1000000ul * f.rank, keys);
    EXPECT_OK(tern_barrier(f.worker));
    begin(&f);
    if (fixture_all_direct(&f)) {
        for (size_t bytes = SMALL; bytes <= LARGE; bytes += LARGE - SMALL) {
            insert_all(&f, map, keys, bytes, rma);
            insert_all(&f, map, keys, bytes, rma);
            insert_all_new(&f, map, keys, bytes);
            find_all(&f, map, keys, rma, TERN_OK);
            erase_all(&f, map, keys, rma);
        }
        CU_ASSERT(costs(&f, (cost){0}, "by load and store"));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

enum { MANY = 1000, BUNDLE_WORDS = 2048, HEAD_WORDS = 4 };

static tern_map_item items[MANY];
static tern_map_slot slots[MANY];

/* Messages for MANY items of words each, of which an answer takes some. */
static uint64_t bundles(const fixture *f, uint64_t words, uint64_t answered) {
    const uint64_t ring = (tern_context_config(f->context)->ring_size / 2 - 96) / 8;
    const uint64_t each = (ring < BUNDLE_WORDS ? ring : BUNDLE_WORDS) / words;
    uint64_t messages = 0;
    for (uint64_t left = MANY, items_of; left > 0; left -= items_of) {
        items_of = left < each ? left : each;
        messages += (items_of + answered - 1) / answered;
    }
    return messages;
}

/* Calls of this rank since begin. */
static uint64_t calls_made(const fixture *f) {
    tern_stats after;
    tern_stats_get(f->worker, &after);
    return after.calls_sent - before.calls_sent;
}

static void insert_many(fixture *f, tern_map *map, size_t bytes, uint64_t wanted) {
    size_t stored = 0;
    for (size_t i = 0; i < MANY; i++)
        items[i].value_bytes = bytes;
    begin(f);
    EXPECT_OK(tern_map_insert_many(f->worker, map, items, MANY, call, &stored));
    CU_ASSERT(stored == MANY && calls_made(f) == wanted);
}

static void find_many(fixture *f, tern_map *map, size_t bytes, uint64_t wanted) {
    static unsigned char found[MANY][LARGE];
    size_t present = 0;
    for (size_t i = 0; i < MANY; i++)
        slots[i] = (tern_map_slot){items[i].key, 8, found[i], LARGE, 77, 0};
    begin(f);
    EXPECT_OK(tern_map_find_many(f->worker, map, slots, MANY, call, &present));
    CU_ASSERT(present == MANY && calls_made(f) == wanted && slots[7].value_bytes == bytes);
}

/* Keys of one owner travel together. */
static void many_at_once(void) {
    static uint64_t keys[MANY];
    static tern_map_item same[MANY];
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = NULL;
    const tern_map_options options = {.capacity = CAPACITY};
    EXPECT_OK(tern_map_create(f.worker, &options, &map));
    for (size_t i = 0, next = 0; f.rank == 0 && f.size > 1 && i < MANY; i++, next++) {
        while (tern_map_owner(map, &next, 8) != f.size - 1)
            next++;
        keys[i] = next;
        items[i] = (tern_map_item){&keys[i], value, 8, 0};
        same[i] = (tern_map_item){&keys[i / 500], value, 8, 8};
    }
    if (f.rank == 0 && f.size > 1) {
        size_t done = 0;
        tern_map_buffer *buffer = NULL;
        insert_many(&f, map, 8, bundles(&f, HEAD_WORDS + 2, MANY));
        find_many(&f, map, 8, bundles(&f, HEAD_WORDS + 1, MANY));
        begin(&f);
        EXPECT_OK(tern_map_add_many(f.worker, map, items, MANY, 1, call, &done));
        CU_ASSERT(done == MANY && calls_made(&f) == bundles(&f, HEAD_WORDS + 2, MANY));
        EXPECT_OK(tern_map_buffer_create(f.worker, map, 0, &buffer));
        begin(&f);
        for (size_t i = 0; i < MANY; i++)
            EXPECT_OK(tern_map_buffer_add(f.worker, buffer, &keys[i], 8, 1));
        EXPECT_OK(tern_map_buffer_destroy(f.worker, buffer, NULL));
        CU_ASSERT_EQUAL(calls_made(&f), bundles(&f, HEAD_WORDS + 2, MANY));
        insert_many(&f, map, LARGE, bundles(&f, HEAD_WORDS + 1 + (LARGE + 7) / 8, MANY));
        find_many(&f, map, LARGE,
                  bundles(&f, HEAD_WORDS + 1, BUNDLE_WORDS / (1 + (LARGE + 7) / 8)));
        begin(&f);
        EXPECT_OK(tern_map_insert_many(f.worker, map, same, MANY, call, &done));
        CU_ASSERT(done == MANY && calls_made(&f) == 1);
        begin(&f);
        EXPECT_OK(tern_map_add_many(f.worker, map, same, MANY, 1, call, &done));
        CU_ASSERT(done == MANY && calls_made(&f) == 1);
        uint64_t number = 0;
        EXPECT_OK(tern_map_find(f.worker, map, &keys[1], 8, call, &number, 8, NULL));
        CU_ASSERT_EQUAL(number, 500);
        /* An item too large for a bundle goes by itself, behind those that were there before. */
        static char huge[20000], found[20000];
        same[2] = (tern_map_item){&keys[0], huge, 8, sizeof huge};
        begin(&f);
        EXPECT_OK(tern_map_insert_many(f.worker, map, same, 3, call, &done));
        CU_ASSERT(done == 3 && calls_made(&f) == 2);
        slots[0] = (tern_map_slot){&keys[0], 8, found, sizeof found, 0, 0};
        EXPECT_OK(tern_map_find_many(f.worker, map, slots, 1, call, NULL));
        CU_ASSERT(slots[0].found == 1 && slots[0].value_bytes == sizeof huge);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"over_a_network", over_a_network},
        {"many_at_once", many_at_once},
        {"by_load_and_store", by_load_and_store},
    };
    return tern_test_main(argc, argv, "map_cost", tests, sizeof tests / sizeof tests[0]);
}
