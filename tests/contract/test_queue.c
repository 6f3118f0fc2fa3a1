// tern-test: transports

/*
 * Queue: options and arguments, limits, order, and everything at once: each item out exactly once,
 * in its producer's order, whole. What it costs is in test_queue_cost.c.
 */

#include "queue_tools.h"

static tern_queue *make(fixture *f, uint32_t host, size_t item_bytes, uint64_t capacity,
                        int call_only) {
    return make_queue(f, (tern_queue_options){.host = host,
                                              .item_bytes = item_bytes,
                                              .capacity = capacity,
                                              .call_only = call_only});
}

static void options_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const struct {
        tern_queue_options options;
        tern_status status;
        const char *named;
    } bad[] = {
        {{.host = f.size, .item_bytes = 8, .capacity = 1}, TERN_ERR_ARGUMENT, "host"},
        {{.item_bytes = 0, .capacity = 1}, TERN_ERR_ARGUMENT, "item_bytes"},
        {{.item_bytes = 65537, .capacity = 1}, TERN_ERR_ARGUMENT, "item_bytes"},
        {{.item_bytes = 8, .capacity = 0}, TERN_ERR_ARGUMENT, "capacity"},
        {{.item_bytes = 8, .capacity = 1, .call_only = 2}, TERN_ERR_ARGUMENT, "call_only"},
        {{.item_bytes = 1025, .capacity = 1, .call_only = 1}, TERN_ERR_UNSUPPORTED, "call_only"},
        {{.item_bytes = 8, .capacity = (uint64_t)1 << 40}, TERN_ERR_MEMORY, "TERN_SEGMENT_SIZE"},
        {{.item_bytes = 65536, .capacity = UINT64_MAX}, TERN_ERR_MEMORY, "TERN_SEGMENT_SIZE"},
    };
    tern_queue *queue = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        EXPECT(bad[i].status, tern_queue_create(f.worker, &bad[i].options, &queue));
        EXPECT_DETAIL(bad[i].named);
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_create(f.worker, NULL, &queue));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_create(NULL, &bad[0].options, &queue));
    if (f.size > 1) {
        const tern_queue_options usual = {.item_bytes = 8, .capacity = 8};
        tern_queue_options other[] = {usual, usual, usual, usual};
        other[0].host = 1;
        other[1].item_bytes = 9;
        other[2].capacity = 9;
        other[3].call_only = 1;
        for (size_t i = 0; i < 4; i++) {
            EXPECT(TERN_ERR_MISMATCH,
                   tern_queue_create(f.worker, f.rank == f.size - 1 ? &other[i] : &usual, &queue));
            EXPECT_DETAIL("tern_queue_create");
        }
    }
    CU_ASSERT_PTR_NULL(queue);
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    CU_ASSERT_EQUAL(info.in_use, 0);
    EXPECT_OK(tern_queue_destroy(f.worker, NULL));
    fixture_close(&f);
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_queue *queue = make(&f, 0, 8, 4, 0), *calls = make(&f, 0, 8, 4, 1);
    tern_queue *large = make(&f, 0, 65536, 2, 0);
    const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;
    static char big[65536];
    uint64_t item = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_push(NULL, queue, &item, rma));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_push(f.worker, NULL, &item, rma));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_push(f.worker, queue, NULL, rma));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_pop(f.worker, queue, NULL, rma));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_push(f.worker, queue, &item, TERN_READ_ONLY | rma));
    EXPECT_DETAIL("TERN_READ_ONLY");
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_pop(f.worker, queue, &item, TERN_WRITE_ONLY | call));
    EXPECT_DETAIL("TERN_WRITE_ONLY");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_queue_try_pop(f.worker, queue, &item, TERN_READ_ONLY | TERN_LOCAL));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_try_pop(f.worker, queue, &item, 1u << 20));
    EXPECT_DETAIL("0x100000");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_try_push(f.worker, calls, &item, rma));
    EXPECT_DETAIL("TERN_BY_CALL");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_try_pop(f.worker, calls, &item, rma));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_try_push(f.worker, large, big, call));
    EXPECT_DETAIL("TERN_RING_SIZE");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_try_pop(f.worker, large, big, call));
    EXPECT_DETAIL("TERN_BY_RMA");
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f.worker, queue, &item, rma));
    EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(f.worker, queue, &item, call));
    size_t done = 9;
    EXPECT(TERN_ERR_EMPTY, tern_queue_pop_many(f.worker, queue, &item, 1, rma, &done));
    CU_ASSERT_EQUAL(item, 77);
    CU_ASSERT_EQUAL(done, 0);
    EXPECT_OK(tern_queue_push_many(f.worker, queue, NULL, 0, rma, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_many(f.worker, queue, NULL, 1, rma, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_many(f.worker, queue, &item, 1, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_many(f.worker, NULL, &item, 1, rma, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_timed(f.worker, queue, &item, -1, rma));
    EXPECT_DETAIL("seconds");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_queue_push_timed(f.worker, queue, &item, strtod("nan", NULL), rma));
    EXPECT(f.rank == 0 ? TERN_ERR_EMPTY : TERN_ERR_ARGUMENT,
           tern_queue_pop(f.worker, queue, &item, TERN_LOCAL | rma));
    EXPECT_DETAIL(f.rank == 0 ? "empty" : "rank 0");
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_size(f.worker, queue, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_queue_destroy(f.worker, calls));
    EXPECT_OK(tern_queue_destroy(f.worker, large));
    fixture_close(&f);
}

/* One rank at a time against a model: full and empty are exact, order is kept, over many laps. */
static void against_a_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    static const struct {
        size_t item_bytes;
        uint64_t capacity;
    } shapes[] = {{8, 1}, {8, 2}, {1, 3}, {20, 7}, {1000, 64}, {8, 100}, {65536, 5}};
    static unsigned char item[65536], got[65536], wanted[65536];
    const int times = fixture_times(&f, 1200);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        size_t bytes = shapes[s].item_bytes;
        uint64_t capacity = shapes[s].capacity;
        tern_queue *queue = make(&f, (uint32_t)(s % f.size), bytes, capacity, 0);
        uint64_t random = fixture_seed(&f, s);
        uint32_t pushed = 0, popped = 0;
        uint32_t actor = (uint32_t)((s + 1) % f.size);
        for (int i = 0; i < times && f.rank == actor; i++) {
            tern_flags via = bytes > 1000 ? TERN_BY_RMA : any_via(&random);
            bool fill = below(&random, 8) < (i / 30 % 2 ? 6 : 2);
            if (fill) {
                make_item(item, bytes, 0, pushed);
                bool full = pushed - popped == capacity;
                EXPECT(full ? TERN_ERR_FULL : TERN_OK,
                       tern_queue_try_push(f.worker, queue, item, via));
                pushed += !full;
            } else {
                bool empty = pushed == popped;
                EXPECT(empty ? TERN_ERR_EMPTY : TERN_OK,
                       tern_queue_try_pop(f.worker, queue, got, via));
                if (empty)
                    continue;
                make_item(wanted, bytes, 0, popped++);
                CU_ASSERT(memcmp(got, wanted, bytes) == 0);
            }
            uint64_t size = 999;
            EXPECT_OK(tern_queue_size(f.worker, queue, &size));
            CU_ASSERT_EQUAL(size, pushed - popped);
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* All ranks fill it in a phase of pushes, then empty it in a phase of pops; several times over. */
static void phases(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { CAPACITY = 50, ROUNDS = 4 };
    tern_queue *queue = make(&f, f.size - 1, 24, CAPACITY, 0);
    uint64_t random = fixture_seed(&f, 50);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t item[3], mine[2] = {0, 0}, all[64][2], size = 0;
        tern_flags writes = round % 2 ? TERN_READ_WRITE : TERN_WRITE_ONLY;
        tern_flags reads = round % 2 ? TERN_READ_WRITE : TERN_READ_ONLY;
        tern_status status = TERN_OK;
        for (uint32_t i = 0; status == TERN_OK; i++) {
            make_item(item, 24, f.rank, round * 1000 + i);
            status = tern_queue_try_push(f.worker, queue, item, writes | any_via(&random));
            mine[0] += status == TERN_OK;
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_size(f.worker, queue, &size));
        CU_ASSERT_EQUAL(size, CAPACITY);
        EXPECT_OK(tern_barrier(f.worker));
        uint64_t next[64] = {0};
        while ((status = tern_queue_try_pop(f.worker, queue, item, reads | any_via(&random))) ==
               TERN_OK) {
            uint32_t producer, number;
            CU_ASSERT(read_item(item, 24, &producer, &number));
            CU_ASSERT(producer < f.size && number / 1000 == round && number >= next[producer]);
            next[producer % 64] = number + 1;
            mine[1]++;
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_EMPTY);
        fixture_share(&f, mine, sizeof mine, all);
        uint64_t in = 0, out = 0;
        for (uint32_t r = 0; r < f.size; r++) {
            in += all[r][0];
            out += all[r][1];
        }
        CU_ASSERT_EQUAL(in, CAPACITY);
        CU_ASSERT_EQUAL(out, CAPACITY);
    }
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* Every rank pushes and pops at random. Each pops of one producer in the producer's order; all
 * together every item once. */
static void everybody_at_once(uint64_t capacity, size_t bytes, int call_only, int times) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { MOST = 1 << 16 };
    const uint32_t each = (uint32_t)fixture_times(&f, times);
    tern_queue *queue = make(&f, (uint32_t)(capacity % f.size), bytes, capacity, call_only);
    uint64_t random = fixture_seed(&f, capacity);
    unsigned char item[256], *seen = calloc(f.size, MOST);
    uint32_t next[64] = {0}, pushed = 0;
    uint64_t popped = 0, disorder = 0, broken = 0;
    CU_ASSERT_FATAL(each < MOST);
    EXPECT_OK(tern_barrier(f.worker));
    /* The last rank also empties the queue in the end: all are told how much is left by counting.
     */
    uint64_t total = (uint64_t)each * f.size;
    tern_ptr counter = TERN_NULL, places[64];
    EXPECT_OK(tern_alloc(f.worker, 64, 0, TERN_DOMAIN_GLOBAL, &counter));
    if (f.rank == 0)
        EXPECT_OK(tern_atomic_store(f.worker, counter, 0));
    fixture_share(&f, &counter, sizeof counter, places);
    for (uint64_t done = 0; done < total;) {
        tern_flags via = call_only ? TERN_BY_CALL : any_via(&random);
        if (pushed < each && below(&random, 2)) {
            make_item(item, bytes, f.rank, pushed);
            tern_status status = tern_queue_try_push(f.worker, queue, item, via);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
            pushed += status == TERN_OK;
            if (status != TERN_ERR_FULL)
                continue;
        }
        tern_status status = tern_queue_try_pop(f.worker, queue, item, via);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
        if (status == TERN_OK) {
            uint32_t producer = 0, number = 0;
            bool whole =
                read_item(item, bytes, &producer, &number) && producer < f.size && number < each;
            broken += !whole;
            if (whole) {
                disorder += number < next[producer];
                next[producer] = number + 1;
                seen[(size_t)producer * MOST + number]++;
            }
            popped++;
            EXPECT_OK(tern_atomic_fetch_add(f.worker, places[0], 1, NULL));
        }
        if (pushed == each)
            EXPECT_OK(tern_atomic_load(f.worker, places[0], &done));
    }
    CU_ASSERT_EQUAL(broken, 0);
    CU_ASSERT_EQUAL(disorder, 0);
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t wrong = 0;
    tern_mpi_lock();
    MPI_Allreduce(MPI_IN_PLACE, seen, (int)(f.size * MOST), MPI_UNSIGNED_CHAR, MPI_SUM,
                  MPI_COMM_WORLD);
    tern_mpi_unlock();
    for (uint32_t r = 0; r < f.size; r++)
        for (uint32_t i = 0; i < each; i++)
            wrong += seen[(size_t)r * MOST + i] != 1;
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT(TERN_ERR_EMPTY,
           tern_queue_try_pop(f.worker, queue, item, TERN_READ_ONLY | TERN_BY_CALL));
    free(seen);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_free(f.worker, counter));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

static void everybody_through_one_slot(void) { everybody_at_once(1, 8, 0, 600); }

static void everybody_through_a_few_slots(void) { everybody_at_once(3, 40, 0, 1000); }

static void everybody_with_room(void) { everybody_at_once(1000, 200, 0, 1500); }

static void everybody_by_call(void) { everybody_at_once(5, 16, 1, 400); }

/* One producer, one consumer, each by its own way: the consumer sees the exact sequence. */
static void one_to_one(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const int count = fixture_times(&f, 800);
    uint32_t consumer = f.size - 1;
    for (int way = 0; way < 4; way++) {
        tern_queue *queue = make(&f, consumer / 2, 16, 10, 0);
        tern_flags in = way & 1 ? TERN_BY_CALL : TERN_BY_RMA;
        tern_flags out = way & 2 ? TERN_BY_CALL : TERN_BY_RMA;
        uint64_t item[2], wrong = 0;
        int pushed = f.rank == 0 ? 0 : count, popped = f.rank == consumer ? 0 : count;
        while (pushed < count || popped < count) {
            tern_progress(f.worker); /* for the other's calls */
            if (pushed < count) {
                make_item(item, 16, 0, (uint32_t)pushed);
                tern_status status = tern_queue_try_push(f.worker, queue, item, in);
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
                pushed += status == TERN_OK;
            }
            if (popped < count) {
                tern_status status = tern_queue_try_pop(f.worker, queue, item, out);
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
                uint32_t producer, number;
                if (status == TERN_OK) {
                    wrong += !read_item(item, 16, &producer, &number) || number != (uint32_t)popped;
                    popped++;
                }
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"options_are_checked", options_are_checked},
        {"arguments_are_checked", arguments_are_checked},
        {"against_a_model", against_a_model},
        {"phases", phases},
        {"everybody_through_one_slot", everybody_through_one_slot},
        {"everybody_through_a_few_slots", everybody_through_a_few_slots},
        {"everybody_with_room", everybody_with_room},
        {"everybody_by_call", everybody_by_call},
        {"one_to_one", one_to_one},
    };
    return tern_test_main(argc, argv, "queue", tests, sizeof tests / sizeof tests[0]);
}
