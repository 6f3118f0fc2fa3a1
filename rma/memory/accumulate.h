#ifndef TERN_RMA_MEMORY_ACCUMULATE_H
#define TERN_RMA_MEMORY_ACCUMULATE_H

/*
 * Updates of numbers by the processor, each of them atomic. A number of 4 or 8 bytes is a word, and
 * is updated by the same atomics as tern/transfer.h has: fetch-and-add and the like where the
 * processor has them, else a loop of compare-and-swap. A number of 16 bytes is updated under a lock
 * (rma/memory/stripe.h). The update takes effect at the successful read-modify-write of the word,
 * or while the lock is held.
 */

#include "src/context.h"
#include "tern/number.h"

/* An array of numbers in the segment of a rank that load/store reaches. */
typedef struct tern_numbers {
    uint32_t rank;
    char *address; /* in rank's segment; a multiple of 4 for numbers of 4 bytes, else of 8 */
    size_t count;
    tern_number type; /* which has the operation (tern_number_has) */
} tern_numbers;

/* Updates each number with that of values. [out] old: the numbers before; may be NULL or values.
 * values and old may lie at any address. */
void tern_numbers_update(tern_context *context, const tern_numbers *to, tern_reduction op,
                         const void *values, void *old);

#endif
