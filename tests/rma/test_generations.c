// tern-test: transports least=2
/*
 * The ends of a ring's generations (rma/ring/ring.h, rma/ring/frame.h): generations that end at
 * every place that matters, what a remote ring flushes when it begins the next one, and credit for
 * less than half a ring.
 */

#include <stdlib.h>

#include "fixture.h"
#include "rma/ring/frame.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"
#include "src/progress/wait.h"

enum { RING = 4096 };

static fixture f;
static tern_out *out;                 /* to the next rank */
static uint32_t sent, received, kept; /* kept: the record that the consumer leaves where it is */
static int wrong;

/* Takes the place of calls' consumer: record n has n as its id, and is full of n. */
static size_t consume(tern_worker *worker, tern_in *in) {
    uint64_t header = tern_ring_peek(worker, in);
    const char *payload = tern_ring_payload(in);
    if (received == kept)
        return 0;
    wrong += tern_record_id(header) != received;
    for (size_t i = 0; i < tern_record_bytes(header); i++)
        wrong += payload[i] != (char)received;
    received++;
    tern_ring_advance(in, header);
    return 1;
}

/* Sends a record of so many bytes, alone. */
static void send(size_t bytes) {
    void *room = NULL;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    for (;;) {
        status = tern_ring_open(f.worker, (f.rank + 1) % f.size, &out);
        if (status == TERN_OK)
            status = tern_ring_reserve(f.worker, out, bytes, &room);
        if (status != TERN_ERR_AGAIN || tern_wait_step(f.context, &wait, TERN_ANYBODY) != TERN_OK)
            break;
        tern_progress(f.worker);
    }
    if (!EXPECT(TERN_OK, status))
        return;
    memset(room, (int)sent, bytes);
    tern_ring_commit(out, tern_record_header(TERN_RECORD_CALL, sent++, bytes));
    tern_ring_publish(f.worker, out);
    wait = (tern_wait_state)TERN_WAIT_START;
    while (out->lane.first_header != 0 && /* a network may refuse */
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
}

/* The first record has opened the ring, which grows to so many times its first size. */
static bool open_growing_ring(size_t growth) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = RING;
    config.ring_growth = growth;
    if (!fixture_open(&f, &config))
        return false;
    sent = received = 0;
    kept = UINT32_MAX;
    wrong = 0;
    tern_record_handle(f.context, TERN_RECORD_CALL, consume);
    EXPECT_OK(tern_barrier(f.worker));
    send(8);
    return out != NULL;
}

static bool open_ring(void) { return open_growing_ring(1); }

/* All that was sent arrives. */
static void close_ring(void) {
    uint32_t *all = calloc(f.size, sizeof *all);
    fixture_share(&f, &sent, sizeof sent, all);
    const uint32_t due = all[(f.rank + f.size - 1) % f.size];
    free(all);
    tern_wait_state wait = TERN_WAIT_START;
    while (received < due && tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(received, due);
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    out = NULL;
    fixture_close(&f);
}

/* Sends records until so many bytes of the generation are left. */
static void send_until_left(uint64_t left) {
    const uint64_t head = 8 + (out->transport->reads_own_frames ? TERN_FRAME_BYTES : 0);
    for (;;) {
        const uint64_t size = RING - (out->lane.write & (RING - 1)) - left;
        if (size == 0 || size == RING)
            return;
        /* No piece is too small for the heads. */
        send((size < 1024 ? size : size < 1088 ? 512 : 1024) - head);
    }
}

/* Generations that end with too little room for a frame's header, with just that, and with more. */
static void they_end_anywhere(void) {
    if (!open_ring())
        return;
    for (uint64_t left = 0; left <= 96; left += 8) {
        send_until_left(left);
        send(200);
    }
    close_ring();
}

static const tern_transport_ops *real_transport;
static uint64_t flushes;

static tern_status count_flush(tern_worker *worker, uint32_t rank) {
    flushes++;
    return real_transport->flush(worker, rank);
}

static tern_status count_settle(tern_worker *worker, uint32_t rank) {
    flushes++;
    return real_transport->settle(worker, rank);
}

/* The puts of one generation are flushed, or settled, once, before the next generation is put over
 * them. */
static void each_is_flushed_once(void) {
    if (!open_ring())
        return;
    if (out->transport->reads_own_frames) {
        tern_transport_ops counting = *out->transport;
        real_transport = out->transport;
        counting.flush = count_flush;
        if (counting.settles_own)
            counting.settle = count_settle;
        flushes = 0;
        out->transport = &counting;
        for (size_t i = 0; i < 200; i++)
            send(100 + i);
        out->transport = real_transport;
        CU_ASSERT_EQUAL(flushes, (out->lane.write - 1) / RING);
        CU_ASSERT(flushes > 5);
    } else {
        tern_test_skip("the next rank's rings are not put by MPI");
    }
    close_ring();
}

static tern_status refuse(tern_worker *worker, tern_out *ring) {
    (void)worker, (void)ring;
    return TERN_ERR_AGAIN;
}

/* The end of a generation finds no room in the transport, and then a smaller record still fits the
 * generation. Without frames the end is no put of its own. */
static void an_end_is_put_off(void) {
    void *room = NULL;
    tern_transport_ops refusing;
    if (!open_ring())
        return;
    for (uint64_t left = 80; left <= 400 && out->transport->reads_own_frames; left += 80) {
        send_until_left(left + 200);
        send(100);
        real_transport = out->transport;
        refusing = *real_transport;
        refusing.publish = refuse;
        out->transport = &refusing;
        for (int i = 0; i < 2; i++) {
            tern_status status = tern_ring_reserve(f.worker, out, 8, &room);
            if (status == TERN_ERR_AGAIN)
                break; /* no credit */
            EXPECT_OK(status);
            memset(room, (int)sent, 8);
            tern_ring_commit(out, tern_record_header(TERN_RECORD_CALL, sent++, 8));
            if (i == 0)
                EXPECT(TERN_ERR_AGAIN, tern_ring_reserve(f.worker, out, 1000, &room));
        }
        out->transport = real_transport;
        tern_ring_publish(f.worker, out);
        send(1000);
    }
    close_ring();
}

/* The same where no frame has begun, and the ring then grows. */
static void an_end_is_put_off_for_good(void) {
    void *room = NULL;
    if (!open_growing_ring(8))
        return;
    if (!out->transport->reads_own_frames) {
        close_ring();
        return;
    }
    send_until_left(200);
    tern_wait_state wait = TERN_WAIT_START;
    while (!tern_ring_has_room(f.worker, out, RING / 4) &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    tern_transport_ops refusing = *out->transport;
    real_transport = out->transport;
    refusing.publish = refuse;
    out->transport = &refusing;
    EXPECT(TERN_ERR_AGAIN, tern_ring_reserve(f.worker, out, 1000, &room));
    out->transport = real_transport;
    for (int i = 0; i < 40; i++)
        send(1000);
    close_ring();
}

/* A consumer that has to leave a record gives back what lies before it, however little that is: the
 * record may wait for what its origin can only send then. */
static void a_kept_record_gives_credit(void) {
    if (!open_ring())
        return;
    kept = 3;
    EXPECT_OK(tern_barrier(f.worker));
    send(400);
    send(400);
    const uint64_t before = out->lane.write;
    send(400);
    tern_wait_state wait = TERN_WAIT_START;
    while (out->transport->consumed(f.worker, out) < before &&
           tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT(before < RING / 2); /* else it is given back anyhow */
    CU_ASSERT(out->transport->consumed(f.worker, out) >= before);
    EXPECT_OK(tern_barrier(f.worker));
    kept = UINT32_MAX;
    close_ring();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"they_end_anywhere", they_end_anywhere},
        {"each_is_flushed_once", each_is_flushed_once},
        {"an_end_is_put_off", an_end_is_put_off},
        {"an_end_is_put_off_for_good", an_end_is_put_off_for_good},
        {"a_kept_record_gives_credit", a_kept_record_gives_credit},
    };
    return tern_test_main(argc, argv, "generations", tests, sizeof tests / sizeof tests[0]);
}
