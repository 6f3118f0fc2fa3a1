#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/region/cma.h"
#include "rma/region/region.h"
#include "rma/reply/owner_service.h"
#include "rma/rows/rows.h"

/*
 * Copies rows by load and store. The innermost dimension is one loop, whose body is a constant copy
 * for the usual sizes of elements.
 *
 * Hot path: no system call, no allocation, no lock and no MPI. Guarded by `tern-bench strided`.
 */

typedef struct row_loop {
    char *to;
    const char *from;
    uint64_t count;
    int64_t to_stride, from_stride;
} row_loop;

/* The compiler makes a loop of its own for each constant size, and for each side without gaps. */
static inline __attribute__((always_inline)) void
copy_elements(const row_loop *loop, size_t bytes, int64_t to_stride, int64_t from_stride) {
    char *restrict to = loop->to;
    const char *restrict from = loop->from;
    for (uint64_t i = 0; i < loop->count; i++, to += to_stride, from += from_stride)
        memcpy(to, from, bytes);
}

static inline __attribute__((always_inline)) void copy_rows(const row_loop *loop, size_t bytes) {
    const int64_t dense = (int64_t)bytes;
    if (loop->to_stride == dense)
        copy_elements(loop, bytes, dense, loop->from_stride);
    else if (loop->from_stride == dense)
        copy_elements(loop, bytes, loop->to_stride, dense);
    else
        copy_elements(loop, bytes, loop->to_stride, loop->from_stride);
}

static void copy_loop(const row_loop *loop, size_t bytes) {
    switch (bytes) {
    case 1:
        copy_rows(loop, 1);
        break;
    case 2:
        copy_rows(loop, 2);
        break;
    case 4:
        copy_rows(loop, 4);
        break;
    case 8:
        copy_rows(loop, 8);
        break;
    case 16:
        copy_rows(loop, 16);
        break;
    default:
        copy_elements(loop, bytes, loop->to_stride, loop->from_stride);
    }
}

/* Copies a section. there: the address of its first row in the mapped segment. */
static void copy_section(const tern_rows *rows, char *there) {
    const tern_rows_dimension *inner = &rows->dimension[0];
    char *here = rows->local;
    uint64_t index[TERN_DIMENSIONS_MAX] = {0};
    for (;;) {
        const row_loop loop = {.to = rows->is_get ? here : there,
                               .from = rows->is_get ? there : here,
                               .count = inner->count,
                               .to_stride = rows->is_get ? inner->local : inner->remote,
                               .from_stride = rows->is_get ? inner->remote : inner->local};
        copy_loop(&loop, rows->row_bytes);
        uint32_t d = 1;
        for (; d < rows->dimensions; d++) {
            const tern_rows_dimension *dimension = &rows->dimension[d];
            there += dimension->remote;
            here += dimension->local;
            if (++index[d] < dimension->count)
                break;
            index[d] = 0;
            there -= (int64_t)dimension->count * dimension->remote;
            here -= (int64_t)dimension->count * dimension->local;
        }
        if (d >= rows->dimensions)
            return;
    }
}

/* Copies what lies in a region: row after row. */
static tern_status copy_in_region(tern_worker *worker, const tern_rows *row, bool by_system) {
    const tern_direction direction = row->is_get ? TERN_GET_FROM : TERN_PUT_INTO;
    return by_system ? tern_cma_copy_by_system(worker, row->rank, row->offset, row->local,
                                               row->row_bytes, direction)
                     : tern_cma_copy(worker, row->rank, row->offset, row->local, row->row_bytes,
                                     direction);
}

tern_status tern_rows_copy(tern_worker *worker, const tern_rows *rows, bool by_system) {
    char *segment = tern_rma_of(worker->context)->segment[rows->rank].base;
    tern_status status = TERN_OK;
    if (rows->bytes > 0 && rows->extents == NULL && rows->dimensions > 0 && !rows->in_regions) {
        copy_section(rows, segment + rows->offset);
        return TERN_OK;
    }
    for (tern_rows row = *rows; row.left > 0 && status == TERN_OK;
         tern_rows_take(&row, row.row_bytes)) {
        if (tern_offset_in_region(row.offset))
            status = copy_in_region(worker, &row, by_system);
        else if (rows->is_get)
            tern_internal_copy(row.local, segment + row.offset, row.row_bytes);
        else
            tern_internal_copy(segment + row.offset, row.local, row.row_bytes);
    }
    return status;
}
