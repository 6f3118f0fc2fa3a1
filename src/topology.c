#include "src/topology.h"

#include <stdlib.h>

#include "base/error.h"

tern_status tern_topology_load(hwloc_topology_t *topology) {
    if (hwloc_topology_init(topology) != 0)
        return tern_fail_system("hwloc_topology_init");
    if (hwloc_topology_load(*topology) != 0) {
        tern_status status = tern_fail_system("hwloc_topology_load");
        hwloc_topology_destroy(*topology);
        return status;
    }
    return TERN_OK;
}

size_t tern_topology_numa(hwloc_topology_t topology, hwloc_const_cpuset_t binding,
                          int numa[TERN_NUMA_MAX]) {
    size_t count = 0;
    hwloc_obj_t object = NULL;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != NULL &&
           count < TERN_NUMA_MAX)
        if (object->cpuset != NULL && hwloc_bitmap_intersects(object->cpuset, binding))
            numa[count++] = (int)object->logical_index;
    if (count == 0)
        numa[count++] = 0;
    return count;
}

int tern_topology_numa_of(hwloc_topology_t topology, hwloc_const_cpuset_t processors) {
    hwloc_obj_t object = NULL;
    if (hwloc_bitmap_iszero(processors))
        return -1;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != NULL)
        if (object->cpuset != NULL && hwloc_bitmap_isincluded(processors, object->cpuset))
            return (int)object->logical_index;
    return -1;
}

tern_status tern_topology_nodes(const uint32_t *leader, uint32_t size, uint32_t virtual_size,
                                uint32_t *node, uint32_t *nodes) {
    /* By leader: how many ranks of its machine were numbered so far, and the node of the last of
     * them. */
    uint32_t *seen = calloc((size_t)size * 2, sizeof *seen);
    if (seen == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to number the nodes of %u ranks", size);
    uint32_t *last = seen + size, count = 0;
    for (uint32_t r = 0; r < size; r++) {
        uint32_t place = seen[leader[r]]++;
        if (place == 0 || (virtual_size > 0 && place % virtual_size == 0))
            last[leader[r]] = count++;
        node[r] = last[leader[r]];
    }
    free(seen);
    *nodes = count;
    return TERN_OK;
}
