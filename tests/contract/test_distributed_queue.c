// tern-test: transports

/* Distributed queue: the own part first, then what others have; nothing lost or done twice while
 * everybody steals from everybody. */

#include "queue_tools.h"

#define RW TERN_READ_WRITE

static tern_distributed_queue *make(fixture *f, uint64_t capacity) {
    tern_distributed_queue *queue = NULL;
    tern_queue_options options = {.item_bytes = 8, .capacity = capacity};
    EXPECT_OK(tern_distributed_queue_create(f->worker, &options, &queue));
    return queue;
}

static tern_queue *part(tern_distributed_queue *queue, uint32_t rank) {
    tern_queue *of_rank = NULL;
    EXPECT_OK(tern_distributed_queue_part(queue, rank, &of_rank));
    return of_rank;
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_distributed_queue *queue = NULL;
    tern_queue *none = NULL;
    tern_queue_options bad = {.item_bytes = 8, .capacity = 0};
    uint64_t item = 77, size = 9;
    size_t popped;
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_create(f.worker, &bad, &queue));
    EXPECT_DETAIL("capacity");
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_create(f.worker, NULL, &queue));
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_create(NULL, &bad, &queue));
    bad.capacity = 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_create(f.worker, &bad, NULL));
    queue = make(&f, 3);
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_part(queue, f.size, &none));
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_part(NULL, 0, &none));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_destroy(f.worker, part(queue, 0)));
    EXPECT_DETAIL("distributed");
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_try_pop(f.worker, queue, NULL, TERN_BY_RMA));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_distributed_queue_pop_many(f.worker, queue, &item, 1, TERN_BY_RMA, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_distributed_queue_pop_many(f.worker, NULL, &item, 1, TERN_BY_RMA, &popped));
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        EXPECT(TERN_ERR_EMPTY, tern_distributed_queue_try_pop(f.worker, queue, &item, path));
        EXPECT_DETAIL("parts");
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_pop(f.worker, NULL, &item, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_pop(f.worker, queue, &item, TERN_READ_ONLY));
    EXPECT_DETAIL("phase");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_distributed_queue_pop_timed(f.worker, queue, &item, 1, -1, 0, &popped));
    EXPECT_DETAIL("seconds");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_distributed_queue_pop_timed(f.worker, queue, &item, 0, 1, 0, &popped));
    EXPECT_DETAIL("count");
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_push_many(f.worker, queue, &item, 1, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_try_push(f.worker, queue, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_hold(NULL, queue));
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_release(f.worker, NULL));
    CU_ASSERT_EQUAL(item, 77);
    EXPECT_OK(tern_distributed_queue_size(f.worker, queue, &size));
    CU_ASSERT_EQUAL(size, 0);
    EXPECT(TERN_ERR_ARGUMENT, tern_distributed_queue_size(f.worker, queue, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, NULL));
    fixture_close(&f);
}

/* One rank has all; another takes half of it, the oldest, and so on to the last. */
static void half_is_stolen(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    enum { ITEMS = 10 };
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_distributed_queue *queue = make(&f, ITEMS);
        uint64_t items[ITEMS] = {0}, size = 0;
        size_t popped = 0;
        for (uint64_t i = 0; f.rank == 0 && i < ITEMS; i++)
            EXPECT_OK(tern_queue_try_push(f.worker, part(queue, 0), &i, path));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_distributed_queue_size(f.worker, queue, &size));
        CU_ASSERT_EQUAL(size, ITEMS);
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t next = 0; f.rank == f.size - 1 && next < ITEMS; next += popped) {
            uint64_t left = ITEMS - next;
            EXPECT_OK(
                tern_distributed_queue_pop_many(f.worker, queue, items, ITEMS, path, &popped));
            CU_ASSERT_EQUAL(popped, f.size == 1 ? left : (left + 1) / 2);
            for (uint64_t i = 0; i < popped; i++)
                CU_ASSERT_EQUAL(items[i], next + i);
            if (popped == 0)
                break;
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT(TERN_ERR_EMPTY, tern_distributed_queue_try_pop(f.worker, queue, items, path));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* Tasks, of a binary tree: an item is a number of levels below it, and its two children go to parts
 * at random. Those that find no room are done at once. */
typedef struct forest {
    fixture *f;
    tern_distributed_queue *queue;
    tern_ptr waiting; /* counts items pushed and not yet done */
    uint64_t random, leaves;
} forest;

static void grow(forest *t, uint64_t levels) {
    if (levels == 0) {
        t->leaves++;
        return;
    }
    for (int child = 0; child < 2; child++) {
        uint64_t below_it = levels - 1;
        uint32_t rank = below(&t->random, 3) ? t->f->rank : (uint32_t)below(&t->random, t->f->size);
        EXPECT_OK(tern_atomic_fetch_add(t->f->worker, t->waiting, 1, NULL));
        tern_status status = tern_queue_try_push(t->f->worker, part(t->queue, rank), &below_it,
                                                 any_path(&t->random));
        if (status == TERN_OK)
            continue;
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        grow(t, below_it);
        EXPECT_OK(tern_atomic_fetch_add(t->f->worker, t->waiting, UINT64_MAX, NULL));
    }
}

static void everybody_steals(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const int times = fixture_times(&f, 1000);
    uint64_t levels = 1;
    while ((1 << (levels + 1)) <= times)
        levels++;
    tern_ptr counters[64];
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, counters);
    forest t = {&f, make(&f, 5), counters[0], fixture_seed(&f, 9), 0};
    uint64_t waiting = f.rank == 0, tasks[3], all[64] = {0}, leaves = 0;
    if (f.rank == 0) {
        EXPECT_OK(tern_atomic_store(f.worker, t.waiting, 1));
        EXPECT_OK(tern_queue_try_push(f.worker, part(t.queue, 0), &levels, TERN_BY_RMA));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (waiting = 1; waiting > 0;) {
        size_t got = 0;
        tern_status status =
            tern_distributed_queue_pop_many(f.worker, t.queue, tasks, 3, any_path(&t.random), &got);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
        for (size_t i = 0; status == TERN_OK && i < got; i++) {
            grow(&t, tasks[i]);
            EXPECT_OK(tern_atomic_fetch_add(f.worker, t.waiting, UINT64_MAX, NULL));
        }
        tern_progress(f.worker);
        if (status != TERN_OK && !EXPECT_OK(tern_atomic_load(f.worker, t.waiting, &waiting)))
            break;
    }
    fixture_share(&f, &t.leaves, sizeof t.leaves, all);
    for (uint32_t r = 0; r < f.size; r++)
        leaves += all[r];
    CU_ASSERT_EQUAL(leaves, (uint64_t)1 << levels);
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, t.queue));
    fixture_free_all(&f, counters);
    fixture_close(&f);
}

/* The same trees, until the queue says that all is done: then the counter says so, too. */
static void pushed_or_done(forest *t, uint64_t levels) {
    for (int child = 0; child < 2 && levels > 0; child++) {
        const uint64_t below_it = levels - 1;
        const tern_flags path = any_path(&t->random);
        const uint32_t rank = (uint32_t)below(&t->random, t->f->size);
        EXPECT_OK(tern_atomic_fetch_add(t->f->worker, t->waiting, 1, NULL));
        const tern_status status =
            below(&t->random, 2)
                ? tern_distributed_queue_try_push(t->f->worker, t->queue, &below_it, path)
                : tern_queue_try_push(t->f->worker, part(t->queue, rank), &below_it, path);
        if (status == TERN_OK)
            continue;
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        pushed_or_done(t, below_it);
        EXPECT_OK(tern_atomic_fetch_add(t->f->worker, t->waiting, UINT64_MAX, NULL));
    }
    t->leaves += levels == 0;
}

static tern_status any_pop(forest *t, uint64_t *tasks, size_t *got) {
    const tern_flags path = any_path(&t->random);
    *got = 1;
    switch (below(&t->random, 3)) {
    case 0:
        return tern_distributed_queue_pop(t->f->worker, t->queue, tasks, path);
    case 1:
        return tern_distributed_queue_try_pop(t->f->worker, t->queue, tasks, path);
    default:
        return tern_distributed_queue_pop_timed(t->f->worker, t->queue, tasks, 3,
                                                (double)below(&t->random, 3) * 1e-4, path, got);
    }
}

static void work_to_the_end(forest *t) {
    for (;;) {
        uint64_t tasks[3], waiting = 1;
        size_t got = 0;
        const tern_status status = any_pop(t, tasks, &got);
        for (size_t i = 0; status == TERN_OK && i < got; i++) {
            pushed_or_done(t, tasks[i]);
            EXPECT_OK(tern_atomic_fetch_add(t->f->worker, t->waiting, UINT64_MAX, NULL));
        }
        if (status == TERN_OK || status == TERN_ERR_TIMEOUT || status == TERN_ERR_EMPTY)
            continue;
        EXPECT(TERN_ERR_DONE, status);
        EXPECT_OK(tern_atomic_load(t->f->worker, t->waiting, &waiting));
        CU_ASSERT_EQUAL(waiting, 0);
        return;
    }
}

static void work_ends_when_all_is_done(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const int times = fixture_times(&f, 600);
    uint64_t levels = 1, all[64] = {0};
    while ((1 << (levels + 1)) <= times)
        levels++;
    tern_ptr counters[64];
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, counters);
    forest t = {&f, make(&f, 5), counters[0], fixture_seed(&f, 21), 0};
    for (uint32_t work = 0; work < 3; work++) {
        const uint32_t first = work % f.size;
        uint64_t leaves = 0;
        t.leaves = 0;
        if (f.rank == first && work < 2) { /* the last time there is no work */
            EXPECT_OK(tern_atomic_store(f.worker, t.waiting, 1));
            EXPECT_OK(tern_distributed_queue_try_push(f.worker, t.queue, &levels, 0));
        }
        work_to_the_end(&t);
        fixture_share(&f, &t.leaves, sizeof t.leaves, all);
        for (uint32_t r = 0; r < f.size; r++)
            leaves += all[r];
        CU_ASSERT_EQUAL(leaves, work < 2 ? (uint64_t)1 << levels : 0);
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, t.queue));
    fixture_free_all(&f, counters);
    fixture_close(&f);
}

/* So often ranks that wait are told that there is nothing yet. */
static void wait_in_vain(fixture *f, tern_distributed_queue *queue, tern_ptr arrived) {
    uint64_t item;
    size_t popped;
    for (int i = 0; i < 50; i++)
        EXPECT(TERN_ERR_TIMEOUT,
               tern_distributed_queue_pop_timed(f->worker, queue, &item, 1, 0,
                                                any_path(&(uint64_t){(uint64_t)i}), &popped));
    EXPECT_OK(tern_atomic_fetch_add(f->worker, arrived, 1, NULL));
}

static void wait_for_all(fixture *f, tern_ptr arrived, uint64_t count) {
    uint64_t seen = 0;
    while (seen < count && EXPECT_OK(tern_atomic_load(f->worker, arrived, &seen)))
        tern_progress(f->worker);
}

/* Counts items until the end. */
static uint64_t pop_to_the_end(fixture *f, tern_distributed_queue *queue) {
    uint64_t item, items = 0;
    tern_status status;
    while ((status = tern_distributed_queue_pop(f->worker, queue, &item, 0)) == TERN_OK)
        items++;
    EXPECT(TERN_ERR_DONE, status);
    EXPECT_DETAIL("done");
    return items;
}

/* A rank works on the last item, or holds the queue, while the others wait. */
static void nobody_is_done_before_the_slowest(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (int held = 0; held < 2; held++) {
        tern_ptr counters[64];
        fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, counters);
        tern_distributed_queue *queue = make(&f, 64);
        uint64_t item = 5, items = 0, all[64] = {0};
        if (f.rank == 0) {
            if (held) {
                EXPECT_OK(tern_distributed_queue_hold(f.worker, queue));
            } else {
                EXPECT_OK(tern_distributed_queue_try_push(f.worker, queue, &item, TERN_LOCAL));
                EXPECT_OK(tern_distributed_queue_pop(f.worker, queue, &item, 0));
            }
        }
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank > 0 || held)
            wait_in_vain(&f, queue, counters[0]);
        if (f.rank == 0) {
            wait_for_all(&f, counters[0], f.size - (held ? 0 : 1));
            for (uint32_t r = 0; r < f.size; r++)
                EXPECT_OK(tern_distributed_queue_try_push(f.worker, queue, &item, 0));
        }
        if (held) /* by another rank, once the items are there */
            EXPECT_OK(tern_barrier(f.worker));
        if (held && f.rank == f.size - 1)
            EXPECT_OK(tern_distributed_queue_release(f.worker, queue));
        const uint64_t mine = pop_to_the_end(&f, queue);
        fixture_share(&f, &mine, sizeof mine, all);
        for (uint32_t r = 0; r < f.size; r++)
            items += all[r];
        CU_ASSERT_EQUAL(items, f.size);
        EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
        fixture_free_all(&f, counters);
    }
    fixture_close(&f);
}

static tern_distributed_queue *beneath; /* the one that handlers pop from */
static uint64_t popped_beneath[2];      /* OK, and the queue was empty */

static tern_status pop_beneath(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t item = 0;
    (void)arguments, (void)bytes;
    const tern_status status =
        tern_distributed_queue_try_pop(call->worker, beneath, &item, TERN_LOCAL);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
    popped_beneath[status != TERN_OK]++;
    return TERN_OK;
}
TERN_FUNCTION(pop_beneath)

/* A handler that pops finishes nothing: the code that it interrupts still works on its item, while
 * another worker of its rank waits as all other ranks do. */
static void a_handler_pops_while_an_item_is_worked_on(void) {
    fixture f;
    tern_worker *second = NULL;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.workers = 2;
    if (!fixture_open(&f, &config))
        return;
    EXPECT_OK(tern_worker_adopt(f.context, 1, &second));
    tern_ptr counters[64];
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, counters);
    beneath = make(&f, 64);
    popped_beneath[0] = popped_beneath[1] = 0;
    uint64_t item = 5;
    if (f.rank == 0) {
        for (int i = 0; i < 2; i++)
            EXPECT_OK(tern_distributed_queue_try_push(f.worker, beneath, &item, TERN_LOCAL));
        EXPECT_OK(tern_distributed_queue_try_pop(f.worker, beneath, &item, TERN_LOCAL));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == f.size - 1)
        for (int i = 0; i < 2; i++)
            EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){0, 0}, &pop_beneath_function,
                                       NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank > 0)
        wait_in_vain(&f, beneath, counters[0]);
    if (f.rank == 0) {
        uint64_t waited = 0, size = f.size;
        size_t popped;
        CU_ASSERT(popped_beneath[0] == 1 && popped_beneath[1] == 1);
        for (int i = 0; i < 50 || waited + 1 < size; i++) {
            if (!EXPECT(TERN_ERR_TIMEOUT, tern_distributed_queue_pop_timed(
                                              second, beneath, &item, 1, 0, TERN_BY_RMA, &popped)))
                break;
            EXPECT_OK(tern_atomic_load(f.worker, counters[0], &waited));
            tern_progress(f.worker);
        }
        for (uint32_t r = 0; r < f.size; r++)
            EXPECT_OK(tern_distributed_queue_try_push(f.worker, beneath, &item, 0));
    }
    uint64_t mine = pop_to_the_end(&f, beneath), items = 0, all[64] = {0};
    fixture_share(&f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        items += all[r];
    CU_ASSERT_EQUAL(items, f.size);
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, beneath));
    EXPECT_OK(tern_worker_release(second));
    fixture_free_all(&f, counters);
    fixture_close(&f);
}

/* Ranks have reported that they wait, and one of them is given an item only then. */
static void what_is_pushed_after_a_report_counts(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const uint32_t last = f.size - 1;
    tern_ptr counters[64];
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, counters);
    tern_distributed_queue *queue = make(&f, 4);
    uint64_t item = 5;
    if (f.rank == 0) {
        EXPECT_OK(tern_distributed_queue_try_push(f.worker, queue, &item, TERN_LOCAL));
        EXPECT_OK(tern_distributed_queue_pop(f.worker, queue, &item, 0));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank > 0)
        wait_in_vain(&f, queue, counters[0]);
    if (f.rank == 0) {
        wait_for_all(&f, counters[0], f.size - 1);
        EXPECT_OK(tern_queue_push(f.worker, part(queue, last), &item, 0));
    }
    if (f.rank == last) {
        EXPECT_OK(tern_distributed_queue_pop(f.worker, queue, &item, 0));
        EXPECT_OK(tern_atomic_fetch_add(f.worker, counters[0], 1, NULL));
    }
    wait_for_all(&f, counters[0], f.size); /* nobody else takes it */
    if (f.rank == 0 && last > 0)
        wait_in_vain(&f, queue, counters[0]);
    if (f.rank == last && last > 0)
        wait_for_all(&f, counters[0], f.size + 1);
    CU_ASSERT_EQUAL(pop_to_the_end(&f, queue), 0);
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
    fixture_free_all(&f, counters);
    fixture_close(&f);
}

/* The rank that is told first makes no progress any more, and the others are told all the same. */
static void the_end_is_told_before_it_is_returned(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.publish = TERN_PUBLISH_BATCHED; /* and progress would publish what is told */
    if (!fixture_open(&f, &config))
        return;
    tern_distributed_queue *queue = make(&f, 4);
    uint64_t item = 5;
    size_t popped;
    for (int i = 0; i < 20; i++) {
        tern_status status;
        do /* a wait of no time makes progress, too */
            status = tern_distributed_queue_pop_timed(f.worker, queue, &item, 1, i % 2 ? 9 : 0,
                                                      TERN_BY_RMA, &popped);
        while (i % 2 == 0 && status == TERN_ERR_TIMEOUT);
        EXPECT(TERN_ERR_DONE, status);
        if (fixture_all_direct(&f)) /* otherwise a look at a part needs progress of its rank */
            MPI_Barrier(MPI_COMM_WORLD);
        else
            EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

static void what_does_not_fit_goes_elsewhere(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    enum { EACH = 3 };
    tern_distributed_queue *queue = make(&f, EACH);
    uint64_t items[64 * EACH + 1], size = 0, mine = 0, all[64] = {0};
    const size_t room = (size_t)f.size * EACH;
    size_t pushed = 9;
    for (size_t i = 0; i <= room; i++)
        items[i] = i;
    if (f.rank == f.size - 1) {
        EXPECT_OK(tern_distributed_queue_push_many(f.worker, queue, items, EACH + 1, TERN_LOCAL,
                                                   &pushed));
        CU_ASSERT_EQUAL(pushed, EACH);
        for (size_t spilt = 0; spilt < room - EACH; spilt += pushed)
            EXPECT_OK(tern_distributed_queue_push_many(f.worker, queue, items,
                                                       room + 1 - EACH - spilt, 0, &pushed));
        EXPECT(TERN_ERR_FULL,
               tern_distributed_queue_push_many(f.worker, queue, items, 2, 0, &pushed));
        EXPECT_DETAIL("parts");
        CU_ASSERT_EQUAL(pushed, 0);
        EXPECT(TERN_ERR_FULL, tern_distributed_queue_try_push(f.worker, queue, items, 0));
        EXPECT_DETAIL("tern_distributed_queue_try_push: all parts");
        EXPECT(TERN_ERR_FULL, tern_distributed_queue_try_push(f.worker, queue, items, TERN_LOCAL));
        EXPECT_DETAIL("tern_distributed_queue_try_push: the own part");
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_size(f.worker, part(queue, f.rank), &size));
    CU_ASSERT_EQUAL(size, EACH);
    EXPECT_OK(tern_barrier(f.worker));
    mine = pop_to_the_end(&f, queue);
    fixture_share(&f, &mine, sizeof mine, all);
    size = 0;
    for (uint32_t r = 0; r < f.size; r++)
        size += all[r];
    CU_ASSERT_EQUAL(size, room);
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* Runs in a handler: operations that do not wait work on the own part, and the others are refused.
 */
static tern_status use_parts(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_worker *w = call->worker;
    const tern_queue_options options = {.item_bytes = 8, .capacity = 1};
    tern_distributed_queue *other = NULL;
    uint64_t items[2] = {5, 6};
    size_t done = 9;
    (void)arguments, (void)bytes;
    EXPECT_OK(tern_distributed_queue_hold(w, beneath));
    EXPECT_OK(tern_distributed_queue_push_many(w, beneath, items, 2, TERN_LOCAL, &done));
    CU_ASSERT_EQUAL(done, 2);
    EXPECT(TERN_ERR_STATE, tern_distributed_queue_pop(w, beneath, items, 0));
    EXPECT(TERN_ERR_STATE, tern_distributed_queue_pop_timed(w, beneath, items, 1, 0, 0, &done));
    EXPECT_OK(tern_distributed_queue_pop_many(w, beneath, items, 1, TERN_LOCAL, &done));
    CU_ASSERT(done == 1 && items[0] == 5);
    EXPECT_OK(tern_distributed_queue_try_pop(w, beneath, items, TERN_LOCAL));
    EXPECT(TERN_ERR_EMPTY, tern_distributed_queue_try_pop(w, beneath, items, TERN_LOCAL));
    CU_ASSERT_EQUAL(items[0], 6);
    EXPECT_OK(tern_distributed_queue_release(w, beneath));
    EXPECT(TERN_ERR_STATE, tern_distributed_queue_create(w, &options, &other));
    EXPECT(TERN_ERR_STATE, tern_distributed_queue_destroy(w, beneath));
    CU_ASSERT_PTR_NULL(other);
    popped_beneath[0]++;
    return TERN_OK;
}
TERN_FUNCTION(use_parts)

static void handlers_use_the_own_part(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    uint64_t item = 5;
    beneath = make(&f, 4);
    popped_beneath[0] = 0;
    EXPECT_OK(tern_call(f.worker, tern_worker_self(f.worker), &use_parts_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(popped_beneath[0], 1);
    /* A handler's items are nobody's work any more once its worker pops. */
    EXPECT(TERN_ERR_DONE, tern_distributed_queue_pop(f.worker, beneath, &item, 0));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_distributed_queue_destroy(f.worker, beneath));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"half_is_stolen", half_is_stolen},
        {"everybody_steals", everybody_steals},
        {"work_ends_when_all_is_done", work_ends_when_all_is_done},
        {"nobody_is_done_before_the_slowest", nobody_is_done_before_the_slowest},
        {"a_handler_pops_while_an_item_is_worked_on", a_handler_pops_while_an_item_is_worked_on},
        {"handlers_use_the_own_part", handlers_use_the_own_part},
        {"what_is_pushed_after_a_report_counts", what_is_pushed_after_a_report_counts},
        {"the_end_is_told_before_it_is_returned", the_end_is_told_before_it_is_returned},
        {"what_does_not_fit_goes_elsewhere", what_does_not_fit_goes_elsewhere},
    };
    return tern_test_main(argc, argv, "distributed_queue", tests, sizeof tests / sizeof tests[0]);
}
