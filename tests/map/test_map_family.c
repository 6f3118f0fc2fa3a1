// tern-test: transports

/* Map: what it has in common with hash tables beyond single operations: keys placed by a part of
 * them, growth, requests and batches. */

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
    if (!fixture_open(&f, NULL))
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
        const tern_flags way = any_via(&random);
        int existed = 77;
        EXPECT_OK(tern_map_insert_new(f.worker, map, key, key_bytes, key, key_bytes, way, NULL));
        EXPECT_OK(tern_map_insert(f.worker, map, key, key_bytes, key, key_bytes, any_via(&random),
                                  &existed));
        CU_ASSERT_EQUAL(existed, 1);
        if (i % 8 == 0) {
            EXPECT_OK(tern_map_erase(f.worker, map, key, key_bytes, any_via(&random)));
            EXPECT(TERN_ERR_NOT_FOUND,
                   tern_map_find(f.worker, map, key, key_bytes, way, found, sizeof found, &bytes));
            EXPECT_OK(tern_map_insert(f.worker, map, key, key_bytes, key, key_bytes, way, NULL));
        }
        EXPECT_OK(tern_map_find(f.worker, map, key, key_bytes, way, found, sizeof found, &bytes));
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
static tern_flags some_way(uint64_t *random) {
    return below(random, 200) == 0 ? TERN_BY_CALL : TERN_BY_RMA;
}

/* Small keys: over shared memory 100,000 of them where 10 were asked for. */
static void a_map_grows(void) {
    fixture f;
    if (!map_open(&f, (size_t)64 << 20))
        return;
    const uint64_t all = fixture_all_near(&f) ? 100000 : 150;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 5), wrong = 0, size = 77;
    for (int turn = 0; turn < 2; turn++) {
        const size_t value_bytes = turn == 0 ? 8 : 4;
        for (uint64_t i = f.rank; i < all; i += f.size)
            wrong += tern_map_insert(f.worker, map, &i, 8, &i, value_bytes, some_way(&random),
                                     NULL) != TERN_OK;
        EXPECT_OK(tern_map_size(f.worker, map, &size));
        CU_ASSERT(size == all && wrong == 0);
        for (uint64_t i = (f.rank + 1) % f.size; i < all; i += f.size) {
            uint64_t number = 0;
            size_t bytes = 0;
            wrong += tern_map_find(f.worker, map, &i, 8, any_reader(&random) | some_way(&random),
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

/* A key of that rank's own. */
static size_t key_of_rank(uint32_t rank, uint64_t number) {
    memcpy(key, &rank, sizeof rank);
    return 4 + make_map_key(key + 4, number);
}

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
        if (key_of_rank(rank, number) == item->key_bytes &&
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
    size_t key_bytes = key_of_rank(f->rank, number), bytes = make_map_value(value, number, next);
    int existed = last != 0;
    uint64_t wrong = 0;
    if (what == 0) {
        EXPECT(last == 0 ? TERN_ERR_NOT_FOUND : TERN_OK,
               tern_map_erase(f->worker, map, key, key_bytes, any_via(random)));
        *version = 0;
    } else if (what < 6) {
        EXPECT_OK((what == 1 ? tern_map_insert_new : tern_map_insert)(
            f->worker, map, key, key_bytes, value, bytes, any_via(random), &existed));
        wrong += existed != (last != 0);
        *version = what == 1 && last != 0 ? last : next;
    } else {
        tern_status status = tern_map_find(f->worker, map, key, key_bytes, any_via(random), found,
                                           sizeof found, &bytes);
        wrong += last == 0 ? status != TERN_ERR_NOT_FOUND
                           : status != TERN_OK || !is_map_value(found, bytes, number, last);
        key_bytes = key_of_rank((f->rank + 1) % f->size, number);
        status = tern_map_find(f->worker, map, key, key_bytes, any_via(random), found, sizeof found,
                               &bytes);
        wrong += status == TERN_OK ? !is_some_map_value(found, bytes, number)
                                   : status != TERN_ERR_NOT_FOUND;
    }
    return wrong;
}

/* Keys and values of all sizes come, change and go while the parts grow from one key on, and the
 * ranks look for each other's keys. Every block is given back once: nothing is left at the end. */
static void blocks_stay_while_keys_move(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const uint64_t keys = fixture_all_near(&f) ? MOST_KEYS : MOST_KEYS / 10;
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
    const size_t bytes = key_of_rank(rank, number);
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
           (key_of_rank(s->f->rank, number) != bytes || memcmp(key, item->key, bytes) != 0))
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
    const tern_flags way = any_via(random);
    size_t key_bytes = spell(f->rank, number, tildes), bytes = make_map_value(value, number, next);
    int existed = 77;
    if (what == 0) {
        s->version[number] = 0;
        return tern_map_erase(f->worker, map, key, key_bytes, way) !=
               (last == 0 ? TERN_ERR_NOT_FOUND : TERN_OK);
    }
    if (what < 4) {
        const tern_map_item twice[2] = {{key, found, key_bytes - tildes, 1},
                                        {key, value, key_bytes, bytes}};
        tern_status status = what == 3
                                 ? tern_map_insert_many(f->worker, map, twice, 2, way, NULL)
                                 : (what == 1 ? tern_map_insert_new : tern_map_insert)(
                                       f->worker, map, key, key_bytes, value, bytes, way, &existed);
        if (what != 1 || last == 0) {
            s->version[number] = next;
            s->tildes[number] = tildes;
        }
        return status != TERN_OK || (what != 3 && existed != (last != 0));
    }
    tern_request request = {0};
    tern_status status =
        what == 4 ? tern_map_find(f->worker, map, key, key_bytes, way, found, sizeof found, &bytes)
                  : tern_map_find_start(f->worker, map, key, key_bytes, way, found, sizeof found,
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
    if (!fixture_open(&f, NULL))
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
        status = tern_map_insert(f.worker, map, &number, 8, value, 8, fixture_way(stored), NULL);
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
    if (!fixture_open(&f, NULL))
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

enum { MANY = 40 };

/* What a key of a batch or of a request holds, and what it should. */
typedef struct many {
    unsigned char key[MANY][MAP_KEY_ROOM], *room[MANY];
    tern_map_item item[MANY];
    tern_map_slot slot[MANY];
    uint64_t version[MOST_KEYS], number[MANY];
} many;

/* A value of some size with room for it. */
static void many_fill(const fixture *f, many *m, size_t i, uint64_t number, uint64_t version) {
    const size_t key_bytes = key_of_rank(f->rank, number);
    memcpy(m->key[i], key, key_bytes);
    m->number[i] = number;
    m->item[i] = (tern_map_item){m->key[i], m->room[i], key_bytes,
                                 make_map_value(m->room[i], number, version)};
    m->slot[i] = (tern_map_slot){
        .key = m->key[i], .key_bytes = key_bytes, .value = m->room[i], .room = MAP_VALUE_ROOM};
}

static many *many_make(void) {
    many *m = calloc(1, sizeof *m);
    for (size_t i = 0; m != NULL && i < MANY; i++)
        m->room[i] = malloc(MAP_VALUE_ROOM);
    return m;
}

static void many_free(many *m) {
    for (size_t i = 0; i < MANY; i++)
        free(m->room[i]);
    free(m);
}

/* Inserts by requests, and waits for them in some way. */
static uint64_t insert_by_requests(fixture *f, tern_map *map, const many *m, size_t count,
                                   uint64_t *random) {
    tern_request request[MANY] = {0};
    uint64_t wrong = 0;
    const tern_flags flags = any_writer(random) | any_via(random);
    size_t index = 0, ended = 0;
    for (size_t i = 0; i < count; i++)
        wrong += tern_map_insert_start(f->worker, map, m->item[i].key, m->item[i].key_bytes,
                                       m->item[i].value, m->item[i].value_bytes, flags,
                                       &request[i]) != TERN_OK;
    if (below(random, 2))
        return wrong + (tern_wait_all(f->worker, request, count) != TERN_OK);
    for (int done = 0; count > 0 && !done;)
        wrong += tern_test(f->worker, &request[count - 1], &done) != TERN_OK;
    while (tern_wait_any(f->worker, request, count, &index) == TERN_OK && index < count)
        ended++;
    return wrong + (ended != count);
}

/* A value that fits no ring is not stored where the key is there, and its block is given back. */
static uint64_t insert_new_by_request(fixture *f, tern_map *map, const many *m, tern_flags way) {
    tern_request request = {0};
    uint64_t wrong = tern_map_insert_new_start(f->worker, map, m->item[0].key, m->item[0].key_bytes,
                                               value, MAP_VALUE_ROOM, way, &request) != TERN_OK;
    wrong += tern_wait(f->worker, &request) != TERN_OK;
    return wrong + (tern_request_result(&request) != 1);
}

/* Finds by requests. Returns how many values were wrong. */
static uint64_t find_by_requests(fixture *f, tern_map *map, const many *m, size_t count,
                                 uint64_t *random) {
    tern_request request[MANY] = {0};
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += tern_map_find_start(f->worker, map, m->slot[i].key, m->slot[i].key_bytes,
                                     any_via(random), m->slot[i].value, m->slot[i].room,
                                     &request[i]) != TERN_OK;
    for (size_t i = 0; i < count; i++) {
        const uint64_t version = m->version[m->number[i]];
        tern_status status = tern_wait(f->worker, &request[i]);
        wrong += status != (version == 0 ? TERN_ERR_NOT_FOUND : TERN_OK);
        wrong +=
            status == TERN_OK && !is_map_value(m->slot[i].value, tern_request_result(&request[i]),
                                               m->number[i], version);
    }
    return wrong;
}

static uint64_t find_by_batch(fixture *f, tern_map *map, many *m, size_t count, uint64_t *random) {
    uint64_t wrong = 0, there = 0;
    size_t present = 77;
    EXPECT_OK(tern_map_find_many(f->worker, map, m->slot, count, any_via(random), &present));
    for (size_t i = 0; i < count; i++) {
        const tern_map_slot *s = &m->slot[i];
        const uint64_t version = m->version[m->number[i]];
        there += version != 0;
        wrong += s->found != (version != 0);
        wrong += s->found && !is_map_value(s->value, s->value_bytes, m->number[i], version);
    }
    return wrong + (present != there);
}

/* Keys of this rank's own come and change by batches and requests, and are found by both. */
static void many_match_a_model(void) {
    fixture f;
    many *m = many_make();
    if (m == NULL || !fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 10), wrong = 0, next = 1;
    for (int turn = fixture_times(&f, 160); turn > 0; turn--) {
        const uint64_t first = below(&random, 60), what = below(&random, 5);
        const size_t count = below(&random, MANY + 1);
        size_t stored = 77;
        /* Where keys come twice, the last value stays. */
        for (size_t i = 0; i < count; i++)
            many_fill(&f, m, i, (first + i / (1 + what % 2)) % MOST_KEYS, next + i);
        if (what == 0) {
            for (size_t i = 0; i < count; i++) {
                tern_ignore(tern_map_erase(f.worker, map, m->item[i].key, m->item[i].key_bytes,
                                           any_via(&random)));
                m->version[m->number[i]] = 0;
            }
        } else if (what <= 2) {
            if (turn % 2) {
                EXPECT_OK(tern_map_insert_many(f.worker, map, m->item, count,
                                               any_writer(&random) | any_via(&random), &stored));
                CU_ASSERT_EQUAL(stored, count);
            } else if (count > 0) {
                wrong += insert_by_requests(&f, map, m, count, &random);
                wrong += insert_new_by_request(&f, map, m, any_via(&random));
            }
            for (size_t i = 0; i < count; i++)
                m->version[m->number[i]] = next + i;
            next += count;
        }
        wrong += turn % 2 ? find_by_batch(&f, map, m, count, &random)
                          : find_by_requests(&f, map, m, count, &random);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
    many_free(m);
}

/* All ranks count the same words, by batches and by requests. */
static void numbers_are_added_many_at_once(void) {
    enum { WORDS = 70, TURNS = 3 };
    static char word[WORDS][64];
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map_item items[WORDS];
    tern_request request[WORDS] = {0};
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 11), sum = 0;
    for (int i = 0; i < WORDS; i++) {
        snprintf(word[i], sizeof word[i], i % 3 ? "word %d" : "a word that is as long as %040d",
                 i / 2);
        items[i] = (tern_map_item){.key = word[i], .key_bytes = strlen(word[i])};
    }
    for (int turn = 0; turn < TURNS; turn++) {
        size_t added = 77;
        EXPECT_OK(tern_map_add_many(f.worker, map, items, WORDS, 2, any_via(&random), &added));
        CU_ASSERT_EQUAL(added, WORDS);
        for (int i = 0; i < WORDS; i += 2) {
            EXPECT_OK(tern_map_add_start(f.worker, map, items[i].key, items[i].key_bytes, 1,
                                         fixture_way((uint64_t)i / 2), &request[i]));
        }
        EXPECT_OK(tern_wait_all(f.worker, request, WORDS));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < WORDS; i++) {
        uint64_t number = 0;
        bool again = false;
        EXPECT_OK(
            tern_map_find(f.worker, map, items[i].key, items[i].key_bytes, 0, &number, 8, NULL));
        for (int j = 0; j < i; j++)
            again = again || strcmp(word[j], word[i]) == 0;
        sum += again ? 0 : number;
    }
    CU_ASSERT_EQUAL(sum, (2 * WORDS + WORDS / 2) * TURNS * f.size);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Items with keys of this rank's own, all with one value. */
static void own_items(const fixture *f, tern_map_item *items, uint64_t *keys, size_t count,
                      size_t bytes) {
    static uint64_t next;
    for (size_t i = 0; i < count; i++) {
        keys[i] = next++ << 8 | f->rank;
        items[i] = (tern_map_item){&keys[i], value, 8, bytes};
    }
}

/* Values lie in blocks of the rank that inserted them by RMA. Owners replace many of them at once,
 * and say so; each block is given back. */
static void batches_replace_blocks(void) {
    enum { COUNT = 80 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 64 * COUNT});
    const size_t before = heap_at_first(&f);
    tern_map_item items[COUNT];
    uint64_t keys[COUNT];
    size_t stored = 0;
    own_items(&f, items, keys, COUNT, 100);
    EXPECT_OK(tern_map_insert_many(f.worker, map, items, COUNT, TERN_BY_RMA, &stored));
    CU_ASSERT_EQUAL(stored, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        items[i].value_bytes = 200 + i;
    EXPECT_OK(tern_map_insert_many(f.worker, map, items, COUNT, TERN_BY_CALL, &stored));
    CU_ASSERT_EQUAL(stored, COUNT);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Owners that have no memory for a block pass its key over, and say why. */
static void batches_fill_the_memory(void) {
    enum { COUNT = 40 };
    fixture f;
    if (!map_open(&f, (size_t)1 << 20))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 4000});
    const size_t before = heap_at_first(&f);
    tern_map_item items[COUNT];
    uint64_t keys[COUNT], all[64], sum = 0, total = 0, size = 77;
    tern_status status = TERN_OK;
    for (int turn = 0; status == TERN_OK && turn < 100; turn++) {
        size_t stored = 77;
        own_items(&f, items, keys, COUNT, 4000);
        status = tern_map_insert_many(f.worker, map, items, COUNT, TERN_BY_CALL, &stored);
        CU_ASSERT(status == TERN_OK ? stored == COUNT : stored < COUNT);
        sum += stored;
    }
    EXPECT(TERN_ERR_MEMORY, status);
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    fixture_share(&f, &sum, sizeof sum, all);
    for (uint32_t r = 0; r < f.size; r++)
        total += all[r];
    CU_ASSERT_EQUAL(size, total);
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Whatever the way: a value that does not fit is no error of the start. */
static void outcomes_are_told_by_waits(tern_worker *w, tern_map *map, tern_flags way) {
    tern_request request = {0};
    char small[4];
    EXPECT_OK(tern_map_find_start(w, map, "b", 1, way, small, sizeof small, &request));
    for (int again = 0; again < 2; again++)
        EXPECT(TERN_ERR_RANGE, tern_wait(w, &request));
    EXPECT_DETAIL("8 bytes; there is room for 4");
    EXPECT_OK(tern_map_add_start(w, map, "a", 1, 1, way, &request));
    EXPECT(TERN_ERR_RANGE, tern_wait(w, &request));
    EXPECT_OK(tern_map_find_start(w, map, "absent", 6, way, small, sizeof small, &request));
    EXPECT(TERN_ERR_NOT_FOUND, tern_wait(w, &request));
}

static void many_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1});
    tern_worker *w = f.worker;
    tern_request request = {0};
    size_t done = 77;
    char small[4];
    tern_map_item items[3] = {{"a", "1234", 1, 4}, {"b", "12345678", 1, 8}, {"c", NULL, 1, 1}};
    tern_map_slot slots[3] = {{.key = "a", .key_bytes = 1, .value = found, .room = 8},
                              {.key = "b", .key_bytes = 1, .value = small, .room = 4},
                              {.key = "z", .key_bytes = 1}};
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, NULL, items, 2, 0, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, NULL, 2, 0, &done));
    EXPECT_DETAIL("tern_map_insert_many: items is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, items, 2, TERN_READ_ONLY, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_many(w, map, NULL, 2, 0, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_start(w, map, "a", 1, 0, NULL, 1, &request));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_start(w, map, "a", 1, 0, found, 1, NULL));
    EXPECT(TERN_ERR_RANGE, tern_map_add_start(w, map, key, TERN_MAP_KEY_MAX + 1, 1, 0, &request));
    CU_ASSERT(done == 77 && request.kind == NULL);
    EXPECT_OK(tern_map_find_many(w, map, NULL, 0, 0, &done));
    CU_ASSERT_EQUAL(done, 0);
    for (uint64_t way = 0; way < 3; way++) {
        EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, items, 3, fixture_way(way), &done));
        CU_ASSERT_EQUAL(done, 2);
        outcomes_are_told_by_waits(w, map, fixture_way(way));
        EXPECT(TERN_ERR_RANGE, tern_map_find_many(w, map, slots, 3, fixture_way(way), &done));
        EXPECT_DETAIL("1 of 3 values");
        CU_ASSERT(done == 2 && slots[0].found && slots[0].value_bytes == 4 && slots[1].found &&
                  slots[1].value_bytes == 8 && !slots[2].found);
        EXPECT(TERN_ERR_RANGE, tern_map_add_many(w, map, items, 1, 1, fixture_way(way), &done));
        EXPECT_DETAIL("a number has 8");
        CU_ASSERT_EQUAL(done, 0);
    }
    EXPECT_OK(tern_barrier(w));
    /* A full map passes keys over. */
    uint64_t number[2000];
    tern_map_item *full = calloc(2000, sizeof *full);
    for (uint64_t i = 0; full != NULL && i < 2000; i++) {
        number[i] = i << 8 | f.rank;
        full[i] = (tern_map_item){&number[i], &number[i], 8, 8};
    }
    const size_t asked = fixture_all_near(&f) ? 2000 : 500;
    if (full != NULL)
        EXPECT(TERN_ERR_FULL, tern_map_insert_many(w, map, full, asked, TERN_BY_CALL, &done));
    char text[64];
    snprintf(text, sizeof text, "%zu of %zu keys found no room", asked - done, asked);
    EXPECT_DETAIL(text);
    uint64_t stored[64], mine = done, sum = 0, size = 0;
    fixture_share(&f, &mine, sizeof mine, stored);
    for (uint32_t r = 0; r < f.size; r++)
        sum += stored[r];
    EXPECT_OK(tern_map_size(w, map, &size));
    CU_ASSERT_EQUAL(size, sum + 2);
    free(full);
    map_end(&f, map);
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
        {"many_match_a_model", many_match_a_model},
        {"numbers_are_added_many_at_once", numbers_are_added_many_at_once},
        {"batches_replace_blocks", batches_replace_blocks},
        {"batches_fill_the_memory", batches_fill_the_memory},
        {"many_are_checked", many_are_checked},
    };
    return tern_test_main(argc, argv, "map_family", tests, sizeof tests / sizeof tests[0]);
}
