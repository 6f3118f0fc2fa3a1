#include "rma/port/posting.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool add_block(tern_port *port) {
    tern_block *fresh = aligned_alloc(TERN_LINE, sizeof *fresh);
    if (fresh == NULL)
        return false;
    fresh->next = port->blocks;
    port->blocks = fresh;
    for (uint32_t i = TERN_BLOCK; i-- > 0;) {
        fresh->posting[i].next = port->free;
        port->free = &fresh->posting[i];
    }
    return true;
}

/* Adds a slab, if the port may have one more. A network that has refused to register memory is not
 * asked again: the copies that there are become free in turn. */
static bool add_slab(tern_port *port) {
    const tern_network *network = port->native->network;
    const uint32_t lost = (port->units_lost + TERN_SLAB - 1) / TERN_SLAB;
    if (port->slab_count >= TERN_SLABS_MAX + lost || (port->locals.refused && port->slabs != NULL))
        return false;
    tern_slab *fresh = aligned_alloc(TERN_LINE, sizeof *fresh);
    if (fresh == NULL)
        return false;
    fresh->local = NULL;
    if (network->local_memory &&
        network->ops->add_local(port->end, fresh->bytes, sizeof fresh->bytes, &fresh->local) !=
            TERN_OK) {
        tern_locals_refuse(&port->locals);
        free(fresh);
        return false;
    }
    fresh->used = 0;
    fresh->next = port->slabs;
    fresh->next_open = port->open_slabs;
    port->slabs = port->open_slabs = fresh;
    port->slab_count++;
    return true;
}

#define SLAB_FULL ((1u << TERN_SLAB) - 1)

static uint32_t bits_of(uint32_t first, uint32_t units) { return ((1u << units) - 1) << first; }

/* The places of a slab at which so many units are free, a bit for each. */
static uint32_t free_runs(const tern_slab *slab, uint32_t units) {
    const uint32_t free = ~slab->used & SLAB_FULL;
    uint32_t runs = free;
    for (uint32_t i = 1; i < units; i++)
        runs &= free >> i;
    return runs;
}

static bool take_run(tern_port *port, uint32_t units, tern_copy *copy) {
    for (tern_slab **link = &port->open_slabs; *link != NULL; link = &(*link)->next_open) {
        tern_slab *slab = *link;
        const uint32_t runs = free_runs(slab, units);
        if (runs == 0)
            continue;
        const uint32_t first = (uint32_t)__builtin_ctz(runs);
        *copy = (tern_copy){slab, slab->bytes + first * TERN_COPY_UNIT, first, units};
        slab->used |= bits_of(first, units);
        if (slab->used == SLAB_FULL)
            *link = slab->next_open;
        return true;
    }
    return false;
}

/* Takes room for a copy in one piece. Copies that are under way make room when they land, so the
 * caller waits for them rather than cut the move. If none is, copies to lost ranks are in the way,
 * which may stay, or the network has refused a registration: then a smaller copy has to do. */
static bool take_copy(tern_port *port, uint64_t bytes, tern_copy *copy) {
    const uint64_t wanted = (bytes + TERN_COPY_UNIT - 1) / TERN_COPY_UNIT;
    uint32_t units = wanted < TERN_COPY_UNITS_MAX ? (uint32_t)wanted : TERN_COPY_UNITS_MAX;
    bool taken = take_run(port, units, copy) || (add_slab(port) && take_run(port, units, copy));
    while (!taken && port->units_taken == 0 && --units > 0)
        taken = take_run(port, units, copy);
    return taken;
}

tern_posting *tern_posting_take(tern_port *port, uint64_t copied) {
    if (port->free == NULL && !add_block(port))
        return NULL;
    tern_posting *posting = port->free;
    posting->copy = (tern_copy){0};
    if (copied > 0 && !take_copy(port, copied, &posting->copy))
        return NULL;
    port->free = posting->next;
    return posting;
}

void tern_posting_give_copy(tern_port *port, tern_posting *posting) {
    const tern_copy *copy = &posting->copy;
    tern_slab *slab = copy->slab;
    if (slab == NULL)
        return;
    if (slab->used == SLAB_FULL) {
        slab->next_open = port->open_slabs;
        port->open_slabs = slab;
    }
    slab->used &= ~bits_of(copy->first, copy->units);
    posting->copy = (tern_copy){0};
}

void tern_posting_give(tern_port *port, tern_posting *posting) {
    tern_posting_give_copy(port, posting);
    posting->next = port->free;
    port->free = posting;
}

void tern_copies_withdraw(tern_port *port) {
    tern_network *network = port->native->network;
    for (tern_slab *slab = port->slabs; slab != NULL; slab = slab->next) {
        if (slab->local != NULL)
            network->ops->remove_memory(network, slab->local);
        slab->local = NULL;
    }
}

void tern_postings_close(tern_port *port) {
    while (port->slabs != NULL) {
        tern_slab *slab = port->slabs;
        port->slabs = slab->next;
        free(slab);
    }
    while (port->blocks != NULL) {
        tern_block *block = port->blocks;
        port->blocks = block->next;
        free(block);
    }
}
