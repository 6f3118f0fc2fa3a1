/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "memory.h"

#include "rma/memory/segment.h"
#include "rma/memory/tables.h"
#include "rma/message/follow.h"
#include "rma/notify/notify.h"
#include "rma/reply/reply.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"
#include "rpc/state.h"
#include "src/context.h"
#include "src/peers/peers.h"

static size_t memory_round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/* Pages of an array of which so many places, far from each other, are touched. */
static size_t memory_of_sparse(size_t array_bytes, uint64_t places) {
    const size_t pages = memory_round_up(array_bytes, TERN_PAGE) / TERN_PAGE;
    return (places < pages ? (size_t)places : pages) * TERN_PAGE;
}

/* What a process keeps for itself alone, whatever the number of ranks. */
static size_t memory_fixed(const tern_config *config) {
    const size_t workers = config->workers + config->service_threads;
    return sizeof(tern_context) + sizeof(tern_rma) + sizeof(tern_notify) + sizeof(tern_rpc) +
           workers * (sizeof(tern_worker) + sizeof(tern_rpc_worker)) +
           /* first pages: of the tables, of a worker page; the segment's header */
           (1 + 3 * workers) * TERN_PAGE;
}

/* What a node has once for each rank: its node and its machine, and where it listens. */
static size_t memory_each_rank(void) {
    return 2 * sizeof(uint32_t) + sizeof(tern_listener_address);
}

/* What each process keeps of the ranks of its node, and a bit of each rank. */
static size_t memory_of_ranks(uint32_t ranks, uint32_t node_ranks) {
    return tern_tables_touched(node_ranks) + node_ranks * sizeof(tern_sibling) +
           memory_round_up(ranks, 64) / 8;
}

/* What first contact with so many workers touches of worker pages and tables. */
static size_t memory_of_contact(const tern_config *config, uint32_t ranks, uint64_t active) {
    const size_t workers = config->workers + config->service_threads;
    const size_t endpoints = (size_t)ranks * workers * TERN_CHANNELS;
    const size_t arrays =
        4 * memory_of_sparse(endpoints * sizeof(void *), active) + /* four tables of pointers */
        memory_of_sparse(endpoints / 8, active) +                  /* doorbells */
        memory_of_sparse(endpoints * sizeof(uint64_t), active) +   /* ring table */
        memory_of_sparse(endpoints * sizeof(tern_credit), active) +
        memory_of_sparse(ranks * sizeof(tern_dirty), active) +
        memory_of_sparse(ranks * sizeof(tern_follow_rank), active) +
        memory_of_sparse(ranks * sizeof(uint64_t), 2 * active);
    return arrays + active * (sizeof(tern_out) + sizeof(tern_in) + sizeof(tern_ring_header));
}

void scale_memory_compute(const tern_config *config, uint32_t ranks, uint32_t node_ranks,
                          uint32_t active, scale_memory *memory) {
    const uint32_t workers = (uint32_t)(config->workers + config->service_threads);
    tern_layout layout;
    tern_tables tables;
    scale_memory m = {.fixed = memory_fixed(config), .each_rank = memory_each_rank()};
    tern_layout_compute(config, ranks, &layout);
    tern_tables_compute(ranks, workers, layout.ring_count, false, &tables);
    m.process = m.fixed + memory_of_ranks(ranks, node_ranks < ranks ? node_ranks : ranks);
    m.node = node_ranks * m.process + ranks * m.each_rank;
    m.reserved = tables.bytes + node_ranks * layout.bytes;
    m.rings = active < layout.ring_count ? active : layout.ring_count;
    m.no_ring = active - m.rings;
    const size_t contact = m.process + memory_of_contact(config, ranks, active);
    /* A ring or a message channel at the target, and its staging memory at the origin. */
    m.idle = contact + 2 * (size_t)active * TERN_PAGE;
    m.full = contact + 2 * (size_t)active * config->ring_size;
    *memory = m;
}
