// tern-test: transports

/*
 * Queue, every way to use it: against a model, in phases, waiting, with
 * deadlines, in batches; many producers and consumers.
 */

#include "queue/ticket.h"
#include "queue_tools.h"

#define RW TERN_READ_WRITE

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

/* What is in the queue: the numbers from popped up to pushed, of producer 0. */
typedef struct model {
    tern_queue *queue;
    size_t bytes;
    uint64_t capacity;
    uint32_t pushed, popped;
} model;

static void push_one_way(fixture *f, model *m, tern_flags promise, uint64_t *random) {
    static unsigned char items[BATCH * 1024];
    uint64_t room = m->capacity - (m->pushed - m->popped);
    size_t count = 1, wanted = 1, done = 1;
    const tern_flags flags = promise | any_via(random);
    tern_status status = TERN_OK, full = TERN_ERR_FULL;
    for (uint32_t i = 0; i < BATCH; i++)
        make_item(items + i * m->bytes, m->bytes, 0, m->pushed + i);
    switch (below(random, 4)) {
    case 0:
        status = tern_queue_try_push(f->worker, m->queue, items, flags);
        break;
    case 1:
        if (room == 0 && promise == RW)
            return; /* it would wait */
        status = tern_queue_push(f->worker, m->queue, items, flags);
        break;
    case 2:
        status = tern_queue_push_timed(f->worker, m->queue, items, 0, flags);
        full = promise == RW ? TERN_ERR_TIMEOUT : TERN_ERR_FULL;
        break;
    default:
        wanted = 1 + (size_t)below(random, BATCH);
        status = tern_queue_push_many(f->worker, m->queue, items, wanted, flags, &done);
        break;
    }
    count = room < wanted ? (size_t)room : wanted;
    EXPECT(room == 0 ? full : TERN_OK, status);
    if (room > 0)
        CU_ASSERT_EQUAL(done, count);
    m->pushed += (uint32_t)count;
}

static void pop_one_way(fixture *f, model *m, tern_flags promise, uint64_t *random) {
    static unsigned char items[BATCH * 1024], wanted[1024];
    uint32_t there = m->pushed - m->popped;
    size_t most = 1, done = 1;
    const tern_flags flags = promise | any_via(random);
    tern_status status = TERN_OK, empty = TERN_ERR_EMPTY;
    switch (below(random, 4)) {
    case 0:
        status = tern_queue_try_pop(f->worker, m->queue, items, flags);
        break;
    case 1:
        if (there == 0 && promise == RW)
            return;
        status = tern_queue_pop(f->worker, m->queue, items, flags);
        break;
    case 2:
        status = tern_queue_pop_timed(f->worker, m->queue, items, 0, flags);
        empty = promise == RW ? TERN_ERR_TIMEOUT : TERN_ERR_EMPTY;
        break;
    default:
        most = 1 + (size_t)below(random, BATCH);
        status = tern_queue_pop_many(f->worker, m->queue, items, most, flags, &done);
        break;
    }
    EXPECT(there == 0 ? empty : TERN_OK, status);
    if (there == 0)
        return;
    CU_ASSERT_EQUAL(done, there < most ? there : most);
    for (size_t i = 0; i < done; i++) {
        make_item(wanted, m->bytes, 0, m->popped++);
        CU_ASSERT(memcmp(items + i * m->bytes, wanted, m->bytes) == 0);
    }
}

/* One rank acts, in phases of all kinds; then the next does. */
static void act(fixture *f, model *m, uint32_t turn, int times, uint64_t *random) {
    static const tern_flags kinds[] = {TERN_READ_WRITE, TERN_WRITE_ONLY, TERN_READ_ONLY,
                                       TERN_LOCAL};
    tern_flags promise = kinds[below(random, 4)];
    if (promise == TERN_LOCAL && turn % f->size != m->capacity % f->size)
        promise = TERN_READ_WRITE;
    for (int i = 0; i < times; i++) {
        bool fill = below(random, 8) < (turn % 3 ? 5 : 3);
        if (promise == TERN_WRITE_ONLY || (fill && promise != TERN_READ_ONLY))
            push_one_way(f, m, promise, random);
        else
            pop_one_way(f, m, promise, random);
        uint64_t size = 999;
        EXPECT_OK(tern_queue_size(f->worker, m->queue, &size));
        CU_ASSERT_EQUAL(size, m->pushed - m->popped);
    }
}

static void against_a_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const int times = fixture_times(&f, 240) / 4;
    for (size_t s = 0; s < SHAPES; s++) {
        /* The same numbers everywhere. */
        uint64_t random = tern_test_seed() * 31 + s;
        uint64_t capacity = shapes[s].capacity;
        tern_queue *queue =
            make_queue(&f, (tern_queue_options){.host = (uint32_t)(capacity % f.size),
                                                .item_bytes = shapes[s].item_bytes,
                                                .capacity = capacity});
        model m = {queue, shapes[s].item_bytes, capacity, 0, 0}, all[64];
        for (uint32_t turn = 0; turn < 6; turn++) {
            uint64_t mine = random + turn;
            if (f.rank == turn % f.size)
                act(&f, &m, turn, times, &mine);
            fixture_share(&f, &m, sizeof m, all);
            m.pushed = all[turn % f.size].pushed;
            m.popped = all[turn % f.size].popped;
        }
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
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
    for (int round = 0; round < 6; round++) {
        bool phase = round % 3 != 2;
        tern_flags writes = phase ? TERN_WRITE_ONLY : TERN_READ_WRITE;
        tern_flags reads = phase ? TERN_READ_ONLY : TERN_READ_WRITE;
        tern_status status;
        for (;; number++) {
            make_item(item, bytes, f->rank, number);
            status = phase && below(&random, 2)
                         ? tern_queue_push(f->worker, queue, item, writes | any_via(&random))
                         : tern_queue_try_push(f->worker, queue, item, writes | any_via(&random));
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
                         ? tern_queue_pop(f->worker, queue, item, reads | any_via(&random))
                         : tern_queue_try_pop(f->worker, queue, item, reads | any_via(&random));
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
    if (!fixture_open(&f, NULL))
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

/* The ranks end a phase of pops one after the other, the one with the last ticket first. All slots
 * are free then. */
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
        for (uint64_t r = 0; r <= last; meet(f), r++)
            if (f->rank == last - r)
                EXPECT_OK(tern_queue_settle(f->worker, queue));
        EXPECT_OK(tern_barrier(f->worker));
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
    if (!fixture_open(&f, NULL))
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
            status = batches ? tern_queue_push_many(f->worker, queue, items, most, any_via(&random),
                                                    &done)
                             : tern_queue_push(f->worker, queue, items, any_via(&random));
            CU_ASSERT(status == TERN_OK || (batches && status == TERN_ERR_FULL));
            for (uint32_t i = 0; status == TERN_OK && i < done; i++)
                note_push(&pushed, f->rank, in++);
        }
        if (out < each) {
            most = most < each - out ? most : each - out;
            status = batches ? tern_queue_pop_many(f->worker, queue, items, most, any_via(&random),
                                                   &done)
                     : below(&random, 2)
                         ? tern_queue_pop(f->worker, queue, items, any_via(&random))
                         : tern_queue_pop_timed(f->worker, queue, items, 20, any_via(&random));
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
    if (!fixture_open(&f, NULL))
        return;
    for (size_t s = 0; s < SHAPES; s++)
        produce_and_consume(&f, s, batches);
    fixture_close(&f);
}

static void waiting_for_each_other(void) { producers_and_consumers(false); }

static void in_batches(void) { producers_and_consumers(true); }

/* A rank that gives up leaves no trace: the next one finds the queue as it was. */
static void deadlines(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (tern_flags via = TERN_BY_RMA; via <= TERN_BY_CALL; via *= 2) {
        tern_queue *queue = make_queue(&f, (tern_queue_options){.item_bytes = 8, .capacity = 2});
        uint64_t item = 5, size = 9;
        double start = MPI_Wtime();
        EXPECT(TERN_ERR_TIMEOUT, tern_queue_pop_timed(f.worker, queue, &item, 0.02, via));
        CU_ASSERT(MPI_Wtime() - start >= 0.0199);
        CU_ASSERT_EQUAL(item, 5);
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == f.size - 1)
            for (item = 0; item < 2; item++)
                EXPECT_OK(tern_queue_push_timed(f.worker, queue, &item, 5, via));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT(TERN_ERR_TIMEOUT, tern_queue_push_timed(f.worker, queue, &item, 0.02, via));
        EXPECT_DETAIL("tern_queue_push_timed");
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_size(f.worker, queue, &size));
        CU_ASSERT_EQUAL(size, 2);
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t i = 0; f.rank == 0 && i < 2; i++) {
            EXPECT_OK(tern_queue_pop_timed(f.worker, queue, &item, 5, via));
            CU_ASSERT_EQUAL(item, i);
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"against_a_model", against_a_model}, {"phases", phases},
        {"ends_of_a_phase", ends_of_a_phase}, {"waiting_for_each_other", waiting_for_each_other},
        {"in_batches", in_batches},           {"deadlines", deadlines},
    };
    return tern_test_main(argc, argv, "queue_ways", tests, sizeof tests / sizeof tests[0]);
}
