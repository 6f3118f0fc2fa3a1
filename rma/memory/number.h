#ifndef TERN_RMA_MEMORY_NUMBER_H
#define TERN_RMA_MEMORY_NUMBER_H

/* Arithmetic on arrays of numbers (tern/number.h) that nobody else changes meanwhile, for
 * reductions. rma/memory/number_element.h has the operation on two numbers. */

#include <stddef.h>

#include "tern/number.h"

/* TERN_ERR_ARGUMENT: there is no such type, or it has no such operation. function: the public
 * function's name, for the text. */
tern_status tern_number_check(const char *function, tern_number type, tern_reduction op);

/* Writes "TERN_REDUCE_SUM of TERN_DOUBLE" or the like to text, of size bytes; numbers in place of
 * constants that do not exist. */
void tern_number_describe(tern_number type, tern_reduction op, char *text, size_t size);

/* Combines each of the count numbers of first with that of second, and writes the results to `to`.
 * The type must have the operation (tern_number_has). The numbers may lie at any address. The
 * number of first is a of tern/number.h, so if first is the vector of the lower rank, both ranks
 * compute the same bits. `to` may be first or second; otherwise it must not overlap them. */
void tern_numbers_reduce(tern_number type, tern_reduction op, void *to, const void *first,
                         const void *second, size_t count);

#endif
