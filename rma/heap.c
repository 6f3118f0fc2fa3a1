#include "rma/heap.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Blocks tile the range and are linked in its order. Taken blocks are found by offset, free ones by
 * (size, offset), each in a balanced tree of the C library. tfind() knows no "least element not
 * below", but the path of a failed search visits it, so the comparison notes it on the way.
 */

typedef struct block {
    uint64_t offset, bytes;
    struct block *before, *after; /* neighbours in the range */
    bool taken;
} block;

struct tern_heap {
    uint64_t start, bytes, in_use;
    block *first;
    void *taken; /* tree by offset */
    void *spare; /* tree by (bytes, offset) */
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
    probe p = {{0, bytes, NULL, NULL, false}, NULL};
    tfind(&p, &heap->spare, note_fit);
    return (block *)(uintptr_t)p.fit;
}

static bool insert(void **tree, block *b, int (*order)(const void *, const void *)) {
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
    *whole = (block){start, bytes, NULL, NULL, false};
    *fresh = (tern_heap){start, bytes, 0, whole, NULL, NULL};
    if (!insert(&fresh->spare, whole, by_size)) {
        tern_heap_destroy(fresh);
        return tern_fail(TERN_ERR_MEMORY, "no memory for the books of a heap");
    }
    *heap = fresh;
    return TERN_OK;
}

static void keep(void *element) { (void)element; }

void tern_heap_destroy(tern_heap *heap) {
    if (heap == NULL)
        return;
    tdestroy(heap->taken, keep);
    tdestroy(heap->spare, keep);
    for (block *b = heap->first, *next; b != NULL; b = next) {
        next = b->after;
        free(b);
    }
    free(heap);
}

/* Cuts b so that its first bytes stay in it; the rest becomes a spare block. */
static bool split(tern_heap *heap, block *b, uint64_t bytes) {
    block *rest = malloc(sizeof *rest);
    if (rest == NULL)
        return false;
    *rest = (block){b->offset + bytes, b->bytes - bytes, b, b->after, false};
    if (!insert(&heap->spare, rest, by_size)) {
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
static void join(block *b) {
    block *next = b->after;
    b->bytes += next->bytes;
    b->after = next->after;
    if (next->after != NULL)
        next->after->before = b;
    free(next);
}

/* Makes b spare, joined with its spare neighbours. b is in no tree. The insertion cannot be undone
 * sensibly; without memory for it the block is lost to the heap, but nothing else. */
static void release(tern_heap *heap, block *b) {
    b->taken = false;
    if (b->after != NULL && !b->after->taken) {
        tdelete(b->after, &heap->spare, by_size);
        join(b);
    }
    if (b->before != NULL && !b->before->taken) {
        b = b->before;
        tdelete(b, &heap->spare, by_size);
        join(b);
    }
    insert(&heap->spare, b, by_size);
}

tern_status tern_heap_take(tern_heap *heap, uint64_t bytes, uint64_t alignment, uint64_t *offset) {
    uint64_t wanted = align_up(bytes, TERN_HEAP_GRANULE);
    if (bytes == 0 || wanted < bytes || wanted > heap->bytes)
        goto full;
    /* The best fit may happen to be aligned; else one that is large enough wherever it starts. */
    block *b = best_fit(heap, wanted);
    if (b != NULL && align_up(b->offset, alignment) - b->offset > b->bytes - wanted)
        b = best_fit(heap, wanted + alignment - TERN_HEAP_GRANULE);
    if (b == NULL)
        goto full;

    uint64_t skip = align_up(b->offset, alignment) - b->offset;
    tdelete(b, &heap->spare, by_size);
    if (skip > 0) {
        if (!split(heap, b, skip)) {
            release(heap, b);
            goto books;
        }
        block *rest = b->after;
        insert(&heap->spare, b, by_size);
        b = rest;
        tdelete(b, &heap->spare, by_size);
    }
    if ((b->bytes > wanted && !split(heap, b, wanted)) || !insert(&heap->taken, b, by_offset)) {
        release(heap, b);
        goto books;
    }
    b->taken = true;
    heap->in_use += b->bytes;
    *offset = b->offset;
    return TERN_OK;
full:
    return tern_fail(TERN_ERR_MEMORY,
                     "no free piece of %llu bytes in the segment (%llu of %llu in use); raise "
                     "TERN_SEGMENT_SIZE",
                     (unsigned long long)bytes, (unsigned long long)heap->in_use,
                     (unsigned long long)heap->bytes);
books:
    return tern_fail(TERN_ERR_MEMORY, "no memory for the books of the segment");
}

tern_status tern_heap_give(tern_heap *heap, uint64_t offset) {
    block key = {offset, 0, NULL, NULL, true};
    block *const *found = tfind(&key, &heap->taken, by_offset);
    if (found == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "offset %llu is not the start of an allocation",
                         (unsigned long long)offset);
    block *b = *found;
    tdelete(b, &heap->taken, by_offset);
    heap->in_use -= b->bytes;
    release(heap, b);
    return TERN_OK;
}

uint64_t tern_heap_in_use(const tern_heap *heap) { return heap->in_use; }
