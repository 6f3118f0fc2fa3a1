#include <stdio.h>

#include "rma/memory/number.h"

#include <string.h>

#include "base/error.h"
#include "rma/memory/number_element.h"

/* An iteration reads only the numbers of its own index, and before it writes. So the compiler may
 * vectorize although `to` may be first or second. clang compares the addresses at run time. */
#if defined(__clang__)
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* memcpy, since the numbers may lie at any address. */
#define LOOP(TYPE, OP, name, op, type, word)                                                       \
    static void name##_##op##_all(char *to, const char *first, const char *second, size_t count) { \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            type a, b;                                                                             \
            memcpy(&a, first + i * sizeof a, sizeof a);                                            \
            memcpy(&b, second + i * sizeof b, sizeof b);                                           \
            const type both = name##_##op(a, b);                                                   \
            memcpy(to + i * sizeof both, &both, sizeof both);                                      \
        }                                                                                          \
    }

TERN_EACH_ELEMENT(LOOP)

typedef void number_loop(char *to, const char *first, const char *second, size_t count);

#define ENTRY(TYPE, OP, name, op, type, word) [TERN_##TYPE][TERN_REDUCE_##OP] = name##_##op##_all,

static number_loop *const number_loops[TERN_NUMBER_TYPES][TERN_NUMBER_OPS] = {
    TERN_EACH_ELEMENT(ENTRY)};

void tern_numbers_reduce(tern_number type, tern_reduction op, void *to, const void *first,
                         const void *second, size_t count) {
    number_loops[type][op](to, first, second, count);
}

static const char *const type_names[TERN_NUMBER_TYPES] = {
    [TERN_UINT64] = "TERN_UINT64",
    [TERN_INT64] = "TERN_INT64",
    [TERN_DOUBLE] = "TERN_DOUBLE",
    [TERN_INT32] = "TERN_INT32",
    [TERN_UINT32] = "TERN_UINT32",
    [TERN_FLOAT] = "TERN_FLOAT",
    [TERN_COMPLEX_FLOAT] = "TERN_COMPLEX_FLOAT",
    [TERN_COMPLEX_DOUBLE] = "TERN_COMPLEX_DOUBLE",
};

static const char *const op_names[TERN_NUMBER_OPS] = {
    [TERN_REDUCE_SUM] = "TERN_REDUCE_SUM", [TERN_REDUCE_MIN] = "TERN_REDUCE_MIN",
    [TERN_REDUCE_MAX] = "TERN_REDUCE_MAX", [TERN_REDUCE_PRODUCT] = "TERN_REDUCE_PRODUCT",
    [TERN_REDUCE_AND] = "TERN_REDUCE_AND", [TERN_REDUCE_OR] = "TERN_REDUCE_OR",
    [TERN_REDUCE_XOR] = "TERN_REDUCE_XOR", [TERN_REDUCE_REPLACE] = "TERN_REDUCE_REPLACE",
};

void tern_number_describe(tern_number type, tern_reduction op, char *text, size_t size) {
    if ((unsigned)type < TERN_NUMBER_TYPES && (unsigned)op < TERN_NUMBER_OPS)
        snprintf(text, size, "%s of %s", op_names[op], type_names[type]);
    else
        snprintf(text, size, "operation %d of type %d", (int)op, (int)type);
}

tern_status tern_number_check(const char *function, tern_number type, tern_reduction op) {
    if ((unsigned)type >= TERN_NUMBER_TYPES || (unsigned)op >= TERN_NUMBER_OPS)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: type is %d and op is %d; use a constant of tern_number (0 to %d) and "
                         "one of tern_reduction (0 to %d)",
                         function, (int)type, (int)op, TERN_NUMBER_TYPES - 1, TERN_NUMBER_OPS - 1);
    if (!tern_number_has(type, op))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: %s has no %s; the table in tern/number.h says which operations a "
                         "type has",
                         function, type_names[type], op_names[op]);
    return TERN_OK;
}
