// tern-test: transports

/* Map: what it has in common with hash tables beyond single operations: keys placed by a part of
 * them, keys that the program calls the same, and growth. */

#include "map_tools.h"
#include "table_tools.h"

static unsigned char key[TERN_MAP_KEY_MAX + 1], value[MAP_VALUE_ROOM + 8],
    found[MAP_VALUE_ROOM + 8];

/* Edges with names: a key is the number of its source, and a name of any length. */
static uint64_t source_of(const void *name, size_t bytes, void *argument) {
    uint32_t source = 0;
    if (bytes >= sizeof source)
        memcpy(&source, name, sizeof source);
    ++*(uint64_t *)argument;
    return source;
}

typedef struct placing {
    const fixture *f;
    const tern_map *map;
    uint64_t edges, wrong;
} placing;

static int visit_placed(const tern_map_item *item, void *argument) {
    placing *p = argument;
    p->edges++;
    p->wrong += tern_map_owner(p->map, item->key, item->key_bytes) != p->f->rank;
    p->wrong += tern_map_owner(p->map, item->key, sizeof(uint32_t)) != p->f->rank;
    p->wrong += item->value_bytes != item->key_bytes ||
                memcmp(item->key, item->value, item->key_bytes) != 0;
    return 0;
}

static size_t make_edge(const fixture *f, uint64_t number) {
    const uint32_t source = (uint32_t)(number % 16);
    memcpy(key, &source, sizeof source);
    memcpy(key + 4, &f->rank, 4);
    return 8 + make_map_key(key + 8, number);
}

static void keys_lie_with_their_source(void) {
    enum { EDGES = 40 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    if (f.size > 1) {
        const tern_map_options placed = {.capacity = 10, .key_owner = f.rank ? source_of : NULL};
        tern_map *none = NULL;
        EXPECT(TERN_ERR_MISMATCH, tern_map_create(f.worker, &placed, &none));
        CU_ASSERT_PTR_NULL(none);
    }
    uint64_t calls = 0, random = fixture_seed(&f, 4), size = 77;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = (uint64_t)EDGES * f.size * f.size,
                                                    .key_owner = source_of,
                                                    .key_argument = &calls});
    size_t before = heap_at_first(&f), bytes = 0;
    for (uint64_t i = 0; i < EDGES; i++) {
        const size_t key_bytes = make_edge(&f, i);
        const tern_flags path = any_path(&random);
        int existed = 77;
        EXPECT_OK(tern_map_insert_new(f.worker, map, key, key_bytes, key, key_bytes, path, NULL));
        EXPECT_OK(tern_map_insert(f.worker, map, key, key_bytes, key, key_bytes, any_path(&random),
                                  &existed));
        CU_ASSERT_EQUAL(existed, 1);
        if (i % 8 == 0) {
            EXPECT_OK(tern_map_erase(f.worker, map, key, key_bytes, any_path(&random)));
            EXPECT(TERN_ERR_NOT_FOUND,
                   tern_map_find(f.worker, map, key, key_bytes, path, found, sizeof found, &bytes));
            EXPECT_OK(tern_map_insert(f.worker, map, key, key_bytes, key, key_bytes, path, NULL));
        }
        EXPECT_OK(tern_map_find(f.worker, map, key, key_bytes, path, found, sizeof found, &bytes));
        CU_ASSERT(bytes == key_bytes && memcmp(found, key, bytes) == 0);
    }
    CU_ASSERT(calls > 0);
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    CU_ASSERT_EQUAL(size, (uint64_t)EDGES * f.size);
    placing p = {&f, map, 0, 0};
    uint64_t all[64], total = 0;
    EXPECT_OK(tern_map_for_each(f.worker, map, visit_placed, &p));
    CU_ASSERT_EQUAL(p.wrong, 0);
    fixture_share(&f, &p.edges, sizeof p.edges, all);
    for (uint32_t r = 0; r < f.size; r++)
        total += all[r];
    CU_ASSERT(total == size && (f.size == 1 || all[0] < total));
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* By RMA as a rule: a call waits until its owner has a processor. */
static tern_flags some_path(uint64_t *random) {
    return below(random, 200) == 0 ? TERN_BY_CALL : TERN_BY_RMA;
}

/* Small keys: over shared memory 100,000 of them where 10 were asked for. */
static void a_map_grows(void) {
    fixture f;
    if (!map_open(&f, (size_t)64 << 20))
        return;
    const uint64_t all = fixture_all_direct(&f) ? 100000 : 150;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 5), wrong = 0, size = 77;
    for (int turn = 0; turn < 2; turn++) {
        const size_t value_bytes = turn == 0 ? 8 : 4;
        for (uint64_t i = f.rank; i < all; i += f.size)
            wrong += tern_map_insert(f.worker, map, &i, 8, &i, value_bytes, some_path(&random),
                                     NULL) != TERN_OK;
        EXPECT_OK(tern_map_size(f.worker, map, &size));
        CU_ASSERT(size == all && wrong == 0);
        for (uint64_t i = (f.rank + 1) % f.size; i < all; i += f.size) {
            uint64_t number = 0;
            size_t bytes = 0;
            wrong += tern_map_find(f.worker, map, &i, 8, any_reader(&random) | some_path(&random),
                                   &number, 8, &bytes) != TERN_OK;
            wrong += bytes != value_bytes || number != i;
        }
        CU_ASSERT_EQUAL(wrong, 0);
        EXPECT_OK(tern_barrier(f.worker));
    }
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

enum { MOST_KEYS = 240 };

typedef struct tally {
    const fixture *f;
    const uint64_t *version;
    uint64_t own, wrong;
} tally;

static int count_own(const tern_map_item *item, void *argument) {
    tally *t = argument;
    uint32_t rank = UINT32_MAX;
    memcpy(&rank, item->key, item->key_bytes < 4 ? 0 : 4);
    if (rank != t->f->rank)
        return 0;
    t->own++;
    for (uint64_t number = 0; number < MOST_KEYS; number++)
        if (make_own_key(key, rank, number) == item->key_bytes &&
            memcmp(key, item->key, item->key_bytes) == 0)
            t->wrong += t->version[number] == 0 ||
                        !is_map_value(item->value, item->value_bytes, number, t->version[number]);
    return 0;
}

/* One random operation on a key of this rank, and a look for one of the next rank. Returns how much
 * was wrong. */
static uint64_t one_step(fixture *f, tern_map *map, uint64_t number, uint64_t *version,
                         uint64_t next, uint64_t *random) {
    const uint64_t last = *version, what = below(random, 8);
    size_t key_bytes = make_own_key(key, f->rank, number),
           bytes = make_map_value(value, number, next);
    int existed = last != 0;
    uint64_t wrong = 0;
    if (what == 0) {
        EXPECT(last == 0 ? TERN_ERR_NOT_FOUND : TERN_OK,
               tern_map_erase(f->worker, map, key, key_bytes, any_path(random)));
        *version = 0;
    } else if (what < 6) {
        EXPECT_OK((what == 1 ? tern_map_insert_new : tern_map_insert)(
            f->worker, map, key, key_bytes, value, bytes, any_path(random), &existed));
        wrong += existed != (last != 0);
        *version = what == 1 && last != 0 ? last : next;
    } else {
        tern_status status = tern_map_find(f->worker, map, key, key_bytes, any_path(random), found,
                                           sizeof found, &bytes);
        wrong += last == 0 ? status != TERN_ERR_NOT_FOUND
                           : status != TERN_OK || !is_map_value(found, bytes, number, last);
        key_bytes = make_own_key(key, (f->rank + 1) % f->size, number);
        status = tern_map_find(f->worker, map, key, key_bytes, any_path(random), found,
                               sizeof found, &bytes);
        wrong += status == TERN_OK ? !is_some_map_value(found, bytes, number)
                                   : status != TERN_ERR_NOT_FOUND;
    }
    return wrong;
}

/* Keys and values of all sizes come, change and go while the parts grow from one key on, and the
 * ranks look for each other's keys. Every block is given back once: nothing is left at the end. */
static void blocks_stay_while_keys_move(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const uint64_t keys = fixture_all_direct(&f) ? MOST_KEYS : MOST_KEYS / 10;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 6), wrong = 0;
    for (int turn = 0; turn < 2; turn++) {
        uint64_t version[MOST_KEYS] = {0}, there = 0;
        for (uint64_t i = 0; i < 4 * keys; i++) {
            const uint64_t number = below(&random, 1 + i / 4);
            wrong += one_step(&f, map, number, &version[number], i + 1, &random);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        for (uint64_t number = 0; number < MOST_KEYS; number++)
            there += version[number] != 0;
        EXPECT_OK(tern_barrier(f.worker));
        tally t = {&f, version, 0, 0};
        EXPECT_OK(tern_map_for_each_anywhere(f.worker, map, count_own, &t));
        CU_ASSERT(t.own == there && t.wrong == 0);
        EXPECT_OK(tern_barrier(f.worker));
        clear_and_expect_heap(&f, map, before);
        /* A rank that begins the next turn may insert into this rank's segment. */
        EXPECT_OK(tern_barrier(f.worker));
    }
    map_end(&f, map);
    fixture_close(&f);
}

/* Keys are the same but for tildes at their end, which none of the numbers below has by itself. */
enum { SPELLED = 60, TILDES = 70 };

static size_t without_tildes(const void *name, size_t bytes) {
    while (bytes > 0 && ((const char *)name)[bytes - 1] == '~')
        bytes--;
    return bytes;
}

static void digest_of(const void *name, size_t bytes, uint64_t digest[2], void *argument) {
    uint64_t state = bytes = without_tildes(name, bytes);
    digest[0] = digest[1] = 0;
    for (size_t i = 0; i <= bytes; i++) {
        state ^= i < bytes ? ((const unsigned char *)name)[i] : 0;
        digest[0] ^= tern_test_random(&state);
        digest[1] += tern_test_random(&state);
    }
    *(int *)argument = 1;
}

static size_t spell(uint32_t rank, uint64_t number, uint64_t tildes) {
    const size_t bytes = make_own_key(key, rank, number);
    memset(key + bytes, '~', tildes);
    return bytes + tildes;
}

typedef struct spelling {
    const fixture *f;
    uint64_t version[SPELLED], tildes[SPELLED], own, wrong;
} spelling;

static int check_spelling(const tern_map_item *item, void *argument) {
    spelling *s = argument;
    uint64_t number = 0;
    const size_t bytes = without_tildes(item->key, item->key_bytes);
    if (memcmp(item->key, &s->f->rank, 4) != 0)
        return 0;
    while (number < SPELLED &&
           (make_own_key(key, s->f->rank, number) != bytes || memcmp(key, item->key, bytes) != 0))
        number++;
    s->own++;
    s->wrong += number == SPELLED || item->key_bytes - bytes != s->tildes[number] ||
                !is_map_value(item->value, item->value_bytes, number, s->version[number]);
    return 0;
}

/* One random operation by RMA, by call, in a batch or by a request, in any spelling. */
static uint64_t spelled_step(fixture *f, tern_map *map, spelling *s, uint64_t next,
                             uint64_t *random) {
    const uint64_t number = below(random, SPELLED), last = s->version[number],
                   tildes = below(random, TILDES), what = below(random, 6);
    const tern_flags path = any_path(random);
    size_t key_bytes = spell(f->rank, number, tildes), bytes = make_map_value(value, number, next);
    int existed = 77;
    if (what == 0) {
        s->version[number] = 0;
        return tern_map_erase(f->worker, map, key, key_bytes, path) !=
               (last == 0 ? TERN_ERR_NOT_FOUND : TERN_OK);
    }
    if (what < 4) {
        const tern_map_item twice[2] = {{key, found, key_bytes - tildes, 1},
                                        {key, value, key_bytes, bytes}};
        tern_status status =
            what == 3 ? tern_map_insert_many(f->worker, map, twice, 2, path, NULL)
                      : (what == 1 ? tern_map_insert_new : tern_map_insert)(
                            f->worker, map, key, key_bytes, value, bytes, path, &existed);
        if (what != 1 || last == 0) {
            s->version[number] = next;
            s->tildes[number] = tildes;
        }
        return status != TERN_OK || (what != 3 && existed != (last != 0));
    }
    tern_request request = {0};
    tern_status status =
        what == 4 ? tern_map_find(f->worker, map, key, key_bytes, path, found, sizeof found, &bytes)
                  : tern_map_find_start(f->worker, map, key, key_bytes, path, found, sizeof found,
                                        &request);
    if (what == 5 && status == TERN_OK) {
        status = tern_wait(f->worker, &request);
        bytes = tern_request_result(&request);
    }
    return last == 0 ? status != TERN_ERR_NOT_FOUND
                     : status != TERN_OK || !is_map_value(found, bytes, number, last);
}

/* The program says which keys are the same. The map keeps the bytes of the last insert. */
static void spellings_are_one_key(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = NULL;
    int called = 0;
    if (f.size > 1) {
        const tern_map_options other = {.capacity = 10, .key_digest = f.rank ? digest_of : NULL};
        EXPECT(TERN_ERR_MISMATCH, tern_map_create(f.worker, &other, &map));
        EXPECT_DETAIL("tern_map_create");
        CU_ASSERT_PTR_NULL(map);
    }
    map = map_make(&f,
                   (tern_map_options){
                       .capacity = 1, .grow = 1, .key_digest = digest_of, .key_argument = &called});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 12), there = 0;
    spelling s = {.f = &f};
    for (uint64_t i = 1; i <= (uint64_t)fixture_times(&f, 600); i++)
        s.wrong += spelled_step(&f, map, &s, i, &random);
    CU_ASSERT(s.wrong == 0 && called == 1);
    for (uint64_t number = 0; number < SPELLED; number++)
        there += s.version[number] != 0;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_map_for_each_anywhere(f.worker, map, check_spelling, &s));
    CU_ASSERT(s.own == there && s.wrong == 0);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* A segment holds only so much: then inserts are refused, and nothing else changes. */
static void no_memory_to_grow(void) {
    fixture f;
    if (!map_open(&f, (size_t)1 << 20))
        return;
    tern_map *map =
        map_make(&f, (tern_map_options){.capacity = 10, .grow = 1, .inline_bytes = 960});
    const size_t before = heap_at_first(&f);
    uint64_t stored = 0, size = 77, all[64], total = 0, number = f.rank;
    tern_status status = TERN_OK;
    for (; status == TERN_OK && stored < 4000; number += f.size) {
        status = tern_map_insert(f.worker, map, &number, 8, value, 8, fixture_path(stored), NULL);
        stored += status == TERN_OK;
    }
    EXPECT(TERN_ERR_FULL, status);
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    number -= f.size;
    EXPECT(TERN_ERR_NOT_FOUND,
           tern_map_find(f.worker, map, &number, 8, TERN_BY_CALL, found, 8, NULL));
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    fixture_share(&f, &stored, sizeof stored, all);
    for (uint32_t r = 0; r < f.size; r++)
        total += all[r];
    CU_ASSERT_EQUAL(size, total);
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

static void growth_is_0_or_1(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = NULL;
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_create(f.worker, &(tern_map_options){.capacity = 1, .grow = 2}, &map));
    EXPECT_DETAIL("grow is 2");
    if (f.size > 1) {
        const tern_map_options other = {.capacity = 10, .grow = f.rank == 0};
        EXPECT(TERN_ERR_MISMATCH, tern_map_create(f.worker, &other, &map));
    }
    CU_ASSERT_PTR_NULL(map);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"keys_lie_with_their_source", keys_lie_with_their_source},
        {"a_map_grows", a_map_grows},
        {"blocks_stay_while_keys_move", blocks_stay_while_keys_move},
        {"spellings_are_one_key", spellings_are_one_key},
        {"no_memory_to_grow", no_memory_to_grow},
        {"growth_is_0_or_1", growth_is_0_or_1},
    };
    return tern_test_main(argc, argv, "map_family", tests, sizeof tests / sizeof tests[0]);
}
