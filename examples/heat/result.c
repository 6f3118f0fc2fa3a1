#include "band.h"

#include <string.h>

uint64_t result_checksum(const band *b, int state) {
    uint64_t sum = 0;
    for (size_t r = 0; r < b->rows; r++) {
        for (size_t c = 0; c < b->columns; c++) {
            uint64_t bits, place = (b->first + r) * b->columns + c;
            memcpy(&bits, &row_of(b, state, r)[c], sizeof bits);
            bits = (bits ^ place * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
            sum += bits ^ bits >> 32;
        }
    }
    check(tern_team_allreduce(b->worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &sum, 1));
    return sum;
}

/* Rank 0 gets all bands, row by row. */
bool result_write(const band *b, int state, const char *path) {
    FILE *file = b->rank == 0 ? fopen(path, "wb") : NULL;
    double *row = malloc(row_bytes(b));
    bool good = row != NULL && (b->rank != 0 || file != NULL);
    for (uint32_t r = 0; r < b->size; r++) {
        tern_ptr from = b->place[state];
        check(tern_team_broadcast(b->worker, NULL, r, &from, sizeof from));
        size_t rows =
            band_first_row(b->all_rows, r + 1, b->size) - band_first_row(b->all_rows, r, b->size);
        for (size_t i = 0; b->rank == 0 && good && i < rows; i++) {
            check(tern_get(b->worker, row, tern_ptr_add(from, (int64_t)(i * row_bytes(b))),
                           row_bytes(b)));
            good = fwrite(row, row_bytes(b), 1, file) == 1;
        }
    }
    free(row);
    if (file != NULL && fclose(file) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "heat: cannot write %s\n", path);
    check(tern_barrier(b->worker)); /* no rank leaves while rank 0 reads */
    return good;
}
