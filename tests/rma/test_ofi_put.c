// tern-test: ranks least=2

/* What a port makes of puts, over a played network. A blocking put of up to 64 KiB does not wait
 * for its target while that makes no progress. Posts of a corked worker wait for each other. */

#include "fixture.h"
#include "played_network.h"
#include "src/mpi/mpi.h"

enum { TIMES = 200, BYTES = 65536, MEMORY = 1 << 20 };

static const played_game usual = {.help_from = 1, .lies_every = 1, .post_max = PLAYED_MAX};

/* No rank makes progress of tern here. */
static void meet_in_mpi(void) {
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    tern_mpi_unlock();
}

static void fill(uint64_t *random, unsigned char *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)tern_test_random(random);
}

/* Rank 0 puts to rank 1, which is in MPI, changes the source, and flushes later. */
static void put_one(fixture *f, tern_ptr memory, unsigned char *model, uint64_t *random) {
    static unsigned char source[BYTES];
    /* Small ones, large ones, and those around the end of a unit of the copies, 8 KiB. */
    const uint64_t kind = tern_test_random(random) % 3;
    const size_t bytes =
        kind == 0   ? 1 + tern_test_random(random) % 4096
        : kind == 1 ? 1 + tern_test_random(random) % BYTES
                    : 8192 * (1 + tern_test_random(random) % 7) - 1 + tern_test_random(random) % 3;
    const size_t at = tern_test_random(random) % (MEMORY - BYTES);
    fill(random, source, bytes);
    memcpy(model + at, source, bytes);
    meet_in_mpi();
    if (f->rank == 0) {
        const uint64_t before = played.posts;
        EXPECT_OK(tern_put(f->worker, tern_ptr_add(memory, (int64_t)at), source, bytes));
        CU_ASSERT_EQUAL(played.posts - before, 1); /* one copy */
        memset(source, 0, bytes);
    }
    meet_in_mpi();
    if (f->rank == 0)
        EXPECT_OK(tern_flush(f->worker, 1));
    EXPECT_OK(tern_barrier(f->worker));
}

static void while_the_target_sleeps(void) {
    fixture f = {.comm = MPI_COMM_WORLD};
    tern_config config;
    tern_ptr memory[64];
    if (!played_begin()) {
        tern_test_skip("the ranks do not all share memory");
        return;
    }
    played_game game = usual;
    uint64_t random = tern_test_seed();
    game.local_memory = random % 2 == 0;
    played_set(&game);
    EXPECT_OK(tern_config_init(&config));
    config.ranks_per_node = 1;
    config.transport = TERN_TRANSPORT_OFI;
    config.segment_size = (size_t)8 << 20;
    unsigned char *model = calloc(MEMORY, 1);
    if (model != NULL && fixture_open(&f, &config)) {
        fixture_alloc_all(&f, MEMORY, TERN_DOMAIN_OWNER, memory);
        memset(tern_local(f.context, memory[f.rank]), 0, MEMORY);
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == 0) { /* first contact */
            EXPECT_OK(tern_put(f.worker, memory[1], model, 1));
            EXPECT_OK(tern_flush(f.worker, 1));
        }
        EXPECT_OK(tern_barrier(f.worker));
        for (int i = 0; i < TIMES; i++)
            put_one(&f, memory[1], model, &random);
        if (f.rank == 1)
            CU_ASSERT_EQUAL(memcmp(tern_local(f.context, memory[1]), model, MEMORY), 0);
        EXPECT_OK(tern_barrier(f.worker));
        fixture_free_all(&f, memory);
        fixture_close(&f);
    }
    free(model);
    played_end();
}

static bool open_it(fixture *f, tern_ptr *memory) {
    tern_config config;
    *f = (fixture){.comm = MPI_COMM_WORLD};
    if (!played_begin()) {
        tern_test_skip("the ranks do not all share memory");
        return false;
    }
    const played_game game = {.lies_every = 1, .post_max = PLAYED_MAX};
    played_set(&game);
    EXPECT_OK(tern_config_init(&config));
    config.ranks_per_node = 1;
    config.transport = TERN_TRANSPORT_OFI;
    config.segment_size = (size_t)8 << 20;
    if (!fixture_open(f, &config)) {
        played_end();
        return false;
    }
    fixture_alloc_all(f, MEMORY, TERN_DOMAIN_OWNER, memory);
    return true;
}

static void close_it(fixture *f, tern_ptr *memory) {
    EXPECT_OK(tern_barrier(f->worker));
    fixture_free_all(f, memory);
    fixture_close(f);
    played_end();
}

/* Puts of a corked worker say that others follow, and uncork starts them. Others say nothing like
 * that. */
static void corked_puts_follow(void) {
    fixture f;
    tern_ptr memory[64];
    if (!open_it(&f, memory))
        return;
    if (f.rank == 0) {
        uint64_t word = 1;
        EXPECT_OK(tern_put(f.worker, memory[1], &word, sizeof word));
        EXPECT_OK(tern_flush(f.worker, 1));
        for (int i = 0; i < 3; i++) {
            EXPECT_OK(tern_put(f.worker, memory[1], &word, sizeof word));
            CU_ASSERT_EQUAL(played.more, 0);
        }
        EXPECT_OK(tern_flush(f.worker, 1));
        const uint64_t starts = played.starts;
        tern_call_cork(f.worker);
        for (uint64_t i = 0; i < 8; i++) {
            word = 5 + i;
            EXPECT_OK(tern_put(f.worker, tern_ptr_add(memory[1], (int64_t)(8 * i)), &word, 8));
        }
        CU_ASSERT_EQUAL(played.more, 8);
        CU_ASSERT_EQUAL(played.starts, starts);
        tern_call_uncork(f.worker);
        CU_ASSERT_EQUAL(played.more, 0);
        CU_ASSERT_EQUAL(played.starts, starts + 1);
        tern_call_cork(f.worker); /* a flush starts them, too */
        EXPECT_OK(tern_put(f.worker, tern_ptr_add(memory[1], 64), &word, 8));
        EXPECT_OK(tern_flush(f.worker, 1));
        CU_ASSERT_EQUAL(played.more, 0);
        tern_call_uncork(f.worker);
    }
    EXPECT_OK(tern_barrier(f.worker));
    const uint64_t *own = tern_local(f.context, memory[f.rank]);
    for (uint64_t i = 0; f.rank == 1 && i < 9; i++)
        CU_ASSERT_EQUAL(own[i], i < 8 ? 5 + i : 12);
    close_it(&f, memory);
}

/* The card of a worker that posts nothing is asked for what it has reported, now and then. */
static void quiet_workers_look(void) {
    fixture f;
    tern_ptr memory[64];
    if (!open_it(&f, memory))
        return;
    const uint64_t looks = played.looks;
    uint64_t rounds = 0;
    while (played.looks < looks + 2 && rounds++ < 10000000)
        (void)tern_progress(f.worker);
    CU_ASSERT(played.looks >= looks + 2);
    CU_ASSERT(rounds > 4096);
    close_it(&f, memory);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"while_the_target_sleeps", while_the_target_sleeps},
                                           {"corked_puts_follow", corked_puts_follow},
                                           {"quiet_workers_look", quiet_workers_look}};
    return tern_test_main(argc, argv, "ofi_put", tests, sizeof tests / sizeof *tests);
}
