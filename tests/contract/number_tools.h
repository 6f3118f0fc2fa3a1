/*
 * Numbers of each type and a model of each operation, for tests of typed updates. The model is
 * written without tern's own arithmetic.
 */

#ifndef TERN_TESTS_CONTRACT_NUMBER_TOOLS_H
#define TERN_TESTS_CONTRACT_NUMBER_TOOLS_H

#include <math.h>
#include <stdlib.h>

#include "fixture.h"

enum { TYPES = TERN_COMPLEX_DOUBLE + 1, OPS = TERN_REDUCE_REPLACE + 1 };

typedef union number {
    int32_t i32;
    int64_t i64;
    uint32_t u32;
    uint64_t u64;
    float f[2];
    double d[2];
    unsigned char bytes[16];
} number;

static inline bool is_floating(tern_number type) {
    return type == TERN_FLOAT || type == TERN_DOUBLE;
}
static inline bool is_complex(tern_number type) {
    return type == TERN_COMPLEX_FLOAT || type == TERN_COMPLEX_DOUBLE;
}
static inline bool is_single(tern_number type) {
    return type == TERN_FLOAT || type == TERN_COMPLEX_FLOAT;
}

/* The parts of a number as doubles, which hold a float exactly. */
static inline double part_of(tern_number type, const number *n, int part) {
    return is_single(type) ? (double)n->f[part] : n->d[part];
}

static inline void set_part(tern_number type, number *n, int part, double value) {
    if (is_single(type))
        n->f[part] = (float)value;
    else
        n->d[part] = value;
}

static inline number model_integer(tern_number type, tern_reduction op, number a, number b) {
    const bool is_signed = type == TERN_INT32 || type == TERN_INT64;
    const bool is_wide = type == TERN_INT64 || type == TERN_UINT64;
    const uint64_t x = is_wide ? a.u64 : a.u32, y = is_wide ? b.u64 : b.u32;
    const bool less = !is_signed ? y < x : is_wide ? b.i64 < a.i64 : b.i32 < a.i32;
    const uint64_t results[OPS] = {
        [TERN_REDUCE_SUM] = x + y,        [TERN_REDUCE_PRODUCT] = x * y,
        [TERN_REDUCE_MIN] = less ? y : x, [TERN_REDUCE_MAX] = less ? x : y,
        [TERN_REDUCE_AND] = x & y,        [TERN_REDUCE_OR] = x | y,
        [TERN_REDUCE_XOR] = x ^ y,        [TERN_REDUCE_REPLACE] = y};
    number result = {0};
    if (is_wide)
        result.u64 = results[op];
    else
        result.u32 = (uint32_t)results[op];
    return result;
}

static inline number model_complex(tern_number type, tern_reduction op, number a, number b) {
    const double ar = part_of(type, &a, 0), ai = part_of(type, &a, 1);
    const double br = part_of(type, &b, 0), bi = part_of(type, &b, 1);
    const bool is_sum = op == TERN_REDUCE_SUM;
    number result = {0};
    set_part(type, &result, 0, is_sum ? ar + br : ar * br - ai * bi);
    set_part(type, &result, 1, is_sum ? ai + bi : ar * bi + ai * br);
    return op == TERN_REDUCE_REPLACE ? b : result;
}

static inline number model(tern_number type, tern_reduction op, number a, number b) {
    if (is_complex(type))
        return model_complex(type, op, a, b);
    if (!is_floating(type))
        return model_integer(type, op, a, b);
    const double x = part_of(type, &a, 0), y = part_of(type, &b, 0);
    number result = {0};
    if (op == TERN_REDUCE_SUM || op == TERN_REDUCE_PRODUCT)
        set_part(type, &result, 0, op == TERN_REDUCE_SUM ? x + y : x * y);
    else if (op == TERN_REDUCE_REPLACE)
        result = b;
    else
        result = (op == TERN_REDUCE_MIN ? y < x : x < y) ? b : a;
    return result;
}

/* Whether two numbers are the same bits; all NaNs are the same, and so are the zeros of complex
 * numbers, whose signs depend on the order of products. */
static inline bool same(tern_number type, number a, number b) {
    if (is_complex(type))
        return part_of(type, &a, 0) == part_of(type, &b, 0) &&
               part_of(type, &a, 1) == part_of(type, &b, 1);
    if (is_floating(type) && isnan(part_of(type, &a, 0)))
        return isnan(part_of(type, &b, 0));
    return memcmp(&a, &b, tern_number_bytes(type)) == 0;
}

/* Any number of the type; complex ones are small whole numbers, whose products are exact. */
static inline number any_number(tern_number type, uint64_t *random) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-310, 1e300};
    number n = {0};
    if (is_complex(type)) {
        for (int part = 0; part < 2; part++)
            set_part(type, &n, part, (double)below(random, 200) - 100);
    } else if (is_floating(type)) {
        set_part(type, &n, 0,
                 below(random, 6) == 0 ? odd[below(random, sizeof odd / sizeof odd[0])]
                                       : ((double)below(random, 1u << 30) - (1 << 29)) / 1024);
    } else {
        n.u64 = tern_test_random(random) >> below(random, 60);
        if (below(random, 2) == 0)
            n.u64 = ~n.u64;
        if (tern_number_bytes(type) == 4)
            n = (number){.u32 = n.u32};
    }
    return n;
}

/* A number such that results do not depend on the order of the operations, with every update of the
 * ranks that passes their numbers `round` in turn. */
static inline number exact_number(tern_number type, tern_reduction op, uint64_t round,
                                  uint64_t *random) {
    static const double units[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    number n = any_number(type, random);
    if (is_complex(type) && op == TERN_REDUCE_PRODUCT) {
        const uint64_t unit = below(random, 4);
        set_part(type, &n, 0, units[unit][0]);
        set_part(type, &n, 1, units[unit][1]);
    } else if (is_floating(type)) {
        const double sign = below(random, 2) == 0 ? 1 : -1;
        set_part(type, &n, 0,
                 op == TERN_REDUCE_PRODUCT ? sign * (round % 2 == 0 ? 2 : 0.5)
                                           : sign * (double)(1 + below(random, 50)));
    }
    return n;
}

#endif
