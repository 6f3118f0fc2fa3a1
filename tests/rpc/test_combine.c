// tern-test: transports

/* Combiners: every update arrives once, merged or not, and nothing is sent before its time. */

#include "call_tools.h"

#include <stdlib.h>

enum { OBJECTS = 200, WORKERS = 2 };

/* What an update of an object says, and what its holder keeps. */
typedef struct {
    uint64_t count, sum;
    int64_t least, most;
} facts;

static const facts nothing = {0, 0, INT64_MAX, INT64_MIN};

static struct {
    facts object[WORKERS][OBJECTS];
    uint64_t word[WORKERS][OBJECTS];
    uint64_t run, wrong;
} held;

static void merge(void *into, const void *update, size_t bytes) {
    facts a, b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, update, sizeof b);
    held.wrong += bytes != sizeof a || (uintptr_t)into % 8 != 0;
    a.count += b.count;
    a.sum += b.sum;
    a.least = b.least < a.least ? b.least : a.least;
    a.most = b.most > a.most ? b.most : a.most;
    memcpy(into, &a, sizeof a);
}

static tern_status take_facts(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t key;
    memcpy(&key, arguments, sizeof key);
    held.run++;
    held.wrong += bytes != sizeof key + sizeof(facts) || key >= OBJECTS;
    if (key < OBJECTS)
        merge(&held.object[tern_worker_self(call->worker).index][key],
              (const char *)arguments + sizeof key, sizeof(facts));
    return TERN_OK;
}
TERN_FUNCTION(take_facts)

static tern_status take_word(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t words[2];
    held.run++;
    held.wrong += bytes != sizeof words;
    memcpy(words, arguments, sizeof words);
    held.wrong += words[0] >= OBJECTS;
    held.word[tern_worker_self(call->worker).index][words[0] % OBJECTS] += words[1];
    return TERN_OK;
}
TERN_FUNCTION(take_word)

static bool open_with(fixture *f, size_t workers, tern_publish policy, size_t overflow) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1;
    config.workers = workers;
    config.publish = policy;
    config.overflow_memory = overflow;
    if (!fixture_open(f, &config))
        return false;
    memset(&held, 0, sizeof held);
    for (size_t i = 0; i < WORKERS * OBJECTS; i++)
        held.object[i / OBJECTS][i % OBJECTS] = nothing;
    return EXPECT_OK(tern_barrier(f->worker));
}

/* Few objects get most of the updates. */
static uint64_t some_object(uint64_t *random) {
    return below(random, 1 + below(random, 1 + below(random, OBJECTS)));
}

/* The model: what every rank did to every object, and what came of it. */
static void compare(fixture *f, const facts *done, size_t count) {
    size_t total = f->size * count;
    facts *all = malloc(f->size * total * sizeof *all);
    fixture_share(f, done, total * sizeof *done, all);
    for (size_t i = 0; i < count; i++) {
        facts due = nothing;
        for (uint32_t r = 0; r < f->size; r++)
            merge(&due, &all[r * total + f->rank * count + i], sizeof due);
        held.wrong += memcmp(&due, &held.object[i / OBJECTS][i % OBJECTS], sizeof due) != 0;
    }
    free(all);
}

static void merged(tern_publish policy, size_t entries) {
    fixture f;
    if (!open_with(&f, WORKERS, policy, (size_t)1 << 20))
        return;
    tern_combiner_options options = {&take_facts_function, sizeof(facts), merge, entries};
    tern_combiner *combiner = NULL;
    EXPECT_OK(tern_combiner_create(f.worker, &options, &combiner));
    facts *done = malloc(f.size * sizeof held.object);
    for (size_t i = 0; i < f.size * WORKERS * OBJECTS; i++)
        done[i] = nothing;
    uint64_t random = fixture_seed(&f, 90 + entries);
    int times = fixture_times(&f, 4000), wrong = 0;
    for (int i = 0; i < times; i++) {
        tern_worker_id target = {(uint32_t)below(&random, f.size), 0};
        /* The second worker of each process has no thread; quiesce makes progress for it. */
        if (i % 16 == 0)
            target.index = 1;
        uint64_t key = some_object(&random);
        int64_t value = (int64_t)below(&random, 1000) - 500;
        facts update = {1, (uint64_t)value, value, value};
        merge(&done[(target.rank * WORKERS + target.index) * OBJECTS + key], &update,
              sizeof update);
        wrong += tern_combine(f.worker, combiner, target, key, &update) != TERN_OK;
        if (below(&random, 500) == 0)
            EXPECT_OK(tern_combiner_flush(f.worker, combiner));
        if (i % 512 == 511)
            EXPECT_OK(tern_quiesce(f.worker));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_combiner_flush(f.worker, combiner));
    EXPECT_OK(tern_quiesce(f.worker));
    compare(&f, done, WORKERS * OBJECTS);
    uint64_t run = held.run;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_combiner_destroy(f.worker, combiner));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(held.run, run);
    CU_ASSERT_EQUAL(held.wrong, 0);
    free(done);
    fixture_close(&f);
}

static void one_entry(void) { merged(TERN_PUBLISH_WRITE, 1); }

static void few_entries(void) { merged(TERN_PUBLISH_BATCHED, 9); }

static void many_entries(void) { merged(TERN_PUBLISH_SPILL, 0); }

/* All ranks count in the same objects of rank 0, at the pace of its ring: sums of words. */
static void contended(void) {
    fixture f;
    if (!open_with(&f, 1, TERN_PUBLISH_BATCHED, (size_t)1 << 20))
        return;
    tern_combiner_options options = {.function = &take_word_function, .bytes = 8, .entries = 16};
    tern_combiner *combiner = NULL;
    EXPECT_OK(tern_combiner_create(f.worker, &options, &combiner));
    uint64_t random = fixture_seed(&f, 91), done[OBJECTS] = {0}, due[OBJECTS] = {0};
    int times = fixture_times(&f, 40000), wrong = 0;
    for (int i = 0; i < times; i++) {
        uint64_t key = some_object(&random), by = below(&random, 10) - 3;
        done[key] += by;
        wrong += tern_combine(f.worker, combiner, to(0), key, &by) != TERN_OK;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_combiner_destroy(f.worker, combiner)); /* sends the rest */
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    tern_mpi_lock();
    MPI_Allreduce(done, due, OBJECTS, MPI_UINT64_T, MPI_SUM, f.comm);
    tern_mpi_unlock();
    for (size_t i = 0; i < OBJECTS && f.rank == 0; i++)
        held.wrong += held.word[0][i] != due[i];
    CU_ASSERT_EQUAL(held.wrong, 0);
    fixture_close(&f);
}

/* Updates of one object become one call, and only when they are asked for. */
static void kept_back(void) {
    fixture f;
    if (!open_with(&f, 1, TERN_PUBLISH_BATCHED, (size_t)1 << 20))
        return;
    tern_combiner_options options = {.function = &take_word_function, .bytes = 8};
    tern_combiner *combiner = NULL;
    tern_stats before, after;
    uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(tern_combiner_create(f.worker, &options, &combiner));
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t round = 1; round <= 3; round++) {
        tern_stats_get(f.worker, &before);
        for (uint64_t i = 1; i <= 1000; i++)
            EXPECT_OK(tern_combine(f.worker, combiner, to(next), 7, &i));
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(held.run, round - 1);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_combiner_flush(f.worker, combiner));
        EXPECT_OK(tern_combiner_flush(f.worker, combiner));
        tern_stats_get(f.worker, &after);
        CU_ASSERT_EQUAL(after.calls_sent, before.calls_sent + 1);
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(held.run, round);
        CU_ASSERT_EQUAL(held.word[0][7], round * 500500);
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_combiner_destroy(f.worker, combiner));
    CU_ASSERT_EQUAL(held.wrong, 0);
    fixture_close(&f);
}

/* Handlers combine too, while their worker does; one whose update finds no room asks for another
 * time, and nothing of it has happened then. */
static tern_combiner *public_combiner;
static uint64_t put_off;

static tern_status count_back(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t key, one = 1;
    memcpy(&key, arguments, sizeof key);
    held.wrong += bytes != sizeof key;
    tern_status status = tern_combine(call->worker, public_combiner, call->origin, key, &one);
    put_off += status == TERN_ERR_AGAIN;
    return status;
}
TERN_FUNCTION(count_back)

static void from_handlers(void) {
    fixture f;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Too little for what a ring's handlers send; enough where others would have to wait as well,
     * for each other. */
    if (!open_with(&f, 1, TERN_PUBLISH_WRITE, size == 1 ? 512 : (size_t)1 << 20))
        return;
    tern_combiner_options options = {.function = &take_word_function, .bytes = 8, .entries = 2};
    EXPECT_OK(tern_combiner_create(f.worker, &options, &public_combiner));
    put_off = 0;
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t random = fixture_seed(&f, 92), one = 1;
    int times = fixture_times(&f, 4000), wrong = 0;
    for (int i = 0; i < times; i++) {
        tern_worker_id target = to((uint32_t)below(&random, f.size));
        uint64_t key = below(&random, OBJECTS);
        wrong += tern_call(f.worker, target, &count_back_function, &key, sizeof key) != TERN_OK;
        wrong += tern_combine(f.worker, public_combiner, target, key, &one) != TERN_OK;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker)); /* all handlers have run */
    EXPECT_OK(tern_combiner_flush(f.worker, public_combiner));
    EXPECT_OK(tern_quiesce(f.worker));
    uint64_t sums[2] = {2 * (uint64_t)times, 0}, all[2];
    for (size_t i = 0; i < OBJECTS; i++)
        sums[1] += held.word[0][i];
    EXPECT_OK(tern_barrier(f.worker));
    tern_mpi_lock();
    MPI_Allreduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, f.comm);
    tern_mpi_unlock();
    CU_ASSERT_EQUAL(all[0], all[1]);
    CU_ASSERT(f.size > 1 || put_off > 0);
    EXPECT_OK(tern_combiner_destroy(f.worker, public_combiner));
    CU_ASSERT_EQUAL(held.wrong, 0);
    fixture_close(&f);
}

static tern_status destroy_it(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    held.wrong += tern_combiner_destroy(call->worker, public_combiner) != TERN_ERR_STATE;
    held.run++;
    return TERN_OK;
}
TERN_FUNCTION(destroy_it)

static void refusals(void) {
    fixture f;
    if (!open_with(&f, WORKERS, TERN_PUBLISH_WRITE, 4096))
        return;
    tern_worker *w = f.worker;
    tern_function late = {"a function of later", take_word, NULL, 0};
    tern_combiner_options good = {.function = &take_word_function, .bytes = 8}, o = good;
    tern_combiner *c = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(NULL, &good, &c));
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, NULL, &c));
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, &good, NULL));
    o.bytes = 0;
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, &o, &c));
    o.bytes = 12;
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, &o, &c));
    EXPECT_DETAIL("12");
    o.bytes = TERN_COMBINE_MAX + 8;
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, &o, &c));
    o = good;
    o.entries = ((size_t)1 << 24) + 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, &o, &c));
    o = good;
    o.function = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_create(w, &o, &c));
    o.function = &late;
    EXPECT(TERN_ERR_NOT_FOUND, tern_combiner_create(w, &o, &c));
    CU_ASSERT_PTR_NULL(c);
    uint64_t one = 1;
    tern_worker *second = NULL;
    EXPECT_OK(tern_combiner_create(w, &good, &c));
    EXPECT_OK(tern_worker_adopt(f.context, 1, &second));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(second, c, to(0), 0, &one));
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_flush(second, c));
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_destroy(second, c));
    EXPECT_OK(tern_worker_release(second));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(NULL, c, to(0), 0, &one));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(w, NULL, to(0), 0, &one));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(w, c, to(0), 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(w, c, to(f.size), 0, &one));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(w, c, to(UINT32_MAX), 0, &one));
    EXPECT(TERN_ERR_ARGUMENT, tern_combine(w, c, (tern_worker_id){0, WORKERS}, 0, &one));
    EXPECT(TERN_ERR_ARGUMENT, tern_combiner_flush(w, NULL));
    public_combiner = c;
    EXPECT_OK(tern_call(w, tern_worker_self(w), &destroy_it_function, NULL, 0));
    EXPECT_OK(tern_quiesce(w));
    CU_ASSERT_EQUAL(held.run, 1);
    EXPECT_OK(tern_combiner_destroy(w, c));
    EXPECT_OK(tern_combiner_destroy(w, NULL));
    EXPECT_OK(tern_quiesce(w));
    CU_ASSERT_EQUAL(held.run, 1);
    CU_ASSERT_EQUAL(held.wrong, 0);
    fixture_close(&f);
}

/* The largest update goes through the smallest ring. */
static void largest(void) {
    fixture f;
    if (!open_with(&f, 1, TERN_PUBLISH_WRITE, 4096))
        return;
    static unsigned char update[TERN_COMBINE_MAX];
    tern_combiner_options options = {
        .function = &take_word_function, .bytes = sizeof update, .entries = 1};
    tern_combiner *combiner = NULL;
    EXPECT_OK(tern_combiner_create(f.worker, &options, &combiner));
    for (uint64_t key = 0; key < 20; key++)
        EXPECT_OK(tern_combine(f.worker, combiner, to(f.size - 1), key, update));
    EXPECT_OK(tern_combiner_destroy(f.worker, combiner));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(held.run, f.rank == f.size - 1 ? 20 * f.size : 0);
    CU_ASSERT_EQUAL(held.wrong, held.run); /* take_word wants 16 bytes */
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"refusals", refusals},       {"one entry", one_entry},
        {"few entries", few_entries}, {"many entries", many_entries},
        {"contended", contended},     {"kept back", kept_back},
        {"largest", largest},         {"from handlers", from_handlers},
    };
    return tern_test_main(argc, argv, "combine", tests, sizeof tests / sizeof tests[0]);
}
