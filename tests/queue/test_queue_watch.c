// tern-test: ranks least=2

/* Waits of a queue for what never comes, because a word of it was damaged: they end with an error
 * that names the host. And waits for what comes late: they do not. */

#include <stdatomic.h>

#include "queue/slot.h"
#include "queue_tools.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"
#include "thread_tools.h"

enum { THREADS = 2, LONG = 2000 /* rounds: a wait for damage would have ended */ };

static const tern_flags rma = TERN_BY_RMA;

static bool open_scene(fixture *f, size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.workers = workers;
    config.service_threads = 0;
    config.log_level = TERN_LOG_NONE;
    return fixture_open(f, &config);
}

static tern_queue *queue_of(fixture *f, uint64_t capacity) {
    return make_queue(f, (tern_queue_options){.capacity = capacity, .item_bytes = 8});
}

static void end(fixture *f, tern_queue *queue) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_queue_destroy(f->worker, queue));
}

/* Somebody draws tickets, and never comes back. */
static uint64_t draw(fixture *f, tern_ptr word, uint64_t count) {
    uint64_t ticket = 0;
    EXPECT_OK(tern_atomic_fetch_add(f->worker, word, count, &ticket));
    return ticket;
}

static void write_item(fixture *f, const tern_queue *q, uint64_t ticket, uint64_t item) {
    uint64_t slot[TERN_SLOT_SMALL] = {0, ticket, item};
    slot[TERN_SLOT_CHECK] = tern_slot_check_of(q, slot);
    EXPECT_OK(tern_slot_put(f->worker, tern_slot_gaddr(q, ticket), slot, 3, NULL));
}

/* ---- What never comes ---- */

static void expect_corrupt(tern_status status, unsigned line) {
    tern_expect(status, TERN_ERR_CORRUPT, "an operation", line, __FILE__);
    tern_expect_detail("rank 0's segment", line, __FILE__);
}
#define CORRUPT(call) expect_corrupt(call, __LINE__)

/* All by the last rank. The others are in a barrier. */
static void items_that_never_come(void) {
    fixture f;
    if (!open_scene(&f, 1))
        return;
    tern_queue *queue = queue_of(&f, 4);
    uint64_t item = 0;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == f.size - 1) {
        draw(&f, queue->tail, 1);
        CORRUPT(tern_queue_try_pop(f.worker, queue, &item, rma));
        CORRUPT(tern_queue_try_pop(f.worker, queue, &item, TERN_BY_CALL));
        CORRUPT(tern_queue_pop(f.worker, queue, &item, rma));
    }
    end(&f, queue);
    fixture_close(&f);
}

static void room_that_never_comes(void) {
    fixture f;
    if (!open_scene(&f, 1))
        return;
    tern_queue *queue = queue_of(&f, 2);
    const uint64_t item = 5;
    if (f.rank == f.size - 1) {
        EXPECT_OK(tern_queue_push(f.worker, queue, &item, rma));
        EXPECT_OK(tern_queue_push(f.worker, queue, &item, rma));
        draw(&f, queue->head, 1);
        CORRUPT(tern_queue_try_push(f.worker, queue, &item, rma));
        CORRUPT(tern_queue_try_push(f.worker, queue, &item, TERN_BY_CALL));
        CORRUPT(tern_queue_push(f.worker, queue, &item, rma));
    }
    end(&f, queue);
    fixture_close(&f);
}

static void more_items_than_can_be(void) {
    fixture f;
    if (!open_scene(&f, 1))
        return;
    tern_queue *queue = queue_of(&f, 4);
    uint64_t item = 0;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == f.size - 1) {
        draw(&f, queue->head, 100);
        CORRUPT(tern_queue_pop(f.worker, queue, &item, rma));
        EXPECT_DETAIL("cannot have so many items");
        /* The host, which would be asked again as long as the queue is empty, or full. */
        CORRUPT(tern_queue_pop(f.worker, queue, &item, TERN_BY_CALL));
        draw(&f, queue->tail, 1000);
        CORRUPT(tern_queue_push(f.worker, queue, &item, TERN_BY_CALL));
    }
    end(&f, queue);
    fixture_close(&f);
}

static struct {
    fixture *f;
    tern_queue *queue;
    atomic_uint over;
    uint32_t corrupt[THREADS];
} poppers;

/* The worker makes progress to the end: the other one is told when all workers have. */
static void *pop_in_vain(void *argument) {
    const uint32_t index = *(const uint32_t *)argument;
    tern_worker *worker = NULL;
    uint64_t item = 0;
    bool right = tern_worker_adopt(poppers.f->context, index + 1, &worker) == TERN_OK;
    right = right && tern_queue_pop(worker, poppers.queue, &item, rma) == TERN_ERR_CORRUPT;
    poppers.corrupt[index] = right;
    atomic_fetch_add(&poppers.over, 1);
    while (atomic_load(&poppers.over) < THREADS) {
        tern_progress(worker);
        sched_yield();
    }
    right = tern_worker_release(worker) == TERN_OK;
    poppers.corrupt[index] += right;
    return NULL;
}

/* Two workers of the host wait for a ticket each. */
static void two_workers_are_told(void) {
    fixture f;
    if (!open_scene(&f, THREADS + 1))
        return;
    tern_queue *queue = queue_of(&f, 4);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        uint32_t index[THREADS] = {0, 1};
        memset(&poppers, 0, sizeof poppers);
        poppers.f = &f;
        poppers.queue = queue;
        draw(&f, queue->tail, THREADS);
        run_serving(&f, pop_in_vain, index, sizeof index[0], THREADS);
        for (int t = 0; t < THREADS; t++)
            CU_ASSERT_EQUAL(poppers.corrupt[t], 2);
    }
    end(&f, queue);
    fixture_close(&f);
}

/* ---- What comes late ---- */

static uint32_t rounds_of(const fixture *f, uint32_t rank) {
    const tern_doorbell *doorbell = tern_doorbell_of(tern_worker_page(f->context, rank));
    return atomic_load(&doorbell->rounds);
}

/* Rank 0 has drawn the ticket, and waits. */
static void await_ticket(const fixture *f, tern_ptr word, uint64_t ticket) {
    uint64_t next = 0;
    while (next <= ticket && EXPECT_OK(tern_atomic_load(f->worker, word, &next)))
        sched_yield();
}

/* Until rank 0, which waits, has begun so many rounds of progress more. */
static void watch_rank_0(const fixture *f, uint32_t rounds, bool serve) {
    const uint32_t from = rounds_of(f, 0);
    while (rounds_of(f, 0) - from < rounds) {
        if (serve)
            tern_progress(f->worker);
        sched_yield();
    }
}

/* Rank 1 does not come to progress while it has a ticket: it is not known to be over. */
static void a_pusher_that_is_slow(void) {
    fixture f;
    if (!open_scene(&f, 1))
        return;
    tern_queue *queue = queue_of(&f, 4);
    const uint64_t ticket = f.rank == 1 ? draw(&f, queue->tail, 1) : 0;
    uint64_t item = 0;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        EXPECT_OK(tern_queue_pop(f.worker, queue, &item, rma));
    if (f.rank == 1) {
        await_ticket(&f, queue->head, ticket);
        watch_rank_0(&f, LONG, false);
        write_item(&f, queue, ticket, 9);
    }
    CU_ASSERT_EQUAL(item, f.rank == 0 ? 9 : 0);
    end(&f, queue);
    fixture_close(&f);
}

/* Rank 1 waits itself, as behind others, and so makes progress while it has a ticket. */
static void a_pusher_that_waits_for_others(void) {
    enum { ROUNDS = 10 }; /* as of two that follow each other, and some more */
    fixture f;
    if (!open_scene(&f, 1))
        return;
    tern_queue *queue = queue_of(&f, 4);
    const uint64_t ticket = f.rank == 1 ? draw(&f, queue->tail, 1) : 0;
    uint64_t item = 0;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        EXPECT_OK(tern_queue_pop(f.worker, queue, &item, rma));
    if (f.rank == 1)
        await_ticket(&f, queue->head, ticket);
    for (int i = 0; i < ROUNDS && f.rank == 1; i++) {
        tern_progress(f.worker);
        watch_rank_0(&f, LONG / ROUNDS, false);
    }
    if (f.rank == 1)
        write_item(&f, queue, ticket, 9);
    CU_ASSERT_EQUAL(item, f.rank == 0 ? 9 : 0);
    end(&f, queue);
    fixture_close(&f);
}

/* Nobody has begun to push, or to pop, for long. */
static void empty_and_full_are_no_damage(void) {
    fixture f;
    if (!open_scene(&f, 1))
        return;
    tern_queue *queue = queue_of(&f, 1);
    uint64_t item = 3;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        EXPECT_OK(tern_queue_pop(f.worker, queue, &item, rma));
    if (f.rank == 1) {
        await_ticket(&f, queue->head, 0);
        watch_rank_0(&f, LONG, true);
        EXPECT_OK(tern_queue_push(f.worker, queue, &item, rma));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        EXPECT_OK(tern_queue_push(f.worker, queue, &item, rma));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_queue_push(f.worker, queue, &item, rma));
    } else {
        EXPECT_OK(tern_barrier(f.worker));
    }
    if (f.rank == 1) {
        await_ticket(&f, queue->tail, 2);
        watch_rank_0(&f, LONG, true);
        EXPECT_OK(tern_queue_pop(f.worker, queue, &item, rma));
    }
    end(&f, queue);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"items_that_never_come", items_that_never_come},
        {"room_that_never_comes", room_that_never_comes},
        {"more_items_than_can_be", more_items_than_can_be},
        {"two_workers_are_told", two_workers_are_told},
        {"a_pusher_that_is_slow", a_pusher_that_is_slow},
        {"a_pusher_that_waits_for_others", a_pusher_that_waits_for_others},
        {"empty_and_full_are_no_damage", empty_and_full_are_no_damage},
    };
    return tern_test_main(argc, argv, "queue_watch", tests, sizeof tests / sizeof tests[0]);
}
