/*
 * A rank dies whose registered memory others use, and that uses theirs. Each test is a run of its
 * own (CMakeLists.txt).
 */

#include "survivors.h"

enum { BYTES = 1 << 20 };

static fixture f;

static unsigned char *shared, *own; /* registered: used by the victim too, and by the living only */

static void register_and_tell(unsigned char *memory, tern_ptr *all) {
    tern_ptr mine = TERN_NULL;
    EXPECT_OK(tern_register(f.worker, memory, BYTES, &mine));
    fixture_share(&f, &mine, sizeof mine, all);
}

static tern_status use(tern_ptr p) {
    unsigned char byte = 9;
    tern_status status = tern_put(f.worker, p, &byte, 1);
    if (status == TERN_OK)
        status = tern_flush(f.worker, p.rank);
    return status == TERN_OK ? tern_get(f.worker, &byte, p, 1) : status;
}

/* Every rank has used every rank's shared memory; the living each other's own. */
static bool open_regions(uint32_t *victim, tern_ptr *theirs, tern_ptr *mine) {
    *victim = (uint32_t)tern_test_size() - 1;
    if (!survivors_open(&f, *victim))
        return false;
    tern_ptr *all = calloc(f.size, sizeof *all);
    shared = calloc(2, BYTES);
    own = shared + BYTES;
    register_and_tell(shared, all);
    for (uint32_t r = 0; r < f.size; r++)
        EXPECT_OK(use(all[r]));
    *theirs = all[*victim];
    mine[0] = all[f.rank];
    register_and_tell(own, all);
    for (uint32_t r = 0; r < f.size && f.rank != *victim; r++)
        if (r != *victim)
            EXPECT_OK(use(all[r]));
    mine[1] = all[f.rank];
    free(all);
    EXPECT_OK(tern_barrier(f.worker));
    return true;
}

static void close_regions(void) {
    survivors_close(&f);
    free(shared);
}

/* What the dead have used stays registered, however often it is tried; all else can end. */
static void end_regions(uint32_t victim, const tern_ptr *mine) {
    meet_survivors(&f);
    start_clock();
    TOLD(victim, tern_deregister(f.worker, mine[0]));
    CU_ASSERT_PTR_EQUAL(tern_local(f.context, mine[0]), shared);
    meet_survivors(&f);
    EXPECT_OK(tern_deregister(f.worker, mine[1]));
    TOLD(victim, tern_deregister(f.worker, mine[0]));
    close_regions();
}

static void of_the_dead(void) {
    uint32_t victim;
    tern_ptr theirs, mine[2];
    if (!open_regions(&victim, &theirs, mine))
        return;
    if (f.rank == victim)
        die_later();
    start_clock();
    tern_status status = TERN_OK;
    while (status == TERN_OK && still_patient())
        status = use(theirs);
    TOLD(victim, status);
    uint64_t word = 5;
    while ((status = tern_put_notify(f.worker, (tern_worker_id){victim, 0}, theirs, &word, 8,
                                     &(tern_notify_options){.local_cid = 1,
                                                            .cid = "cid",
                                                            .cid_bytes = 3,
                                                            .flags = TERN_NOTIFY_NO_LOCAL})) !=
               TERN_ERR_PEER &&
           still_patient())
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN);
    TOLD(victim, status);
    end_regions(victim, mine);
}

/* It had asked for more than goes without its help: the answers are on their way for ever. */
static void held_by_the_dead(void) {
    uint32_t victim;
    tern_ptr theirs, mine[2];
    if (!open_regions(&victim, &theirs, mine))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_share(&f, &mine[0], sizeof mine[0], all);
    static tern_request request[64];
    if (f.rank == victim) {
        for (uint32_t r = 0; r < victim; r++)
            EXPECT_OK(tern_get_start(f.worker, shared, all[r], BYTES, &request[r]));
        die_later();
    }
    start_clock();
    for (double end = MPI_Wtime() + 1; MPI_Wtime() < end; sched_yield())
        tern_progress(f.worker);
    end_regions(victim, mine);
    free(all);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"of_the_dead", of_the_dead},
                                           {"held_by_the_dead", held_by_the_dead}};
    return tern_test_main(argc, argv, "regions", tests, sizeof tests / sizeof tests[0]);
}
