#ifndef TERN_NUMBER_H
#define TERN_NUMBER_H

/*
 * Types of numbers, and the operations that combine two numbers of a type. Typed updates of arrays
 * (tern/accumulate.h) and collectives (tern/team.h) use them. A reduction computes
 * both = op(a, b), where a is the number in memory, or that of the lower rank, and b is the number
 * that comes in:
 *
 *     operation               integers    float, double    complex
 *     SUM, PRODUCT            yes         yes              yes
 *     MIN, MAX                yes         yes              no
 *     AND, OR, XOR            yes         no               no
 *     REPLACE                 yes         yes              yes        both = b
 *
 * Sums and products of integers wrap around, also those of signed ones. Numbers of floating point
 * are rounded as the processor rounds a single operation of that type; a sum or product with a NaN
 * is a NaN. MIN gives b if b < a and otherwise a, and MAX gives b if a < b and otherwise a. So a
 * NaN in a stays, a NaN in b is left out, and of -0 and +0 the one in a stays. A complex number is
 * two numbers, the real part first, as C and Fortran store it. The product of (a, b) and (c, d) is
 * (ac - bd, ad + bc) by this formula alone: unlike C's operator it does not correct parts that are
 * infinite.
 */

#include <stddef.h>

#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a number. */
typedef enum tern_number {
    TERN_UINT64,        /* uint64_t */
    TERN_INT64,         /* int64_t */
    TERN_DOUBLE,        /* double */
    TERN_INT32,         /* int32_t */
    TERN_UINT32,        /* uint32_t */
    TERN_FLOAT,         /* float */
    TERN_COMPLEX_FLOAT, /* float _Complex: 8 bytes */
    TERN_COMPLEX_DOUBLE /* double _Complex: 16 bytes */
} tern_number;

/* How two numbers are combined. */
typedef enum tern_reduction {
    TERN_REDUCE_SUM,
    TERN_REDUCE_MIN,
    TERN_REDUCE_MAX,
    TERN_REDUCE_PRODUCT,
    TERN_REDUCE_AND, /* bit by bit */
    TERN_REDUCE_OR,
    TERN_REDUCE_XOR,
    TERN_REDUCE_REPLACE
} tern_reduction;

/* Returns the size of a number of the type in bytes: 4, 8 or 16. 0: there is no such type. */
TERN_INLINE size_t tern_number_bytes(tern_number type) {
    switch (type) {
    case TERN_INT32:
    case TERN_UINT32:
    case TERN_FLOAT:
        return 4;
    case TERN_UINT64:
    case TERN_INT64:
    case TERN_DOUBLE:
    case TERN_COMPLEX_FLOAT:
        return 8;
    case TERN_COMPLEX_DOUBLE:
        return 16;
    }
    return 0;
}

/* Returns 1 if the operation exists for numbers of the type, else 0. */
TERN_INLINE int tern_number_has(tern_number type, tern_reduction op) {
    const int is_complex = type == TERN_COMPLEX_FLOAT || type == TERN_COMPLEX_DOUBLE;
    const int is_integer =
        type == TERN_UINT64 || type == TERN_INT64 || type == TERN_INT32 || type == TERN_UINT32;
    switch (op) {
    case TERN_REDUCE_SUM:
    case TERN_REDUCE_PRODUCT:
    case TERN_REDUCE_REPLACE:
        return tern_number_bytes(type) != 0;
    case TERN_REDUCE_MIN:
    case TERN_REDUCE_MAX:
        return tern_number_bytes(type) != 0 && !is_complex;
    case TERN_REDUCE_AND:
    case TERN_REDUCE_OR:
    case TERN_REDUCE_XOR:
        return is_integer;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
