#include "rma/memory/tables.h"

#include <string.h>
#include <sys/mman.h>

#include "rma/memory/state.h"

static size_t tables_reserve(size_t *at, size_t bytes) {
    size_t begin = *at;
    *at = (begin + bytes + TERN_LINE - 1) / TERN_LINE * TERN_LINE;
    return begin;
}

void tern_tables_compute(uint32_t ranks, uint32_t workers, size_t rings, bool apart,
                         tern_tables *tables) {
    size_t total = (size_t)ranks * workers, at = 0;
    tern_tables t;
    t.segment = tables_reserve(&at, ranks * sizeof(tern_segment));
    t.reach = tables_reserve(&at, ranks * sizeof(tern_reach));
    t.sent = tables_reserve(&at, ranks * sizeof(uint64_t));
    t.served = tables_reserve(&at, ranks * sizeof(uint64_t));
    t.inbox = tables_reserve(&at, total * TERN_INBOX_LANES * sizeof(uint64_t));
    t.ins = tables_reserve(&at, rings * TERN_IN_BYTES);
    const size_t unit = apart ? TERN_PAGE : TERN_LINE;
    t.workers = (at + unit - 1) / unit * unit;
    at = 0;
    t.worker = tables_reserve(&at, sizeof(tern_rma_worker));
    t.dirty = tables_reserve(&at, ranks * sizeof(tern_dirty));
    t.dirty_ranks = tables_reserve(&at, ranks * sizeof(uint32_t));
    t.posts = tables_reserve(&at, ranks * sizeof(tern_posts));
    t.remotes = tables_reserve(&at, ranks * sizeof(void *));
    t.owed = tables_reserve(&at, ranks * TERN_INBOX_LANES * sizeof(uint32_t));
    t.out = tables_reserve(&at, TERN_CHANNELS * total * sizeof(tern_out *));
    t.in = tables_reserve(&at, TERN_CHANNELS * total * sizeof(tern_in *));
    t.message_channels = tables_reserve(&at, TERN_CHANNELS * total * sizeof(void *));
    t.active = tables_reserve(&at, TERN_CHANNELS * total * sizeof(tern_in *));
    t.worker_bytes = (at + unit - 1) / unit * unit;
    t.bytes = t.workers + workers * t.worker_bytes;
    *tables = t;
}

size_t tern_tables_touched(uint32_t ranks) {
    return ranks * (sizeof(tern_segment) + sizeof(tern_reach));
}

char *tern_tables_of_worker(const tern_tables *tables, char *base, uint32_t index) {
    return base + tables->workers + index * tables->worker_bytes;
}

char *tern_tables_map(const tern_tables *tables) {
    char *base = mmap(NULL, tables->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    return base;
}

void tern_tables_unmap(const tern_tables *tables, char *base) {
    if (base != NULL)
        munmap(base, tables->bytes);
}
