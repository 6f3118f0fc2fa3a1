/*
 * A rank dies while all make, count, empty and destroy a map or a table together, at any moment:
 * the others are told which rank it was, and have their memory back. Each test ends the life of a
 * rank, so each is a run of its own (CMakeLists.txt): --survivors --only NAME.
 */

#include "map_tools.h"
#include "survivors.h"
#include "table_tools.h"

#include <pthread.h>
#include <time.h>

#include "src/collective/collective.h"
#include "src/peer.h"
#include "src/progress/task.h"

enum { KEYS = 60, BYTES = 2000 };

static tern_map *map;
static tern_hashtable *table;

/* The last creation. */
static struct {
    size_t before, bytes; /* heap in use before it, and of one that came to its end */
    int barriers;
    bool left; /* a death ended it in a barrier: this rank's part stays with others */
} creation;

/* The linker, which gives the names, has calls of the library come here (CMakeLists.txt). */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __real_tern_collective_barrier(tern_context *context, tern_worker *worker);
tern_status __wrap_tern_collective_barrier(tern_context *context, tern_worker *worker);

tern_status __wrap_tern_collective_barrier(tern_context *context, tern_worker *worker) {
    creation.barriers++;
    return __real_tern_collective_barrier(context, worker);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void begin_creation(const fixture *f) {
    creation.before = heap_in_use(f);
    creation.barriers = 0;
}

static tern_status end_creation(const fixture *f, tern_status status) {
    creation.left = status != TERN_OK && creation.barriers > 0;
    if (status == TERN_OK)
        creation.bytes = heap_in_use(f) - creation.before;
    return status;
}

/* Runs the calls up to the first that fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        tern_status tried = (call);                                                                \
        if (tried != TERN_OK)                                                                      \
            return tried;                                                                          \
    } while (0)

/* own_only: what nobody else has to do with. */
static tern_status fill_map(fixture *f, bool own_only) {
    static const unsigned char value[BYTES];
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = f->rank * KEYS + i;
        if (own_only && tern_map_owner(map, &key, sizeof key) != f->rank)
            continue;
        TRY(tern_map_insert(f->worker, map, &key, sizeof key, value, sizeof value, TERN_BY_RMA,
                            NULL));
    }
    return TERN_OK;
}

static tern_status make_map(fixture *f) {
    const tern_map_options options = {.capacity = KEYS * f->size};
    begin_creation(f);
    return end_creation(f, tern_map_create(f->worker, &options, &map));
}

static tern_status end_map(fixture *f) {
    tern_map *ended = map;
    map = NULL;
    return tern_map_destroy(f->worker, ended);
}

static tern_status life_of(fixture *f, bool own_only) {
    TRY(make_map(f));
    TRY(fill_map(f, own_only));
    TRY(tern_map_clear(f->worker, map));
    TRY(fill_map(f, own_only));
    return end_map(f);
}

static tern_status life_of_map(fixture *f) { return life_of(f, false); }

static tern_status life_of_own_keys(fixture *f) { return life_of(f, true); }

static tern_status fill_table(fixture *f) {
    for (uint64_t i = 0, key; i < 4 * KEYS; i++) {
        key = f->rank * 4 * KEYS + i;
        TRY(tern_hashtable_insert(f->worker, table, &key, &key, TERN_BY_RMA, NULL));
    }
    return TERN_OK;
}

static tern_status make_table(fixture *f) {
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = 8, .capacity = 10, .grow = 1};
    begin_creation(f);
    return end_creation(f, tern_hashtable_create(f->worker, &options, &table));
}

static tern_status end_table(fixture *f) {
    tern_hashtable *ended = table;
    table = NULL;
    return tern_hashtable_destroy(f->worker, ended);
}

/* It grows, and so has keys under way while it is counted and emptied. */
static tern_status life_of_table(fixture *f) {
    uint64_t keys;
    TRY(make_table(f));
    TRY(fill_table(f));
    TRY(tern_hashtable_size(f->worker, table, &keys));
    TRY(tern_hashtable_clear(f->worker, table));
    TRY(fill_table(f));
    return end_table(f);
}

/* An object that was in use when the rank died refuses operations from now on. It can be destroyed.
 * */
static void end_what_is_left(fixture *f) {
    uint64_t keys = 77;
    if (map != NULL) {
        TOLD(play.victim, tern_map_clear(f->worker, map));
        TOLD(play.victim, tern_map_size(f->worker, map, &keys));
    }
    if (table != NULL) {
        TOLD(play.victim, tern_hashtable_clear(f->worker, table));
        TOLD(play.victim, tern_hashtable_size(f->worker, table, &keys));
    }
    CU_ASSERT_EQUAL(keys, 77);
    /* The others may still call this rank. */
    meet_survivors(f);
    start_clock();
    if (map != NULL)
        TOLD(play.victim, end_map(f));
    if (table != NULL)
        TOLD(play.victim, end_table(f));
}

/* The victim's: it does what it does until then. */
static void *kill_later(void *nanoseconds) {
    const long delay = *(const long *)nanoseconds;
    nanosleep(&(struct timespec){delay / 1000000000, delay % 1000000000}, NULL);
    die_outside_mpi();
    return NULL;
}

/* Lives one life to see how long it takes; in one of the next the victim dies. */
static void die_in(tern_status (*life)(fixture *f), uint32_t victim, bool all_comes_back) {
    fixture f;
    pthread_t killer;
    if (!survivors_open(&f, victim))
        return;
    const size_t before = heap_at_first(&f);
    start_clock();
    EXPECT_OK(life(&f));
    uint64_t random = tern_test_seed() + (uint64_t)(MPI_Wtime() * 1e9);
    long delay = (long)below(&random, (uint64_t)((MPI_Wtime() - began) * 1e9));
    EXPECT_OK(tern_barrier(f.worker));
    start_clock();
    if (f.rank == victim) {
        fprintf(stderr, "rank %u is killed after %ld ns\n", victim, delay);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&killer, NULL, kill_later, &delay), 0);
    }
    tern_status status = TERN_OK;
    while (status == TERN_OK) {
        if (!tern_test_dead((int)victim))
            start_clock();
        status = life(&f);
    }
    TOLD(victim, status);
    end_what_is_left(&f);
    /* Those who got a part that was left may have let it grow. */
    if (all_comes_back && creation.left)
        CU_ASSERT(heap_in_use(&f) >= before + creation.bytes);
    if (all_comes_back && !creation.left)
        CU_ASSERT_EQUAL(heap_in_use(&f), before);
    survivors_close(&f);
}

static void a_map(void) { die_in(life_of_map, (uint32_t)tern_test_size() - 1, false); }

/* Whose blocks nobody else gives back. */
static void a_map_of_own_keys(void) { die_in(life_of_own_keys, 0, true); }

static void a_table(void) { die_in(life_of_table, 1, true); }

/* The victim does not come. */
static void without_it(void) {
    fixture f;
    if (!survivors_open(&f, 0))
        return;
    const size_t before = heap_at_first(&f);
    EXPECT_OK(make_map(&f));
    EXPECT_OK(fill_map(&f, true));
    lose_later(&f);
    TOLD(play.victim, tern_map_clear(f.worker, map));
    /* Nothing is gone. */
    uint64_t keys = 0, present = 0;
    EXPECT_OK(tern_map_local_size(f.worker, map, &keys));
    for (uint64_t i = 0; i < KEYS; i++) {
        unsigned char value[BYTES];
        uint64_t key = f.rank * KEYS + i;
        present += tern_map_owner(map, &key, sizeof key) == f.rank &&
                   tern_map_find(f.worker, map, &key, sizeof key, TERN_BY_RMA, value, sizeof value,
                                 NULL) == TERN_OK;
    }
    CU_ASSERT(keys > 0 && present == keys);
    end_what_is_left(&f);
    CU_ASSERT_EQUAL(heap_in_use(&f), before);
    survivors_close(&f);
}

/* In the victim's progress: it dies once it was asked to give something back. */
static struct {
    tern_task task;
    uint64_t before;
} witness;

static size_t die_when_asked(tern_worker *worker, tern_task *task) {
    (void)task;
    if (worker->stats.calls_executed > witness.before)
        tern_test_kill(tern_test_rank());
    return 0;
}

static void giving_back(void) {
    fixture f;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    EXPECT_OK(make_map(&f));
    EXPECT_OK(fill_map(&f, false));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == play.victim) {
        witness.task.run = die_when_asked;
        witness.before = f.worker->stats.calls_executed;
        tern_task_add(f.context, &witness.task);
    }
    start_clock();
    TOLD(play.victim, tern_map_clear(f.worker, map));
    end_what_is_left(&f);
    survivors_close(&f);
}

/* A rank that was told of a death may begin another collective than those who have not been yet:
 * all are told. */
static void in_different_collectives(void) {
    fixture f;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == play.victim)
        die_later();
    while (!tern_test_dead((int)play.victim))
        sched_yield();
    usleep(100000);
    start_clock();
    if (f.rank % 2 == 0) {
        TOLD(play.victim, tern_quiesce(f.worker));
    } else {
        TOLD(play.victim, tern_barrier(f.worker));
        TOLD(play.victim, make_map(&f));
    }
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_map", a_map},
        {"a_map_of_own_keys", a_map_of_own_keys},
        {"a_table", a_table},
        {"without_it", without_it},
        {"giving_back", giving_back},
        {"in_different_collectives", in_different_collectives},
    };
    return tern_test_main(argc, argv, "emptying", tests, sizeof tests / sizeof tests[0]);
}
