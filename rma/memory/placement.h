#ifndef TERN_RMA_MEMORY_PLACEMENT_H
#define TERN_RMA_MEMORY_PLACEMENT_H

/*
 * Placement: on which NUMA nodes the memory of a process lies. The heap and the arena of its
 * segment have a part on each NUMA node that the process may run on. A worker's own memory, which
 * is its worker page and its tables, lies on the NUMA node that the worker's thread runs on.
 *
 * On a machine with one NUMA node nothing is bound, and no function here makes a system call but
 * tern_placement_open.
 */

#include "rma/memory/segment.h"
#include "src/topology.h"

typedef struct tern_placement {
    hwloc_topology_t topology; /* NULL: the machine has one NUMA node */
    size_t nodes;
    int node[TERN_NUMA_MAX]; /* nodes on which the process may run, by hwloc's logical index */
    size_t first;            /* the thread that creates the context runs on node[first] */
} tern_placement;

tern_status tern_placement_open(tern_placement *placement);
void tern_placement_close(tern_placement *placement);

/* Index in node[] of the NUMA node where a worker is expected until a thread has adopted it. */
static inline size_t tern_placement_guess(const tern_placement *placement, size_t worker) {
    return (placement->first + worker) % placement->nodes;
}

/* Index in node[] of a NUMA node; placement->nodes: the process may not run there. */
size_t tern_placement_find(const tern_placement *placement, int numa);

/* Binds the memory of this rank's segment to NUMA nodes, before any process touches it. Part i of
 * the heap (of heap_parts) and part i of the arena lie on node[i]. With ordinary pages the ring
 * headers lie there, too, and each worker page lies where its worker is expected.
 * If a NUMA node has no pages left, the system takes them from another one. */
void tern_placement_bind_segment(const tern_placement *placement, const tern_layout *layout,
                                 const tern_segment *segment, size_t heap_parts, size_t workers);

/* Binds memory, which consists of whole pages, to a NUMA node. move: moves pages that are already
 * in use, too; pages that another process has mapped do not move. A failure only causes a warning,
 * which a process writes once. */
void tern_placement_bind(const tern_placement *placement, void *memory, size_t bytes, int numa,
                         bool move);

/* Called when a thread has adopted the worker: moves the worker's memory to the NUMA node on which
 * the thread runs. */
void tern_placement_follow(tern_worker *worker);

#endif
