#include "rma/port/posting.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "src/log.h"

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

/* A network that has refused to register memory is not asked again: the copies that there are
 * become free in turn. */
static bool add_slab(tern_port *port) {
    const tern_network *network = port->native->network;
    const size_t bytes = TERN_SLAB * port->copy_bytes;
    if (port->locals.refused && port->slabs != NULL)
        return false;
    tern_slab *fresh = aligned_alloc(TERN_LINE, sizeof *fresh + bytes);
    if (fresh == NULL)
        return false;
    fresh->local = NULL;
    if (network->local_memory &&
        network->ops->add_local(port->end, fresh->bytes, bytes, &fresh->local) != TERN_OK) {
        tern_log(TERN_LOG_ERROR, "%s", tern_error_detail());
        free(fresh);
        return false;
    }
    fresh->next = port->slabs;
    port->slabs = fresh;
    for (uint32_t i = 0; i < TERN_SLAB; i++) {
        fresh->copy[i] = (tern_copy_buffer){port->free_copies, fresh->local,
                                            fresh->bytes + i * port->copy_bytes};
        port->free_copies = &fresh->copy[i];
    }
    return true;
}

static tern_copy_buffer *take_copy(tern_port *port) {
    if (port->free_copies == NULL && !add_slab(port))
        return NULL;
    tern_copy_buffer *c = port->free_copies;
    port->free_copies = c->next;
    return c;
}

tern_posting *tern_posting_take(tern_port *port, bool copied) {
    if (port->free == NULL && !add_block(port))
        return NULL;
    tern_posting *posting = port->free;
    port->free = posting->next;
    posting->copy = copied ? take_copy(port) : NULL;
    if (!copied || posting->copy != NULL)
        return posting;
    tern_posting_give(port, posting);
    return NULL;
}

void tern_posting_give_copy(tern_port *port, tern_posting *posting) {
    if (posting->copy == NULL)
        return;
    posting->copy->next = port->free_copies;
    port->free_copies = posting->copy;
    posting->copy = NULL;
}

void tern_posting_give(tern_port *port, tern_posting *posting) {
    tern_posting_give_copy(port, posting);
    posting->next = port->free;
    port->free = posting;
}

void tern_postings_close(tern_port *port) {
    tern_network *network = port->native->network;
    while (port->slabs != NULL) {
        tern_slab *slab = port->slabs;
        port->slabs = slab->next;
        if (slab->local != NULL)
            network->ops->remove_memory(network, slab->local);
        free(slab);
    }
    while (port->blocks != NULL) {
        tern_block *block = port->blocks;
        port->blocks = block->next;
        free(block);
    }
}
