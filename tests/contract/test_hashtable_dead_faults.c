// tern-test: ranks survivors least=3

/*
 * The owner of a part dies in peace: no bucket is half written. An operation that needs the dead
 * rank is TERN_ERR_PEER, with a detail that names it, and leaves its outputs alone; all else goes
 * on, and what load and store reach of the dead is there.
 */

#include "survivors.h"
#include "table_tools.h"

#include "tern/hashtable.h"

static struct {
    fixture f;
    uint32_t victim;
    tern_hashtable *values, *counters, *empty;
    uint64_t of_dead, fresh, of_living; /* keys; the first and the last are in values */
    bool direct;                        /* load and store reach the dead */
} on;

static tern_status change_nothing(tern_hashtable_modify_info *info, void *value) {
    (void)info;
    (void)value;
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(change_nothing)

static tern_hashtable *make(int counter) {
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = counter ? 0 : 8, .counter = counter, .capacity = 1000};
    EXPECT_OK(tern_hashtable_create(on.f.worker, &options, &table));
    return table;
}

static tern_status modify(const uint64_t *key, int *existed) {
    return tern_hashtable_modify(on.f.worker, on.values, key, &change_nothing_modifier,
                                 &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, TERN_BY_CALL,
                                 existed);
}

/* By call everything is told. */
static void use_the_dead_by_call(void) {
    tern_worker *w = on.f.worker;
    const tern_flags call = TERN_BY_CALL;
    const uint64_t *key = &on.of_dead;
    uint64_t value = 77, before = 77;
    int existed = 77;
    size_t stored = 77, present = 77, added = 77;
    unsigned char found = 77;
    TOLD(on.victim, tern_hashtable_insert(w, on.values, key, key, call, &existed));
    TOLD(on.victim, tern_hashtable_insert_new(w, on.values, key, key, call, &existed));
    TOLD(on.victim, modify(key, &existed));
    TOLD(on.victim, tern_hashtable_erase(w, on.values, key, call));
    TOLD(on.victim, tern_hashtable_find(w, on.values, key, call, &value));
    TOLD(on.victim, tern_hashtable_add(w, on.counters, key, 1, call, &before));
    TOLD(on.victim, tern_hashtable_compare_swap(w, on.counters, key, 0, 1, call, &before));
    CU_ASSERT(existed == 77 && value == 77 && before == 77);
    TOLD(on.victim, tern_hashtable_insert_many(w, on.values, key, key, 1, call, &stored));
    TOLD(on.victim, tern_hashtable_find_many(w, on.values, key, 1, call, &value, &found, &present));
    TOLD(on.victim, tern_hashtable_add_many(w, on.counters, key, 1, 1, call, &added));
    CU_ASSERT(stored == 0 && present == 77 && added == 0);
}

/* By RMA what load and store reach goes on. */
static void use_the_dead_by_rma(void) {
    tern_worker *w = on.f.worker;
    const tern_status wanted = on.direct ? TERN_OK : TERN_ERR_PEER;
    const tern_flags rma = TERN_BY_RMA;
    const uint64_t *key = &on.of_dead;
    uint64_t value = 77, before = 77;
    size_t present = 77;
    unsigned char found = 77;
    EXPECT(wanted, tern_hashtable_find(w, on.values, key, rma, &value));
    CU_ASSERT_EQUAL(value, on.direct ? on.of_dead : 77);
    EXPECT(wanted, tern_hashtable_add(w, on.counters, &on.fresh, 3, rma, &before));
    CU_ASSERT_EQUAL(before, on.direct ? 0 : 77);
    EXPECT(wanted, tern_hashtable_find_many(w, on.values, key, 1, rma, &value, &found, &present));
    CU_ASSERT_EQUAL(present, on.direct ? 1 : 77);
}

/* A request may be refused when it starts, too. */
static void start_at_the_dead(void) {
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_request r[3] = {{0}, {0}, {0}};
        uint64_t value = 77;
        const bool told = path == TERN_BY_CALL || !on.direct;
        tern_status status[3];
        status[0] =
            tern_hashtable_find_start(on.f.worker, on.values, &on.of_dead, path, &value, &r[0]);
        status[1] = tern_hashtable_insert_start(on.f.worker, on.values, &on.of_dead, &on.of_dead,
                                                path, &r[1]);
        status[2] = tern_hashtable_add_start(on.f.worker, on.counters, &on.of_dead, 1, path, &r[2]);
        for (int i = 0; i < 3; i++) {
            const tern_status outcome =
                status[i] == TERN_OK ? tern_wait(on.f.worker, &r[i]) : status[i];
            EXPECT(told ? TERN_ERR_PEER : TERN_OK, outcome);
        }
        CU_ASSERT_EQUAL(value, told ? 77 : on.of_dead);
    }
}

/* The loss of keys for the dead rank is told once; the other keys are there. */
static void buffer_for_the_dead(void) {
    tern_hashtable_buffer *buffer = NULL;
    uint64_t refused = 77, got = 77, value = 4;
    EXPECT_OK(tern_hashtable_buffer_create(on.f.worker, on.values, 0, &buffer));
    EXPECT_OK(tern_hashtable_buffer_insert(on.f.worker, buffer, &on.of_dead, &value));
    EXPECT_OK(tern_hashtable_buffer_insert(on.f.worker, buffer, &on.of_living, &value));
    TOLD(on.victim, tern_hashtable_buffer_flush(on.f.worker, buffer, &refused));
    EXPECT_DETAIL("of 1 buffered keys");
    CU_ASSERT_EQUAL(refused, 0);
    EXPECT_OK(tern_hashtable_buffer_flush(on.f.worker, buffer, &refused));
    EXPECT_OK(tern_hashtable_buffer_destroy(on.f.worker, buffer, &refused));
    EXPECT_OK(tern_hashtable_find(on.f.worker, on.values, &on.of_living, 0, &got));
    CU_ASSERT_EQUAL(got, 4);
}

static int count_one(const void *key, const void *value, void *argument) {
    (void)key, (void)value;
    ++*(uint64_t *)argument;
    return 0;
}

static void what_is_local_works(void) {
    uint64_t number = 0, seen = 0;
    EXPECT_OK(tern_hashtable_local_size(on.f.worker, on.values, &number));
    EXPECT_OK(tern_hashtable_for_each(on.f.worker, on.values, count_one, &seen));
    CU_ASSERT_EQUAL(seen, number);
    CU_ASSERT_EQUAL(tern_hashtable_owner(on.values, &on.of_dead), on.victim);
    EXPECT_OK(tern_hashtable_explain(on.f.worker, on.values, on.victim, NULL, 0, NULL));
    seen = 0;
    EXPECT(on.direct ? TERN_OK : TERN_ERR_PEER,
           tern_hashtable_for_each_anywhere(on.f.worker, on.values, count_one, &seen));
    for (int i = 0; i < 3; i++) {
        uint64_t value = (uint64_t)i, got = 77;
        int existed = 77;
        EXPECT_OK(tern_hashtable_insert(on.f.worker, on.values, &on.of_living, &value,
                                        fixture_path((uint64_t)i), &existed));
        EXPECT_OK(tern_hashtable_find(on.f.worker, on.values, &on.of_living,
                                      fixture_path((uint64_t)i + 1), &got));
        CU_ASSERT(existed == 1 && got == value);
    }
}

static void what_is_collective_is_told(void) {
    uint64_t count = 77;
    tern_hashtable *none = NULL;
    const tern_hashtable_options options = {.key_bytes = 8, .capacity = 8};
    TOLD(on.victim, tern_hashtable_size(on.f.worker, on.values, &count));
    TOLD(on.victim, tern_hashtable_clear(on.f.worker, on.empty));
    TOLD(on.victim, tern_hashtable_create(on.f.worker, &options, &none));
    TOLD(on.victim, tern_hashtable_save(on.f.worker, on.values, "/tmp/tern-test-none", NULL, 0));
    CU_ASSERT(count == 77 && none == NULL);
}

static void an_owner_dies(void) {
    tern_transport transport = TERN_SHM;
    if (!open_for_two_survivors(&on.f))
        return;
    on.victim = on.f.size - 1;
    on.values = make(0);
    on.counters = make(1);
    on.empty = make(0);
    on.of_dead = number_owned_by(on.values, on.victim, 100 * on.f.rank);
    on.fresh = number_owned_by(on.values, on.victim, 100 * on.f.rank + 10000);
    on.of_living = number_owned_by(on.values, (on.f.rank + 1) % on.victim, 100 * on.f.rank + 20000);
    EXPECT_OK(tern_context_transport(on.f.context, on.victim, &transport));
    on.direct = transport == TERN_SHM;
    EXPECT_OK(tern_hashtable_insert(on.f.worker, on.values, &on.of_dead, &on.of_dead, 0, NULL));
    EXPECT_OK(tern_hashtable_insert(on.f.worker, on.values, &on.of_living, &on.of_dead, 0, NULL));
    fixture_lose(&on.f, on.victim);

    start_clock();
    use_the_dead_by_call();
    use_the_dead_by_rma();
    start_at_the_dead();
    buffer_for_the_dead();
    what_is_local_works();
    /* The others may still call this rank. */
    fixture_meet_living(&on.f);
    what_is_collective_is_told();
    fixture_meet_living(&on.f);
    TOLD(on.victim, tern_hashtable_destroy(on.f.worker, on.values));
    TOLD(on.victim, tern_hashtable_destroy(on.f.worker, on.counters));
    TOLD(on.victim, tern_hashtable_destroy(on.f.worker, on.empty));
    fixture_close(&on.f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"an_owner_dies", an_owner_dies}};
    return tern_test_main(argc, argv, "hashtable_dead_faults", tests, 1);
}
