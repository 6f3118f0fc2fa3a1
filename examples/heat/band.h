#ifndef HEAT_BAND_H
#define HEAT_BAND_H

/*
 * A band: the rows of the plate that one rank has, in its segment. There are two states of these
 * rows, before and after a step. A step writes the state that the step before it read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tern/tern.h>

enum { ABOVE, BELOW, SIDES };

typedef struct {
    tern_worker *worker;
    uint32_t rank, size;
    size_t first, rows;           /* rows of the plate that are in this band */
    size_t all_rows, columns;     /* of the whole plate */
    tern_ptr place[2];            /* address of each state */
    double *cells[2];             /* the same for load and store */
    const double *halo[SIDES][2]; /* by state: the neighbour's row next to this band (halo.h) */
    bool has[SIDES];              /* whether there is a neighbour */
    tern_worker_id neighbour[SIDES];
    struct halo_state *halo_state; /* of the way that is used */
} band;

/* [out] b: this rank's share of a plate in its initial state, still without halo rows. */
void band_create(tern_worker *worker, size_t rows, size_t columns, band *b);

/* The first row of a rank's band; for rank `size`, the number of rows. */
size_t band_first_row(size_t rows, uint32_t rank, uint32_t size);

/* The state that a step reads. It writes the other one. */
static inline int state_before(size_t step) { return (int)(step % 2); }

static inline size_t row_bytes(const band *b) { return b->columns * sizeof(double); }

static inline double *row_of(const band *b, int state, size_t row) {
    return b->cells[state] + row * b->columns;
}

/* The row that the neighbour on that side needs. */
static inline const double *outer_row(const band *b, int state, int side) {
    return row_of(b, state, side == ABOVE ? 0 : b->rows - 1);
}

/* One row of the next state. The first and the last one need the halo. */
void compute_row(const band *b, size_t step, size_t row);

/* If one rank cannot go on, no rank can: prints the reason and ends the job. */
static inline void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "heat: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* result.c: what the plate holds in the end. */

/* Collective. Returns a sum over the bits and the places of all cells: equal sums mean equal
 * plates. */
uint64_t result_checksum(const band *b, int state);

/* Collective. Rank 0 writes the whole plate to path. Returns whether it succeeded. */
bool result_write(const band *b, int state, const char *path);

#endif
