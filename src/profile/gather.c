#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/profile/profile.h"

/*
 * Gathering at rank 0 what the ranks have noted down, in pieces, so that a rank with much does not
 * make the memory of the others grow. It costs a gather for each piece of the longest rank's.
 */

enum { PIECE = 16 << 10 };

static uint64_t longest(const uint64_t *bytes, uint32_t size) {
    uint64_t most = 0;
    for (uint32_t r = 0; r < size; r++)
        most = bytes[r] > most ? bytes[r] : most;
    return most;
}

/* MPI may still use the pieces after a failure: they are left to it then. */
static tern_status gather_pieces(tern_context *context, const char *mine, const uint64_t *bytes,
                                 char *piece, tern_gathered *gathered) {
    const uint64_t most = longest(bytes, context->size), own = bytes[context->rank];
    char *received = piece + PIECE;
    for (uint64_t at = 0; at < most; at += PIECE) {
        if (at < own)
            memcpy(piece, mine + at, own - at < PIECE ? own - at : PIECE);
        tern_status status = tern_collective_gather(context, piece, PIECE, received);
        if (status != TERN_OK)
            return status;
        for (uint32_t r = 0; context->rank == 0 && r < context->size; r++)
            if (at < bytes[r])
                memcpy(gathered->all + gathered->offset[r] + at, received + (size_t)r * PIECE,
                       bytes[r] - at < PIECE ? bytes[r] - at : PIECE);
    }
    return TERN_OK;
}

tern_status tern_profile_gather(tern_context *context, const void *mine, size_t bytes,
                                tern_gathered *gathered) {
    const uint32_t size = context->size;
    const uint64_t own = bytes;
    const bool is_root = context->rank == 0;
    *gathered = (tern_gathered){NULL, NULL};
    uint64_t *lengths = calloc(size, sizeof *lengths);
    uint64_t *offset = calloc((size_t)size + 1, sizeof *offset);
    char *piece = calloc(is_root ? (size_t)size + 1 : 1, PIECE), *all = NULL;
    const bool has_room = lengths != NULL && offset != NULL && piece != NULL;
    tern_status status =
        has_room ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory to gather %u ranks", size);
    status = tern_collective_agree(context, NULL, status, "gathering profiles");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &own, sizeof own, lengths);
    for (uint32_t r = 0; status == TERN_OK && r < size; r++)
        offset[r + 1] = offset[r] + lengths[r];
    if (status == TERN_OK && is_root && (all = malloc(offset[size] + 1)) == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory to gather %llu bytes",
                           (unsigned long long)offset[size]);
    status = tern_collective_agree(context, NULL, status, "gathering profiles");
    if (status == TERN_OK) {
        *gathered = (tern_gathered){all, offset};
        status = gather_pieces(context, mine, lengths, piece, gathered);
        if (status != TERN_OK)
            piece = NULL;
    }
    free(piece);
    free(lengths);
    if (status != TERN_OK || !is_root) {
        free(all);
        free(offset);
        *gathered = (tern_gathered){NULL, NULL};
    }
    return status;
}
