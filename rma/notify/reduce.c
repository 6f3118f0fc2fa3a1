#include "rma/notify/reduce.h"

#include <string.h>

/* Each pair of numbers is read before its result is written, since `to` may be `first` or `second`.
 * memcpy is used because the numbers may lie at any address. */
#define EACH(type, result)                                                                         \
    for (size_t i = 0; i < count; i++) {                                                           \
        type a, b;                                                                                 \
        memcpy(&a, first + 8 * i, 8);                                                              \
        memcpy(&b, second + 8 * i, 8);                                                             \
        const type both = (result);                                                                \
        memcpy(to + 8 * i, &both, 8);                                                              \
    }

#define REDUCE(name, type, sum)                                                                    \
    static void name(tern_reduction op, char *to, const char *first, const char *second,           \
                     size_t count) {                                                               \
        if (op == TERN_REDUCE_SUM)                                                                 \
            EACH(type, sum)                                                                        \
        else if (op == TERN_REDUCE_MIN)                                                            \
            EACH(type, b < a ? b : a)                                                              \
        else                                                                                       \
            EACH(type, a < b ? b : a)                                                              \
    }

REDUCE(reduce_unsigned, uint64_t, a + b)
REDUCE(reduce_signed, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))
REDUCE(reduce_double, double, a + b)

void tern_numbers_reduce(tern_number type, tern_reduction op, void *to, const void *first,
                         const void *second, size_t count) {
    if (type == TERN_UINT64)
        reduce_unsigned(op, to, first, second, count);
    else if (type == TERN_INT64)
        reduce_signed(op, to, first, second, count);
    else
        reduce_double(op, to, first, second, count);
}
