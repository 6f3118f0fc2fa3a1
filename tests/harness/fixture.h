/*
 * What the suites that use tern have in common: a context over all ranks with its first worker, and
 * assertions that say which call returned what.
 */

#ifndef TERN_TESTS_HARNESS_FIXTURE_H
#define TERN_TESTS_HARNESS_FIXTURE_H

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "harness.h"
#include "tern/tern.h"

static inline bool tern_expect(tern_status got, tern_status wanted, const char *call, unsigned line,
                               const char *file) {
    char text[600] = "";
    if (got != wanted)
        snprintf(text, sizeof text, "%.160s gave '%s' (%.200s), not '%s'", call, tern_strerror(got),
                 got == TERN_OK ? "" : tern_error_detail(), tern_strerror(wanted));
    CU_assertImplementation(got == wanted, line, text, file, "", CU_FALSE);
    return got == wanted;
}

static inline bool tern_expect_detail(const char *part, unsigned line, const char *file) {
    char text[600] = "";
    bool there = strstr(tern_error_detail(), part) != NULL;
    if (!there)
        snprintf(text, sizeof text, "the detail '%.400s' does not mention '%.100s'",
                 tern_error_detail(), part);
    CU_assertImplementation(there, line, text, file, "", CU_FALSE);
    return there;
}

/* Expects TERN_OK and no detail: a success leaves no detail, even if tern has recovered from a
 * failure on the way. */
static inline bool tern_expect_ok(tern_status got, const char *call, unsigned line,
                                  const char *file) {
    char text[600] = "";
    const bool quiet = got != TERN_OK || tern_error_detail()[0] == 0;
    if (!quiet)
        snprintf(text, sizeof text, "%.160s succeeded and left the detail '%.300s'", call,
                 tern_error_detail());
    CU_assertImplementation(quiet, line, text, file, "", CU_FALSE);
    return tern_expect(got, TERN_OK, call, line, file);
}

/* Each is true if the call returned that status. */
#define EXPECT(status, call) tern_expect(call, status, #call, __LINE__, __FILE__)
#define EXPECT_OK(call) (tern_error_clear(), tern_expect_ok(call, #call, __LINE__, __FILE__))
/* Expects that the detail of the last failure contains part. */
#define EXPECT_DETAIL(part) tern_expect_detail(part, __LINE__, __FILE__)

/* Returns a path of operations of containers (tern/container.h); successive numbers give the paths
 * in turn. */
static inline tern_flags fixture_path(uint64_t number) {
    static const tern_flags paths[] = {TERN_BY_RMA, TERN_BY_CALL, TERN_AUTO};
    return paths[number % 3];
}

typedef struct fixture {
    tern_context *context;
    tern_worker *worker;
    MPI_Comm comm;
    uint32_t rank, size;
    bool stays; /* until all tests are over */
} fixture;

/* The context that tests of the program share (fixture_enter). */
static fixture fixture_shared;

/* Creates a context. Collective over comm. config NULL: small segments, all else by default. */
static inline bool fixture_open_on(fixture *f, MPI_Comm comm, const tern_config *config) {
    tern_config usual;
    memset(f, 0, sizeof *f);
    f->comm = comm;
    if (config == NULL) {
        if (!EXPECT_OK(tern_config_init(&usual)))
            return false;
        usual.segment_size = (size_t)16 << 20;
        config = &usual;
    }
    if (!EXPECT_OK(tern_context_create(comm, config, &f->context)))
        return false;
    f->rank = tern_context_rank(f->context);
    f->size = tern_context_size(f->context);
    return EXPECT_OK(tern_worker_adopt(f->context, 0, &f->worker));
}

static inline void fixture_end_shared(void) {
    if (fixture_shared.context == NULL)
        return;
    EXPECT_OK(tern_worker_release(fixture_shared.worker));
    EXPECT_OK(tern_context_destroy(fixture_shared.context));
    fixture_shared.context = NULL;
}

/* Collective: creates a context of the test's own. */
static inline bool fixture_open(fixture *f, const tern_config *config) {
    fixture_end_shared();
    return fixture_open_on(f, MPI_COMM_WORLD, config);
}

/* Collective: gives the test the context that the program's tests share, with small segments and
 * all else by default. Over a network it takes longer to create a context than most tests take. */
static inline bool fixture_enter(fixture *f) {
    if (fixture_shared.context == NULL) {
        if (!fixture_open_on(&fixture_shared, MPI_COMM_WORLD, NULL))
            return false;
        fixture_shared.stays = true;
        tern_test_after(fixture_end_shared);
    }
    *f = fixture_shared;
    return true;
}

static inline void fixture_close(fixture *f) {
    if (f->stays) {
        EXPECT_OK(tern_barrier(f->worker));
        return;
    }
    EXPECT_OK(tern_worker_release(f->worker));
    EXPECT_OK(tern_context_destroy(f->context));
}

/* Collective, with --survivors: rank victim dies after all ranks have come. It serves nobody from
 * the barrier on, and may still be alive when the others go on. */
static inline void fixture_lose(fixture *f, uint32_t victim) {
    EXPECT_OK(tern_barrier(f->worker));
    if (f->rank == victim)
        tern_test_kill((int)victim);
    while (!tern_test_dead((int)victim)) {
        tern_progress(f->worker);
        sched_yield();
    }
}

/* Collective over the living, with --survivors: serves the others until all have come. */
static inline void fixture_meet_living(fixture *f) {
    tern_test_arrive();
    while (!tern_test_all_arrived()) {
        tern_progress(f->worker);
        sched_yield();
    }
}

/* Collective: gathers bytes from every rank into all. It begins with a barrier, after which nobody
 * needs this rank's progress while it waits in MPI. */
static inline void fixture_share(fixture *f, const void *mine, size_t bytes, void *all) {
    EXPECT_OK(tern_barrier(f->worker));
    tern_mpi_lock();
    MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, f->comm);
    tern_mpi_unlock();
}

/* Collective: allocates bytes in every rank's segment. [out] all: the global addresses, by rank. */
static inline void fixture_alloc_all(fixture *f, size_t bytes, tern_domain domain, tern_ptr *all) {
    tern_ptr mine = TERN_NULL;
    EXPECT_OK(tern_alloc(f->worker, bytes, 0, domain, &mine));
    if (!tern_ptr_is_null(mine))
        memset(tern_local(f->context, mine), 0, bytes);
    fixture_share(f, &mine, sizeof mine, all);
}

/* Collective: frees this memory when no rank uses it any more. */
static inline void fixture_free_all(fixture *f, const tern_ptr *all) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_free(f->worker, all[f->rank]));
}

/* Whether every rank is reached by load and store. */
static inline bool fixture_all_direct(const fixture *f) {
    for (uint32_t r = 0; r < f->size; r++) {
        tern_transport transport = TERN_P2P;
        if (tern_context_transport(f->context, r, &transport) != TERN_OK || transport != TERN_SHM)
            return false;
    }
    return true;
}

/* Whether some rank is reached over MPI's RMA. */
static inline bool fixture_uses_rma(const fixture *f) {
    for (uint32_t r = 0; r < f->size; r++) {
        tern_transport transport = TERN_SHM;
        if (tern_context_transport(f->context, r, &transport) != TERN_OK || transport == TERN_RMA)
            return true;
    }
    return false;
}

/* Returns how often to do something that is done shm times over shm, where it costs next to
 * nothing: less often where ranks talk through MPI, and least where they also share processors. The
 * same on every rank. */
static inline int fixture_times(const fixture *f, int shm) {
    int times = shm;
    if (tern_context_config(f->context)->transport != TERN_TRANSPORT_AUTO || !fixture_all_direct(f))
        times = f->size <= 2 ? shm / 20 : shm / 50;
    else if (f->size > 2)
        times = shm / 4;
    if (tern_test_full())
        times *= 10;
    return times > 4 ? times : 4;
}

/* Returns a random number below limit. */
static inline uint64_t below(uint64_t *state, uint64_t limit) {
    return tern_test_random(state) % limit;
}

/* Returns the state of a random generator of this rank's own. */
static inline uint64_t fixture_seed(const fixture *f, uint64_t salt) {
    return tern_test_seed() * 1000003 + f->rank * 7919 + salt;
}

/* Whole files, for tests that damage them. */

/* Reads a file. Returns how many bytes it has read, at most room. */
static inline size_t file_slurp(const char *path, char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const size_t got = fread(bytes, 1, room, file);
    fclose(file);
    return got;
}

static inline void file_spill(const char *path, const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, count, file), count);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

#endif
