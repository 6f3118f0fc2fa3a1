#include "rma/memory/heap.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Blocks tile the range and are linked in its order. Taken blocks are found by offset, free ones by
 * (size, offset), each in a balanced tree of the C library. tfind() knows no "least element not
 * below", but the path of a failed search visits it, so the comparison notes it on the way.
 *
 * What is given back, unless it is large, rests as it is, found by the next who takes as much:
 * buffers come and go in few sizes. The block that rests longest is joined again when there are too
 * many, and all of them where there is no room.
 */

enum { RESTING = 8, RESTING_BYTES = 1 << 20 };

typedef struct block {
    uint64_t offset, bytes;
    struct block *before, *after; /* neighbours in the range */
    bool taken, resting;          /* resting: given back, and still in the tree of those taken */
} block;

struct tern_heap {
    uint64_t start, bytes, in_use;
    block *first;
    void *taken;             /* tree by offset */
    void *spare;             /* tree by (bytes, offset) */
    block *resting[RESTING]; /* the longest first */
    size_t rests;
};

/* A key to look for; the first member lets the comparison treat it as a block. */
typedef struct probe {
    block key;
    const block *fit;
} probe;

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
    probe *p = (probe *)(uintptr_t)key;
    int order = by_size(&p->key, element);
    if (order <= 0)
        p->fit = element;
    return order;
}

static uint64_t align_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* The smallest spare block of at least so many bytes. */
static block *best_fit(tern_heap *heap, uint64_t bytes) {
    probe p = {{.bytes = bytes}, NULL};
    tfind(&p, &heap->spare, note_fit);
    return (block *)(uintptr_t)p.fit;
}

static bool heap_insert(void **tree, block *b, int (*order)(const void *, const void *)) {
    return tsearch(b, tree, order) != NULL;
}

tern_status tern_heap_create(uint64_t start, uint64_t bytes, tern_heap **heap) {
    tern_heap *fresh = calloc(1, sizeof *fresh);
    block *whole = calloc(1, sizeof *whole);
    if (fresh == NULL || whole == NULL) {
        free(fresh);
        free(whole);
        return tern_fail(TERN_ERR_MEMORY, "no memory for the books of a heap");
    }
    *whole = (block){.offset = start, .bytes = bytes};
    *fresh = (tern_heap){.start = start, .bytes = bytes, .first = whole};
    if (!heap_insert(&fresh->spare, whole, by_size)) {
        tern_heap_destroy(fresh);
        return tern_fail(TERN_ERR_MEMORY, "no memory for the books of a heap");
    }
    *heap = fresh;
    return TERN_OK;
}

static void heap_keep(void *element) { (void)element; }

void tern_heap_destroy(tern_heap *heap) {
    if (heap == NULL)
        return;
    tdestroy(heap->taken, heap_keep);
    tdestroy(heap->spare, heap_keep);
    for (block *b = heap->first, *next; b != NULL; b = next) {
        next = b->after;
        free(b);
    }
    free(heap);
}

/* Cuts b so that its first bytes stay in it; the rest becomes a spare block. */
static bool heap_split(tern_heap *heap, block *b, uint64_t bytes) {
    block *rest = malloc(sizeof *rest);
    if (rest == NULL)
        return false;
    *rest = (block){b->offset + bytes, b->bytes - bytes, b, b->after, false, false};
    if (!heap_insert(&heap->spare, rest, by_size)) {
        free(rest);
        return false;
    }
    if (b->after != NULL)
        b->after->before = rest;
    b->after = rest;
    b->bytes = bytes;
    return true;
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

/* Makes b spare, joined with its spare neighbours. b is in no tree. The insertion cannot be undone
 * sensibly; without memory for it the block is lost to the heap, but nothing else. */
static void heap_release(tern_heap *heap, block *b) {
    b->taken = false;
    if (b->after != NULL && !b->after->taken) {
        tdelete(b->after, &heap->spare, by_size);
        heap_join(b);
    }
    if (b->before != NULL && !b->before->taken) {
        b = b->before;
        tdelete(b, &heap->spare, by_size);
        heap_join(b);
    }
    heap_insert(&heap->spare, b, by_size);
}

/* The first count blocks that rest come back into use. */
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

/* A block that rests and fits exactly, or NULL. */
static block *heap_wake(tern_heap *heap, uint64_t bytes, uint64_t alignment) {
    for (size_t i = heap->rests; i > 0; i--) {
        block *b = heap->resting[i - 1];
        if (b->bytes != bytes || b->offset % alignment != 0)
            continue;
        b->resting = false;
        heap->rests--;
        memmove(&heap->resting[i - 1], &heap->resting[i],
                (heap->rests - (i - 1)) * sizeof heap->resting[0]);
        return b;
    }
    return NULL;
}

/* The best fit may happen to be aligned; else one that is large enough wherever it starts. */
static block *heap_find(tern_heap *heap, uint64_t bytes, uint64_t alignment) {
    block *b = best_fit(heap, bytes);
    if (b != NULL && align_up(b->offset, alignment) - b->offset > b->bytes - bytes)
        b = best_fit(heap, bytes + alignment - TERN_HEAP_GRANULE);
    return b;
}

/* Takes bytes of the spare block b. False: no memory for the books. */
static bool heap_cut(tern_heap *heap, block *b, uint64_t bytes, uint64_t alignment, block **taken) {
    uint64_t skip = align_up(b->offset, alignment) - b->offset;
    tdelete(b, &heap->spare, by_size);
    if (skip > 0) {
        if (!heap_split(heap, b, skip)) {
            heap_release(heap, b);
            return false;
        }
        block *rest = b->after;
        heap_insert(&heap->spare, b, by_size);
        b = rest;
        tdelete(b, &heap->spare, by_size);
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

tern_status tern_heap_take(tern_heap *heap, uint64_t bytes, uint64_t alignment, uint64_t *offset) {
    uint64_t wanted = align_up(bytes, TERN_HEAP_GRANULE);
    if (bytes == 0 || wanted < bytes || wanted > heap->bytes)
        return heap_full(heap, bytes);
    block *taken = heap_wake(heap, wanted, alignment);
    if (taken == NULL) {
        block *b = heap_find(heap, wanted, alignment);
        if (b == NULL) {
            join_resting(heap, heap->rests);
            b = heap_find(heap, wanted, alignment);
        }
        if (b == NULL)
            return heap_full(heap, bytes);
        if (!heap_cut(heap, b, wanted, alignment, &taken))
            return tern_fail(TERN_ERR_MEMORY, "no memory for the books of the segment");
    }
    heap->in_use += taken->bytes;
    *offset = taken->offset;
    return TERN_OK;
}

tern_status tern_heap_give(tern_heap *heap, uint64_t offset) {
    block key = {.offset = offset};
    block *const *found = tfind(&key, &heap->taken, by_offset);
    if (found == NULL || (*found)->resting)
        return tern_fail(TERN_ERR_ARGUMENT, "offset %llu is not the start of an allocation",
                         (unsigned long long)offset);
    block *b = *found;
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
