#ifndef TERN_RMA_NOTIFY_REDUCE_H
#define TERN_RMA_NOTIFY_REDUCE_H

/* The arithmetic of tern_notify_allreduce. */

#include <stddef.h>
#include <stdint.h>

#include "tern/collective.h"

/* All are count numbers of the type, by their bits, at any address. first is of the lower rank, so
 * both sides get the same bits. to is first, second, or apart from both. */
void tern_numbers_reduce(tern_number type, tern_reduction op, void *to, const void *first,
                         const void *second, size_t count);

#endif
