#ifndef TERN_RMA_WINDOW_H
#define TERN_RMA_WINDOW_H

/* The MPI window of the rma transport, and what MPI's one-sided operations are good for here. */

#include "src/context.h"

typedef struct tern_window tern_window;

/* Collective: a window over this rank's whole segment, locked for all. */
tern_status tern_window_open(tern_context *context, void *base, size_t bytes, bool mpi_atomics,
                             tern_window **window);
/* Collective if every peer is alive; else the window is leaked. */
void tern_window_close(tern_context *context, tern_window *window);

/* Whether MPI's own atomics serve TERN_DOMAIN_GLOBAL. */
bool tern_window_has_atomics(const tern_window *window);

/* What creation found out about MPI's one-sided operations between nodes. */
typedef struct tern_probe {
    bool works;     /* a window can be made at all */
    bool one_sided; /* a put lands while its target is outside MPI */
    bool atomics;   /* MPI's atomics are sound, as far as the library's version tells */
} tern_probe;

/* Collective, some 50 ms: puts from one node to another while the target sleeps outside MPI. The
 * window is gone afterwards. */
tern_status tern_window_probe(tern_context *context, tern_probe *probe);

#endif
