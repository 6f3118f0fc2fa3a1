// tern-test: unit
/* Placement (src/topology.h) on machines that hwloc makes up. */

#include <stdio.h>

#include "harness.h"
#include "src/topology.h"

static hwloc_topology_t synthetic(const char *description) {
    hwloc_topology_t topology;
    CU_ASSERT_EQUAL_FATAL(hwloc_topology_init(&topology), 0);
    CU_ASSERT_EQUAL_FATAL(hwloc_topology_set_synthetic(topology, description), 0);
    CU_ASSERT_EQUAL_FATAL(hwloc_topology_load(topology), 0);
    return topology;
}

static void numa_nodes_of_a_binding(void) {
    hwloc_topology_t four = synthetic("numa:4 core:2 pu:1");
    hwloc_bitmap_t binding = hwloc_bitmap_alloc();
    int numa[TERN_NUMA_MAX];
    CU_ASSERT_EQUAL(tern_topology_numa(four, hwloc_get_root_obj(four)->cpuset, numa), 4);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(numa[i], i);
    hwloc_bitmap_set(binding, 3); /* the second core of node 1 */
    CU_ASSERT_EQUAL(tern_topology_numa(four, binding, numa), 1);
    CU_ASSERT_EQUAL(numa[0], 1);
    hwloc_bitmap_set(binding, 7);
    CU_ASSERT_EQUAL(tern_topology_numa(four, binding, numa), 2);
    CU_ASSERT_EQUAL(numa[1], 3);
    hwloc_bitmap_zero(binding); /* nowhere: node 0 all the same */
    CU_ASSERT_EQUAL(tern_topology_numa(four, binding, numa), 1);
    CU_ASSERT_EQUAL(numa[0], 0);
    hwloc_bitmap_free(binding);
    hwloc_topology_destroy(four);
}

/* Where a thread runs. */
static void numa_node_of_processors(void) {
    hwloc_topology_t four = synthetic("numa:4 core:2 pu:1");
    hwloc_bitmap_t processors = hwloc_bitmap_alloc();
    CU_ASSERT_EQUAL(tern_topology_numa_of(four, processors), -1);
    for (unsigned i = 0; i < 8; i++) {
        hwloc_bitmap_only(processors, i);
        CU_ASSERT_EQUAL(tern_topology_numa_of(four, processors), (int)i / 2);
    }
    hwloc_bitmap_set(processors, 6);
    CU_ASSERT_EQUAL(tern_topology_numa_of(four, processors), 3);
    hwloc_bitmap_set(processors, 0); /* on two nodes: it may run on either */
    CU_ASSERT_EQUAL(tern_topology_numa_of(four, processors), -1);
    hwloc_bitmap_only(processors, 8); /* which the machine does not have */
    CU_ASSERT_EQUAL(tern_topology_numa_of(four, processors), -1);
    hwloc_topology_destroy(four);

    /* Processors with two kinds of memory: the first is meant. */
    hwloc_topology_t kinds = synthetic("group:2 [numa(memory=1GB)] [numa(memory=2GB)] pu:2");
    hwloc_bitmap_only(processors, 3);
    CU_ASSERT_EQUAL(hwloc_get_nbobjs_by_type(kinds, HWLOC_OBJ_NUMANODE), 4);
    CU_ASSERT_EQUAL(tern_topology_numa_of(kinds, processors), 2);
    hwloc_topology_destroy(kinds);
    hwloc_bitmap_free(processors);
}

/* A machine with 70 NUMA nodes: as many as are asked for, no more. */
static void many_numa_nodes(void) {
    hwloc_topology_t many = synthetic("numa:70 pu:1");
    int numa[TERN_NUMA_MAX];
    CU_ASSERT_EQUAL(tern_topology_numa(many, hwloc_get_root_obj(many)->cpuset, numa),
                    TERN_NUMA_MAX);
    hwloc_topology_destroy(many);
}

static void check_nodes(const uint32_t *leader, uint32_t size, uint32_t piece,
                        const uint32_t *wanted, uint32_t wanted_nodes) {
    uint32_t node[16], nodes = 0;
    CU_ASSERT_EQUAL(tern_topology_nodes(leader, size, piece, node, &nodes), TERN_OK);
    CU_ASSERT_EQUAL(nodes, wanted_nodes);
    for (uint32_t r = 0; r < size; r++)
        CU_ASSERT_EQUAL(node[r], wanted[r]);
}

static void numbering_of_nodes(void) {
    const uint32_t one[5] = {0, 0, 0, 0, 0};
    check_nodes(one, 5, 0, (uint32_t[]){0, 0, 0, 0, 0}, 1);
    check_nodes(one, 5, 1, (uint32_t[]){0, 1, 2, 3, 4}, 5);
    check_nodes(one, 5, 2, (uint32_t[]){0, 0, 1, 1, 2}, 3);
    check_nodes(one, 5, 9, (uint32_t[]){0, 0, 0, 0, 0}, 1);
    check_nodes(one, 1, 2, (uint32_t[]){0}, 1);
    /* Two machines, ranks dealt out in turn: a piece never spans machines. */
    const uint32_t two[6] = {0, 1, 0, 1, 0, 1};
    check_nodes(two, 6, 0, (uint32_t[]){0, 1, 0, 1, 0, 1}, 2);
    check_nodes(two, 6, 2, (uint32_t[]){0, 1, 0, 1, 2, 3}, 4);
}

static void this_machine(void) {
    hwloc_topology_t topology;
    CU_ASSERT_EQUAL_FATAL(tern_topology_load(&topology), TERN_OK);
    int numa[TERN_NUMA_MAX];
    CU_ASSERT(tern_topology_numa(topology, hwloc_get_root_obj(topology)->cpuset, numa) >= 1);
    hwloc_topology_destroy(topology);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"NUMA nodes of a binding", numa_nodes_of_a_binding},
                                           {"NUMA node of processors", numa_node_of_processors},
                                           {"many NUMA nodes", many_numa_nodes},
                                           {"numbering of nodes", numbering_of_nodes},
                                           {"this machine", this_machine}};
    return tern_test_main(argc, argv, "topology", tests, 5);
}
