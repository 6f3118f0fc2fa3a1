#ifndef TERN_TESTS_HARNESS_NUMA_TOOLS_H
#define TERN_TESTS_HARNESS_NUMA_TOOLS_H

/* What the suites share that are about NUMA nodes. */

#include <sched.h>

#include "fixture.h"
#include "rma/memory/state.h"

/* Returns the kernel's number of the NUMA node with a logical index, or -1. [out] count: how many
 * NUMA nodes there are. */
static inline int numa_kernel_number(int index, int *count) {
    hwloc_topology_t topology;
    if (!EXPECT_OK(tern_topology_load(&topology)))
        return -1;
    hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)index);
    int number = node != NULL ? (int)node->os_index : -1;
    if (count != NULL)
        *count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    hwloc_topology_destroy(topology);
    return number;
}

/* Collective: opens a context with many small rings, so that each of up to 8 NUMA nodes has pages
 * of ring headers of its own. */
static inline bool numa_open_workers(fixture *f, size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = workers;
    config.huge_pages = TERN_HUGE_PAGES_NONE;
    config.segment_size = (size_t)4 << 20;
    config.ring_size = (size_t)4 << 10;
    config.ring_memory = (size_t)8 << 20;
    return fixture_open(f, &config);
}

/* Lets the calling thread run on one NUMA node of those that the process has. */
static inline void numa_run_on(const tern_placement *placement, int numa) {
    hwloc_topology_t topology;
    if (placement->topology == NULL || !EXPECT_OK(tern_topology_load(&topology)))
        return;
    hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)numa);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    CU_ASSERT_EQUAL(hwloc_set_cpubind(topology, node->cpuset, HWLOC_CPUBIND_THREAD), 0);
    hwloc_topology_destroy(topology);
}

/* Returns the processors that the calling thread may run on, so that a test can set them again. */
static inline cpu_set_t numa_usable_processors(void) {
    cpu_set_t usable;
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof usable, &usable), 0);
    return usable;
}

static inline void numa_run_anywhere(const cpu_set_t *usable) {
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof *usable, usable), 0);
}

#endif
