// tern-test: ranks survivors least=3

/* A death is known, and the program goes on to its end: 150 operations of all kinds on each rank in
 * turn, and nine collectives. No wait that the death ends gives the processor up before it tells of
 * it. The test counts the steps of such waits, and not time: on a machine that is busy each
 * yield takes as long as the other processes like. */

#include "nothing.h"
#include "src/progress/wait.h"
#include "survivors.h"

enum { KEYS = 64, TIMES = 10 };

static struct {
    bool counts, doomed; /* in a wait that the death ends */
    uint64_t steps, went_on, yields;
} waits;

/* The linker puts these in the place of the library's. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __real_tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank);
tern_status __wrap_tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank);
int __wrap_sched_yield(void);
int __real_sched_yield(void);

/* went_on: a wait for the dead rank by name has gone on. */
tern_status __wrap_tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank) {
    const tern_peers *peers = context != NULL ? &context->peers : NULL;
    const bool named = peers != NULL && rank < context->size && tern_peer_is_dead(peers, rank);
    const bool doomed = named || (peers != NULL && rank == TERN_ANYBODY && peers->count > 0 &&
                                  tern_peers_dead(peers) != TERN_NOBODY);
    waits.doomed = waits.counts && doomed;
    const tern_status status = __real_tern_wait_step(context, state, rank);
    waits.steps += waits.doomed;
    waits.went_on += waits.doomed && named && status == TERN_OK;
    waits.doomed = false;
    return status;
}

int __wrap_sched_yield(void) {
    waits.yields += waits.doomed;
    return __real_sched_yield();
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* What the operations are done with, and how. */
static struct {
    tern_ptr memory[64];
    tern_hashtable *table;
    tern_map *map;
    tern_queue *queue;
    tern_distributed_queue *work;
    tern_locks *locks;
} at;

static uint64_t table_key(uint32_t rank) {
    uint64_t key = 1;
    while (tern_hashtable_owner(at.table, &key) != rank)
        key++;
    return key;
}

static uint64_t map_key(uint32_t rank) {
    uint64_t key = 1;
    while (tern_map_owner(at.map, &key, sizeof key) != rank)
        key++;
    return key;
}

static tern_status put(fixture *f, uint32_t rank) {
    const uint64_t value = rank;
    const tern_status status = tern_put(f->worker, at.memory[rank], &value, sizeof value);
    return status == TERN_OK ? tern_flush(f->worker, rank) : status;
}

static tern_status get(fixture *f, uint32_t rank) {
    uint64_t value;
    return tern_get(f->worker, &value, at.memory[rank], sizeof value);
}

static tern_status get_and_wait(fixture *f, uint32_t rank) {
    static uint64_t value;
    tern_request request;
    const tern_status status =
        tern_get_start(f->worker, &value, at.memory[rank], sizeof value, &request);
    return status == TERN_OK ? tern_wait(f->worker, &request) : status;
}

static tern_status add(fixture *f, uint32_t rank) {
    uint64_t before;
    return tern_atomic_fetch_add(f->worker, at.memory[rank], 1, &before);
}

static tern_status call(fixture *f, uint32_t rank) {
    return tern_call_return(f->worker, (tern_worker_id){.rank = rank}, &nothing_function, NULL, 0,
                            NULL, 0, NULL);
}

static tern_status call_and_wait(fixture *f, uint32_t rank) {
    static tern_request request;
    const tern_status status = tern_call_start(f->worker, (tern_worker_id){.rank = rank},
                                               &nothing_function, NULL, 0, NULL, 0, &request);
    return status == TERN_OK ? tern_wait(f->worker, &request) : status;
}

static tern_status insert(fixture *f, uint32_t rank) {
    const uint64_t key = table_key(rank);
    return tern_hashtable_insert(f->worker, at.table, &key, &key, TERN_BY_RMA, NULL);
}

static tern_status insert_by_call(fixture *f, uint32_t rank) {
    const uint64_t key = table_key(rank);
    return tern_hashtable_insert(f->worker, at.table, &key, &key, TERN_BY_CALL, NULL);
}

static tern_status find(fixture *f, uint32_t rank) {
    const uint64_t key = table_key(rank);
    uint64_t value;
    return tern_hashtable_find(f->worker, at.table, &key, TERN_BY_RMA, &value);
}

static tern_status map_insert(fixture *f, uint32_t rank) {
    const uint64_t key = map_key(rank);
    return tern_map_insert(f->worker, at.map, &key, sizeof key, &key, sizeof key,
                           fixture_path(rank), NULL);
}

static tern_status map_find(fixture *f, uint32_t rank) {
    const uint64_t key = map_key(rank);
    uint64_t value;
    size_t bytes;
    return tern_map_find(f->worker, at.map, &key, sizeof key, fixture_path(rank), &value,
                         sizeof value, &bytes);
}

/* An item, room or an event that no rank will bring. */
static tern_status pop(fixture *f, uint32_t rank) {
    uint64_t item;
    if (rank == 0)
        return tern_queue_pop(f->worker, at.queue, &item, TERN_BY_RMA);
    return tern_distributed_queue_pop(f->worker, at.work, &item, 0);
}

static tern_status event(fixture *f, uint32_t rank) {
    tern_event event;
    const uint64_t value = rank;
    const tern_status status = tern_put_notify(
        f->worker, (tern_worker_id){.rank = play.victim}, at.memory[play.victim], &value,
        sizeof value, &(tern_notify_options){.local_cid = 1, .flags = TERN_NOTIFY_NO_LOCAL});
    return status == TERN_OK ? tern_event_wait(f->worker, TERN_PROBE_ANY, &event) : status;
}

/* A release that has to wait for puts to the dead rank leaves the lock held. */
static tern_status lock(fixture *f, uint32_t rank) {
    static bool held[64];
    if (!held[rank]) {
        const tern_status status = tern_lock_acquire(f->worker, at.locks, rank);
        if (status != TERN_OK)
            return status;
        held[rank] = true;
    }
    const tern_status status = tern_lock_release(f->worker, at.locks, rank);
    held[rank] = status != TERN_OK;
    return status;
}

static tern_status descriptor(fixture *f, uint32_t rank) {
    tern_descriptor found;
    (void)rank;
    return tern_descriptor_wait(f->worker, (tern_worker_id){.rank = play.victim}, TERN_POSTED_ANY,
                                7, &found);
}

static const struct {
    const char *name;
    tern_status (*run)(fixture *f, uint32_t rank);
} operations[] = {{"put", put},
                  {"get", get},
                  {"get and wait", get_and_wait},
                  {"add", add},
                  {"call", call},
                  {"call and wait", call_and_wait},
                  {"insert", insert},
                  {"insert by call", insert_by_call},
                  {"find", find},
                  {"map insert", map_insert},
                  {"map find", map_find},
                  {"pop", pop},
                  {"event", event},
                  {"lock", lock},
                  {"descriptor", descriptor}};

enum { KINDS = sizeof operations / sizeof *operations };

/* No wait that was doomed has yielded, or gone on by name. */
static void check_waits(const char *what, uint32_t rank) {
    char text[160] = "";
    const bool good = waits.yields == 0 && waits.went_on == 0;
    if (!good)
        snprintf(text, sizeof text, "%s, rank %u: %llu steps, %llu by name went on, %llu yields",
                 what, rank, (unsigned long long)waits.steps, (unsigned long long)waits.went_on,
                 (unsigned long long)waits.yields);
    CU_assertImplementation(good, __LINE__, text, __FILE__, "", CU_FALSE);
    waits.steps = waits.went_on = waits.yields = 0;
}

static void operations_are_told(fixture *f) {
    for (int i = 0; i < TIMES * KINDS; i++) {
        const uint32_t rank = (uint32_t)(i / KINDS) % f->size;
        const int kind = i % KINDS;
        waits.counts = true;
        const tern_status status = operations[kind].run(f, rank);
        waits.counts = false;
        if (status != TERN_OK && status != TERN_ERR_NOT_FOUND)
            tern_expect(status, TERN_ERR_PEER, operations[kind].name, __LINE__, __FILE__);
        check_waits(operations[kind].name, rank);
    }
}

enum { COLLECTIVES = 11 };

static tern_status collective(fixture *f, int which) {
    uint64_t number = 1;
    tern_ptr memory;
    switch (which) {
    case 0:
        return tern_barrier(f->worker);
    case 1:
        return tern_agree(f->worker, TERN_OK, "nothing");
    case 2:
        return tern_sum(f->worker, &number, 1);
    case 3:
        return tern_team_broadcast(f->worker, NULL, 0, &number, sizeof number);
    case 4:
        return tern_quiesce(f->worker);
    case 5:
        return tern_team_barrier(f->worker, NULL);
    case 6:
        return tern_team_allreduce(f->worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &number, 1);
    case 7:
        return tern_alloc_all(f->worker, 64, 0, TERN_DOMAIN_OWNER, &memory);
    case 8:
        return tern_calloc_all(f->worker, 64, 0, TERN_DOMAIN_OWNER, &memory);
    case 9:
        return tern_realloc_all(f->worker, at.memory[0], 128, 0, &memory);
    default:
        return tern_hashtable_size(f->worker, at.table, &number);
    }
}

static void collectives_are_told(fixture *f) {
    for (int which = 0; which < COLLECTIVES; which++) {
        char name[32];
        snprintf(name, sizeof name, "collective %d", which);
        waits.counts = true;
        EXPECT(TERN_ERR_PEER, collective(f, which));
        waits.counts = false;
        check_waits(name, 0);
    }
}

static void open_all(fixture *f) {
    const tern_queue_options one = {.item_bytes = 8, .capacity = 4};
    fixture_alloc_all(f, 64, TERN_DOMAIN_OWNER, at.memory);
    EXPECT_OK(tern_hashtable_create(
        f->worker,
        &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 16 * KEYS},
        &at.table));
    EXPECT_OK(tern_map_create(f->worker, &(tern_map_options){.capacity = 16 * KEYS}, &at.map));
    EXPECT_OK(tern_queue_create(f->worker, &one, &at.queue));
    EXPECT_OK(tern_distributed_queue_create(f->worker, &one, &at.work));
    EXPECT_OK(tern_locks_create(f->worker, f->size, &at.locks));
}

static void close_all(fixture *f) {
    EXPECT(TERN_ERR_PEER, tern_locks_destroy(f->worker, at.locks));
    EXPECT(TERN_ERR_PEER, tern_distributed_queue_destroy(f->worker, at.work));
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f->worker, at.queue));
    EXPECT(TERN_ERR_PEER, tern_map_destroy(f->worker, at.map));
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f->worker, at.table));
}

static void to_the_end(void) {
    fixture f;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    open_all(&f);
    lose_later(&f);
    (void)TOLD(play.victim, tern_barrier(f.worker));
    const double start = MPI_Wtime();
    operations_are_told(&f);
    const double operated = MPI_Wtime();
    collectives_are_told(&f);
    fprintf(stderr, "rank %u: %d operations in %.3f s, %d collectives in %.6f s\n", f.rank,
            TIMES * KINDS, operated - start, COLLECTIVES, MPI_Wtime() - operated);
    meet_survivors(&f);
    waits.counts = true;
    close_all(&f);
    waits.counts = false;
    check_waits("the end", 0);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"to_the_end", to_the_end}};
    return tern_test_main(argc, argv, "known_death_faults", tests, 1);
}
