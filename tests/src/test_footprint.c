// tern-test: ranks
/*
 * What a context takes before anybody has been met: on each node at most 64 bytes for each rank of
 * the job, and 96 for each pair of ranks of the node; in each process at most 16 KiB for each of
 * its workers. Computed for large jobs from the structures, and measured in this one, by counting
 * what the library allocates and which pages it touches (footprint.64 starts 64 ranks).
 */

#include <malloc.h>
#include <sys/mman.h>

#include "fixture.h"
#include "rma/notify/notify.h"
#include "rma/memory/state.h"
#include "rpc/state.h"
#include "src/peers/address.h"

enum { PER_RANK = 64, PER_PAIR = 96, PER_WORKER = 16 << 10, FIXED = 1 << 20, BLOCKS = 4096 };

/*
 * The library's own allocations: calls from this program, which has the library in it, and not from
 * MPI. A sanitizer has an allocator of its own; there nothing is counted.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool counting_works = false;
static size_t live_bytes(void) { return 0; }
#else
static const bool counting_works = true;

/* NOLINTBEGIN(bugprone-reserved-identifier) */
extern char __executable_start, etext;
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);
/* NOLINTEND(bugprone-reserved-identifier) */

static struct {
    atomic_flag busy;
    void *block[BLOCKS];
    size_t count;
} live = {.busy = ATOMIC_FLAG_INIT};

static void live_take(void) {
    while (atomic_flag_test_and_set(&live.busy))
        ;
}

static void *live_add(void *block, const void *caller) {
    if (block == NULL || (const char *)caller < &__executable_start ||
        (const char *)caller > &etext)
        return block;
    live_take();
    if (live.count < BLOCKS)
        live.block[live.count++] = block;
    atomic_flag_clear(&live.busy);
    return block;
}

static void live_remove(const void *block) {
    live_take();
    for (size_t i = live.count; i-- > 0;)
        if (live.block[i] == block) {
            live.block[i] = live.block[--live.count];
            break;
        }
    atomic_flag_clear(&live.busy);
}

static size_t live_bytes(void) {
    size_t sum = 0;
    for (size_t i = 0; i < live.count; i++)
        sum += malloc_usable_size(live.block[i]);
    return sum;
}

void *malloc(size_t bytes) { return live_add(__libc_malloc(bytes), __builtin_return_address(0)); }

void *calloc(size_t count, size_t bytes) {
    return live_add(__libc_calloc(count, bytes), __builtin_return_address(0));
}

void *realloc(void *block, size_t bytes) {
    live_remove(block);
    return live_add(__libc_realloc(block, bytes), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return live_add(__libc_memalign(alignment, bytes), __builtin_return_address(0));
}

void free(void *block) {
    live_remove(block);
    __libc_free(block);
}
#endif

/* Of a node with so many ranks, in a job of so many. */
static size_t node_bytes(uint32_t ranks, uint32_t of_node) {
    const size_t once = ranks * (sizeof(tern_listener_address) + 2 * sizeof(uint32_t));
    const size_t deaths = (ranks + 63) / 64 * sizeof(uint64_t);
    const size_t pairs = tern_tables_touched(of_node) + of_node * sizeof(tern_sibling);
    return once + of_node * (deaths + pairs);
}

static void computed(void) {
    static const uint32_t jobs[] = {64, 1000, 65536}, nodes[] = {1, 16, 64};
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        for (size_t k = 0; k < sizeof nodes / sizeof nodes[0]; k++)
            CU_ASSERT(node_bytes(jobs[i], nodes[k]) <=
                      jobs[i] * (size_t)PER_RANK + nodes[k] * nodes[k] * (size_t)PER_PAIR);
        /* So little of a worker page takes memory when its worker has met all others. */
        tern_layout layout;
        tern_layout_compute(&config, jobs[i], &layout);
        const size_t cells = TERN_CALL_REQUESTS * sizeof(tern_cell) + TERN_PAGE + 4 * TERN_LINE;
        CU_ASSERT(layout.worker_page_bytes <= cells + jobs[i] * (size_t)PER_RANK * 2);
    }
}

static size_t resident(const char *base, size_t bytes) {
    size_t pages = (bytes + TERN_PAGE - 1) / TERN_PAGE, count = 0;
    unsigned char *in = malloc(pages);
    CU_ASSERT_EQUAL_FATAL(mincore((void *)(uintptr_t)base, bytes, in), 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    free(in);
    return count * TERN_PAGE;
}

/* Of this process, with so many workers; the heap that it shares is empty. */
static size_t process_bytes(size_t workers) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = workers;
    const size_t before = live_bytes();
    if (!fixture_open(&f, &config))
        return 0;
    const tern_rma *rma = tern_rma_of(f.context);
    const size_t bytes = live_bytes() - before + resident(rma->table_base, rma->tables.bytes) +
                         resident(rma->mine, rma->layout.bytes);
    fixture_close(&f);
    return bytes;
}

static void measured(void) {
    enum { MORE = 8 };
    const size_t one = process_bytes(1), many = process_bytes(1 + MORE);
    CU_ASSERT(one > 0 && one <= FIXED + (size_t)tern_test_size() * PER_PAIR);
    CU_ASSERT(many > one && many - one <= (size_t)MORE * PER_WORKER);
    if (counting_works)
        CU_ASSERT(one > (size_t)64 << 10); /* something was counted */
}

static void untouched(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const tern_rma *rma = tern_rma_of(f.context);
    /* Nobody has a ring, and none has been touched. */
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.rings_opened, 0);
    CU_ASSERT_EQUAL(
        resident(rma->mine + rma->layout.arena, rma->layout.ring_count * rma->layout.ring_bytes),
        0);
    EXPECT_OK(tern_barrier(f.worker));
    /* It is no accident of counting: contact does touch them. */
    uint64_t word = 1;
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    EXPECT_OK(
        tern_put_notify(f.worker, next, TERN_NULL, NULL, 0,
                        &(tern_notify_options){.local_cid = word, .cid = &word, .cid_bytes = 8}));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(resident(rma->mine + rma->layout.arena,
                       rma->layout.ring_count * rma->layout.ring_bytes) > 0);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"computed", computed}, {"measured", measured}, {"untouched", untouched}};
    return tern_test_main(argc, argv, "footprint", tests, sizeof tests / sizeof tests[0]);
}
