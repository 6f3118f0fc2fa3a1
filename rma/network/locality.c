#include "rma/network/locality.h"

#include <hwloc/linux.h>

#include "base/error.h"
#include "src/topology.h"

bool tern_locality_is_near(const char *mask) {
    hwloc_topology_t topology;
    hwloc_bitmap_t near = hwloc_bitmap_alloc(), mine = hwloc_bitmap_alloc();
    bool is_near = true;
    if (tern_topology_load(&topology) != TERN_OK) {
        tern_error_clear();
    } else {
        if (near != NULL && mine != NULL && hwloc_linux_read_path_as_cpumask(mask, near) == 0 &&
            hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_THREAD) == 0)
            is_near = hwloc_bitmap_intersects(near, mine);
        hwloc_topology_destroy(topology);
    }
    hwloc_bitmap_free(near);
    hwloc_bitmap_free(mine);
    return is_near;
}
