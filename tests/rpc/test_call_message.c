// tern-test: transports

/* Calls by message: once each and in order, edges, no credit, handlers that call back, service
 * threads. Threads without workers are in test_call_message_threads.c. */

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "call_tools.h"
#include "rma/memory/state.h"
#include "rma/reply/thread_reply.h"
#include "rpc/call/extended.h"

static fixture f;

static bool open_with(size_t threads) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.service_threads = threads;
    memset(&arrived, 0, sizeof arrived);
    count_empty = 0;
    return fixture_open(&f, &config);
}

/* By the worker, or as a thread that has none. */
static tern_status send_either(uint64_t which, tern_worker_id target, const tern_function *function,
                               const void *arguments, size_t bytes) {
    if (which % 2 == 0)
        return tern_call(f.worker, tern_by_message(target), function, arguments, bytes);
    tern_status status;
    while ((status = tern_call_try(tern_context_caller(f.context), target, function, arguments,
                                   bytes)) == TERN_ERR_AGAIN)
        tern_progress(f.worker);
    return status;
}

/* All to all, any size; each pair in order, once each, and as many as were sent. */
static void order(void) {
    if (!open_with(0))
        return;
    unsigned char *arguments = malloc(TERN_MESSAGE_MAX);
    uint64_t random = fixture_seed(&f, 70), sent[RANKS] = {0};
    int times = fixture_times(&f, 2000);
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, f.size);
        size_t bytes = sizeof(stamp) + below(&random, 200);
        if (below(&random, 20) == 0)
            bytes = sizeof(stamp) + below(&random, TERN_MESSAGE_MAX - sizeof(stamp) + 1);
        compose(arguments, f.rank, sent[r]++, bytes);
        EXPECT(TERN_OK, send_either(random, to(r), &receive_function, arguments, bytes));
        memset(arguments, 0xdd, bytes);
        if (below(&random, 100) == 0)
            tern_progress(f.worker);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    expect_all_arrived(&f, sent);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.records_malformed, 0);
    free(arguments);
    fixture_close(&f);
}

static uint32_t last_origin;

static tern_status note_origin(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    last_origin = call->origin.index;
    arrived.wrong += bytes != 0 && (uintptr_t)arguments % 8 != 0;
    return TERN_ERR_FULL; /* is counted and logged */
}
TERN_FUNCTION(note_origin)

static void edges(void) {
    if (!open_with(0))
        return;
    unsigned char *arguments = calloc(1, TERN_MESSAGE_MAX + 1);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++) {
        EXPECT_OK(tern_call(f.worker, tern_by_message(to(r)), &receive_nothing_function, NULL, 0));
        compose(arguments, f.rank, 0, TERN_MESSAGE_MAX);
        EXPECT_OK(tern_call(f.worker, tern_by_message(to(r)), &receive_function, arguments,
                            TERN_MESSAGE_MAX));
        compose(arguments, f.rank, 1, TERN_MESSAGE_MAX + 1);
        EXPECT_OK(tern_call(f.worker, tern_by_message(to(r)), &receive_function, arguments, 32769));
        EXPECT(TERN_ERR_RANGE, tern_call(tern_context_caller(f.context), to(r), &receive_function,
                                         arguments, SIZE_MAX));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(count_empty, f.size);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    tern_stats stats;
    EXPECT_OK(
        tern_call(f.worker, tern_by_message(to(f.rank)), &note_origin_function, arguments, 1));
    CU_ASSERT_EQUAL(tern_progress(f.worker), 1);
    CU_ASSERT_EQUAL(last_origin, 0);
    EXPECT_OK(
        tern_call(tern_context_caller(f.context), to(f.rank), &note_origin_function, arguments, 1));
    tern_progress(f.worker);
    CU_ASSERT_EQUAL(last_origin, TERN_NO_WORKER);
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, 2);
    EXPECT_OK(tern_quiesce(f.worker));
    free(arguments);
    fixture_close(&f);
}

static void refusals(void) {
    if (!open_with(0))
        return;
    static tern_function late = {"registered too late", receive_nothing, NULL, 0};
    tern_worker_id nobody = {f.size, 0}, no_worker = {0, 1};
    EXPECT(TERN_ERR_ARGUMENT, tern_call(NULL, tern_by_message(to(0)), &receive_function, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_call(f.worker, tern_by_message(to(0)), NULL, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call(f.worker, tern_by_message(to(0)), &receive_function, NULL, 1));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_try(f.worker, tern_by_message(nobody), &receive_function, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call(tern_context_caller(f.context), no_worker, &receive_function, NULL, 0));
    EXPECT_DETAIL("no worker 1 of rank 0");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call(tern_context_caller(NULL), to(0), &receive_function, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_try(tern_context_caller(NULL), to(0), &receive_function, NULL, 0));
    EXPECT_DETAIL("worker or function is NULL");
    EXPECT_OK(tern_function_register(&late));
    EXPECT(TERN_ERR_NOT_FOUND, tern_call(f.worker, tern_by_message(to(0)), &late, NULL, 0));
    EXPECT_DETAIL("registered too late");
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* A target that makes no progress takes calls up to the credit and no more. Those arrive later. */
static void no_credit(void) {
    if (!open_with(0))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t accepted = 0, *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size;
    static unsigned char arguments[10000];
    for (int wave = 0; wave < 4; wave++) {
        tern_status status = TERN_OK;
        uint64_t before = accepted, cost = 64 + sizeof arguments,
                 fit = TERN_MESSAGE_CREDIT_BYTES / cost;
        meet_without_progress();
        if (f.rank % 2 == (uint32_t)wave % 2) {
            for (uint64_t i = 0; i <= fit && status == TERN_OK; i++) {
                compose(arguments, f.rank, accepted, sizeof arguments);
                status = wave < 2 ? tern_call_try(f.worker, tern_by_message(to(next)),
                                                  &receive_function, arguments, sizeof arguments)
                                  : tern_call_try(tern_context_caller(f.context), to(next),
                                                  &receive_function, arguments, sizeof arguments);
                accepted += status == TERN_OK;
            }
            if (f.size % 2 == 0 || f.size == 1)
                CU_ASSERT_EQUAL(status, TERN_ERR_AGAIN);
            /* What the target has not told of is less than half. */
            CU_ASSERT(accepted - before <= fit && accepted - before >= fit / 2 - 1);
        }
        meet_without_progress();
        EXPECT_OK(tern_quiesce(f.worker));
        EXPECT_OK(tern_barrier(f.worker));
    }
    fixture_share(&f, &accepted, sizeof accepted, all);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    CU_ASSERT_EQUAL(arrived.next[(f.rank + f.size - 1) % f.size],
                    all[(f.rank + f.size - 1) % f.size]);
    free(all);
    fixture_close(&f);
}

static uint64_t count_told;

static tern_status be_told(tern_call_info *call, const void *arguments, size_t bytes) {
    arrived.wrong += bytes != 600 || call->buffer_bytes != 8 || memcmp(arguments, "told", 4) != 0;
    count_told++;
    return TERN_OK;
}
TERN_FUNCTION(be_told)

/* More broadcasts of every rank, at the same time, than credit allows: those whose children have
 * no room let others run. */
static void broadcasts_flood(void) {
    if (!open_with(0))
        return;
    static char arguments[600] = "told", buffer[8];
    count_told = 0;
    EXPECT_OK(tern_barrier(f.worker));
    const uint64_t times = (uint64_t)fixture_times(&f, 4000);
    for (uint64_t i = 0; i < times; i++) {
        const tern_call_options options = {.full = i % 3 == 0 ? TERN_FULL_FAIL : TERN_FULL_WAIT,
                                           .transfer = TERN_BUFFER_INSIDE,
                                           .buffer = buffer,
                                           .buffer_bytes = sizeof buffer,
                                           .arity = 1 + (uint32_t)i % 2,
                                           .by_message = true};
        tern_worker *caller = i % 3 == 0 ? tern_context_caller(f.context) : f.worker;
        tern_status status;
        while ((status = tern_call_all(caller, &be_told_function, arguments, sizeof arguments,
                                       &options)) == TERN_ERR_AGAIN)
            tern_progress(f.worker);
        EXPECT(TERN_OK, status);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(count_told, times * f.size);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    fixture_close(&f);
}

/* What large calls by threads take of the segment is free when they have run. */
static void memory_comes_back(void) {
    if (!open_with(0))
        return;
    enum { LARGE = 200000, TIMES = 12 }; /* together more than the segment */
    unsigned char *arguments = malloc(LARGE);
    tern_segment_info before, after;
    EXPECT_OK(tern_barrier(f.worker));
    tern_segment_get_info(f.context, &before);
    const uint32_t next = (f.rank + 1) % f.size;
    for (uint64_t i = 0; i < TIMES; i++) {
        compose(arguments, f.rank, i, LARGE);
        EXPECT(TERN_OK, send_either(i, to(next), &receive_function, arguments, LARGE));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    tern_progress(f.worker);
    tern_segment_get_info(f.context, &after);
    CU_ASSERT_EQUAL(after.in_use, before.in_use);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    CU_ASSERT_EQUAL(arrived.next[(f.rank + f.size - 1) % f.size], TIMES);
    free(arguments);
    fixture_close(&f);
}

/* Messages that no call sends are refused and counted, and what is good behind them runs. */
static void hostile(void) {
    if (!open_with(0))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t victim = f.size - 1;
    enum { BIG = sizeof(tern_extension) + 8 };
    static const tern_extension nobody = {.arguments = 8, .origin = UINT32_MAX};
    char payload[BIG] = "12345678";
    memcpy(payload, &nobody, sizeof nobody);
    const tern_message bad[] = {
        {.offset = TERN_RECORD_CALL | 9999 << 8, .bytes = 8},   /* no such function */
        {.offset = TERN_RECORD_CALL_RETURN, .bytes = 8},        /* nowhere to answer */
        {.offset = TERN_RECORD_CALL_EXTENDED, .bytes = 8},      /* no room for an extension */
        {.offset = TERN_RECORD_CALL_EXTENDED, .bytes = BIG},    /* of a worker there is not */
        {.offset = TERN_RECORD_CALL_BUFFER, .bytes = 8},        /* goes over rings only */
        {.offset = TERN_RECORD_NOTIFY, .bytes = 8},             /* no call */
        {.bytes = 9},                                           /* another size */
        {.bytes = 8, .operand = {1, 0}},                        /* no such origin */
        {.target = f.size, .bytes = 8},                         /* no such worker */
        {.kind = TERN_MESSAGE_INBOX_TAKEN, .operand = {65, 0}}, /* more than was sent */
    };
    enum { BAD = sizeof bad / sizeof bad[0] };
    if (f.rank == 0 && victim > 0) {
        EXPECT_OK(
            tern_call(f.worker, tern_by_message(to(victim)), &receive_nothing_function, NULL, 0));
        for (size_t i = 0; i < BAD; i++) {
            tern_message message = bad[i];
            if (message.kind == 0)
                message.kind = TERN_MESSAGE_INBOX;
            message.origin = 0;
            if (message.target == 0)
                message.target = victim;
            EXPECT_OK(tern_message_send(f.worker, victim, &message, payload,
                                        message.bytes == BIG ? BIG : 8));
        }
        /* Of a thread that has given up. */
        tern_cell late = {.status = 0, .bytes = 8};
        atomic_init(&late.sequence, 77);
        EXPECT_OK(tern_thread_reply_send(f.worker, victim, &late));
        EXPECT_OK(
            tern_call(f.worker, tern_by_message(to(victim)), &receive_nothing_function, NULL, 0));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    if (f.rank == victim && victim > 0) {
        tern_stats stats;
        tern_stats_get(f.worker, &stats);
        CU_ASSERT_EQUAL(stats.records_malformed, BAD);
        CU_ASSERT_EQUAL(count_empty, 2);
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static uint64_t answers;

static tern_status take_answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    answers += bytes == TERN_MESSAGE_MAX;
    return TERN_OK;
}
TERN_FUNCTION(take_answer)

/* Answers with many more bytes, or stays until it can. */
static tern_status ask_for_answer(tern_call_info *call, const void *arguments, size_t bytes) {
    static const unsigned char answer[TERN_MESSAGE_MAX];
    (void)arguments;
    (void)bytes;
    return tern_call(call->worker, tern_by_message(call->origin), &take_answer_function, answer,
                     sizeof answer);
}
TERN_FUNCTION(ask_for_answer)

/* All ranks flood all others with calls that are answered: no credit in either direction. */
static void handlers_call_back(void) {
    if (!open_with(0))
        return;
    static unsigned char arguments[40];
    answers = 0;
    EXPECT_OK(tern_barrier(f.worker));
    int times = fixture_times(&f, 1500);
    for (int i = 0; i < times; i++)
        EXPECT_OK(tern_call(f.worker, tern_by_message(to((f.rank + (uint32_t)i) % f.size)),
                            &ask_for_answer_function, arguments, sizeof arguments));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(answers, (uint64_t)times);
    fixture_close(&f);
}

static uint64_t leaves;

/* A tree of calls: two of half the depth each, the one by message, the other through a ring. */
static tern_status grow(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(grow)

static tern_status grow(tern_call_info *call, const void *arguments, size_t bytes) {
    uint32_t depth = 0;
    memcpy(&depth, arguments, bytes < sizeof depth ? bytes : sizeof depth);
    tern_context *context = tern_worker_context(call->worker);
    uint32_t rank = tern_context_rank(context), size = tern_context_size(context);
    if (depth-- == 0) {
        leaves++;
        return TERN_OK;
    }
    tern_status status = tern_call(call->worker, tern_by_message(to((rank + 1) % size)),
                                   &grow_function, &depth, sizeof depth);
    if (status != TERN_OK)
        return status;
    return tern_call(call->worker, to((rank + depth) % size), &grow_function, &depth, sizeof depth);
}

static void trees(void) {
    if (!open_with(0))
        return;
    leaves = 0;
    uint32_t depth = 6;
    uint64_t times = (uint64_t)fixture_times(&f, 20), sum;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < times; i++)
        EXPECT_OK(tern_call(f.worker, tern_by_message(to((uint32_t)i % f.size)), &grow_function,
                            &depth, sizeof depth));
    EXPECT_OK(tern_quiesce(f.worker));
    uint64_t *all = calloc(f.size, sizeof *all);
    fixture_share(&f, &leaves, sizeof leaves, all);
    sum = 0;
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    CU_ASSERT_EQUAL(sum, f.size * times << depth);
    free(all);
    fixture_close(&f);
}

static int refusals_left;

/* Is run again until it has had enough, and nothing of its caller before it. */
static tern_status run_again(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return refusals_left-- > 0 ? TERN_ERR_AGAIN : TERN_OK;
}
TERN_FUNCTION(run_again)

static tern_status run_behind(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    count_empty += bytes == 0;
    arrived.wrong += refusals_left >= 0;
    return TERN_OK;
}
TERN_FUNCTION(run_behind)

static void stays_at_the_head(void) {
    if (!open_with(0))
        return;
    refusals_left = 5;
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(tern_call(f.worker, tern_by_message(to(next)), &run_again_function, NULL, 0));
    EXPECT_OK(tern_call(f.worker, tern_by_message(to(next)), &run_behind_function, NULL, 0));
    while (count_empty == 0)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(refusals_left, -1);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

static _Atomic uint32_t served, misplaced;

static tern_status at_service(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    misplaced += tern_worker_self(call->worker).index == 0 || bytes != 100;
    served++;
    return TERN_OK;
}
TERN_FUNCTION(at_service)

/* The application's worker sleeps: calls to the process run meanwhile, and those to the worker are
 * delivered, over remote transports by the service thread, and wait for it. */
static void asleep(void) {
    if (!open_with(1))
        return;
    static unsigned char arguments[100];
    served = misplaced = 0;
    EXPECT_OK(tern_barrier(f.worker));
    meet_without_progress();
    if (f.rank != 0) {
        compose(arguments, f.rank, 0, sizeof arguments);
        EXPECT_OK(tern_call(f.worker, tern_by_message(to(0)), &receive_function, arguments, 100));
        EXPECT_OK(tern_call(f.worker, tern_by_message(tern_context_service(f.context, 0)),
                            &at_service_function, arguments, 100));
    } else {
        const tern_inbox *inbox = &tern_rma_worker_of(f.worker)->inbox;
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, f.size - 1, &transport));
        while (served < f.size - 1 ||
               (transport != TERN_SHM &&
                atomic_load_explicit(&inbox->arrived, memory_order_relaxed) == NULL))
            usleep(200);
        for (uint32_t r = 1; r < f.size; r++)
            CU_ASSERT_EQUAL(arrived.next[r], 0);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    for (uint32_t r = 1; f.rank == 0 && r < f.size; r++)
        CU_ASSERT_EQUAL(arrived.next[r], 1);
    CU_ASSERT_EQUAL(misplaced, 0);
    fixture_close(&f);
}

/* Destroying runs what is still under way: the largest message, what is lent, a broadcast. */
static void destroyed_at_once(void) {
    if (!open_with(0))
        return;
    enum { LARGE = 100000 };
    static char told[600] = "told", buffer[8];
    unsigned char *arguments = malloc(LARGE);
    tern_worker *caller = tern_context_caller(f.context);
    const tern_call_options inside = {
        .transfer = TERN_BUFFER_INSIDE, .buffer = buffer, .buffer_bytes = sizeof buffer};
    count_told = 0;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_call_all(caller, &be_told_function, told, sizeof told, &inside));
    compose(arguments, f.rank, 0, TERN_MESSAGE_MAX);
    for (uint32_t r = 0; r < f.size; r++)
        EXPECT_OK(tern_call(f.worker, tern_by_message(to(r)), &receive_function, arguments,
                            TERN_MESSAGE_MAX));
    compose(arguments, f.rank, 1, LARGE);
    for (uint32_t r = 0; r < f.size; r++)
        EXPECT_OK(tern_call(caller, to(r), &receive_function, arguments, LARGE));
    uint32_t size = f.size;
    fixture_close(&f);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    CU_ASSERT_EQUAL(count_told, size);
    for (uint32_t r = 0; r < size; r++)
        CU_ASSERT_EQUAL(arrived.next[r], 2);
    free(arguments);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"order", order},
        {"edges", edges},
        {"refusals", refusals},
        {"no credit", no_credit},
        {"hostile", hostile},
        {"handlers call back", handlers_call_back},
        {"trees", trees},
        {"stays at the head", stays_at_the_head},
        {"asleep", asleep},
        {"destroyed at once", destroyed_at_once},
        {"broadcasts flood", broadcasts_flood},
        {"memory comes back", memory_comes_back},
    };
    return tern_test_main(argc, argv, "call_message", tests, sizeof tests / sizeof tests[0]);
}
