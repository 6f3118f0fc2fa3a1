/*
 * What the suites of calls share: rings of a chosen size, and a function that checks the order, the
 * number and the content of the calls that arrive from each rank.
 */

#ifndef TERN_TESTS_HARNESS_CALL_TOOLS_H
#define TERN_TESTS_HARNESS_CALL_TOOLS_H

#include <sched.h>
#include <stdlib.h>

#include "fixture.h"

enum { RANKS = 64 };

static inline tern_worker_id to(uint32_t rank) { return (tern_worker_id){rank, 0}; }

static inline bool open_with_rings(fixture *f, size_t ring_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    config.ring_growth = 1;
    return fixture_open(f, &config);
}

/* A barrier in which this rank waits in MPI alone and makes no progress of tern's. */
static inline void meet_without_progress(void) {
    MPI_Request request;
    tern_mpi_lock();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    tern_mpi_unlock();
    for (int done = 0; !done; sched_yield()) {
        tern_mpi_lock();
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        tern_mpi_unlock();
    }
}

/* Numbered arguments of any size, whose content follows from origin, number and size. */
typedef struct {
    uint64_t number;
    uint64_t bytes;
} stamp;

static struct {
    uint64_t next[RANKS]; /* by origin */
    uint64_t wrong, from_elsewhere;
} arrived;

static unsigned char content(uint32_t origin, const stamp *s, size_t i) {
    return (unsigned char)(origin * 17 + s->number * 31 + s->bytes * 7 + i * 13);
}

static inline size_t compose(unsigned char *arguments, uint32_t origin, uint64_t number,
                             size_t bytes) {
    stamp s = {number, bytes};
    memcpy(arguments, &s, sizeof s);
    for (size_t i = sizeof s; i < bytes; i++)
        arguments[i] = content(origin, &s, i);
    return bytes;
}

static tern_status receive(tern_call_info *call, const void *arguments, size_t bytes) {
    const unsigned char *at = arguments;
    uint32_t origin = call->origin.rank;
    stamp s;
    memcpy(&s, arguments, sizeof s);
    arrived.wrong += (uintptr_t)arguments % 8 != 0 || bytes != s.bytes;
    arrived.wrong += s.number != arrived.next[origin]++;
    arrived.wrong += call->result_bytes != 0 || (uintptr_t)call->result % 8 != 0;
    for (size_t i = sizeof s; i < bytes; i++)
        arrived.wrong += at[i] != content(origin, &s, i);
    return TERN_OK;
}
TERN_FUNCTION(receive)

/* Expects that all calls have arrived, in order. Collective, after a quiesce. sent: calls to each
 * rank. */
static inline void expect_all_arrived(fixture *f, const uint64_t *sent) {
    uint64_t *all = calloc((size_t)f->size * RANKS, sizeof *all);
    fixture_share(f, sent, RANKS * sizeof *sent, all);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    for (uint32_t r = 0; r < f->size; r++)
        CU_ASSERT_EQUAL(arrived.next[r], all[r * RANKS + f->rank]);
    free(all);
}

static uint64_t count_empty;

static tern_status receive_nothing(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    count_empty += bytes == 0;
    return TERN_OK;
}
TERN_FUNCTION(receive_nothing)

#endif
