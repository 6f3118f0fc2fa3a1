// tern-test: ranks
/*
 * The pages of segments: what the kernel says of their size and NUMA node, in the owner and in
 * every rank that maps them. Where huge pages of a size or NUMA nodes are missing, what is used
 * instead is checked; each test says how many pages were free.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "numa_pages.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Free huge pages of that size, of one NUMA node or (-1) of all; 0 where there can be none. */
static size_t free_pages(size_t page, int node) {
    char path[160];
    const char *file = "free_hugepages";
    if (node < 0)
        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%zukB/%s", page / 1024,
                 file);
    else
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB/%s",
                 node, page / 1024, file);
    FILE *f = fopen(path, "r");
    size_t count = 0;
    if (f == NULL || fscanf(f, "%zu", &count) != 1)
        count = 0;
    if (f != NULL)
        fclose(f);
    return count;
}

/* KernelPageSize of the mapping that holds address, from /proc/self/smaps; 0: not mapped. */
static size_t kernel_page(const void *address) {
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    size_t kib = 0;
    bool here = false;
    while (f != NULL && kib == 0 && fgets(line, sizeof line, f) != NULL) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            here = (uintptr_t)address >= from && (uintptr_t)address < to;
        else if (here && sscanf(line, "KernelPageSize: %zu kB", &kib) != 1)
            kib = 0;
    }
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

/* Every mapping of a segment of this node, of the pages that its owner has. */
static void check_mappings(fixture *f) {
    tern_rma *rma = tern_rma_of(f->context);
    size_t *pages = calloc(f->size, sizeof *pages);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pages);
    fixture_share(f, &rma->segment[f->rank].page, sizeof *pages, pages);
    for (uint32_t r = 0; r < f->size; r++) {
        const tern_segment *s = &rma->segment[r];
        if (s->base == NULL)
            continue;
        CU_ASSERT_EQUAL(s->page, pages[r]);
        CU_ASSERT_EQUAL((uintptr_t)s->base % s->page, 0);
        CU_ASSERT_EQUAL((uintptr_t)s->base % TERN_HUGE, 0);
        CU_ASSERT_EQUAL(s->bytes % s->page, 0);
        CU_ASSERT_EQUAL(kernel_page(s->base), s->page);
        CU_ASSERT_EQUAL(kernel_page(s->base + rma->layout.heap), s->page);
        CU_ASSERT_EQUAL(kernel_page(s->base + s->bytes - 1), s->page);
    }
    free(pages);
}

/* Memory on each NUMA node of the heap: where it lies, if its node had pages for all ranks. */
static void check_nodes(fixture *f, const bool *roomy) {
    tern_rma *rma = tern_rma_of(f->context);
    int count = 0;
    for (size_t i = 0; i < rma->parts; i++) {
        tern_ptr p = TERN_NULL;
        if (!EXPECT_OK(tern_alloc_on(f->worker, f->rank, rma->placement.node[i], 3 * TERN_PAGE, 0,
                                     TERN_DOMAIN_GLOBAL, &p)))
            continue;
        char *memory = tern_local(f->context, p);
        memset(memory, 1, 3 * TERN_PAGE);
        int node = numa_kernel_number(rma->placement.node[i], &count),
            lies = numa_of_page(memory + TERN_PAGE);
        CU_ASSERT(lies >= 0 || lies == INT_MIN);
        if (lies >= 0 && count > 1 && node < 64 && roomy[node])
            CU_ASSERT_EQUAL(lies, node);
        EXPECT_OK(tern_free(f->worker, p));
    }
}

/* What each rank writes into the next one's segment is there. */
static void check_contents(fixture *f) {
    tern_ptr *all = calloc(f->size, sizeof *all);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    fixture_alloc_all(f, MIB, TERN_DOMAIN_GLOBAL, all);
    uint32_t next = (f->rank + 1) % f->size, before = (f->rank + f->size - 1) % f->size;
    char *there = tern_local(f->context, all[next]);
    if (there != NULL)
        memset(there, (int)(f->rank + 1), MIB);
    EXPECT_OK(tern_barrier(f->worker));
    const char *here = tern_local(f->context, all[f->rank]);
    if (there != NULL)
        CU_ASSERT(here[0] == (char)(before + 1) && memcmp(here, here + 1, MIB - 1) == 0);
    fixture_free_all(f, all);
    free(all);
}

static size_t largest(size_t mine) {
    unsigned long long value = mine, all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return (size_t)all;
}

/* With config.huge_pages as wanted, which asks for pages of that size; page 0: whatever auto takes.
 */
static void check_pages(tern_huge_pages wanted, size_t page, size_t segment) {
    tern_config config;
    fixture f;
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT_OK(tern_config_init(&config));
    config.huge_pages = wanted;
    config.segment_size = segment;
    config.ring_memory = MIB;
    config.workers = 2;
    config.log_level = TERN_LOG_ERROR;
    tern_layout layout;
    tern_layout_compute(&config, (uint32_t)ranks, &layout);
    bool huge = page > TERN_PAGE, roomy[64];
    size_t needed = huge ? (size_t)ranks * ((layout.bytes + page - 1) / page) : 0;
    size_t there = huge ? free_pages(page, -1) : 0;
    for (int node = 0; node < 64; node++)
        roomy[node] = !huge || free_pages(page, node) >= needed / 2;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!fixture_open(&f, &config))
        return;
    tern_rma *rma = tern_rma_of(f.context);
    if (huge && there >= needed)
        CU_ASSERT_EQUAL(rma->segment[f.rank].page, page);
    if (page == TERN_PAGE)
        CU_ASSERT_EQUAL(rma->segment[f.rank].page, page);
    check_mappings(&f);
    check_nodes(&f, roomy);
    check_contents(&f);
    size_t got = largest(rma->segment[f.rank].page);
    int nodes = 0;
    (void)numa_kernel_number(0, &nodes);
    if (f.rank == 0)
        printf("[%zu huge pages free, %zu needed; pages of %zu KiB, %zu of %d NUMA nodes] ", there,
               needed, got / 1024, rma->parts, nodes);
    fixture_close(&f);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ordinary(void) { check_pages(TERN_HUGE_PAGES_NONE, TERN_PAGE, 8 * MIB); }
static void of_2_mib(void) { check_pages(TERN_HUGE_PAGES_2M, 2 * MIB, 8 * MIB); }
/* Heap and all else in one page. */
static void of_1_gib(void) { check_pages(TERN_HUGE_PAGES_1G, GIB, 8 * MIB); }
/* One page for each of two NUMA nodes. */
static void two_of_1_gib(void) { check_pages(TERN_HUGE_PAGES_1G, GIB, GIB + GIB / 2); }
static void automatic(void) { check_pages(TERN_HUGE_PAGES_AUTO, 0, 8 * MIB); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"ordinary", ordinary},
                                           {"of 2 MiB", of_2_mib},
                                           {"of 1 GiB", of_1_gib},
                                           {"two of 1 GiB", two_of_1_gib},
                                           {"automatic", automatic}};
    return tern_test_main(argc, argv, "pages", tests, sizeof tests / sizeof tests[0]);
}
