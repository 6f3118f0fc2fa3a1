#ifndef TERN_PTR_H
#define TERN_PTR_H

/* Global pointers and their arithmetic. tern/memory.h has the memory that they point to. */

#include <stdint.h>

#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A global pointer: an address in the segment of a rank. 16 bytes, trivially copyable, valid on
 * every rank of the context; all zero is TERN_NULL. Equal bytes mean equal pointers.
 */
typedef struct tern_ptr {
    uint32_t rank;
    uint16_t segment; /* 0: the rank's own; others: registered memory (tern/registration.h) */
    uint16_t domain;  /* tern_domain of the allocation */
    uint64_t offset;  /* in bytes; the first TERN_PTR_ORIGIN offsets are never valid */
} tern_ptr;

/* The least offset that is valid. */
#define TERN_PTR_ORIGIN 4096u

/* The pointer that points nowhere. */
#ifdef __cplusplus
#define TERN_NULL (tern_ptr{0, 0, 0, 0})
#else
#define TERN_NULL ((tern_ptr){0, 0, 0, 0})
#endif

/* Returns p moved on by bytes. A result outside the segment is refused only when it is used. */
TERN_INLINE tern_ptr tern_ptr_add(tern_ptr p, int64_t bytes) {
    p.offset += (uint64_t)bytes;
    return p;
}

/* Returns the pointer with the same offset in the segment of another rank; for memory of
 * tern_alloc_all that is the other rank's piece. */
TERN_INLINE tern_ptr tern_ptr_on(tern_ptr p, uint32_t rank) {
    p.rank = rank;
    return p;
}

/* Returns 1 for TERN_NULL, else 0. */
TERN_INLINE int tern_ptr_is_null(tern_ptr p) { return p.offset == 0; }

/* Returns 1 if both point to the same address of the same allocation, else 0. */
TERN_INLINE int tern_ptr_equal(tern_ptr a, tern_ptr b) {
    return a.rank == b.rank && a.segment == b.segment && a.domain == b.domain &&
           a.offset == b.offset;
}

/* Returns a minus b in bytes; both must point into one segment. */
TERN_INLINE int64_t tern_ptr_diff(tern_ptr a, tern_ptr b) { return (int64_t)(a.offset - b.offset); }

#ifdef __cplusplus
}
#endif

#endif
