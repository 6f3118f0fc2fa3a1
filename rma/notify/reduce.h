#ifndef TERN_RMA_NOTIFY_REDUCE_H
#define TERN_RMA_NOTIFY_REDUCE_H

/* The arithmetic of tern_notify_allreduce. */

#include <stddef.h>
#include <stdint.h>

#include "tern/collective.h"

/* Reduces each of the count numbers of first with that of second, and writes the results to `to`.
 * The numbers may lie at any address. first must be the vector of the lower rank, so that both
 * ranks compute the same bits. `to` may be first or second; otherwise it must not overlap them. */
void tern_numbers_reduce(tern_number type, tern_reduction op, void *to, const void *first,
                         const void *second, size_t count);

#endif
