// tern-test: ranks survivors least=2

/* A rank dies at a random moment while all ranks are in collectives of all kinds and lengths: each
 * survivor has what a collective that succeeded gives, or is told of the death. */

#include "survivors.h"

#include <stdlib.h>

enum { COUNT_MAX = 1 << 15, MEETING = 9, KINDS }; /* MEETING: tern_barrier */

/* Memory for a vector of every rank in each. */
typedef struct vectors {
    uint64_t *one, *in, *out;
} vectors;

/* Rank r gives turn + r in each number. */
static void fill(const fixture *f, const vectors *v, uint64_t turn, size_t count) {
    for (size_t i = 0; i < count; i++)
        v->one[i] = turn + f->rank;
    for (size_t i = 0; i < count * f->size; i++) {
        v->out[i] = turn + f->rank;
        v->in[i] = 0;
    }
}

static tern_status call(const fixture *f, unsigned kind, uint32_t root, const vectors *v,
                        size_t count) {
    tern_worker *w = f->worker;
    const size_t bytes = count * 8;
    switch (kind) {
    case 0:
        return tern_team_barrier(w, NULL);
    case 1:
        return tern_team_broadcast(w, NULL, root, v->one, bytes);
    case 2:
        return tern_team_reduce(w, NULL, root, TERN_UINT64, TERN_REDUCE_SUM, v->one, count);
    case 3:
        return tern_team_allreduce(w, NULL, TERN_UINT64, TERN_REDUCE_SUM, v->one, count);
    case 4:
        return tern_team_gather(w, NULL, root, v->one, v->in, bytes);
    case 5:
        return tern_team_allgather(w, NULL, v->one, v->in, bytes);
    case 6:
        return tern_team_alltoall(w, NULL, v->out, v->in, bytes);
    case 7:
        return tern_team_scan(w, NULL, TERN_UINT64, TERN_REDUCE_SUM, v->one, count);
    case 8:
        return tern_team_scan_before(w, NULL, TERN_UINT64, TERN_REDUCE_SUM, v->one, count);
    default:
        return tern_barrier(w);
    }
}

/* The sum of what ranks 0 to before - 1 give. */
static uint64_t sum_of(uint64_t turn, uint64_t before) {
    return turn * before + before * (before - 1) / 2;
}

static size_t count_others(const uint64_t *values, size_t count, uint64_t expected) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += values[i] != expected;
    return others;
}

/* How many numbers are not what the collective gives this rank. */
static size_t count_wrong(const fixture *f, unsigned kind, uint32_t root, const vectors *v,
                          uint64_t turn, size_t count) {
    size_t wrong = 0;
    switch (kind) {
    case 1:
        return count_others(v->one, count, turn + root);
    case 2:
        return f->rank == root ? count_others(v->one, count, sum_of(turn, f->size)) : 0;
    case 3:
        return count_others(v->one, count, sum_of(turn, f->size));
    case 4:
    case 5:
    case 6:
        for (uint32_t r = 0; (kind != 4 || f->rank == root) && r < f->size; r++)
            wrong += count_others(v->in + r * count, count, turn + r);
        return wrong;
    case 7:
        return count_others(v->one, count, sum_of(turn, f->rank + 1));
    case 8:
        return f->rank > 0 ? count_others(v->one, count, sum_of(turn, f->rank)) : 0;
    default:
        return 0;
    }
}

/* All ranks draw the same, until one is not TERN_OK; its status. */
static tern_status call_until_told(const fixture *f, const vectors *v, uint64_t random) {
    while (still_patient()) {
        const unsigned kind = (unsigned)below(&random, KINDS);
        const uint32_t root = (uint32_t)below(&random, f->size);
        const size_t count = (size_t)below(&random, below(&random, 2) ? COUNT_MAX : 100);
        const uint64_t turn = below(&random, 1000);
        fill(f, v, turn, count);
        const tern_status status = call(f, kind, root, v, count);
        if (status != TERN_OK)
            return status;
        CU_ASSERT_EQUAL(count_wrong(f, kind, root, v, turn, count), 0);
    }
    return TERN_OK;
}

/* Whether no rank ends the collective before all have begun it. In the other kinds a rank that
 * another one has told may still send its part, and be through. */
static bool needs_all(unsigned kind) {
    return kind == 0 || kind == 3 || kind == 5 || kind == 6 || kind == MEETING;
}

static void all_are_told(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    uint64_t random = tern_test_seed();
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const size_t bytes = COUNT_MAX * sizeof(uint64_t);
    const vectors v = {malloc(bytes), malloc(f.size * bytes), malloc(f.size * bytes)};
    rounds_left = 1 + below(&random, UINT64_C(1) << (4 + below(&random, 12)));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim)
        EXPECT_OK(tern_progress_hook_add(f.context, die_in_round, NULL));
    start_clock();
    (void)TOLD(victim, call_until_told(&f, &v, random));
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (needs_all(kind))
            EXPECT(TERN_ERR_PEER, call(&f, kind, 0, &v, 8));
    fixture_meet_living(&f);
    free(v.one);
    free(v.in);
    free(v.out);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"all_are_told", all_are_told}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "team_random_faults", tests, 1);
}
