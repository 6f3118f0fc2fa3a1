// tern-test: transports

/* Typed updates of arrays: each type and operation, alone against a model and from all ranks at
 * once. */

#include "contract/number_tools.h"

static const tern_domain domains[] = {TERN_DOMAIN_GLOBAL, TERN_DOMAIN_OWNER, TERN_DOMAIN_NODE};

enum { COUNT = 24, BYTES = COUNT * 16 + 64 };

/* Whether domain takes atomics of this rank on rank's memory. */
static bool reaches(const fixture *f, tern_domain domain, uint32_t rank) {
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f->context, rank, &transport));
    return domain != TERN_DOMAIN_NODE || transport == TERN_SHM;
}

/* One of the four functions; [out] old: if the function gives it, which *gives tells. */
static tern_status any_function(tern_worker *worker, uint64_t which, tern_ptr to,
                                const void *values, void *old, size_t count, tern_number type,
                                tern_reduction op, bool *gives) {
    tern_request request = {0};
    tern_status status;
    *gives = which % 2 == 1;
    switch (which % 4) {
    case 0:
        return tern_accumulate(worker, to, values, count, type, op);
    case 1:
        return tern_get_accumulate(worker, to, values, old, count, type, op);
    case 2:
        status = tern_accumulate_start(worker, to, values, count, type, op, &request);
        break;
    default:
        status = tern_get_accumulate_start(worker, to, values, old, count, type, op, &request);
    }
    return status == TERN_OK ? tern_wait(worker, &request) : status;
}

static number number_at(tern_number type, const char *memory, size_t index) {
    number n = {0};
    memcpy(&n, memory + index * tern_number_bytes(type), tern_number_bytes(type));
    return n;
}

/* Updates random parts of the array `to`, which nobody else does. Returns how many numbers differ
 * from the model. */
static size_t update_alone(const fixture *f, tern_ptr to, tern_number type, tern_reduction op,
                           uint64_t *random) {
    const size_t width = tern_number_bytes(type), step = width < 8 ? 4 : 8;
    char start[BYTES], now[BYTES], memory[BYTES], old_memory[BYTES];
    size_t wrong = 0;
    const size_t first = below(random, 6) * step, count = below(random, COUNT);
    char *values = memory + below(random, 9), *old = old_memory + below(random, 9);
    for (size_t i = 0; i < BYTES; i++)
        start[i] = (char)tern_test_random(random);
    for (size_t i = 0; i < count; i++) {
        const number a = any_number(type, random), b = any_number(type, random);
        memcpy(start + first + i * width, &a, width);
        memcpy(values + i * width, &b, width);
    }
    EXPECT_OK(tern_put(f->worker, to, start, BYTES));
    EXPECT_OK(tern_flush(f->worker, to.rank));
    char kept[BYTES];
    memcpy(kept, values, count * width);
    bool gives = false;
    if (below(random, 4) == 0)
        old = values; /* may be the same memory */
    const tern_status status =
        any_function(f->worker, below(random, 4), tern_ptr_add(to, (int64_t)first), values, old,
                     count, type, op, &gives);
    EXPECT_OK(status);
    EXPECT_OK(tern_flush(f->worker, to.rank));
    EXPECT_OK(tern_get(f->worker, now, to, BYTES));
    for (size_t i = 0; i < count; i++) {
        const number a = number_at(type, start + first, i);
        wrong += !same(type, model(type, op, a, number_at(type, kept, i)),
                       number_at(type, now + first, i));
        wrong += gives && memcmp(old + i * width, start + first + i * width, width) != 0;
    }
    wrong += memcmp(now, start, first) != 0;
    const size_t end = first + count * width;
    wrong += memcmp(now + end, start + end, BYTES - end) != 0;
    return wrong;
}

static void alone_against_model(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint64_t random = fixture_seed(&f, 30);
    const int times = fixture_times(&f, 200) / 8 + 1;
    for (int d = 0; d < 3; d++) {
        fixture_alloc_all(&f, f.size * BYTES, domains[d], all);
        for (int type = 0; type < TYPES; type++)
            for (int op = 0; op < OPS; op++)
                for (int i = 0; i < times; i++) {
                    const uint32_t r = (uint32_t)below(&random, f.size);
                    if (!reaches(&f, domains[d], r) ||
                        !tern_number_has((tern_number)type, (tern_reduction)op))
                        continue;
                    const tern_ptr to = tern_ptr_add(all[r], (int64_t)f.rank * BYTES);
                    CU_ASSERT_EQUAL(
                        update_alone(&f, to, (tern_number)type, (tern_reduction)op, &random), 0);
                }
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

/* All ranks update the arrays of all by one operation, whose result does not depend on the order.
 */
static void update_together(fixture *f, tern_domain domain, tern_number type, tern_reduction op) {
    enum { N = 5 };
    const size_t width = tern_number_bytes(type);
    tern_ptr *all = calloc(f->size, sizeof *all);
    number *own = calloc((size_t)f->size * N, sizeof *own);
    number *gathered = calloc((size_t)f->size * f->size * N, sizeof *gathered);
    uint64_t random = fixture_seed(f, 31);
    const int times = fixture_times(f, 400) / 4 + 2;
    char values[N * 16], old[N * 16];
    bool begun[64] = {false}, gives;
    fixture_alloc_all(f, N * 16, domain, all);
    number start = {0};
    uint64_t same_random = 77;
    start = exact_number(type, op, 0, &same_random);
    for (size_t i = 0; i < N; i++)
        memcpy((char *)tern_local(f->context, all[f->rank]) + i * width, &start, width);
    EXPECT_OK(tern_barrier(f->worker));
    for (int t = 0; t < times; t++) {
        const uint32_t r = below(&random, 2) ? 0 : (uint32_t)below(&random, f->size);
        for (size_t i = 0; i < N; i++) {
            const number n = exact_number(type, op, (uint64_t)t, &random);
            memcpy(values + i * width, &n, width);
            own[r * N + i] = begun[r] ? model(type, op, own[r * N + i], n) : n;
        }
        begun[r] = true;
        EXPECT_OK(any_function(f->worker, tern_test_random(&random), all[r], values, old, N, type,
                               op, &gives));
    }
    fixture_share(f, own, (size_t)f->size * N * sizeof *own, gathered);
    bool *others = calloc((size_t)f->size * 64, sizeof *others);
    fixture_share(f, begun, sizeof begun, others);
    for (size_t i = 0; i < N; i++) {
        number expected = start;
        for (uint32_t r = 0; r < f->size; r++)
            if (others[r * 64 + f->rank])
                expected =
                    model(type, op, expected, gathered[((size_t)r * f->size + f->rank) * N + i]);
        const number now = number_at(type, tern_local(f->context, all[f->rank]), i);
        CU_ASSERT(same(type, expected, now));
    }
    free(others);
    free(gathered);
    free(own);
    fixture_free_all(f, all);
    free(all);
}

static void together(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    CU_ASSERT_FATAL(f.size <= 64);
    for (int d = 0; d < 2; d++)
        for (int type = 0; type < TYPES; type++)
            for (int op = 0; op < TERN_REDUCE_REPLACE; op++)
                if (tern_number_has((tern_number)type, (tern_reduction)op))
                    update_together(&f, domains[d], (tern_number)type, (tern_reduction)op);
    fixture_close(&f);
}

/* What a replace puts in comes out once: a sum over all that came out is one over all that went
 * in. Sums in between are not lost. */
static void replaced_comes_out_once(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++)
        for (int type = 0; type < TYPES; type++) {
            const tern_number t = (tern_number)type;
            fixture_alloc_all(&f, 16, domains[d], all);
            uint64_t random = fixture_seed(&f, 32);
            const int times = fixture_times(&f, 800) / 4 + 2;
            number balance = {0}, negated, sum = {0}, now = {0}, *balances;
            for (int i = 0; i < times; i++) {
                number old = {0}, n = exact_number(t, TERN_REDUCE_SUM, 0, &random);
                balance = model(t, TERN_REDUCE_SUM, balance, n);
                if (below(&random, 2) == 0) {
                    EXPECT_OK(tern_accumulate(f.worker, all[0], &n, 1, t, TERN_REDUCE_SUM));
                    continue;
                }
                EXPECT_OK(
                    tern_get_accumulate(f.worker, all[0], &n, &old, 1, t, TERN_REDUCE_REPLACE));
                negated = (number){0};
                if (is_floating(t) || is_complex(t))
                    for (int part = 0; part < (is_complex(t) ? 2 : 1); part++)
                        set_part(t, &negated, part, -part_of(t, &old, part));
                else if (tern_number_bytes(t) == 8)
                    negated.u64 = 0 - old.u64;
                else
                    negated.u32 = 0 - old.u32;
                balance = model(t, TERN_REDUCE_SUM, balance, negated);
            }
            balances = calloc(f.size, sizeof *balances);
            fixture_share(&f, &balance, sizeof balance, balances);
            for (uint32_t r = 0; r < f.size; r++)
                sum = model(t, TERN_REDUCE_SUM, sum, balances[r]);
            const number nothing = {0};
            EXPECT_OK(tern_get_accumulate(f.worker, all[0], &nothing, &now, 1, t, TERN_REDUCE_SUM));
            CU_ASSERT(same(t, model(t, TERN_REDUCE_SUM, sum, nothing),
                           model(t, TERN_REDUCE_SUM, now, nothing)));
            free(balances);
            fixture_free_all(&f, all);
        }
    free(all);
    fixture_close(&f);
}

static void mix_into(const fixture *f, tern_ptr word, tern_ptr narrow, tern_ptr real,
                     uint64_t which) {
    const uint64_t one = 1;
    const uint32_t one32 = 1;
    const double one_real = 1;
    uint64_t guess = 0, old = 1;
    switch (which % 7) {
    case 0:
        EXPECT_OK(tern_accumulate(f->worker, word, &one, 1, TERN_INT64, TERN_REDUCE_SUM));
        EXPECT_OK(tern_accumulate(f->worker, narrow, &one32, 1, TERN_UINT32, TERN_REDUCE_SUM));
        EXPECT_OK(tern_accumulate(f->worker, real, &one_real, 1, TERN_DOUBLE, TERN_REDUCE_SUM));
        return;
    case 1:
        EXPECT_OK(tern_atomic_fetch_add(f->worker, word, 1, NULL));
        EXPECT_OK(tern_atomic_fetch_add32(f->worker, narrow, 1, NULL));
        EXPECT_OK(tern_atomic_fetch_add_double(f->worker, real, 1, NULL));
        return;
    case 2: /* by compare-and-swap of the words */
        for (; old != guess;) {
            guess = old;
            EXPECT_OK(tern_atomic_cas(f->worker, word, guess, guess + 1, &old));
        }
        EXPECT_OK(tern_accumulate(f->worker, narrow, &one32, 1, TERN_INT32, TERN_REDUCE_SUM));
        for (guess = 0, old = 1; old != guess;) {
            double value;
            guess = old;
            memcpy(&value, &guess, sizeof value);
            value += 1;
            uint64_t desired;
            memcpy(&desired, &value, sizeof desired);
            EXPECT_OK(tern_atomic_cas(f->worker, real, guess, desired, &old));
        }
        return;
    default: /* operations that change nothing */
        EXPECT_OK(tern_accumulate(f->worker, word, &one, 1, TERN_UINT64, TERN_REDUCE_PRODUCT));
        EXPECT_OK(tern_accumulate(f->worker, narrow, &one32, 1, TERN_INT32, TERN_REDUCE_PRODUCT));
        EXPECT_OK(tern_accumulate(f->worker, real, &one_real, 1, TERN_DOUBLE, TERN_REDUCE_PRODUCT));
    }
}

/* Updates of all types and the domain's atomics on the same words, from all ranks: no update is
 * lost. */
static void mixed_with_atomics(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    uint64_t *counts = calloc(f.size, sizeof *counts);
    for (int d = 0; d < 2; d++) {
        fixture_alloc_all(&f, 24, domains[d], all);
        uint64_t random = fixture_seed(&f, 33), sum = 0, added = 0;
        const tern_ptr word = all[f.size - 1], narrow = tern_ptr_add(word, 12),
                       real = tern_ptr_add(word, 16);
        const int times = fixture_times(&f, 3000);
        for (int i = 0; i < times; i++) {
            const uint64_t which = below(&random, 7);
            mix_into(&f, word, narrow, real, which);
            added += which < 3;
        }
        fixture_share(&f, &added, sizeof added, counts);
        for (uint32_t r = 0; r < f.size; r++)
            sum += counts[r];
        uint64_t now = 0;
        uint32_t now32 = 0;
        double now_real = 0;
        EXPECT_OK(tern_atomic_load(f.worker, word, &now));
        EXPECT_OK(tern_atomic_load32(f.worker, narrow, &now32));
        EXPECT_OK(tern_atomic_fetch_add_double(f.worker, real, 0, &now_real));
        CU_ASSERT_EQUAL(now, sum);
        CU_ASSERT_EQUAL(now32, sum);
        CU_ASSERT_EQUAL(now_real, (double)sum);
        fixture_free_all(&f, all);
    }
    free(counts);
    free(all);
    fixture_close(&f);
}

/* Fetch-and-add of float and double: tickets, each of which is given once, and old is optional. */
static void fetch_add_of_floating_point(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        fixture_alloc_all(&f, 16, domains[d], all);
        const tern_ptr wide = all[0], narrow = tern_ptr_add(all[0], 8);
        const int times = fixture_times(&f, 1500) / 2;
        double old = -1, last = -1;
        float old_narrow = -1, last_narrow = -1;
        for (int i = 0; i < times; i++) {
            EXPECT_OK(tern_atomic_fetch_add_double(f.worker, wide, 0.5, &old));
            EXPECT_OK(tern_atomic_fetch_add_double(f.worker, wide, 0.5, NULL));
            EXPECT_OK(tern_atomic_fetch_add_float(f.worker, narrow, 0.5f, &old_narrow));
            EXPECT_OK(tern_atomic_fetch_add_float(f.worker, narrow, 0.5f, NULL));
            CU_ASSERT(old > last && old_narrow > last_narrow);
            last = old;
            last_narrow = old_narrow;
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_atomic_fetch_add_double(f.worker, wide, 0, &old));
        EXPECT_OK(tern_atomic_fetch_add_float(f.worker, narrow, 0, &old_narrow));
        CU_ASSERT_EQUAL(old, (double)times * f.size);
        CU_ASSERT_EQUAL(old_narrow, (float)times * (float)f.size);
        EXPECT(TERN_ERR_ARGUMENT,
               tern_atomic_fetch_add_double(f.worker, tern_ptr_add(wide, 4), 1, &old));
        EXPECT(TERN_ERR_ARGUMENT,
               tern_atomic_fetch_add_float(f.worker, tern_ptr_add(wide, 2), 1, NULL));
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

/* Sums that are rounded: each is what some order of the ranks gives. */
static void rounded_sums_have_an_order(void) {
    enum { N = 16, RANKS = 4 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    if (f.size > RANKS) {
        tern_test_skip("too many orders");
        fixture_close(&f);
        return;
    }
    tern_ptr *all = calloc(f.size, sizeof *all);
    float mine[N], every[RANKS][N];
    fixture_alloc_all(&f, sizeof mine, TERN_DOMAIN_GLOBAL, all);
    uint64_t random = fixture_seed(&f, 34);
    for (int i = 0; i < N; i++)
        mine[i] = ldexpf((float)below(&random, 1 << 24), (int)below(&random, 12));
    EXPECT_OK(tern_accumulate(f.worker, all[0], mine, N, TERN_FLOAT, TERN_REDUCE_SUM));
    fixture_share(&f, mine, sizeof mine, every);
    float now[N];
    EXPECT_OK(tern_get(f.worker, now, all[0], sizeof now));
    size_t without = 0;
    for (int i = 0; i < N; i++) {
        bool found = false;
        for (unsigned order = 0; order < 256; order++) { /* two bits for each rank's place */
            volatile float sum = 0;
            unsigned seen = 0;
            for (uint32_t r = 0; r < f.size; r++) {
                const unsigned rank = order >> 2 * r & 3;
                seen |= 1u << rank;
                sum += rank < f.size ? every[rank][i] : 0;
            }
            found = found || (seen == (1u << f.size) - 1 && sum == now[i]);
        }
        without += !found;
    }
    CU_ASSERT_EQUAL(without, 0);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

/* Arrays of several messages, with several requests under way. */
static void large_arrays(void) {
    enum { N = 40000, PARTS = 4 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    double *values = malloc(N * sizeof *values), *old = malloc(N * sizeof *old);
    fixture_alloc_all(&f, N * sizeof *values, TERN_DOMAIN_OWNER, all);
    for (int i = 0; i < N; i++)
        values[i] = i;
    tern_request request[PARTS] = {{0}};
    const tern_ptr to = all[(f.rank + 1) % f.size];
    EXPECT_OK(tern_get_accumulate(f.worker, to, values, old, N, TERN_DOUBLE, TERN_REDUCE_SUM));
    size_t wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += old[i] != 0;
    for (int p = 0; p < PARTS; p++) {
        const tern_ptr part = tern_ptr_add(to, p * (N / PARTS) * 8);
        if (p % 2 == 0)
            EXPECT_OK(tern_accumulate_start(f.worker, part, values + p * (N / PARTS), N / PARTS,
                                            TERN_DOUBLE, TERN_REDUCE_SUM, &request[p]));
        else
            EXPECT_OK(tern_get_accumulate_start(f.worker, part, values + p * (N / PARTS),
                                                old + p * (N / PARTS), N / PARTS, TERN_DOUBLE,
                                                TERN_REDUCE_SUM, &request[p]));
    }
    EXPECT_OK(tern_wait_all(f.worker, request, PARTS));
    for (int i = 0; i < N; i++)
        wrong += old[i] != (i / (N / PARTS) % 2 == 0 ? 0 : i);
    EXPECT_OK(tern_barrier(f.worker));
    const double *here = tern_local(f.context, all[f.rank]);
    for (int i = 0; i < N; i++)
        wrong += here[i] != 2.0 * i;
    /* All at once into one array. */
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_accumulate(f.worker, all[0], values, N, TERN_DOUBLE, TERN_REDUCE_SUM));
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; f.rank == 0 && i < N; i++)
        wrong += here[i] != (2.0 + f.size) * i;
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_free_all(&f, all);
    free(old);
    free(values);
    free(all);
    fixture_close(&f);
}

static tern_status every_function(const fixture *f, tern_ptr to, size_t count, tern_number type,
                                  tern_reduction op) {
    char values[32] = {1}, old[32];
    tern_status status[4];
    bool gives;
    memset(old, 77, sizeof old);
    for (uint64_t i = 0; i < 4; i++) {
        status[i] = any_function(f->worker, i, to, values, old, count, type, op, &gives);
        CU_ASSERT_EQUAL(status[i], status[0]);
    }
    for (size_t i = 0; i < sizeof old; i++)
        CU_ASSERT_EQUAL(old[i], 77);
    return status[0];
}

/* What is refused changes nothing. */
static void refusals(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        fixture_alloc_all(&f, 64, domains[d], all);
        EXPECT_OK(tern_barrier(f.worker));
        for (uint32_t r = 0; r < f.size; r++) {
            const tern_ptr to = all[r];
            for (int type = 0; type < TYPES; type++) {
                const tern_number t = (tern_number)type;
                for (int op = 0; op < OPS; op++)
                    if (!tern_number_has(t, (tern_reduction)op))
                        EXPECT(TERN_ERR_ARGUMENT, every_function(&f, to, 1, t, (tern_reduction)op));
                EXPECT(TERN_ERR_ARGUMENT, every_function(&f, to, 1, t, (tern_reduction)OPS));
                EXPECT(TERN_ERR_ARGUMENT, every_function(&f, to, 1, t, (tern_reduction)-1));
                const int step = tern_number_bytes(t) < 8 ? 4 : 8;
                for (int off = 1; off < step; off++)
                    EXPECT(TERN_ERR_ARGUMENT,
                           every_function(&f, tern_ptr_add(to, off), 1, t, TERN_REDUCE_SUM));
                tern_ptr p = to;
                p.offset = TERN_PTR_ORIGIN + info.bytes - 8;
                EXPECT(TERN_ERR_RANGE, every_function(&f, p, 3, t, TERN_REDUCE_REPLACE));
                EXPECT(TERN_ERR_RANGE, every_function(&f, to, SIZE_MAX / 2, t, TERN_REDUCE_SUM));
                EXPECT(TERN_ERR_RANGE, every_function(&f, TERN_NULL, 1, t, TERN_REDUCE_SUM));
                p = to;
                p.segment = 3;
                EXPECT(TERN_ERR_UNSUPPORTED, every_function(&f, p, 1, t, TERN_REDUCE_SUM));
                p = to;
                p.domain = 9;
                EXPECT(TERN_ERR_ARGUMENT, every_function(&f, p, 1, t, TERN_REDUCE_SUM));
                EXPECT_OK(every_function(&f, to, 0, t, TERN_REDUCE_SUM));
            }
            EXPECT(TERN_ERR_ARGUMENT,
                   every_function(&f, to, 1, (tern_number)TYPES, TERN_REDUCE_SUM));
            EXPECT(TERN_ERR_ARGUMENT, every_function(&f, to, 1, TERN_DOUBLE, TERN_REDUCE_XOR));
            EXPECT_DETAIL("TERN_DOUBLE");
            EXPECT_DETAIL("TERN_REDUCE_XOR");
            uint64_t word = 0;
            EXPECT(TERN_ERR_ARGUMENT,
                   tern_accumulate(f.worker, to, NULL, 1, TERN_INT64, TERN_REDUCE_SUM));
            EXPECT_DETAIL("values is NULL");
            EXPECT(TERN_ERR_ARGUMENT,
                   tern_get_accumulate(f.worker, to, &word, NULL, 1, TERN_INT64, TERN_REDUCE_SUM));
            EXPECT_DETAIL("old is NULL");
            EXPECT_OK(tern_accumulate(f.worker, to, NULL, 0, TERN_INT64, TERN_REDUCE_SUM));
        }
        EXPECT_OK(tern_barrier(f.worker));
        const uint64_t *here = tern_local(f.context, all[f.rank]);
        for (int i = 0; i < 8; i++)
            CU_ASSERT_EQUAL(here[i], 0);
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

static void node_memory_is_for_the_node(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 16, TERN_DOMAIN_NODE, all);
    for (uint32_t r = 0; r < f.size; r++)
        for (int type = 0; type < TYPES && !reaches(&f, TERN_DOMAIN_NODE, r); type++)
            EXPECT(TERN_ERR_UNSUPPORTED,
                   every_function(&f, all[r], 1, (tern_number)type, TERN_REDUCE_SUM));
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"alone_against_model", alone_against_model},
        {"together", together},
        {"replaced_comes_out_once", replaced_comes_out_once},
        {"mixed_with_atomics", mixed_with_atomics},
        {"fetch_add_of_floating_point", fetch_add_of_floating_point},
        {"rounded_sums_have_an_order", rounded_sums_have_an_order},
        {"large_arrays", large_arrays},
        {"refusals", refusals},
        {"node_memory_is_for_the_node", node_memory_is_for_the_node},
    };
    return tern_test_main(argc, argv, "accumulate", tests, sizeof tests / sizeof tests[0]);
}
