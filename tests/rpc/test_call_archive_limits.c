// tern-test: transports

/* Calls that carry archives: what they may hold at most, and what is refused. */

#include "letters.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "rpc/archive/fetch.h"

/* An index that no ring takes goes as a chunk. */
static void long_index(void) {
    enum { ITEMS = 600 };
    if (!open_with(4096, TERN_CMA_AUTO))
        return;
    forget();
    uint32_t next = (f.rank + 1) % f.size;
    for (uint64_t arrays = 0; arrays <= ITEMS; arrays += ITEMS / 4) {
        tern_writer writer;
        uint32_t values[240];
        begin(&writer, arrays, arrays);
        for (uint64_t i = 0; i < arrays; i++) {
            fill(values, i % 240, arrays * 16 + f.rank * 1000 + i);
            EXPECT_OK(TERN_WRITE(&writer, values, i % 240));
        }
        tern_archive_options options = {.reusable = &reusable, .executed = &executed};
        EXPECT_OK(tern_call_archive(f.worker, to(next), &open_letter_function, &writer, &options));
        tern_writer_close(&writer);
    }
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    EXPECT_OK(tern_synchronizer_wait(f.worker, executed));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 5);
    CU_ASSERT_EQUAL(found.wrong, 0);
    forget();
    close_all();
}

/* Many chunks in one call: as many as half a ring lists, and one more. */
static void many_chunks(void) {
    if (!open_with(4096, TERN_CMA_AUTO))
        return;
    forget();
    static const char shared[1000];
    uint32_t next = (f.rank + 1) % f.size;
    for (uint64_t chunks = 1; chunks < 100; chunks++) {
        tern_writer writer;
        head h = {chunks, 0, 0, 0};
        EXPECT_OK(tern_writer_open(&writer, NULL, 0, (size_t)1 << 20));
        EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
        EXPECT_OK(TERN_WRITE(&writer, &h, 1));
        for (uint64_t i = 0; i < chunks; i++)
            EXPECT_OK(TERN_WRITE(&writer, shared, sizeof shared));
        tern_status status =
            tern_call_archive(f.worker, to(next), &open_letter_function, &writer, NULL);
        tern_writer_close(&writer);
        if (status == TERN_OK)
            continue;
        EXPECT(TERN_ERR_RANGE, status);
        EXPECT_DETAIL("TERN_RING_SIZE=4096");
        CU_ASSERT(chunks > 50);
        found.next[0] = chunks;
        break;
    }
    CU_ASSERT(found.next[0] > 0);
    EXPECT_OK(tern_quiesce(f.worker));
    /* The function reads none of them, and says so. */
    CU_ASSERT_EQUAL(found.run, found.next[0] - 1);
    CU_ASSERT_EQUAL(found.wrong, found.run);
    forget();
    close_all();
}

/* More calls than may be under way, to a target that makes no progress. */
static void as_many_as_there_may_be(void) {
    if (!open_with(16384, TERN_CMA_AUTO))
        return;
    forget();
    uint32_t next = (f.rank + 1) % f.size, sent = 0;
    uint32_t *values = malloc(4000);
    tern_archive_options options = {.full = TERN_FULL_QUEUE, .reusable = &reusable};
    tern_status status = TERN_OK;
    while (status == TERN_OK && sent <= TERN_CALL_REQUESTS) {
        tern_writer writer;
        begin(&writer, sent, 1);
        fill(values, 1000, f.rank * 1000);
        EXPECT_OK(TERN_WRITE(&writer, values, 1000));
        status = tern_call_archive(f.worker, to(next), &open_letter_function, &writer, &options);
        sent += status == TERN_OK;
        tern_writer_close(&writer);
        meet_without_progress();
    }
    EXPECT(TERN_ERR_AGAIN, status);
    CU_ASSERT_EQUAL(sent, TERN_CALL_REQUESTS);
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, TERN_CALL_REQUESTS);
    free(values);
    forget();
    close_all();
}

static void refused(void) {
    if (!open_with(16384, TERN_CMA_AUTO))
        return;
    tern_writer writer;
    begin(&writer, 0, 0);
    const tern_function *letter = &open_letter_function;
    tern_archive_options options = {.full = (tern_full)9};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_archive(NULL, to(0), letter, &writer, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_archive(f.worker, to(0), NULL, &writer, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_archive(f.worker, to(0), letter, NULL, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_archive(f.worker, to(f.size), letter, &writer, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_archive(f.worker, to(0), letter, &writer, &options));
    size_t most = (size_t)TERN_CHUNK_MAX + 1;
    char *huge = mmap(NULL, most, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_OK(tern_write_items(&writer, TERN_ITEM_BYTES, 1, huge, most));
    options = (tern_archive_options){.reusable = &reusable, .executed = &executed};
    EXPECT(TERN_ERR_RANGE, tern_call_archive(f.worker, to(0), letter, &writer, &options));
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    EXPECT_OK(tern_synchronizer_wait(f.worker, executed));
    (void)tern_writer_fail(&writer, TERN_ERR_MISMATCH);
    EXPECT(TERN_ERR_MISMATCH, tern_call_archive(f.worker, to(0), letter, &writer, &options));
    tern_writer_close(&writer);
    munmap(huge, most);
    EXPECT_OK(tern_quiesce(f.worker));
    close_all();
}

/* As many chunks as a call may have, with an archive that no ring takes: it would be one more. */
static void one_too_many(void) {
    if (!open_with((size_t)1 << 20, TERN_CMA_AUTO))
        return;
    forget();
    static const uint32_t index[110000];
    for (size_t chunks = TERN_CALL_CHUNKS_MAX - 1; chunks <= TERN_CALL_CHUNKS_MAX; chunks++) {
        tern_writer writer;
        EXPECT_OK(tern_writer_open(&writer, NULL, 0, (size_t)1 << 24));
        EXPECT_OK(TERN_WRITE(&writer, index, 110000));
        EXPECT_OK(tern_writer_share(&writer, f.worker, 8));
        for (size_t i = 0; i < chunks; i++)
            EXPECT_OK(TERN_WRITE(&writer, &index[2 * i], 2));
        EXPECT(chunks < TERN_CALL_CHUNKS_MAX ? TERN_OK : TERN_ERR_RANGE,
               tern_call_archive(f.worker, to((f.rank + 1) % f.size), &open_letter_function,
                                 &writer, NULL));
        tern_writer_close(&writer);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 1); /* which cannot read it, and says so */
    forget();
    close_all();
}

static tern_status give_nothing(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    return bytes == 0 ? TERN_OK : TERN_ERR_RANGE;
}
TERN_FUNCTION(give_nothing)

/* Results that nobody has asked for take all cells: a call that waited for one would wait for its
 * own thread. */
static void results_take_all_cells(void) {
    if (!open_with(16384, TERN_CMA_AUTO))
        return;
    forget();
    static tern_request request[TERN_CALL_REQUESTS];
    memset(request, 0, sizeof request);
    tern_worker_id next = to((f.rank + 1) % f.size);
    for (size_t i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(
            tern_call_start(f.worker, next, &give_nothing_function, NULL, 0, NULL, 0, &request[i]));
    tern_writer writer;
    uint32_t *values = malloc(4000);
    fill(values, 1000, f.rank * 1000);
    begin(&writer, 0, 1);
    EXPECT_OK(TERN_WRITE(&writer, values, 1000));
    tern_archive_options options = {.reusable = &reusable, .executed = &executed};
    EXPECT(TERN_ERR_AGAIN,
           tern_call_archive(f.worker, next, &open_letter_function, &writer, &options));
    for (size_t i = 0; i < TERN_CALL_REQUESTS; i++)
        EXPECT_OK(tern_wait(f.worker, &request[i]));
    EXPECT_OK(tern_call_archive(f.worker, next, &open_letter_function, &writer, &options));
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    EXPECT_OK(tern_synchronizer_wait(f.worker, executed));
    tern_writer_close(&writer);
    free(values);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 1);
    CU_ASSERT_EQUAL(found.wrong, 0);
    forget();
    close_all();
}

typedef struct {
    tern_extension extension;
    struct {
        tern_return_address back;
        uint32_t count, index;
    } list; /* the head of a tern_chunk_list */
    tern_chunk_source source[2];
} hostile;
_Static_assert(offsetof(hostile, source) == sizeof(tern_extension) + sizeof(tern_chunk_list),
               "as in the record");

/* One thing of a call with two chunks is not as tern writes it. */
static void spoil(hostile *h, int what, size_t *bytes) {
    *bytes = sizeof *h;
    switch (what) {
    case 0:
        *bytes -= 8;
        h->extension.buffer_bytes -= 8;
        break;
    case 1:
        h->list.count = 0;
        break;
    case 2:
        h->list.count = UINT32_MAX;
        break;
    case 3:
        h->list.index = 2;
        break;
    case 4:
        h->list.back.cell = TERN_CALL_REQUESTS;
        break;
    case 5:
        h->source[1].bytes = 0;
        break;
    case 6:
        h->source[1].bytes = UINT64_MAX;
        break;
    case 7:
        h->source[1].gaddr.offset = UINT64_MAX - 8;
        break;
    case 8:
        h->source[1].gaddr.rank = 99;
        break;
    case 9:
        h->source[1].gaddr.segment = 700;
        break;
    case 10: /* no memory of this process */
        h->source[1] = (tern_chunk_source){TERN_NULL, 1, 1000};
        break;
    default:
        *bytes = sizeof h->extension;
        h->extension.buffer_bytes = 0;
    }
}
enum { SPOILT = 12 };

/* Lists that no tern writes: nothing is run, nothing is written, and calls go on. */
static void hostile_lists(void) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int what = 0; what < SPOILT && rank == 0; what++) {
        tern_config config;
        EXPECT_OK(tern_config_init(&config));
        config.segment_size = (size_t)1 << 20;
        if (!fixture_open_on(&f, MPI_COMM_SELF, &config))
            return;
        memset(&found, 0, sizeof found);
        tern_log_set_level(TERN_LOG_NONE);
        tern_ptr memory;
        EXPECT_OK(tern_alloc(f.worker, 1000, 0, TERN_DOMAIN_GLOBAL, &memory));
        hostile h = {.extension = {.transfer = TERN_BUFFER_CHUNKS,
                                   .origin = f.rank,
                                   .buffer_bytes = sizeof h - sizeof h.extension},
                     .list = {.count = 2},
                     .source = {{memory, 0, 1000}, {memory, 0, 1000}}};
        size_t bytes = 0;
        spoil(&h, what, &bytes);
        uint32_t id = tern_record_id(tern_rpc_of(f.context)->header[open_letter_function.id]);
        tern_out *out = NULL;
        void *room = NULL;
        EXPECT_OK(tern_ring_open(f.worker, f.rank, &out));
        EXPECT_OK(tern_ring_reserve(f.worker, out, bytes, &room));
        memcpy(room, &h, bytes);
        tern_ring_commit(out, tern_record_header(TERN_RECORD_CALL_EXTENDED, id, bytes));
        tern_ring_publish(f.worker, out);
        for (int k = 0; k < 20; k++)
            tern_progress(f.worker);
        tern_stats stats;
        tern_stats_get(f.worker, &stats);
        if (stats.calls_refused != 1)
            printf("list %d was taken\n", what);
        CU_ASSERT_EQUAL(stats.calls_refused, 1);
        CU_ASSERT_EQUAL(found.run, 0);
        EXPECT_OK(tern_free(f.worker, memory));
        tern_log_set_level(TERN_LOG_WARN);
        f.worker->stats.calls_sent++; /* which quiesce counts */
        fixture_close(&f);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"long index", long_index},
        {"many chunks", many_chunks},
        {"as many as there may be", as_many_as_there_may_be},
        {"refused", refused},
        {"one too many", one_too_many},
        {"results take all cells", results_take_all_cells},
        {"hostile lists", hostile_lists},
    };
    return tern_test_main(argc, argv, "call_archive_limits", tests, sizeof tests / sizeof tests[0]);
}
