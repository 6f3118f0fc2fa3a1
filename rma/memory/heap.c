#include "rma/memory/heap.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Blocks tile the range and are linked in its order. Taken blocks are found by offset, free ones by
 * (size, offset), each in a balanced tree of the C library; every part has its own tree of free
 * blocks. A free block lies in one part only: a taken block that lies in several parts is divided
 * when it comes back. tfind() cannot search for the least element not below a key, but a failed
 * search visits that element, so the comparison function notes it on the way.
 *
 * A block that is given back, unless it is large, rests: it stays as it is for the next caller that
 * takes as many bytes, since buffers come and go in few sizes. When too many blocks rest, the one
 * that has rested longest becomes free and is joined with its neighbours. All resting blocks become
 * free when a part has no room.
 */

enum { RESTING = 8, RESTING_BYTES = 1 << 20 };

typedef struct block {
    uint64_t offset, bytes;
    struct block *before, *after; /* neighbours in the range */
    bool taken, resting;          /* resting: given back, but still in the tree of taken blocks */
} block;

typedef struct heap_part {
    uint64_t end;
    void *spare; /* tree by (bytes, offset) of the free blocks that begin in the part */
} heap_part;

struct tern_heap {
    uint64_t bytes, in_use;
    block *first;
    void *taken;             /* tree by offset */
    block *resting[RESTING]; /* the one that has rested longest first */
    size_t rests;
    size_t parts;
    heap_part part[];
};

/* A key to look for; the first member lets the comparison treat it as a block. */
typedef struct search {
    block key;
    const block *fit;
} search;

static int by_offset(const void *a, const void *b) {
    const block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_size(const void *a, const void *b) {
    const block *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return by_offset(a, b);
}

static int note_fit(const void *key, const void *element) {
    search *p = (search *)(uintptr_t)key;
    int order = by_size(&p->key, element);
    if (order <= 0)
        p->fit = element;
    return order;
}

static uint64_t align_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* The part in which b begins. */
static heap_part *heap_part_of(tern_heap *heap, const block *b) {
    heap_part *part = heap->part;
    while (b->offset >= part->end)
        part++;
    return part;
}

static bool heap_part_holds(const heap_part *part, const block *b) {
    return b->offset + b->bytes <= part->end;
}

/* The smallest spare (free) block of at least so many bytes. */
static block *best_fit(heap_part *part, uint64_t bytes) {
    search p = {{.bytes = bytes}, NULL};
    tfind(&p, &part->spare, note_fit);
    return (block *)(uintptr_t)p.fit;
}

static bool heap_insert(void **tree, block *b, int (*order)(const void *, const void *)) {
    return tsearch(b, tree, order) != NULL;
}

static bool heap_insert_spare(tern_heap *heap, block *b) {
    return heap_insert(&heap_part_of(heap, b)->spare, b, by_size);
}

static void heap_delete_spare(tern_heap *heap, block *b) {
    tdelete(b, &heap_part_of(heap, b)->spare, by_size);
}

/* Cuts b after its first bytes; the rest becomes a new block behind it. Neither is in a tree. NULL:
 * no memory for the new block. */
static block *heap_divide(block *b, uint64_t bytes) {
    block *rest = malloc(sizeof *rest);
    if (rest == NULL)
        return NULL;
    *rest = (block){b->offset + bytes, b->bytes - bytes, b, b->after, b->taken, false};
    if (b->after != NULL)
        b->after->before = rest;
    b->after = rest;
    b->bytes = bytes;
    return rest;
}

/* Joins b with the block after it; both are in no tree. */
static void heap_join(block *b) {
    block *next = b->after;
    b->bytes += next->bytes;
    b->after = next->after;
    if (next->after != NULL)
        next->after->before = b;
    free(next);
}

tern_status tern_heap_create(const uint64_t *cut, size_t parts, tern_heap **heap) {
    tern_heap *fresh = calloc(1, sizeof *fresh + parts * sizeof fresh->part[0]);
    block *last = calloc(1, sizeof *last);
    if (fresh == NULL || last == NULL) {
        free(fresh);
        free(last);
        return tern_fail(TERN_ERR_MEMORY, "no memory for the records of a heap");
    }
    *last = (block){.offset = cut[0], .bytes = cut[parts] - cut[0]};
    *fresh = (tern_heap){.bytes = last->bytes, .first = last, .parts = parts};
    for (size_t i = 0; i < parts; i++)
        fresh->part[i] = (heap_part){cut[i + 1], NULL};
    bool good = true;
    for (size_t i = 0; i < parts && good; i++) {
        block *next = i + 1 < parts ? heap_divide(last, cut[i + 1] - cut[i]) : NULL;
        good = heap_insert_spare(fresh, last) && (next != NULL || i + 1 == parts);
        last = next;
    }
    if (!good) {
        tern_heap_destroy(fresh);
        return tern_fail(TERN_ERR_MEMORY, "no memory for the records of a heap");
    }
    *heap = fresh;
    return TERN_OK;
}

static void heap_keep(void *element) { (void)element; }

void tern_heap_destroy(tern_heap *heap) {
    if (heap == NULL)
        return;
    tdestroy(heap->taken, heap_keep);
    for (size_t i = 0; i < heap->parts; i++)
        tdestroy(heap->part[i].spare, heap_keep);
    for (block *b = heap->first, *next; b != NULL; b = next) {
        next = b->after;
        free(b);
    }
    free(heap);
}

/* Cuts b after its first bytes; the rest becomes a spare block. False: no memory. */
static bool heap_split(tern_heap *heap, block *b, uint64_t bytes) {
    block *rest = heap_divide(b, bytes);
    if (rest == NULL)
        return false;
    rest->taken = false;
    if (!heap_insert_spare(heap, rest)) {
        heap_join(b);
        return false;
    }
    return true;
}

/* Makes b, which is in no tree, spare and joins it with its spare neighbours of the same part. If
 * there is no memory to insert the result into the tree, the heap loses this block, but nothing
 * else: the joins could not be undone sensibly. */
static void heap_release_piece(tern_heap *heap, block *b) {
    heap_part *part = heap_part_of(heap, b);
    b->taken = false;
    if (b->after != NULL && !b->after->taken && heap_part_of(heap, b->after) == part) {
        heap_delete_spare(heap, b->after);
        heap_join(b);
    }
    if (b->before != NULL && !b->before->taken && heap_part_of(heap, b->before) == part) {
        b = b->before;
        heap_delete_spare(heap, b);
        heap_join(b);
    }
    heap_insert_spare(heap, b);
}

/* Makes b spare, too, but b may lie in several parts: makes one spare piece in each. If there is no
 * memory for the pieces, b stays whole and belongs to the part in which it begins. */
static void heap_release(tern_heap *heap, block *b) {
    const heap_part *part = heap_part_of(heap, b);
    block *rest;
    while (!heap_part_holds(part, b) && (rest = heap_divide(b, part->end - b->offset)) != NULL) {
        heap_release_piece(heap, b);
        b = rest;
        part = heap_part_of(heap, b);
    }
    heap_release_piece(heap, b);
}

/* Makes the first count resting blocks spare. */
static void join_resting(tern_heap *heap, size_t count) {
    for (size_t i = 0; i < count; i++) {
        block *b = heap->resting[i];
        b->resting = false;
        tdelete(b, &heap->taken, by_offset);
        heap_release(heap, b);
    }
    heap->rests -= count;
    memmove(heap->resting, heap->resting + count, heap->rests * sizeof heap->resting[0]);
}

/* Takes a resting block of the part that fits exactly. NULL: no block does. */
static block *heap_wake(tern_heap *heap, const heap_part *part, uint64_t bytes,
                        uint64_t alignment) {
    for (size_t i = heap->rests; i > 0; i--) {
        block *b = heap->resting[i - 1];
        if (b->bytes != bytes || b->offset % alignment != 0 || heap_part_of(heap, b) != part ||
            !heap_part_holds(part, b))
            continue;
        b->resting = false;
        heap->rests--;
        memmove(&heap->resting[i - 1], &heap->resting[i],
                (heap->rests - (i - 1)) * sizeof heap->resting[0]);
        return b;
    }
    return NULL;
}

/* Finds a spare block for an aligned piece: the best fit, if the piece fits after alignment;
 * otherwise a block so large that the piece fits wherever the block starts. */
static block *heap_find(heap_part *part, uint64_t bytes, uint64_t alignment) {
    block *b = best_fit(part, bytes);
    if (b != NULL && align_up(b->offset, alignment) - b->offset > b->bytes - bytes)
        b = best_fit(part, bytes + alignment - TERN_HEAP_GRANULE);
    return b;
}

/* The aligned offset at which a piece of b can begin, at least lowest. */
static uint64_t piece_at(const block *b, uint64_t lowest, uint64_t alignment) {
    return align_up(b->offset > lowest ? b->offset : lowest, alignment);
}

/* Finds the first room of so many bytes from lowest on, which may span several parts; joins the
 * adjacent spare blocks of which it consists to one. NULL: no such room. It looks at every
 * block. */
static block *heap_find_across(tern_heap *heap, uint64_t lowest, uint64_t bytes,
                               uint64_t alignment) {
    for (block *b = heap->first; b != NULL; b = b->after) {
        const uint64_t from = piece_at(b, lowest, alignment), to = from + bytes;
        if (b->taken || from >= b->offset + b->bytes)
            continue;
        block *last = b;
        while (last->offset + last->bytes < to && last->after != NULL && !last->after->taken)
            last = last->after;
        if (last->offset + last->bytes < to) {
            b = last;
            continue;
        }
        heap_delete_spare(heap, b);
        while (b->offset + b->bytes < to) {
            heap_delete_spare(heap, b->after);
            heap_join(b);
        }
        heap_insert_spare(heap, b);
        return b;
    }
    return NULL;
}

/* Takes bytes from the spare block b, beginning at offset at. False: no memory for a new block. */
static bool heap_cut(tern_heap *heap, block *b, uint64_t at, uint64_t bytes, block **taken) {
    uint64_t skip = at - b->offset;
    heap_delete_spare(heap, b);
    if (skip > 0) {
        block *rest = heap_divide(b, skip);
        if (rest == NULL) {
            heap_release(heap, b);
            return false;
        }
        heap_insert_spare(heap, b);
        b = rest;
    }
    if ((b->bytes > bytes && !heap_split(heap, b, bytes)) ||
        !heap_insert(&heap->taken, b, by_offset)) {
        heap_release(heap, b);
        return false;
    }
    b->taken = true;
    *taken = b;
    return true;
}

static tern_status heap_full(const tern_heap *heap, uint64_t bytes) {
    return tern_fail(TERN_ERR_MEMORY,
                     "no free piece of %llu bytes in the segment (%llu of %llu in use); raise "
                     "TERN_SEGMENT_SIZE",
                     (unsigned long long)bytes, (unsigned long long)heap->in_use,
                     (unsigned long long)heap->bytes);
}

static tern_status heap_books(void) {
    return tern_fail(TERN_ERR_MEMORY, "no memory for the records of the allocator");
}

/* Takes a piece from the first part that has room; tries `parts` parts, beginning with part
 * `first`. If none has room and `parts` is more than 1, takes a piece that spans several parts. */
static tern_status heap_take(tern_heap *heap, size_t first, size_t parts, uint64_t bytes,
                             uint64_t alignment, uint64_t *offset) {
    uint64_t wanted = align_up(bytes, TERN_HEAP_GRANULE);
    if (bytes == 0 || wanted < bytes || wanted > heap->bytes)
        return heap_full(heap, bytes);
    block *taken = NULL, *b = NULL;
    for (size_t i = 0; i < parts && taken == NULL && b == NULL; i++) {
        heap_part *part = &heap->part[(first + i) % heap->parts];
        taken = heap_wake(heap, part, wanted, alignment);
        if (taken == NULL)
            b = heap_find(part, wanted, alignment);
        if (taken == NULL && b == NULL) {
            join_resting(heap, heap->rests);
            b = heap_find(part, wanted, alignment);
        }
    }
    if (taken == NULL && b == NULL && parts > 1)
        b = heap_find_across(heap, 0, wanted, alignment);
    if (taken == NULL && b == NULL)
        return heap_full(heap, bytes);
    if (taken == NULL && !heap_cut(heap, b, align_up(b->offset, alignment), wanted, &taken))
        return heap_books();
    heap->in_use += taken->bytes;
    *offset = taken->offset;
    return TERN_OK;
}

tern_status tern_heap_take_in(tern_heap *heap, size_t part, uint64_t bytes, uint64_t alignment,
                              uint64_t *offset) {
    return heap_take(heap, part, 1, bytes, alignment, offset);
}

tern_status tern_heap_take(tern_heap *heap, size_t part, uint64_t bytes, uint64_t alignment,
                           uint64_t *offset) {
    return heap_take(heap, part, heap->parts, bytes, alignment, offset);
}

tern_status tern_heap_take_from(tern_heap *heap, uint64_t lowest, uint64_t bytes,
                                uint64_t alignment, uint64_t *offset) {
    const uint64_t wanted = align_up(bytes, TERN_HEAP_GRANULE);
    if (bytes == 0 || wanted < bytes || wanted > heap->bytes)
        return heap_full(heap, bytes);
    join_resting(heap, heap->rests);
    block *b = heap_find_across(heap, lowest, wanted, alignment), *taken;
    if (b == NULL)
        return heap_full(heap, bytes);
    if (!heap_cut(heap, b, piece_at(b, lowest, alignment), wanted, &taken))
        return heap_books();
    heap->in_use += taken->bytes;
    *offset = taken->offset;
    return TERN_OK;
}

/* [out] b: the piece that starts at offset. TERN_ERR_ARGUMENT: none does. */
static tern_status heap_taken(const tern_heap *heap, uint64_t offset, block **b) {
    block key = {.offset = offset};
    block *const *found = tfind(&key, &heap->taken, by_offset);
    if (found == NULL || (*found)->resting)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "offset %llu is not the start of an allocation; pass a pointer that "
                         "tern_alloc gave, once",
                         (unsigned long long)offset);
    *b = *found;
    return TERN_OK;
}

tern_status tern_heap_measure(const tern_heap *heap, uint64_t offset, uint64_t *bytes) {
    block *b = NULL;
    const tern_status status = heap_taken(heap, offset, &b);
    if (status == TERN_OK)
        *bytes = b->bytes;
    return status;
}

tern_status tern_heap_give(tern_heap *heap, uint64_t offset) {
    block *b = NULL;
    const tern_status status = heap_taken(heap, offset, &b);
    if (status != TERN_OK)
        return status;
    heap->in_use -= b->bytes;
    if (heap->rests == RESTING)
        join_resting(heap, 1);
    b->resting = true;
    heap->resting[heap->rests++] = b;
    if (b->bytes > RESTING_BYTES)
        join_resting(heap, heap->rests);
    return TERN_OK;
}

uint64_t tern_heap_in_use(const tern_heap *heap) { return heap->in_use; }
