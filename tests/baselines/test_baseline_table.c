// tern-test: transports

/* The hash table of paper 003 (benchmarks/baselines/table.h): against a model, at its cost, and
 * whether it linearizes. */

#include "baselines/baseline_tools.h"
#include "baselines/table.h"

enum { NUMBERS = 64, VALUE_BYTES = 24 };

static void make_value(char *value, uint64_t key, uint64_t version) {
    history_fill(value, VALUE_BYTES, key, version);
}

/* Each rank has keys of its own, and knows what is under them. */
static void follows_a_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    baseline_table *table = NULL;
    uint64_t random = fixture_seed(&f, 1), version[NUMBERS] = {0};
    char value[VALUE_BYTES];
    EXPECT_OK(baseline_table_create(f.worker, f.comm, VALUE_BYTES, 3 * NUMBERS, &table));
    for (int n = fixture_times(&f, 4000), i = 1; i <= n; i++) {
        const uint64_t number = below(&random, NUMBERS), key = number * f.size + f.rank;
        const tern_flags path = baseline_any_path(&random);
        if (below(&random, 2)) {
            int existed = -1;
            make_value(value, key, (uint64_t)i);
            EXPECT_OK(baseline_table_insert(f.worker, table, key, value, path, &existed));
            CU_ASSERT_EQUAL(existed, version[number] != 0);
            version[number] = (uint64_t)i;
        } else if (version[number] == 0) {
            EXPECT(TERN_ERR_NOT_FOUND, baseline_table_find(f.worker, table, key, path, value));
        } else {
            EXPECT_OK(baseline_table_find(f.worker, table, key, path, value));
            CU_ASSERT_EQUAL(history_number(value, VALUE_BYTES, key), version[number]);
        }
    }
    EXPECT_OK(baseline_table_destroy(f.worker, table));
    fixture_close(&f);
}

/* A phase of inserts, by all ranks, of new keys; then a phase of finds, by each rank of all keys.
 */
static void has_phases(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    baseline_table *table = NULL;
    uint64_t random = fixture_seed(&f, 2);
    char value[VALUE_BYTES];
    EXPECT_OK(baseline_table_create(f.worker, f.comm, VALUE_BYTES, 3 * NUMBERS, &table));
    for (uint64_t key = f.rank; key < NUMBERS * f.size; key += f.size) {
        make_value(value, key, key + 1);
        EXPECT_OK(baseline_table_insert(f.worker, table, key, value,
                                        TERN_WRITE_ONLY | baseline_any_path(&random), NULL));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t key = 0; key < NUMBERS * f.size; key++) {
        EXPECT_OK(baseline_table_find(f.worker, table, key,
                                      TERN_READ_ONLY | baseline_any_path(&random), value));
        CU_ASSERT_EQUAL(history_number(value, VALUE_BYTES, key), key + 1);
    }
    EXPECT(TERN_ERR_NOT_FOUND,
           baseline_table_find(f.worker, table, UINT64_MAX,
                               TERN_READ_ONLY | baseline_any_path(&random), value));
    EXPECT_OK(baseline_table_destroy(f.worker, table));
    fixture_close(&f);
}

/* A key that does not fit is refused, and changes nothing. */
static void has_an_end(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { BUCKETS = 5 };
    baseline_table *table = NULL;
    uint64_t inserted = 0, value = 7, key = 0;
    EXPECT_OK(baseline_table_create(f.worker, f.comm, sizeof value, BUCKETS, &table));
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL && f.rank == 0; path *= 2) {
        tern_status status = TERN_OK;
        for (; status == TERN_OK; key++) {
            if (baseline_table_owner(table, key) != f.size - 1)
                continue;
            status = baseline_table_insert(f.worker, table, key, &value, path, NULL);
            inserted += status == TERN_OK;
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        CU_ASSERT_EQUAL(inserted, BUCKETS);
        EXPECT(TERN_ERR_NOT_FOUND, baseline_table_find(f.worker, table, key - 1, path, &value));
    }
    EXPECT_OK(baseline_table_destroy(f.worker, table));
    EXPECT(TERN_ERR_ARGUMENT, baseline_table_create(f.worker, f.comm, 0, 1, &table));
    EXPECT(TERN_ERR_ARGUMENT,
           baseline_table_create(f.worker, f.comm, BASELINE_VALUE_MAX + 1, 1, &table));
    EXPECT(TERN_ERR_MEMORY, baseline_table_create(f.worker, f.comm, 8, 1 << 24, &table));
    fixture_close(&f);
}

enum { KEYS = 20 };

/* Keys of the owner, spread over so many buckets that no key meets another. */
static uint64_t choose_key(const baseline_table *table, uint32_t owner, uint64_t start) {
    while (baseline_table_owner(table, start) != owner)
        start++;
    return start;
}

static void insert_each(fixture *f, baseline_table *table, const uint64_t *keys, tern_flags flags) {
    for (int i = 0; i < KEYS; i++)
        EXPECT_OK(baseline_table_insert(f->worker, table, keys[i], &keys[i], flags, NULL));
}

static void find_each(fixture *f, baseline_table *table, const uint64_t *keys, tern_flags flags) {
    for (int i = 0; i < KEYS; i++) {
        uint64_t value = 0;
        EXPECT_OK(baseline_table_find(f->worker, table, keys[i], flags, &value));
        CU_ASSERT_EQUAL(value, keys[i]);
    }
}

/* The paper's table II. */
static void costs_of_a_remote_owner(fixture *f, baseline_table *table, uint32_t owner,
                                    tern_transport transport) {
    const uint64_t fences = transport != TERN_P2P;
    uint64_t keys[KEYS], phase[KEYS], called[KEYS], next = 0;
    uint64_t *const all[] = {keys, phase, called};
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < KEYS; i++, next++)
            all[a][i] = next = choose_key(table, owner, next);
    tern_stats before = costs_begin(f);
    insert_each(f, table, keys, TERN_BY_RMA);
    CU_ASSERT(
        costs_are(f, &before, KEYS, (cost){.atomics = 2, .puts = 1, .flushes = fences}, "insert"));
    before = costs_begin(f);
    insert_each(f, table, keys, TERN_BY_RMA);
    CU_ASSERT(costs_are(f, &before, KEYS,
                        (cost){.gets = 1, .atomics = 3, .puts = 1, .flushes = fences},
                        "insert of a known key"));
    before = costs_begin(f);
    find_each(f, table, keys, TERN_BY_RMA);
    CU_ASSERT(costs_are(f, &before, KEYS, (cost){.gets = 1, .atomics = 2}, "find"));
    before = costs_begin(f);
    insert_each(f, table, called, TERN_BY_CALL);
    find_each(f, table, called, TERN_BY_CALL);
    CU_ASSERT(costs_are(f, &before, 2 * (uint64_t)KEYS, (cost){.calls = 1}, "by call"));
    before = costs_begin(f);
    insert_each(f, table, phase, TERN_WRITE_ONLY | TERN_BY_RMA);
    CU_ASSERT(costs_are(f, &before, KEYS, (cost){.atomics = 1, .puts = 1}, "insert in a phase"));
    EXPECT_OK(tern_flush_all(f->worker));
    before = costs_begin(f);
    find_each(f, table, phase, TERN_READ_ONLY | TERN_BY_RMA);
    CU_ASSERT(costs_are(f, &before, KEYS, (cost){.gets = 1}, "find in a phase"));
}

static void costs_what_the_paper_says(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    baseline_table *table = NULL;
    tern_transport transport = TERN_SHM;
    const uint32_t owner = costs_remote_rank(&f, &transport);
    EXPECT_OK(baseline_table_create(f.worker, f.comm, sizeof(uint64_t), 100000, &table));
    if (owner == UINT32_MAX)
        tern_test_skip("every rank is reached by load and store");
    else if (f.rank == 0)
        costs_of_a_remote_owner(&f, table, owner, transport);
    EXPECT_OK(baseline_table_destroy(f.worker, table));
    fixture_close(&f);
}

/* ---- Histories ---- */

static tern_status run_insert(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char value[BASELINE_VALUE_MAX];
    int existed = -1;
    history_fill(value, target->bytes, o->object, o->argument[0]);
    tern_status status =
        baseline_table_insert(worker, target->baseline, o->object, value,
                              o->flags == TERN_BY_CALL ? TERN_BY_CALL : TERN_BY_RMA, &existed);
    o->result = (uint64_t)existed;
    return status;
}

static tern_status run_find(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    char value[BASELINE_VALUE_MAX];
    tern_status status =
        baseline_table_find(worker, target->baseline, o->object,
                            o->flags == TERN_BY_CALL ? TERN_BY_CALL : TERN_BY_RMA, value);
    if (status == TERN_OK)
        o->result = history_number(value, target->bytes, o->object);
    return status;
}

/* Mixes, each followed by a phase of finds, on a new table. */
static history_outcome histories_of(fixture *f, history_actor *actor, size_t bytes) {
    static const history_kind kind[] = {
        {"insert", run_insert, history_step_insert, .in_writes = true},
        {"find", run_find, history_step_find, .in_reads = true},
    };
    static const history_kinds kinds = {kind, 2};
    enum { HISTORIES = 16, OBJECTS = 3 };
    history_target target = {.bytes = bytes};
    history_part part = {&target, &kinds, .objects = OBJECTS, .uniform = true};
    baseline_table *table = NULL;
    EXPECT_OK(baseline_table_create(f->worker, f->comm, bytes, 2 * HISTORIES * OBJECTS, &table));
    target.baseline = table;
    for (int h = 0; h < HISTORIES; h++, part.first_object += OBJECTS) {
        part.operations = history_share(f);
        part.phase = PHASE_MIXED;
        history_act(actor, &part);
        EXPECT_OK(tern_barrier(f->worker));
        part.phase = PHASE_READS;
        history_act(actor, &part);
        EXPECT_OK(tern_barrier(f->worker));
    }
    const history_outcome outcome = history_verdicts(f, actor, 1, &kinds, &target.start, false);
    EXPECT_OK(baseline_table_destroy(f->worker, table));
    return outcome;
}

static void linearizes(void) {
    static const size_t sizes[] = {8, 24, 200, 1000};
    fixture f;
    history_actor actor;
    history_tally tally = {{0}, 0};
    history_outcome outcome;
    if (!fixture_open(&f, NULL))
        return;
    CU_ASSERT_FATAL(history_actor_open(&actor, &f, f.worker, (uint16_t)f.rank));
    size_t s = 0;
    do
        outcome = histories_of(&f, &actor, sizes[s++ % 4]);
    while (history_goes_on(&tally, &outcome) || (s < 4 && tally.all.wrong == 0));
    history_expect(&tally);
    history_actor_close(&actor);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"follows_a_model", follows_a_model},
        {"has_phases", has_phases},
        {"has_an_end", has_an_end},
        {"costs_what_the_paper_says", costs_what_the_paper_says},
        {"linearizes", linearizes},
    };
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "baseline_table", tests, sizeof tests / sizeof *tests);
}
