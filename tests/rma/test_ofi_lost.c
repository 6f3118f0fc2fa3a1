// tern-test: ranks least=2

/* Each notified operation that a played network loses is told of it, and the application's flush
 * tells of lost puts. Rank 0 acts; rank 1 is the target. */

#include "fixture.h"
#include "played_network.h"
#include "rma/memory/state.h"
#include "rma/network/process.h"
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

/* A fence of the application tells of the loss; the notified put tells of it as well. */
static void a_put_and_a_fence(void) {
    if (!begin(false))
        return;
    meet();
    if (f.rank == 0) {
        lose_puts(1);
        EXPECT(TERN_ERR_NETWORK, tern_fence(f.worker, 1));
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
                                           {"a_put_and_a_fence", a_put_and_a_fence},
                                           {"a_put_and_rings", a_put_and_rings},
                                           {"late_gets", late_gets},
                                           {"lost_gets", lost_gets},
                                           {"a_get_at_the_end", a_get_at_the_end}};
    return tern_test_main(argc, argv, "ofi_lost", tests, sizeof tests / sizeof *tests);
}
