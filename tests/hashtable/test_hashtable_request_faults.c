// tern-test: ranks survivors least=2

/* Where no memory is shared a rank dies that holds a bucket, owns a part, and has requests of
 * others under way: those that need it are told, the others come to their end. */

#include "bucket_tools.h"

enum { KEYS = 20 };

static struct {
    tern_request held, update, find, dead[2], alive[KEYS];
    uint64_t taken, taken_of_dead, values[KEYS];
} under_way;

/* An operation that fails at once, since its bucket is direct, has not been started. */
static void expect_told(fixture *f, tern_status started, tern_request *request) {
    EXPECT(TERN_ERR_PEER, started == TERN_OK ? tern_wait(f->worker, request) : started);
}

static void survive(fixture *f, tern_hashtable *table, uint64_t held, uint64_t claimed,
                    uint64_t of_dead) {
    const tern_flags rma = TERN_BY_RMA;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_status find = tern_hashtable_find_start(f->worker, table, &held, path,
                                                     &under_way.taken, &under_way.find);
        tern_status update =
            tern_hashtable_insert_start(f->worker, table, &held, &held, path, &under_way.update);
        tern_status claim =
            tern_hashtable_insert_start(f->worker, table, &claimed, &held, path, &under_way.held);
        expect_told(f, find, &under_way.find);
        expect_told(f, update, &under_way.update);
        expect_told(f, claim, &under_way.held);
    }
    tern_status late = tern_hashtable_find_start(f->worker, table, &of_dead, TERN_BY_CALL,
                                                 &under_way.taken, &under_way.find);
    expect_told(f, late, &under_way.find);
    for (uint64_t k = 0, key = 1000; k < KEYS; k++, key++) {
        key = number_owned_by(table, 0, key + 100 * f->rank);
        under_way.values[k] = key * 3;
        EXPECT_OK(tern_hashtable_insert_start(f->worker, table, &key, &under_way.values[k], rma,
                                              &under_way.alive[k]));
    }
    EXPECT_OK(tern_wait_all(f->worker, under_way.alive, KEYS));
}

/* The victim is far from everybody else. */
static void a_rank_dies(void) {
    fixture f;
    tern_config config;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.transport = TERN_TRANSPORT_P2P;
    config.ranks_per_node = tern_test_size() == 3 ? 2 : 1;
    if (!fixture_open(&f, &config))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 4000},
        &table));
    const uint32_t victim = f.size - 1;
    uint64_t held = number_owned_by(table, 0, 0), claimed = number_owned_by(table, 0, 100),
             of_dead = number_owned_by(table, victim, 5000), seen;
    memset(&under_way, 0, sizeof under_way);
    if (f.rank == victim) {
        tear_bucket(&f, table, &held, &held);
        EXPECT_OK(tern_atomic_cas(f.worker, bucket_of(table, &claimed), TERN_FREE,
                                  tern_state_taken(hash_of(table, &claimed), f.rank), &seen));
    }
    fixture_lose(&f, victim);
    /* Under way while it dies, as far as it is not done at once. */
    tern_status by_rma = tern_hashtable_insert_start(f.worker, table, &of_dead, &of_dead,
                                                     TERN_BY_RMA, &under_way.dead[0]);
    tern_status by_call = tern_hashtable_find_start(f.worker, table, &of_dead, TERN_BY_CALL,
                                                    &under_way.taken_of_dead, &under_way.dead[1]);
    survive(&f, table, held, claimed, of_dead);
    expect_told(&f, by_rma, &under_way.dead[0]);
    expect_told(&f, by_call, &under_way.dead[1]);
    /* The others may still need this rank. */
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "hashtable_request_faults", tests, 1);
}
