// tern-test: ranks
/* On which NUMA nodes memory lies, as the kernel says of this machine, which may have one node.
 * tests/lab/numa.sh has two. */

#include <pthread.h>
#include <stdlib.h>

#include "numa_pages.h"

enum { WORKERS = 2 };

/* A thread with worker 1 of its own. */
typedef struct crew {
    fixture *f;
    int runs_on, said;
} crew;

static void *crew_work(void *argument) {
    crew *c = argument;
    tern_worker *worker = NULL;
    numa_run_on(&tern_rma_of(c->f->context)->placement, c->runs_on);
    EXPECT_OK(tern_worker_adopt(c->f->context, 1, &worker));
    c->said = tern_worker_numa(worker);
    EXPECT_OK(tern_worker_release(worker));
    return NULL;
}

static void expect_on(const char *what, const void *memory, int numa) {
    char text[100];
    (void)*(const volatile char *)memory; /* the kernel says nothing of pages not mapped here */
    const int lies = numa_of_page(memory), wanted = numa_kernel_number(numa, NULL);
    snprintf(text, sizeof text, "%s: on NUMA node %d, not on %d", what, lies, wanted);
    CU_assertImplementation(lies == wanted, __LINE__, text, __FILE__, "", CU_FALSE);
}

/* A worker's own memory, and that of all rings into it, which their origins have touched first. */
static void check_worker(const fixture *f, uint32_t index, int numa) {
    tern_rma *rma = tern_rma_of(f->context);
    char *worker_page = tern_worker_page(f->context, f->rank * WORKERS + index);
    expect_on("a worker page", worker_page, numa);
    expect_on("reply cells", worker_page + rma->layout.cells, numa);
    const tern_worker *worker = f->context->worker[index];
    expect_on("a worker's tables", tern_rma_worker_of(worker), numa);
    _Atomic uint64_t *table = (void *)(worker_page + rma->layout.table);
    for (uint32_t r = 0; r < f->size; r++) {
        const uint64_t ring =
            atomic_load(&table[tern_endpoint_of(f->context, TERN_CHANNEL_NOTIFY, r * WORKERS)]);
        CU_ASSERT(ring > 0);
        if (ring == 0)
            continue;
        expect_on("a ring", tern_ring_data_at(f->context, f->rank, (uint32_t)ring - 1), numa);
        expect_on("the header of a ring",
                  tern_ring_header_at(f->context, f->rank, (uint32_t)ring - 1), numa);
    }
}

/* Each worker's things lie where its thread runs, which is not where they were expected. */
static void follows_its_thread(void) {
    fixture f;
    const cpu_set_t usable = numa_usable_processors();
    if (!numa_open_workers(&f, WORKERS))
        return;
    const tern_placement *placement = &tern_rma_of(f.context)->placement;
    EXPECT_OK(tern_worker_release(f.worker));
    const int first = placement->node[tern_placement_guess(placement, 1)];
    crew c = {&f, placement->node[tern_placement_guess(placement, 0)], -1};
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, crew_work, &c), 0);
    pthread_join(thread, NULL);
    numa_run_on(placement, first);
    EXPECT_OK(tern_worker_adopt(f.context, 0, &f.worker));
    CU_ASSERT_EQUAL(tern_worker_numa(f.worker), first);
    CU_ASSERT_EQUAL(c.said, c.runs_on);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++)
        for (uint32_t i = 0; i < WORKERS; i++) {
            uint64_t word = 1;
            EXPECT_OK(tern_put_notify(
                f.worker, (tern_worker_id){r, i}, TERN_NULL, NULL, 0,
                &(tern_notify_options){.local_cid = word, .cid = &word, .cid_bytes = 8}));
        }
    EXPECT_OK(tern_barrier(f.worker));
    if (numa_of_page(tern_rma_of(f.context)->mine) == INT_MIN) {
        tern_test_lack("the kernel does not say where pages lie");
    } else {
        check_worker(&f, 0, first);
        check_worker(&f, 1, c.runs_on);
    }
    if (f.rank == 0)
        printf("[worker 0 on NUMA node %d, worker 1 on %d, of %zu] ", first, c.runs_on,
               placement->nodes);
    fixture_close(&f);
    numa_run_anywhere(&usable);
}

/* In every rank, on every NUMA node that it has; other ranks touch it first. */
static void allocates_on_every_node(void) {
    fixture f;
    if (!numa_open_workers(&f, 1))
        return;
    const tern_placement *mine = &tern_rma_of(f.context)->placement;
    tern_placement *all = calloc(f.size, sizeof *all);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    fixture_share(&f, mine, sizeof *all, all);
    const bool says = numa_of_page(tern_rma_of(f.context)->mine) != INT_MIN;
    for (uint32_t r = 0; r < f.size; r++) {
        tern_ptr p = TERN_NULL;
        for (size_t i = 0; i < all[r].nodes; i++) {
            if (!EXPECT_OK(tern_alloc_on(f.worker, r, all[r].node[i], 3 * TERN_PAGE, 0,
                                         TERN_DOMAIN_GLOBAL, &p)))
                continue;
            char *memory = tern_local(f.context, p);
            memset(memory, 1, 3 * TERN_PAGE);
            if (says)
                expect_on("an allocation", memory + TERN_PAGE, all[r].node[i]);
            EXPECT_OK(tern_free(f.worker, p));
        }
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_alloc_on(f.worker, r, 1000, 64, 0, TERN_DOMAIN_GLOBAL, &p));
        EXPECT_DETAIL("NUMA node 1000");
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        printf("[%zu NUMA nodes] ", mine->nodes);
    free(all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"follows its thread", follows_its_thread},
                                           {"allocates on every node", allocates_on_every_node}};
    return tern_test_main(argc, argv, "numa", tests, sizeof tests / sizeof tests[0]);
}
