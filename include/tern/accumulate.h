#ifndef TERN_ACCUMULATE_H
#define TERN_ACCUMULATE_H

/*
 * Typed updates of arrays: each number of an array in global memory is combined with a number of
 * the caller (tern/number.h). Every number is updated atomically by itself, and an update of an
 * array is no more than the updates of its numbers, in any order.
 *
 * Atomicity. Updates of a number of up to 8 bytes are atomic with each other, whatever their type
 * and operation, and with the atomics of tern/transfer.h on that word, because they are made by the
 * same agent: the processor, the owner, or the network, as the tern_domain of the memory says. So
 * they may be mixed, also on one word. Updates of a TERN_COMPLEX_DOUBLE are atomic with updates of
 * that type at the same address alone; a put of such a number, or an atomic on half of it, must not
 * meet one. A get of 8 bytes, aligned, is never torn by an update where puts are not torn; a get of
 * 16 bytes may see half of an update.
 *
 * Completion and order are those of atomics. tern_accumulate and tern_get_accumulate return when
 * the updates are done; those that _start has started are done when the request is complete.
 * Updates of one word by one worker keep their order.
 *
 * Arguments. to: aligned to the number's size, for TERN_COMPLEX_DOUBLE to 8 bytes. values: count
 * numbers of the type, at any address; they may be changed when the function returns, after _start
 * when the request is complete. [out] old: room for count numbers, at any address: the numbers
 * before. It may be the same memory as values; otherwise the two must not overlap. values and old
 * must not overlap the array. count 0 does nothing.
 *
 * Returns. TERN_ERR_ARGUMENT: the type has no such operation; values or old is NULL; to is not
 * aligned. TERN_ERR_RANGE: the array does not lie in the segment. TERN_ERR_UNSUPPORTED: it is
 * TERN_DOMAIN_NODE memory of another node, or registered memory. TERN_ERR_STATE, in a handler: it
 * would have to wait for another node. None of these changes a number. TERN_ERR_PEER: the owner has
 * died; of the numbers some may have been updated. TERN_ERR_MPI. If a rank dies while it updates a
 * TERN_COMPLEX_DOUBLE of its own node, that number may keep its new real and its old imaginary
 * part.
 *
 * Cost. Where load/store reaches the array and the processor serves the domain, a number costs one
 * atomic instruction, or a loop of compare-and-swap (floating point, complex float, products, MIN
 * and MAX), or a lock of its own for TERN_COMPLEX_DOUBLE; there is no system call, no allocation
 * and no message. Else, if the owner serves the domain, the numbers travel in messages of 32 KiB:
 * tern_accumulate waits for the last one only, and tern_get_accumulate has up to eight under way.
 * The owner's progress applies them. If MPI or a network makes the atomics of
 * TERN_DOMAIN_GLOBAL (TERN_RMA_ATOMICS), each number of up to 8 bytes costs one
 * such atomic for sums, AND, OR and XOR of integers and for REPLACE, and two or more for all else;
 * allocate the array with TERN_DOMAIN_OWNER to have the owner update it instead.
 */

#include <string.h>

#include "tern/number.h"
#include "tern/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Combines count numbers at `to` with those of values. Blocks if the array is of another node. */
TERN_NODISCARD TERN_API tern_status tern_accumulate(tern_worker *worker, tern_ptr to,
                                                    const void *values, size_t count,
                                                    tern_number type, tern_reduction op);

/* Does the same, and gives the numbers as they were before. */
TERN_NODISCARD TERN_API tern_status tern_get_accumulate(tern_worker *worker, tern_ptr to,
                                                        const void *values, void *old, size_t count,
                                                        tern_number type, tern_reduction op);

/* Start such an update and return. All but the last message may have been waited for by then. If
 * load/store reaches the array, the update is done. TERN_ERR_ARGUMENT also: the request is under
 * way. After TERN_ERR_PEER from a wait, old is the caller's again. */
TERN_NODISCARD TERN_API tern_status tern_accumulate_start(tern_worker *worker, tern_ptr to,
                                                          const void *values, size_t count,
                                                          tern_number type, tern_reduction op,
                                                          tern_request *request);

/* Starts tern_get_accumulate, as tern_accumulate_start does tern_accumulate. */
TERN_NODISCARD TERN_API tern_status tern_get_accumulate_start(tern_worker *worker, tern_ptr to,
                                                              const void *values, void *old,
                                                              size_t count, tern_number type,
                                                              tern_reduction op,
                                                              tern_request *request);

/* Adds operand to a double and gives what it was, with the errors and the order of the atomics of
 * tern/transfer.h. [out] old: the number before; may be NULL. */
TERN_NODISCARD TERN_INLINE tern_status tern_atomic_fetch_add_double(tern_worker *worker, tern_ptr p,
                                                                    double operand, double *old) {
    uint64_t *word = (uint64_t *)tern_internal_unprofiled_word(worker, p, sizeof(*word));
    double before = 0;
    tern_status status = TERN_OK;
    if (__builtin_expect(word == NULL, 0)) {
        status = tern_get_accumulate(worker, p, &operand, &before, 1, TERN_DOUBLE, TERN_REDUCE_SUM);
    } else {
        /* R7; if the word has changed meanwhile, the first compare-and-swap fails */
        uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED), after;
        do {
            memcpy(&before, &seen, sizeof before);
            const double sum = before + operand;
            memcpy(&after, &sum, sizeof after);
            /* R7 */
        } while (!__atomic_compare_exchange_n(word, &seen, after, 1, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST));
    }
    if (status == TERN_OK && old != NULL)
        *old = before;
    return status;
}

/* The same for a float. */
TERN_NODISCARD TERN_INLINE tern_status tern_atomic_fetch_add_float(tern_worker *worker, tern_ptr p,
                                                                   float operand, float *old) {
    uint32_t *word = (uint32_t *)tern_internal_unprofiled_word(worker, p, sizeof(*word));
    float before = 0;
    tern_status status = TERN_OK;
    if (__builtin_expect(word == NULL, 0)) {
        status = tern_get_accumulate(worker, p, &operand, &before, 1, TERN_FLOAT, TERN_REDUCE_SUM);
    } else {
        /* R7; if the word has changed meanwhile, the first compare-and-swap fails */
        uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED), after;
        do {
            memcpy(&before, &seen, sizeof before);
            const float sum = before + operand;
            memcpy(&after, &sum, sizeof after);
            /* R7 */
        } while (!__atomic_compare_exchange_n(word, &seen, after, 1, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST));
    }
    if (status == TERN_OK && old != NULL)
        *old = before;
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
