#include <stdlib.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/profile/profile.h"

/*
 * Gathers the records of all ranks at rank 0, in pieces: rank 0 holds one piece of each rank at a
 * time. The number of gathers is the number of pieces of the rank with the most records.
 */

enum { PIECE = 16 << 10 };

static uint64_t gather_longest(const uint64_t *records, uint32_t size) {
    uint64_t most = 0;
    for (uint32_t r = 0; r < size; r++)
        most = records[r] > most ? records[r] : most;
    return most;
}

/* How many of records records are in the piece that begins with record first. */
static size_t gather_part(uint64_t records, uint64_t first, size_t piece) {
    return records <= first ? 0 : records - first < piece ? (size_t)(records - first) : piece;
}

/* After a failure MPI may still use the pieces, so they are not freed. */
static tern_status gather_pieces(tern_context *context, const tern_gathering *g,
                                 const uint64_t *records, char *piece) {
    const uint32_t size = context->size;
    const uint64_t most = gather_longest(records, size);
    const size_t in_piece = PIECE / g->record, bytes = in_piece * g->record;
    char *received = piece + bytes;
    for (uint64_t first = 0; first < most; first += in_piece) {
        const size_t mine = gather_part(records[context->rank], first, in_piece);
        if (mine > 0)
            g->give(g->argument, piece, mine);
        tern_status status = tern_collective_gather(context, piece, bytes, received);
        if (status != TERN_OK)
            return status;
        for (uint32_t r = 0; context->rank == 0 && r < size; r++) {
            const size_t theirs = gather_part(records[r], first, in_piece);
            if (theirs > 0)
                g->take(g->argument, r, received + r * bytes, theirs);
        }
    }
    return TERN_OK;
}

tern_status tern_profile_gather(tern_context *context, const tern_gathering *gathering,
                                uint64_t own) {
    const uint32_t size = context->size;
    uint64_t *records = calloc(size, sizeof *records);
    char *piece = calloc(context->rank == 0 ? (size_t)size + 1 : 1, PIECE);
    tern_status status = records != NULL && piece != NULL
                             ? TERN_OK
                             : tern_fail(TERN_ERR_MEMORY, "no memory to gather %u ranks", size);
    status = tern_collective_agree(context, NULL, status, "gathering profiles");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &own, sizeof own, records);
    if (status == TERN_OK) {
        status = gather_pieces(context, gathering, records, piece);
        if (status != TERN_OK)
            piece = NULL;
    }
    free(piece);
    free(records);
    return status;
}
