#ifndef TERN_RMA_CIRCLE_H
#define TERN_RMA_CIRCLE_H

/*
 * Circle: the books of a circular buffer (paper 000, 4.2). Units of one size stand in a circle.
 * Pieces are cut from the current unit, one behind the other, and when it has no room left from the
 * next one, which must be free by then. Pieces come free in the order in which they were cut:
 *
 *     units     0 -> 1 -> 4 -> 5 -> 2 -> 3 -> 0     four, and two more, added behind the current 1
 *     pieces    first (the oldest that is not free), ..., next - 1 (the newest)
 *
 * A piece is held by the program, or under way with the completion number of its put, or free. The
 * books are private memory: no put of another rank can spoil them.
 */

#include "rma/transport/posts.h"

#define TERN_CIRCLE_GRANULE 8u
#define TERN_PIECE_HELD UINT64_MAX /* as number; 0: free */

typedef struct tern_unit {
    char *memory;
    uint32_t next;
    uint32_t pieces; /* cut from it and not free */
} tern_unit;

typedef struct tern_entry {
    uint64_t number;
    uint32_t rank; /* where it is under way to */
    uint32_t unit;
} tern_entry;

typedef struct tern_circle {
    const tern_posts *posts; /* by rank; NULL if no piece is ever under way */
    tern_unit *unit;
    uint64_t unit_bytes;
    uint64_t used; /* of the current unit */
    uint32_t units;
    uint32_t current;
    tern_entry *entry; /* by id & mask */
    uint64_t mask;
    uint64_t first, next; /* ids; they only grow */
} tern_circle;

/* unit_bytes: a multiple of the granule. TERN_ERR_MEMORY. */
tern_status tern_circle_open(tern_circle *circle, uint64_t unit_bytes, const tern_posts *posts);
void tern_circle_close(tern_circle *circle);

/* Adds units, whose memory lies there, behind the current one. TERN_ERR_MEMORY. */
tern_status tern_circle_add(tern_circle *circle, uint32_t units, char *memory);

/* Cuts a piece, which is held; bytes: a multiple of the granule, at least one and at most a unit.
 * [out] its memory and id. TERN_ERR_AGAIN, without a detail: the next unit is not free.
 * TERN_ERR_MEMORY. */
tern_status tern_circle_cut(tern_circle *circle, uint64_t bytes, char **memory, uint64_t *id);

/* NULL: it is not held, or was never cut. */
static inline tern_entry *tern_circle_held(const tern_circle *circle, uint64_t id) {
    tern_entry *entry = &circle->entry[id & circle->mask];
    bool lives = id - circle->first < circle->next - circle->first;
    return lives && entry->number == TERN_PIECE_HELD ? entry : NULL;
}

/* The piece that all others wait for; there is one if cutting gave TERN_ERR_AGAIN. */
static inline const tern_entry *tern_circle_oldest(const tern_circle *circle) {
    return &circle->entry[circle->first & circle->mask];
}

#endif
