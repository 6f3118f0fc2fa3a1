// tern-test: transports

/* Calls by message of threads that have no worker and do not live long. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "call_tools.h"
#include "tern/archive.h"

enum { WORKERS = 2, THREADS = 5, GENERATIONS = 3 };

static fixture f;
static tern_worker *second;
static int pretended_level = -1;

int PMPI_Query_thread(int *level) {
    int code = MPI_Query_thread(level);
    if (pretended_level >= 0)
        *level = pretended_level;
    return code;
}

/* What each thread sends to each worker: its own number and that of the call. */
typedef struct {
    uint32_t thread, number;
    uint32_t bytes;
} ticket;

/* Of each worker of this process; touched by its thread only. */
static struct {
    uint32_t next[RANKS][GENERATIONS * THREADS];
    uint64_t wrong, runs;
} seen[WORKERS + 1];

static tern_status check(tern_call_info *call, const void *arguments, size_t bytes) {
    ticket t = {0, 0, 0};
    uint32_t at = tern_worker_self(call->worker).index;
    memcpy(&t, arguments, bytes < sizeof t ? bytes : sizeof t);
    seen[at].wrong += t.bytes != bytes || call->origin.index != TERN_NO_WORKER ||
                      t.number != seen[at].next[call->origin.rank][t.thread]++;
    seen[at].wrong += ((const unsigned char *)arguments)[bytes - 1] != (unsigned char)t.thread;
    seen[at].runs++;
    return TERN_OK;
}
TERN_FUNCTION(check)

static struct {
    pthread_t id;
    uint32_t number;
    uint32_t sent[RANKS][WORKERS + 1];
    tern_status worst;
} thread[THREADS];

static int times, largest;
static uint32_t workers; /* of a process, with those of service threads */
static _Atomic int running;

/* Mostly small ones, to anybody. */
static void *live_shortly(void *argument) {
    size_t t = (size_t)(uintptr_t)argument;
    unsigned char *arguments = malloc((size_t)largest);
    uint64_t random = fixture_seed(&f, 1000 + thread[t].number);
    for (int i = 0; i < times; i++) {
        tern_worker_id target = {(uint32_t)below(&random, f.size),
                                 (uint32_t)below(&random, workers)};
        size_t bytes =
            sizeof(ticket) + 1 + below(&random, i % 10 == 0 ? (size_t)largest - 100 : 80);
        ticket mine = {thread[t].number, thread[t].sent[target.rank][target.index]++,
                       (uint32_t)bytes};
        memset(arguments, (int)mine.thread, bytes);
        memcpy(arguments, &mine, sizeof mine);
        tern_status status =
            tern_call(tern_context_caller(f.context), target, &check_function, arguments, bytes);
        if (status != TERN_OK)
            thread[t].worst = status;
    }
    free(arguments);
    running--;
    return NULL;
}

static void start(size_t t, uint32_t number, void *(*body)(void *)) {
    memset(&thread[t], 0, sizeof thread[t]);
    thread[t].number = number;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[t].id, NULL, body, (void *)(uintptr_t)t), 0);
}

static bool open_with(size_t application, size_t service) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.workers = application;
    config.service_threads = service;
    workers = (uint32_t)(application + service);
    memset(seen, 0, sizeof seen);
    if (!fixture_open(&f, &config))
        return false;
    if (application > 1)
        EXPECT_OK(tern_worker_adopt(f.context, 1, &second));
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

static atomic_bool over;

static void *work(void *argument) {
    while (!atomic_load(&over))
        if (tern_progress(argument) == 0)
            sched_yield();
    return NULL;
}

/* Generations of threads that send, while the workers make progress on threads of their own: each
 * call runs once, at its target, and those of a thread in their order. */
static void generations(size_t application, size_t service) {
    if (!open_with(application, service))
        return;
    static uint32_t sent[RANKS][WORKERS + 1];
    pthread_t other;
    memset(sent, 0, sizeof sent);
    times = fixture_times(&f, 200) / 2;
    largest = 20000;
    over = false;
    if (application > 1)
        pthread_create(&other, NULL, work, second);
    for (uint32_t g = 0; g < GENERATIONS; g++) {
        running = THREADS;
        for (size_t t = 0; t < THREADS; t++)
            start(t, g * THREADS + (uint32_t)t, live_shortly);
        while (running > 0)
            if (tern_progress(f.worker) == 0)
                sched_yield();
        for (size_t t = 0; t < THREADS; t++) {
            pthread_join(thread[t].id, NULL);
            CU_ASSERT_EQUAL(thread[t].worst, TERN_OK);
            for (uint32_t r = 0; r < f.size; r++)
                for (uint32_t w = 0; w < workers; w++)
                    sent[r][w] += thread[t].sent[r][w];
        }
    }
    EXPECT_OK(tern_quiesce(f.worker));
    over = true;
    if (application > 1) {
        pthread_join(other, NULL);
        EXPECT_OK(tern_worker_release(second));
    }
    uint32_t(*all)[RANKS][WORKERS + 1] = calloc(f.size, sizeof *all);
    fixture_share(&f, sent, sizeof sent, all);
    for (uint32_t w = 0; w < workers; w++) {
        uint64_t expected = 0;
        for (uint32_t r = 0; r < f.size; r++)
            expected += all[r][f.rank][w];
        CU_ASSERT_EQUAL(seen[w].runs, expected);
        CU_ASSERT_EQUAL(seen[w].wrong, 0);
    }
    free(all);
    fixture_close(&f);
}

static void to_one_worker(void) { generations(1, 0); }
static void to_workers(void) { generations(2, 0); }
static void to_the_process(void) { generations(1, 1); }

/* Many times the credit, to a worker that makes no progress at first: the threads wait. */
static void *flood(void *argument) {
    size_t t = (size_t)(uintptr_t)argument;
    static const unsigned char zeros[TERN_MESSAGE_MAX];
    unsigned char *arguments = malloc(sizeof zeros);
    uint32_t next = (f.rank + 1) % f.size;
    for (uint32_t i = 0; i < 20; i++) {
        ticket mine = {thread[t].number, i, sizeof zeros};
        memset(arguments, (int)mine.thread, sizeof zeros);
        memcpy(arguments, &mine, sizeof mine);
        tern_status status = tern_call(tern_context_caller(f.context), to(next), &check_function,
                                       arguments, sizeof zeros);
        if (status != TERN_OK)
            thread[t].worst = status;
    }
    free(arguments);
    running--;
    return NULL;
}

static void no_credit(void) {
    if (!open_with(1, 0))
        return;
    meet_without_progress(); /* all have left the barrier, in which calls run */
    running = 2;
    for (uint32_t t = 0; t < 2; t++)
        start(t, t, flood);
    for (int i = 0; i < 20; i++) {
        usleep(1000);
        CU_ASSERT_EQUAL(running, 2);
    }
    meet_without_progress();
    while (running > 0)
        tern_progress(f.worker);
    for (size_t t = 0; t < 2; t++) {
        pthread_join(thread[t].id, NULL);
        CU_ASSERT_EQUAL(thread[t].worst, TERN_OK);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen[0].runs, 40);
    CU_ASSERT_EQUAL(seen[0].wrong, 0);
    fixture_close(&f);
}

static tern_status double_it(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t n = 0;
    memcpy(&n, arguments, bytes < sizeof n ? bytes : sizeof n);
    n *= 2;
    memcpy(call->result, &n, sizeof n);
    call->result_bytes = sizeof n;
    return TERN_OK;
}
TERN_FUNCTION(double_it)

enum { MANY = 3 * TERN_CALL_REQUESTS };

/* Results take no reply cells: any number is under way. Those that come to nothing free theirs. */
static void *ask_many(void *argument) {
    static tern_request request[MANY];
    static uint64_t result[MANY];
    tern_worker *caller = tern_context_caller(f.context);
    uint64_t *wrong = argument, n;
    size_t index;
    tern_status status;
    memset(request, 0, sizeof request);
    for (n = 0; n < MANY; n++)
        *wrong += tern_call_start(caller, to((uint32_t)n % f.size), &double_it_function, &n,
                                  sizeof n, &result[n], n % 7 == 6 ? 4 : 8, &request[n]) != TERN_OK;
    for (n = 0; (status = tern_wait_any(caller, request, MANY, &index)), index < MANY; n++)
        *wrong += index % 7 == 6 ? status != TERN_ERR_RANGE
                                 : status != TERN_OK || result[index] != 2 * index ||
                                       tern_request_result(&request[index]) != 8;
    *wrong += n != MANY;
    running--;
    return NULL;
}

static void many_results(void) {
    if (!open_with(1, 0))
        return;
    pthread_t other;
    uint64_t wrong = 0;
    running = 1;
    pthread_create(&other, NULL, ask_many, &wrong);
    while (running > 0)
        tern_progress(f.worker);
    pthread_join(other, NULL);
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* What takes more than a call refuses the caller. */
static void refusals(void) {
    if (!open_with(1, 0))
        return;
    tern_worker *caller = tern_context_caller(f.context);
    tern_writer writer;
    static char data[100];
    tern_ptr word = TERN_NULL;
    CU_ASSERT_PTR_NULL(tern_context_caller(NULL));
    EXPECT(TERN_ERR_STATE, tern_barrier(caller));
    EXPECT(TERN_ERR_STATE, tern_quiesce(caller));
    EXPECT(TERN_ERR_STATE, tern_worker_release(caller));
    CU_ASSERT_EQUAL(tern_progress(caller), 0);
    EXPECT(TERN_ERR_ARGUMENT, tern_call_policy(caller, to(0), TERN_PUBLISH_WRITE, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_flush(caller, to(0)));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_flush_all(caller));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_policy(f.worker, tern_by_message(to(0)), TERN_PUBLISH_WRITE, 0));
    tern_worker_id unknown = {TERN_NO_WORKER, TERN_NO_WORKER};
    EXPECT(TERN_ERR_ARGUMENT, tern_call(caller, unknown, &check_function, data, 1));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call(caller, tern_by_message((tern_worker_id){0, 9}), &check_function, data, 1));
    EXPECT_DETAIL("no worker 9 of rank 0");
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1000));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 1));
    EXPECT_OK(tern_write_items(&writer, TERN_ITEM_UNSIGNED, 1, data, sizeof data));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_call_archive(caller, to(0), &check_function, &writer, NULL));
    tern_writer_close(&writer);
    EXPECT_OK(tern_alloc(f.worker, 8, 0, TERN_DOMAIN_OWNER, &word));
    const tern_call_options elsewhere = {
        .transfer = TERN_BUFFER_PUT, .place = {f.size, 0, 0, 0}, .buffer = data, .buffer_bytes = 8};
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_with(caller, to(f.rank), &check_function, data, 1, &elsewhere));
    const tern_call_options outside = {.transfer = TERN_BUFFER_PUT,
                                       .place = {f.rank, 0, 0, UINT64_C(1) << 50},
                                       .buffer = data,
                                       .buffer_bytes = 8};
    EXPECT(TERN_ERR_RANGE, tern_call_with(caller, to(f.rank), &check_function, data, 1, &outside));
    EXPECT_OK(tern_free(f.worker, word));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen[0].runs, 0);
    fixture_close(&f);
}

static tern_status refused[2];
static bool named[2];

static void *call_where_mpi_forbids(void *argument) {
    unsigned char none = 0;
    refused[0] = tern_call(tern_context_caller(argument), to(0), &check_function, &none, 1);
    named[0] = strstr(tern_error_detail(), "MPI_THREAD_SERIALIZED") != NULL;
    refused[1] = tern_call_try(tern_context_caller(argument), to(0), &check_function, &none, 1);
    named[1] = strstr(tern_error_detail(), "by another thread") != NULL;
    return NULL;
}

/* The last test: from here on the process has one thread for MPI. */
static void thread_level(void) {
    pretended_level = MPI_THREAD_FUNNELED;
    if (!open_with(1, 0))
        return;
    pthread_t other;
    pthread_create(&other, NULL, call_where_mpi_forbids, f.context);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++)
        CU_ASSERT(refused[i] == TERN_ERR_STATE && named[i]);
    ticket mine = {0, 0, sizeof mine};
    EXPECT_OK(
        tern_call(tern_context_caller(f.context), to(f.rank), &check_function, &mine, sizeof mine));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(seen[0].runs, 1);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"to one worker", to_one_worker},   {"to workers", to_workers},
        {"to the process", to_the_process}, {"no credit", no_credit},
        {"many results", many_results},     {"refusals", refusals},
        {"thread level", thread_level},
    };
    return tern_test_main(argc, argv, "call_message_threads", tests,
                          sizeof tests / sizeof tests[0]);
}
