#ifndef TERN_SRC_TOPOLOGY_H
#define TERN_SRC_TOPOLOGY_H

/*
 * Topology: which NUMA nodes a process runs on, and which ranks form a node. Placement is computed
 * from what hwloc tells, so that tests feed it synthetic machines.
 */

#include <hwloc.h>

#include "src/context.h"

#define TERN_NUMA_MAX 64

/* Logical indexes of the NUMA nodes whose processors intersect binding, in order; how many, at most
 * TERN_NUMA_MAX. At least one: node 0 where hwloc knows none. */
size_t tern_topology_numa(hwloc_topology_t topology, hwloc_const_cpuset_t binding,
                          int numa[TERN_NUMA_MAX]);

/* Logical index of the NUMA node that all these processors belong to, the first one if they belong
 * to several; -1: there is none, or no processor. */
int tern_topology_numa_of(hwloc_topology_t topology, hwloc_const_cpuset_t processors);

/* Loads this machine's topology, without its I/O devices, which take several times as long. The
 * caller destroys it. */
tern_status tern_topology_load(hwloc_topology_t *topology);

/* Numbers the nodes from who shares memory with whom: leader[r] is the lowest rank on r's machine.
 * With virtual_size > 0 each machine is cut into pieces of at most that many ranks in rank order.
 * [out] node, by rank, and nodes, their number. */
tern_status tern_topology_nodes(const uint32_t *leader, uint32_t size, uint32_t virtual_size,
                                uint32_t *node, uint32_t *nodes);

#endif
