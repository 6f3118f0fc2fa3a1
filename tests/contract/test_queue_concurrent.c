// tern-test: transports

/*
 * Queue, everybody at once: in phases, waiting for each other, in batches; each item out exactly
 * once, in its producer's order, whole.
 */

#include "queue_tools.h"

enum { BATCH = 9 };

static const struct {
    size_t item_bytes;
    uint64_t capacity;
} shapes[] = {{8, 1}, {24, 3}, {9, 64}, {600, 12}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static tern_queue *shaped(fixture *f, size_t shape) {
    return make_queue(f, (tern_queue_options){.host = (uint32_t)(shape % f->size),
                                              .item_bytes = shapes[shape].item_bytes,
                                              .capacity = shapes[shape].capacity});
}

static tern_queue *make(fixture *f, uint32_t host, size_t item_bytes, uint64_t capacity,
                        int call_only) {
    return make_queue(f, (tern_queue_options){.host = host,
                                              .item_bytes = item_bytes,
                                              .capacity = capacity,
                                              .call_only = call_only});
}

/* Everybody fills it, everybody empties it, in phases and not, by tickets, tries and batches. */
static void fill_and_empty(fixture *f, size_t shape) {
    const size_t bytes = shapes[shape].item_bytes;
    const uint64_t capacity = shapes[shape].capacity;
    tern_queue *queue = shaped(f, shape);
    uint64_t random = fixture_seed(f, shape);
    queue_book pushed = {{0}, 0, 0, 0}, popped = {{0}, 0, 0, 0};
    static unsigned char item[1024];
    uint32_t number = 0;
    for (int round = 0; round < 4; round++) {
        bool phase = round % 3 != 2;
        tern_flags writes = phase ? TERN_WRITE_ONLY : TERN_READ_WRITE;
        tern_flags reads = phase ? TERN_READ_ONLY : TERN_READ_WRITE;
        tern_status status;
        for (;; number++) {
            make_item(item, bytes, f->rank, number);
            status = phase && below(&random, 2)
                         ? tern_queue_push(f->worker, queue, item, writes | any_path(&random))
                         : tern_queue_try_push(f->worker, queue, item, writes | any_path(&random));
            if (status != TERN_OK)
                break;
            note_push(&pushed, f->rank, number);
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        EXPECT_OK(tern_barrier(f->worker));
        uint64_t size = 0;
        EXPECT_OK(tern_queue_size(f->worker, queue, &size));
        CU_ASSERT_EQUAL(size, capacity);
        EXPECT_OK(tern_barrier(f->worker));
        for (;;) {
            status = phase && below(&random, 2)
                         ? tern_queue_pop(f->worker, queue, item, reads | any_path(&random))
                         : tern_queue_try_pop(f->worker, queue, item, reads | any_path(&random));
            if (status != TERN_OK)
                break;
            enter(&popped, item, bytes, 1);
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_EMPTY);
        balance(f, &pushed, &popped);
    }
    EXPECT_OK(tern_queue_destroy(f->worker, queue));
}

static void phases(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (size_t s = 0; s < SHAPES; s++)
        fill_and_empty(&f, s);
    fixture_close(&f);
}

/* Serves the others until all ranks are here. No barrier of tern's, which ends a phase. */
static void meet(fixture *f) {
    MPI_Request request;
    tern_mpi_lock();
    MPI_Ibarrier(f->comm, &request);
    tern_mpi_unlock();
    EXPECT_OK(tern_mpi_wait(f->worker, &request, MPI_STATUS_IGNORE));
}

/* The ranks end a phase of pops one after the other, the one with the last ticket first: each lets
 * the next one into tern_barrier once it has gone some rounds in there itself. */
static struct {
    int rounds; /* in tern_barrier, before the next rank is let in; 0: it has been */
    bool in;    /* this rank's turn */
} turn;

static tern_status take_turn(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    turn.in = true;
    return TERN_OK;
}
TERN_FUNCTION(take_turn)

static size_t pass_turn(tern_worker *worker, void *argument) {
    const fixture *f = argument;
    if (!turn.in || turn.rounds == 0 || --turn.rounds > 0 || f->rank == 0)
        return 0;
    const tern_worker_id next = {.rank = f->rank - 1};
    if (tern_call_try(worker, next, &take_turn_function, NULL, 0) != TERN_OK)
        turn.rounds = 1;
    return 1;
}

static void end_phase_in_turn(fixture *f) {
    meet(f);
    turn.rounds = 200;
    turn.in = f->rank == f->size - 1;
    meet(f);
    while (!turn.in)
        tern_progress(f->worker);
    EXPECT_OK(tern_progress_hook_add(f->context, pass_turn, f));
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_progress_hook_remove(f->context, pass_turn, f));
}

/* All slots are free then. */
static void end_in_turn(fixture *f, size_t shape) {
    const size_t bytes = shapes[shape].item_bytes;
    const uint64_t capacity = shapes[shape].capacity, last = f->size - 1;
    tern_queue *queue = shaped(f, shape);
    unsigned char item[1024];
    make_item(item, bytes, 0, 0);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; f->rank == 0 && i < capacity; i++)
            EXPECT_OK(tern_queue_push(f->worker, queue, item, TERN_WRITE_ONLY));
        EXPECT_OK(tern_barrier(f->worker));
        for (uint64_t r = 0; r <= last; meet(f), r++)
            for (uint64_t i = r * capacity / f->size;
                 f->rank == r && i < (r + 1) * capacity / f->size; i++)
                EXPECT_OK(tern_queue_pop(f->worker, queue, item, TERN_READ_ONLY | TERN_BY_RMA));
        end_phase_in_turn(f);
        for (uint64_t i = 0; f->rank == last && i < capacity; i++)
            EXPECT_OK(tern_queue_try_push(f->worker, queue, item, TERN_BY_RMA));
        EXPECT_OK(tern_barrier(f->worker));
        for (uint64_t i = 0; f->rank == 0 && i < capacity; i++)
            EXPECT_OK(tern_queue_try_pop(f->worker, queue, item, TERN_BY_RMA));
        EXPECT_OK(tern_barrier(f->worker));
    }
    EXPECT_OK(tern_queue_destroy(f->worker, queue));
}

static void ends_of_a_phase(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (size_t s = 0; s < SHAPES; s++)
        end_in_turn(&f, s);
    fixture_close(&f);
}

/* Half of the ranks push, half pop, and wait for each other; one rank alone does both. */
static void produce_and_consume(fixture *f, size_t shape, bool batches) {
    const size_t bytes = shapes[shape].item_bytes;
    tern_queue *queue = shaped(f, shape);
    uint64_t random = fixture_seed(f, shape);
    const uint32_t each = (uint32_t)fixture_times(f, batches ? 400 : 200), pairs = f->size / 2;
    bool produces = f->rank < (f->size + 1) / 2 && (f->rank < pairs || f->size == 1);
    bool consumes = f->size == 1 || (f->rank >= pairs && f->rank < 2 * pairs);
    uint32_t in = produces ? 0 : each, out = consumes ? 0 : each;
    static unsigned char items[BATCH * 1024];
    queue_book pushed = {{0}, 0, 0, 0}, popped = {{0}, 0, 0, 0};
    while (in < each || out < each) {
        size_t most = batches ? 1 + (size_t)below(&random, BATCH) : 1, done = 1;
        tern_status status = TERN_OK;
        if (in < each) {
            most = most < each - in ? most : each - in;
            for (uint32_t i = 0; i < most; i++)
                make_item(items + i * bytes, bytes, f->rank, in + i);
            status = batches ? tern_queue_push_many(f->worker, queue, items, most,
                                                    any_path(&random), &done)
                             : tern_queue_push(f->worker, queue, items, any_path(&random));
            CU_ASSERT(status == TERN_OK || (batches && status == TERN_ERR_FULL));
            for (uint32_t i = 0; status == TERN_OK && i < done; i++)
                note_push(&pushed, f->rank, in++);
        }
        if (out < each) {
            most = most < each - out ? most : each - out;
            status = batches ? tern_queue_pop_many(f->worker, queue, items, most, any_path(&random),
                                                   &done)
                     : below(&random, 2)
                         ? tern_queue_pop(f->worker, queue, items, any_path(&random))
                         : tern_queue_pop_timed(f->worker, queue, items, 20, any_path(&random));
            CU_ASSERT(status == TERN_OK || (batches && status == TERN_ERR_EMPTY));
            if (status == TERN_OK) {
                enter(&popped, items, bytes, done);
                out += (uint32_t)done;
            }
        }
        if (status != TERN_OK)
            tern_progress(f->worker);
    }
    balance(f, &pushed, &popped);
    EXPECT_OK(tern_queue_destroy(f->worker, queue));
}

static void producers_and_consumers(bool batches) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (size_t s = 0; s < SHAPES; s++)
        produce_and_consume(&f, s, batches);
    fixture_close(&f);
}

static void waiting_for_each_other(void) { producers_and_consumers(false); }

static void in_batches(void) { producers_and_consumers(true); }

/* Every rank pushes and pops at random. Each pops of one producer in the producer's order; all
 * together every item once. */
static void everybody_at_once(uint64_t capacity, size_t bytes, int call_only, int times) {
    fixture f;
    if (!fixture_enter(&f))
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
        tern_flags path = call_only ? TERN_BY_CALL : any_path(&random);
        if (pushed < each && below(&random, 2)) {
            make_item(item, bytes, f.rank, pushed);
            tern_status status = tern_queue_try_push(f.worker, queue, item, path);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
            pushed += status == TERN_OK;
            if (status != TERN_ERR_FULL)
                continue;
        }
        tern_status status = tern_queue_try_pop(f.worker, queue, item, path);
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

static void everybody_by_call(void) { everybody_at_once(5, 16, 1, 400); }

/* One producer, one consumer, each by its own path: the consumer sees the exact sequence. */
static void one_to_one(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const int count = fixture_times(&f, 800);
    uint32_t consumer = f.size - 1;
    for (int p = 0; p < 4; p++) {
        tern_queue *queue = make(&f, consumer / 2, 16, 10, 0);
        tern_flags in = p & 1 ? TERN_BY_CALL : TERN_BY_RMA;
        tern_flags out = p & 2 ? TERN_BY_CALL : TERN_BY_RMA;
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
        {"phases", phases},
        {"ends_of_a_phase", ends_of_a_phase},
        {"waiting_for_each_other", waiting_for_each_other},
        {"in_batches", in_batches},
        {"everybody_through_one_slot", everybody_through_one_slot},
        {"everybody_through_a_few_slots", everybody_through_a_few_slots},
        {"everybody_by_call", everybody_by_call},
        {"one_to_one", one_to_one},
    };
    return tern_test_main(argc, argv, "queue_concurrent", tests, sizeof tests / sizeof tests[0]);
}
