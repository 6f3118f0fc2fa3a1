/*
 * What the suites of libtern_pmpi have in common: the ranks take turns to be late to a call of MPI,
 * because they work on the parts of those that wait in it by call. Without libtern_pmpi none of
 * these tests would end.
 */

#ifndef TERN_TESTS_PMPI_TOOLS_H
#define TERN_TESTS_PMPI_TOOLS_H

#include "src/context.h"
#include "table_tools.h"

enum { MOST = 64 };

static tern_hashtable *table;
static int rank, size, next, last; /* in the context; next and last in a ring of the ranks */

static inline bool open_beside(fixture *f, const tern_config *config) {
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    if (!fixture_open(f, config))
        return false;
    CU_ASSERT(f->context->pmpi);
    rank = (int)f->rank;
    size = (int)f->size;
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    return EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
}

static inline void close_beside(fixture *f) {
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    fixture_close(f);
}

/* Has every other rank run some calls, which needs its progress. */
static inline void come_late(fixture *f) {
    for (uint32_t r = 0; r < f->size; r++) {
        for (uint64_t i = 0, key = f->rank * 1000; r != f->rank && i < 3; i++, key++) {
            uint64_t value = 0;
            key = number_owned_by(table, r, key);
            EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, &key, TERN_BY_CALL, NULL));
            EXPECT_OK(tern_hashtable_find(f->worker, table, &key, TERN_BY_CALL, &value));
            CU_ASSERT_EQUAL(value, key);
        }
    }
}

/* All ranks make the call; each is late to it once. */
static inline void all_late_to(fixture *f, void (*call)(MPI_Comm comm)) {
    for (int late = 0; late < size; late++) {
        if (rank == late)
            come_late(f);
        call(f->comm);
    }
}

#endif
