// tern-test: transports
/*
 * Records of calls that no correct origin writes, over every transport: each is reported and
 * counted, and neither it nor what its ring holds behind it is run; all other rings go on.
 */

#include <sched.h>
#include <stdlib.h>

#include "hostile.h"
#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "src/progress/wait.h"

enum { ROOM = sizeof(tern_extension) + 16 };

static fixture f;
static uint64_t ran;

static tern_status run(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    ran++;
    return TERN_OK;
}
TERN_FUNCTION(run)

typedef struct {
    const char *name;
    unsigned kind;
    uint32_t id;
    size_t bytes, said; /* of the payload, and what the header says */
    tern_extension e;   /* of extended calls */
    uint64_t arguments; /* bytes, of calls with a buffer */
} hostile;

/* Is right but for what is then changed. */
static tern_extension plain(void) {
    return (tern_extension){.arguments = 8,
                            .transfer = TERN_BUFFER_INSIDE,
                            .buffer_bytes = 8,
                            .origin = f.rank * f.context->workers};
}

#define EXTENDED(text, ...)                                                                        \
    do {                                                                                           \
        hostile *h = &all[count++];                                                                \
        *h = (hostile){text, TERN_RECORD_CALL_EXTENDED, 0, ROOM, ROOM, plain(), 0};                \
        __VA_ARGS__;                                                                               \
    } while (0)

#define WITH_BUFFER(text, bytes, arguments)                                                        \
    (all[count++] = (hostile){text, TERN_RECORD_CALL_BUFFER, 0, bytes, bytes, plain(), arguments})

/* As many as there are workers, at the most. */
enum { MOST = 30 };

static size_t list(hostile *all) {
    static const struct {
        const char *name;
        unsigned kind;
        uint32_t id;
        size_t bytes, said;
    } simple[] = {
        {"a function beyond the last", TERN_RECORD_CALL, 9999, 8, 8},
        {"the largest id", TERN_RECORD_CALL, 0xffffff, 8, 8},
        {"longer than the ring", TERN_RECORD_CALL, 0, 8, 8192},
        {"the largest length", TERN_RECORD_CALL, 0, 8, UINT32_MAX},
        {"an answer from no function", TERN_RECORD_CALL_RETURN, 9999, 40, 40},
        {"no room for where to answer", TERN_RECORD_CALL_RETURN, 0, 8, 8},
        {"an answer that is too long", TERN_RECORD_CALL_RETURN, 0, 40, 8192},
        {"an extension that is too long", TERN_RECORD_CALL_EXTENDED, 0, 40, UINT32_MAX},
        {"of the other channel", TERN_RECORD_NOTIFY, 0, 8, 8},
        {"of no kind", TERN_RECORD_NONE, 7, 8, 8},
        {"of a kind there is not", TERN_RECORD_KINDS, 0, 8, 8},
        {"of the last kind", 255, 0, 8, 8},
    };
    size_t count = sizeof simple / sizeof simple[0];
    for (size_t i = 0; i < count; i++)
        all[i] = (hostile){simple[i].name,
                           simple[i].kind,
                           simple[i].id,
                           simple[i].bytes,
                           simple[i].said,
                           plain(),
                           0};
    EXTENDED("cut short", h->said = sizeof h->e - 8);
    EXTENDED("more arguments than there are", h->e.arguments = UINT32_MAX);
    EXTENDED("arguments up to the buffer's end", h->e.arguments = 17);
    EXTENDED("more of a buffer than there is", h->e.buffer_bytes = 9);
    EXTENDED("a buffer without end", h->e.buffer_bytes = UINT64_MAX);
    EXTENDED("a transfer there is not", h->e.transfer = TERN_BUFFER_CHUNKS_ASIDE + 1);
    EXTENDED("a time there is not", h->e.notify = 2);
    EXTENDED("of a worker there is not", h->e.origin = f.size * f.context->workers);
    EXTENDED("a counter that is nowhere",
             h->e.counter = (tern_ptr){f.rank, 0, 0, UINT64_C(1) << 50});
    EXTENDED("a counter of a rank there is not", h->e.counter = (tern_ptr){f.size, 0, 0, 4096});
    EXTENDED("a function there is not", h->id = 9999);
    EXTENDED("an answer to a cell there is not", h->e.answer.cell = TERN_CELL_OF_THREAD + 1);
    EXTENDED("a flag there is not", h->e.flags = 4);
    EXTENDED("lent by nobody", h->e.lent = 1);
    WITH_BUFFER("no room for the arguments' length", 7, 0);
    WITH_BUFFER("one more byte of arguments than there is", 16, 9);
    WITH_BUFFER("arguments without end", 16, UINT64_MAX);
    return count;
}

static bool open_workers(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1;
    config.workers = MOST;
    config.log_level = TERN_LOG_NONE;
    ran = 0;
    return fixture_open(&f, &config) && EXPECT_OK(tern_barrier(f.worker));
}

/* Each by the first worker to another one of the next rank, with a good call behind it. */
static void send(const hostile *h, tern_worker_id to) {
    tern_out *out = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    uint32_t number = to.rank * f.context->workers + to.index;
    while ((status = tern_ring_open(f.worker, number, &out)) == TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    if (!EXPECT_OK(status))
        return;
    const void *payload = h->kind == TERN_RECORD_CALL_EXTENDED && h->bytes == ROOM ? &h->e : NULL;
    unsigned char room[ROOM] = {0};
    if (payload != NULL)
        memcpy(room, payload, sizeof h->e);
    if (h->kind == TERN_RECORD_CALL_BUFFER)
        memcpy(room, &h->arguments, sizeof h->arguments);
    EXPECT_OK(
        inject_record(f.worker, out, tern_record_header(h->kind, h->id, h->said), room, h->bytes));
    tern_ring_publish(f.worker, out);
    EXPECT_OK(tern_call_try(f.worker, to, &run_function, NULL, 0));
}

static void wait_for_all(size_t count, tern_worker **workers, const hostile *all) {
    for (size_t i = 0; i < count; i++) {
        tern_stats stats = {0};
        for (double end = MPI_Wtime() + TERN_TEST_PATIENCE;
             stats.records_malformed == 0 && MPI_Wtime() < end;) {
            tern_progress(f.worker);
            tern_progress(workers[i]);
            tern_stats_get(workers[i], &stats);
            sched_yield();
        }
        for (int k = 0; k < 20; k++)
            tern_progress(workers[i]);
        tern_stats_get(workers[i], &stats);
        if (stats.records_malformed != 1)
            fprintf(stderr, "%s: counted %llu times\n", all[i].name,
                    (unsigned long long)stats.records_malformed);
        CU_ASSERT_EQUAL(stats.records_malformed, 1);
        CU_ASSERT_EQUAL(stats.calls_executed, 0);
    }
}

static void every_record(void) {
    static hostile all[MOST];
    tern_worker *workers[MOST];
    if (!open_workers())
        return;
    size_t count = list(all);
    CU_ASSERT_FATAL(count < MOST);
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    for (uint32_t i = 0; i < count; i++)
        EXPECT_OK(tern_worker_adopt(f.context, i + 1, &workers[i]));
    for (uint32_t i = 0; i < count; i++)
        send(&all[i], (tern_worker_id){next.rank, i + 1});
    wait_for_all(count, workers, all);
    EXPECT_OK(tern_call_return(f.worker, next, &run_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(ran, 1);
    /* The good calls behind them are lost. */
    EXPECT(TERN_ERR_STATE, tern_quiesce(f.worker));
    EXPECT_DETAIL("malformed");
    for (uint32_t i = 0; i < count; i++)
        EXPECT_OK(tern_worker_release(workers[i]));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"every_record", every_record}};
    return tern_test_main(argc, argv, "call_hostile", tests, 1);
}
