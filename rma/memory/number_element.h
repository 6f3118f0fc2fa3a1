#ifndef TERN_RMA_MEMORY_NUMBER_ELEMENT_H
#define TERN_RMA_MEMORY_NUMBER_ELEMENT_H

/*
 * The operations of tern/number.h on two numbers, each an inline function <name>_<op>(a, b), and a
 * list of them. The loops over arrays (rma/memory/number.c) and the atomic updates
 * (rma/memory/accumulate.c) are made from that list.
 */

#include <stdint.h>

#include "tern/number.h"

typedef struct tern_complex_float {
    float re, im;
} tern_complex_float;

typedef struct tern_complex_double {
    double re, im;
} tern_complex_double;

/* A signed integer is combined as an unsigned one, so that sums and products wrap around. */
#define TERN_INTEGER_ELEMENTS(name, type, wrap)                                                    \
    static inline type name##_sum(type a, type b) { return (type)((wrap)a + (wrap)b); }            \
    static inline type name##_product(type a, type b) { return (type)((wrap)a * (wrap)b); }        \
    static inline type name##_and(type a, type b) { return (type)(a & b); }                        \
    static inline type name##_or(type a, type b) { return (type)(a | b); }                         \
    static inline type name##_xor(type a, type b) { return (type)(a ^ b); }

#define TERN_FLOATING_ELEMENTS(name, type)                                                         \
    static inline type name##_sum(type a, type b) { return a + b; }                                \
    static inline type name##_product(type a, type b) { return a * b; }

#define TERN_ORDERED_ELEMENTS(name, type)                                                          \
    static inline type name##_min(type a, type b) { return b < a ? b : a; }                        \
    static inline type name##_max(type a, type b) { return a < b ? b : a; }                        \
    static inline type name##_replace(type a, type b) { return (void)a, b; }

#define TERN_COMPLEX_ELEMENTS(name, type)                                                          \
    static inline type name##_sum(type a, type b) { return (type){a.re + b.re, a.im + b.im}; }     \
    static inline type name##_product(type a, type b) {                                            \
        return (type){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};                       \
    }                                                                                              \
    static inline type name##_replace(type a, type b) { return (void)a, b; }

TERN_INTEGER_ELEMENTS(int32, int32_t, uint32_t)
TERN_INTEGER_ELEMENTS(int64, int64_t, uint64_t)
TERN_INTEGER_ELEMENTS(uint32, uint32_t, uint32_t)
TERN_INTEGER_ELEMENTS(uint64, uint64_t, uint64_t)
TERN_FLOATING_ELEMENTS(float, float)
TERN_FLOATING_ELEMENTS(double, double)
TERN_ORDERED_ELEMENTS(int32, int32_t)
TERN_ORDERED_ELEMENTS(int64, int64_t)
TERN_ORDERED_ELEMENTS(uint32, uint32_t)
TERN_ORDERED_ELEMENTS(uint64, uint64_t)
TERN_ORDERED_ELEMENTS(float, float)
TERN_ORDERED_ELEMENTS(double, double)
TERN_COMPLEX_ELEMENTS(complex_float, tern_complex_float)
TERN_COMPLEX_ELEMENTS(complex_double, tern_complex_double)

/*
 * The list: X(TYPE, OP, name, op, type, word). TYPE and OP are the ends of the constants' names,
 * and word is the unsigned type by which the number is updated. The list has three parts, by how
 * rma/memory/accumulate.c makes an update atomic: one instruction of the processor, a loop of
 * compare-and-swap, or a lock.
 */
#define TERN_EACH_FETCHED_INTEGER(X, TYPE, name, type, word)                                       \
    X(TYPE, SUM, name, sum, type, word)                                                            \
    X(TYPE, AND, name, and, type, word)                                                            \
    X(TYPE, OR, name, or, type, word)                                                              \
    X(TYPE, XOR, name, xor, type, word)                                                            \
    X(TYPE, REPLACE, name, replace, type, word)
#define TERN_EACH_FETCHED(X)                                                                       \
    TERN_EACH_FETCHED_INTEGER(X, INT32, int32, int32_t, uint32_t)                                  \
    TERN_EACH_FETCHED_INTEGER(X, UINT32, uint32, uint32_t, uint32_t)                               \
    TERN_EACH_FETCHED_INTEGER(X, INT64, int64, int64_t, uint64_t)                                  \
    TERN_EACH_FETCHED_INTEGER(X, UINT64, uint64, uint64_t, uint64_t)                               \
    X(FLOAT, REPLACE, float, replace, float, uint32_t)                                             \
    X(DOUBLE, REPLACE, double, replace, double, uint64_t)                                          \
    X(COMPLEX_FLOAT, REPLACE, complex_float, replace, tern_complex_float, uint64_t)
#define TERN_EACH_COMPARED_ORDERED(X, TYPE, name, type, word)                                      \
    X(TYPE, PRODUCT, name, product, type, word)                                                    \
    X(TYPE, MIN, name, min, type, word)                                                            \
    X(TYPE, MAX, name, max, type, word)
#define TERN_EACH_COMPARED(X)                                                                      \
    TERN_EACH_COMPARED_ORDERED(X, INT32, int32, int32_t, uint32_t)                                 \
    TERN_EACH_COMPARED_ORDERED(X, UINT32, uint32, uint32_t, uint32_t)                              \
    TERN_EACH_COMPARED_ORDERED(X, INT64, int64, int64_t, uint64_t)                                 \
    TERN_EACH_COMPARED_ORDERED(X, UINT64, uint64, uint64_t, uint64_t)                              \
    TERN_EACH_COMPARED_ORDERED(X, FLOAT, float, float, uint32_t)                                   \
    TERN_EACH_COMPARED_ORDERED(X, DOUBLE, double, double, uint64_t)                                \
    X(FLOAT, SUM, float, sum, float, uint32_t)                                                     \
    X(DOUBLE, SUM, double, sum, double, uint64_t)                                                  \
    X(COMPLEX_FLOAT, SUM, complex_float, sum, tern_complex_float, uint64_t)                        \
    X(COMPLEX_FLOAT, PRODUCT, complex_float, product, tern_complex_float, uint64_t)
#define TERN_EACH_LOCKED(X)                                                                        \
    X(COMPLEX_DOUBLE, SUM, complex_double, sum, tern_complex_double, uint64_t)                     \
    X(COMPLEX_DOUBLE, PRODUCT, complex_double, product, tern_complex_double, uint64_t)             \
    X(COMPLEX_DOUBLE, REPLACE, complex_double, replace, tern_complex_double, uint64_t)
#define TERN_EACH_ELEMENT(X) TERN_EACH_FETCHED(X) TERN_EACH_COMPARED(X) TERN_EACH_LOCKED(X)

enum { TERN_NUMBER_TYPES = TERN_COMPLEX_DOUBLE + 1, TERN_NUMBER_OPS = TERN_REDUCE_REPLACE + 1 };

#endif
