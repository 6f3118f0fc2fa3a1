/*
 * What happens between machines: the ranks of the first half are on one host, the others on another
 * one, and no rank has a pidfd of a rank of the other host (tests/hosts/hosts.sh). A rank dies
 * while the others use it, and the link between the hosts is down for a while.
 */

#include <stdio.h>
#include <stdlib.h>

#include "nothing.h"
#include "survivors.h"

static fixture f;
static tern_ptr words[64];

enum { KINDS = 4 }; /* of operations */

static bool open_machines(size_t host_timeout) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.host_timeout = host_timeout;
    config.segment_size = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return false;
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, words);
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

/* One operation on rank, which ends when the rank has seen it; the kinds take turns. */
static tern_status use(uint32_t rank, unsigned turn) {
    uint64_t word = turn;
    tern_status status = TERN_OK;
    switch (turn % KINDS) {
    case 0:
        status = tern_put(f.worker, words[rank], &word, sizeof word);
        return status == TERN_OK ? tern_flush(f.worker, rank) : status;
    case 1:
        return tern_get(f.worker, &word, words[rank], sizeof word);
    case 2:
        return tern_atomic_fetch_add(f.worker, words[rank], 1, &word);
    default:
        return tern_call_return(f.worker, (tern_worker_id){rank, 0}, &nothing_function, NULL, 0,
                                NULL, 0, NULL);
    }
}

/* Prints how an operation on rank ended. */
static void report(tern_status status, uint32_t rank, double since) {
    fprintf(stderr, "rank %u, after %.3f s of an operation on rank %u: %s\n", f.rank,
            MPI_Wtime() - since, rank, status == TERN_OK ? "it is done" : tern_error_detail());
}

/* Expects that every operation on the victim, which is on the other host, tells of its death. */
static void all_kinds_tell(uint32_t victim) {
    for (unsigned kind = 0; kind < KINDS; kind++)
        (void)TOLD(victim, use(victim, kind));
}

/* The last rank dies while the others use it. The first error is its death. */
static void a_used_rank(void) {
    if (!open_machines(30))
        return;
    const uint32_t victim = f.size - 1;
    tern_status status = TERN_OK;
    double last = MPI_Wtime();
    tern_test_arrive();
    if (f.rank == victim) {
        for (double end = MPI_Wtime() + 0.5; MPI_Wtime() < end || !tern_test_all_arrived();)
            (void)tern_progress(f.worker);
        die_outside_mpi();
    }
    start_clock();
    for (unsigned turn = 0; status == TERN_OK && still_patient(); turn++) {
        last = MPI_Wtime();
        status = use(victim, turn);
    }
    report(status, victim, last);
    EXPECT(TERN_ERR_PEER, status);
    if (f.rank < f.size / 2)
        all_kinds_tell(victim);
    fixture_meet_living(&f);
    fixture_close(&f);
}

/* Ranks of the other host use the last rank for the first time after its death. MPI has noticed
 * that already, and tern has not. */
static void a_rank_that_has_gone(void) {
    if (!open_machines(30))
        return;
    const uint32_t victim = f.size - 1;
    for (unsigned turn = 0; turn < 40 && f.rank != victim; turn++)
        EXPECT_OK(use(victim, turn));
    tern_test_arrive();
    if (f.rank == victim) {
        while (!tern_test_all_arrived())
            (void)tern_progress(f.worker);
        die_outside_mpi();
    }
    while (!tern_test_all_arrived() || !tern_test_dead((int)victim))
        (void)tern_progress(f.worker);
    usleep(300000);
    if (f.rank < f.size / 2) {
        start_clock();
        const tern_status status = use(victim, f.rank);
        report(status, victim, began);
        EXPECT(TERN_ERR_PEER, status);
        all_kinds_tell(victim);
    }
    fixture_meet_living(&f);
    fixture_close(&f);
}

/* Rank 0 lets the link be down for so many seconds. */
static void interrupt_link(unsigned seconds) {
    const char *link = getenv("HOSTS_LINK");
    char command[200];
    snprintf(command, sizeof command,
             "(ip link set %s down; sleep %u; ip link set %s up) </dev/null >/dev/null 2>&1 &",
             link, seconds, link);
    if (f.rank == 0)
        CU_ASSERT_EQUAL(system(command), 0);
}

/* An operation on rank is done, or has ended with an error that names the rank, which is alive. */
static void is_done_or_names(tern_status status, uint32_t rank) {
    char name[32];
    snprintf(name, sizeof name, "rank %u", rank);
    report(status, rank, began);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_MPI || status == TERN_ERR_NETWORK);
    if (status != TERN_OK)
        EXPECT_DETAIL(name);
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    fixture_meet_living(&f);
}

/* After a link was down MPI may be of no use, so the last rank dies and the context ends without
 * it. */
static void close_without_mpi(void) {
    const uint32_t victim = f.size - 1;
    tern_status status = TERN_OK;
    if (f.rank == victim)
        tern_test_kill((int)victim);
    while (status != TERN_ERR_PEER)
        status = tern_barrier(f.worker);
    fixture_meet_living(&f);
    fixture_close(&f);
}

/* Opens a context, and uses a rank of the other host for a while. [out] other: that rank. */
static bool open_and_use(uint32_t *other) {
    if (!open_machines(0))
        return false;
    *other = (f.rank + f.size / 2) % f.size;
    for (unsigned turn = 0; turn < 40; turn++)
        EXPECT_OK(use(*other, turn));
    fixture_meet_living(&f);
    return true;
}

/* The link is down for so many seconds, and each rank uses one of the other host all the time. */
static void interrupt_use(unsigned seconds) {
    uint32_t other = 0;
    tern_status status = TERN_OK;
    if (!open_and_use(&other))
        return;
    interrupt_link(seconds);
    start_clock();
    for (unsigned turn = 0; status == TERN_OK && MPI_Wtime() - began < seconds + 3; turn++)
        status = use(other, turn);
    is_done_or_names(status, other);
    close_without_mpi();
}

static void an_interrupted_link(void) { interrupt_use(20); }

/* For as long as MPI, or the provider, may give its connections up. */
static void a_long_interruption(void) { interrupt_use(60); }

/* Nobody uses the link while it is down, for as long as MPI may give its connections up. Then the
 * ranks of one host use those of the other one. */
static void a_quiet_link(void) {
    enum { DOWN = 60 };
    uint32_t other = 0;
    tern_status status = TERN_OK;
    if (!open_and_use(&other))
        return;
    interrupt_link(DOWN);
    for (double end = MPI_Wtime() + DOWN + 3; MPI_Wtime() < end;)
        (void)tern_progress(f.worker);
    start_clock();
    for (unsigned turn = 0; status == TERN_OK && turn < 40 && f.rank < f.size / 2; turn++)
        status = use(other, turn);
    is_done_or_names(status, other);
    close_without_mpi();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_used_rank", a_used_rank},
                                           {"a_rank_that_has_gone", a_rank_that_has_gone},
                                           {"an_interrupted_link", an_interrupted_link},
                                           {"a_long_interruption", a_long_interruption},
                                           {"a_quiet_link", a_quiet_link}};
    return tern_test_main(argc, argv, "machines", tests, sizeof tests / sizeof *tests);
}
