#ifndef TERN_SRC_TOPOLOGY_H
#define TERN_SRC_TOPOLOGY_H

/*
 * Topology: which NUMA nodes a process runs on, and which ranks form a node. The functions compute
 * placement from an hwloc topology, so tests can pass synthetic machines.
 */

#include <hwloc.h>

#include "src/context.h"

#define TERN_NUMA_MAX 64

/* [out] numa: logical indexes of the NUMA nodes whose processors intersect binding, in order.
 * Returns their number, 1 to TERN_NUMA_MAX: node 0 if hwloc knows no NUMA node. */
size_t tern_topology_numa(hwloc_topology_t topology, hwloc_const_cpuset_t binding,
                          int numa[TERN_NUMA_MAX]);

/* Returns the logical index of the NUMA node that all these processors belong to, the first one if
 * they belong to several; -1: there is no such node, or no processor. */
int tern_topology_numa_of(hwloc_topology_t topology, hwloc_const_cpuset_t processors);

/* Loads this machine's topology, without its I/O devices, which take several times as long. The
 * caller destroys it. */
tern_status tern_topology_load(hwloc_topology_t *topology);

/* Numbers the nodes. leader[r] is the lowest rank on r's machine, whose ranks share memory. With
 * virtual_size > 0 each machine is cut into pieces of at most that many ranks in rank order. [out]
 * node, by rank, and nodes, their number. */
tern_status tern_topology_nodes(const uint32_t *leader, uint32_t size, uint32_t virtual_size,
                                uint32_t *node, uint32_t *nodes);

#endif
