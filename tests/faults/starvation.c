/*
 * The library's calls for memory, mappings, files and sockets fail, one after the other, on one
 * rank at a time. Each scene below is played with its first call failing, then with its second,
 * until it ends before a call fails. Whatever fails, it fails with a status that says so, on every
 * rank that it concerns and in time; then nothing is lost, and the same scene succeeds.
 */

#include "fixture.h"
#include "hungry.h"
#include "tern/map.h"
#include "tern/message.h"
#include "tern/queue.h"

static bool is_clean(tern_status status) {
    return status == TERN_OK || status == TERN_ERR_MEMORY || status == TERN_ERR_SYSTEM;
}

static bool clean(tern_status status, const char *call, unsigned line) {
    char text[400];
    snprintf(text, sizeof text, "%.120s gave '%s' (%.200s)", call, tern_strerror(status),
             status == TERN_OK ? "" : tern_error_detail());
    CU_assertImplementation(is_clean(status), line, text, __FILE__, "", CU_FALSE);
    return status == TERN_OK;
}

#define CLEAN(call) clean(call, #call, __LINE__)

enum { BYTES = 40000, ITEMS = 16 };
static char data[BYTES], got[BYTES];

/* What scenes are played with. */
typedef struct stage {
    fixture f;
    tern_ptr memory[64]; /* of every rank */
    tern_hashtable *table;
    tern_map *map;
    tern_queue *queue; /* with room for what all ranks push in two plays */
} stage;

/* Returns whether all of it succeeded here. */
typedef bool scene(stage *s);

static bool transfers(stage *s) {
    bool good = true;
    for (uint32_t r = 0; r < s->f.size; r++) {
        uint64_t old = 0;
        good &= CLEAN(tern_put(s->f.worker, s->memory[r], data, BYTES));
        good &= CLEAN(tern_flush(s->f.worker, r));
        good &= CLEAN(tern_get(s->f.worker, got, s->memory[r], BYTES));
        good &= CLEAN(tern_atomic_fetch_add(s->f.worker, s->memory[r], 1, &old));
    }
    return good;
}

static bool allocations(stage *s) {
    bool good = true;
    for (uint32_t r = 0; r < s->f.size; r++) {
        tern_ptr p = TERN_NULL;
        good &= CLEAN(tern_alloc_on(s->f.worker, r, TERN_NUMA_ANY, 100, 0, TERN_DOMAIN_GLOBAL, &p));
        good &= CLEAN(tern_free(s->f.worker, p));
    }
    return good;
}

static tern_status nothing(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(nothing)

static bool calls(stage *s) {
    bool good = true;
    for (uint32_t r = 0; r < s->f.size; r++) {
        tern_worker_id to = {r, 0};
        good &= CLEAN(tern_call(s->f.worker, to, &nothing_function, data, 100));
        good &= CLEAN(tern_call(s->f.worker, tern_by_message(to), &nothing_function, data, 1000));
        good &= CLEAN(tern_call_return(s->f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
    }
    return good;
}

static bool in_a_table(stage *s) {
    bool good = true;
    for (uint64_t key = 0; key < ITEMS; key++) {
        tern_flags path = key % 2 == 0 ? TERN_BY_RMA : TERN_BY_CALL;
        uint64_t own = key * s->f.size + s->f.rank;
        bool there =
            CLEAN(tern_hashtable_insert(s->f.worker, s->table, &own, data, 0 | path, NULL));
        good &= there && CLEAN(tern_hashtable_find(s->f.worker, s->table, &own, 0 | path, got));
    }
    return good;
}

static bool in_a_map(stage *s) {
    bool good = true;
    for (uint64_t key = 0; key < ITEMS; key++) {
        tern_flags path = key % 2 == 0 ? TERN_BY_RMA : TERN_BY_CALL;
        uint64_t own = key * s->f.size + s->f.rank;
        bool there =
            CLEAN(tern_map_insert(s->f.worker, s->map, &own, 8, data, 1500, 0 | path, NULL));
        good &=
            there && CLEAN(tern_map_find(s->f.worker, s->map, &own, 8, 0 | path, got, BYTES, NULL));
    }
    return good;
}

static bool in_a_queue(stage *s) {
    bool good = true;
    for (int i = 0; i < ITEMS; i++) {
        tern_flags path = i % 2 == 0 ? TERN_BY_RMA : TERN_BY_CALL;
        good &= CLEAN(tern_queue_push(s->f.worker, s->queue, data, 0 | path));
    }
    return good;
}

static bool stage_open(stage *s) {
    tern_config config;
    memset(s, 0, sizeof *s);
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.ring_memory = (size_t)1 << 20;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&s->f, &config))
        return false;
    fixture_alloc_all(&s->f, BYTES, TERN_DOMAIN_GLOBAL, s->memory);
    const uint64_t items = (uint64_t)2 * ITEMS * s->f.size;
    EXPECT_OK(tern_hashtable_create(
        s->f.worker,
        &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 1000, .capacity = items},
        &s->table));
    EXPECT_OK(tern_map_create(s->f.worker, &(tern_map_options){.capacity = items}, &s->map));
    EXPECT_OK(tern_queue_create(
        s->f.worker, &(tern_queue_options){.item_bytes = 1500, .capacity = items}, &s->queue));
    return true;
}

static void stage_close(stage *s) {
    tern_segment_info info;
    EXPECT_OK(tern_queue_destroy(s->f.worker, s->queue));
    EXPECT_OK(tern_map_destroy(s->f.worker, s->map));
    EXPECT_OK(tern_hashtable_destroy(s->f.worker, s->table));
    fixture_free_all(&s->f, s->memory);
    tern_segment_get_info(s->f.context, &info);
    CU_ASSERT_EQUAL(info.in_use, 0);
    fixture_close(&s->f);
}

/* Collective. Returns whether rank victim has had calls that failed. */
static bool played(scene *play, int victim, uint64_t first, uint64_t last) {
    stage s;
    if (!stage_open(&s))
        return false;
    MPI_Barrier(MPI_COMM_WORLD);
    if (tern_test_rank() == victim)
        hungry_begin(first, last);
    bool good = play(&s);
    unsigned long long failures = tern_test_rank() == victim ? hungry_end() : 0;
    EXPECT_OK(tern_barrier(s.f.worker));
    CU_ASSERT(play(&s)); /* nothing fails any more */
    stage_close(&s);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    CU_ASSERT(good || failures > 0);
    return failures > 0;
}

/* Every call in turn, or in a quick run some of them, ever fewer, that the seed draws.
 * runs: 2, or 4 if the rank that lacks memory for a while need not take messages in meanwhile. */
static void starve(scene *play, int runs) {
    uint64_t random = tern_test_seed();
    for (int run = 0; run < runs; run++) {
        int victim = run % 2 == 0 ? 0 : tern_test_size() - 1;
        uint64_t n = tern_test_full() ? 1 : 1 + tern_test_random(&random) % 4;
        while (played(play, victim, n, run < 2 ? n : UINT64_MAX))
            n += tern_test_full() ? 1 : 1 + n / 2 + tern_test_random(&random) % (n + 1);
    }
}

static void transferring(void) { starve(transfers, 4); }
static void allocating(void) { starve(allocations, 4); }
static void calling(void) { starve(calls, 2); }
static void using_a_table(void) { starve(in_a_table, 4); }
static void using_a_map(void) { starve(in_a_map, 4); }
static void using_a_queue(void) { starve(in_a_queue, 4); }

/* The owners of a table that grows have no memory for a larger part, though their segments have. */
static void growing(void) {
    fixture f;
    tern_hashtable *table = NULL;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(
        f.worker,
        &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 8, .grow = 1},
        &table));
    tern_status status = TERN_OK;
    uint64_t key = f.rank;
    hungry_begin(1, UINT64_MAX);
    for (int i = 0; i < 10000 && status != TERN_ERR_FULL; i++, key += f.size)
        status = tern_hashtable_insert(f.worker, table, &key, &key, 0, NULL);
    CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
    EXPECT_DETAIL("had no memory for a larger one");
    /* All have been refused before one of them can grow. */
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        tern_progress(f.worker);
    (void)hungry_end();
    EXPECT_OK(tern_barrier(f.worker));
    /* An insert is refused until the owner, which it asks, has tried again. */
    const double end = MPI_Wtime() + TERN_TEST_PATIENCE;
    do {
        tern_progress(f.worker);
        status = tern_hashtable_insert(f.worker, table, &key, &key, 0, NULL);
    } while (status == TERN_ERR_FULL && MPI_Wtime() < end);
    CU_ASSERT_EQUAL(status, TERN_OK);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"transferring", transferring}, {"allocating", allocating},
        {"calling", calling},           {"using_a_table", using_a_table},
        {"using_a_map", using_a_map},   {"using_a_queue", using_a_queue},
        {"growing", growing},
    };
    return tern_test_main(argc, argv, "starvation", tests, sizeof tests / sizeof *tests);
}
