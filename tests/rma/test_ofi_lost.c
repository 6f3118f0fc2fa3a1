// tern-test: ranks least=2

/* Each notified operation that a played network loses is told of it by its event, and the program's
 * next flush tells of lost puts, whatever tern has flushed before. Rank 0 acts; rank 1 is the
 * target. */

#include "fixture.h"
#include "played_network.h"
#include "rma/memory/state.h"
#include "rma/network/process.h"
#include "rma/notify/request.h"
#include "rma/port/port.h"
#include "rma/transfer.h"
#include "src/mpi/mpi.h"

enum { WORKERS = 2, BYTES = 4096, SMALL = 512, RING = 4096 };

static const played_game usual = {.lies_every = 1, .post_max = PLAYED_MAX};

static fixture f;
static tern_ptr memory[64];
static char data[BYTES];
static tern_worker *second; /* of this rank */

static tern_worker_id to(uint32_t index) { return (tern_worker_id){1, index}; }

static tern_ptr place(uint32_t index) { return tern_ptr_add(memory[1], (int64_t)index * BYTES); }

/* Opens a context in which rank 0 has rings to both workers of rank 1. */
static bool begin(bool local_memory) {
    tern_config config;
    if (!played_begin()) {
        tern_test_skip("the ranks do not all share memory");
        return false;
    }
    played_game game = usual;
    game.local_memory = local_memory;
    played_set(&game);
    EXPECT_OK(tern_config_init(&config));
    config.ranks_per_node = 1;
    config.transport = TERN_TRANSPORT_OFI;
    config.workers = WORKERS;
    config.ring_size = RING;
    config.ring_growth = 1;
    config.packed_max_remote = 0;
    config.log_level = TERN_LOG_NONE;
    config.segment_size = (size_t)8 << 20;
    if (!fixture_open(&f, &config)) {
        played_end();
        return false;
    }
    EXPECT_OK(tern_worker_adopt(f.context, 1, &second));
    fixture_alloc_all(&f, WORKERS * BYTES, TERN_DOMAIN_OWNER, memory);
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

static void end(void) {
    EXPECT_OK(tern_barrier(f.worker));
    fixture_free_all(&f, memory);
    EXPECT_OK(tern_worker_release(second));
    fixture_close(&f);
    played_end();
}

static void put(uint32_t index) {
    EXPECT_OK(tern_put_notify(f.worker, to(index), place(index), data, BYTES,
                              &(tern_notify_options){.local_cid = index}));
}

static void get(void *here, size_t bytes) {
    EXPECT_OK(tern_get_notify(f.worker, to(0), here, memory[1], bytes,
                              &(tern_notify_options){.flags = TERN_NOTIFY_NO_REMOTE}));
}

static void expect_local(tern_status status) {
    tern_event event = {0};
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_LOCAL, &event));
    CU_ASSERT_EQUAL(event.status, status);
}

static void expect_remote(uint32_t index) {
    tern_event event;
    EXPECT_OK(tern_event_wait(index == 0 ? f.worker : second, TERN_PROBE_REMOTE, &event));
}

static void expect_no_remote(void) {
    tern_event event;
    EXPECT(TERN_ERR_EMPTY, tern_probe(f.worker, TERN_PROBE_REMOTE, &event));
    EXPECT(TERN_ERR_EMPTY, tern_probe(second, TERN_PROBE_REMOTE, &event));
}

/* Puts to both workers of rank 1, so that all connections are there. */
static void meet(void) {
    for (uint32_t i = 0; i < WORKERS; i++) {
        if (f.rank == 0) {
            put(i);
            expect_local(TERN_OK);
        } else if (f.rank == 1) {
            expect_remote(i);
        }
    }
    EXPECT_OK(tern_barrier(f.worker));
}

/* Puts to that many workers are lost, and nothing of it is known yet. */
static void lose_puts(uint32_t count) {
    played.game.silent = true;
    played.game.loses_from = BYTES;
    for (uint32_t i = 0; i < count; i++)
        put(i);
    played.game.silent = false;
}

/* The puts to two workers are lost together: both fail, and neither record is sent. */
static void puts_to_two_workers(void) {
    if (!begin(false))
        return;
    meet();
    if (f.rank == 0) {
        lose_puts(WORKERS);
        for (uint32_t i = 0; i < WORKERS; i++)
            expect_local(TERN_ERR_NETWORK);
        played.game.loses_from = 0;
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1)
        expect_no_remote();
    EXPECT_OK(tern_barrier(f.worker));
    meet(); /* later ones arrive */
    end();
}

/* Only its event tells that a notified put is lost. */
static void the_event_tells(void) {
    if (!begin(false))
        return;
    meet();
    if (f.rank == 0) {
        lose_puts(1);
        EXPECT_OK(tern_fence(f.worker, 1));
        expect_local(TERN_ERR_NETWORK);
        EXPECT_OK(tern_fence(f.worker, 1));
        EXPECT_OK(tern_flush(f.worker, 1));
        lose_puts(1);
        expect_local(TERN_ERR_NETWORK);
        played.game.loses_from = 0;
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 1)
        expect_no_remote();
    end();
}

/* Rings that begin new generations meanwhile leave the loss of a put to the flush. */
static void a_put_and_rings(void) {
    enum { RECORDS = 4 * RING / 64 };
    if (!begin(false))
        return;
    meet();
    if (f.rank == 0) {
        played.game.loses_from = BYTES;
        EXPECT_OK(tern_put(f.worker, memory[1], data, BYTES));
        played.game.loses_from = 0;
    }
    for (int i = 0; i < RECORDS; i++) {
        const char cid[40] = {0};
        tern_event event = {.status = TERN_ERR_AGAIN};
        while (f.rank == 0 && event.status != TERN_OK) { /* again if it has failed */
            EXPECT_OK(tern_put_notify(f.worker, to(0), memory[1], data, 0,
                                      &(tern_notify_options){.cid = cid, .cid_bytes = sizeof cid}));
            EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_LOCAL, &event));
            CU_ASSERT_EQUAL(event.status, TERN_OK);
        }
        if (f.rank == 1)
            expect_remote(0);
    }
    if (f.rank == 0) {
        EXPECT(TERN_ERR_NETWORK, tern_flush(f.worker, 1));
        EXPECT_OK(tern_flush(f.worker, 1));
    }
    end();
}

/* Puts that are lost, of which the put itself does not tell. */
static void lose_plain_put(size_t bytes) {
    played.game.loses_from = BYTES;
    EXPECT_OK(tern_put(f.worker, memory[1], data, bytes));
    played.game.loses_from = 0;
}

/* What needs the loss of a put to be told before: flushes of tern for a notified put, for a lock,
 * and for a rendezvous. */
static void flush_of_tern(int way) {
    switch (way) {
    case 0:
        put(1);
        expect_local(TERN_OK);
        break;
    case 1:
        EXPECT(TERN_ERR_NETWORK, tern_puts_flush(f.worker, 1));
        EXPECT_OK(tern_puts_flush(f.worker, 1));
        break;
    case 2:
        EXPECT(TERN_ERR_NETWORK, tern_puts_flush_all(f.worker));
        EXPECT_OK(tern_puts_flush_all(f.worker));
        break;
    default:
        EXPECT(TERN_ERR_NETWORK, tern_fence(f.worker, 1));
    }
}

enum { FLUSHES = 4, ENDS = 3 };

/* A flush of tern leaves the loss of a plain put to each kind of flush of the program. */
static void the_flush_tells(void) {
    if (!begin(false))
        return;
    meet();
    for (int way = 0; way < FLUSHES; way++)
        for (int which = 0; which < ENDS; which++) {
            if (f.rank == 0) {
                lose_plain_put(BYTES);
                flush_of_tern(way);
            } else if (f.rank == 1 && way == 0) {
                expect_remote(1);
            }
            if (which == 0 && f.rank == 0)
                EXPECT(TERN_ERR_NETWORK, tern_flush(f.worker, 1));
            else if (which == 1 && f.rank == 0)
                EXPECT(TERN_ERR_NETWORK, tern_flush_all(f.worker));
            else if (which == 2)
                CU_ASSERT_NOT_EQUAL(tern_barrier(f.worker), TERN_OK);
            EXPECT_OK(tern_flush(f.worker, 1)); /* once */
            EXPECT_OK(tern_barrier(f.worker));
        }
    end();
}

static void wait_for_event(bool local, bool lost) {
    if (local)
        expect_local(lost ? TERN_ERR_NETWORK : TERN_OK);
    else /* no event: until the queue is empty */
        while (tern_requests_unsent(f.worker, 1) != TERN_NOBODY)
            tern_progress(f.worker);
}

/* One random operation of rank 0. untold: of the program's flush and of tern's own. */
static void random_operation(uint64_t *random, bool untold[TERN_FLUSHERS]) {
    static char large[2 * BYTES];
    const bool loses = below(random, 2), local = below(random, 2);
    const size_t bytes = (1 + below(random, 3)) * BYTES / 2;
    const bool lost = loses && bytes >= BYTES;
    tern_request request = {0};
    tern_status status;
    played.game.loses_from = loses ? BYTES : 0;
    switch (below(random, 6)) {
    case 0:
        EXPECT_OK(tern_put(f.worker, memory[1], large, bytes));
        untold[TERN_FLUSHER_TERN] |= lost;
        untold[TERN_FLUSHER_PROGRAM] |= lost;
        break;
    case 1: /* tells of its loss itself */
        EXPECT_OK(tern_put_start(f.worker, memory[1], large, bytes, &request));
        EXPECT(lost ? TERN_ERR_NETWORK : TERN_OK, tern_wait(f.worker, &request));
        break;
    case 2:
        EXPECT_OK(tern_put_notify(
            f.worker, to(0), memory[1], large, bytes,
            &(tern_notify_options){.flags = local ? TERN_NOTIFY_NO_REMOTE : TERN_NOTIFY_NO_LOCAL}));
        wait_for_event(local, lost);
        untold[TERN_FLUSHER_TERN] |= lost && !local;
        untold[TERN_FLUSHER_PROGRAM] |= lost && !local;
        break;
    case 3:
        status = local ? tern_puts_flush(f.worker, 1) : tern_fence(f.worker, 1);
        CU_ASSERT_EQUAL(status, untold[TERN_FLUSHER_TERN] ? TERN_ERR_NETWORK : TERN_OK);
        untold[TERN_FLUSHER_TERN] = false;
        break;
    default:
        status = local ? tern_flush(f.worker, 1) : tern_flush_all(f.worker);
        CU_ASSERT_EQUAL(status, untold[TERN_FLUSHER_PROGRAM] ? TERN_ERR_NETWORK : TERN_OK);
        untold[TERN_FLUSHER_TERN] = untold[TERN_FLUSHER_PROGRAM] = false;
    }
    played.game.loses_from = 0;
}

/* Each loss is told as a simple model says. */
static void random_losses(void) {
    if (!begin(false))
        return;
    meet();
    uint64_t random = fixture_seed(&f, 7);
    bool untold[TERN_FLUSHERS] = {false};
    if (f.rank == 0) {
        for (int i = fixture_times(&f, 300); i > 0; i--)
            random_operation(&random, untold);
        tern_ignore(tern_flush(f.worker, 1));
    }
    end();
}

static void fail_card(bool fails) {
    atomic_store(&tern_rma_of(f.context)->native->network->trouble,
                 fails ? TERN_NETWORK_FAILED : TERN_NETWORK_FINE);
}

/* The memory of a get whose event says that it has failed is not written any more. */
static void failed_gets_write_nothing(bool lost) {
    if (!begin(!lost))
        return;
    meet();
    if (f.rank == 1)
        memset(tern_local(f.context, memory[1]), 1, SMALL);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        static char here[2][SMALL], nothing[SMALL];
        played.game.silent = true;
        played.game.loses_from = lost ? SMALL : 0;
        for (int i = 0; i < 2; i++)
            get(here[i], SMALL);
        played.game.silent = !lost;
        if (lost)
            for (int i = 0; i < 100; i++)
                tern_progress(f.worker);
        fail_card(true);
        for (int i = 0; i < 2; i++)
            expect_local(TERN_ERR_NETWORK);
        fail_card(false);
        played.game.silent = false;
        played.game.loses_from = 0;
        EXPECT_OK(tern_put(f.worker, place(1), data, BYTES));
        EXPECT_OK(tern_flush(f.worker, 1)); /* waits for all that is under way */
        for (int i = 0; i < 2; i++)
            CU_ASSERT_EQUAL(memcmp(here[i], nothing, SMALL), 0);
    }
    end();
}

static void late_gets(void) { failed_gets_write_nothing(false); }

static void lost_gets(void) { failed_gets_write_nothing(true); }

static void seem_dead(bool dead) {
    atomic_store(&f.context->peers.dead[0], dead ? 2u : 0u);
    atomic_store(&f.context->peers.first, dead ? 1u : TERN_NOBODY);
}

static tern_status test_until_done(tern_request *request) {
    int done = 0;
    tern_status status = TERN_OK;
    while (status == TERN_OK && !done)
        status = tern_test(f.worker, request, &done);
    return status == TERN_OK ? tern_wait(f.worker, request) : status;
}

/* A get from a dead rank that was given up does not write any more, where the network can end it.
 * It is waited for, or tested, or notified. */
static void gets_from_the_dead(void) {
    if (!begin(true))
        return;
    meet();
    if (f.rank == 1)
        memset(tern_local(f.context, memory[1]), 1, BYTES);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        static char here[BYTES], nothing[BYTES];
        for (int way = 0; way < 3; way++) {
            tern_request request = {0};
            played.game.retires = true;
            played.game.slow_from = BYTES;
            played.game.slow = 300000000;
            if (way < 2)
                EXPECT_OK(tern_get_start(f.worker, here, memory[1], BYTES, &request));
            else
                get(here, BYTES);
            played.game.slow_from = 0;
            seem_dead(true);
            if (way == 0)
                EXPECT(TERN_ERR_PEER, tern_wait(f.worker, &request));
            else if (way == 1)
                EXPECT(TERN_ERR_PEER, test_until_done(&request));
            else
                expect_local(TERN_ERR_PEER);
            CU_ASSERT_EQUAL(tern_port_under_way(f.worker, 1), 0);
            seem_dead(false);
            EXPECT_OK(tern_put(f.worker, place(1), data, BYTES));
            EXPECT_OK(tern_flush(f.worker, 1)); /* waits for all that is under way */
            CU_ASSERT_EQUAL(memcmp(here, nothing, BYTES), 0);
        }
    }
    end();
}

/* A get that fails while the context is destroyed. */
static void a_get_at_the_end(void) {
    if (!begin(false))
        return;
    meet();
    static char here[SMALL];
    fixture_free_all(&f, memory);
    if (f.rank == 0) {
        played.game.loses_from = SMALL;
        get(here, SMALL);
    }
    EXPECT_OK(tern_worker_release(second));
    fixture_close(&f);
    played_end();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"puts_to_two_workers", puts_to_two_workers},
                                           {"the_event_tells", the_event_tells},
                                           {"the_flush_tells", the_flush_tells},
                                           {"random_losses", random_losses},
                                           {"a_put_and_rings", a_put_and_rings},

                                           {"late_gets", late_gets},
                                           {"lost_gets", lost_gets},
                                           {"gets_from_the_dead", gets_from_the_dead},
                                           {"a_get_at_the_end", a_get_at_the_end}};
    return tern_test_main(argc, argv, "ofi_lost", tests, sizeof tests / sizeof *tests);
}
