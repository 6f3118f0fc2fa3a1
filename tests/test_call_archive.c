// tern-test: transports

/* Calls that carry archives, whose large content is not copied at the caller's. */

#include "call_tools.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "rma/state.h"
#include "rpc/extended.h"
#include "rpc/fetch.h"

static fixture f;
static tern_synchronizer reusable, executed;

static bool open_with(size_t ring_size, tern_cross_memory cross) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)8 << 20;
    config.ring_size = ring_size;
    config.ring_growth = 1;
    config.zero_copy_min = 1000;
    config.cross_memory = cross;
    if (!fixture_open(&f, &config))
        return false;
    EXPECT_OK(tern_synchronizer_create(f.worker, &reusable));
    EXPECT_OK(tern_synchronizer_create(f.worker, &executed));
    return true;
}

static void close_all(void) {
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &reusable));
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &executed));
    fixture_close(&f);
}

/* What functions here find. */
static struct {
    uint64_t next[RANKS], run, wrong, vectors, again;
    tern_vector kept;
} found;

static void forget(void) {
    tern_vector_destroy(&found.kept);
    memset(&found, 0, sizeof found);
    EXPECT_OK(tern_barrier(f.worker));
}

static uint32_t value(uint64_t seed, size_t i) {
    return (uint32_t)(seed * 2654435761u + i * 40503);
}

static uint64_t wrong_values(const uint32_t *values, size_t count, uint64_t seed) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += values[i] != value(seed, i);
    return wrong;
}

static void fill(uint32_t *values, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        values[i] = value(seed, i);
}

/* The first item of every archive here. */
typedef struct {
    uint64_t number, in_order, arrays, again;
} head;

/* Arrays of both kinds in turn: read in place, and taken over. */
static tern_status open_letter(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_reader reader;
    head h = {0};
    if (tern_call_reader(call, arguments, bytes, &reader) == TERN_OK)
        (void)TERN_READ(&reader, &h, 1);
    if (found.again < h.again) {
        found.again++;
        return TERN_ERR_AGAIN;
    }
    found.again = 0;
    if (h.in_order)
        found.wrong += h.number != found.next[call->origin.rank]++;
    for (uint64_t i = 0; i < h.arrays && reader.status == TERN_OK; i++) {
        uint64_t seed = h.number * 16 + call->origin.rank * 1000 + i;
        const uint32_t *values = NULL;
        size_t count = 0;
        if (i % 2 == 0) {
            if (TERN_READ_ARRAY(&reader, &values, &count) == TERN_OK)
                found.wrong += wrong_values(values, count, seed);
            continue;
        }
        tern_vector v;
        if (TERN_READ_VECTOR(&reader, call->worker, uint32_t, &v) != TERN_OK)
            break;
        found.wrong += wrong_values(tern_vector_data(&v), tern_vector_count(&v), seed);
        found.vectors++;
        tern_vector_destroy(&found.kept);
        tern_vector_move(&v, &found.kept);
    }
    found.wrong += tern_reader_close(&reader) != TERN_OK;
    found.run++;
    return TERN_OK;
}
TERN_FUNCTION(open_letter)

/* Where the content of arrays may be. */
typedef enum { IN_HEAP, IN_VECTOR, IN_HEAP_VECTOR, IN_REGION, PLACES } place;

typedef struct {
    uint32_t *memory; /* IN_HEAP, IN_REGION */
    tern_ptr region;
    tern_vector vector;
    bool is_vector;
} matter;

static void make_content(matter *c, place where, size_t count, uint64_t seed) {
    *c = (matter){.is_vector = where == IN_VECTOR || where == IN_HEAP_VECTOR};
    if (c->is_vector) {
        EXPECT_OK(
            TERN_VECTOR_CREATE(where == IN_VECTOR ? f.worker : NULL, uint32_t, count, &c->vector));
        fill(tern_vector_data(&c->vector), count, seed);
        return;
    }
    c->memory = malloc(count * sizeof(uint32_t) + 1);
    fill(c->memory, count, seed);
    if (where == IN_REGION && count > 0)
        EXPECT_OK(tern_register(f.worker, c->memory, count * sizeof(uint32_t), &c->region));
}

static void write_content(tern_writer *writer, const matter *c, size_t count) {
    if (c->is_vector)
        EXPECT_OK(tern_write_vector(writer, &c->vector));
    else
        EXPECT_OK(TERN_WRITE(writer, c->memory, count));
}

/* What the memory held may not matter any more. */
static void end_content(matter *c, size_t count) {
    if (c->is_vector) {
        tern_vector_destroy(&c->vector);
        return;
    }
    memset(c->memory, 0xee, count * sizeof(uint32_t));
    if (!tern_ptr_is_null(c->region))
        EXPECT_OK(tern_deregister(f.worker, c->region));
    free(c->memory);
}

enum { ARRAYS = 6 };

/* Writes and sends one archive of random arrays, by any means; until it is taken. */
static void send_any(uint64_t *random, tern_writer *writer, tern_worker_id target, uint64_t number,
                     bool in_order) {
    head h = {number, in_order, below(random, ARRAYS + 1), below(random, 20) == 0};
    matter contents[ARRAYS];
    size_t counts[ARRAYS];
    EXPECT_OK(tern_writer_reset(writer));
    EXPECT_OK(TERN_WRITE(writer, &h, 1));
    for (uint64_t i = 0; i < h.arrays; i++) {
        size_t most = below(random, 4) == 0 ? 20000 : 300; /* 250 are shared */
        counts[i] = below(random, most);
        make_content(&contents[i], (place)below(random, PLACES), counts[i],
                     number * 16 + f.rank * 1000 + i);
        write_content(writer, &contents[i], counts[i]);
    }
    tern_archive_options options = {.full = (tern_full)below(random, 3),
                                    .reusable = &reusable,
                                    .executed = below(random, 2) == 0 ? &executed : NULL,
                                    .aside = !in_order && below(random, 2) == 0};
    tern_status status;
    while ((status = tern_call_archive(f.worker, target, &open_letter_function, writer,
                                       &options)) == TERN_ERR_AGAIN)
        tern_progress(f.worker);
    EXPECT_OK(status);
    /* Vectors are kept where they are needed; other memory only until it may be reused. */
    EXPECT_OK(tern_writer_reset(writer));
    for (uint64_t i = 0; i < h.arrays; i++)
        if (contents[i].is_vector)
            end_content(&contents[i], counts[i]);
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    for (uint64_t i = 0; i < h.arrays; i++)
        if (!contents[i].is_vector)
            end_content(&contents[i], counts[i]);
}

static void any_archive(tern_cross_memory cross, bool in_order) {
    if (!open_with(16384, cross))
        return;
    forget();
    uint64_t random = fixture_seed(&f, 90 + in_order), sent[RANKS] = {0}, all[RANKS * RANKS];
    tern_writer writer;
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, (size_t)1 << 20));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
    int times = fixture_times(&f, 600);
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, f.size);
        send_any(&random, &writer, to(r), sent[r]++, in_order);
    }
    tern_writer_close(&writer);
    EXPECT_OK(tern_synchronizer_wait(f.worker, executed));
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_share(&f, sent, sizeof sent, all);
    uint64_t wanted = 0;
    for (uint32_t r = 0; r < f.size; r++)
        wanted += all[r * RANKS + f.rank];
    CU_ASSERT_EQUAL(found.run, wanted);
    CU_ASSERT_EQUAL(found.wrong, 0);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, 0);
    forget();
    close_all();
}

static void in_order(void) { any_archive(TERN_CROSS_MEMORY_AUTO, true); }
static void aside(void) { any_archive(TERN_CROSS_MEMORY_AUTO, false); }
static void staged(void) { any_archive(TERN_CROSS_MEMORY_OFF, true); }

static void begin(tern_writer *writer, uint64_t number, uint64_t arrays) {
    head h = {number, 0, arrays, 0};
    EXPECT_OK(tern_writer_open(writer, NULL, 0, (size_t)1 << 24));
    EXPECT_OK(tern_writer_share(writer, f.worker, 0));
    EXPECT_OK(TERN_WRITE(writer, &h, 1));
}

/* One copy of what is shared, end to end, where ranks share memory; none at the caller's. */
static void one_copy(void) {
    enum { COUNT = 100000, TIMES = 5 };
    if (!open_with(16384, TERN_CROSS_MEMORY_AUTO))
        return;
    forget();
    uint32_t next = (f.rank + 1) % f.size;
    tern_vector vector;
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, uint32_t, COUNT, &vector));
    for (uint64_t i = 0; i < TIMES; i++) {
        tern_writer writer;
        begin(&writer, i, 2);
        uint64_t seed = i * 16 + f.rank * 1000;
        uint32_t small[10];
        fill(small, 10, seed);
        EXPECT_OK(tern_vector_own(&vector));
        fill(tern_vector_data(&vector), COUNT, seed + 1);
        EXPECT_OK(TERN_WRITE(&writer, small, 10));
        EXPECT_OK(tern_write_vector(&writer, &vector));
        EXPECT_OK(tern_call_archive(f.worker, to(next), &open_letter_function, &writer, NULL));
        tern_writer_close(&writer);
    }
    tern_vector_destroy(&vector);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, TIMES);
    CU_ASSERT_EQUAL(found.vectors, TIMES);
    CU_ASSERT_EQUAL(found.wrong, 0);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.bytes_got, (uint64_t)TIMES * COUNT * sizeof(uint32_t));
    if (fixture_all_near(&f))
        CU_ASSERT_EQUAL(stats.bytes_staged, 0);
    /* What was taken over lies in the segment, to be sent on as it is. */
    CU_ASSERT_EQUAL(tern_vector_place(&found.kept).rank, f.rank);
    CU_ASSERT(!tern_ptr_is_null(tern_vector_place(&found.kept)));
    forget();
    close_all();
}

/* An index that no ring takes goes as a chunk. */
static void long_index(void) {
    enum { ITEMS = 600 };
    if (!open_with(4096, TERN_CROSS_MEMORY_AUTO))
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
    if (!open_with(4096, TERN_CROSS_MEMORY_AUTO))
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
    if (!open_with(16384, TERN_CROSS_MEMORY_AUTO))
        return;
    forget();
    uint32_t next = (f.rank + 1) % f.size, sent = 0;
    uint32_t *values = malloc(4000);
    tern_archive_options options = {.full = TERN_FULL_QUEUE, .reusable = &reusable};
    tern_status status = TERN_OK;
    while (status == TERN_OK && sent <= TERN_FUTURES) {
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
    CU_ASSERT_EQUAL(sent, TERN_FUTURES);
    EXPECT_OK(tern_synchronizer_wait(f.worker, reusable));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, TERN_FUTURES);
    free(values);
    forget();
    close_all();
}

/* Sends its archive on, as it is, to the next rank, until it has been around. */
static tern_status send_on(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(send_on)

static tern_status send_on(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_reader reader;
    uint64_t left = 0;
    tern_vector v;
    if (tern_call_reader(call, arguments, bytes, &reader) != TERN_OK ||
        TERN_READ(&reader, &left, 1) != TERN_OK ||
        TERN_READ_VECTOR(&reader, call->worker, uint32_t, &v) != TERN_OK)
        return tern_reader_close(&reader);
    tern_status status = tern_reader_close(&reader);
    if (left-- > 0 && status == TERN_OK) {
        tern_writer writer;
        tern_worker_id next = to((tern_worker_self(call->worker).rank + 1) % f.size);
        (void)tern_writer_open(&writer, NULL, 0, 1000);
        (void)tern_writer_share(&writer, call->worker, 0);
        (void)TERN_WRITE(&writer, &left, 1);
        (void)tern_write_vector(&writer, &v);
        status = tern_call_archive(call->worker, next, &send_on_function, &writer, NULL);
        tern_writer_close(&writer);
    } else {
        found.wrong += wrong_values(tern_vector_data(&v), tern_vector_count(&v), 77);
        found.run++;
    }
    tern_vector_destroy(&v);
    return status;
}

static void sent_on_by_handlers(void) {
    if (!open_with(16384, TERN_CROSS_MEMORY_AUTO))
        return;
    forget();
    tern_writer writer;
    tern_vector v;
    uint64_t left = 3 * (uint64_t)f.size - 1;
    EXPECT_OK(TERN_VECTOR_CREATE(f.worker, uint32_t, 5000, &v));
    fill(tern_vector_data(&v), 5000, 77);
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1000));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
    EXPECT_OK(TERN_WRITE(&writer, &left, 1));
    EXPECT_OK(tern_write_vector(&writer, &v));
    EXPECT_OK(
        tern_call_archive(f.worker, to((f.rank + 1) % f.size), &send_on_function, &writer, NULL));
    tern_writer_close(&writer);
    tern_vector_destroy(&v);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 1);
    CU_ASSERT_EQUAL(found.wrong, 0);
    forget();
    close_all();
}

static void refused(void) {
    if (!open_with(16384, TERN_CROSS_MEMORY_AUTO))
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
    if (!open_with((size_t)1 << 20, TERN_CROSS_MEMORY_AUTO))
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

/* A vector in the segment of one context goes through another: its place means nothing there. */
static void of_another_context(void) {
    fixture other;
    if (!open_with(16384, TERN_CROSS_MEMORY_AUTO) || !fixture_open(&other, NULL))
        return;
    forget();
    tern_writer writer;
    tern_vector v;
    begin(&writer, 3, 1);
    EXPECT_OK(TERN_VECTOR_CREATE(other.worker, uint32_t, 4000, &v));
    fill(tern_vector_data(&v), 4000, 3 * 16 + f.rank * 1000);
    EXPECT_OK(tern_write_vector(&writer, &v));
    EXPECT_OK(tern_call_archive(f.worker, to((f.rank + 1) % f.size), &open_letter_function, &writer,
                                NULL));
    tern_writer_close(&writer);
    tern_vector_destroy(&v);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(found.run, 1);
    CU_ASSERT_EQUAL(found.wrong, 0);
    forget();
    fixture_close(&other);
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
    if (!open_with(16384, TERN_CROSS_MEMORY_AUTO))
        return;
    forget();
    static tern_future future[TERN_FUTURES];
    memset(future, 0, sizeof future);
    tern_worker_id next = to((f.rank + 1) % f.size);
    for (size_t i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(tern_call_start(f.worker, next, &give_nothing_function, NULL, 0, &future[i]));
    tern_writer writer;
    uint32_t *values = malloc(4000);
    fill(values, 1000, f.rank * 1000);
    begin(&writer, 0, 1);
    EXPECT_OK(TERN_WRITE(&writer, values, 1000));
    tern_archive_options options = {.reusable = &reusable, .executed = &executed};
    EXPECT(TERN_ERR_AGAIN,
           tern_call_archive(f.worker, next, &open_letter_function, &writer, &options));
    for (size_t i = 0; i < TERN_FUTURES; i++)
        EXPECT_OK(tern_future_wait(f.worker, &future[i], NULL, 0, NULL));
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
        tern_return_address back, answer;
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
        h->list.back.cell = TERN_FUTURES;
        break;
    case 5:
        h->source[1].bytes = 0;
        break;
    case 6:
        h->source[1].bytes = UINT64_MAX;
        break;
    case 7:
        h->source[1].place.offset = UINT64_MAX - 8;
        break;
    case 8:
        h->source[1].place.rank = 99;
        break;
    case 9:
        h->source[1].place.segment = 700;
        break;
    case 10: /* no memory of this process */
        h->source[1] = (tern_chunk_source){TERN_NULL, 1, 1000};
        break;
    case 11:
        h->list.answer.cell = TERN_FUTURES;
        break;
    default:
        *bytes = sizeof h->extension;
        h->extension.buffer_bytes = 0;
    }
}
enum { SPOILT = 13 };

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
        hostile h = {.extension = {.way = TERN_WAY_CHUNKS,
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
        {"in order", in_order},
        {"aside", aside},
        {"staged", staged},
        {"one copy", one_copy},
        {"long index", long_index},
        {"many chunks", many_chunks},
        {"as many as there may be", as_many_as_there_may_be},
        {"sent on by handlers", sent_on_by_handlers},
        {"refused", refused},
        {"one too many", one_too_many},
        {"of another context", of_another_context},
        {"results take all cells", results_take_all_cells},
        {"hostile lists", hostile_lists},
    };
    return tern_test_main(argc, argv, "call_archive", tests, sizeof tests / sizeof tests[0]);
}
