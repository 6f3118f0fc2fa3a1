// tern-test: transports
/*
 * Rings from inside (rma/ring/ring.h): records of a kind of the test's own between all pairs of
 * workers, checked for order and content, at the edges of the ring, through idleness, and with
 * hostile records.
 */

#include <stdlib.h>

#include "hostile.h"
#include "rma/ring/frame.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/wait.h"

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

/* Remote rings are asked for by messages of MPI, over a network too. */
static bool asks_by_messages;

static bool open_arena(size_t ring_size, size_t rings, size_t ring_growth, size_t idle_polls) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    config.ring_growth = ring_growth;
    config.ring_memory = ring_size * rings;
    config.idle_polls = idle_polls;
    config.active_rings = 0;
    config.log_level = TERN_LOG_NONE;
    config.listener = !asks_by_messages;
    if (!fixture_open(&f, &config))
        return false;
    refuse_to_consume = false;
    tern_record_handle(f.context, TERN_RECORD_CALL, consume);
    streams = calloc(f.size, sizeof *streams);
    EXPECT_OK(tern_barrier(f.worker));
    return streams != NULL;
}

static bool open_growing_rings(size_t ring_size, size_t ring_growth, size_t idle_polls) {
    return open_arena(ring_size, 64, ring_growth, idle_polls);
}

static bool open_rings(size_t ring_size, size_t idle_polls) {
    return open_growing_rings(ring_size, 1, idle_polls);
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

/* All pairs at once, sizes up to the largest, bursts of random length: many generations of small
 * rings.
 */
static void stream_all(int times) {
    uint32_t count = (uint32_t)fixture_times(&f, times);
    uint64_t state = fixture_seed(&f, 1);
    int unexpected = 0;
    for (bool all = false; !all;) {
        all = true;
        for (uint32_t r = 0; r < f.size; r++) {
            tern_out *out = NULL;
            uint64_t burst = 1 + below(&state, 8);
            for (uint64_t i = 0; i < burst && streams[r].sent < count; i++) {
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
}

static void stream_all_pairs(size_t ring_size, size_t growth, size_t idle_polls, int times) {
    if (!open_growing_rings(ring_size, growth, idle_polls))
        return;
    stream_all(times);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    if (growth == 1)
        CU_ASSERT_EQUAL(stats.rings_grown, 0);
    CU_ASSERT_EQUAL(stats.rings_outgrown > 0, stats.rings_grown > 0);
    CU_ASSERT(stats.runs_received > 0 && stats.runs_received <= stats.records_received);
    close_rings();
}

static void small_rings(void) { stream_all_pairs(4096, 1, 1 << 20, 4000); }

static void usual_rings(void) { stream_all_pairs(65536, 1, 1 << 20, 4000); }

/* As many rings at a time as there are pairs go through all their sizes. */
static void growing_rings(void) { stream_all_pairs(4096, 8, 1 << 20, 4000); }

static void growing_idle_rings(void) { stream_all_pairs(4096, 8, 3, 4000); }

/* Rings that fall idle after three empty polls: no wake-up may be lost. */
static void idle_rings(void) { stream_all_pairs(4096, 1, 3, 4000); }

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

/* Records that are due for a remote ring wait until the ring is uncorked, and then go together.
 * Records that are due for a direct ring do not wait. */
static void corked(void) {
    if (!open_rings(65536, 1 << 20))
        return;
    tern_out *out = NULL;
    uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    tern_wait_state wait = TERN_WAIT_START;
    tern_stats first, corked, uncorked;
    tern_status status;
    tern_stats_get(f.worker, &first);
    tern_ring_cork(f.worker);
    while ((status = commit_next(next, &out)) == TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    EXPECT_OK(status);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            EXPECT_OK(commit_next(next, &out));
        tern_ring_publish_due(f.worker, out);
        CU_ASSERT_EQUAL(out->lane.first_header == 0, out->direct);
        tern_progress(f.worker);
        tern_progress(f.worker);
    }
    tern_stats_get(f.worker, &corked);
    CU_ASSERT_EQUAL(corked.frames_sent, first.frames_sent);
    tern_ring_uncork(f.worker);
    tern_stats_get(f.worker, &uncorked);
    CU_ASSERT_EQUAL(uncorked.frames_sent - corked.frames_sent, out->direct ? 0 : 1);
    /* The end of a generation would have sent one more. */
    CU_ASSERT(out->lane.write <= out->lane.mask);
    while (streams[before].received < 3 &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(streams[before].received, 3);
    CU_ASSERT_EQUAL(streams[before].wrong, 0);
    close_rings();
}

/* This rank has sent to target alone; each consumes what the others have sent to it. */
static void consume_what_was_sent(uint32_t target) {
    uint32_t mine[2] = {target, streams[target].sent};
    uint32_t(*all)[2] = calloc(f.size, sizeof *all);
    fixture_share(&f, mine, sizeof mine, all);
    refuse_to_consume = false;
    for (uint32_t r = 0; r < f.size; r++) {
        uint32_t due = all[r][0] == f.rank ? all[r][1] : 0;
        tern_wait_state wait = TERN_WAIT_START;
        while (streams[r].received < due &&
               tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
            tern_progress(f.worker);
        CU_ASSERT_EQUAL(streams[r].received, due);
        CU_ASSERT_EQUAL(streams[r].wrong, 0);
    }
    free(all);
}

/* A target that does not consume: the origin is told so, and nothing is lost. */
static void full_ring(void) {
    if (!open_rings(4096, 1 << 20))
        return;
    refuse_to_consume = true;
    EXPECT_OK(tern_barrier(f.worker));
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
    consume_what_was_sent(next);
    close_rings();
}

/* One that nobody consumes grows to its limit and not beyond, and what it then holds arrives. */
static void growth_has_a_limit(void) {
    if (!open_growing_rings(4096, 4, 1 << 20))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    tern_out *out = NULL;
    tern_stats stats;
    refuse_to_consume = true;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t refusals = 0; refusals < 2000;) {
        tern_status status = commit_next(next, &out);
        if (status == TERN_OK)
            tern_ring_publish(f.worker, out);
        else if (EXPECT(TERN_ERR_AGAIN, status))
            refusals += streams[next].sent > 0;
        else
            break;
        tern_progress(f.worker);
        tern_stats_get(f.worker, &stats);
        /* A remote ring waits for its target's answer, which may be busy. */
        if (refusals == 1999 && stats.rings_grown < 2 && out != NULL && !out->direct &&
            out->growth != TERN_GROWTH_NONE)
            refusals--;
    }
    tern_stats_get(f.worker, &stats);
    if (out != NULL && out->direct)
        CU_ASSERT_EQUAL(stats.rings_grown, 2);
    CU_ASSERT(stats.rings_grown <= 2);
    CU_ASSERT_EQUAL(stats.rings_outgrown, stats.rings_grown > 0);
    CU_ASSERT(out != NULL && out->lane.mask + 1 == (uint64_t)4096 << stats.rings_grown);
    consume_what_was_sent(next);
    close_rings();
}

/* Memory that growing has used up is not that of pairs that have not met. */
static void growing_leaves_room(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.ring_size = 4096;
    config.ring_memory = 4096 * 16;
    config.ring_growth = 1024;
    config.segment_size = 65536;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&f, &config))
        return;
    tern_record_handle(f.context, TERN_RECORD_CALL, consume);
    streams = calloc(f.size, sizeof *streams);
    refuse_to_consume = true;
    EXPECT_OK(tern_barrier(f.worker));
    tern_out *out = NULL;
    /* Every rank fills its ring to rank 0, then opens one to rank 0 on the other channel. */
    for (int refusals = 0; refusals < 300;) {
        tern_status status = commit_next(0, &out);
        if (status == TERN_OK)
            tern_ring_publish(f.worker, out);
        else if (EXPECT(TERN_ERR_AGAIN, status))
            refusals += streams[0].sent > 0;
        else
            break;
        tern_progress(f.worker);
    }
    EXPECT_OK(tern_barrier(f.worker));
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = tern_ring_open_channel(f.worker, TERN_CHANNEL_NOTIFY, 0, &out)) ==
               TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    EXPECT_OK(status);
    consume_what_was_sent(0);
    close_rings();
}

/* Waits for all ranks; nobody's messages are served meanwhile. */
static void meet_without_service(void) {
    tern_mpi_lock();
    MPI_Barrier(f.comm);
    tern_mpi_unlock();
}

/* A ring is full while every buffer to ask with is taken: nobody was asked, so nobody answered. */
static void growing_waits_for_a_buffer(void) {
    asks_by_messages = true;
    const bool is_open = open_growing_rings(4096, 8, 1 << 20);
    asks_by_messages = false;
    if (!is_open)
        return;
    uint32_t remote = 0;
    while (remote < f.size && tern_rank_is_direct(f.context, remote))
        remote++;
    if (remote == f.size) {
        tern_test_skip("every rank shares memory: there are no messages");
        close_rings();
        return;
    }
    tern_ptr *all = calloc(f.size, sizeof *all);
    char *piece = calloc(1, TERN_MESSAGE_MAX);
    fixture_alloc_all(&f, TERN_MESSAGE_MAX, TERN_DOMAIN_GLOBAL, all);
    refuse_to_consume = true;
    tern_out *out = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = commit_next(remote, &out)) == TERN_ERR_AGAIN &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    EXPECT_OK(status);
    /* Full, and all of it published. */
    for (bool room = true; room;) {
        tern_ring_publish(f.worker, out);
        size_t most = tern_ring_record_max(f.context);
        uint64_t size = tern_record_size(payload_bytes(f.rank, streams[remote].sent, most));
        size += TERN_MOVE_ROOM + (out->transport->reads_own_frames ? TERN_FRAME_BYTES : 0);
        room = tern_ring_has_room(f.worker, out, size) && commit_next(remote, &out) == TERN_OK;
    }
    EXPECT_OK(tern_barrier(f.worker));
    meet_without_service();
    const tern_message message = {.kind = TERN_MESSAGE_PUT,
                                  .origin = f.worker->id,
                                  .offset = all[remote].offset,
                                  .bytes = TERN_MESSAGE_MAX};
    for (int i = 0; i < 1000 && status == TERN_OK; i++)
        status = tern_message_send(f.worker, remote, &message, piece, TERN_MESSAGE_MAX);
    EXPECT(TERN_ERR_AGAIN, status);
    for (int i = 0; i < 10; i++)
        EXPECT(TERN_ERR_AGAIN, commit_next(remote, &out));
    /* A buffer may have come free meanwhile, but not an answer. */
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.rings_grown, 0);
    CU_ASSERT_NOT_EQUAL(out->growth, TERN_GROWTH_MOVING);
    meet_without_service();
    consume_what_was_sent(remote);
    free(piece);
    fixture_free_all(&f, all);
    free(all);
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

/* The arena has fewer rings than there are pairs: the others send by messages, in order. */
static void arena_used_up(void) {
    if (!open_arena(4096, 1, 8, 3))
        return;
    stream_all(1000);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    uint64_t message_channels = stats.message_channels;
    tern_mpi_lock();
    MPI_Allreduce(MPI_IN_PLACE, &message_channels, 1, MPI_UINT64_T, MPI_SUM, f.comm);
    tern_mpi_unlock();
    CU_ASSERT(f.size == 1 || message_channels >= (uint64_t)f.size * (f.size - 1));
    close_rings();
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
    EXPECT_OK(inject_record(f.worker, out, header, NULL, 8));
    tern_ring_publish(f.worker, out);
    tern_stats stats = {0};
    const double end = MPI_Wtime() + TERN_TEST_PATIENCE;
    while (stats.records_malformed == 0 && MPI_Wtime() < end &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK) {
        tern_progress(f.worker);
        tern_stats_get(f.worker, &stats);
    }
    uint32_t before = (f.rank + f.size - 1) % f.size;
    CU_ASSERT_EQUAL(stats.records_malformed, 1);
    CU_ASSERT_EQUAL(streams[before].received, 1);
    CU_ASSERT_EQUAL(streams[before].wrong, 0);
    close_rings();
}

static void hostile_length(void) { inject(tern_record_header(TERN_RECORD_CALL, 1, 0xfffffff0u)); }

static void hostile_move(void) { inject(tern_record_header(TERN_RECORD_MOVED, 3, 0)); }

static void hostile_kind(void) { inject(tern_record_header(200, 1, 8)); }

static void hostile_service(void) { inject(tern_record_header(TERN_RECORD_SERVICE, 77, 8)); }

/* Messages that a correct rank never sends: each is counted, none is served or answered. */
static void hostile_messages(void) {
    if (!open_rings(4096, 1 << 20))
        return;
    uint64_t remote = 0, due = 0;
    for (uint32_t r = 0; r < f.size; r++)
        remote += !tern_rank_is_direct(f.context, r);
    if (remote == 0) {
        tern_test_skip("every rank shares memory: there are no messages");
        close_rings();
        return;
    }
    const uint64_t beyond = tern_rma_of(f.context)->layout.bytes;
    for (uint32_t r = 0; r < f.size; r++) {
        if (tern_rank_is_direct(f.context, r))
            continue;
        uint32_t own = r * f.context->workers, me = f.worker->id;
        const tern_message bad[] = {
            {.kind = 77, .origin = me},
            {.kind = TERN_MESSAGE_FLUSH, .origin = own}, /* of another than its sender */
            {.kind = TERN_MESSAGE_PUT, .origin = me, .offset = beyond - 4},
            {.kind = TERN_MESSAGE_PUT, .origin = me, .offset = UINT64_MAX - 4},
            {.kind = TERN_MESSAGE_GET, .origin = me, .offset = 0, .bytes = beyond + 1},
            {.kind = TERN_MESSAGE_ATOMIC, .origin = me, .offset = 4096, .bytes = 200 | 8 << 8},
            {.kind = TERN_MESSAGE_ATOMIC, .origin = me, .offset = 4097, .bytes = 8 << 8},
            {.kind = TERN_MESSAGE_OPEN, .origin = me, .target = me, .operand = {0, 1}},
            {.kind = TERN_MESSAGE_OPEN, .origin = me, .target = own, .operand = {99, 1}},
            {.kind = TERN_MESSAGE_OPEN, .origin = me, .target = own, .operand = {0, 3}},
            {.kind = TERN_MESSAGE_OPEN, .origin = me, .target = own, .operand = {0, 0}},
            {.kind = TERN_MESSAGE_FRAME, .origin = me, .target = UINT32_MAX},
            {.kind = TERN_MESSAGE_FRAME, .origin = me, .target = 63}, /* nobody's */
            {.kind = TERN_MESSAGE_CREDIT, .origin = me, .target = own, .operand = {99, 0}},
            {.kind = TERN_MESSAGE_CREDIT, .origin = me, .target = me},
            {.kind = TERN_MESSAGE_REPLY,
             .origin = me,
             .target = own,
             .offset = TERN_CELL_OF_THREAD + 1},
            {.kind = TERN_MESSAGE_RECLAIM, .origin = me, .target = own, .operand = {99, 0}},
            {.kind = TERN_MESSAGE_RECLAIM, .origin = me, .target = me},
            {.kind = TERN_MESSAGE_CLOSED, .origin = me, .target = own, .operand = {99, 0}},
            {.kind = TERN_MESSAGE_CLOSED, .origin = me, .target = own, .offset = 4},
        };
        due = remote * (sizeof bad / sizeof bad[0]);
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
            EXPECT_OK(tern_message_send_all(f.worker, r, &bad[i], "12345678", 8));
    }
    tern_stats stats = {0};
    tern_wait_state wait = TERN_WAIT_START;
    do {
        tern_progress(f.worker);
        tern_stats_get(f.worker, &stats);
    } while (stats.records_malformed < due &&
             tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK);
    EXPECT_OK(tern_barrier(f.worker));
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.records_malformed, due);
    close_rings();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"small rings", small_rings},
        {"usual rings", usual_rings},
        {"idle rings", idle_rings},
        {"publishing", publishing},
        {"corked", corked},
        {"growing rings", growing_rings},
        {"growing idle rings", growing_idle_rings},
        {"growth has a limit", growth_has_a_limit},
        {"growing leaves room", growing_leaves_room},
        {"growing waits for a buffer", growing_waits_for_a_buffer},
        {"hostile move", hostile_move},
        {"full ring", full_ring},
        {"too large", too_large},
        {"arena used up", arena_used_up},
        {"hostile length", hostile_length},
        {"hostile kind", hostile_kind},
        {"hostile service", hostile_service},
        {"hostile messages", hostile_messages},
    };
    return tern_test_main(argc, argv, "ring", tests, sizeof tests / sizeof tests[0]);
}
