#ifndef TERN_RMA_ROWS_ROWS_H
#define TERN_RMA_ROWS_ROWS_H

/*
 * The rows of a non-contiguous transfer (tern/strided.h). A row is a number of bytes that lie side
 * by side there and here. tern_rows names all rows of a section or of a list of extents, and the
 * position up to which they have been taken:
 *
 *     section    made simpler first: dimensions with one element are left out, those in which
 *                remote strides are negative are walked from the other end, and dimensions without
 *                gaps are joined with the one inside of them. The rest is rows of equal length,
 *                and the dimensions that lead from one row to the next.
 *     extents    each is a row.
 *
 * A worker's stack or a pending operation owns a tern_rows; one thread uses it.
 */

#include "rma/memory/transport_ops.h"
#include "src/context.h"
#include "tern/strided.h"

/* One dimension of the rows of a section. */
typedef struct tern_rows_dimension {
    uint64_t count;
    int64_t remote, local; /* strides in bytes; remote is not negative */
} tern_rows_dimension;

typedef struct tern_rows {
    uint32_t rank;
    bool is_get;
    bool in_regions; /* some rows lie in registered memory */
    uint64_t bytes;  /* of all rows; 0: no row has any */
    /* The box that holds all rows of a section; extents have none. */
    tern_ptr box;
    uint64_t box_bytes;
    /* The next row, as offset in the segment or in a region, and how much of it has been taken. */
    uint64_t offset;
    char *local;
    uint64_t row_bytes, taken;
    uint64_t left; /* rows that have not been taken wholly */
    /* Of a section. */
    uint32_t dimensions;
    tern_rows_dimension dimension[TERN_DIMENSIONS_MAX];
    uint64_t index[TERN_DIMENSIONS_MAX]; /* of the next row */
    /* Of extents, which the caller keeps; NULL: a section. extents[0] is the next row. */
    const tern_extent *extents;
    const tern_context *context;
} tern_rows;

/* Check a section, or count extents, and everything that tern can know about their memory without
 * asking another node. name: the public function. [out] rows. */
tern_status tern_rows_of_section(const tern_context *context, const char *name, tern_ptr remote,
                                 const void *local, const tern_section *section, bool is_get,
                                 tern_rows *rows);
tern_status tern_rows_of_extents(const tern_context *context, const char *name, uint32_t rank,
                                 const tern_extent *extents, size_t count, bool is_get,
                                 tern_rows *rows);

/* Checks the rows in regions of other nodes, with the rkeys of these. Never waits. TERN_ERR_AGAIN:
 * an rkey is not known yet; TERN_ERR_RANGE. */
tern_status tern_rows_check_rkeys(tern_worker *worker, const tern_rows *rows);

/* Whether the rows are one. Then [out] remote: its address; rows->local and rows->row_bytes are the
 * rest of it. */
bool tern_rows_is_one(const tern_rows *rows, tern_ptr *remote);

/* Takes bytes of the next row, at most what is left of it. A row that was taken wholly makes way
 * for the one behind it. */
void tern_rows_take(tern_rows *rows, uint64_t bytes);

/* What is left of the next row. */
static inline uint64_t tern_rows_rest(const tern_rows *rows) {
    return rows->left == 0 ? 0 : rows->row_bytes - rows->taken;
}

/* copy.c: moves all rows to or from a rank whose segment is mapped, at once. by_system: what lies
 * in a region is copied by a system call or not at all; else with the owner's help if need be.
 * Errors: those of tern_cma_copy. */
tern_status tern_rows_copy(tern_worker *worker, const tern_rows *rows, bool by_system);

/*
 * flight.c: rows that travel to or from a rank whose segment is not mapped, some at a time.
 */

enum { TERN_ROWS_UNDER_WAY = 32 };

typedef struct tern_rows_flight {
    tern_rows rows;
    tern_status status; /* the first error */
    uint32_t first;     /* index of the oldest transfer; the others follow it, round the array */
    uint32_t under_way;
    tern_transfer transfer[TERN_ROWS_UNDER_WAY];
    tern_extent extents[]; /* a copy, if it was made by tern_rows_flight_create */
} tern_rows_flight;

/* Begins a flight in memory of the caller. The extents stay the caller's. */
void tern_rows_flight_begin(tern_rows_flight *flight, const tern_rows *rows);
/* Begins one in memory of its own, which also holds a copy of the extents; free() ends it. NULL: no
 * memory. */
tern_rows_flight *tern_rows_flight_create(const tern_rows *rows);

/* Tests what is under way and starts more. [out] done: no row is left, or an error has ended the
 * flight and nothing is under way any more. Does not wait for room where tern_put_start would not.
 * The first error, once done. */
tern_status tern_rows_flight_advance(tern_worker *worker, tern_rows_flight *flight, bool *done);

/* Gives up what is under way, as after a death. MPI may still write to the memory of gets. */
void tern_rows_flight_abandon(tern_worker *worker, tern_rows_flight *flight);

#endif
