#include "rma/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rma/region.h"
#include "rma/reply.h"
#include "rma/ring.h"
#include "src/error.h"
#include "src/log.h"
#include "src/topology.h"

#define GIB ((size_t)1 << 30)

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void tern_layout_compute(const tern_config *config, uint32_t ranks, tern_layout *layout) {
    size_t workers = config->workers + config->service_threads;
    size_t lines = ranks * workers * TERN_CHANNELS;
    tern_layout l;
    memset(&l, 0, sizeof l);
    l.boards = TERN_PAGE;
    l.bells = TERN_LINE; /* the first line says that any bell has rung */
    l.table = l.bells + round_up((lines + 63) / 64 * 8, TERN_LINE);
    l.credits = l.table + round_up(lines * 8, TERN_LINE);
    l.cells = l.credits + round_up(lines * 8, TERN_LINE);
    l.board_bytes = round_up(l.cells + TERN_FUTURES * sizeof(tern_cell), TERN_PAGE);
    l.rings = l.boards + workers * l.board_bytes;
    l.ring_bytes = config->ring_size;
    l.ring_count = config->ring_memory / config->ring_size;
    if (l.ring_count > TERN_RINGS_MAX)
        l.ring_count = TERN_RINGS_MAX;
    l.regions = l.rings + l.ring_count * sizeof(tern_ring_header);
    l.arena = round_up(l.regions + TERN_REGIONS_MAX * sizeof(tern_region), TERN_PAGE);
    l.heap = round_up(l.arena + l.ring_count * l.ring_bytes, TERN_HUGE);
    l.heap_bytes = config->segment_size / TERN_LINE * TERN_LINE;
    l.bytes = round_up(l.heap + l.heap_bytes, TERN_PAGE);
    *layout = l;
}

/* A sealed memfd of that size, or -1. Huge ones fail at mmap if the system has none to give. */
static int make_memfd(unsigned huge_flags, size_t bytes) {
    int fd = memfd_create("tern", MFD_CLOEXEC | MFD_ALLOW_SEALING | huge_flags);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes) != 0 ||
        (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 &&
         huge_flags == 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Maps at a multiple of page, at least 2 MiB: transparent huge pages and the alignment that
 * tern_alloc promises need it. Children of a fork are shut out: they must not touch what this
 * process communicates by. */
static char *map(int fd, size_t bytes, size_t page) {
    size_t unit = page > TERN_HUGE ? page : TERN_HUGE;
    char *room =
        mmap(NULL, bytes + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    char *base = (char *)(uintptr_t)round_up((uintptr_t)room, unit);
    char *end = (char *)(uintptr_t)round_up((uintptr_t)(base + bytes), TERN_PAGE);
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        int error = errno;
        munmap(room, bytes + unit);
        errno = error;
        return NULL;
    }
    if (base > room)
        munmap(room, (size_t)(base - room));
    if (end < room + bytes + unit)
        munmap(end, (size_t)(room + bytes + unit - end));
    madvise(base, bytes, MADV_DONTFORK);
    return base;
}

static tern_status try_pages(size_t page, unsigned flags, size_t bytes, tern_segment *segment,
                             int *fd) {
    size_t whole = round_up(bytes, page);
    *fd = make_memfd(flags, whole);
    if (*fd < 0)
        return tern_fail_system("memfd_create");
    char *base = map(*fd, whole, page);
    if (base == NULL) {
        tern_status status = tern_fail_system("mmap of the segment");
        close(*fd);
        *fd = -1;
        return status;
    }
    *segment = (tern_segment){base, whole, page};
    return TERN_OK;
}

/* Transparent huge pages for the heap, where the system grants them to shared memory. */
static void advise_heap(const tern_config *config, const tern_layout *layout,
                        tern_segment *segment) {
    if (config->huge_pages != TERN_HUGE_PAGES_AUTO || segment->page_size != TERN_PAGE ||
        layout->heap_bytes < TERN_HUGE)
        return;
    if (madvise(segment->base + layout->heap, layout->heap_bytes / TERN_HUGE * TERN_HUGE,
                MADV_HUGEPAGE) == 0)
        segment->page_size = TERN_HUGE;
}

static void bind_heap(const tern_layout *layout, char *heap, const int *numa, size_t parts) {
    hwloc_topology_t topology;
    if (tern_topology_load(&topology, false) != TERN_OK)
        return;
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) > 1) {
        size_t part = layout->heap_bytes / parts / TERN_PAGE * TERN_PAGE;
        for (size_t i = 0; i < parts; i++) {
            hwloc_obj_t node =
                hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)numa[i]);
            if (node != NULL &&
                hwloc_set_area_membind(topology, heap + i * part, part, node->nodeset,
                                       HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET) != 0)
                tern_log(TERN_LOG_INFO, "the heap could not be bound to NUMA node %d", numa[i]);
        }
    }
    hwloc_topology_destroy(topology);
}

tern_status tern_segment_create(const tern_config *config, const tern_layout *layout,
                                const int *numa, size_t parts, tern_segment *segment, int *fd) {
    tern_huge_pages wanted = config->huge_pages;
    tern_status status = TERN_ERR_UNSUPPORTED;
    /* A 1 GiB page that the segment would not fill is taken only when asked for. */
    if (wanted == TERN_HUGE_PAGES_1G || (wanted == TERN_HUGE_PAGES_AUTO && layout->bytes >= GIB))
        status = try_pages(GIB, MFD_HUGETLB | MFD_HUGE_1GB, layout->bytes, segment, fd);
    if (status != TERN_OK && (wanted == TERN_HUGE_PAGES_2M || wanted == TERN_HUGE_PAGES_AUTO))
        status = try_pages(TERN_HUGE, MFD_HUGETLB | MFD_HUGE_2MB, layout->bytes, segment, fd);
    if (status != TERN_OK) {
        if (wanted == TERN_HUGE_PAGES_1G || wanted == TERN_HUGE_PAGES_2M)
            tern_log(TERN_LOG_WARN, "no huge pages for the segment (%s); using ordinary ones",
                     tern_error_detail());
        tern_error_clear();
        status = try_pages(TERN_PAGE, 0, layout->bytes, segment, fd);
    }
    if (status != TERN_OK)
        return status;
    advise_heap(config, layout, segment);
    char *heap = segment->base + layout->heap;
    bind_heap(layout, heap, numa, parts);
    for (size_t at = 0; config->prefault && at < layout->heap_bytes; at += TERN_PAGE)
        *(volatile char *)(heap + at) = 0;
    return TERN_OK;
}

tern_status tern_segment_map(const tern_config *config, const tern_layout *layout, int fd,
                             tern_segment *segment) {
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size_t)size < layout->bytes)
        return tern_fail(TERN_ERR_SYSTEM, "a segment of %lld bytes came where %zu were due",
                         (long long)size, layout->bytes);
    char *base = map(fd, (size_t)size, TERN_HUGE);
    if (base == NULL)
        return tern_fail_system("mmap of a peer's segment");
    *segment = (tern_segment){base, (size_t)size, TERN_PAGE};
    advise_heap(config, layout, segment);
    return TERN_OK;
}

void tern_segment_destroy(tern_segment *segment) {
    if (segment->base != NULL)
        munmap(segment->base, segment->bytes);
    segment->base = NULL;
}
