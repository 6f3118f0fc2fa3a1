// tern-test: transports least=2

/* A ring whose target wants it back is closed if it is the one that was asked
 * for, and if nothing of it is under way: what its records, its growth or its
 * opening still need stays. */

#include <stdlib.h>

#include "fixture.h"
#include "rma/port/posting.h"
#include "rma/notify/request.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"
#include "rma/ring/frame.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/reclaim.h"
#include "rma/ring/ring.h"
#include "rma/ring/sleep.h"
#include "rma/transport/transport.h"
#include "src/context.h"

enum { RING = 4096 };

static fixture f;
static uint64_t arrived;
static tern_ptr memory[64];

static tern_status arrive(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number = 0;
    (void)call;
    CU_ASSERT_EQUAL_FATAL(bytes, sizeof number);
    memcpy(&number, arguments, sizeof number);
    CU_ASSERT_EQUAL(number, arrived);
    arrived++;
    return TERN_OK;
}
TERN_FUNCTION(arrive)

static bool set_up(size_t growth) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = RING;
    config.ring_growth = growth;
    arrived = 0;
    return fixture_open(&f, &config);
}

/* Calls of rank 0 to rank 1, which are numbered. */
static tern_status send(uint64_t number) {
    return tern_call_try(f.worker, (tern_worker_id){1, 0}, &arrive_function, &number,
                         sizeof number);
}

static void send_and_wait(uint64_t first, uint64_t count) {
    for (uint64_t i = first; f.rank == 0 && i < first + count; i++)
        EXPECT_OK(tern_call(f.worker, (tern_worker_id){1, 0}, &arrive_function, &i, sizeof i));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(arrived, f.rank == 1 ? first + count : 0);
    EXPECT_OK(tern_quiesce(f.worker)); /* before it a faster rank sends nothing */
}

static tern_out *ring_of_calls(void) {
    return tern_rma_worker_of(f.worker)
        ->out[tern_endpoint_of(f.context, TERN_CHANNEL_CALLS, f.context->workers)];
}

/* As a message of the target has it. Whether the ring was closed. */
static bool closes(tern_out *out, uint32_t ring) {
    const uint64_t before = f.worker->stats.rings_reclaimed;
    out->next_wanted = NULL;
    atomic_store(&out->wanted, (uint64_t)ring + 1);
    atomic_store(&tern_rma_worker_of(f.worker)->wanted, out);
    tern_reclaim_close(f.worker);
    CU_ASSERT_EQUAL(atomic_load(&out->wanted), 0);
    return f.worker->stats.rings_reclaimed > before;
}

/* At rank 1, once the ring has ended and before anything comes in the one that
 * follows: a doorbell that was rung for something else. */
static void hear_another_doorbell(void) {
    const uint32_t endpoint = tern_endpoint_of(f.context, TERN_CHANNEL_CALLS, 0);
    const double start = MPI_Wtime();
    const tern_in *in = tern_rma_worker_of(f.worker)->in[endpoint];
    while (in->ring != TERN_RING_NONE && MPI_Wtime() - start < TERN_TEST_PATIENCE)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(in->ring, TERN_RING_NONE);
    tern_doorbell_ring(tern_worker_page(f.context, f.context->workers),
                       tern_rma_of(f.context)->layout.doorbells, endpoint);
    tern_progress(f.worker);
}

static void an_idle_ring(void) {
    if (!set_up(1))
        return;
    send_and_wait(0, 3);
    if (f.rank == 0) {
        tern_out *out = ring_of_calls();
        const uint32_t ring = out->ring;
        CU_ASSERT(!closes(out, ring + 1)); /* an older one of the pair */
        CU_ASSERT_EQUAL(out->ring, ring);
        out->damaged = true;
        CU_ASSERT(!closes(out, ring));
        out->damaged = false;
        tern_ring_lend(f.worker, out);
        CU_ASSERT(!closes(out, ring));
        tern_ring_give_back(f.worker, out);
        CU_ASSERT(closes(out, ring));
        CU_ASSERT_EQUAL(out->ring, TERN_RING_NONE);
        CU_ASSERT(!closes(out, TERN_RING_NONE)); /* the pair has no ring to close */
    }
    if (f.rank == 1)
        hear_another_doorbell();
    EXPECT_OK(tern_barrier(f.worker));
    send_and_wait(3, 200);
    fixture_close(&f);
}

/* Records that wait for others or for the next progress. */
static void unpublished_records(void) {
    if (!set_up(1))
        return;
    send_and_wait(0, 1);
    if (f.rank == 0) {
        EXPECT_OK(
            tern_call_policy(f.worker, (tern_worker_id){1, 0}, TERN_PUBLISH_BATCHED, RING / 2));
        EXPECT_OK(send(1));
        tern_out *out = ring_of_calls();
        CU_ASSERT(out->lane.first_header != 0);
        CU_ASSERT(!closes(out, out->ring));
        EXPECT_OK(tern_call_flush(f.worker, (tern_worker_id){1, 0}));
        CU_ASSERT(closes(out, out->ring));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(arrived, f.rank == 1 ? 2 : 0);
    EXPECT_OK(tern_barrier(f.worker));
    send_and_wait(2, 200);
    fixture_close(&f);
}

/* Rank 1 is in MPI meanwhile, and no other rank helps it. */
static void leave_alone(void (*ask)(void)) {
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        ask();
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    tern_mpi_unlock();
}

static void ask_while_opening(void) {
    (void)send(0);
    tern_out *out = ring_of_calls();
    if (out != NULL && out->opening)
        CU_ASSERT(!closes(out, out->ring));
}

/* Fills the ring until more room is asked for, which over shared memory needs
 * nobody. */
static void ask_while_growing(void) {
    tern_out *out = ring_of_calls();
    uint64_t sent = 1;
    for (int i = 0; i < 2000 && out->growth != TERN_GROWTH_ASKED; i++) {
        const tern_status status = send(sent);
        sent += status == TERN_OK;
        if (status != TERN_OK)
            tern_progress(f.worker);
    }
    const bool asks = out->growth == TERN_GROWTH_ASKED;
    CU_ASSERT(asks || out->transport != &tern_transport_p2p);
    if (asks)
        CU_ASSERT(!closes(out, out->ring));
}

static void questions_under_way(void) {
    if (!set_up(4))
        return;
    leave_alone(ask_while_opening);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT(arrived <= 1);
    arrived = 0;
    EXPECT_OK(tern_barrier(f.worker));
    send_and_wait(0, 1);
    leave_alone(ask_while_growing);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT(f.rank == 1 ? arrived > 1 : arrived == 0);
    fixture_close(&f);
}

/* Whether rank 1 asks for a ring after messages brought so many frames, of which so many are
 * answered. */
static bool asks(uint64_t frames, uint64_t answered) {
    tern_rma *rma = tern_rma_of(f.context);
    const uint64_t before = atomic_load(&rma->message_frames);
    const uint64_t answered_before = atomic_load(&rma->message_frames_answered);
    atomic_store(&rma->message_frames, frames);
    atomic_store(&rma->message_frames_answered, answered);
    tern_reclaim_ask(f.worker);
    const bool asked = atomic_load(&rma->message_frames_answered) == frames;
    CU_ASSERT(asked || atomic_load(&rma->message_frames_answered) == answered);
    atomic_store(&rma->message_frames, before);
    atomic_store(&rma->message_frames_answered, answered_before);
    return asked;
}

/* The same where in has carried nothing since frame 0. */
static bool asks_for(tern_in *in, uint64_t frames) {
    in->seen = in->position;
    in->seen_frames = 0;
    return asks(frames, 0);
}

static void ask_for_an_idle_one(tern_in *in) {
    enum { IDLE = TERN_RECLAIM_IDLE, FRAMES = TERN_RECLAIM_FRAMES };
    const uint32_t ring = in->ring, empty = in->empty;
    const bool active = in->active;
    in->active = false;
    CU_ASSERT(!asks_for(in, IDLE - 1));
    CU_ASSERT(asks_for(in, IDLE));
    CU_ASSERT(!asks(IDLE + FRAMES, IDLE)); /* again only after as many */
    CU_ASSERT(asks(2 * IDLE, IDLE));
    in->seen_frames = 0;
    CU_ASSERT(!asks(IDLE, IDLE - FRAMES + 1)); /* a ring for so many frames */
    CU_ASSERT(asks(IDLE, IDLE - FRAMES));
    in->seen = in->position - 8; /* has carried something */
    CU_ASSERT(!asks(4 * IDLE, 0));
    CU_ASSERT(asks(5 * IDLE, 0));
    in->closed = true;
    CU_ASSERT(!asks_for(in, IDLE));
    in->closed = false;
    in->ending = true;
    CU_ASSERT(!asks_for(in, IDLE));
    in->ending = false;
    in->ring = TERN_RING_NONE;
    CU_ASSERT(!asks_for(in, IDLE));
    in->ring = ring;
    in->active = true;
    in->empty = 0;
    CU_ASSERT(!asks_for(in, IDLE));
    in->empty = (uint32_t)f.context->config.idle_polls;
    CU_ASSERT(asks_for(in, IDLE));
    f.context->closing = true;
    CU_ASSERT(!asks_for(in, IDLE));
    f.context->closing = false;
    in->empty = empty;
    in->active = active;
}

/* Of the rings of rank 1 one can be asked for, the others have been closed. */
static void which_are_asked_for(void) {
    if (!set_up(1))
        return;
    send_and_wait(0, 3);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1) {
        tern_rma_worker *mine = tern_rma_worker_of(f.worker);
        tern_in *calls = mine->in[tern_endpoint_of(f.context, TERN_CHANNEL_CALLS, 0)];
        bool closed[64];
        size_t n = 0;
        for (tern_in *in = mine->ins; in != NULL; in = in->next) {
            CU_ASSERT_FATAL(n < sizeof closed / sizeof closed[0]);
            closed[n++] = in->closed;
            in->closed = in != calls;
        }
        ask_for_an_idle_one(calls);
        n = 0;
        for (tern_in *in = mine->ins; in != NULL; in = in->next)
            in->closed = closed[n++];
    }
    EXPECT_OK(tern_barrier(f.worker));
    send_and_wait(3, 200);
    fixture_close(&f);
}

/* A question of rank 1, as it comes to rank 0. */
static bool serves(uint32_t target, uint64_t channel, uint32_t ring) {
    tern_rma_worker *mine = tern_rma_worker_of(f.worker);
    const uint64_t delivered = atomic_load(&mine->inbox.delivered);
    const tern_message message = {.kind = TERN_MESSAGE_RECLAIM,
                                  .origin = f.context->workers,
                                  .target = target,
                                  .operand = {channel, ring}};
    const bool good = tern_reclaim_serve_ask(f.context, 1, &message);
    atomic_store(&mine->inbox.delivered, delivered);
    return good;
}

static tern_out *wanted(void) { return atomic_load(&tern_rma_worker_of(f.worker)->wanted); }

static void serve_questions(void) {
    tern_out **at = &tern_rma_worker_of(f.worker)
                         ->out[tern_endpoint_of(f.context, TERN_CHANNEL_CALLS, f.context->workers)];
    tern_out *out = *at;
    CU_ASSERT(!serves(f.worker->id, TERN_CHANNELS, out->ring));
    CU_ASSERT(!serves(f.context->workers, TERN_CHANNEL_CALLS, out->ring));
    *at = NULL;
    CU_ASSERT(serves(f.worker->id, TERN_CHANNEL_CALLS, out->ring));
    *at = &tern_lent_ring;
    CU_ASSERT(serves(f.worker->id, TERN_CHANNEL_CALLS, out->ring));
    *at = out;
    CU_ASSERT_PTR_NULL(wanted());
    for (int i = 0; i < 2; i++) { /* listed once */
        CU_ASSERT(serves(f.worker->id, TERN_CHANNEL_CALLS, out->ring));
        CU_ASSERT_PTR_EQUAL(wanted(), out);
        CU_ASSERT_PTR_NULL(out->next_wanted);
    }
    const uint64_t before = f.worker->stats.rings_reclaimed;
    f.context->closing = true;
    tern_reclaim_close(f.worker);
    f.context->closing = false;
    CU_ASSERT_PTR_EQUAL(wanted(), out);
    tern_rma_worker_of(f.worker)->settling++;
    tern_reclaim_close(f.worker);
    tern_rma_worker_of(f.worker)->settling--;
    CU_ASSERT_PTR_EQUAL(wanted(), out);
    CU_ASSERT_EQUAL(f.worker->stats.rings_reclaimed, before);
    tern_reclaim_close(f.worker);
    CU_ASSERT_PTR_NULL(wanted());
    CU_ASSERT_EQUAL(f.worker->stats.rings_reclaimed, before + 1);
}

static void questions_as_they_come(void) {
    if (!set_up(1))
        return;
    send_and_wait(0, 3);
    if (f.rank == 0)
        serve_questions();
    EXPECT_OK(tern_barrier(f.worker));
    send_and_wait(3, 200);
    fixture_close(&f);
}

/* The ring ends where not even the header of a frame fits before the end of its generation. */
static void at_the_end_of_a_generation(void) {
    if (!set_up(1))
        return;
    send_and_wait(0, 1);
    uint64_t sent = 1;
    if (f.rank == 0) {
        tern_out *out = ring_of_calls();
        const bool framed = out->transport->reads_own_frames;
        uint64_t left = RING;
        for (; sent < 2000 && framed && left >= TERN_FRAME_BYTES; sent++) {
            EXPECT_OK(
                tern_call(f.worker, (tern_worker_id){1, 0}, &arrive_function, &sent, sizeof sent));
            left = RING - (out->lane.write & (RING - 1));
        }
        CU_ASSERT(left < TERN_FRAME_BYTES || !framed);
        CU_ASSERT(closes(out, out->ring));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    tern_mpi_lock();
    MPI_Bcast(&sent, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    tern_mpi_unlock();
    CU_ASSERT_EQUAL(arrived, f.rank == 1 ? sent : 0);
    EXPECT_OK(tern_quiesce(f.worker)); /* before it a faster rank sends nothing */
    send_and_wait(sent, 200);
    fixture_close(&f);
}

static void meet(void) {
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    tern_mpi_unlock();
}

static tern_in *ring_that_brings_calls(void) {
    return tern_rma_worker_of(f.worker)->in[tern_endpoint_of(f.context, TERN_CHANNEL_CALLS, 0)];
}

/* Whether rank 1 leaves its ring, which ends where it has been consumed to or behind that. */
static bool leaves(uint64_t behind) {
    tern_in *in = ring_that_brings_calls();
    const uint32_t ring = in->ring;
    CU_ASSERT(tern_message_channel_begin(
        f.context, 0, tern_endpoint_of(f.context, in->channel, in->origin), in->position + behind));
    tern_reclaim_hear(f.worker, in);
    CU_ASSERT(in->ending);
    tern_reclaim_leave(f.worker, in);
    CU_ASSERT_EQUAL(in->ending, in->ring == ring);
    return in->ring != ring;
}

/* Rank 1 keeps its ring until what it waits for has come: records, the answer to its question
 * whether it may sleep, and the end of a put of credit. */
static void what_a_ring_is_kept_for(void) {
    if (!set_up(1))
        return;
    send_and_wait(0, 3);
    uint64_t word;
    fixture_alloc_all(&f, sizeof word, TERN_DOMAIN_GLOBAL, memory);
    EXPECT_OK(tern_get(f.worker, &word, memory[0], sizeof word)); /* has a port then */
    EXPECT_OK(tern_barrier(f.worker));
    meet();
    if (f.rank == 1) { /* rank 0 answers nothing meanwhile */
        tern_in *in = ring_that_brings_calls();
        CU_ASSERT(!leaves(8));
        if (tern_rma_worker_of(f.worker)->port != NULL) {
            static tern_posting under_way = {.pieces = 1};
            tern_posting *credit = in->credit;
            in->credit = &under_way;
            CU_ASSERT(!leaves(0));
            in->credit = credit;
        }
        for (int i = 0; in->transport->reads_own_frames && i < 100000 && in->ask == NULL; i++)
            (void)tern_sleep_rest(f.worker, in);
        CU_ASSERT(in->ask != NULL || !in->transport->reads_own_frames);
        if (in->ask != NULL)
            CU_ASSERT(!leaves(0));
    }
    meet();
    if (f.rank == 0)
        CU_ASSERT(closes(ring_of_calls(), ring_of_calls()->ring));
    EXPECT_OK(tern_barrier(f.worker));
    send_and_wait(3, 200);
    fixture_close(&f);
}

enum { PUTS = 400, BYTES = 1000, QUEUE = 50 };

static unsigned char values[PUTS][BYTES];
static uint64_t put;

static tern_status put_next(void) {
    memset(values[put], (int)(put % 251), BYTES);
    const tern_status status = tern_put_notify(
        f.worker, (tern_worker_id){1, 0}, tern_ptr_add(memory[1], (int64_t)(put * BYTES)),
        values[put], BYTES,
        &(tern_notify_options){
            .local_cid = put, .cid = &put, .cid_bytes = sizeof put, .flags = TERN_NOTIFY_NO_LOCAL});
    put += status == TERN_OK;
    return status;
}

static tern_out *ring_of_events(void) {
    return tern_rma_worker_of(f.worker)
        ->out[tern_endpoint_of(f.context, TERN_CHANNEL_NOTIFY, f.context->workers)];
}

/* The ring and the queue are full; a WAKE has found no room. */
static void ask_while_requests_wait(void) {
    for (int refused = 0; refused < 20;)
        refused += put_next() != TERN_OK;
    tern_out *out = ring_of_events();
    CU_ASSERT_EQUAL(out->requests->count, QUEUE);
    out->wake_due = out->direct ? out->wake_due : true;
    CU_ASSERT(closes(out, out->ring));
}

static void take_events(bool in_order) {
    bool seen[PUTS] = {false};
    for (uint64_t i = 0; f.rank == 1 && i < PUTS; i++) {
        tern_event event;
        uint64_t number = PUTS, wrong = 0;
        if (!EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event)))
            return;
        memcpy(&number, event.cid, sizeof number);
        CU_ASSERT_FATAL(number < PUTS && !seen[number] && (number == i || !in_order));
        seen[number] = true;
        const unsigned char *there =
            tern_local(f.context, tern_ptr_add(memory[1], (int64_t)(number * BYTES)));
        for (int k = 0; k < BYTES; k++)
            wrong += there[k] != number % 251;
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

/* Operations that wait for room are no part of the ring: they go on in what
 * follows it. */
static void waiting_in(tern_order order) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)2 << 20;
    config.ring_size = RING;
    config.ring_growth = 1;
    config.notify_queue = QUEUE;
    config.order = order;
    if (!fixture_open(&f, &config))
        return;
    put = 0;
    fixture_alloc_all(&f, PUTS * BYTES, TERN_DOMAIN_GLOBAL, memory);
    if (f.rank == 0) { /* the ring is open */
        EXPECT_OK(put_next());
        while (ring_of_events()->opening || tern_requests_wait(ring_of_events()))
            tern_progress(f.worker);
    }
    leave_alone(ask_while_requests_wait);
    while (f.rank == 0 && put < PUTS)
        if (put_next() != TERN_OK)
            tern_progress(f.worker);
    take_events(order != TERN_ORDER_RELAXED);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static void waiting_requests(void) { waiting_in(TERN_ORDER_STRICT); }
static void waiting_requests_in_any_order(void) { waiting_in(TERN_ORDER_RELAXED); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"an_idle_ring", an_idle_ring},
        {"unpublished_records", unpublished_records},
        {"which_are_asked_for", which_are_asked_for},
        {"questions_as_they_come", questions_as_they_come},
        {"questions_under_way", questions_under_way},
        {"at_the_end_of_a_generation", at_the_end_of_a_generation},
        {"what_a_ring_is_kept_for", what_a_ring_is_kept_for},
        {"waiting_requests", waiting_requests},
        {"waiting_requests_in_any_order", waiting_requests_in_any_order},
    };
    return tern_test_main(argc, argv, "reclaim", tests, sizeof tests / sizeof tests[0]);
}
