#include "rma/notify/reduce.h"

#include <string.h>

#define REDUCE(name, type, sum)                                                                    \
    static type name(tern_reduction op, type a, type b) {                                          \
        if (op == TERN_REDUCE_SUM)                                                                 \
            return sum;                                                                            \
        return (op == TERN_REDUCE_MIN ? b < a : a < b) ? b : a;                                    \
    }

REDUCE(reduce_unsigned, uint64_t, a + b)
REDUCE(reduce_signed, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))
REDUCE(reduce_double, double, a + b)

void tern_numbers_reduce(tern_number type, tern_reduction op, uint64_t *to, const uint64_t *first,
                         const uint64_t *second, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (type == TERN_UINT64) {
            to[i] = reduce_unsigned(op, first[i], second[i]);
        } else if (type == TERN_INT64) {
            to[i] = (uint64_t)reduce_signed(op, (int64_t)first[i], (int64_t)second[i]);
        } else {
            double a, b;
            memcpy(&a, &first[i], 8);
            memcpy(&b, &second[i], 8);
            a = reduce_double(op, a, b);
            memcpy(&to[i], &a, 8);
        }
    }
}
