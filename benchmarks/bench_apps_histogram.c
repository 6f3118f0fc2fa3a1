/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Histogram: both ranks at the same time add 1 to random words. A block ends when all of it has
 * been added everywhere. If updates are calls, only the owner touches its part, and adds to it in
 * place. The benchmark counts the additions and compares the sums at the end.
 */

#include "bench_apps.h"

enum { BLOCK = 1024, COMBINED = 1 << 13 };

static tern_combiner *combiner;

/* By load/store, or by the atomics of the transport. */
static void added(bench *b, void *state, uint64_t n) {
    apps *a = state;
    for (uint64_t i = 0; i < n; i++)
        bench_ok(tern_atomic_fetch_add(b->worker, apps_place(a, apps_index(a, i)), 1, NULL),
                 "tern_atomic_fetch_add");
    a->added[0] += n;
    apps_end(b);
}

static void bare(bench *b, void *state, uint64_t n) {
    apps *a = state;
    ceiling_histogram(a->address, a->drawn, APPS_DRAWN - 1, a->first, n);
    a->added[0] += n;
    apps_end(b);
}

/* One call for each update. */

static tern_status apps_count(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t word;
    (void)call;
    (void)bytes;
    memcpy(&word, arguments, sizeof word);
    apps_held[word]++;
    return TERN_OK;
}
TERN_FUNCTION(apps_count)

static void called(bench *b, apps *a, tern_publish policy, uint64_t n) {
    apps_publish(b, policy);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = apps_index(a, i), owner = apps_owner(index);
        uint64_t word = apps_word(index);
        if (owner == (uint32_t)b->rank)
            apps_held[word]++;
        else
            bench_ok(tern_call(b->worker, (tern_worker_id){owner, 0}, &apps_count_function, &word,
                               sizeof word),
                     "tern_call");
    }
    apps_publish(b, TERN_PUBLISH_WRITE);
    a->added[0] += n;
    apps_end(b);
}

static void called_batched(bench *b, void *state, uint64_t n) {
    called(b, state, TERN_PUBLISH_BATCHED, n);
}

static void called_spill(bench *b, void *state, uint64_t n) {
    called(b, state, TERN_PUBLISH_SPILL, n);
}

/* One call for each block of updates, which the application gathers. */

static tern_status apps_count_block(tern_call_info *call, const void *arguments, size_t bytes) {
    const uint32_t *words = arguments;
    (void)call;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        apps_held[words[i]]++;
    return TERN_OK;
}
TERN_FUNCTION(apps_count_block)

static void send_block(bench *b, uint32_t owner, const uint32_t *words, uint32_t count) {
    bench_ok(tern_call(b->worker, (tern_worker_id){owner, 0}, &apps_count_block_function, words,
                       count * sizeof *words),
             "tern_call");
}

static void in_blocks(bench *b, void *state, uint64_t n) {
    apps *a = state;
    uint32_t words[APPS_RANKS][BLOCK], count[APPS_RANKS] = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = apps_index(a, i), owner = apps_owner(index);
        if (owner == (uint32_t)b->rank) {
            apps_held[apps_word(index)]++;
            continue;
        }
        words[owner][count[owner]++] = apps_word(index);
        if (count[owner] == BLOCK) {
            send_block(b, owner, words[owner], BLOCK);
            count[owner] = 0;
        }
    }
    for (uint32_t owner = 0; owner < APPS_RANKS; owner++)
        if (count[owner] > 0)
            send_block(b, owner, words[owner], count[owner]);
    a->added[0] += n;
    apps_end(b);
}

/* A combiner, which holds updates of words back. */

static tern_status apps_count_many(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t update[2]; /* word, amount */
    (void)call;
    (void)bytes;
    memcpy(update, arguments, sizeof update);
    apps_held[update[0]] += update[1];
    return TERN_OK;
}
TERN_FUNCTION(apps_count_many)

static void combined(bench *b, void *state, uint64_t n) {
    apps *a = state;
    const uint64_t one = 1;
    apps_publish(b, TERN_PUBLISH_BATCHED);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = apps_index(a, i);
        bench_ok(tern_combine(b->worker, combiner, (tern_worker_id){apps_owner(index), 0},
                              apps_word(index), &one),
                 "tern_combine");
    }
    bench_ok(tern_combiner_flush(b->worker, combiner), "tern_combiner_flush");
    apps_publish(b, TERN_PUBLISH_WRITE);
    a->added[0] += n;
    apps_end(b);
}

/* MPI's own operations. */

static void accumulated(bench *b, void *state, uint64_t n) {
    apps *a = state;
    MPI_Win win = a->window.win;
    const uint64_t one = 1;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = apps_index(a, i);
        bench_mpi(MPI_Accumulate(&one, 1, MPI_UINT64_T, (int)apps_owner(index),
                                 (MPI_Aint)(apps_word(index) * sizeof one), 1, MPI_UINT64_T,
                                 MPI_SUM, win),
                  "MPI_Accumulate");
        if (i % APPS_EPOCH == APPS_EPOCH - 1)
            bench_mpi(MPI_Win_flush_all(win), "MPI_Win_flush_all");
    }
    bench_mpi(MPI_Win_flush_all(win), "MPI_Win_flush_all");
    a->added[1] += n;
    bench_mpi(MPI_Barrier(b->comm), "MPI_Barrier");
}

static void exchanged(bench *b, void *state, uint64_t n) {
    apps *a = state;
    for (uint64_t i = 0; i < n; i += APPS_ROUND) {
        int asked = apps_exchange(b, a, i, n - i < APPS_ROUND ? n - i : APPS_ROUND);
        for (int k = 0; k < asked; k++)
            apps_held[a->round->asked[k]]++;
    }
    a->added[0] += n;
    bench_mpi(MPI_Barrier(b->comm), "MPI_Barrier");
}

/* Checks that no update was lost or counted twice. */
static void verify(bench *b, apps *a) {
    uint64_t mine[4] = {a->added[0], a->added[1]}, all[4];
    if (a->window.bytes > 0)
        bench_mpi(MPI_Win_sync(a->window.win), "MPI_Win_sync");
    for (uint64_t i = 0; i < a->words; i++) {
        mine[2] += apps_held[i];
        mine[3] += a->window.bytes > 0 ? ((const uint64_t *)a->window.base)[i] : 0;
    }
    bench_mpi(MPI_Allreduce(mine, all, 4, MPI_UINT64_T, MPI_SUM, b->comm), "MPI_Allreduce");
    if (all[0] != all[2] || all[1] != all[3])
        bench_fail("the words do not sum up to what was added", TERN_ERR_SYSTEM);
}

void apps_histogram(bench *b, apps *a) {
    bench_side mpi = {0}, exchange = apps_way("MPI_Alltoallv", exchanged, a);
    bench_side combine = apps_way("tern_combine, batched", combined, a);
    const bench_side ways[] = {
        apps_way("tern_atomic_fetch_add", added, a),
        apps_way("tern_call, batched", called_batched, a),
        apps_way("tern_call, spill", called_spill, a),
        apps_way("tern_call of blocks", in_blocks, a),
    };
    static const char *const names[] = {"rma", "batched", "spill", "blocks"};
    const bench_side *const peers[] = {&mpi, &combine, NULL, &exchange};
    tern_combiner_options options = {
        .function = &apps_count_many_function, .bytes = sizeof(uint64_t), .entries = COMBINED};
    bench_ok(tern_combiner_create(b->worker, &options, &combiner), "tern_combiner_create");
    if (a->window.bytes > 0) {
        mpi = apps_way("MPI_Accumulate, flush / 1,024", accumulated, a);
        memset(a->window.base, 0, a->window.bytes);
    }
    memset(apps_held, 0, a->words * sizeof *apps_held);
    memset(a->added, 0, sizeof a->added);
    bench_meet(b);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        bench_case c = apps_case(a, "histogram", names[i]);
        c.measured = ways[i];
        if (b->shared)
            c.ceiling = apps_way("locked instruction", bare, a);
        if (peers[i] != NULL)
            apps_add_peer(&c, peers[i]);
        bench_measure(b, &c);
    }
    verify(b, a);
    bench_ok(tern_combiner_destroy(b->worker, combiner), "tern_combiner_destroy");
}
