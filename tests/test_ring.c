// tern-test: transports
/*
 * Rings from inside (rma/ring.h): records of a kind of the test's own between all pairs of workers,
 * checked for order and content, at the edges of the ring, through idleness, and with hostile
 * records.
 */

#include <stdlib.h>

#include "fixture.h"
#include "rma/ring.h"
#include "rma/state.h"
#include "src/log.h"
#include "src/wait.h"

/* What arrives from each rank: record n has n as its id and a pattern of n as its payload. */
typedef struct stream {
    uint32_t sent, received;
    int wrong;
} stream;

static stream *streams;
static fixture f;
static bool refuse_to_consume;

static size_t payload_bytes(uint32_t origin, uint32_t n, size_t most) {
    uint64_t state = (uint64_t)origin << 32 | n;
    uint64_t dice = tern_test_random(&state);
    if (dice % 16 == 0)
        return most;
    return tern_test_random(&state) % (dice % 4 == 0 ? most + 1 : 80);
}

static void fill(char *payload, size_t bytes, uint32_t n) {
    for (size_t i = 0; i < bytes; i++)
        payload[i] = (char)(n * 31 + i * 7);
}

static bool is_filled(const char *payload, size_t bytes, uint32_t n) {
    for (size_t i = 0; i < bytes; i++)
        if (payload[i] != (char)(n * 31 + i * 7))
            return false;
    return true;
}

/* Takes the place of calls' consumer. */
static size_t consume(tern_worker *worker, tern_in *in) {
    if (refuse_to_consume)
        return 0;
    uint64_t header = tern_ring_peek(worker, in);
    if (!tern_ring_check(in, header)) {
        tern_ring_refuse(worker, in, header, "a record of the ring test");
        return 0;
    }
    stream *s = &streams[in->origin_id.rank];
    size_t bytes = tern_record_bytes(header);
    s->wrong += tern_record_id(header) != (s->received & 0xffffff) ||
                bytes != payload_bytes(in->origin_id.rank, s->received,
                                       tern_ring_record_max(worker->context)) ||
                !is_filled(tern_ring_payload(in), bytes, s->received);
    s->received++;
    tern_ring_advance(in, header);
    return 1;
}

static bool open_rings(size_t ring_size, size_t idle_polls) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    config.ring_memory = ring_size * 16;
    config.idle_polls = idle_polls;
    config.active_rings = 0;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&f, &config))
        return false;
    refuse_to_consume = false;
    tern_record_handle(f.context, TERN_RECORD_CALL, consume);
    streams = calloc(f.size, sizeof *streams);
    EXPECT_OK(tern_barrier(f.worker));
    return streams != NULL;
}

static void close_rings(void) {
    EXPECT_OK(tern_barrier(f.worker));
    free(streams);
    fixture_close(&f);
}

/* Commits the next record to rank without publishing it. TERN_ERR_AGAIN: no room. */
static tern_status commit_next(uint32_t rank, tern_out **out) {
    stream *s = &streams[rank];
    tern_status status = tern_ring_open(f.worker, rank, out);
    if (status != TERN_OK)
        return status;
    size_t bytes = payload_bytes(f.rank, s->sent, tern_ring_record_max(f.context));
    void *room = NULL;
    status = tern_ring_reserve(f.worker, *out, bytes, &room);
    if (status != TERN_OK)
        return status;
    fill(room, bytes, s->sent);
    tern_ring_commit(*out, tern_record_header(TERN_RECORD_CALL, s->sent & 0xffffff, bytes));
    s->sent++;
    return TERN_OK;
}

static void wait_for(uint32_t count) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    for (uint32_t r = 0; r < f.size; r++) {
        while (status == TERN_OK && streams[r].received < count) {
            tern_progress(f.worker);
            status = tern_wait_step(f.context, &wait, TERN_ANYBODY);
        }
        CU_ASSERT_EQUAL(streams[r].received, count);
        CU_ASSERT_EQUAL(streams[r].wrong, 0);
    }
    CU_ASSERT_EQUAL(status, TERN_OK);
}

/* All pairs at once, sizes up to the largest, batches of random length: many laps of small rings.
 */
static void stream_all_pairs(size_t ring_size, size_t idle_polls, int times) {
    if (!open_rings(ring_size, idle_polls))
        return;
    uint32_t count = (uint32_t)fixture_times(&f, times);
    uint64_t state = fixture_seed(&f, 1);
    int unexpected = 0;
    for (bool all = false; !all;) {
        all = true;
        for (uint32_t r = 0; r < f.size; r++) {
            tern_out *out = NULL;
            uint64_t batch = 1 + below(&state, 8);
            for (uint64_t i = 0; i < batch && streams[r].sent < count; i++) {
                tern_status status = commit_next(r, &out);
                unexpected += status != TERN_OK && status != TERN_ERR_AGAIN;
                if (status != TERN_OK)
                    break;
            }
            if (out != NULL)
                tern_ring_publish(f.worker, out);
            all = all && (streams[r].sent == count || unexpected > 0);
        }
        tern_progress(f.worker);
    }
    CU_ASSERT_EQUAL(unexpected, 0);
    wait_for(count);
    close_rings();
}

static void small_rings(void) { stream_all_pairs(4096, 1 << 20, 4000); }

static void usual_rings(void) { stream_all_pairs(65536, 1 << 20, 4000); }

/* Rings that fall idle after three empty polls: no wake-up may be lost. */
static void idle_rings(void) { stream_all_pairs(4096, 3, 4000); }

/* Nothing is seen before it is published, and then everything is. */
static void publishing(void) {
    if (!open_rings(65536, 1 << 20))
        return;
    tern_out *out = NULL;
    uint32_t next = (f.rank + 1) % f.size;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = commit_next(next, &out)) == TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    EXPECT_OK(status);
    EXPECT_OK(commit_next(next, &out));
    EXPECT_OK(commit_next(next, &out));
    for (int i = 0; i < 100; i++)
        tern_progress(f.worker);
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t before = (f.rank + f.size - 1) % f.size;
    CU_ASSERT_EQUAL(streams[before].received, 0);
    EXPECT_OK(tern_barrier(f.worker));
    tern_ring_publish(f.worker, out);
    while (streams[before].received < 3 &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(streams[before].received, 3);
    CU_ASSERT_EQUAL(streams[before].wrong, 0);
    close_rings();
}

/* A target that does not consume: the origin is told so, and nothing is lost. */
static void full_ring(void) {
    if (!open_rings(4096, 1 << 20))
        return;
    refuse_to_consume = true;
    uint32_t next = (f.rank + 1) % f.size, refusals = 0;
    tern_out *out = NULL;
    while (refusals < 2000) {
        tern_status status = commit_next(next, &out);
        if (status == TERN_OK)
            tern_ring_publish(f.worker, out);
        else if (EXPECT(TERN_ERR_AGAIN, status))
            refusals += streams[next].sent > 0; /* else the ring is still being set up */
        else
            break;
        tern_progress(f.worker);
    }
    CU_ASSERT(streams[next].sent > 0);
    CU_ASSERT(streams[next].sent * 8 <= 4096);
    /* Every rank tells the next how much it sent. */
    uint32_t *sent = malloc(f.size * sizeof *sent);
    fixture_share(&f, &streams[next].sent, sizeof *sent, sent);
    refuse_to_consume = false;
    uint32_t before = (f.rank + f.size - 1) % f.size;
    tern_wait_state wait = TERN_WAIT_START;
    while (streams[before].received < sent[before] &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(streams[before].received, sent[before]);
    CU_ASSERT_EQUAL(streams[before].wrong, 0);
    free(sent);
    close_rings();
}

static void too_large(void) {
    if (!open_rings(4096, 1 << 20))
        return;
    tern_out *out = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = tern_ring_open(f.worker, 0, &out)) == TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    EXPECT_OK(status);
    void *room = NULL;
    size_t most = tern_ring_record_max(f.context);
    EXPECT(TERN_ERR_RANGE, tern_ring_reserve(f.worker, out, most + 1, &room));
    EXPECT_OK(tern_ring_reserve(f.worker, out, most, &room));
    close_rings();
}

/* The arena has rings for fewer workers than there are: the last to come are told, nobody hangs. */
static void arena_used_up(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.ring_memory = config.ring_size = 4096;
    config.segment_size = 65536;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&f, &config))
        return;
    tern_out *out = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_ERR_AGAIN;
    while (status == TERN_ERR_AGAIN && tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK) {
        tern_progress(f.worker);
        status = tern_ring_open(f.worker, 0, &out);
    }
    uint64_t opened = status == TERN_OK;
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_MEMORY);
    if (status == TERN_ERR_MEMORY)
        EXPECT_DETAIL("TERN_RING_MEMORY");
    EXPECT_OK(tern_barrier(f.worker));
    tern_mpi_lock();
    MPI_Allreduce(MPI_IN_PLACE, &opened, 1, MPI_UINT64_T, MPI_SUM, f.comm);
    tern_mpi_unlock();
    CU_ASSERT_EQUAL(opened, 1);
    fixture_close(&f);
}

/* A record that a correct origin never writes: reported, counted, and never run. */
static void inject(uint64_t header) {
    if (!open_rings(4096, 1 << 20))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    tern_out *out = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = commit_next(next, &out)) == TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    EXPECT_OK(status);
    tern_ring_publish(f.worker, out);
    void *room = NULL;
    EXPECT_OK(tern_ring_reserve(f.worker, out, 8, &room));
    memset(room, 0, 8);
    /* Committed as a whole record, then given its bad header before it is published. */
    uint64_t good = tern_record_header(TERN_RECORD_CALL, 1, 8);
    uint64_t at = out->lane.write;
    tern_ring_commit(out, good);
    if (out->near)
        out->first_header = header;
    else
        memcpy(out->lane.data + (at & out->lane.mask), &header, sizeof header);
    tern_ring_publish(f.worker, out);
    tern_stats stats = {0};
    for (int i = 0; i < 100000 && stats.records_malformed == 0; i++) {
        tern_progress(f.worker);
        tern_stats_get(f.worker, &stats);
        if (i > 1000 && tern_wait_step(f.context, &wait, TERN_ANYBODY) != TERN_OK)
            break;
    }
    uint32_t before = (f.rank + f.size - 1) % f.size;
    CU_ASSERT_EQUAL(stats.records_malformed, 1);
    CU_ASSERT_EQUAL(streams[before].received, 1);
    CU_ASSERT_EQUAL(streams[before].wrong, 0);
    close_rings();
}

static void hostile_length(void) { inject(tern_record_header(TERN_RECORD_CALL, 1, 0xfffffff0u)); }

static void hostile_kind(void) { inject(tern_record_header(200, 1, 8)); }

static void hostile_service(void) { inject(tern_record_header(TERN_RECORD_SERVICE, 77, 8)); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"small rings", small_rings},     {"usual rings", usual_rings},
        {"idle rings", idle_rings},       {"publishing", publishing},
        {"full ring", full_ring},         {"too large", too_large},
        {"arena used up", arena_used_up}, {"hostile length", hostile_length},
        {"hostile kind", hostile_kind},   {"hostile service", hostile_service},
    };
    return tern_test_main(argc, argv, "ring", tests, sizeof tests / sizeof tests[0]);
}
