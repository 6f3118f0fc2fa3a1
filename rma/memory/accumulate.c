#include "rma/memory/accumulate.h"

#include <string.h>

#include "rma/memory/number.h"
#include "rma/memory/number_element.h"
#include "rma/memory/stripe.h"

/* Hot path: numbers that fit a word make no system call, take no lock and allocate nothing. Guarded
 * by `tern-bench accumulate`. */

#define FETCH_sum __atomic_fetch_add
#define FETCH_and __atomic_fetch_and
#define FETCH_or __atomic_fetch_or
#define FETCH_xor __atomic_fetch_xor
#define FETCH_replace __atomic_exchange_n

#define FETCHED(TYPE, OP, name, op, type, word)                                                    \
    static void name##_##op##_update(void *to, const char *values, char *old, size_t count) {      \
        word *words = to;                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            word b;                                                                                \
            memcpy(&b, values + i * sizeof b, sizeof b);                                           \
            const word before = FETCH_##op(words + i, b, __ATOMIC_SEQ_CST);                        \
            if (old != NULL)                                                                       \
                memcpy(old + i * sizeof before, &before, sizeof before);                           \
        }                                                                                          \
    }

#define COMPARED(TYPE, OP, name, op, type, word)                                                   \
    static void name##_##op##_update(void *to, const char *values, char *old, size_t count) {      \
        word *words = to;                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            type a, b, both;                                                                       \
            word after;                                                                            \
            memcpy(&b, values + i * sizeof b, sizeof b);                                           \
            /* R7; a wrong value makes the first compare-and-swap fail */                          \
            word before = __atomic_load_n(words + i, __ATOMIC_RELAXED);                            \
            do {                                                                                   \
                memcpy(&a, &before, sizeof a);                                                     \
                both = name##_##op(a, b);                                                          \
                memcpy(&after, &both, sizeof after);                                               \
                /* R7 */                                                                           \
            } while (!__atomic_compare_exchange_n(words + i, &before, after, 1, __ATOMIC_SEQ_CST,  \
                                                  __ATOMIC_SEQ_CST));                              \
            if (old != NULL)                                                                       \
                memcpy(old + i * sizeof before, &before, sizeof before);                           \
        }                                                                                          \
    }

TERN_EACH_FETCHED(FETCHED)
TERN_EACH_COMPARED(COMPARED)

typedef void word_update(void *to, const char *values, char *old, size_t count);

#define ENTRY(TYPE, OP, name, op, type, word)                                                      \
    [TERN_##TYPE][TERN_REDUCE_##OP] = name##_##op##_update,

static word_update *const word_updates[TERN_NUMBER_TYPES][TERN_NUMBER_OPS] = {
    TERN_EACH_FETCHED(ENTRY) TERN_EACH_COMPARED(ENTRY)};

/* The words are loaded and stored whole, since a get may read them meanwhile. */
static void locked_update(tern_context *context, const tern_numbers *to, tern_reduction op,
                          const char *values, char *old) {
    uint64_t before[2], b[2], after[2];
    uint64_t *words = (void *)to->address;
    for (size_t i = 0; i < to->count; i++, words += 2) {
        memcpy(b, values + i * sizeof b, sizeof b);
        _Atomic uint64_t *stripe = tern_stripe_lock(context, to->rank, words);
        /* R10 */
        before[0] = __atomic_load_n(words, __ATOMIC_RELAXED);
        before[1] = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
        tern_numbers_reduce(to->type, op, after, before, b, 1);
        /* R10 */
        __atomic_store_n(words, after[0], __ATOMIC_RELAXED);
        __atomic_store_n(words + 1, after[1], __ATOMIC_RELAXED);
        tern_stripe_unlock(stripe);
        if (old != NULL)
            memcpy(old + i * sizeof before, before, sizeof before);
    }
}

void tern_numbers_update(tern_context *context, const tern_numbers *to, tern_reduction op,
                         const void *values, void *old) {
    word_update *update = word_updates[to->type][op];
    if (update != NULL)
        update(to->address, values, old, to->count);
    else
        locked_update(context, to, op, values, old);
}
