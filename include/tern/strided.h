#ifndef TERN_STRIDED_H
#define TERN_STRIDED_H

/*
 * Non-contiguous transfer: puts and gets of many elements that do not lie side by side. A section
 * (tern_section) describes a box of equal elements in up to eight dimensions, as a slice of an
 * array has them: rows of a matrix, the faces of a cube, every third number. A list of extents
 * (tern_extent) describes anything else.
 *
 *     The left column of a matrix of 100 x 200 doubles goes into the right column of a neighbour's:
 *
 *     const tern_section column = {.element_bytes = 8,
 *                                  .dimensions = 1,
 *                                  .count = {100},
 *                                  .remote_stride = {200 * 8},
 *                                  .local_stride = {200 * 8}};
 *     status = tern_put_strided(worker, tern_ptr_add(theirs, 199 * 8), mine, &column);
 *
 * Completion, order, deaths and handlers are those of tern_put and tern_get (tern/transfer.h), and
 * for the functions with a notification those of tern_put_notify and tern_get_notify
 * (tern/notify.h). The elements of one transfer are moved in any order. Neighbouring elements are
 * moved together; tern does not promise that an element is moved in one piece.
 *
 * Checks. Everything is checked before anything is moved. If an element lies outside the segment or
 * the region, the status is TERN_ERR_RANGE, the detail names the dimension or the extent, and no
 * memory is touched. After another error some elements may have been moved.
 *
 * Overlap. The elements at the target, which is the remote memory of a put and the local memory of
 * a get, should not overlap. A section with a stride at the target that is smaller than its element
 * is refused. If elements overlap in another way, each byte that they share holds the value of one
 * of them. The source may overlap itself; a stride of 0 there repeats one element. Source and
 * target must not overlap each other.
 *
 * Cost. If load/store reaches the memory, the elements are copied by one loop, without system call,
 * allocation or MPI. Dimensions without gaps become one copy each. For memory of other nodes tern
 * makes one put or get for each row: elements that lie side by side both here and there. So a
 * program that moves many small elements to another node is faster if it packs them itself.
 * Registered memory of another rank of the node costs one system call for each row.
 */

#include "tern/notify.h"
#include "tern/ptr.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most dimensions of a section. */
#define TERN_DIMENSIONS_MAX 8u

/* A box of elements. Element (i, j, ...) lies i * stride[0] + j * stride[1] + ... bytes from the
 * first one, there with remote_stride and here with local_stride. Strides may be negative, and 0 at
 * the source. 0 dimensions: one element. If element_bytes or a count is 0, nothing is moved, and
 * addresses and strides are ignored. The stride of a dimension with count 1 is ignored. */
typedef struct tern_section {
    size_t element_bytes;
    uint32_t dimensions;               /* 0 to TERN_DIMENSIONS_MAX */
    size_t count[TERN_DIMENSIONS_MAX]; /* elements in each dimension; [0] is the innermost */
    int64_t remote_stride[TERN_DIMENSIONS_MAX]; /* in bytes */
    int64_t local_stride[TERN_DIMENSIONS_MAX];  /* in bytes */
} tern_section;

/* Puts the elements of a section. to, from: the first element there and here. On return the source
 * may be reused. Returns the errors of tern_put; also TERN_ERR_ARGUMENT: NULL, too many dimensions,
 * or a remote stride that makes elements overlap; TERN_ERR_RANGE: an element lies outside, or a
 * stride leads beyond the address space. */
TERN_NODISCARD TERN_API tern_status tern_put_strided(tern_worker *worker, tern_ptr to,
                                                     const void *from, const tern_section *section);

/* Gets the elements of a section, and blocks until they are there. Otherwise as tern_put_strided;
 * the local strides must not make elements overlap. In a handler: TERN_ERR_STATE if the memory is
 * on another node. */
TERN_NODISCARD TERN_API tern_status tern_get_strided(tern_worker *worker, void *to, tern_ptr from,
                                                     const tern_section *section);

/* Start a strided put or get and return (tern/request.h). The program must not change the local
 * memory (of a get: must not touch it) until the request is complete. The section is copied. To
 * another node at most 32 rows are under way at a time; the request's tests and waits start the
 * others. Over networks starts also return TERN_ERR_MEMORY; otherwise they return the errors of
 * tern_put_start. */
TERN_NODISCARD TERN_API tern_status tern_put_strided_start(tern_worker *worker, tern_ptr to,
                                                           const void *from,
                                                           const tern_section *section,
                                                           tern_request *request);

/* Starts tern_get_strided, as tern_put_strided_start does tern_put_strided. */
TERN_NODISCARD TERN_API tern_status tern_get_strided_start(tern_worker *worker, void *to,
                                                           tern_ptr from,
                                                           const tern_section *section,
                                                           tern_request *request);

/* Put or get the elements of a section and notify a worker of that rank, as tern_put_notify and
 * tern_get_notify do. The remote event comes when all elements are at their destination, or have
 * been read, and its bytes are those of all elements. Elements that lie side by side, there and
 * here, are one piece, and a small one is packed: it arrives with its event. Others are not packed.
 * A section without elements is a notification without data. They return the errors of
 * tern_put_notify and tern_put_strided. */
TERN_NODISCARD TERN_API tern_status tern_put_strided_notify(tern_worker *worker,
                                                            tern_worker_id target, tern_ptr to,
                                                            const void *from,
                                                            const tern_section *section,
                                                            const tern_notify_options *options);

/* Gets the elements of a section and notifies a worker of that rank (tern_put_strided_notify). */
TERN_NODISCARD TERN_API tern_status tern_get_strided_notify(tern_worker *worker,
                                                            tern_worker_id owner, void *to,
                                                            tern_ptr from,
                                                            const tern_section *section,
                                                            const tern_notify_options *options);

/* Bytes that lie side by side, there and here. With bytes 0 the addresses are ignored. */
typedef struct tern_extent {
    tern_ptr remote;
    void *local; /* a put only reads it */
    size_t bytes;
} tern_extent;

/* Put or get count extents. All remote addresses are memory of rank. extents is copied where that
 * is needed; NULL if count is 0. Errors: those of tern_put_strided; TERN_ERR_ARGUMENT also if an
 * extent is memory of another rank. Extents that overlap at the target are not refused. */
TERN_NODISCARD TERN_API tern_status tern_put_vector(tern_worker *worker, uint32_t rank,
                                                    const tern_extent *extents, size_t count);

/* Gets all extents from one rank; otherwise as tern_put_vector. */
TERN_NODISCARD TERN_API tern_status tern_get_vector(tern_worker *worker, uint32_t rank,
                                                    const tern_extent *extents, size_t count);

/* Starts tern_put_vector, as tern_put_strided_start does tern_put_strided. */
TERN_NODISCARD TERN_API tern_status tern_put_vector_start(tern_worker *worker, uint32_t rank,
                                                          const tern_extent *extents, size_t count,
                                                          tern_request *request);

/* Starts tern_get_vector, as tern_put_strided_start does tern_put_strided. */
TERN_NODISCARD TERN_API tern_status tern_get_vector_start(tern_worker *worker, uint32_t rank,
                                                          const tern_extent *extents, size_t count,
                                                          tern_request *request);

/* Puts all extents and notifies a worker of that rank, as tern_put_strided_notify does. */
TERN_NODISCARD TERN_API tern_status tern_put_vector_notify(tern_worker *worker,
                                                           tern_worker_id target,
                                                           const tern_extent *extents, size_t count,
                                                           const tern_notify_options *options);

/* Gets all extents and notifies a worker of that rank, as tern_get_strided_notify does. */
TERN_NODISCARD TERN_API tern_status tern_get_vector_notify(tern_worker *worker,
                                                           tern_worker_id owner,
                                                           const tern_extent *extents, size_t count,
                                                           const tern_notify_options *options);

#ifdef __cplusplus
}
#endif

#endif
