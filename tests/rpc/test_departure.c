// tern-test: transports least=2 timeout=120

/* What has left when a function returns, or a flush: rank 0 does something towards ranks that it
 * has not met, or whose rings are full, and is outside tern until they have got it. They make
 * progress meanwhile. */

#include "fixture.h"

#include <stdlib.h>
#include <time.h>

enum { DEADLINE = 20, LARGE = 64 << 10, WORD = 0x1234567 };

static fixture f;
static tern_ptr place[64];
static uint64_t heard;    /* calls that have run here */
static uint64_t expected; /* so many calls or events */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tern_worker_id worker_of(uint32_t rank) { return (tern_worker_id){rank, 0}; }

static tern_status hear(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    heard++;
    return TERN_OK;
}
TERN_FUNCTION(hear)

/* Of rank 0: a handler that calls a rank. */
static tern_status pass_on(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t rank;
    (void)bytes;
    memcpy(&rank, arguments, sizeof rank);
    heard++;
    return tern_call(call->worker, worker_of((uint32_t)rank), &hear_function, &rank, sizeof rank);
}
TERN_FUNCTION(pass_on)

/* When an operation has left. The origin flushes where it has to. */
typedef enum departure {
    AT_RETURN,       /* it has left, or MPI and the network bring it */
    ONCE_MET,        /* the same, but over rma and p2p the first ring takes its target's help */
    AT_FLUSH_REMOTE, /* of remote ranks */
    AT_FLUSH
} departure;

typedef struct operation {
    const char *name;
    void (*make)(uint32_t rank);
    bool (*arrived)(void); /* of a target; looks and makes progress */
    departure leaves;
} operation;

static bool hears_calls(void) {
    tern_progress(f.worker);
    return heard >= expected;
}

static bool hears_events(void) {
    tern_event event;
    if (tern_probe(f.worker, TERN_PROBE_REMOTE, &event) == TERN_OK)
        heard++;
    return heard >= expected;
}

static bool sees_word(void) {
    uint64_t word;
    tern_progress(f.worker);
    memcpy(&word, tern_local(f.context, place[f.rank]), sizeof word);
    return word == WORD;
}

static bool sees_offer(void) {
    tern_descriptor d;
    return tern_descriptor_test(f.worker, TERN_ANY_WORKER, TERN_POSTED_ANY, 7, &d) == TERN_OK;
}

static char source[LARGE];
static tern_request posted[64];

static void put_notify(uint32_t rank, size_t bytes) {
    const uint64_t cid = 1;
    EXPECT_OK(tern_put_notify(f.worker, worker_of(rank), place[rank], source, bytes,
                              &(tern_notify_options){.cid = &cid,
                                                     .cid_bytes = sizeof cid,
                                                     .flags = TERN_NOTIFY_NO_LOCAL}));
}

static void notify_purely(uint32_t rank) { put_notify(rank, 0); }
static void notify_packed(uint32_t rank) { put_notify(rank, 8); }
static void notify_ledger(uint32_t rank) { put_notify(rank, LARGE); }

static void get_notified(uint32_t rank) {
    const uint64_t cid = 2;
    EXPECT_OK(tern_get_notify(f.worker, worker_of(rank), source, place[rank], 8,
                              &(tern_notify_options){.cid = &cid,
                                                     .cid_bytes = sizeof cid,
                                                     .flags = TERN_NOTIFY_NO_LOCAL}));
}

static void call_first(uint32_t rank) {
    EXPECT_OK(tern_call(f.worker, worker_of(rank), &hear_function, &heard, sizeof heard));
}

static void call_queued(uint32_t rank) {
    EXPECT_OK(tern_call_queue(f.worker, worker_of(rank), &hear_function, &heard, sizeof heard));
}

static void call_in_handler(uint32_t rank) {
    const uint64_t number = rank, before = heard;
    EXPECT_OK(tern_call(f.worker, worker_of(0), &pass_on_function, &number, sizeof number));
    while (heard == before)
        tern_progress(f.worker);
}

static void call_large(uint32_t rank) {
    EXPECT_OK(tern_call(f.worker, worker_of(rank), &hear_function, source, LARGE));
}

static void call_gathered(uint32_t rank) {
    EXPECT_OK(tern_call_policy(f.worker, worker_of(rank), TERN_PUBLISH_BATCHED, 4096));
    call_first(rank);
}

static void call_corked(uint32_t rank) {
    tern_call_cork(f.worker);
    call_first(rank);
}

static void call_by_message(uint32_t rank) {
    EXPECT_OK(tern_call(f.worker, tern_by_message(worker_of(rank)), &hear_function, &heard,
                        sizeof heard));
}

static void call_archive(uint32_t rank) {
    tern_writer writer;
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, (size_t)1 << 20));
    EXPECT_OK(tern_writer_share(&writer, f.worker, 0));
    EXPECT_OK(TERN_WRITE(&writer, (uint32_t *)(void *)source, LARGE / 4));
    EXPECT_OK(tern_call_archive(f.worker, worker_of(rank), &hear_function, &writer, NULL));
    tern_writer_close(&writer);
}

static void call_with_put(uint32_t rank) {
    const uint64_t word = WORD;
    const tern_call_options options = {.transfer = TERN_BUFFER_PUT,
                                       .buffer = &word,
                                       .buffer_bytes = sizeof word,
                                       .place = place[rank]};
    EXPECT_OK(
        tern_call_with(f.worker, worker_of(rank), &hear_function, &word, sizeof word, &options));
}

static void broadcast_once(uint32_t rank) {
    if (rank == 1)
        EXPECT_OK(tern_call_all(f.worker, &hear_function, &heard, sizeof heard, NULL));
}

static void post_offer(uint32_t rank) {
    EXPECT_OK(tern_post_send(f.worker, worker_of(rank), 7, place[0], 8, &posted[rank]));
}

static void put_plainly(uint32_t rank) {
    const uint64_t word = WORD;
    EXPECT_OK(tern_put(f.worker, place[rank], &word, sizeof word));
}

/* Until so many do not fit the ring: the targets are in MPI. */
static void notify_full(uint32_t rank) {
    tern_stats before, now;
    tern_stats_get(f.worker, &before);
    do {
        put_notify(rank, 8);
        expected++;
        tern_stats_get(f.worker, &now);
    } while (now.notices_queued < before.notices_queued + 3);
}

static void queue_full(uint32_t rank) {
    tern_stats before, now;
    tern_stats_get(f.worker, &before);
    do {
        call_queued(rank);
        expected++;
        tern_stats_get(f.worker, &now);
    } while (now.calls_overflowed < before.calls_overflowed + 3);
}

/* Of rank 0: a handler notifies a rank, and must not wait for that. */
static tern_status notify_inside(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t rank;
    tern_transport transport = TERN_SHM;
    (void)bytes;
    memcpy(&rank, arguments, sizeof rank);
    EXPECT_OK(tern_context_transport(f.context, (uint32_t)rank, &transport));
    tern_stats before, now;
    tern_stats_get(call->worker, &before);
    put_notify((uint32_t)rank, 0);
    tern_stats_get(call->worker, &now);
    /* A flush of what is queued for a remote rank may wait, and a handler may not. If the rank has
     * already opened its ring, the notification has been posted: then a flush may have to wait for
     * the network. */
    const tern_status status = tern_flush(call->worker, (uint32_t)rank);
    const bool queued = now.notices_queued > before.notices_queued;
    if (transport == TERN_SHM || (status != TERN_ERR_STATE && !queued))
        EXPECT(TERN_OK, status);
    else
        EXPECT(TERN_ERR_STATE, status);
    heard++;
    return TERN_OK;
}
TERN_FUNCTION(notify_inside)

static void notify_in_handler(uint32_t rank) {
    const uint64_t number = rank, before = heard;
    EXPECT_OK(tern_call(f.worker, worker_of(0), &notify_inside_function, &number, sizeof number));
    while (heard == before)
        tern_progress(f.worker);
}

static bool is_over(tern_transport a) {
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f.context, f.size - 1, &transport));
    return transport == a;
}

static bool needs_flush(const operation *o) {
    if (o->leaves == ONCE_MET)
        return is_over(TERN_RMA) || is_over(TERN_P2P);
    return o->leaves == AT_FLUSH_REMOTE && !is_over(TERN_SHM);
}

static void check_one(const operation *o, bool full) {
    if (f.rank == 0) {
        for (uint32_t r = 1; r < f.size; r++) {
            o->make(r);
            if (full)
                MPI_Send(&expected, 1, MPI_UINT64_T, (int)r, 0, f.comm);
            expected = 0;
        }
        if (o->leaves == AT_FLUSH)
            for (uint32_t r = 1; r < f.size; r++)
                EXPECT_OK(tern_flush(f.worker, r));
        else if (needs_flush(o))
            EXPECT_OK(tern_flush_all(f.worker));
        for (uint32_t r = 1; r < f.size; r++) {
            int arrived = 0;
            MPI_Recv(&arrived, 1, MPI_INT, (int)r, 0, f.comm, MPI_STATUS_IGNORE);
            if (!arrived)
                printf("%s does not leave for rank %u\n", o->name, r);
            CU_ASSERT(arrived);
        }
        return;
    }
    if (full)
        MPI_Recv(&expected, 1, MPI_UINT64_T, 0, 0, f.comm, MPI_STATUS_IGNORE);
    const double end = seconds_now() + DEADLINE;
    int arrived = 0;
    while (!(arrived = o->arrived()) && seconds_now() < end)
        sched_yield();
    if (arrived)
        EXPECT_OK(tern_flush_all(f.worker)); /* of what it passes on */
    MPI_Send(&arrived, 1, MPI_INT, 0, 0, f.comm);
}

/* Each with a context of its own, in which nobody has met anybody. full: then again, until rings
 * are full. */
static void check(const operation *o, const operation *full) {
    if (!fixture_open(&f, NULL))
        return;
    fixture_alloc_all(&f, LARGE, TERN_DOMAIN_OWNER, place);
    heard = 0;
    expected = 1;
    check_one(o, false);
    tern_call_uncork(f.worker);
    heard = expected = 0;
    if (full != NULL)
        check_one(full, true);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

#define CASE(name, make, arrived, leaves)                                                          \
    static void name(void) {                                                                       \
        static const operation o = {#name, make, arrived, leaves};                                 \
        check(&o, NULL);                                                                           \
    }

CASE(first_notification, notify_purely, hears_events, ONCE_MET)
CASE(first_packed_put, notify_packed, hears_events, ONCE_MET)
CASE(first_ledger_put, notify_ledger, hears_events, AT_FLUSH_REMOTE)
CASE(first_notified_get, get_notified, hears_events, AT_FLUSH_REMOTE)
CASE(first_call, call_first, hears_calls, AT_RETURN)
CASE(first_queued_call, call_queued, hears_calls, AT_FLUSH_REMOTE)
CASE(first_call_in_a_handler, call_in_handler, hears_calls, AT_FLUSH_REMOTE)
CASE(first_notification_in_a_handler, notify_in_handler, hears_events, AT_FLUSH_REMOTE)
CASE(large_call, call_large, hears_calls, AT_FLUSH_REMOTE)
CASE(gathered_call, call_gathered, hears_calls, AT_FLUSH)
CASE(corked_call, call_corked, hears_calls, AT_FLUSH_REMOTE)
CASE(message_call, call_by_message, hears_calls, AT_RETURN)
CASE(archive, call_archive, hears_calls, AT_FLUSH_REMOTE)
CASE(call_behind_a_put, call_with_put, hears_calls, AT_RETURN)
CASE(broadcast, broadcast_once, hears_calls, AT_FLUSH_REMOTE)
CASE(offer, post_offer, sees_offer, AT_FLUSH_REMOTE)
CASE(plain_put, put_plainly, sees_word, AT_FLUSH_REMOTE)

static void full_of_notifications(void) {
    static const operation first = {"first", notify_packed, hears_events, AT_FLUSH};
    static const operation full = {"full_of_notifications", notify_full, hears_events, AT_FLUSH};
    check(&first, &full);
}

static void full_of_calls(void) {
    static const operation first = {"first", call_first, hears_calls, AT_FLUSH};
    static const operation full = {"full_of_calls", queue_full, hears_calls, AT_FLUSH};
    check(&first, &full);
}

/* Nobody but this worker probes for them, so a flush does not wait. */
static void full_of_own_notifications(void) {
    if (!fixture_open(&f, NULL))
        return;
    fixture_alloc_all(&f, LARGE, TERN_DOMAIN_OWNER, place);
    heard = expected = 0;
    notify_full(f.rank);
    EXPECT_OK(tern_flush(f.worker, f.rank));
    EXPECT_OK(tern_flush_all(f.worker));
    while (!hears_events())
        ;
    CU_ASSERT_EQUAL(heard, expected);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"first_notification", first_notification},
        {"first_packed_put", first_packed_put},
        {"first_ledger_put", first_ledger_put},
        {"first_notified_get", first_notified_get},
        {"first_call", first_call},
        {"first_queued_call", first_queued_call},
        {"first_call_in_a_handler", first_call_in_a_handler},
        {"first_notification_in_a_handler", first_notification_in_a_handler},
        {"large_call", large_call},
        {"gathered_call", gathered_call},
        {"corked_call", corked_call},
        {"message_call", message_call},
        {"archive", archive},
        {"call_behind_a_put", call_behind_a_put},
        {"broadcast", broadcast},
        {"offer", offer},
        {"plain_put", plain_put},
        {"full_of_notifications", full_of_notifications},
        {"full_of_calls", full_of_calls},
        {"full_of_own_notifications", full_of_own_notifications},
    };
    return tern_test_main(argc, argv, "departure", tests, sizeof tests / sizeof tests[0]);
}
