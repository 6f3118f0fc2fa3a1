// tern-test: transports

/*
 * What a push that waits for room may know of it. Slots come free in any order, so a slot of a
 * later ticket says nothing of an earlier one: a pusher that believed it would write over an item
 * that somebody is still reading.
 */

#include "queue/slot.h"
#include "queue_tools.h"
#include "tern/progress.h"

enum { CAPACITY = 2 };

/* A queue whose first item somebody is popping, without an end, while a push waits for its slot. */
typedef struct scene {
    tern_queue *queue;
    tern_worker *waiting, *other;
    int rounds;     /* of progress while the push waits */
    uint64_t there; /* the ticket in the slot, once another push has learned of later room */
} scene;

static void push_one(tern_worker *worker, const scene *s, uint64_t item) {
    EXPECT_OK(tern_queue_push(worker, s->queue, &item, TERN_BY_RMA));
}

static void pop_one(tern_worker *worker, const scene *s, uint64_t wanted) {
    uint64_t item = 0;
    EXPECT_OK(tern_queue_try_pop(worker, s->queue, &item, TERN_BY_RMA));
    CU_ASSERT_EQUAL(item, wanted);
}

/* Ends the pop of ticket 0: reads its slot and posts its turn. */
static void end_pop(scene *s) {
    const uint64_t turn[2] = {1, ~UINT64_C(1)};
    uint64_t slot[TERN_SLOT_SMALL];
    EXPECT_OK(
        tern_slot_get(s->other, slot, tern_slot_gaddr(s->queue, 0), s->queue->slot_words, NULL));
    s->there = slot[TERN_SLOT_TICKET];
    EXPECT_OK(tern_slot_put(s->other, tern_turn_gaddr(s->queue, 0), turn, 2, NULL));
    EXPECT_OK(tern_flush(s->other, s->queue->host));
}

/* While the push waits: another worker's push finds a free slot behind it, in the first round. In
 * the second the pop comes to its end. */
static size_t meanwhile(tern_worker *worker, void *argument) {
    scene *s = argument;
    if (worker != s->waiting)
        return 0;
    s->rounds++;
    if (s->rounds == 1)
        push_one(s->other, s, 13);
    else if (s->rounds == 2)
        end_pop(s);
    return 1;
}

static void wait_behind_a_pop(scene *s, tern_context *context) {
    uint64_t ticket = 99;
    push_one(s->waiting, s, 10);
    push_one(s->waiting, s, 11);
    EXPECT_OK(tern_atomic_fetch_add(s->waiting, s->queue->head, 1, &ticket));
    CU_ASSERT_EQUAL(ticket, 0);
    pop_one(s->waiting, s, 11);
    EXPECT_OK(tern_flush(s->waiting, s->queue->host));
    EXPECT_OK(tern_progress_hook_add(context, meanwhile, s));
    push_one(s->waiting, s, 12);
    EXPECT_OK(tern_progress_hook_remove(context, meanwhile, s));
    CU_ASSERT_EQUAL(s->there, 0);
    CU_ASSERT(s->rounds >= 2);
    pop_one(s->waiting, s, 12);
    pop_one(s->waiting, s, 13);
}

/* Collective: the last rank plays, with two workers and a queue at rank 0. */
static void a_later_slot_is_no_room(void) {
    fixture f;
    tern_config config;
    scene s = {.there = 99};
    EXPECT_OK(tern_config_init(&config));
    config.workers = 2;
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&f, &config))
        return;
    s.queue = make_queue(&f, (tern_queue_options){.item_bytes = 8, .capacity = CAPACITY});
    s.waiting = f.worker;
    EXPECT_OK(tern_worker_adopt(f.context, 1, &s.other));
    if (f.rank == f.size - 1)
        wait_behind_a_pop(&s, f.context);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_worker_release(s.other));
    EXPECT_OK(tern_queue_destroy(f.worker, s.queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_later_slot_is_no_room", a_later_slot_is_no_room},
    };
    return tern_test_main(argc, argv, "queue_room", tests, sizeof tests / sizeof *tests);
}
