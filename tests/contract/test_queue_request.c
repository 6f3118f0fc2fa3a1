// tern-test: transports

/* Pushes and pops that start and return: against a model, many under way, in the order of their
 * starts, waited for in any order or never, between ranks, in handlers. */

#include "nothing.h"
#include "queue_tools.h"
#include "tern/progress.h"

#include <sched.h>

enum { MANY = 24, ITEM = 24 };

static const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;

static tern_queue *make(fixture *f, uint32_t host, size_t item_bytes, uint64_t capacity) {
    return make_queue(
        f, (tern_queue_options){.host = host, .item_bytes = item_bytes, .capacity = capacity});
}

/* Waits by one function or the other. */
static tern_status outcome(fixture *f, tern_request *request, bool by_test) {
    for (int done = 0; by_test && !done; sched_yield())
        EXPECT_OK(tern_test(f->worker, request, &done));
    return tern_wait(f->worker, request);
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_worker *w = f.worker;
    tern_queue *queue = make(&f, 0, 8, 4), *large = make(&f, 0, 65536, 1);
    tern_queue *calls =
        make_queue(&f, (tern_queue_options){.item_bytes = 8, .capacity = 4, .call_only = 1});
    static char big[65536];
    uint64_t item = 77, size = 9;
    tern_request r = {0}, busy = {.outcome = -1};
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_start(NULL, queue, &item, rma, &r));
    EXPECT_DETAIL("tern_queue_push_start");
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_start(w, NULL, &item, rma, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_start(w, queue, NULL, rma, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_start(w, queue, &item, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_start(w, queue, &item, rma, &busy));
    EXPECT_DETAIL("under way");
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_push_start(w, queue, &item, TERN_READ_ONLY, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_start(w, queue, NULL, rma, &r));
    EXPECT_DETAIL("tern_queue_pop_start");
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_start(w, queue, &item, rma, &busy));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_start(w, queue, &item, TERN_WRITE_ONLY, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_start(w, queue, &item, 1u << 20, &r));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_push_start(w, calls, &item, rma, &r));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_push_start(w, large, big, call, &r));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_queue_pop_start(w, large, big, call, &r));
    if (f.rank != 0)
        EXPECT(TERN_ERR_ARGUMENT, tern_queue_pop_start(w, queue, &item, TERN_LOCAL, &r));
    EXPECT_OK(tern_wait(w, &r)); /* it has started nothing */
    EXPECT_OK(tern_queue_size(w, queue, &size));
    CU_ASSERT(item == 77 && size == 0);
    EXPECT_OK(tern_barrier(w));
    EXPECT_OK(tern_queue_destroy(w, queue));
    EXPECT_OK(tern_queue_destroy(w, large));
    EXPECT_OK(tern_queue_destroy(w, calls));
    fixture_close(&f);
}

/* A queue that one rank alone uses, and what it is to hold. */
typedef struct model {
    fixture *f;
    tern_queue *queue;
    size_t bytes;
    uint64_t capacity;
    uint64_t random;
    uint32_t pushed, popped; /* the numbers of the items */
    tern_request request[MANY];
    char *items; /* MANY of them */
} model;

/* Waits for so many requests in any order; all but the first `good` of them found the limit. */
static void model_wait(model *m, size_t count, size_t good, tern_status limit, uint64_t result) {
    bool told[MANY] = {false};
    for (size_t left = count; left > 0; left--) {
        size_t i = (size_t)below(&m->random, count);
        while (told[i])
            i = (i + 1) % count;
        told[i] = true;
        EXPECT(i < good ? TERN_OK : limit,
               outcome(m->f, &m->request[i], below(&m->random, 2) == 0));
        CU_ASSERT_EQUAL(tern_request_result(&m->request[i]), i < good ? result : 0);
        if (i >= good)
            EXPECT_DETAIL(limit == TERN_ERR_FULL ? "full" : "empty");
    }
}

static void model_push(model *m, size_t count, tern_flags flags) {
    const uint64_t size = m->pushed - m->popped, room = m->capacity - size;
    const size_t good = count < room ? count : (size_t)room;
    for (size_t i = 0; i < count; i++) {
        char *item = m->items + i * m->bytes;
        make_item(item, m->bytes, m->f->rank, m->pushed + (uint32_t)i);
        EXPECT_OK(tern_queue_push_start(m->f->worker, m->queue, item, flags, &m->request[i]));
    }
    model_wait(m, count, good, TERN_ERR_FULL, 0);
    m->pushed += (uint32_t)good;
}

static void model_pop(model *m, size_t count, tern_flags flags) {
    const uint64_t size = m->pushed - m->popped;
    const size_t good = count < size ? count : (size_t)size;
    memset(m->items, 0x77, MANY * m->bytes);
    for (size_t i = 0; i < count; i++)
        EXPECT_OK(tern_queue_pop_start(m->f->worker, m->queue, m->items + i * m->bytes, flags,
                                       &m->request[i]));
    model_wait(m, count, good, TERN_ERR_EMPTY, m->bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t producer = 99, number = 99;
        const char *item = m->items + i * m->bytes;
        if (i < good) {
            CU_ASSERT(read_item(item, m->bytes, &producer, &number) && producer == m->f->rank &&
                      number == m->popped + i);
        } else {
            CU_ASSERT(item[0] == 0x77 && item[m->bytes - 1] == 0x77);
        }
    }
    m->popped += (uint32_t)good;
}

/* Some operations that block between the others. */
static void model_block(model *m, tern_flags path) {
    uint32_t producer, number;
    const uint64_t size = m->pushed - m->popped;
    make_item(m->items, m->bytes, m->f->rank, m->pushed);
    if (below(&m->random, 2)) {
        EXPECT(size < m->capacity ? TERN_OK : TERN_ERR_FULL,
               tern_queue_try_push(m->f->worker, m->queue, m->items, path));
        m->pushed += size < m->capacity;
    } else {
        EXPECT(size > 0 ? TERN_OK : TERN_ERR_EMPTY,
               tern_queue_try_pop(m->f->worker, m->queue, m->items, path));
        CU_ASSERT(size == 0 ||
                  (read_item(m->items, m->bytes, &producer, &number) && number == m->popped));
        m->popped += size > 0;
    }
}

/* Each rank has the queue of its neighbour for itself. */
static void play_alone(fixture *f, size_t bytes, uint64_t capacity, bool calls) {
    tern_queue *queue[64];
    for (uint32_t r = 0; r < f->size; r++)
        queue[r] = make(f, r, bytes, capacity);
    model m = {.f = f,
               .queue = queue[(f->rank + 1) % f->size],
               .bytes = bytes,
               .capacity = capacity,
               .random = fixture_seed(f, bytes + capacity),
               .items = malloc(MANY * bytes)};
    for (int times = fixture_times(f, 400); times > 0; times--) {
        const tern_flags path = calls && below(&m.random, 2) ? call : rma;
        const size_t count = 1 + (size_t)below(&m.random, MANY);
        switch (below(&m.random, 5)) {
        case 0:
        case 1:
            model_push(&m, count, path);
            break;
        case 2:
        case 3:
            model_pop(&m, count, path);
            break;
        default:
            model_block(&m, path);
            break;
        }
    }
    uint64_t size = 99;
    EXPECT_OK(tern_queue_size(f->worker, m.queue, &size));
    CU_ASSERT_EQUAL(size, m.pushed - m.popped);
    EXPECT_OK(tern_barrier(f->worker));
    for (uint32_t r = 0; r < f->size; r++)
        EXPECT_OK(tern_queue_destroy(f->worker, queue[r]));
    free(m.items);
}

static void against_a_model(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    play_alone(&f, ITEM, 16, true);
    play_alone(&f, 9, 1, true);
    play_alone(&f, 600, 37, true);
    play_alone(&f, 9000, 3, false); /* a slot is larger than what is kept on the stack */
    fixture_close(&f);
}

/* Phases: full and empty are exact, and the barrier between them finds nothing under way. */
static void phases(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    enum { CAPACITY = 7 };
    tern_queue *queue = make(&f, f.size - 1, 8, CAPACITY);
    tern_request request[MANY] = {{0}};
    uint64_t items[MANY] = {0}, random = fixture_seed(&f, 3);
    for (int round = 0; round < 4; round++) {
        uint64_t good[2] = {0, 0}, all[64][2], sum[2] = {0, 0};
        for (int kind = 0; kind < 2; kind++) {
            const tern_flags flags =
                (kind == 0 ? TERN_WRITE_ONLY : TERN_READ_ONLY) | any_path(&random);
            for (int i = 0; i < MANY; i++)
                EXPECT_OK(
                    (kind == 0
                         ? tern_queue_push_start(f.worker, queue, &items[i], flags, &request[i])
                         : tern_queue_pop_start(f.worker, queue, &items[i], flags, &request[i])));
            for (int i = 0; i < MANY; i++) {
                const tern_status status = outcome(&f, &request[i], below(&random, 2) == 0);
                CU_ASSERT(status == TERN_OK ||
                          status == (kind == 0 ? TERN_ERR_FULL : TERN_ERR_EMPTY));
                good[kind] += status == TERN_OK;
            }
            EXPECT_OK(tern_barrier(f.worker));
        }
        fixture_share(&f, good, sizeof good, all);
        for (uint32_t r = 0; r < f.size; r++)
            for (int kind = 0; kind < 2; kind++)
                sum[kind] += all[r][kind];
        CU_ASSERT(sum[0] == CAPACITY && sum[1] == CAPACITY);
    }
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* What a rank has under way of a queue that all use. */
typedef struct slot {
    tern_request request;
    bool busy, pops;
    uint32_t number;
    unsigned char item[ITEM];
} slot;

typedef struct player {
    fixture *f;
    tern_queue *queue;
    uint64_t random;
    uint32_t number, each; /* items of this rank that were started, and are to be */
    uint64_t under_way;    /* pushes */
    slot slots[MANY];
    queue_book pushed, popped;
} player;

static void player_end(player *p, slot *s) {
    const tern_status status = outcome(p->f, &s->request, below(&p->random, 2) == 0);
    s->busy = false;
    p->under_way -= !s->pops;
    CU_ASSERT(status == TERN_OK || status == (s->pops ? TERN_ERR_EMPTY : TERN_ERR_FULL));
    memset(p->popped.next, 0, sizeof p->popped.next); /* not their order */
    if (status == TERN_OK && s->pops)
        enter(&p->popped, s->item, ITEM, 1);
    else if (status == TERN_OK)
        note_push(&p->pushed, p->f->rank, s->number);
}

static void player_begin(player *p, slot *s) {
    s->pops = p->number == p->each || below(&p->random, 2);
    tern_status status;
    if (s->pops) {
        status = tern_queue_pop_start(p->f->worker, p->queue, s->item, any_path(&p->random),
                                      &s->request);
    } else {
        s->number = p->number++;
        make_item(s->item, ITEM, p->f->rank, s->number);
        status = tern_queue_push_start(p->f->worker, p->queue, s->item, any_path(&p->random),
                                       &s->request);
    }
    s->busy = EXPECT_OK(status);
    p->under_way += s->busy && !s->pops;
}

/* Each item that was pushed is popped once, whole. Items may come out of order here, since requests
 * end in any order and take either path. */
static void everybody_at_once(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    static const uint64_t capacities[] = {1, 5, 64};
    for (size_t c = 0; c < 3; c++) {
        player p = {.f = &f,
                    .queue = make(&f, (uint32_t)(c % f.size), ITEM, capacities[c]),
                    .random = fixture_seed(&f, c),
                    .each = (uint32_t)fixture_times(&f, 1000)};
        while (p.number < p.each || p.under_way > 0) {
            slot *s = &p.slots[below(&p.random, MANY)];
            if (s->busy)
                player_end(&p, s);
            else
                player_begin(&p, s);
            if (p.number == p.each)
                for (size_t i = 0; i < MANY; i++)
                    if (p.slots[i].busy && !p.slots[i].pops)
                        player_end(&p, &p.slots[i]);
        }
        for (size_t i = 0; i < MANY; i++)
            if (p.slots[i].busy)
                player_end(&p, &p.slots[i]);
        EXPECT_OK(tern_barrier(f.worker));
        unsigned char item[ITEM];
        while (tern_queue_try_pop(f.worker, p.queue, item, any_path(&p.random)) == TERN_OK) {
            memset(p.popped.next, 0, sizeof p.popped.next);
            enter(&p.popped, item, ITEM, 1);
        }
        balance(&f, &p.pushed, &p.popped);
        EXPECT_OK(tern_queue_destroy(f.worker, p.queue));
    }
    fixture_close(&f);
}

/* Every rank pushes by one path, so many at a time; rank 0 finds each rank's items in its order. */
static void in_a_producers_order(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const uint32_t each = (uint32_t)fixture_times(&f, 400);
    for (int p = 0; p < 2; p++) {
        tern_queue *queue = make(&f, f.size - 1, ITEM, 10);
        tern_request out[MANY] = {{0}}, in[MANY] = {{0}};
        static unsigned char items[MANY][ITEM], got[MANY][ITEM];
        queue_book pushed = {{0}, 0, 0, 0}, popped = {{0}, 0, 0, 0};
        uint64_t random = fixture_seed(&f, (uint64_t)p);
        for (uint32_t next = 0; next < each;) {
            const uint32_t some = each - next < MANY ? each - next : MANY;
            for (uint32_t i = 0; i < some; i++) {
                make_item(items[i], ITEM, f.rank, next + i);
                EXPECT_OK(
                    tern_queue_push_start(f.worker, queue, items[i], p == 0 ? rma : call, &out[i]));
            }
            for (uint32_t i = 0; f.rank == 0 && i < MANY; i++)
                EXPECT_OK(tern_queue_pop_start(f.worker, queue, got[i], rma, &in[i]));
            for (uint32_t i = 0; i < some; i++) {
                const tern_status status = outcome(&f, &out[i], below(&random, 2) == 0);
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
                if (status == TERN_OK)
                    note_push(&pushed, f.rank, next + i);
            }
            for (uint32_t i = 0; f.rank == 0 && i < MANY; i++) {
                const tern_status status = tern_wait(f.worker, &in[i]);
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_EMPTY);
                if (status == TERN_OK)
                    enter(&popped, got[i], ITEM, 1);
            }
            next += some;
        }
        EXPECT_OK(tern_barrier(f.worker));
        unsigned char item[ITEM];
        while (f.rank == 0 && tern_queue_try_pop(f.worker, queue, item, rma) == TERN_OK)
            enter(&popped, item, ITEM, 1);
        balance(&f, &pushed, &popped);
        EXPECT_OK(tern_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* As many as can be; waited for by each function. */
static void as_many_as_can_be(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    enum { MOST = TERN_QUEUE_REQUESTS };
    tern_queue *queue = make(&f, 0, 8, 4 * MOST);
    static tern_request request[MOST + 1];
    static uint64_t items[MOST + 1];
    if (f.rank == f.size - 1) {
        tern_status status = TERN_OK;
        size_t count = 0, over = 0, index = 0;
        for (; count <= MOST && status == TERN_OK; count += status == TERN_OK) {
            items[count] = count;
            status = tern_queue_push_start(f.worker, queue, &items[count], rma, &request[count]);
        }
        CU_ASSERT(status == TERN_OK || (count == MOST && status == TERN_ERR_AGAIN));
        if (status == TERN_ERR_AGAIN)
            EXPECT_DETAIL("wait for one");
        else
            CU_ASSERT(count == MOST + 1);
        while (tern_wait_any(f.worker, request, count, &index) == TERN_OK && index < count)
            over++;
        CU_ASSERT_EQUAL(over, count);
        for (size_t i = 0; i < MOST; i++)
            EXPECT_OK(tern_queue_pop_start(f.worker, queue, &items[i], rma, &request[i]));
        EXPECT_OK(tern_wait_all(f.worker, request, MOST));
        for (size_t i = 0; i < MOST; i++)
            CU_ASSERT_EQUAL(items[i], i);
        for (; count > MOST; count--)
            EXPECT_OK(tern_queue_try_pop(f.worker, queue, items, rma));
        for (size_t i = 0; i < 3; i++)
            EXPECT_OK(tern_queue_pop_start(f.worker, queue, &items[i], rma, &request[i]));
        EXPECT(TERN_ERR_EMPTY, tern_wait_all(f.worker, request, 3));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

/* Nobody waits for them: they are done all the same, by progress or at the latest by destroy. */
static void nobody_waits(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_queue *queue = make(&f, 0, 8, 4 * 64);
    static tern_request request[2][MANY];
    static uint64_t items[MANY];
    uint64_t size = 0, wanted = 0;
    memset(request, 0, sizeof request);
    for (size_t i = 0; i < MANY; i++)
        EXPECT_OK(tern_queue_push_start(f.worker, queue, &items[i], rma, &request[0][i]));
    for (wanted = MANY * (uint64_t)f.size; size < wanted; sched_yield()) {
        EXPECT_OK(tern_queue_size(f.worker, queue, &size));
        tern_progress(f.worker);
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (size_t i = 0; i < MANY; i++)
        EXPECT_OK(tern_queue_pop_start(f.worker, queue, &items[i], rma, &request[1][i]));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    for (size_t i = 0; i < 2 * MANY; i++) /* which needs no queue */
        EXPECT_OK(tern_wait(f.worker, &request[i / MANY][i % MANY]));
    fixture_close(&f);
}

/* Requests of another worker: destroy says so, and the queue is as it was. */
static void of_another_worker(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = 2;
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&f, &config))
        return;
    tern_worker *other = NULL;
    tern_request request = {0};
    const uint64_t item = 5;
    uint64_t got = 0;
    EXPECT_OK(tern_worker_adopt(f.context, 1, &other));
    tern_queue *queue = make(&f, 0, 8, 64);
    if (f.rank == f.size - 1) {
        /* A start waits for nobody, so it completes a push only where load and store or MPI's
         * atomics reach the owner, or where the network answers at once. */
        const bool at_once = fixture_all_direct(&f) || fixture_uses_rma(&f);
        int done = 1;
        for (int i = 0; done && i < (at_once ? 1 : 1000); i++) {
            EXPECT_OK(tern_queue_push_start(other, queue, &item, rma, &request));
            EXPECT_OK(tern_test(other, &request, &done));
            if (done) {
                EXPECT_OK(tern_queue_pop(other, queue, &got, 0));
                CU_ASSERT_EQUAL(got, item);
            }
        }
        if (!done) {
            EXPECT(TERN_ERR_STATE, tern_queue_destroy(f.worker, queue));
            EXPECT_DETAIL("wait for them");
            EXPECT_OK(tern_wait(other, &request));
            EXPECT_OK(tern_flush_all(other));
            EXPECT_OK(tern_queue_pop(other, queue, &got, 0));
            CU_ASSERT_EQUAL(got, item);
        }
        CU_ASSERT(!done || at_once);
    }
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_worker_release(other));
    fixture_close(&f);
}

/* ---- Handlers ---- */

static struct {
    tern_queue *queue;
    tern_request request[2];
    uint64_t item;
    tern_status status[2];
} handled;

static tern_status start_both(tern_call_info *info, const void *arguments, size_t bytes) {
    (void)arguments, (void)bytes;
    handled.item = 6;
    handled.status[0] =
        tern_queue_push_start(info->worker, handled.queue, &handled.item, rma, &handled.request[0]);
    tern_error_clear();
    handled.status[1] = tern_queue_push_start(info->worker, handled.queue, &handled.item, call,
                                              &handled.request[1]);
    tern_error_clear();
    return TERN_OK;
}
TERN_FUNCTION(start_both)

static void in_handlers(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_queue *queue = make(&f, 0, 8, 2 * 64);
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f.context, 0, &transport));
    memset(&handled, 0, sizeof handled);
    handled.queue = queue;
    EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){.rank = f.rank}, &start_both_function,
                               NULL, 0, NULL, 0, NULL));
    CU_ASSERT_EQUAL(handled.status[0], transport == TERN_SHM ? TERN_OK : TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled.status[1], f.rank == 0 ? TERN_OK : TERN_ERR_STATE);
    EXPECT_OK(tern_wait_all(f.worker, handled.request, 2));
    uint64_t size = 0, mine, wanted = 0, all[64];
    mine = (uint64_t)(handled.status[0] == TERN_OK) + (uint64_t)(handled.status[1] == TERN_OK);
    fixture_share(&f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        wanted += all[r];
    EXPECT_OK(tern_queue_size(f.worker, queue, &size));
    CU_ASSERT_EQUAL(size, wanted);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"against_a_model", against_a_model},
        {"phases", phases},
        {"everybody_at_once", everybody_at_once},
        {"in_a_producers_order", in_a_producers_order},
        {"as_many_as_can_be", as_many_as_can_be},
        {"nobody_waits", nobody_waits},
        {"of_another_worker", of_another_worker},
        {"in_handlers", in_handlers},
    };
    return tern_test_main(argc, argv, "queue_request", tests, sizeof tests / sizeof *tests);
}
