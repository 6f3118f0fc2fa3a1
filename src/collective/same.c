#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "src/collective/collective.h"

/* Gathers the bytes of each rank. [out] all: the caller frees it, also on an error. what: for the
 * error text. */
static tern_status same_gather(tern_context *context, tern_worker *worker, const void *mine,
                               size_t bytes, const char *what, char **all) {
    *all = malloc(bytes * context->size);
    tern_status status =
        *all != NULL
            ? TERN_OK
            : tern_fail(TERN_ERR_MEMORY, "%s: no memory to compare %u ranks", what, context->size);
    status = tern_collective_agree(context, worker, status, what);
    return status == TERN_OK ? tern_collective_allgather(context, worker, mine, bytes, *all)
                             : status;
}

/* Returns the first rank whose bytes differ from those of rank 0, or 0 if all are the same. */
static uint32_t same_first_other(const tern_context *context, const char *all, size_t bytes) {
    for (uint32_t r = 1; r < context->size; r++)
        if (memcmp(all, all + r * bytes, bytes) != 0)
            return r;
    return 0;
}

tern_status tern_collective_same(tern_context *context, tern_worker *worker, const void *mine,
                                 size_t bytes, const char *what) {
    char *all;
    tern_status status = same_gather(context, worker, mine, bytes, what, &all);
    const uint32_t r = status == TERN_OK ? same_first_other(context, all, bytes) : 0;
    if (r > 0) {
        const unsigned char *zero = (const void *)all, *other = zero + r * bytes;
        size_t at = 0;
        while (zero[at] == other[at])
            at++;
        status = tern_fail(TERN_ERR_MISMATCH,
                           "%s differ between rank 0 and rank %u: byte %zu of %zu is 0x%02x and "
                           "0x%02x; give every rank the same",
                           what, r, at, bytes, zero[at], other[at]);
    }
    free(all);
    return status;
}

tern_status tern_collective_same_fields(tern_context *context, tern_worker *worker,
                                        const tern_field *mine, size_t count, const char *name) {
    uint64_t values[TERN_FIELDS_MAX];
    char *all;
    for (size_t i = 0; i < count; i++)
        values[i] = mine[i].value;
    tern_status status = same_gather(context, worker, values, count * sizeof *values, name, &all);
    const uint32_t r =
        status == TERN_OK ? same_first_other(context, all, count * sizeof *values) : 0;
    if (r > 0) {
        const uint64_t *zero = (const void *)all, *other = zero + r * count;
        size_t i = 0;
        while (zero[i] == other[i])
            i++;
        status = tern_fail(TERN_ERR_MISMATCH,
                           "%s: %s is %llu on rank 0 and %llu on rank %u; give every rank the same",
                           name, mine[i].name, (unsigned long long)zero[i],
                           (unsigned long long)other[i], r);
    }
    free(all);
    return status;
}

/* The hash and the end of a text. The end is shown, because names in one folder differ at their
 * ends. */
typedef struct ending {
    uint64_t hash;
    char end[120];
} ending;

tern_status tern_collective_same_text(tern_context *context, tern_worker *worker, const char *mine,
                                      const char *what, const char *remedy) {
    ending own = {.hash = XXH3_64bits(mine, strlen(mine))};
    const size_t length = strlen(mine),
                 cut = length < sizeof own.end ? 0 : length + 1 - sizeof own.end;
    snprintf(own.end, sizeof own.end, "%s", mine + cut);
    char *all;
    tern_status status = same_gather(context, worker, &own, sizeof own, what, &all);
    const uint32_t r = status == TERN_OK ? same_first_other(context, all, sizeof own) : 0;
    if (r > 0) {
        const ending *texts = (const void *)all;
        status = tern_fail(TERN_ERR_MISMATCH, "%s is '%.*s' on rank 0 and '%.*s' on rank %u; %s",
                           what, (int)sizeof own.end, texts[0].end, (int)sizeof own.end,
                           texts[r].end, r, remedy);
    }
    free(all);
    return status;
}
