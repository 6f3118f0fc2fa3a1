// tern-test: transports

/* Hash table with a hash and an equality of the application: words without regard to case, and a
 * hash that is as bad as can be; and with edges of a graph, which lie with their source. */

#include "table_tools.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tern/hashtable.h"

enum { WORD = 12, WORDS = 40 };

static atomic_bool unaligned;

/* The argument tells how much of a word the hash looks at. */
static uint64_t hash_word(const void *key, size_t bytes, void *argument) {
    const unsigned char *word = key;
    uint64_t hash = (uintptr_t)key % 8;
    unaligned = unaligned || hash != 0;
    for (size_t i = 0; i < bytes && i < *(const size_t *)argument; i++)
        hash = hash * 31 + (uint64_t)tolower(word[i]);
    return hash;
}

static int equal_words(const void *a, const void *b, size_t bytes, void *argument) {
    const unsigned char *x = a, *y = b;
    (void)argument;
    for (size_t i = 0; i < bytes; i++)
        if (tolower(x[i]) != tolower(y[i]))
            return 0;
    return 1;
}

/* A spelling of a word: its letters are the digits of the number, capital where spelling has ones.
 */
static void spell(char *word, uint64_t number, uint64_t spelling) {
    for (int i = 0; i < WORD; i++, number /= 5, spelling /= 2)
        word[i] = (char)((spelling % 2 ? 'A' : 'a') + (int)(number % 5));
}

static tern_hashtable *make(fixture *f, bool counters, size_t *hashed) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = WORD,
                                      .value_bytes = counters ? 0 : 8,
                                      .counter = counters,
                                      .capacity = WORDS * f->size,
                                      .key_hash = hash_word,
                                      .key_equal = equal_words,
                                      .key_argument = hashed};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void values(fixture *f, size_t hashed) {
    tern_hashtable *table = make(f, false, &hashed);
    uint64_t random = fixture_seed(f, hashed), size = 77;
    uint64_t words = fixture_all_direct(f) ? WORDS : 6;
    /* One byte off: what the functions get is aligned all the same. */
    char room[WORD + 1], *word = room + 1;
    for (uint64_t turn = 0; turn < 3; turn++)
        for (uint64_t i = 0; i < words; i++) {
            uint64_t number = i * f->size + f->rank, value = number + turn, found = 77;
            int existed = 77;
            spell(word, number, tern_test_random(&random));
            EXPECT_OK(
                tern_hashtable_insert(f->worker, table, word, &value, any_path(&random), &existed));
            CU_ASSERT_EQUAL(existed, turn == 1);
            spell(word, number, tern_test_random(&random));
            EXPECT_OK(tern_hashtable_insert_new(f->worker, table, word, &found, any_path(&random),
                                                &existed));
            CU_ASSERT_EQUAL(existed, 1);
            EXPECT_OK(tern_hashtable_find(f->worker, table, word, any_path(&random), &found));
            CU_ASSERT_EQUAL(found, value);
            if (turn == 1) {
                spell(word, number, tern_test_random(&random));
                EXPECT_OK(tern_hashtable_erase(f->worker, table, word, any_path(&random)));
                EXPECT(TERN_ERR_NOT_FOUND,
                       tern_hashtable_find(f->worker, table, word, any_path(&random), &found));
            }
        }
    EXPECT_OK(tern_hashtable_size(f->worker, table, &size));
    CU_ASSERT_EQUAL(size, words * f->size);
    spell(word, 3, 0);
    uint32_t owner = tern_hashtable_owner(table, word);
    spell(word, 3, UINT64_MAX);
    CU_ASSERT_EQUAL(tern_hashtable_owner(table, word), owner);
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

/* All ranks count the same words, in spellings of their own. */
static void counters(fixture *f, size_t hashed) {
    enum { TURNS = 3 };
    tern_hashtable *table = make(f, true, &hashed);
    uint64_t random = fixture_seed(f, hashed + 50), size = 77, count = 77;
    char room[WORDS * WORD + 1], *words = room + 1;
    for (int turn = 0; turn < TURNS; turn++) {
        for (uint64_t i = 0; i < WORDS; i++)
            spell(words + i * WORD, i, tern_test_random(&random));
        EXPECT_OK(tern_hashtable_add_many(f->worker, table, words, WORDS, 2,
                                          turn % 2 ? TERN_BY_CALL : TERN_BY_RMA, NULL));
        EXPECT_OK(tern_hashtable_add(f->worker, table, words, 1, any_path(&random), NULL));
    }
    EXPECT_OK(tern_hashtable_size(f->worker, table, &size));
    CU_ASSERT_EQUAL(size, WORDS);
    for (uint64_t i = 0; i < WORDS; i += 7) {
        spell(words, i, tern_test_random(&random));
        EXPECT_OK(tern_hashtable_find(f->worker, table, words, TERN_READ_ONLY | any_path(&random),
                                      &count));
        CU_ASSERT_EQUAL(count, TURNS * f->size * (i == 0 ? 3 : 2));
    }
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

/* Keys lie at odd addresses, one every 12 bytes. */
static void batches(fixture *f, size_t hashed) {
    tern_hashtable *table = make(f, false, &hashed);
    tern_hashtable_buffer *buffer = NULL;
    char room[WORDS * WORD + 1], *words = room + 1;
    uint64_t random = fixture_seed(f, hashed + 70), given[WORDS], found[WORDS];
    unsigned char there[WORDS];
    size_t stored = 0, present = 0;
    for (int turn = 0; turn < 8; turn++) {
        for (uint64_t i = 0; i < WORDS; i++) {
            spell(words + i * WORD, i * f->size + f->rank, tern_test_random(&random));
            given[i] = i + 100 * (uint64_t)turn;
        }
        EXPECT_OK(tern_hashtable_buffer_create(f->worker, table, 7, &buffer));
        for (uint64_t i = 0; i < WORDS && turn % 2; i++)
            EXPECT_OK(tern_hashtable_buffer_insert(f->worker, buffer, words + i * WORD, &given[i]));
        EXPECT_OK(tern_hashtable_buffer_destroy(f->worker, buffer, NULL));
        if (turn % 2 == 0) {
            EXPECT_OK(tern_hashtable_insert_many(f->worker, table, words, given, WORDS,
                                                 fixture_path((uint64_t)turn / 2), &stored));
            CU_ASSERT_EQUAL(stored, WORDS);
        }
        for (uint64_t i = 0; i < WORDS; i++)
            spell(words + i * WORD, i * f->size + f->rank, tern_test_random(&random));
        EXPECT_OK(tern_hashtable_find_many(f->worker, table, words, WORDS,
                                           fixture_path((uint64_t)turn), found, there, &present));
        CU_ASSERT_EQUAL(present, WORDS);
        CU_ASSERT(memcmp(given, found, sizeof found) == 0);
    }
    CU_ASSERT_FALSE(unaligned);
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static void words_of_any_case(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    values(&f, WORD);
    counters(&f, WORD);
    batches(&f, WORD);
    fixture_close(&f);
}

/* All keys belong to one rank and to one bucket, with one tag. */
static void one_hash_for_all(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    size_t hashed = 0;
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = WORD,
                                      .value_bytes = 8,
                                      .capacity = 2 * f.size,
                                      .key_hash = hash_word,
                                      .key_argument = &hashed};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    char word[WORD];
    uint64_t value = 5 + f.rank, found = 77;
    spell(word, f.rank, f.rank);
    EXPECT_OK(tern_hashtable_insert(f.worker, table, word, &value, TERN_BY_RMA, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++) {
        spell(word, r, r);
        EXPECT_OK(
            tern_hashtable_find(f.worker, table, word, r % 2 ? TERN_BY_RMA : TERN_BY_CALL, &found));
        CU_ASSERT_EQUAL(found, 5 + r);
    }
    /* Without an equality, bytes are compared. */
    spell(word, f.rank, f.rank + 1);
    EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, table, word, TERN_BY_RMA, &found));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

typedef struct edge {
    uint32_t source, target;
} edge;

/* The argument tells by which end an edge is placed: 0 or 1. */
static uint64_t end_of_edge(const void *key, size_t bytes, void *argument) {
    unaligned = unaligned || (uintptr_t)key % 8 != 0;
    return bytes == sizeof(edge) ? ((const uint32_t *)key)[*(const int *)argument] : 0;
}

enum { SOURCES = 16, TARGETS = 12, EDGES = SOURCES * TARGETS, AT_SOURCE = 0, AT_TARGET = 1 };

static int at_source = AT_SOURCE, at_target = AT_TARGET;

/* The edges of this rank, which no other rank inserts. */
static edge edge_of(const fixture *f, uint64_t number) {
    return (edge){(uint32_t)(number % SOURCES), (uint32_t)(number / SOURCES) * f->size + f->rank};
}

typedef struct edge_walk {
    const fixture *f;
    const tern_hashtable *table;
    const int *end; /* by which edges are placed, or NULL: by neither */
    uint64_t edges, wrong;
} edge_walk;

static int visit_edge(const void *key, const void *value, void *argument) {
    edge_walk *w = argument;
    edge e, other;
    uint64_t number;
    memcpy(&e, key, sizeof e);
    memcpy(&number, value, sizeof number);
    other = (edge){e.source, e.target + 1000};
    if (w->end == &at_target)
        other = (edge){e.source + 1000, e.target};
    w->edges++;
    w->wrong += number != e.source + 1;
    w->wrong += tern_hashtable_owner(w->table, &e) != w->f->rank;
    w->wrong += w->end != NULL && tern_hashtable_owner(w->table, &other) != w->f->rank;
    return 0;
}

/* Collective: the table holds all edges of all ranks, each where its end says. */
static void expect_edges(fixture *f, tern_hashtable *table, const int *end) {
    edge_walk w = {.f = f, .table = table, .end = end};
    uint64_t size = 77;
    uint32_t owners = 0;
    EXPECT_OK(tern_hashtable_size(f->worker, table, &size));
    CU_ASSERT_EQUAL(size, (uint64_t)EDGES * f->size);
    EXPECT_OK(tern_hashtable_for_each(f->worker, table, visit_edge, &w));
    CU_ASSERT_EQUAL(w.wrong, 0);
    for (uint32_t source = 0; source < 64; source++)
        owners |= 1u << tern_hashtable_owner(table, &(edge){source, source});
    CU_ASSERT(f->size == 1 || (owners & (owners - 1)) != 0);
    char room[EDGES * sizeof(edge) + 1];
    uint64_t found[EDGES], wrong = 0;
    unsigned char there[EDGES];
    size_t present = 0;
    for (uint64_t i = 0; i < EDGES; i++)
        memcpy(room + 1 + i * sizeof(edge), &(edge){(uint32_t)(i % SOURCES), (uint32_t)i / SOURCES},
               sizeof(edge));
    for (uint64_t p = 0; p < 2; p++) {
        EXPECT_OK(tern_hashtable_find_many(f->worker, table, room + 1, EDGES, fixture_path(p),
                                           found, there, &present));
        for (uint64_t i = 0; i < EDGES; i++)
            wrong += found[i] != i % SOURCES + 1;
        CU_ASSERT(present == EDGES && wrong == 0);
    }
    EXPECT_OK(tern_barrier(f->worker));
}

/* Some edges in a batch, and each of the others by all kinds of operations. */
static void insert_edges(fixture *f, tern_hashtable *table, size_t batched, uint64_t *random) {
    char room[EDGES * sizeof(edge) + 1];
    uint64_t values[EDGES], found = 0;
    size_t stored = 0;
    for (uint64_t i = 0; i < EDGES; i++) {
        const edge e = edge_of(f, i);
        memcpy(room + 1 + i * sizeof e, &e, sizeof e);
        values[i] = e.source + 1;
    }
    EXPECT_OK(tern_hashtable_insert_many(f->worker, table, room + 1, values, batched,
                                         any_path(random), &stored));
    CU_ASSERT_EQUAL(stored, batched);
    for (uint64_t i = batched; i < EDGES; i++) {
        const char *key = room + 1 + i * sizeof(edge);
        int existed = 77;
        tern_request request = {0};
        EXPECT(TERN_ERR_NOT_FOUND,
               tern_hashtable_find(f->worker, table, key, any_path(random), &found));
        EXPECT_OK(tern_hashtable_insert_start(f->worker, table, key, &values[i], any_path(random),
                                              &request));
        EXPECT_OK(tern_wait(f->worker, &request));
        EXPECT_OK(
            tern_hashtable_insert(f->worker, table, key, &values[i], any_path(random), &existed));
        CU_ASSERT_EQUAL(existed, 1);
        EXPECT_OK(tern_hashtable_erase(f->worker, table, key, any_path(random)));
        EXPECT_OK(tern_hashtable_insert_new(f->worker, table, key, &values[i], any_path(random),
                                            &existed));
        CU_ASSERT_EQUAL(existed, 0);
        EXPECT_OK(tern_hashtable_find(f->worker, table, key, any_path(random), &found));
        CU_ASSERT_EQUAL(found, values[i]);
    }
}

/* Of fixed size a part has room for all edges, which may lie at one rank. */
static void edges_lie_with_their_source(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t random = fixture_seed(&f, 99);
    for (int grow = 0; grow < 2; grow++) {
        tern_hashtable *table = NULL;
        const tern_hashtable_options options = {.key_bytes = sizeof(edge),
                                                .value_bytes = 8,
                                                .capacity =
                                                    grow ? 1 : (uint64_t)EDGES * f.size * f.size,
                                                .grow = grow,
                                                .key_owner = end_of_edge,
                                                .key_argument = &at_source};
        EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
        insert_edges(&f, table, EDGES - 16, &random);
        expect_edges(&f, table, &at_source);
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    }
    CU_ASSERT_FALSE(unaligned);
    fixture_close(&f);
}

/* Counters of edges: the short paths of 8-byte keys know no owner function. */
static void edges_are_counted(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {.key_bytes = sizeof(edge),
                                            .counter = 1,
                                            .capacity = (uint64_t)EDGES * f.size,
                                            .key_owner = end_of_edge,
                                            .key_argument = &at_source};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    edge edges[EDGES];
    uint64_t wrong = 0, count = 0, size = 77;
    for (uint64_t i = 0; i < EDGES; i++)
        edges[i] = (edge){(uint32_t)(i % SOURCES), (uint32_t)i / SOURCES};
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, edges, EDGES, 1, TERN_BY_CALL, NULL));
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, edges, EDGES, 1, TERN_BY_RMA, NULL));
    for (uint64_t i = f.rank; i < EDGES; i += 16)
        EXPECT_OK(tern_hashtable_add(f.worker, table, &edges[i], 0, TERN_AUTO, NULL));
    EXPECT_OK(tern_hashtable_size(f.worker, table, &size));
    CU_ASSERT_EQUAL(size, EDGES);
    for (uint64_t i = f.rank; i < EDGES; i += 16) {
        EXPECT_OK(tern_hashtable_find(f.worker, table, &edges[i], fixture_path(i), &count));
        wrong += count != 2ul * f.size;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* A file knows nothing of owners. */
static void a_file_changes_its_owner_function(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    char path[64] = "/tmp/tern-edges-XXXXXX";
    if (f.rank == 0) {
        const int file = mkstemp(path);
        CU_ASSERT(file >= 0 && close(file) == 0);
    }
    char paths[64][64];
    fixture_share(&f, path, sizeof path, paths);
    tern_hashtable *table = NULL;
    uint64_t random = fixture_seed(&f, 98);
    tern_hashtable_options options = {.key_bytes = sizeof(edge),
                                      .value_bytes = 8,
                                      .capacity = (uint64_t)EDGES * f.size,
                                      .grow = 1,
                                      .key_owner = end_of_edge,
                                      .key_argument = &at_source};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    insert_edges(&f, table, EDGES, &random);
    int *const ends[] = {&at_target, NULL, &at_source};
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(tern_hashtable_save(f.worker, table, paths[0], NULL, 0));
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
        options.key_argument = ends[i];
        options.key_owner = ends[i] != NULL ? end_of_edge : NULL;
        EXPECT_OK(tern_hashtable_load(f.worker, paths[0], &options, NULL, &table));
        expect_edges(&f, table, ends[i]);
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    CU_ASSERT(f.rank != 0 || unlink(path) == 0);
    CU_ASSERT_FALSE(unaligned);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"words_of_any_case", words_of_any_case},
        {"one_hash_for_all", one_hash_for_all},
        {"edges_lie_with_their_source", edges_lie_with_their_source},
        {"edges_are_counted", edges_are_counted},
        {"a_file_changes_its_owner_function", a_file_changes_its_owner_function},
    };
    return tern_test_main(argc, argv, "hashtable_keys", tests, sizeof tests / sizeof tests[0]);
}
