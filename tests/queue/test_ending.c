// tern-test: ranks

/* How the end of work is counted (queue/ending.h), from within: what strange reports do, what two
 * workers do at once, and whose numbers those of threads without a worker are. */

#include "fixture.h"
#include "nothing.h"

#include "queue/ending.h"
#include "rpc/state.h"
#include "src/context.h"

static fixture f;
static tern_queue *parts;

/* What lies behind an ending, where a report from a ninth child would be stored. */
static struct {
    tern_ending ending;
    uint64_t behind[64];
} play;

static bool set_up(void) {
    const tern_queue_options options = {.item_bytes = 8, .capacity = 4};
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1;
    if (!fixture_open(&f, &config))
        return false;
    memset(&play, 0, sizeof play);
    EXPECT_OK(tern_queue_create_parts(f.worker, TERN_OK, &options, true, "a test", &parts));
    EXPECT_OK(tern_ending_open(f.context, &play.ending, parts));
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

static void tear_down(void) {
    EXPECT_OK(tern_barrier(f.worker));
    tern_ending_close(&play.ending);
    EXPECT_OK(tern_queue_destroy_parts(f.worker, parts, f.size, "a test"));
    fixture_close(&f);
}

/* As queue/ending.c has it. */
typedef struct ending_message {
    uint64_t nonce, round;
    tern_ending_sums sums;
    uint32_t child, ended;
} ending_message;

static void run(const char *function, const ending_message *m, size_t bytes) {
    const tern_rpc *rpc = tern_rpc_of(f.context);
    tern_call_info call = {.worker = f.worker};
    uint32_t i = 0;
    while (i < rpc->count && strcmp(rpc->name[i], function) != 0)
        i++;
    CU_ASSERT_FATAL(i < rpc->count);
    EXPECT_OK(rpc->function[i].handler(&call, m, bytes));
}

/* Of another length, of a queue that is gone, from a child that there is not. */
static void strange_reports_are_left(void) {
    static const char *const functions[] = {"tern_ending_on_report", "tern_ending_on_verdict"};
    if (!set_up())
        return;
    const uint64_t nonce = play.ending.nonce;
    for (int i = 0; i < 2; i++) {
        const ending_message gone = {.nonce = nonce + 1, .round = 77, .sums = {1, 1}};
        ending_message longer[2] = {{.nonce = nonce, .round = 77, .sums = {1, 1}}};
        run(functions[i], &gone, sizeof gone);
        run(functions[i], longer, sizeof longer);
        run(functions[i], longer, sizeof longer[0] - 8);
    }
    for (uint32_t child = TERN_ENDING_CHILDREN; child < TERN_ENDING_CHILDREN + 2; child++)
        run(functions[0],
            &(ending_message){.nonce = nonce, .round = 77, .sums = {1, 1}, .child = child},
            sizeof(ending_message));
    CU_ASSERT_EQUAL(atomic_load(&play.ending.verdict), 0);
    for (uint32_t c = 0; c < TERN_ENDING_CHILDREN; c++)
        CU_ASSERT(atomic_load(&play.ending.child[c].round) == 0 &&
                  play.ending.child[c].sums.begun == 0);
    for (size_t i = 0; i < sizeof play.behind / sizeof play.behind[0]; i++)
        CU_ASSERT_EQUAL(play.behind[i], 0);
    tear_down();
}

static void step_to_the_end(void) {
    while (!tern_ending_has_come(f.worker, &play.ending)) {
        EXPECT(TERN_OK, tern_ending_step(f.worker, &play.ending));
        tern_progress(f.worker);
    }
}

static void one_worker_steps(void) {
    if (!set_up())
        return;
    CU_ASSERT(!atomic_flag_test_and_set(&play.ending.stepping)); /* another worker is in it */
    for (int i = 0; i < 50; i++) {
        EXPECT(TERN_OK, tern_ending_step(f.worker, &play.ending));
        tern_progress(f.worker);
    }
    CU_ASSERT(!play.ending.reported && play.ending.round == 1);
    CU_ASSERT(!tern_ending_has_come(f.worker, &play.ending));
    atomic_flag_clear(&play.ending.stepping);
    step_to_the_end();
    CU_ASSERT(play.ending.round > 2); /* nothing was begun in the first, nor finished before it */
    tear_down();
}

/* All ranks but rank 0 have reported, and make no progress any more. */
static void report_to_rank_0(void) {
    while (f.rank > 0 && !play.ending.reported) {
        EXPECT(TERN_OK, tern_ending_step(f.worker, &play.ending));
        tern_progress(f.worker);
    }
    EXPECT_OK(tern_barrier(f.worker));
}

static void meet(void) {
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    tern_mpi_unlock();
}

static uint64_t calls_sent(void) {
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    return stats.calls_sent;
}

/* Until none goes any more. */
static void fill_ring_to(uint32_t rank) {
    for (int refused = 0; refused < 3;)
        refused += tern_call_try(f.worker, (tern_worker_id){rank, 0}, &nothing_function, NULL, 0) !=
                   TERN_OK;
}

/* One that finds no room is sent later, and one that was sent is not sent again. */
static void reports_wait_for_room(void) {
    if (tern_test_size() < 2) {
        tern_test_skip("rank 0 reports to nobody");
        return;
    }
    if (!set_up())
        return;
    if (f.rank == 1) {
        fill_ring_to(0);
        for (int i = 0; i < 5; i++)
            EXPECT(TERN_OK, tern_ending_step(f.worker, &play.ending));
        CU_ASSERT(!play.ending.reported);
    }
    meet();
    report_to_rank_0();
    if (f.rank == 1) {
        const uint64_t before = calls_sent();
        for (int i = 0; i < 5; i++)
            EXPECT(TERN_OK, tern_ending_step(f.worker, &play.ending));
        CU_ASSERT_EQUAL(calls_sent(), before);
    }
    step_to_the_end();
    tear_down();
}

static void verdicts_wait_for_room(void) {
    if (tern_test_size() < 2) {
        tern_test_skip("nobody is told");
        return;
    }
    if (!set_up())
        return;
    report_to_rank_0();
    if (f.rank == 0) {
        for (uint32_t child = 0; child < f.size - 1; child++)
            while (atomic_load(&play.ending.child[child].round) == 0)
                tern_progress(f.worker);
        fill_ring_to(1);
        for (int i = 0; i < 5; i++)
            EXPECT(TERN_OK, tern_ending_step(f.worker, &play.ending));
        CU_ASSERT(play.ending.reported && play.ending.told == 0 && play.ending.round == 1);
    }
    meet();
    step_to_the_end();
    tear_down();
}

/* They count with the first worker; and so do handlers that run in MPI's calls. */
static void threads_without_a_worker(void) {
    if (!set_up())
        return;
    tern_worker *caller = tern_context_caller(f.context);
    tern_ending_take(caller, &play.ending, 2);
    CU_ASSERT_EQUAL(atomic_load(&play.ending.lines[0].held), 2);
    tern_ending_finish(caller, &play.ending);
    tern_ending_finish(caller, &play.ending); /* there is nothing left to finish */
    CU_ASSERT_EQUAL(atomic_load(&play.ending.lines[0].held), 0);
    CU_ASSERT_EQUAL(atomic_load(&play.ending.lines[0].finished), 2);
    tear_down();
}

static void nothing_was_opened(void) {
    tern_ending none;
    memset(&none, 0, sizeof none);
    tern_ending_close(&none);
    CU_ASSERT_PTR_NULL(none.lines);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"strange_reports_are_left", strange_reports_are_left},
        {"one_worker_steps", one_worker_steps},
        {"reports_wait_for_room", reports_wait_for_room},
        {"verdicts_wait_for_room", verdicts_wait_for_room},
        {"threads_without_a_worker", threads_without_a_worker},
        {"nothing_was_opened", nothing_was_opened},
    };
    return tern_test_main(argc, argv, "ending", tests, sizeof tests / sizeof tests[0]);
}
