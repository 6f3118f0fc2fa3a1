/*
 * A rank dies that others wait for inside MPI's one-sided operations: what MPI itself would wait
 * for without end is given up. Each test is a run of its own (CMakeLists.txt).
 */

#include "survivors.h"
#include "nothing.h"

static fixture f;
static tern_ptr theirs; /* of the victim, for atomics */

/* A setting that the environment need not have; the last rank is the victim. */
static bool open_with(const char *name, const char *value) {
    setenv(name, value, 1);
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return false;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 4096, TERN_DOMAIN_GLOBAL, all);
    theirs = all[play.victim];
    free(all);
    /* Its ring is open by then. */
    tern_worker_id to = {play.victim, 0};
    EXPECT_OK(tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
    lose_later(&f);
    return true;
}

/* Pieces of a circular buffer come free, also those put to the dead. */
static void in_posts(void) {
    if (!open_with("TERN_TRANSPORT", "rma"))
        return;
    tern_circular *c = NULL;
    tern_circular_options options = {.unit_bytes = 1024, .units = 4, .units_max = 4};
    EXPECT_OK(tern_circular_create(f.worker, &options, &c));
    char data[1000] = {0};
    tern_status status = TERN_OK;
    while (status == TERN_OK && still_patient())
        status = tern_circular_put(f.worker, c, theirs, data, sizeof data);
    TOLD(play.victim, status);
    tern_ptr mine = TERN_NULL;
    EXPECT_OK(tern_alloc(f.worker, sizeof data, 0, TERN_DOMAIN_GLOBAL, &mine));
    for (int i = 0; i < 20; i++)
        EXPECT_OK(tern_circular_put(f.worker, c, mine, data, sizeof data));
    EXPECT_OK(tern_circular_destroy(f.worker, c));
    survivors_close(&f);
}

static void in_cas(void) {
    if (!open_with("TERN_RMA_ATOMICS", "mpi"))
        return;
    tern_status status = TERN_OK;
    uint64_t seen = 0;
    while (status == TERN_OK && still_patient())
        status = tern_atomic_cas(f.worker, theirs, seen, seen + 1, &seen);
    TOLD(play.victim, status);
    TOLD(play.victim, tern_atomic_fetch_add(f.worker, theirs, 1, &seen));
    survivors_close(&f);
}

static void in_flushed_frames(void) {
    if (!open_with("TERN_RMA_COMMIT", "flush"))
        return;
    tern_worker_id to = {play.victim, 0};
    tern_status status = TERN_OK;
    while (status == TERN_OK && still_patient())
        status = tern_call(f.worker, to, &nothing_function, "some arguments", 14);
    TOLD(play.victim, status);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"in_posts", in_posts}, {"in_cas", in_cas}, {"in_flushed_frames", in_flushed_frames}};
    return tern_test_main(argc, argv, "one_sided", tests, sizeof tests / sizeof tests[0]);
}
