// tern-test: ranks least=4

/* Connections of which a worker gets fewer than it has ranks to talk to: it leaves some and makes
 * them again, and nothing is lost, comes twice or out of order. Over libfabric, whose ends get
 * connections from the tests' own network (flaky.h). */

#include "flaky.h"
#include "native.h"

#include <stdlib.h>

enum { CALLS = 40, RANKS_MAX = 8 };

static fixture f;
static tern_ptr memory[64];
static uint64_t arrived[RANKS_MAX], noticed[RANKS_MAX], wrong;

static tern_status take(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number = 0;
    memcpy(&number, arguments, bytes < sizeof number ? bytes : sizeof number);
    wrong += bytes != sizeof number || number != arrived[call->origin.rank];
    arrived[call->origin.rank]++;
    if (call->result == NULL)
        return TERN_OK;
    memcpy(call->result, &number, sizeof number);
    return tern_call_result(call, sizeof number);
}
TERN_FUNCTION(take)

static void probe_all(void) {
    tern_event event;
    while (tern_probe(f.worker, TERN_PROBE_REMOTE, &event) == TERN_OK) {
        uint64_t number = 0;
        memcpy(&number, event.cid, sizeof number);
        wrong += number != noticed[event.peer.rank];
        noticed[event.peer.rank]++;
    }
}

static bool open_connections(void) {
    tern_config config;
    native_config(&config, 4096);
    memset(arrived, 0, sizeof arrived);
    memset(noticed, 0, sizeof noticed);
    wrong = 0;
    return native_open(&f, &config, 4096, memory);
}

/* A word of this rank's own at another one. */
static tern_ptr word_at(uint32_t rank) { return tern_ptr_add(memory[rank], (int64_t)8 * f.rank); }

/* One turn with a rank: a call, one with a result, a put with a notification, and a put that the
 * get after a flush brings back. lost: puts may be lost, so it makes no put. */
static void take_turn(uint32_t rank, uint64_t i, bool lost) {
    const tern_worker_id to = {rank, 0};
    uint64_t number = 2 * i, back = 0;
    size_t bytes = 0;
    EXPECT_OK(tern_call(f.worker, to, &take_function, &number, sizeof number));
    number++;
    EXPECT_OK(tern_call_return(f.worker, to, &take_function, &number, sizeof number, &back,
                               sizeof back, &bytes));
    wrong += back != number || bytes != sizeof back;
    EXPECT_OK(tern_put_notify(
        f.worker, to, TERN_NULL, NULL, 0,
        &(tern_notify_options){.cid = &i, .cid_bytes = sizeof i, .flags = TERN_NOTIFY_NO_LOCAL}));
    if (!lost) {
        EXPECT_OK(tern_put(f.worker, word_at(rank), &i, sizeof i));
        EXPECT_OK(tern_flush(f.worker, rank));
        EXPECT_OK(tern_get(f.worker, &back, word_at(rank), sizeof back));
        wrong += back != i;
    }
    probe_all();
}

/* Turns with all other ranks; then all has come. [out] left: connections. */
static void all_with_all(uint64_t lose, uint64_t *left) {
    tern_stats stats;
    flaky_network_lose(lose);
    for (uint64_t i = 0; i < CALLS; i++)
        for (uint32_t step = 1; step < f.size; step++)
            take_turn((f.rank + step) % f.size, i, lose > 0);
    EXPECT_OK(tern_quiesce(f.worker));
    flaky_network_lose(0);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t rank = 0; rank < f.size; rank++) {
        while (rank != f.rank && noticed[rank] < CALLS) {
            tern_progress(f.worker);
            probe_all();
        }
        CU_ASSERT_EQUAL(arrived[rank], rank != f.rank ? 2 * CALLS : 0);
        CU_ASSERT_EQUAL(noticed[rank], rank != f.rank ? CALLS : 0);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    tern_stats_get(f.worker, &stats);
    *left = stats.connections_evicted;
}

/* Closes; then each rank has been told of the connections that were left. */
static void close_connections(uint64_t left, const flaky_counts *before) {
    uint64_t sums[2] = {left, 0};
    native_close(&f, memory);
    sums[1] = flaky_network_counts().dismissed - before->dismissed;
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CU_ASSERT(sums[1] >= sums[0]); /* a question may come twice */
    CU_ASSERT_EQUAL(flaky_network_counts().astray, 0);
}

static void few_connections(uint64_t says, uint64_t refuses_from, uint64_t lose) {
    uint64_t left = 0;
    const flaky_counts before = flaky_network_counts();
    flaky_network(tern_test_seed() + 1);
    flaky_network_connect(says);
    flaky_network_refuse_connections(refuses_from);
    if (open_connections()) {
        all_with_all(lose, &left);
        CU_ASSERT(left > 0);
        CU_ASSERT(flaky_network_counts().connections_most <= 2);
        CU_ASSERT(lose == 0 || flaky_network_counts().lost > before.lost);
        close_connections(left, &before);
    }
    flaky_network_refuse_connections(UINT64_MAX);
    flaky_network(0);
}

static void so_many_are_allowed(void) { few_connections(2, UINT64_MAX, 0); }
static void so_many_are_there(void) { few_connections(4096, 2, 0); }
static void connections_break(void) { few_connections(2, UINT64_MAX, 20); }

/* Puts a word to each other rank in turn, which it reads back. */
static void put_to_all(void) {
    for (uint32_t step = 1; step < f.size; step++) {
        const uint32_t rank = (f.rank + step) % f.size;
        const uint64_t word = f.rank + 100 * rank;
        uint64_t back = 0;
        EXPECT_OK(tern_put(f.worker, word_at(rank), &word, sizeof word));
        EXPECT_OK(tern_flush(f.worker, rank));
        EXPECT_OK(tern_get(f.worker, &back, word_at(rank), sizeof back));
        CU_ASSERT_EQUAL(back, word);
    }
}

/* One alone serves one rank after the other. None is an error, until there is one again. */
static void one_and_none(void) {
    flaky_network(tern_test_seed() + 1);
    flaky_network_connect(0);
    const flaky_counts before = flaky_network_counts();
    if (open_connections()) {
        const uint64_t word = 3;
        tern_stats stats;
        EXPECT_OK(tern_barrier(f.worker));
        flaky_network_refuse_connections(1);
        put_to_all();
        flaky_network_refuse_connections(0);
        EXPECT(TERN_ERR_MEMORY,
               tern_put(f.worker, word_at((f.rank + 1) % f.size), &word, sizeof word));
        EXPECT_DETAIL("no further connection");
        flaky_network_refuse_connections(1);
        put_to_all();
        tern_stats_get(f.worker, &stats);
        CU_ASSERT(stats.connections_evicted >= f.size);
        flaky_network_refuse_connections(UINT64_MAX);
        EXPECT_OK(tern_barrier(f.worker));
        tern_stats_get(f.worker, &stats);
        close_connections(stats.connections_evicted, &before);
    }
    flaky_network_refuse_connections(UINT64_MAX);
    flaky_network(0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"so_many_are_allowed", so_many_are_allowed},
                                           {"so_many_are_there", so_many_are_there},
                                           {"connections_break", connections_break},
                                           {"one_and_none", one_and_none}};
    return tern_test_main(argc, argv, "ofi_connections", tests, sizeof tests / sizeof *tests);
}
