// tern-test: transports

/*
 * Queue, one rank at a time: options and arguments, every operation against a model, limits, time
 * limits, handlers. test_queue_concurrent.c lets many ranks work at once, and
 * test_queue_cost.c counts the costs.
 */

#include "nothing.h"
#include "queue_tools.h"

#define RW TERN_READ_WRITE

static tern_queue *make(fixture *f, uint32_t host, size_t item_bytes, uint64_t capacity,
                        int call_only) {
    return make_queue(f, (tern_queue_options){.host = host,
                                              .item_bytes = item_bytes,
                                              .capacity = capacity,
                                              .call_only = call_only});
}

static void options_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
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
    tern_segment_info before, info;
    tern_segment_get_info(f.context, &before);
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
    tern_segment_get_info(f.context, &info);
    CU_ASSERT_EQUAL(info.in_use, before.in_use);
    EXPECT_OK(tern_queue_destroy(f.worker, NULL));
    fixture_close(&f);
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
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
    char text[512];
    size_t done = 9, bytes = 0;
    EXPECT_OK(tern_queue_explain(f.worker, queue, text, sizeof text, &bytes));
    CU_ASSERT(bytes == strlen(text) && strstr(text, "push: ") != NULL);
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_explain(f.worker, queue, NULL, 1, NULL));
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

/* The queue holds the items from popped up to pushed, of producer 0. */
typedef struct model {
    tern_queue *queue;
    size_t bytes;
    uint64_t capacity;
    uint32_t pushed, popped;
} model;

enum { BATCH = 9, LARGEST = 65536, MARGIN = 16 };

/* A large item is pushed and popped by RMA alone. */
static tern_flags model_path(const model *m, uint64_t *random) {
    return m->bytes > TERN_RESULT_MAX ? TERN_BY_RMA : any_path(random);
}

static void push_somehow(fixture *f, model *m, tern_flags promise, uint64_t *random) {
    static unsigned char items[BATCH * LARGEST];
    uint64_t room = m->capacity - (m->pushed - m->popped);
    size_t count = 1, wanted = 1, done = 1;
    const tern_flags flags = promise | model_path(m, random);
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
        done = 77;
        status = tern_queue_push_many(f->worker, m->queue, items, wanted, flags, &done);
        break;
    }
    count = room < wanted ? (size_t)room : wanted;
    EXPECT(room == 0 ? full : TERN_OK, status);
    CU_ASSERT(done == count || (room == 0 && done == 1));
    m->pushed += (uint32_t)count;
}

/* Nothing is written but the items that are popped. */
static void pop_somehow(fixture *f, model *m, tern_flags promise, uint64_t *random) {
    static unsigned char items[BATCH * LARGEST + MARGIN], wanted[BATCH * LARGEST + MARGIN];
    uint32_t there = m->pushed - m->popped;
    size_t most = 1, done = 1;
    const tern_flags flags = promise | model_path(m, random);
    tern_status status = TERN_OK, empty = TERN_ERR_EMPTY;
    const size_t room = BATCH * m->bytes + MARGIN;
    memset(items, 0xee, room);
    memset(wanted, 0xee, room);
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
        done = 77;
        status = tern_queue_pop_many(f->worker, m->queue, items, most, flags, &done);
        CU_ASSERT_EQUAL(done, there < most ? there : most);
        break;
    }
    EXPECT(there == 0 ? empty : TERN_OK, status);
    for (size_t i = 0; i < (there < most ? there : most); i++)
        make_item(wanted + i * m->bytes, m->bytes, 0, m->popped++);
    CU_ASSERT(memcmp(items, wanted, room) == 0);
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
            push_somehow(f, m, promise, random);
        else
            pop_somehow(f, m, promise, random);
        uint64_t size = 999;
        EXPECT_OK(tern_queue_size(f->worker, m->queue, &size));
        CU_ASSERT_EQUAL(size, m->pushed - m->popped);
    }
}

static void against_a_model(void) {
    static const struct {
        size_t item_bytes;
        uint64_t capacity;
    } shapes[] = {{8, 1}, {24, 3}, {9, 64}, {600, 12}, {1, 3}, {20, 7}, {8, 100}, {LARGEST, 5}};
    fixture f;
    if (!fixture_enter(&f))
        return;
    const int usual = fixture_times(&f, 240) / 4;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        /* The same numbers everywhere. */
        uint64_t random = tern_test_seed() * 31 + s;
        uint64_t capacity = shapes[s].capacity;
        const int times = shapes[s].item_bytes < LARGEST ? usual : usual / 8 + 4;
        tern_queue *queue =
            make(&f, (uint32_t)(capacity % f.size), shapes[s].item_bytes, capacity, 0);
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

/* A rank that gives up leaves no trace: the next one finds the queue as it was. */
static void deadlines(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_queue *queue = make_queue(&f, (tern_queue_options){.item_bytes = 8, .capacity = 2});
        uint64_t item = 5, size = 9;
        double start = MPI_Wtime();
        EXPECT(TERN_ERR_TIMEOUT, tern_queue_pop_timed(f.worker, queue, &item, 0.02, path));
        CU_ASSERT(MPI_Wtime() - start >= 0.0199);
        CU_ASSERT_EQUAL(item, 5);
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == f.size - 1)
            for (item = 0; item < 2; item++)
                EXPECT_OK(tern_queue_push_timed(f.worker, queue, &item, 5, path));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT(TERN_ERR_TIMEOUT, tern_queue_push_timed(f.worker, queue, &item, 0.02, path));
        EXPECT_DETAIL("tern_queue_push_timed");
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_size(f.worker, queue, &size));
        CU_ASSERT_EQUAL(size, 2);
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t i = 0; f.rank == 0 && i < 2; i++) {
            EXPECT_OK(tern_queue_pop_timed(f.worker, queue, &item, 5, path));
            CU_ASSERT_EQUAL(item, i);
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* A batch takes what fits, in one piece: an item that other ranks push meanwhile is before it or
 * behind it. */
static void batches_stay_together(void) {
    enum { PIECE = 5, PIECES = 24 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_queue *queue = make(&f, f.size - 1, 8, (uint64_t)PIECE * PIECES * f.size, 0);
        uint64_t items[PIECE], last = UINT64_MAX, wrong = 0;
        size_t done = 0;
        EXPECT_OK(tern_barrier(f.worker));
        for (uint32_t p = 0; p < PIECES; p++) {
            for (uint32_t i = 0; i < PIECE; i++)
                make_item(&items[i], 8, f.rank, p * PIECE + i);
            EXPECT_OK(tern_queue_push_many(f.worker, queue, items, PIECE, path, &done));
            CU_ASSERT_EQUAL(done, PIECE);
        }
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t i = 0; f.rank == 0 && i < (uint64_t)PIECE * PIECES * f.size; i++) {
            EXPECT_OK(tern_queue_try_pop(f.worker, queue, items, path));
            wrong += i % PIECE != 0 && items[0] != last + 1;
            last = items[0];
        }
        CU_ASSERT_EQUAL(wrong, 0);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* All calls of the worker are under way: an operation by call says so and changes nothing. */
static void calls_may_all_be_held(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_queue *queue = make(&f, 0, 8, 4, 0);
    tern_request held[TERN_CALL_REQUESTS] = {0};
    uint64_t item = 77, size = 9;
    size_t done = 9;
    if (f.rank > 0) {
        const tern_flags call = TERN_BY_CALL;
        start_all_calls(&f, 0, held);
        EXPECT(TERN_ERR_AGAIN, tern_queue_push(f.worker, queue, &item, call));
        EXPECT(TERN_ERR_AGAIN, tern_queue_try_push(f.worker, queue, &item, call));
        EXPECT(TERN_ERR_AGAIN, tern_queue_push_timed(f.worker, queue, &item, 0, call));
        EXPECT(TERN_ERR_AGAIN, tern_queue_push_many(f.worker, queue, &item, 1, call, &done));
        CU_ASSERT_EQUAL(done, 0);
        EXPECT(TERN_ERR_AGAIN, tern_queue_pop(f.worker, queue, &item, call));
        EXPECT(TERN_ERR_AGAIN, tern_queue_try_pop(f.worker, queue, &item, call));
        EXPECT(TERN_ERR_AGAIN, tern_queue_pop_timed(f.worker, queue, &item, 0, call));
        EXPECT(TERN_ERR_AGAIN, tern_queue_pop_many(f.worker, queue, &item, 1, call, &done));
        CU_ASSERT(done == 0 && item == 77);
        wait_for_all_calls(&f, held);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_size(f.worker, queue, &size));
    CU_ASSERT_EQUAL(size, 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

static struct {
    tern_queue *queue; /* of capacity 2, at rank 0 */
    unsigned ran;
} handled;

/* Whether an operation by this path does what it does outside of handlers, except waiting. */
static bool works_in_handlers(tern_worker *w, tern_flags path) {
    tern_transport transport = TERN_P2P;
    const bool home = tern_worker_self(w).rank == 0;
    EXPECT_OK(tern_context_transport(tern_worker_context(w), 0, &transport));
    return home || (path == TERN_BY_RMA && transport == TERN_SHM);
}

static void expect_no_change(tern_worker *w, tern_flags path, tern_status wanted) {
    uint64_t item = 77;
    size_t done = 9;
    EXPECT(wanted, tern_queue_push(w, handled.queue, &item, path));
    EXPECT(wanted, tern_queue_try_push(w, handled.queue, &item, path));
    EXPECT(wanted, tern_queue_push_many(w, handled.queue, &item, 1, path, &done));
    EXPECT(wanted, tern_queue_pop(w, handled.queue, &item, path));
    EXPECT(wanted, tern_queue_try_pop(w, handled.queue, &item, path));
    EXPECT(wanted, tern_queue_pop_many(w, handled.queue, &item, 1, path, &done));
    CU_ASSERT(item == 77 && done == 0);
}

/* In a handler of each rank, in turn: two items in and out, and nothing where it would wait. */
static tern_status use_queue(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_worker *w = call->worker;
    (void)arguments, (void)bytes;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        uint64_t items[3] = {1, 2, 3};
        size_t done = 9;
        if (!works_in_handlers(w, path)) {
            expect_no_change(w, path, TERN_ERR_STATE);
            continue;
        }
        EXPECT(TERN_ERR_AGAIN, tern_queue_pop(w, handled.queue, items, path));
        EXPECT(TERN_ERR_EMPTY, tern_queue_try_pop(w, handled.queue, items, path));
        EXPECT_OK(tern_queue_push(w, handled.queue, &items[0], path));
        EXPECT_OK(tern_queue_push_many(w, handled.queue, &items[1], 2, path, &done));
        CU_ASSERT_EQUAL(done, 1);
        EXPECT(TERN_ERR_AGAIN, tern_queue_push(w, handled.queue, &items[2], path));
        EXPECT(TERN_ERR_FULL, tern_queue_try_push(w, handled.queue, &items[2], path));
        EXPECT_OK(tern_queue_pop(w, handled.queue, &items[2], path));
        CU_ASSERT_EQUAL(items[2], 1);
        EXPECT_OK(tern_queue_pop_many(w, handled.queue, items, 3, path, &done));
        CU_ASSERT(done == 1 && items[0] == 2);
    }
    EXPECT(TERN_ERR_STATE, tern_queue_destroy(w, handled.queue));
    handled.ran++;
    return TERN_OK;
}
TERN_FUNCTION(use_queue)

static void handlers_use_it(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    handled.queue = make(&f, 0, 8, 2, 0);
    handled.ran = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == r)
            EXPECT_OK(
                tern_call(f.worker, tern_worker_self(f.worker), &use_queue_function, NULL, 0));
        EXPECT_OK(tern_quiesce(f.worker));
    }
    CU_ASSERT_EQUAL(handled.ran, 1);
    EXPECT_OK(tern_queue_destroy(f.worker, handled.queue));
    fixture_close(&f);
}

/* While a push of the last rank waits for room, another of its workers sees a full queue and no
 * more, and makes room. */
static struct {
    tern_queue *queue;
    tern_worker *waiting, *other;
    int rounds;
} counted;

static size_t count_and_pop(tern_worker *worker, void *argument) {
    uint64_t size = 99, item = 99;
    (void)argument;
    if (worker != counted.waiting || counted.rounds++ > 0)
        return 0;
    EXPECT_OK(tern_queue_size(counted.other, counted.queue, &size));
    CU_ASSERT_EQUAL(size, 2);
    EXPECT_OK(tern_queue_try_pop(counted.other, counted.queue, &item, TERN_BY_RMA));
    CU_ASSERT_EQUAL(item, 0);
    EXPECT_OK(tern_flush(counted.other, 0));
    return 1;
}

static void the_size_leaves_out_who_waits(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = 2;
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&f, &config))
        return;
    counted.queue = make(&f, 0, 8, 2, 0);
    counted.waiting = f.worker;
    counted.rounds = 0;
    EXPECT_OK(tern_worker_adopt(f.context, 1, &counted.other));
    if (f.rank == f.size - 1) {
        for (uint64_t i = 0; i < 2; i++)
            EXPECT_OK(tern_queue_push(f.worker, counted.queue, &i, TERN_BY_RMA));
        EXPECT_OK(tern_progress_hook_add(f.context, count_and_pop, NULL));
        EXPECT_OK(tern_queue_push(f.worker, counted.queue, &(uint64_t){2}, TERN_BY_RMA));
        EXPECT_OK(tern_progress_hook_remove(f.context, count_and_pop, NULL));
        CU_ASSERT(counted.rounds > 0);
        for (uint64_t i = 1, item = 0; i < 3; i++) {
            EXPECT_OK(tern_queue_try_pop(f.worker, counted.queue, &item, TERN_BY_RMA));
            CU_ASSERT_EQUAL(item, i);
        }
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_worker_release(counted.other));
    EXPECT_OK(tern_queue_destroy(f.worker, counted.queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"options_are_checked", options_are_checked},
        {"arguments_are_checked", arguments_are_checked},
        {"against_a_model", against_a_model},
        {"batches_stay_together", batches_stay_together},
        {"deadlines", deadlines},
        {"calls_may_all_be_held", calls_may_all_be_held},
        {"handlers_use_it", handlers_use_it},
        {"the_size_leaves_out_who_waits", the_size_leaves_out_who_waits},
    };
    return tern_test_main(argc, argv, "queue", tests, sizeof tests / sizeof tests[0]);
}
