#include "rma/rows/rows.h"

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rma/region/rkey.h"

/* From sections and extents to rows: checks, and the way from one row to the next. */

/* The bytes from the first element of a section to its lowest and behind its highest byte. */
typedef struct section_bounds {
    int64_t low, high;
} section_bounds;

/* No address space has so many bytes. Distances up to this one cannot overflow when those of eight
 * dimensions are added, nor when a stride is taken count times. */
#define REACH_MAX ((int64_t)1 << 58)

/* Extends the bounds by one dimension. False: it leads further than REACH_MAX. */
static bool bounds_extend(section_bounds *bounds, size_t count, int64_t stride) {
    int64_t reach;
    if (count > (size_t)REACH_MAX || __builtin_mul_overflow((int64_t)count - 1, stride, &reach) ||
        reach > REACH_MAX || reach < -REACH_MAX)
        return false;
    *(reach < 0 ? &bounds->low : &bounds->high) += reach;
    return true;
}

static tern_status stride_fail(const char *name, uint32_t dimension, size_t count, int64_t stride,
                               bool remote) {
    return tern_fail(TERN_ERR_RANGE,
                     "%s: dimension %u has %zu elements with a %s stride of %lld bytes, which "
                     "leads beyond the address space",
                     name, dimension, count, remote ? "remote" : "local", (long long)stride);
}

/* Elements in one dimension overlap if its stride is smaller than an element. */
static tern_status check_target_stride(const char *name, const tern_section *section,
                                       uint32_t dimension, bool is_get) {
    const int64_t stride =
        is_get ? section->local_stride[dimension] : section->remote_stride[dimension];
    const uint64_t distance = stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
    if (distance >= section->element_bytes)
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT,
                     "%s: in dimension %u the %s stride is %lld, so that elements of %zu bytes "
                     "overlap at the target; use %zu or more, or -%zu or less",
                     name, dimension, is_get ? "local" : "remote", (long long)stride,
                     section->element_bytes, section->element_bytes, section->element_bytes);
}

/* Whether the box lies in the memory that remote points to. [out] offset: that of the box. */
static tern_status check_box(const tern_context *context, tern_ptr remote,
                             const section_bounds *bounds, uint64_t *offset) {
    return tern_segment_check(context, tern_ptr_add(remote, bounds->low),
                              (uint64_t)bounds->high - (uint64_t)bounds->low, offset);
}

/* The box lies outside: names the first dimension that leads there. */
static tern_status name_dimension(const tern_context *context, const char *name, tern_ptr remote,
                                  const tern_section *section, tern_status status) {
    section_bounds bounds = {0, (int64_t)section->element_bytes};
    uint64_t offset;
    if (status != TERN_ERR_RANGE || check_box(context, remote, &bounds, &offset) != TERN_OK)
        return status; /* its detail names what is wrong with the first element */
    uint32_t d = 0;
    while (bounds_extend(&bounds, section->count[d], section->remote_stride[d]) &&
           check_box(context, remote, &bounds, &offset) == TERN_OK)
        d++;
    return tern_fail(TERN_ERR_RANGE,
                     "%s: dimension %u, with %zu elements and a remote stride of %lld bytes, leads "
                     "out of the %s of rank %u; the first element is at offset %llu",
                     name, d, section->count[d], (long long)section->remote_stride[d],
                     remote.segment == 0 ? "segment" : "region", remote.rank,
                     (unsigned long long)remote.offset);
}

/* Adds a dimension to the rows, or joins it with what is inside of it. */
static void add_dimension(tern_rows *rows, uint64_t count, int64_t remote, int64_t local) {
    if (count == 1)
        return;
    if (remote < 0) { /* from the other end: rows are moved in any order */
        rows->local += (int64_t)(count - 1) * local;
        remote = -remote;
        local = -local;
    }
    tern_rows_dimension *inner =
        rows->dimensions == 0 ? NULL : &rows->dimension[rows->dimensions - 1];
    if (inner == NULL && remote == local && (uint64_t)remote == rows->row_bytes)
        rows->row_bytes *= count;
    else if (inner != NULL && remote == inner->remote * (int64_t)inner->count &&
             local == inner->local * (int64_t)inner->count)
        inner->count *= count;
    else
        rows->dimension[rows->dimensions++] = (tern_rows_dimension){count, remote, local};
}

/* Checks the arguments of a section. [out] empty: it has no elements. */
static tern_status check_section(const tern_context *context, const char *name, uint32_t rank,
                                 const void *local, const tern_section *section, bool *empty) {
    *empty = true;
    if (section == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: section is NULL", name);
    if (section->dimensions > TERN_DIMENSIONS_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: dimensions is %u; at most %u are allowed", name,
                         section->dimensions, TERN_DIMENSIONS_MAX);
    *empty = section->element_bytes == 0;
    for (uint32_t d = 0; d < section->dimensions; d++)
        *empty = *empty || section->count[d] == 0;
    if (!*empty && local == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: local memory is NULL", name);
    if (rank >= context->size)
        return tern_is_destroyed(context)
                   ? tern_destroyed_fail(name)
                   : tern_fail(TERN_ERR_ARGUMENT, "%s: rank is %u, but there are only %u ranks",
                               name, rank, context->size);
    return TERN_OK;
}

tern_status tern_rows_of_section(const tern_context *context, const char *name, tern_ptr remote,
                                 const void *local, const tern_section *section, bool is_get,
                                 tern_rows *rows) {
    bool empty = true;
    tern_status status = check_section(context, name, remote.rank, local, section, &empty);
    rows->rank = remote.rank;
    rows->is_get = is_get;
    rows->bytes = rows->left = 0;
    rows->in_regions = remote.segment != 0;
    rows->extents = NULL;
    rows->context = context;
    if (status != TERN_OK || empty)
        return status;
    uint64_t bytes = section->element_bytes;
    if (bytes > (uint64_t)REACH_MAX)
        return tern_fail(TERN_ERR_RANGE, "%s: element_bytes is %zu; at most %lld are allowed", name,
                         section->element_bytes, (long long)REACH_MAX);
    rows->local = (char *)(uintptr_t)local;
    rows->row_bytes = bytes;
    rows->taken = 0;
    rows->dimensions = 0;
    section_bounds there = {0, (int64_t)bytes}, here = there;
    for (uint32_t d = 0; d < section->dimensions; d++) {
        const size_t count = section->count[d];
        const int64_t remote_stride = section->remote_stride[d];
        const int64_t local_stride = section->local_stride[d];
        if (count > 1 && (status = check_target_stride(name, section, d, is_get)) != TERN_OK)
            return status;
        if (count > 1 && !bounds_extend(&there, count, remote_stride))
            return stride_fail(name, d, count, remote_stride, true);
        if (count > 1 && !bounds_extend(&here, count, local_stride))
            return stride_fail(name, d, count, local_stride, false);
        if (__builtin_mul_overflow(bytes, count, &bytes))
            return tern_fail(TERN_ERR_RANGE,
                             "%s: dimensions 0 to %u have more elements than memory has bytes",
                             name, d);
        add_dimension(rows, count, remote_stride, local_stride);
    }
    status = check_box(context, remote, &there, &rows->offset);
    if (status != TERN_OK)
        return name_dimension(context, name, remote, section, status);
    rows->box = tern_ptr_add(remote, there.low);
    rows->box_bytes = (uint64_t)there.high - (uint64_t)there.low;
    rows->bytes = bytes;
    rows->left = bytes / rows->row_bytes;
    memset(rows->index, 0, sizeof rows->index);
    return TERN_OK;
}

/* Passes extents without bytes. */
static void extents_skip(tern_rows *rows) {
    while (rows->left > 0 && rows->extents->bytes == 0) {
        rows->extents++;
        rows->left--;
    }
    rows->taken = 0;
    if (rows->left == 0)
        return;
    rows->local = rows->extents->local;
    rows->row_bytes = rows->extents->bytes;
    if (rows->extents->remote.segment != 0)
        (void)tern_region_offset(rows->extents->remote, &rows->offset);
    else
        rows->offset = tern_rma_of(rows->context)->layout.heap +
                       (rows->extents->remote.offset - TERN_PTR_ORIGIN);
}

static tern_status check_extent(const tern_context *context, const char *name, uint32_t rank,
                                const tern_extent *extent, size_t index) {
    uint64_t offset;
    if (extent->local == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: the local memory of extent %zu is NULL", name,
                         index);
    if (extent->remote.rank != rank)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: extent %zu is memory of rank %u, not of rank %u",
                         name, index, extent->remote.rank, rank);
    tern_status status = tern_segment_check(context, extent->remote, extent->bytes, &offset);
    if (status == TERN_ERR_RANGE)
        status = tern_fail(status,
                           "%s: extent %zu, with %zu bytes at offset %llu, does not lie in the %s "
                           "of rank %u",
                           name, index, extent->bytes, (unsigned long long)extent->remote.offset,
                           extent->remote.segment == 0 ? "segment" : "regions", rank);
    return status;
}

tern_status tern_rows_of_extents(const tern_context *context, const char *name, uint32_t rank,
                                 const tern_extent *extents, size_t count, bool is_get,
                                 tern_rows *rows) {
    rows->rank = rank;
    rows->is_get = is_get;
    rows->bytes = rows->left = 0;
    rows->in_regions = false;
    rows->extents = extents;
    rows->context = context;
    rows->dimensions = 0;
    if (extents == NULL && count > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: extents is NULL, and count is %zu", name, count);
    if (rank >= context->size)
        return tern_is_destroyed(context)
                   ? tern_destroyed_fail(name)
                   : tern_fail(TERN_ERR_ARGUMENT, "%s: rank is %u, but there are only %u ranks",
                               name, rank, context->size);
    for (size_t i = 0; i < count; i++) {
        tern_status status =
            extents[i].bytes > 0 ? check_extent(context, name, rank, &extents[i], i) : TERN_OK;
        if (status == TERN_OK &&
            __builtin_add_overflow(rows->bytes, extents[i].bytes, &rows->bytes))
            status = tern_fail(TERN_ERR_RANGE,
                               "%s: extents 0 to %zu have more bytes than memory has", name, i);
        if (status != TERN_OK)
            return status;
        rows->in_regions |= extents[i].bytes > 0 && extents[i].remote.segment != 0;
    }
    rows->left = count;
    extents_skip(rows);
    return TERN_OK;
}

tern_status tern_rows_check_rkeys(tern_worker *worker, const tern_rows *rows) {
    uint64_t offset;
    tern_status status = TERN_OK;
    if (rows->bytes == 0 || !rows->in_regions || tern_rank_is_direct(worker->context, rows->rank))
        return TERN_OK;
    if (rows->extents == NULL)
        return tern_rkey_check(worker, rows->rank, rows->offset, rows->box_bytes);
    for (uint64_t i = 0; i < rows->left && status == TERN_OK; i++) {
        const tern_extent *extent = &rows->extents[i];
        if (extent->bytes == 0 || extent->remote.segment == 0)
            continue;
        status = tern_region_offset(extent->remote, &offset);
        if (status == TERN_OK)
            status = tern_rkey_check(worker, rows->rank, offset, extent->bytes);
    }
    return status;
}

bool tern_rows_is_one(const tern_rows *rows, tern_ptr *remote) {
    if (rows->left == 0 || rows->bytes != rows->row_bytes)
        return false;
    *remote = rows->extents != NULL ? rows->extents->remote : rows->box;
    return true;
}

/* Goes to the next row of a section: counts up the indexes, the innermost first. */
static void section_next(tern_rows *rows) {
    for (uint32_t d = 0; d < rows->dimensions; d++) {
        const tern_rows_dimension *dimension = &rows->dimension[d];
        rows->offset += (uint64_t)dimension->remote;
        rows->local += dimension->local;
        if (++rows->index[d] < dimension->count)
            return;
        rows->index[d] = 0;
        rows->offset -= dimension->count * (uint64_t)dimension->remote;
        rows->local -= (int64_t)dimension->count * dimension->local;
    }
}

void tern_rows_take(tern_rows *rows, uint64_t bytes) {
    rows->taken += bytes;
    if (rows->taken < rows->row_bytes)
        return;
    rows->taken = 0;
    rows->left--;
    if (rows->extents == NULL) {
        section_next(rows);
        return;
    }
    rows->extents++;
    extents_skip(rows);
}
