#ifndef TERN_RMA_TRANSPORT_MPI_RMA_H
#define TERN_RMA_TRANSPORT_MPI_RMA_H

/* The MPI window of the rma transport, and what MPI's one-sided operations are good for here. */

#include "src/context.h"

typedef struct tern_window tern_window;

/* For tests: stands between tern and MPI's puts, to delay, reorder and split them as a network may.
 * The MPI lock is held. */
typedef struct tern_put_hook {
    /* Whether it has taken the put over: it then calls tern_window_put itself, in whatever pieces,
     * before the next flush of rank is over. */
    bool (*put)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                uint64_t bytes);
    /* rank is about to be flushed, at least locally. */
    void (*flush)(tern_worker *worker, uint32_t rank);
    /* As put, for what tern_put puts to segments, which it has to copy. May be NULL. */
    bool (*hold)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                 uint64_t bytes);
} tern_put_hook;

/* NULL: none. While no other worker is in use. */
void tern_window_set_hook(tern_window *window, const tern_put_hook *hook);
int tern_window_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                    uint64_t bytes);

/* Collective: a window over this rank's whole segment, locked for all. emulated: what is begun with
 * a target needs its help. */
tern_status tern_window_open(tern_context *context, void *base, size_t bytes, bool mpi_atomics,
                             bool emulated, tern_window **window);
/* Collective if every peer is alive; else the window is leaked. */
void tern_window_close(tern_context *context, tern_window *window);

/* Registered memory, for MPI to reach. The MPI lock is held. */
tern_status tern_window_attach(tern_window *window, void *base, size_t bytes);
void tern_window_detach(tern_window *window, void *base);
/* Whether it serves registered memory; else messages do. */
bool tern_window_has_regions(const tern_window *window);
/* Whether this place, of a context over rma, is reached by messages. */
bool tern_window_by_messages(const tern_worker *worker, uint64_t place);

/* Whether MPI's own atomics serve TERN_DOMAIN_GLOBAL. */
bool tern_window_has_atomics(const tern_window *window);

/* What creation found out about MPI's one-sided operations between nodes. */
typedef struct tern_window_findings {
    bool works;     /* a window can be made at all */
    bool one_sided; /* a put lands while its target is outside MPI */
    bool atomics;   /* MPI's atomics are sound, as far as the library's version tells */
} tern_window_findings;

/* Collective, some 50 ms: puts from one node to another while the target sleeps outside MPI. The
 * window is gone afterwards. */
tern_status tern_window_probe(tern_context *context, tern_window_findings *probe);

#endif
