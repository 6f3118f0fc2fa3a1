#include <string.h>

#include "rma/memory/state.h"

/* Loads, stores and atomics by the processor on memory that other ranks reach, too. */

/* Copies an aligned word whole (single-copy atomicity, transfer.h), and other memory by the C
 * library. */
void tern_internal_copy(void *to, const void *from, size_t bytes) {
    uintptr_t both = (uintptr_t)to | (uintptr_t)from;
    if (bytes == 8 && both % 8 == 0)
        /* R10 */
        __atomic_store_n((uint64_t *)to, __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    else if (bytes == 4 && both % 4 == 0)
        /* R10 */
        __atomic_store_n((uint32_t *)to, __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    else if (bytes == 2 && both % 2 == 0)
        /* R10 */
        __atomic_store_n((uint16_t *)to, __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

/* One function for each width; the caller chooses the width. All orders are sequentially
 * consistent. */
#define APPLY(type)                                                                                \
    static uint64_t apply_##type(type *word, tern_atomic_op op, type operand, type expected) {     \
        switch (op) {                                                                              \
        case TERN_ATOMIC_ADD:                                                                      \
            /* R7 */                                                                               \
            return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);                            \
        case TERN_ATOMIC_AND:                                                                      \
            return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);                            \
        case TERN_ATOMIC_OR:                                                                       \
            return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);                             \
        case TERN_ATOMIC_XOR:                                                                      \
            return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);                            \
        case TERN_ATOMIC_SWAP:                                                                     \
            return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);                           \
        case TERN_ATOMIC_CAS:                                                                      \
            __atomic_compare_exchange_n(word, &expected, operand, 0, __ATOMIC_SEQ_CST,             \
                                        __ATOMIC_SEQ_CST);                                         \
            return expected;                                                                       \
        case TERN_ATOMIC_LOAD:                                                                     \
            return __atomic_load_n(word, __ATOMIC_SEQ_CST);                                        \
        case TERN_ATOMIC_STORE:                                                                    \
            __atomic_store_n(word, operand, __ATOMIC_SEQ_CST);                                     \
            return 0;                                                                              \
        }                                                                                          \
        return 0;                                                                                  \
    }

APPLY(uint32_t)
APPLY(uint64_t)

uint64_t tern_atomic_apply(void *word, tern_atomic_op op, unsigned width, uint64_t operand,
                           uint64_t expected) {
    if (width == 4)
        return apply_uint32_t(word, op, (uint32_t)operand, (uint32_t)expected);
    return apply_uint64_t(word, op, operand, expected);
}
