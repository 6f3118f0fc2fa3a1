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
    if (!fixture_open(&f, NULL))
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
    for (tern_flags via = TERN_BY_RMA; via <= TERN_BY_CALL; via *= 2) {
        EXPECT(TERN_ERR_EMPTY, tern_distributed_queue_try_pop(f.worker, queue, &item, via));
        EXPECT_DETAIL("parts");
    }
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
    if (!fixture_open(&f, NULL))
        return;
    enum { ITEMS = 10 };
    for (tern_flags way = TERN_BY_RMA; way <= TERN_BY_CALL; way *= 2) {
        tern_flags via = way;
        tern_distributed_queue *queue = make(&f, ITEMS);
        uint64_t items[ITEMS] = {0}, size = 0;
        size_t popped = 0;
        for (uint64_t i = 0; f.rank == 0 && i < ITEMS; i++)
            EXPECT_OK(tern_queue_try_push(f.worker, part(queue, 0), &i, via));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_distributed_queue_size(f.worker, queue, &size));
        CU_ASSERT_EQUAL(size, ITEMS);
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t next = 0; f.rank == f.size - 1 && next < ITEMS; next += popped) {
            uint64_t left = ITEMS - next;
            EXPECT_OK(tern_distributed_queue_pop_many(f.worker, queue, items, ITEMS, via, &popped));
            CU_ASSERT_EQUAL(popped, f.size == 1 ? left : (left + 1) / 2);
            for (uint64_t i = 0; i < popped; i++)
                CU_ASSERT_EQUAL(items[i], next + i);
            if (popped == 0)
                break;
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT(TERN_ERR_EMPTY, tern_distributed_queue_try_pop(f.worker, queue, items, via));
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
        tern_status status =
            tern_queue_try_push(t->f->worker, part(t->queue, rank), &below_it, any_via(&t->random));
        if (status == TERN_OK)
            continue;
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        grow(t, below_it);
        EXPECT_OK(tern_atomic_fetch_add(t->f->worker, t->waiting, UINT64_MAX, NULL));
    }
}

static void everybody_steals(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
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
            tern_distributed_queue_pop_many(f.worker, t.queue, tasks, 3, any_via(&t.random), &got);
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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"half_is_stolen", half_is_stolen},
        {"everybody_steals", everybody_steals},
    };
    return tern_test_main(argc, argv, "distributed_queue", tests, 3);
}
