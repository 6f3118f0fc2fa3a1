#ifndef TERN_HASHTABLE_BUCKET_SCRATCH_H
#define TERN_HASHTABLE_BUCKET_SCRATCH_H

/* A buffer for an entry while an operation runs, on the stack unless the entry is large. Entries of
 * maps are not large, so the end of a map allocates no memory. */

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

typedef struct tern_scratch {
    uint64_t small[128];
    uint64_t *large;
} tern_scratch;

/* NULL with the detail set if the process has no memory. */
static inline uint64_t *tern_scratch_take(tern_scratch *room, size_t bytes) {
    room->large = NULL;
    if (__builtin_expect(bytes <= sizeof room->small, 1))
        return room->small;
    room->large = malloc(bytes);
    if (room->large == NULL)
        (void)tern_fail(TERN_ERR_MEMORY, "no memory for an entry of %zu bytes", bytes);
    return room->large;
}

static inline void tern_scratch_free(tern_scratch *room) {
    if (__builtin_expect(room->large != NULL, 0))
        free(room->large);
}

#endif
