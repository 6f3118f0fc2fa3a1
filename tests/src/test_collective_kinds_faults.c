// tern-test: ranks survivors least=2

/* A rank dies at a random moment while all ranks are in collectives of all kinds, the same or
 * different ones: each survivor gets its own result, an error that names what the ranks are in, or
 * is told of the death; then no collective begins any more. */

#include "survivors.h"

#include "src/collective/collective.h"

enum { BARRIER, SUM, NOTIFY_BARRIER, BROADCAST, ALLREDUCE, KINDS };

static const uint64_t sent = 1000000;

/* What a kind gives on every rank if its status is TERN_OK. */
static uint64_t expected(const fixture *f, unsigned kind) {
    return kind == BROADCAST ? sent : kind == SUM || kind == ALLREDUCE ? f->size : 1;
}

static tern_status call(const fixture *f, unsigned kind, uint32_t root, uint64_t *number) {
    *number = kind == BROADCAST ? (f->rank == root ? sent : 0) : 1;
    switch (kind) {
    case BARRIER:
        return tern_barrier(f->worker);
    case SUM:
        return tern_collective_sum(f->context, f->worker, number, 1);
    case NOTIFY_BARRIER:
        return tern_notify_barrier(f->worker);
    case BROADCAST:
        return tern_notify_broadcast(f->worker, root, number, sizeof *number);
    default:
        return tern_notify_allreduce(f->worker, TERN_UINT64, TERN_REDUCE_SUM, number, 1);
    }
}

static uint64_t rounds_left; /* of the victim's progress */

static size_t die_in_round(tern_worker *worker, void *argument) {
    (void)worker, (void)argument;
    if (rounds_left-- == 0)
        tern_test_kill(tern_test_rank());
    return 0;
}

/* Calls kinds that all ranks draw from the same numbers until one is not TERN_OK or a mismatch. */
static tern_status call_until_told(const fixture *f, uint64_t random) {
    while (still_patient()) {
        const uint32_t root = (uint32_t)below(&random, f->size);
        const bool alike = below(&random, 4) != 0;
        unsigned mine = 0, seen = 0;
        const unsigned first = (unsigned)below(&random, KINDS);
        for (uint32_t r = 0; r < f->size; r++) {
            const unsigned drawn = (unsigned)below(&random, KINDS), kind = alike ? first : drawn;
            mine = r == f->rank ? kind : mine;
            seen |= 1u << kind;
        }
        uint64_t number;
        const tern_status status = call(f, mine, root, &number);
        const bool differ = (seen & (seen - 1)) != 0;
        if (status == TERN_OK && (!differ || mine == BROADCAST)) {
            CU_ASSERT_EQUAL(number, expected(f, mine));
        } else if (status == TERN_ERR_MISMATCH && differ) {
            EXPECT_DETAIL("is in");
        } else {
            return status;
        }
    }
    return TERN_OK;
}

static void nobody_gets_anothers(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    uint64_t random = tern_test_seed(), number;
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const uint64_t most = UINT64_C(1) << (4 + below(&random, 14));
    rounds_left = 1 + below(&random, most);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim)
        EXPECT_OK(tern_progress_hook_add(f.context, die_in_round, NULL));
    start_clock();
    const tern_status status = call_until_told(&f, random);
    (void)TOLD(victim, status);
    for (unsigned kind = 0; kind < KINDS; kind++)
        EXPECT(TERN_ERR_PEER, call(&f, kind, f.rank, &number));
    fixture_meet_living(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"nobody_gets_anothers", nobody_gets_anothers}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "collective_kinds_faults", tests, 1);
}
