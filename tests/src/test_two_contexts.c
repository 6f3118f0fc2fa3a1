// tern-test: transports least=4

/*
 * A program in a context of all ranks, and a library in a context of half of them: ranks that wait
 * in one serve the other one, too. Each rank does operations of both in turn and in an order of its
 * own, so that at any time some rank waits in the one context for a rank that waits in the other.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fixture.h"

enum { APART = 8 };

typedef struct pair {
    fixture world, half;
    MPI_Comm comm, apart[APART];
} pair;

static bool half_open(pair *p) { return fixture_open_on(&p->half, p->comm, NULL); }

/* Open MPI names the memory of a window by the number of its communicator, and those of the two
 * halves would have the same numbers: windows that both make at once would be mixed up. So one half
 * uses some numbers up. */
static void pair_split(pair *p) {
    const int odd = (int)tern_test_rank() % 2;
    memset(p, 0, sizeof *p);
    MPI_Comm_split(MPI_COMM_WORLD, odd, (int)tern_test_rank(), &p->comm);
    for (int i = 0; i < APART; i++)
        if (odd)
            MPI_Comm_dup(p->comm, &p->apart[i]);
        else
            p->apart[i] = MPI_COMM_NULL;
}

static void pair_join(pair *p) {
    for (int i = 0; i < APART; i++)
        if (p->apart[i] != MPI_COMM_NULL)
            MPI_Comm_free(&p->apart[i]);
    MPI_Comm_free(&p->comm);
}

static bool pair_open(pair *p) {
    pair_split(p);
    return fixture_open(&p->world, NULL) && half_open(p);
}

static void pair_close(pair *p) {
    fixture_close(&p->half);
    fixture_close(&p->world);
    pair_join(p);
}

static tern_status add_one(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number;
    memcpy(&number, arguments, bytes < sizeof number ? bytes : sizeof number);
    number++;
    memcpy(call->result, &number, sizeof number);
    call->result_bytes = sizeof number;
    return TERN_OK;
}
TERN_FUNCTION(add_one)

static tern_worker_id anybody(const fixture *f, uint64_t *seed) {
    return (tern_worker_id){(uint32_t)(tern_test_random(seed) % f->size), 0};
}

static void ask(fixture *f, uint64_t *seed) {
    uint64_t number = tern_test_random(seed) / 2, answer = 0;
    EXPECT_OK(tern_call_return(f->worker, anybody(f, seed), &add_one_function, &number,
                               sizeof number, &answer, sizeof answer, NULL));
    CU_ASSERT_EQUAL(answer, number + 1);
}

/* What one rank does at a time, of either context. */
typedef struct in_turn {
    fixture *f;
    tern_hashtable *table;
    tern_queue *queue;
    tern_ptr *place; /* of each rank: a word for each rank */
    uint64_t added, notified, told;
} in_turn;

static void in_turn_open(in_turn *t, fixture *f) {
    tern_hashtable_options options = {
        .key_bytes = sizeof(uint64_t), .counter = 1, .capacity = 256, .grow = 1};
    tern_queue_options queue = {.item_bytes = sizeof(uint64_t), .capacity = 64};
    *t = (in_turn){.f = f, .place = calloc(f->size, sizeof(tern_ptr))};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &t->table));
    EXPECT_OK(tern_queue_create(f->worker, &queue, &t->queue));
    fixture_alloc_all(f, f->size * sizeof(uint64_t), TERN_DOMAIN_GLOBAL, t->place);
}

static void in_turn_close(in_turn *t) {
    fixture_free_all(t->f, t->place);
    EXPECT_OK(tern_queue_destroy(t->f->worker, t->queue));
    EXPECT_OK(tern_hashtable_destroy(t->f->worker, t->table));
    free(t->place);
}

static void take_events(in_turn *t) {
    tern_event event;
    while (tern_probe(t->f->worker, TERN_PROBE_REMOTE, &event) == TERN_OK)
        t->told++;
    tern_error_clear();
}

static void notify(in_turn *t, uint64_t *seed) {
    fixture *f = t->f;
    const tern_worker_id to = anybody(f, seed);
    const uint64_t cid = tern_test_random(seed);
    tern_ptr place = t->place[to.rank];
    tern_event event;
    place.offset += f->rank * sizeof cid;
    EXPECT_OK(tern_put_notify(
        f->worker, to, place, &cid, sizeof cid,
        &(tern_notify_options){.local_cid = cid, .cid = &cid, .cid_bytes = sizeof cid}));
    EXPECT_OK(tern_event_wait(f->worker, TERN_PROBE_LOCAL, &event));
    CU_ASSERT_EQUAL(event.local_cid, cid);
    t->notified++;
    take_events(t);
}

static void one_operation(in_turn *t, uint64_t *seed) {
    fixture *f = t->f;
    const uint64_t key = tern_test_random(seed) % 2000, kind = tern_test_random(seed) % 6;
    const tern_flags path = fixture_path(tern_test_random(seed));
    uint64_t item = key;
    if (kind <= 1) {
        ask(f, seed);
    } else if (kind <= 3) {
        EXPECT_OK(tern_hashtable_add(f->worker, t->table, &key, 1, path, NULL));
        t->added++;
    } else if (kind == 4) {
        notify(t, seed);
    } else {
        EXPECT_OK(tern_queue_push(f->worker, t->queue, &item, path));
        EXPECT_OK(tern_queue_pop(f->worker, t->queue, &item, path));
    }
}

static int sum_up(const void *key, const void *value, void *argument) {
    int64_t count;
    (void)key;
    memcpy(&count, value, sizeof count);
    *(uint64_t *)argument += (uint64_t)count;
    return 0;
}

/* No add and no event is lost, and none comes twice. */
static void all_is_there(in_turn *t) {
    uint64_t sums[2] = {t->added, 0};
    EXPECT_OK(tern_barrier(t->f->worker));
    EXPECT_OK(tern_hashtable_for_each(t->f->worker, t->table, sum_up, &sums[1]));
    EXPECT_OK(tern_sum(t->f->worker, sums, 2));
    CU_ASSERT_EQUAL(sums[0], sums[1]);
    do {
        take_events(t);
        sums[0] = t->notified;
        sums[1] = t->told;
        EXPECT_OK(tern_sum(t->f->worker, sums, 2));
    } while (sums[1] < sums[0]);
    CU_ASSERT_EQUAL(sums[0], sums[1]);
}

static void operations_in_turn(void) {
    const int operations = tern_test_full() ? 20000 : 200;
    uint64_t seed = tern_test_seed() + (uint64_t)tern_test_rank();
    in_turn t[2];
    pair p;
    if (!pair_open(&p))
        return;
    in_turn_open(&t[0], &p.world);
    in_turn_open(&t[1], &p.half);
    for (int i = 0; i < operations; i++)
        one_operation(&t[tern_test_random(&seed) % 2], &seed);
    all_is_there(&t[1]);
    EXPECT_OK(tern_quiesce(p.half.worker));
    all_is_there(&t[0]);
    in_turn_close(&t[1]);
    in_turn_close(&t[0]);
    pair_close(&p);
}

/* One half is in collectives of its own while the other half asks it in the context of all. The
 * last rank of the half comes late: it asks, too. */
static void collectives_in_turn(void) {
    uint64_t seed = tern_test_seed() + (uint64_t)tern_test_rank();
    pair p;
    if (!pair_open(&p))
        return;
    for (int turn = 0; turn < 4; turn++) {
        const bool busy = tern_test_rank() % 2 == turn % 2;
        if (!busy || p.half.rank + 1 == p.half.size)
            for (int i = 0; i < 20; i++)
                ask(&p.world, &seed);
        if (!busy) {
            /* The barrier is next. */
        } else if (turn < 2) {
            in_turn t;
            in_turn_open(&t, &p.half);
            EXPECT_OK(tern_barrier(p.half.worker));
            EXPECT_OK(tern_quiesce(p.half.worker));
            in_turn_close(&t);
        } else {
            fixture_close(&p.half);
            if (!half_open(&p))
                return;
        }
        EXPECT_OK(tern_barrier(p.world.worker));
    }
    pair_close(&p);
}

/* Every second rank makes the context of its half only when it was asked, and ends it in the same
 * way. So ranks wait in creation and in destruction for one that is waited for elsewhere. */
static void creation_serves(void) {
    uint64_t seed = tern_test_seed() + (uint64_t)tern_test_rank();
    pair p;
    pair_split(&p);
    if (!fixture_open(&p.world, NULL))
        return;
    const bool late = p.world.rank / 2 % 2 == 1;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; late && k < 20; k++)
            ask(&p.world, &seed);
        if (!half_open(&p))
            return;
        ask(&p.half, &seed);
        for (int k = 0; late && k < 20; k++)
            ask(&p.world, &seed);
        fixture_close(&p.half);
    }
    fixture_close(&p.world);
    pair_join(&p);
}

/* Handlers of each context use the other one. */

static pair *here;          /* of this rank, for handlers */
static fixture *main_waits; /* in this one of them */
static uint64_t bounced, refused, answered;

static tern_status count_down(tern_call_info *call, const void *arguments, size_t bytes);
static tern_function count_down_function = {"count_down", count_down, NULL, 0};

/* It asks in the other context, but not in the middle of a wait there, and passes on what is left
 * of its number there. */
static tern_status count_down(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t left, answer = 0;
    const bool in_world = tern_worker_context(call->worker) == here->world.context;
    fixture *other = in_world ? &here->half : &here->world;
    memcpy(&left, arguments, bytes < sizeof left ? bytes : sizeof left);
    bounced++;
    tern_worker_id next = {(other->rank + 1) % other->size, 0};
    if (left % 16 == 0) {
        tern_status asked = tern_call_return(other->worker, next, &add_one_function, &left,
                                             sizeof left, &answer, sizeof answer, NULL);
        CU_ASSERT(asked == TERN_ERR_STATE ||
                  (asked == TERN_OK && answer == left + 1 && main_waits != other));
        refused += asked == TERN_ERR_STATE;
        answered += asked == TERN_OK;
        tern_error_clear();
    }
    if (left-- == 0)
        return TERN_OK;
    tern_status status = tern_call(other->worker, next, &count_down_function, &left, sizeof left);
    CU_ASSERT_EQUAL(status, TERN_OK);
    return status;
}

__attribute__((constructor)) static void count_down_declare(void) {
    tern_internal_function_declare(&count_down_function);
}

static tern_status quiesce_in(fixture *f) {
    main_waits = f;
    const tern_status status = tern_quiesce(f->worker);
    main_waits = NULL;
    return status;
}

static void handlers_call_the_other(void) {
    enum { HOPS = 63, BALLS = 40 };
    uint64_t left = HOPS, sums[3], sent = 0;
    pair p;
    if (!pair_open(&p))
        return;
    here = &p;
    main_waits = NULL;
    bounced = refused = answered = 0;
    EXPECT_OK(tern_barrier(p.world.worker));
    for (int i = 0; i < BALLS; i++, sent++) {
        fixture *f = i % 2 == 0 ? &p.world : &p.half;
        main_waits = f;
        EXPECT_OK(tern_call(f->worker, (tern_worker_id){(f->rank + 1) % f->size, 0},
                            &count_down_function, &left, sizeof left));
        main_waits = NULL;
    }
    sent *= (HOPS + 1) * p.world.size;
    do { /* a call that one context has sent makes another one */
        EXPECT_OK(quiesce_in(&p.half));
        EXPECT_OK(quiesce_in(&p.world));
        sums[0] = bounced;
        sums[1] = refused;
        sums[2] = answered;
        main_waits = &p.world;
        EXPECT_OK(tern_sum(p.world.worker, sums, 3));
        main_waits = NULL;
    } while (sums[0] < sent);
    CU_ASSERT_EQUAL(sums[0], sent);
    CU_ASSERT(sums[1] > 0);
    pair_close(&p);
}

/* A thread has a worker of the second context for itself. It does not ask for progress, and then no
 * other thread makes progress for its worker; a worker that no thread has is served. */

static pthread_t the_thread;
static atomic_bool taken, runs, may_end;
static _Atomic uint64_t wrong_thread, ran, ran_free;

static tern_status note_thread(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    if (tern_worker_self(call->worker).index == 0)
        atomic_fetch_add(&ran_free, 1);
    else if (pthread_equal(pthread_self(), the_thread))
        atomic_fetch_add(&ran, 1);
    else
        atomic_fetch_add(&wrong_thread, 1);
    return TERN_OK;
}
TERN_FUNCTION(note_thread)

static void *hold_worker(void *argument) {
    tern_worker *worker;
    bool mine = tern_worker_adopt(argument, 1, &worker) == TERN_OK;
    atomic_store(&taken, true);
    while (!atomic_load(&runs))
        sched_yield();
    while (mine && !atomic_load(&may_end)) {
        tern_progress(worker);
        sched_yield();
    }
    mine = mine && tern_worker_release(worker) == TERN_OK;
    return mine ? argument : NULL;
}

static void workers_of_other_threads(void) {
    enum { CALLS = 20 };
    tern_config config;
    fixture world, other;
    uint64_t wanted;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&world, NULL))
        return;
    config.workers = 2;
    if (!fixture_open(&other, &config))
        return;
    atomic_store(&taken, false);
    atomic_store(&runs, false);
    atomic_store(&may_end, false);
    atomic_store(&ran, 0);
    atomic_store(&ran_free, 0);
    void *ended = NULL;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&the_thread, NULL, hold_worker, other.context), 0);
    while (!atomic_load(&taken))
        sched_yield();
    EXPECT_OK(tern_barrier(world.worker));
    for (uint32_t i = 0; i < 2 * CALLS; i++)
        EXPECT_OK(tern_call(other.worker, (tern_worker_id){(world.rank + 1) % world.size, i % 2},
                            &note_thread_function, &i, sizeof i));
    EXPECT_OK(tern_worker_release(other.worker));
    /* Waits in the one context: calls of the other one to the worker that is free run. */
    wanted = (uint64_t)CALLS * world.size;
    for (uint64_t sum = 0; sum < wanted;) {
        sum = atomic_load(&ran_free);
        EXPECT_OK(tern_sum(world.worker, &sum, 1));
    }
    CU_ASSERT_EQUAL(atomic_load(&ran), 0);
    atomic_store(&runs, true);
    for (uint64_t sum = 0; sum < wanted;) {
        sum = atomic_load(&ran);
        EXPECT_OK(tern_sum(world.worker, &sum, 1));
    }
    CU_ASSERT_EQUAL(atomic_load(&wrong_thread), 0);
    atomic_store(&may_end, true);
    CU_ASSERT_EQUAL(pthread_join(the_thread, &ended), 0);
    CU_ASSERT_PTR_NOT_NULL(ended);
    EXPECT_OK(tern_context_destroy(other.context));
    fixture_close(&world);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"operations in turn", operations_in_turn},
        {"collectives in turn", collectives_in_turn},
        {"creation serves", creation_serves},
        {"handlers call the other", handlers_call_the_other},
        {"workers of other threads", workers_of_other_threads},
    };
    return tern_test_main(argc, argv, "two_contexts", tests, 5);
}
