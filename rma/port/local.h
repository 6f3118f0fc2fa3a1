#ifndef TERN_RMA_PORT_LOCAL_H
#define TERN_RMA_PORT_LOCAL_H

/*
 * The local keys of a port. Some networks move registered memory only. Memory of this process that
 * is registered anyway needs no copy and no registration for each operation: the pieces of this
 * rank's segment, in which circular buffers and vectors lie, and the regions that tern_register
 * made. A port finds the key of such memory by its address.
 *
 * A port gets each key once. If all ends of the network share keys, the key is that under which
 * other ranks reach the memory; otherwise the port registers the memory for itself. The keys of
 * regions that have ended are given back when the port next looks, but not while an operation that
 * uses them is under way.
 */

#include "rma/region/region.h"
#include "rma/network/process.h"

/* A region of this process from which or to which a port has moved data. */
typedef struct tern_local_region {
    struct tern_local_region *next; /* in the list of those that have ended */
    tern_network_memory *key;
    tern_region_memory *shared; /* the region's own registration; NULL: the key is the port's */
    uint32_t under_way;         /* postings of the port that use it */
    bool ended;
} tern_local_region;

typedef struct tern_local_span {
    char *base;
    uint64_t bytes;
    uint32_t slot, generation;
    tern_local_region *local; /* NULL: the port has no key of it */
} tern_local_span;

/* Only the worker of the port touches it. */
typedef struct tern_locals {
    tern_native *native;
    tern_network_end *end;
    tern_regions *regions;
    tern_network_memory *piece[TERN_PIECES_MAX]; /* keys of the segment; NULL: not known */
    tern_local_span *span; /* all regions that there were at `seen`, by their address */
    size_t spans;
    size_t known;             /* spans with a key */
    uint64_t seen;            /* regions->changes */
    tern_local_region *ended; /* which postings under way still use */
    bool refused; /* the network has refused to register memory; from now on data is copied
                   * unless there is a key */
} tern_locals;

void tern_locals_open(tern_locals *locals, tern_native *native, tern_network_end *end,
                      tern_regions *regions);
void tern_locals_close(tern_locals *locals);

/* Finds the key of the memory at `here`; gets it if the port has none yet. [out] bytes: is lowered
 * to what lies in the memory of the key; local: the region, whose under_way the caller raises for
 * each posting; or NULL. Returns NULL, and changes nothing, if there is no key. */
tern_network_memory *tern_local_key(tern_locals *locals, char *here, uint64_t *bytes,
                                    tern_local_region **local);
/* Notes that the network has refused to register memory, and says why, which the error detail
 * tells. */
void tern_locals_refuse(tern_locals *locals);
/* Called when a posting that uses the region is complete. */
void tern_local_landed(tern_locals *locals, tern_local_region *local);
/* Gives back the keys of regions that have ended. Called in each round of progress. */
void tern_locals_poll(tern_locals *locals);

#endif
