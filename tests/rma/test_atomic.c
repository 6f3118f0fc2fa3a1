// tern-test: transports

/* Atomics: each operation, width and domain, alone against a model and from all ranks at once. */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

static const tern_domain domains[] = {TERN_DOMAIN_GLOBAL, TERN_DOMAIN_OWNER, TERN_DOMAIN_NODE};

/* Both widths through one door; op as in tern_atomic_op. */
static tern_status apply(tern_worker *worker, unsigned width, tern_ptr p, tern_atomic_op op,
                         uint64_t operand, uint64_t expected, uint64_t *old) {
    uint32_t narrow = (uint32_t)operand, old32 = (uint32_t)*old;
    tern_status status = TERN_ERR_ARGUMENT;
    if (width == 8) {
        switch (op) {
        case TERN_ATOMIC_ADD:
            return tern_atomic_fetch_add(worker, p, operand, old);
        case TERN_ATOMIC_AND:
            return tern_atomic_fetch_and(worker, p, operand, old);
        case TERN_ATOMIC_OR:
            return tern_atomic_fetch_or(worker, p, operand, old);
        case TERN_ATOMIC_XOR:
            return tern_atomic_fetch_xor(worker, p, operand, old);
        case TERN_ATOMIC_SWAP:
            return tern_atomic_swap(worker, p, operand, old);
        case TERN_ATOMIC_CAS:
            return tern_atomic_cas(worker, p, expected, operand, old);
        case TERN_ATOMIC_LOAD:
            return tern_atomic_load(worker, p, old);
        case TERN_ATOMIC_STORE:
            return tern_atomic_store(worker, p, operand);
        }
    }
    switch (op) {
    case TERN_ATOMIC_ADD:
        status = tern_atomic_fetch_add32(worker, p, narrow, &old32);
        break;
    case TERN_ATOMIC_AND:
        status = tern_atomic_fetch_and32(worker, p, narrow, &old32);
        break;
    case TERN_ATOMIC_OR:
        status = tern_atomic_fetch_or32(worker, p, narrow, &old32);
        break;
    case TERN_ATOMIC_XOR:
        status = tern_atomic_fetch_xor32(worker, p, narrow, &old32);
        break;
    case TERN_ATOMIC_SWAP:
        status = tern_atomic_swap32(worker, p, narrow, &old32);
        break;
    case TERN_ATOMIC_CAS:
        status = tern_atomic_cas32(worker, p, (uint32_t)expected, narrow, &old32);
        break;
    case TERN_ATOMIC_LOAD:
        status = tern_atomic_load32(worker, p, &old32);
        break;
    case TERN_ATOMIC_STORE:
        status = tern_atomic_store32(worker, p, narrow);
        break;
    }
    *old = old32;
    return status;
}

static uint64_t model(tern_atomic_op op, uint64_t now, uint64_t operand, uint64_t expected) {
    switch (op) {
    case TERN_ATOMIC_ADD:
        return now + operand;
    case TERN_ATOMIC_AND:
        return now & operand;
    case TERN_ATOMIC_OR:
        return now | operand;
    case TERN_ATOMIC_XOR:
        return now ^ operand;
    case TERN_ATOMIC_CAS:
        return now == expected ? operand : now;
    case TERN_ATOMIC_LOAD:
        return now;
    default:
        return operand;
    }
}

/* Whether domain takes atomics of this rank on rank's memory. */
static bool reaches(const fixture *f, tern_domain domain, uint32_t rank) {
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f->context, rank, &transport));
    return domain != TERN_DOMAIN_NODE || transport == TERN_SHM;
}

/* Nobody else: every value before and after is known, and the neighbouring words do not change. */
static void alone_against_model(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 3; d++) {
        fixture_alloc_all(&f, f.size * 24, domains[d], all);
        uint64_t random = fixture_seed(&f, 20), wrong = 0;
        int times = fixture_times(&f, 4000) / 3 + 4;
        for (uint32_t r = 0; r < f.size; r++) {
            if (!reaches(&f, domains[d], r))
                continue;
            tern_ptr word[3]; /* a 64-bit word and two of 32 bits, this rank's */
            uint64_t now[3] = {0, 0, 0};
            for (int i = 0; i < 3; i++)
                word[i] = tern_ptr_add(all[r], (int64_t)f.rank * 24 + (i == 2 ? 12 : i * 8));
            for (int i = 0; i < times; i++) {
                int w = (int)below(&random, 3);
                unsigned width = w == 0 ? 8 : 4;
                uint64_t mask = w == 0 ? UINT64_MAX : UINT32_MAX, old = 99;
                tern_atomic_op op = (tern_atomic_op)below(&random, TERN_ATOMIC_STORE + 1);
                uint64_t operand = tern_test_random(&random) & mask;
                if (below(&random, 4) == 0)
                    operand |= mask << 20 & mask;
                uint64_t expected = below(&random, 2) ? now[w] : operand;
                EXPECT_OK(apply(f.worker, width, word[w], op, operand, expected, &old));
                wrong += op != TERN_ATOMIC_STORE && old != now[w];
                now[w] = model(op, now[w], operand, expected) & mask;
            }
            for (int w = 0; w < 3; w++) {
                uint64_t last = 0;
                EXPECT_OK(apply(f.worker, w == 0 ? 8 : 4, word[w], TERN_ATOMIC_LOAD, 0, 0, &last));
                wrong += last != now[w];
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

static void old_is_optional(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        fixture_alloc_all(&f, f.size * 16, domains[d], all);
        tern_ptr wide = tern_ptr_add(all[(f.rank + 1) % f.size], f.rank * 16);
        tern_ptr narrow = tern_ptr_add(wide, 8);
        EXPECT_OK(tern_atomic_fetch_add(f.worker, wide, 6, NULL));
        EXPECT_OK(tern_atomic_fetch_or(f.worker, wide, 1, NULL));
        EXPECT_OK(tern_atomic_fetch_and(f.worker, wide, 5, NULL));
        EXPECT_OK(tern_atomic_fetch_xor(f.worker, wide, 15, NULL));
        EXPECT_OK(tern_atomic_cas(f.worker, wide, 10, 11, NULL));
        uint64_t value = 0;
        EXPECT_OK(tern_atomic_load(f.worker, wide, &value));
        CU_ASSERT_EQUAL(value, 11);
        EXPECT_OK(tern_atomic_swap(f.worker, wide, 1, NULL));
        EXPECT_OK(tern_atomic_fetch_add32(f.worker, narrow, 6, NULL));
        EXPECT_OK(tern_atomic_fetch_or32(f.worker, narrow, 1, NULL));
        EXPECT_OK(tern_atomic_fetch_and32(f.worker, narrow, 5, NULL));
        EXPECT_OK(tern_atomic_fetch_xor32(f.worker, narrow, 15, NULL));
        EXPECT_OK(tern_atomic_cas32(f.worker, narrow, 10, 11, NULL));
        uint32_t value32 = 0;
        EXPECT_OK(tern_atomic_load32(f.worker, narrow, &value32));
        CU_ASSERT_EQUAL(value32, 11);
        EXPECT_OK(tern_atomic_swap32(f.worker, narrow, 1, NULL));
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

/* All add to the words of all: every value is handed out once, and the sum is right. */
static void tickets(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        for (unsigned width = 4; width <= 8; width += 4) {
            fixture_alloc_all(&f, 8, domains[d], all);
            uint64_t random = fixture_seed(&f, 21), added[64] = {0}, last[64] = {0}, back = 0;
            int times = fixture_times(&f, 6000);
            CU_ASSERT_FATAL(f.size <= 64);
            for (int i = 0; i < times; i++) {
                /* Mostly one word, for contention. */
                uint32_t r = below(&random, 2) ? 0 : (uint32_t)below(&random, f.size);
                uint64_t old = 0, by = 1 + below(&random, 3);
                EXPECT_OK(apply(f.worker, width, all[r], TERN_ATOMIC_ADD, by, 0, &old));
                back += added[r] > 0 && old < last[r] + 1;
                last[r] = old;
                added[r] += by;
            }
            CU_ASSERT_EQUAL(back, 0);
            uint64_t *sums = calloc((size_t)f.size * 64, sizeof *sums), sum = 0, now = 0;
            fixture_share(&f, added, sizeof added, sums);
            for (uint32_t r = 0; r < f.size; r++)
                sum += sums[r * 64 + f.rank];
            EXPECT_OK(apply(f.worker, width, all[f.rank], TERN_ATOMIC_LOAD, 0, 0, &now));
            CU_ASSERT_EQUAL(now, sum);
            free(sums);
            fixture_free_all(&f, all);
        }
    }
    free(all);
    fixture_close(&f);
}

/* Increments by compare-and-swap: a swap that says it happened happened, one that does not did not.
 */
static void increments_by_cas(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        for (unsigned width = 4; width <= 8; width += 4) {
            fixture_alloc_all(&f, 8, domains[d], all);
            uint64_t guess = 0, old = 0, now = 0;
            int times = fixture_times(&f, 3000), done = 0;
            uint32_t target = f.size - 1;
            while (done < times) {
                if (!EXPECT_OK(apply(f.worker, width, all[target], TERN_ATOMIC_CAS, guess + 1,
                                     guess, &old)))
                    break;
                done += old == guess;
                guess = old == guess ? guess + 1 : old;
            }
            EXPECT_OK(tern_barrier(f.worker));
            EXPECT_OK(apply(f.worker, width, all[target], TERN_ATOMIC_LOAD, 0, 0, &now));
            CU_ASSERT_EQUAL(now, (uint64_t)times * f.size);
            fixture_free_all(&f, all);
        }
    }
    free(all);
    fixture_close(&f);
}

/*
 * All kinds of atomics on the same words. Each rank owns a field of every word, which only its own
 * operations change: what comes back must show the field as the rank left it.
 */
static void mixed_operations(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    if (f.size > 4) {
        tern_test_skip("a word has room for four ranks");
        fixture_close(&f);
        return;
    }
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        for (unsigned width = 4; width <= 8; width += 4) {
            fixture_alloc_all(&f, 8, domains[d], all);
            unsigned bits = width * 2, shift = f.rank * bits;
            uint64_t field = (UINT64_C(1) << bits) - 1, own[4] = {0}, lost = 0;
            uint64_t random = fixture_seed(&f, 22);
            int times = fixture_times(&f, 8000);
            for (int i = 0; i < times; i++) {
                uint32_t r = below(&random, 2) ? 0 : (uint32_t)below(&random, f.size);
                uint64_t x = tern_test_random(&random) & field, m = own[r], old = 0;
                tern_atomic_op op = (tern_atomic_op)below(&random, 6);
                uint64_t operand = x << shift;
                switch (op) {
                case TERN_ATOMIC_ADD:
                    operand = below(&random, field - m + 1) << shift;
                    own[r] = m + (operand >> shift);
                    break;
                case TERN_ATOMIC_AND:
                    operand = ~((~x & field) << shift);
                    own[r] = m & x;
                    break;
                case TERN_ATOMIC_OR:
                    own[r] = m | x;
                    break;
                case TERN_ATOMIC_XOR:
                    own[r] = m ^ x;
                    break;
                case TERN_ATOMIC_CAS:
                    own[r] = x;
                    break;
                default:
                    op = TERN_ATOMIC_LOAD;
                }
                if (op != TERN_ATOMIC_CAS) {
                    EXPECT_OK(apply(f.worker, width, all[r], op, operand, 0, &old));
                } else {
                    uint64_t guess = m << shift;
                    for (;; guess = old) {
                        uint64_t desired = (guess & ~(field << shift)) | x << shift;
                        if (!EXPECT_OK(apply(f.worker, width, all[r], op, desired, guess, &old)) ||
                            old == guess || (old >> shift & field) != m)
                            break;
                    }
                }
                lost += (old >> shift & field) != m;
            }
            for (uint32_t r = 0; r < f.size; r++) {
                uint64_t now = 0;
                EXPECT_OK(apply(f.worker, width, all[r], TERN_ATOMIC_LOAD, 0, 0, &now));
                lost += (now >> shift & field) != own[r];
            }
            CU_ASSERT_EQUAL(lost, 0);
            fixture_free_all(&f, all);
        }
    }
    free(all);
    fixture_close(&f);
}

/* Each number that is swapped in comes out once; adds in between are not lost. */
static void swap_conserves(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        for (unsigned width = 4; width <= 8; width += 4) {
            fixture_alloc_all(&f, 8, domains[d], all);
            uint64_t random = fixture_seed(&f, 23), balance = 0, old = 0;
            uint64_t *balances = calloc(f.size, sizeof *balances);
            int times = fixture_times(&f, 4000);
            for (int i = 0; i < times; i++) {
                uint64_t x = 1 + below(&random, 100);
                if (below(&random, 2) == 0) {
                    EXPECT_OK(apply(f.worker, width, all[0], TERN_ATOMIC_ADD, x, 0, &old));
                    balance += x;
                } else {
                    EXPECT_OK(apply(f.worker, width, all[0], TERN_ATOMIC_SWAP, x, 0, &old));
                    balance += x - old;
                }
            }
            fixture_share(&f, &balance, sizeof balance, balances);
            uint64_t now = 0, sum = 0;
            for (uint32_t r = 0; r < f.size; r++)
                sum += balances[r];
            EXPECT_OK(apply(f.worker, width, all[0], TERN_ATOMIC_LOAD, 0, 0, &now));
            CU_ASSERT_EQUAL(now, width == 8 ? sum : (uint32_t)sum);
            free(balances);
            fixture_free_all(&f, all);
        }
    }
    free(all);
    fixture_close(&f);
}

/* Stores and loads of one word: only values that somebody stored, and the own node's processor sees
 * in owner and node memory what atomics left there. */
static void stores_are_whole(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 3; d++) {
        fixture_alloc_all(&f, 8, domains[d], all);
        uint64_t random = fixture_seed(&f, 24), torn = 0, value = 0;
        int times = fixture_times(&f, 10000) / 3 + 4;
        for (int i = 0; i < times; i++) {
            uint32_t r = (uint32_t)below(&random, f.size);
            if (!reaches(&f, domains[d], r))
                continue;
            value = below(&random, 256) * UINT64_C(0x0101010101010101);
            EXPECT_OK(tern_atomic_store(f.worker, all[r], value));
            EXPECT_OK(tern_atomic_load(f.worker, all[r], &value));
            torn += value != (value & 255) * UINT64_C(0x0101010101010101);
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_atomic_load(f.worker, all[f.rank], &value));
        if (domains[d] != TERN_DOMAIN_GLOBAL)
            torn += value != *(const volatile uint64_t *)tern_local(f.context, all[f.rank]);
        CU_ASSERT_EQUAL(torn, 0);
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

/* An atomic is seen by the next one of a rank that is told of it: a lock out of CAS guards plain
 * puts.
 */
static void a_lock_guards_puts(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 128, TERN_DOMAIN_GLOBAL, all);
    tern_ptr lock = all[0], counter = tern_ptr_add(all[f.size - 1], 64);
    int times = fixture_times(&f, 400);
    uint64_t value = 0;
    for (int i = 0; i < times; i++) {
        for (uint64_t holder = 1; holder != 0;) {
            if (!EXPECT_OK(tern_atomic_cas(f.worker, lock, 0, f.rank + 1, &holder)))
                return;
            if (holder != 0) {
                tern_progress(f.worker);
                sched_yield();
            }
        }
        EXPECT_OK(tern_get(f.worker, &value, counter, 8));
        value++;
        EXPECT_OK(tern_put(f.worker, counter, &value, 8));
        EXPECT_OK(tern_flush(f.worker, counter.rank));
        EXPECT_OK(tern_atomic_store(f.worker, lock, 0));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_get(f.worker, &value, counter, 8));
    CU_ASSERT_EQUAL(value, (uint64_t)times * f.size);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

static tern_status every_op(fixture *f, tern_ptr p, unsigned width, tern_atomic_op op) {
    uint64_t old = 77;
    tern_status status = apply(f->worker, width, p, op, 1, 0, &old);
    CU_ASSERT_EQUAL(old, 77);
    return status;
}

/* Wrong places are refused for each operation, and neither memory nor old changes. */
static void wrong_places(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    tern_ptr *all = calloc(f.size, sizeof *all);
    for (int d = 0; d < 2; d++) {
        fixture_alloc_all(&f, 64, domains[d], all);
        uint64_t *here = tern_local(f.context, all[f.rank]);
        for (int i = 0; i < 8; i++)
            here[i] = 1000 + (uint64_t)i;
        EXPECT_OK(tern_barrier(f.worker));
        for (uint32_t r = 0; r < f.size; r++) {
            for (int op = TERN_ATOMIC_ADD; op <= TERN_ATOMIC_STORE; op++) {
                for (int off = 1; off < 8; off++) {
                    tern_ptr p = tern_ptr_add(all[r], off);
                    EXPECT(TERN_ERR_ARGUMENT, every_op(&f, p, 8, (tern_atomic_op)op));
                    if (off % 4 != 0)
                        EXPECT(TERN_ERR_ARGUMENT, every_op(&f, p, 4, (tern_atomic_op)op));
                }
                EXPECT_DETAIL("align");
                const uint64_t end = TERN_PTR_ORIGIN + info.bytes;
                const uint64_t outside[] = {end,           end + 8, 0, 8, TERN_PTR_ORIGIN - 8,
                                            UINT64_MAX - 7};
                for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
                    tern_ptr p = all[r];
                    p.offset = outside[i];
                    EXPECT(TERN_ERR_RANGE, every_op(&f, p, 8, (tern_atomic_op)op));
                    EXPECT(TERN_ERR_RANGE, every_op(&f, p, 4, (tern_atomic_op)op));
                }
                tern_ptr p = all[r];
                p.segment = 3;
                EXPECT(TERN_ERR_UNSUPPORTED, every_op(&f, p, 8, (tern_atomic_op)op));
                p = all[r];
                p.rank = f.size;
                tern_status status = every_op(&f, p, 8, (tern_atomic_op)op);
                CU_ASSERT(status == TERN_ERR_RANGE || status == TERN_ERR_ARGUMENT);
                p = all[r];
                p.domain = 9;
                status = every_op(&f, p, 8, (tern_atomic_op)op);
                CU_ASSERT(status == TERN_ERR_RANGE || status == TERN_ERR_ARGUMENT);
            }
        }
        EXPECT_OK(tern_barrier(f.worker));
        for (int i = 0; i < 8; i++)
            CU_ASSERT_EQUAL(here[i], 1000 + (uint64_t)i);
        fixture_free_all(&f, all);
    }
    free(all);
    fixture_close(&f);
}

static void node_memory_is_for_the_node(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 8, TERN_DOMAIN_NODE, all);
    for (uint32_t r = 0; r < f.size; r++) {
        uint64_t old = 0;
        if (reaches(&f, TERN_DOMAIN_NODE, r)) {
            EXPECT_OK(tern_atomic_fetch_add(f.worker, all[r], 1, &old));
            continue;
        }
        for (int op = TERN_ATOMIC_ADD; op <= TERN_ATOMIC_STORE; op++)
            EXPECT(TERN_ERR_UNSUPPORTED, every_op(&f, all[r], 8, (tern_atomic_op)op));
        EXPECT_DETAIL("TERN_DOMAIN_GLOBAL");
    }
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t direct = 0, now = 0;
    for (uint32_t r = 0; r < f.size; r++)
        direct += reaches(&f, TERN_DOMAIN_NODE, r);
    EXPECT_OK(tern_atomic_load(f.worker, all[f.rank], &now));
    CU_ASSERT_EQUAL(now, direct);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"alone_against_model", alone_against_model},
        {"old_is_optional", old_is_optional},
        {"tickets", tickets},
        {"increments_by_cas", increments_by_cas},
        {"mixed_operations", mixed_operations},
        {"swap_conserves", swap_conserves},
        {"stores_are_whole", stores_are_whole},
        {"a_lock_guards_puts", a_lock_guards_puts},
        {"wrong_places", wrong_places},
        {"node_memory_is_for_the_node", node_memory_is_for_the_node},
    };
    return tern_test_main(argc, argv, "atomic", tests, sizeof tests / sizeof tests[0]);
}
