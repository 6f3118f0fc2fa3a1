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

/* The list: X(TYPE, OP, name, op, type), with TYPE and OP the ends of the constants' names. */
#define TERN_EACH_OF_ALL(X, TYPE, name, type)                                                      \
    X(TYPE, SUM, name, sum, type)                                                                  \
    X(TYPE, PRODUCT, name, product, type)                                                          \
    X(TYPE, REPLACE, name, replace, type)
#define TERN_EACH_OF_ORDERED(X, TYPE, name, type)                                                  \
    TERN_EACH_OF_ALL(X, TYPE, name, type)                                                          \
    X(TYPE, MIN, name, min, type)                                                                  \
    X(TYPE, MAX, name, max, type)
#define TERN_EACH_OF_INTEGER(X, TYPE, name, type)                                                  \
    TERN_EACH_OF_ORDERED(X, TYPE, name, type)                                                      \
    X(TYPE, AND, name, and, type)                                                                  \
    X(TYPE, OR, name, or, type)                                                                    \
    X(TYPE, XOR, name, xor, type)
#define TERN_EACH_OF_4_BYTES(X)                                                                    \
    TERN_EACH_OF_INTEGER(X, INT32, int32, int32_t)                                                 \
    TERN_EACH_OF_INTEGER(X, UINT32, uint32, uint32_t)                                              \
    TERN_EACH_OF_ORDERED(X, FLOAT, float, float)
#define TERN_EACH_OF_8_BYTES(X)                                                                    \
    TERN_EACH_OF_INTEGER(X, INT64, int64, int64_t)                                                 \
    TERN_EACH_OF_INTEGER(X, UINT64, uint64, uint64_t)                                              \
    TERN_EACH_OF_ORDERED(X, DOUBLE, double, double)                                                \
    TERN_EACH_OF_ALL(X, COMPLEX_FLOAT, complex_float, tern_complex_float)
#define TERN_EACH_OF_16_BYTES(X)                                                                   \
    TERN_EACH_OF_ALL(X, COMPLEX_DOUBLE, complex_double, tern_complex_double)
#define TERN_EACH_ELEMENT(X)                                                                       \
    TERN_EACH_OF_4_BYTES(X) TERN_EACH_OF_8_BYTES(X) TERN_EACH_OF_16_BYTES(X)

enum { TERN_NUMBER_TYPES = TERN_COMPLEX_DOUBLE + 1, TERN_NUMBER_OPS = TERN_REDUCE_REPLACE + 1 };

#endif
