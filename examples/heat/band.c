#include "band.h"

/* The start: a cold plate with a hot upper edge and a warm block. The cells at the edges keep their
 * values. */
static double initial(const band *b, size_t row, size_t column) {
    if (row == 0)
        return 100;
    bool warm = row > b->all_rows / 2 && row < b->all_rows * 3 / 4 && column > b->columns / 4 &&
                column < b->columns / 2;
    return warm ? 50 : 0;
}

size_t band_first_row(size_t rows, uint32_t rank, uint32_t size) { return rows * rank / size; }

void band_create(tern_worker *worker, size_t rows, size_t columns, band *b) {
    tern_context *context = tern_worker_context(worker);
    uint32_t rank = tern_context_rank(context), size = tern_context_size(context);
    *b = (band){.worker = worker,
                .rank = rank,
                .size = size,
                .first = band_first_row(rows, rank, size),
                .all_rows = rows,
                .columns = columns,
                .has = {rank > 0, rank + 1 < size},
                .neighbour = {{rank - 1, 0}, {rank + 1, 0}}};
    b->rows = band_first_row(rows, rank + 1, size) - b->first;
    for (int state = 0; state < 2; state++) {
        check(tern_alloc(worker, b->rows * row_bytes(b), 0, TERN_DOMAIN_GLOBAL, &b->place[state]));
        b->cells[state] = tern_local(context, b->place[state]);
        for (size_t r = 0; r < b->rows; r++)
            for (size_t c = 0; c < columns; c++)
                row_of(b, state, r)[c] = initial(b, b->first + r, c);
    }
}

/* The sum for a cell is the same on whichever rank it lies. */
void compute_row(const band *b, size_t step, size_t row) {
    int now = state_before(step);
    size_t whole = b->first + row;
    if (whole == 0 || whole + 1 == b->all_rows)
        return; /* a cell at the edge keeps its value */
    bool is_first = row == 0, is_last = row + 1 == b->rows;
    const double *above = is_first ? b->halo[ABOVE][now] : row_of(b, now, row - 1);
    const double *below = is_last ? b->halo[BELOW][now] : row_of(b, now, row + 1);
    const double *at = row_of(b, now, row);
    double *to = row_of(b, 1 - now, row);
    for (size_t c = 1; c + 1 < b->columns; c++)
        to[c] = at[c] + 0.2 * ((above[c] + below[c]) + (at[c - 1] + at[c + 1]) - 4 * at[c]);
}
