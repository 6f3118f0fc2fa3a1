#include "rma/circle.h"

#include <stdlib.h>

#include "base/error.h"

#define ENTRIES 64u

tern_status tern_circle_open(tern_circle *circle, uint64_t unit_bytes, const tern_posts *posts) {
    *circle = (tern_circle){.posts = posts, .unit_bytes = unit_bytes, .mask = ENTRIES - 1};
    circle->entry = calloc(ENTRIES, sizeof *circle->entry);
    return circle->entry != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for pieces");
}

void tern_circle_close(tern_circle *circle) {
    free(circle->unit);
    free(circle->entry);
}

tern_status tern_circle_add(tern_circle *circle, uint32_t units, char *memory) {
    uint32_t before = circle->units;
    tern_unit *unit = realloc(circle->unit, ((size_t)before + units) * sizeof *unit);
    if (unit == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the records of %u units", units);
    for (uint32_t i = 0; i < units; i++)
        unit[before + i] = (tern_unit){memory + i * circle->unit_bytes, before + i + 1, 0};
    /* The last new unit leads to the unit to which the current one led. The first units lead back
     * to unit 0. */
    unit[before + units - 1].next = before == 0 ? 0 : unit[circle->current].next;
    if (before > 0)
        unit[circle->current].next = before;
    circle->unit = unit;
    circle->units += units;
    return TERN_OK;
}

/* Whether the piece is free: given back, or its put is complete by now. */
static inline bool circle_is_free(const tern_circle *circle, const tern_entry *entry) {
    return entry->number == 0 || (entry->number != TERN_PIECE_HELD &&
                                  tern_posts_done(&circle->posts[entry->rank], entry->number));
}

/* Takes free pieces out of the circle, from the oldest one on, up to the first that is not free. */
static inline void circle_collect(tern_circle *circle) {
    for (; circle->first != circle->next; circle->first++) {
        const tern_entry *entry = tern_circle_oldest(circle);
        if (!circle_is_free(circle, entry))
            return;
        circle->unit[entry->unit].pieces--;
    }
}

static tern_status double_entries(tern_circle *circle) {
    uint64_t mask = circle->mask * 2 + 1;
    tern_entry *entry = malloc((mask + 1) * sizeof *entry);
    if (entry == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the records of %llu pieces",
                         (unsigned long long)mask + 1);
    for (uint64_t id = circle->first; id != circle->next; id++)
        entry[id & mask] = circle->entry[id & circle->mask];
    free(circle->entry);
    circle->entry = entry;
    circle->mask = mask;
    return TERN_OK;
}

tern_status tern_circle_cut(tern_circle *circle, uint64_t bytes, char **memory, uint64_t *id) {
    circle_collect(circle);
    if (circle->unit[circle->current].pieces == 0)
        circle->used = 0; /* all of the unit is free: use it again, since it is in the cache */
    if (circle->unit_bytes - circle->used < bytes) {
        uint32_t next = circle->unit[circle->current].next;
        if (circle->unit[next].pieces > 0)
            return TERN_ERR_AGAIN;
        circle->current = next;
        circle->used = 0;
    }
    if (circle->next - circle->first > circle->mask) {
        tern_status status = double_entries(circle);
        if (status != TERN_OK)
            return status;
    }
    tern_unit *unit = &circle->unit[circle->current];
    circle->entry[circle->next & circle->mask] =
        (tern_entry){.number = TERN_PIECE_HELD, .unit = circle->current};
    *memory = unit->memory + circle->used;
    *id = circle->next++;
    circle->used += bytes;
    unit->pieces++;
    return TERN_OK;
}
