#ifndef TERN_TESTS_HARNESS_NUMA_PAGES_H
#define TERN_TESTS_HARNESS_NUMA_PAGES_H

/* Asks the kernel on which NUMA nodes pages lie. hwloc binds pages; libnuma reads back where they
 * are, and only the suites with this header need it. */

#include <limits.h>
#include <numa.h>
#include <numaif.h>

#include "numa_tools.h"

/* Returns the NUMA node, by the kernel's number, that a touched page lies on, or a negative errno;
 * INT_MIN: the kernel does not say. */
static inline int numa_of_page(const void *address) {
    void *page = (void *)((uintptr_t)address & ~(uintptr_t)(TERN_PAGE - 1));
    int node = -1;
    return numa_move_pages(0, 1, &page, NULL, &node, 0) == 0 ? node : INT_MIN;
}

#endif
