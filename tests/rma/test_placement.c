// tern-test: ranks
/* How the heap and the arena are divided between NUMA nodes, and what a failed binding does, on
 * machines that hwloc makes up. */

#include <stdlib.h>
#include <unistd.h>

#include "numa_tools.h"
#include "rma/ring/ring.h"

enum { WORKERS = 2 };

/* Has hwloc see a machine that it makes up; real: what it does, it does to this machine. */
static void make_up(const char *description, bool real) {
    CU_ASSERT_EQUAL(setenv("HWLOC_SYNTHETIC", description, 1), 0);
    CU_ASSERT_EQUAL(setenv("HWLOC_THISSYSTEM", real ? "1" : "0", 1), 0);
}

static void make_up_no_more(void) {
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_THISSYSTEM");
}

enum { MADE_UP = 4 };

/* The part of the arena that a ring lies in. */
static size_t arena_part_of(const fixture *f, uint32_t ring) {
    const tern_layout *layout = &tern_rma_of(f->context)->layout;
    size_t part = 0;
    while (ring >= tern_segment_arena_cut(layout, MADE_UP, part + 1))
        part++;
    return part;
}

/* Rings into a worker: first on its NUMA node, and elsewhere when that has none left. */
static void check_arena(fixture *f, uint32_t index) {
    const size_t all = tern_rma_of(f->context)->layout.ring_count, each = all / MADE_UP;
    const uint32_t target = f->rank * MADE_UP + index;
    uint32_t *rings = calloc(all, sizeof *rings), none = 77;
    CU_ASSERT_PTR_NOT_NULL_FATAL(rings);
    EXPECT_OK(tern_arena_claim(f->context, target, 1, 2, 0, &rings[0]));
    CU_ASSERT_EQUAL(arena_part_of(f, rings[0]), index);
    tern_arena_release(f->context, rings[0], 2 * f->context->config.ring_size);
    size_t got = 0;
    while (got < all && EXPECT_OK(tern_arena_claim(f->context, target, 1, 1, 0, &rings[got]))) {
        CU_ASSERT_EQUAL(arena_part_of(f, rings[got]), (index + got / each) % MADE_UP);
        got++;
    }
    EXPECT(TERN_ERR_MEMORY, tern_arena_claim(f->context, target, 1, 1, 0, &none));
    while (got > 0)
        tern_arena_release(f->context, rings[--got], f->context->config.ring_size);
    free(rings);
}

/* Offset in the heap of memory that a worker allocates on a NUMA node. */
static size_t heap_offset(fixture *f, tern_worker *worker, int numa) {
    tern_ptr p = TERN_NULL;
    EXPECT_OK(tern_alloc_on(worker, f->rank, numa, 4096, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT_OK(tern_free(worker, p));
    return (size_t)(p.offset - TERN_PTR_ORIGIN);
}

static bool in_heap_part(const fixture *f, size_t offset, size_t part) {
    const tern_layout *layout = &tern_rma_of(f->context)->layout;
    return offset >= tern_segment_cut(layout, TERN_PAGE, MADE_UP, part) &&
           offset < tern_segment_cut(layout, TERN_PAGE, MADE_UP, part + 1);
}

/* Four NUMA nodes, and a process that may run on all of them. */
static void is_divided(void) {
    fixture f;
    make_up("numa:4 core:2 pu:1", false);
    const bool opened = numa_open_workers(&f, MADE_UP);
    make_up_no_more();
    if (!opened)
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    CU_ASSERT_EQUAL(info.parts, MADE_UP);
    CU_ASSERT_EQUAL(tern_worker_numa(f.worker), 0);
    for (uint32_t i = 0; i < MADE_UP; i++) {
        tern_worker *worker = f.worker;
        if (i > 0)
            EXPECT_OK(tern_worker_adopt(f.context, i, &worker));
        CU_ASSERT_EQUAL(tern_worker_numa(worker), (int)i);
        check_arena(&f, i);
        for (int numa = 0; numa < MADE_UP; numa++)
            CU_ASSERT(in_heap_part(&f, heap_offset(&f, worker, numa), (size_t)numa));
        tern_ptr p = TERN_NULL;
        EXPECT_OK(tern_alloc(worker, 4096, 0, TERN_DOMAIN_GLOBAL, &p));
        CU_ASSERT(in_heap_part(&f, (size_t)(p.offset - TERN_PTR_ORIGIN), i));
        EXPECT_OK(tern_free(worker, p));
        /* All parts together are still one heap. */
        EXPECT_OK(tern_alloc(worker, info.bytes, 0, TERN_DOMAIN_GLOBAL, &p));
        EXPECT_OK(tern_free(worker, p));
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_alloc_on(worker, f.rank, MADE_UP, 64, 0, TERN_DOMAIN_GLOBAL, &p));
        EXPECT(TERN_ERR_MEMORY,
               tern_alloc_on(worker, f.rank, 0, info.bytes / 2, 0, TERN_DOMAIN_GLOBAL, &p));
        if (i > 0)
            EXPECT_OK(tern_worker_release(worker));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* Between the two, standard error goes to a file. */
static int divert_errors(FILE *file) {
    fflush(stderr);
    const int before = dup(STDERR_FILENO);
    CU_ASSERT(dup2(fileno(file), STDERR_FILENO) >= 0);
    return before;
}

static void restore_errors(int before) {
    fflush(stderr);
    CU_ASSERT(dup2(before, STDERR_FILENO) >= 0);
    close(before);
}

/* Lines of a file that contain text. */
static int count_lines(FILE *file, const char *text) {
    char line[512];
    int count = 0;
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, text) != NULL;
    return count;
}

/* Processors 0 and 1 of this machine, said to be on two NUMA nodes. If it has one, nothing can be
 * bound to the other. That is a warning of the process, and everything works. */
static void failure_is_a_warning(void) {
    int real = 0;
    (void)numa_kernel_number(0, &real);
    const cpu_set_t usable = numa_usable_processors();
    const bool both = CPU_ISSET(0, &usable) && CPU_ISSET(1, &usable);
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const int before = divert_errors(file);
    make_up("numa:2 core:1 pu:1", true);
    for (int times = 0; times < 2; times++) {
        fixture f;
        if (!numa_open_workers(&f, WORKERS))
            break;
        const tern_placement *placement = &tern_rma_of(f.context)->placement;
        if (both)
            CU_ASSERT_EQUAL(placement->nodes, 2);
        for (size_t i = 0; i < placement->nodes; i++) {
            tern_ptr p = TERN_NULL;
            if (EXPECT_OK(tern_alloc_on(f.worker, f.rank, placement->node[i], 4096, 0,
                                        TERN_DOMAIN_GLOBAL, &p))) {
                memset(tern_local(f.context, p), 1, 4096);
                EXPECT_OK(tern_free(f.worker, p));
            }
            EXPECT_OK(tern_worker_release(f.worker));
            numa_run_on(placement, placement->node[i]);
            EXPECT_OK(tern_worker_adopt(f.context, 0, &f.worker));
            CU_ASSERT_EQUAL(tern_worker_numa(f.worker), placement->node[i]);
        }
        EXPECT_OK(tern_barrier(f.worker));
        fixture_close(&f);
        numa_run_anywhere(&usable);
    }
    make_up_no_more();
    restore_errors(before);
    const int warnings = count_lines(file, "could not be bound to NUMA node");
    if (both)
        CU_ASSERT_EQUAL(warnings, real < 2);
    CU_ASSERT(warnings <= 1);
    fclose(file);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"is divided", is_divided},
                                           {"failure is a warning", failure_is_a_warning}};
    return tern_test_main(argc, argv, "placement", tests, sizeof tests / sizeof tests[0]);
}
