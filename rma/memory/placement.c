#include "rma/memory/placement.h"

#include <errno.h>
#include <string.h>

#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"
#include "src/log.h"

/* The NUMA node on which the calling thread runs, or -1. */
static int placement_of_thread(const tern_placement *placement) {
    int numa = -1;
    hwloc_bitmap_t processors = hwloc_bitmap_alloc();
    if (processors != NULL &&
        hwloc_get_last_cpu_location(placement->topology, processors, HWLOC_CPUBIND_THREAD) == 0)
        numa = tern_topology_numa_of(placement->topology, processors);
    hwloc_bitmap_free(processors);
    return numa;
}

size_t tern_placement_find(const tern_placement *placement, int numa) {
    size_t i = 0;
    while (i < placement->nodes && placement->node[i] != numa)
        i++;
    return i;
}

tern_status tern_placement_open(tern_placement *placement) {
    *placement = (tern_placement){.nodes = 1};
    hwloc_topology_t topology;
    tern_status status = tern_topology_load(&topology);
    if (status != TERN_OK)
        return status;
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) < 2) {
        hwloc_topology_destroy(topology);
        return TERN_OK;
    }
    placement->topology = topology;
    hwloc_bitmap_t binding = hwloc_bitmap_alloc();
    if (binding != NULL && hwloc_get_cpubind(topology, binding, HWLOC_CPUBIND_PROCESS) == 0)
        placement->nodes = tern_topology_numa(topology, binding, placement->node);
    hwloc_bitmap_free(binding);
    const size_t here = tern_placement_find(placement, placement_of_thread(placement));
    placement->first = here % placement->nodes;
    return TERN_OK;
}

void tern_placement_close(tern_placement *placement) {
    if (placement->topology != NULL)
        hwloc_topology_destroy(placement->topology);
    placement->topology = NULL;
}

void tern_placement_bind(const tern_placement *placement, void *memory, size_t bytes, int numa,
                         bool move) {
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    hwloc_obj_t node =
        hwloc_get_obj_by_type(placement->topology, HWLOC_OBJ_NUMANODE, (unsigned)numa);
    if (node == NULL || bytes == 0)
        return;
    const int flags = HWLOC_MEMBIND_BYNODESET | (move ? HWLOC_MEMBIND_MIGRATE : 0);
    if (hwloc_set_area_membind(placement->topology, memory, bytes, node->nodeset,
                               HWLOC_MEMBIND_BIND, flags) == 0)
        return;
    const int error = errno;
    /* R4 */
    if (!atomic_flag_test_and_set(&warned))
        tern_log(
            TERN_LOG_WARN,
            "memory could not be bound to NUMA node %d: %s. It lies where it is touched first, "
            "which may be slower; a container may need the capability SYS_NICE",
            numa, strerror(error));
}

/* Binds the range from one offset of a segment to another. A page in which one range ends and the
 * next begins belongs to the next. */
static void placement_bind_range(const tern_placement *placement, const tern_segment *segment,
                                 size_t from, size_t to, int numa) {
    from = from / segment->page * segment->page;
    if (to < segment->bytes)
        to = to / segment->page * segment->page;
    if (from < to)
        tern_placement_bind(placement, segment->base + from, to - from, numa, false);
}

void tern_placement_bind_segment(const tern_placement *placement, const tern_layout *layout,
                                 const tern_segment *segment, size_t heap_parts, size_t workers) {
    if (placement->topology == NULL)
        return;
    const bool ordinary = segment->page == TERN_PAGE;
    for (size_t i = 0; ordinary && i < workers; i++) {
        const size_t worker_page = layout->worker_pages + i * layout->worker_page_bytes;
        placement_bind_range(placement, segment, worker_page,
                             worker_page + layout->worker_page_bytes,
                             placement->node[tern_placement_guess(placement, i)]);
    }
    const size_t parts = tern_segment_arena_parts(layout, placement->nodes);
    for (size_t i = 0; i < parts; i++) {
        const size_t from = tern_segment_arena_cut(layout, parts, i);
        const size_t to = tern_segment_arena_cut(layout, parts, i + 1);
        const size_t header = sizeof(tern_ring_header);
        if (ordinary)
            placement_bind_range(placement, segment, layout->rings + from * header,
                                 layout->rings + to * header, placement->node[i]);
        placement_bind_range(placement, segment, layout->arena + from * layout->ring_bytes,
                             layout->arena + to * layout->ring_bytes, placement->node[i]);
    }
    for (size_t i = 0; i < heap_parts; i++) {
        const size_t from = tern_segment_cut(layout, segment->page, heap_parts, i);
        const size_t to = tern_segment_cut(layout, segment->page, heap_parts, i + 1);
        placement_bind_range(placement, segment, layout->heap + from,
                             i + 1 == heap_parts ? segment->bytes : layout->heap + to,
                             placement->node[i]);
    }
}

void tern_placement_follow(tern_worker *worker) {
    tern_rma *rma = tern_rma_of(worker->context);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    const tern_placement *placement = &rma->placement;
    if (placement->topology == NULL)
        return;
    const int here = placement_of_thread(placement);
    if (here < 0 || here == mine->numa)
        return;
    mine->numa = here;
    const size_t index = tern_placement_find(placement, here);
    if (index < placement->nodes)
        tern_doorbell_set_numa(mine->worker_page, (uint32_t)index);
    if (rma->segment[worker->context->rank].page == TERN_PAGE)
        tern_placement_bind(placement, mine->worker_page, rma->layout.worker_page_bytes, here,
                            true);
    tern_placement_bind(placement,
                        tern_tables_of_worker(&rma->tables, rma->table_base, worker->index),
                        rma->tables.worker_bytes, here, true);
    tern_log(TERN_LOG_INFO, "worker %u runs on NUMA node %d, and its memory follows", worker->index,
             here);
}

int tern_worker_numa(const tern_worker *worker) {
    if (worker == NULL || tern_is_destroyed(worker->context))
        return 0;
    return tern_rma_worker_of(worker)->numa;
}
