#ifndef TERN_RMA_CIRCLE_H
#define TERN_RMA_CIRCLE_H

/*
 * A circle knows which memory of a circular buffer is in use (paper 000, 4.2). The memory consists
 * of units of one size, which form a circle. Pieces are cut from the current unit, one behind the
 * other. When that unit has no room left, pieces are cut from the next unit, which must be free by
 * then. The circle takes pieces back in the order in which they were cut:
 *
 *     units     0 -> 1 -> 4 -> 5 -> 2 -> 3 -> 0     four, and two more, added behind the current 1
 *     pieces    first (the oldest that is not free), ..., next - 1 (the newest)
 *
 * A piece is held by the program, or under way with the completion number of its put, or free. The
 * entries of units and pieces lie in private memory, so no put of another rank can damage them.
 */

#include "rma/transport/posts.h"

#define TERN_CIRCLE_GRANULE 8u
#define TERN_PIECE_HELD UINT64_MAX /* value of number for a held piece; 0: free */

typedef struct tern_unit {
    char *memory;
    uint32_t next;
    uint32_t pieces; /* pieces cut from the unit that are still in the circle */
} tern_unit;

typedef struct tern_entry {
    uint64_t number;
    uint32_t rank; /* rank to which the piece is under way */
    uint32_t unit;
} tern_entry;

typedef struct tern_circle {
    const tern_posts *posts; /* by rank; NULL if no piece is ever under way */
    tern_unit *unit;
    uint64_t unit_bytes;
    uint64_t used; /* bytes used of the current unit */
    uint32_t units;
    uint32_t current;
    tern_entry *entry; /* indexed by id & mask */
    uint64_t mask;
    uint64_t first, next; /* ids, which only grow */
} tern_circle;

/* Makes a circle without units. unit_bytes: a multiple of the granule. TERN_ERR_MEMORY. */
tern_status tern_circle_open(tern_circle *circle, uint64_t unit_bytes, const tern_posts *posts);
void tern_circle_close(tern_circle *circle);

/* Adds units with this memory behind the current one. TERN_ERR_MEMORY. */
tern_status tern_circle_add(tern_circle *circle, uint32_t units, char *memory);

/* Cuts a piece, which is then held. bytes: a multiple of the granule, at least one granule and at
 * most a unit. [out] memory and id of the piece. TERN_ERR_AGAIN, without an error detail: the next
 * unit is not free. TERN_ERR_MEMORY. */
tern_status tern_circle_cut(tern_circle *circle, uint64_t bytes, char **memory, uint64_t *id);

/* Returns the entry of a held piece. NULL: the piece is not held, or was never cut. */
static inline tern_entry *tern_circle_held(const tern_circle *circle, uint64_t id) {
    tern_entry *entry = &circle->entry[id & circle->mask];
    bool lives = id - circle->first < circle->next - circle->first;
    return lives && entry->number == TERN_PIECE_HELD ? entry : NULL;
}

/* The oldest piece, which must become free before all others. It exists if tern_circle_cut returned
 * TERN_ERR_AGAIN. */
static inline const tern_entry *tern_circle_oldest(const tern_circle *circle) {
    return &circle->entry[circle->first & circle->mask];
}

#endif
