// tern-test: transports

/* The circular and the checksum queue of paper 003 (benchmarks/baselines/queue.h): in phases, with
 * waits, at their cost, and whether they linearize. */

#include "baselines/baseline_tools.h"
#include "baselines/queue.h"

enum { KINDS = 2 };

static const char *const names[KINDS] = {
    [BASELINE_CIRCULAR] = "circular", [BASELINE_CHECKSUM] = "checksum"};

static baseline_queue *queue_make(fixture *f, int kind, uint32_t host, size_t item_bytes,
                                  uint64_t capacity) {
    baseline_queue *queue = NULL;
    EXPECT_OK(baseline_queue_create(f->worker, f->comm, (baseline_queue_kind)kind, host, item_bytes,
                                    capacity, &queue));
    return queue;
}

/* Collective: ends a phase. */
static void phase_end(fixture *f, baseline_queue *queue) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(baseline_queue_settle(f->worker, queue));
    EXPECT_OK(tern_barrier(f->worker));
}

/* In each generation all push until the queue is full, and pop until it is empty. */
static void fill_and_empty(fixture *f, int kind) {
    enum { CAPACITY = 13, BYTES = 24 };
    baseline_queue *queue = queue_make(f, kind, f->size - 1, BYTES, CAPACITY);
    uint64_t random = fixture_seed(f, (uint64_t)kind), pushed = 0, sums[2] = {0, 0};
    char item[BYTES];
    for (int generation = 0; generation < 5; generation++) {
        uint64_t counts[2] = {0, 0}, all[64][2], total[2] = {0, 0};
        tern_status status = TERN_OK;
        while (status == TERN_OK) {
            const uint64_t number = (uint64_t)f->rank << 32 | ++pushed;
            history_fill(item, BYTES, 0, number);
            status = baseline_queue_push(f->worker, queue, item,
                                         TERN_WRITE_ONLY | baseline_any_path(&random));
            counts[0] += status == TERN_OK;
            sums[0] += status == TERN_OK ? number : 0;
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        phase_end(f, queue);
        for (status = TERN_OK; status == TERN_OK;) {
            status = baseline_queue_pop(f->worker, queue, item,
                                        TERN_READ_ONLY | baseline_any_path(&random));
            if (status != TERN_OK)
                break;
            const uint64_t number = history_number(item, BYTES, 0);
            CU_ASSERT_NOT_EQUAL(number, UINT64_MAX);
            counts[1]++;
            sums[1] += number;
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_EMPTY);
        phase_end(f, queue);
        fixture_share(f, counts, sizeof counts, all);
        for (uint32_t r = 0; r < f->size; r++)
            for (int i = 0; i < 2; i++)
                total[i] += all[r][i];
        CU_ASSERT_EQUAL(total[0], CAPACITY);
        CU_ASSERT_EQUAL(total[1], CAPACITY);
    }
    uint64_t all[64][2], total[2] = {0, 0};
    fixture_share(f, sums, sizeof sums, all);
    for (uint32_t r = 0; r < f->size; r++)
        for (int i = 0; i < 2; i++)
            total[i] += all[r][i];
    CU_ASSERT_EQUAL(total[0], total[1]);
    EXPECT_OK(baseline_queue_destroy(f->worker, queue));
}

static void has_phases(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (int kind = 0; kind < KINDS; kind++)
        fill_and_empty(&f, kind);
    fixture_close(&f);
}

/* Every rank pushes and pops in turn on a queue with a slot for each: items are whole, none comes
 * twice, and those of each producer come in its order. */
static void push_and_pop(fixture *f, int kind) {
    enum { BYTES = 40 };
    baseline_queue *queue = queue_make(f, kind, 0, BYTES, f->size);
    uint64_t random = fixture_seed(f, (uint64_t)kind), sums[2] = {0, 0}, last[64] = {0}, all[64][2];
    char item[BYTES];
    for (int n = fixture_times(f, 2000), i = 1; i <= n; i++) {
        uint64_t number = (uint64_t)f->rank << 32 | (uint64_t)i;
        history_fill(item, BYTES, 0, number);
        EXPECT_OK(baseline_queue_push(f->worker, queue, item, baseline_any_path(&random)));
        sums[0] += number;
        EXPECT_OK(baseline_queue_pop(f->worker, queue, item, baseline_any_path(&random)));
        number = history_number(item, BYTES, 0);
        const uint64_t producer = number >> 32;
        CU_ASSERT(producer < f->size && number > last[producer % 64]);
        last[producer % 64] = number;
        sums[1] += number;
    }
    fixture_share(f, sums, sizeof sums, all);
    for (uint32_t r = 1; r < f->size; r++)
        for (int i = 0; i < 2; i++)
            all[0][i] += all[r][i];
    CU_ASSERT_EQUAL(all[0][0], all[0][1]);
    EXPECT_OK(baseline_queue_destroy(f->worker, queue));
}

static void waits_for_room_and_items(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (int kind = 0; kind < KINDS; kind++)
        push_and_pop(&f, kind);
    fixture_close(&f);
}

static void refuses(void) {
    fixture f;
    baseline_queue *queue = NULL;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT(TERN_ERR_ARGUMENT,
           baseline_queue_create(f.worker, f.comm, BASELINE_CIRCULAR, f.size, 8, 1, &queue));
    EXPECT(TERN_ERR_ARGUMENT,
           baseline_queue_create(f.worker, f.comm, BASELINE_CIRCULAR, 0, 8, 0, &queue));
    EXPECT(TERN_ERR_ARGUMENT, baseline_queue_create(f.worker, f.comm, BASELINE_CHECKSUM, 0,
                                                    BASELINE_ITEM_MAX + 1, 1, &queue));
    EXPECT(TERN_ERR_MEMORY,
           baseline_queue_create(f.worker, f.comm, BASELINE_CHECKSUM, 0, 8, 1 << 24, &queue));
    fixture_close(&f);
}

enum { ITEMS = 20 };

static void push_some(fixture *f, baseline_queue *queue, tern_flags flags) {
    for (uint64_t i = 0; i < ITEMS; i++)
        EXPECT_OK(baseline_queue_push(f->worker, queue, &i, flags));
}

static void pop_some(fixture *f, baseline_queue *queue, tern_flags flags) {
    for (uint64_t i = 0, item = 0; i < ITEMS; i++) {
        EXPECT_OK(baseline_queue_pop(f->worker, queue, &item, flags));
        CU_ASSERT_EQUAL(item, i);
    }
}

/* The paper's table III. What a rank has to learn once is known before the counting begins. */
static void costs_of_a_remote_host(fixture *f, baseline_queue *queue, int kind,
                                   tern_transport transport) {
    const uint64_t fences = transport != TERN_P2P;
    uint64_t item = 0;
    cost push = {.atomics = 1, .puts = 1}, pop = {.atomics = 1, .gets = 1};
    if (kind == BASELINE_CIRCULAR)
        push = (cost){.atomics = 2, .puts = 1, .flushes = fences},
        pop = (cost){.atomics = 2, .gets = 1};
    tern_stats before = costs_begin(f);
    push_some(f, queue, TERN_BY_RMA);
    CU_ASSERT(costs_are(f, &before, ITEMS, push, names[kind]));
    EXPECT_OK(baseline_queue_push(f->worker, queue, &item, TERN_BY_RMA));
    EXPECT_OK(tern_flush_all(f->worker));
    EXPECT_OK(baseline_queue_pop(f->worker, queue, &item, TERN_BY_RMA));
    before = costs_begin(f);
    for (uint64_t i = 1; i < ITEMS; i++) {
        EXPECT_OK(baseline_queue_pop(f->worker, queue, &item, TERN_BY_RMA));
        CU_ASSERT_EQUAL(item, i);
    }
    CU_ASSERT(costs_are(f, &before, ITEMS - 1, pop, names[kind]));
    EXPECT_OK(baseline_queue_pop(f->worker, queue, &item, TERN_BY_RMA));
    before = costs_begin(f);
    push_some(f, queue, TERN_BY_CALL);
    pop_some(f, queue, TERN_BY_CALL);
    CU_ASSERT(costs_are(f, &before, 2 * (uint64_t)ITEMS, (cost){.calls = 1}, "by call"));
}

static void costs_of_phases(fixture *f, baseline_queue *queue, bool works) {
    const tern_flags writes = TERN_WRITE_ONLY, reads = TERN_READ_ONLY;
    tern_stats before = costs_begin(f);
    if (works)
        push_some(f, queue, writes | TERN_BY_RMA);
    if (works)
        CU_ASSERT(costs_are(f, &before, ITEMS, (cost){.atomics = 1, .puts = 1}, "push in a phase"));
    phase_end(f, queue);
    before = costs_begin(f);
    if (works)
        pop_some(f, queue, reads | TERN_BY_RMA);
    /* One load of the tail for all. */
    if (works) {
        tern_stats after = costs_begin(f);
        CU_ASSERT_EQUAL(after.gets - before.gets, ITEMS);
        CU_ASSERT_EQUAL(after.atomics - before.atomics, ITEMS + 1);
        CU_ASSERT_EQUAL(after.puts + after.flushes, before.puts + before.flushes);
    }
    phase_end(f, queue);
}

static void cost_what_the_paper_says(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_transport transport = TERN_SHM;
    uint32_t host = costs_remote_rank(&f, &transport), hosts[64];
    fixture_share(&f, &host, sizeof host, hosts);
    host = hosts[0];
    if (host == UINT32_MAX)
        tern_test_skip("every rank is reached by load and store");
    for (int kind = 0; kind < KINDS && host != UINT32_MAX; kind++) {
        baseline_queue *queue = queue_make(&f, kind, host, 8, 1000);
        if (f.rank == 0)
            costs_of_a_remote_host(&f, queue, kind, transport);
        EXPECT_OK(tern_barrier(f.worker));
        costs_of_phases(&f, queue, f.rank == 0);
        EXPECT_OK(baseline_queue_destroy(f.worker, queue));
    }
    fixture_close(&f);
}

/* ---- Histories ---- */

/* Word 0 counts the items, which follow, the oldest first. */
static bool step_push(history_state *state, const history_operation *o) {
    if (state->word[0] >= HISTORY_WORDS - 1)
        return false;
    state->word[1 + state->word[0]++] = o->argument[0];
    return o->status == TERN_OK;
}

static bool step_pop(history_state *state, const history_operation *o) {
    if (state->word[0] == 0)
        return false;
    const uint64_t oldest = state->word[1], left = --state->word[0];
    memmove(state->word + 1, state->word + 2, left * sizeof oldest);
    state->word[1 + left] = 0;
    return o->status == TERN_OK && o->result == oldest;
}

static tern_status run_push(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    char item[BASELINE_ITEM_MAX];
    history_fill(item, target->bytes, 0, o->argument[0]);
    return baseline_queue_push(worker, target->baseline, item,
                               o->flags == TERN_BY_CALL ? TERN_BY_CALL : TERN_BY_RMA);
}

static tern_status run_pop(tern_worker *worker, const history_target *target,
                           history_operation *o) {
    char item[BASELINE_ITEM_MAX];
    tern_status status = baseline_queue_pop(worker, target->baseline, item,
                                            o->flags == TERN_BY_CALL ? TERN_BY_CALL : TERN_BY_RMA);
    if (status == TERN_OK)
        o->result = history_number(item, target->bytes, 0);
    return status;
}

/* Pairs of a push and a pop, so that every wait ends, on a new queue. */
static history_outcome histories_of(fixture *f, history_actor *actor, int kind, uint32_t host,
                                    size_t bytes) {
    static const history_kind kind_of[] = {
        {"push", run_push, step_push, .in_writes = true},
        {"pop", run_pop, step_pop, .in_reads = true},
    };
    static const history_kinds kinds = {kind_of, 2};
    enum { HISTORIES = 16 };
    history_target target = {.bytes = bytes};
    history_part part = {&target, &kinds, .objects = 1, .uniform = true, .pairs = true};
    baseline_queue *queue = queue_make(f, kind, host, bytes, f->size);
    target.baseline = queue;
    for (int h = 0; h < HISTORIES; h++, part.first_object++) {
        part.operations = history_share(f);
        part.phase = PHASE_MIXED;
        history_act(actor, &part);
        EXPECT_OK(tern_barrier(f->worker));
    }
    const history_outcome outcome = history_verdicts(f, actor, 1, &kinds, &target.start, false);
    EXPECT_OK(baseline_queue_destroy(f->worker, queue));
    return outcome;
}

static void linearize(void) {
    static const size_t sizes[] = {8, 24, 200, 1000};
    fixture f;
    history_actor actor;
    if (!fixture_open(&f, NULL))
        return;
    CU_ASSERT_FATAL(history_actor_open(&actor, &f, f.worker, (uint16_t)f.rank));
    for (int kind = 0; kind < KINDS; kind++) {
        history_tally tally = {{0}, 0};
        history_outcome outcome;
        uint32_t s = 0;
        do {
            outcome = histories_of(&f, &actor, kind, s % f.size, sizes[s % 4]);
            s++;
        } while (history_goes_on(&tally, &outcome) || (s < 4 && tally.all.wrong == 0));
        history_expect(&tally);
    }
    history_actor_close(&actor);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"has_phases", has_phases}, {"waits_for_room_and_items", waits_for_room_and_items},
        {"refuses", refuses},       {"cost_what_the_paper_says", cost_what_the_paper_says},
        {"linearize", linearize},
    };
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "baseline_queue", tests, sizeof tests / sizeof *tests);
}
