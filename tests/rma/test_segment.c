// tern-test: unit
/* The layout of segments (rma/memory/segment.h), and what they are made of. */

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "rma/reply/reply.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"

static tern_config defaults(void) {
    tern_config config;
    CU_ASSERT_EQUAL_FATAL(tern_config_init(&config), TERN_OK);
    return config;
}

static void check_layout(const tern_config *config, uint32_t ranks) {
    tern_layout l;
    tern_layout_compute(config, ranks, &l);
    size_t workers = ranks * config->workers;
    CU_ASSERT(l.worker_pages >= sizeof(tern_segment_header));
    CU_ASSERT(l.doorbells >= 8);
    CU_ASSERT(l.table >= l.doorbells + (workers + 63) / 64 * 8);
    CU_ASSERT(l.credits >= l.table + workers * 8);
    CU_ASSERT(l.cells >= l.credits + workers * 8);
    CU_ASSERT(l.worker_page_bytes >= l.cells + TERN_CALL_REQUESTS * sizeof(tern_cell));
    CU_ASSERT(l.rings >= l.worker_pages + config->workers * l.worker_page_bytes);
    CU_ASSERT(l.arena >= l.rings + l.ring_count * sizeof(tern_ring_header));
    CU_ASSERT(l.ring_count * l.ring_bytes <= config->ring_memory);
    CU_ASSERT(l.heap >= l.arena + l.ring_count * l.ring_bytes);
    CU_ASSERT(l.bytes >= l.heap + l.heap_bytes);
    CU_ASSERT_EQUAL(l.heap % TERN_HUGE, 0);
    CU_ASSERT_EQUAL((l.table | l.credits | l.cells | l.rings) % TERN_LINE, 0);
    CU_ASSERT_EQUAL(l.arena % TERN_PAGE, 0);
    CU_ASSERT(l.heap_bytes <= config->segment_size);
}

static void layouts(void) {
    tern_config config = defaults();
    const uint32_t ranks[] = {1, 2, 3, 64, 1000, 10000};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        config.workers = 1;
        check_layout(&config, ranks[i]);
        config.workers = 16;
        check_layout(&config, ranks[i]);
    }
    config.segment_size = 65536;
    config.ring_size = config.ring_memory = 4096;
    check_layout(&config, 3);
}

/* The heap's parts for one size of page: none empty, cut where pages end, as even as pages allow.
 */
static void check_parts(const tern_layout *l, size_t page, size_t wanted) {
    size_t pages = (l->heap + l->heap_bytes - 1) / page - l->heap / page + 1;
    size_t parts = tern_segment_parts(l, page, wanted);
    CU_ASSERT_EQUAL(parts, wanted < pages ? wanted : pages);
    CU_ASSERT_EQUAL(tern_segment_cut(l, page, parts, 0), 0);
    CU_ASSERT_EQUAL(tern_segment_cut(l, page, parts, parts), l->heap_bytes);
    for (size_t i = 0; i < parts; i++) {
        size_t from = tern_segment_cut(l, page, parts, i);
        size_t to = tern_segment_cut(l, page, parts, i + 1);
        CU_ASSERT(to > from);
        CU_ASSERT(to - from <= (pages + parts - 1) / parts * page);
        if (i > 0)
            CU_ASSERT_EQUAL((l->heap + from) % page, 0);
    }
}

static void parts_of_whole_pages(void) {
    tern_config config = defaults();
    const size_t pages[] = {TERN_PAGE, TERN_HUGE, (size_t)1 << 30};
    const size_t heaps[] = {65536,           (size_t)2 << 20, (size_t)6 << 20, (size_t)100 << 20,
                            (size_t)1 << 30, (size_t)3 << 29, (size_t)8 << 30, (size_t)129 << 30};
    for (size_t h = 0; h < sizeof heaps / sizeof heaps[0]; h++) {
        config.segment_size = heaps[h];
        tern_layout l;
        tern_layout_compute(&config, 64, &l);
        for (size_t p = 0; p < sizeof pages / sizeof pages[0]; p++)
            for (size_t wanted = 1; wanted <= 16; wanted++)
                check_parts(&l, pages[p], wanted);
    }
}

static void pages_as_asked(void) {
    const tern_huge_pages wanted[] = {TERN_HUGE_PAGES_AUTO, TERN_HUGE_PAGES_NONE,
                                      TERN_HUGE_PAGES_2M, TERN_HUGE_PAGES_1G};
    for (size_t i = 0; i < 4; i++) {
        tern_config config = defaults();
        config.huge_pages = wanted[i];
        config.segment_size = (size_t)4 << 20;
        config.ring_memory = (size_t)1 << 20;
        config.log_level = TERN_LOG_ERROR;
        fixture f;
        if (!fixture_open(&f, &config))
            continue;
        tern_segment_info info;
        tern_segment_get_info(f.context, &info);
        CU_ASSERT_EQUAL(info.bytes, config.segment_size);
        CU_ASSERT(info.page_size >= 4096);
        if (wanted[i] == TERN_HUGE_PAGES_NONE)
            CU_ASSERT_EQUAL(info.page_size, 4096);
        fixture_close(&f);
    }
}

/* A forked child has no part in the segment, and a program that it executes no descriptor. */
static void not_inherited(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_ptr p = TERN_NULL;
    EXPECT_OK(tern_alloc(f.worker, 64, 0, TERN_DOMAIN_GLOBAL, &p));
    volatile char *memory = tern_local(f.context, p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        /* Writing from memory that is not mapped is EFAULT, not a crash. */
        ssize_t written = write(ends[1], (const char *)memory, 1);
        _exit(written == 1 ? 1 : 0);
    }
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(ends[0]);
    close(ends[1]);
    CU_ASSERT_EQUAL(tern_rma_of(f.context)->fd, -1); /* nothing left to inherit */
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"layouts", layouts},
                                           {"parts of whole pages", parts_of_whole_pages},
                                           {"pages as asked", pages_as_asked},
                                           {"not inherited", not_inherited}};
    return tern_test_main(argc, argv, "segment", tests, sizeof tests / sizeof tests[0]);
}
