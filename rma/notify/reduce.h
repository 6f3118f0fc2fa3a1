#ifndef TERN_RMA_NOTIFY_REDUCE_H
#define TERN_RMA_NOTIFY_REDUCE_H

/* The arithmetic of tern_notify_allreduce. */

#include <stddef.h>
#include <stdint.h>

#include "tern/collective.h"

/* All are numbers of the type, by their bits. first is of the lower rank, so both sides get the
 * same bits. to may be first or second. */
void tern_numbers_reduce(tern_number type, tern_reduction op, uint64_t *to, const uint64_t *first,
                         const uint64_t *second, size_t count);

#endif
