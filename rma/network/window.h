#ifndef TERN_RMA_NETWORK_WINDOW_H
#define TERN_RMA_NETWORK_WINDOW_H

/* The MPI window over the segments, and the tests of what MPI's one-sided operations can do here.
 * rma/transport/mpi_rma.c makes the operations on the window. */

#include "rma/memory/segment.h"
#include "src/context.h"

struct tern_put_hook;

#define TERN_WINDOW_STAGES 8u

/* A buffer for a reply that is under way. */
typedef struct tern_window_stage {
    MPI_Request mpi;
    uint32_t rank; /* to which the reply goes */
    tern_cell image;
} tern_window_stage;

typedef struct tern_window {
    MPI_Win win;
    MPI_Win regions;                  /* dynamic, for registered memory */
    const struct tern_put_hook *hook; /* set by tests; or NULL */
    bool mpi_atomics;
    bool emulated; /* operations need their target's help; its death can block them for ever */
    tern_window_stage stage[TERN_WINDOW_STAGES]; /* under the MPI lock */
} tern_window;

/* Collective: makes a window over this rank's whole segment, locked for all. emulated: operations
 * on a target need its help. */
tern_status tern_window_open(tern_context *context, void *base, size_t bytes, bool mpi_atomics,
                             bool emulated, tern_window **window);
/* Frees the window; collective. If a peer is dead, the window is leaked. */
void tern_window_close(tern_context *context, tern_window *window);

/* Attach lets MPI reach registered memory, and detach ends that. The MPI lock is held. */
tern_status tern_window_attach(tern_window *window, void *base, size_t bytes);
void tern_window_detach(tern_window *window, void *base);
/* Whether the window serves registered memory; otherwise messages do. */
bool tern_window_has_regions(const tern_window *window);
/* Whether MPI's own atomics serve TERN_DOMAIN_GLOBAL. */
bool tern_window_has_atomics(const tern_window *window);

/* What MPI's one-sided operations between nodes can do, as the tests at creation have found. */
typedef struct tern_window_findings {
    bool works;     /* a window can be made at all */
    bool one_sided; /* a put lands while its target is outside MPI */
    bool atomics;   /* MPI's atomics are sound, as far as the library's version tells */
} tern_window_findings;

/* Collective; takes some 50 ms: puts from one node to another while the target sleeps outside MPI.
 * The window of the test is freed afterwards. */
tern_status tern_window_capabilities(tern_context *context, tern_window_findings *found);

#endif
