#include "rma/memory/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "src/log.h"

#define GIB ((size_t)1 << 30)

static size_t segment_round_up(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

void tern_layout_compute(const tern_config *config, uint32_t ranks, tern_layout *layout) {
    size_t workers = config->workers + config->service_threads;
    size_t endpoints = ranks * workers * TERN_CHANNELS;
    tern_layout l;
    memset(&l, 0, sizeof l);
    l.worker_pages = TERN_PAGE;
    l.doorbells = TERN_LINE; /* behind the first line, which says that a doorbell has rung */
    l.table = l.doorbells + segment_round_up((endpoints + 63) / 64 * 8, TERN_LINE);
    l.credits = l.table + segment_round_up(endpoints * 8, TERN_LINE);
    l.cells = l.credits + segment_round_up(endpoints * sizeof(tern_credit), TERN_LINE);
    l.worker_page_bytes =
        segment_round_up(l.cells + TERN_CALL_REQUESTS * sizeof(tern_cell), TERN_PAGE);
    l.rings = l.worker_pages + workers * l.worker_page_bytes;
    l.ring_bytes = config->ring_size;
    l.ring_count = config->ring_memory / config->ring_size;
    if (l.ring_count > TERN_RINGS_MAX)
        l.ring_count = TERN_RINGS_MAX;
    l.regions = l.rings + l.ring_count * sizeof(tern_ring_header);
    l.places = segment_round_up(l.regions + TERN_REGIONS_MAX * sizeof(tern_region), TERN_LINE);
    l.listeners = segment_round_up(l.places + 2 * ranks * sizeof(uint32_t), TERN_LINE);
    l.stripes = segment_round_up(l.listeners + ranks * sizeof(tern_listener_address), TERN_LINE);
    l.arena = segment_round_up(l.stripes + TERN_STRIPES * sizeof(tern_line), TERN_PAGE);
    l.heap = segment_round_up(l.arena + l.ring_count * l.ring_bytes, TERN_HUGE);
    l.heap_bytes = config->segment_size / TERN_LINE * TERN_LINE;
    l.bytes = segment_round_up(l.heap + l.heap_bytes, TERN_PAGE);
    *layout = l;
}

/* Makes a sealed memfd of that size, or returns -1. If the system has no huge pages left, this
 * succeeds and a later mmap fails. */
static int make_memfd(unsigned huge_flags, size_t bytes) {
    int fd = memfd_create("tern", MFD_CLOEXEC | MFD_ALLOW_SEALING | huge_flags);
    if (fd < 0)
        return -1;
    if (tern_file_resize(fd, bytes) != 0 ||
        (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 &&
         huge_flags == 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* The size of the memfd's pages. */
static size_t page_of(int fd) {
    struct statfs info;
    bool huge = fstatfs(fd, &info) == 0 && info.f_type == HUGETLBFS_MAGIC;
    return huge ? (size_t)info.f_bsize : TERN_PAGE;
}

/* Maps the segment at a multiple of page, at least 2 MiB: transparent huge pages and the alignment
 * that tern_alloc guarantees need it. Children of a fork do not get the mapping: they must not
 * touch the memory by which this process communicates. */
static char *segment_map(int fd, size_t bytes, size_t page) {
    size_t unit = page > TERN_HUGE ? page : TERN_HUGE;
    char *room =
        mmap(NULL, bytes + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    char *base = (char *)(uintptr_t)segment_round_up((uintptr_t)room, unit);
    char *end = (char *)(uintptr_t)segment_round_up((uintptr_t)(base + bytes), TERN_PAGE);
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

/* Asks for transparent huge pages for the heap, if the system gives them to shared memory. */
static bool advise_heap(const tern_config *config, const tern_layout *layout,
                        const tern_segment *segment) {
    return config->huge_pages == TERN_HUGE_PAGES_AUTO && segment->page == TERN_PAGE &&
           layout->heap_bytes >= TERN_HUGE &&
           madvise(segment->base + layout->heap, layout->heap_bytes / TERN_HUGE * TERN_HUGE,
                   MADV_HUGEPAGE) == 0;
}

/* Kinds of pages, the largest first. Ordinary pages are tried last, whichever kind config asks
 * for. */
static const struct page_kind {
    size_t bytes;
    unsigned flags;
    tern_huge_pages choice;
    const char *name;
} kinds[] = {
    {GIB, MFD_HUGETLB | MFD_HUGE_1GB, TERN_HUGE_PAGES_1G, "1 GiB"},
    {TERN_HUGE, MFD_HUGETLB | MFD_HUGE_2MB, TERN_HUGE_PAGES_2M, "2 MiB"},
    {TERN_PAGE, 0, TERN_HUGE_PAGES_NONE, "ordinary"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], ORDINARY = KINDS - 1 };

/* The kind to try first. A 1 GiB page that the segment would not fill is taken only when config
 * asks for it. */
static int first_kind(tern_huge_pages wanted, size_t bytes) {
    if (wanted == TERN_HUGE_PAGES_AUTO)
        return bytes >= GIB ? 0 : 1;
    int i = 0;
    while (i < ORDINARY && kinds[i].choice != wanted)
        i++;
    return i;
}

/* Makes and maps a segment of this kind of pages. False: errno says why it failed. */
static bool try_pages(const struct page_kind *kind, size_t bytes, tern_segment *segment, int *fd) {
    size_t whole = segment_round_up(bytes, kind->bytes);
    int fresh = make_memfd(kind->flags, whole);
    if (fresh < 0)
        return false;
    char *base = segment_map(fresh, whole, kind->bytes);
    if (base == NULL) {
        int error = errno;
        close(fresh);
        errno = error;
        return false;
    }
    *segment = (tern_segment){base, whole, kind->bytes, false};
    *fd = fresh;
    return true;
}

tern_status tern_segment_create(const tern_config *config, const tern_layout *layout,
                                tern_segment *segment, int *fd) {
    int first = first_kind(config->huge_pages, layout->bytes), got = first;
    char reason[128] = "", what[96];
    while (!try_pages(&kinds[got], layout->bytes, segment, fd)) {
        if (got == ORDINARY) {
            snprintf(what, sizeof what,
                     "a segment of %zu bytes (TERN_SEGMENT_SIZE, TERN_RING_MEMORY)", layout->bytes);
            return tern_fail_system(what);
        }
        if (got == first)
            snprintf(reason, sizeof reason, "%s", strerror(errno));
        got++;
    }
    segment->transparent = advise_heap(config, layout, segment);
    if (got != first)
        tern_log(config->huge_pages == TERN_HUGE_PAGES_AUTO ? TERN_LOG_INFO : TERN_LOG_WARN,
                 "the segment of %zu bytes has %s pages%s instead of %s ones: %s (free ones: "
                 "/sys/kernel/mm/hugepages)",
                 layout->bytes, kinds[got].name, segment->transparent ? ", transparent huge," : "",
                 kinds[first].name, reason);
    else if (got != ORDINARY)
        tern_log(TERN_LOG_INFO, "the segment of %zu bytes has %s pages", layout->bytes,
                 kinds[got].name);
    return TERN_OK;
}

/* Number of pages that hold a part of the heap. */
static size_t heap_pages(const tern_layout *layout, size_t page) {
    return segment_round_up(layout->heap + layout->heap_bytes, page) / page - layout->heap / page;
}

size_t tern_segment_parts(const tern_layout *layout, size_t page, size_t wanted) {
    size_t pages = heap_pages(layout, page);
    return wanted < pages ? wanted : pages;
}

size_t tern_segment_cut(const tern_layout *layout, size_t page, size_t parts, size_t index) {
    if (index == 0)
        return 0;
    if (index == parts)
        return layout->heap_bytes;
    size_t before = layout->heap / page + heap_pages(layout, page) * index / parts;
    return before * page - layout->heap;
}

size_t tern_segment_arena_parts(const tern_layout *layout, size_t wanted) {
    return wanted < layout->ring_count ? wanted : layout->ring_count;
}

size_t tern_segment_arena_cut(const tern_layout *layout, size_t parts, size_t index) {
    return layout->ring_count * index / parts;
}

void tern_segment_prefault(const tern_config *config, const tern_layout *layout,
                           const tern_segment *segment) {
    char *heap = segment->base + layout->heap;
    for (size_t at = 0; config->prefault && at < layout->heap_bytes; at += TERN_PAGE)
        *(volatile char *)(heap + at) = 0;
}

tern_status tern_segment_map(const tern_config *config, const tern_layout *layout, int fd,
                             tern_segment *segment) {
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size_t)size < layout->bytes)
        return tern_fail(TERN_ERR_SYSTEM,
                         "the segment of a peer has %lld bytes, but must have at least %zu",
                         (long long)size, layout->bytes);
    size_t page = page_of(fd);
    char *base = segment_map(fd, (size_t)size, page);
    if (base == NULL)
        return tern_fail(TERN_ERR_SYSTEM,
                         "mmap of a peer's segment, %lld bytes in pages of %zu: %s",
                         (long long)size, page, strerror(errno));
    *segment = (tern_segment){base, (size_t)size, page, false};
    segment->transparent = advise_heap(config, layout, segment);
    return TERN_OK;
}

void tern_segment_destroy(tern_segment *segment) {
    if (segment->base != NULL)
        munmap(segment->base, segment->bytes);
    segment->base = NULL;
}
