/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Index-gather: both ranks at the same time read random words into an array of their own. A block
 * ends when both ranks have all their words. They are compared before the next block begins.
 */

#include "bench_apps.h"

/* The number of values in a result, and the number of calls under way. */
enum { BLOCK = TERN_RESULT_MAX / sizeof(uint64_t), BLOCKS = 16 };

static uint64_t value_of(uint32_t index) { return ceiling_mix(index); }

/* Compares and clears what the last block has read, before the next one begins. */
static void verify(bench *b, void *state, uint64_t n) {
    apps *a = state;
    for (uint64_t i = 0; i < a->in_block && i < APPS_DRAWN; i++) {
        size_t slot = apps_slot(a, i);
        if (a->got[slot] != value_of(a->drawn[slot]))
            bench_fail("an index led to another word than its own", TERN_ERR_SYSTEM);
        a->got[slot] = 0;
    }
    apps_begin(b, state, n);
}

static void got(bench *b, void *state, uint64_t n) {
    apps *a = state;
    for (uint64_t i = 0; i < n; i++)
        bench_ok(tern_get(b->worker, &a->got[apps_slot(a, i)], apps_place(a, apps_index(a, i)),
                          sizeof *a->got),
                 "tern_get");
    apps_end(b);
}

static void got_many(bench *b, void *state, uint64_t n) {
    apps *a = state;
    static tern_request requests[APPS_EPOCH];
    for (uint64_t i = 0; i < n; i++) {
        size_t at = i % APPS_EPOCH;
        bench_ok(tern_get_start(b->worker, &a->got[apps_slot(a, i)],
                                apps_place(a, apps_index(a, i)), sizeof *a->got, &requests[at]),
                 "tern_get_start");
        if (at == APPS_EPOCH - 1 || i == n - 1)
            bench_ok(tern_wait_all(b->worker, requests, at + 1), "tern_wait_all");
    }
    apps_end(b);
}

static void bare(bench *b, void *state, uint64_t n) {
    apps *a = state;
    ceiling_gather(a->address, a->drawn, APPS_DRAWN - 1, a->first, n, a->got);
    apps_end(b);
}

/* Calls that return the words of a block of indices: of one index, or of as many as a result
 * holds. */

static tern_status apps_read(tern_call_info *call, const void *arguments, size_t bytes) {
    const uint32_t *words = arguments;
    uint64_t *values = call->result;
    size_t count = bytes / sizeof *words;
    for (size_t i = 0; i < count; i++)
        values[i] = apps_held[words[i]];
    call->result_bytes = count * sizeof *values;
    return TERN_OK;
}
TERN_FUNCTION(apps_read)

typedef struct question {
    tern_request request;
    uint64_t values[BLOCK];
    bool asked;
    uint32_t count;
    uint32_t words[BLOCK], places[BLOCK];
} question;

static void ask(bench *b, uint32_t owner, question *q) {
    bench_ok(tern_call_start(b->worker, (tern_worker_id){owner, 0}, &apps_read_function, q->words,
                             q->count * sizeof *q->words, q->values, sizeof q->values, &q->request),
             "tern_call_start");
    q->asked = true;
}

/* Waits for the answer, after which the question may be used again. */
static void await(bench *b, apps *a, question *q) {
    if (!q->asked)
        return;
    bench_ok(tern_wait(b->worker, &q->request), "tern_wait");
    for (uint32_t i = 0; i < q->count; i++)
        a->got[q->places[i]] = q->values[i];
    q->count = 0;
    q->asked = false;
}

/* Asks for the words of the other rank, block of them by block, with depth blocks under way. */
static void questions(bench *b, apps *a, uint32_t block, uint32_t depth, uint64_t n) {
    static question ring[TERN_CALL_REQUESTS];
    uint32_t other = b->other.rank, at = 0;
    apps_publish(b, TERN_PUBLISH_BATCHED);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = apps_index(a, i);
        question *q = &ring[at];
        if (apps_owner(index) != other) {
            a->got[apps_slot(a, i)] = apps_held[apps_word(index)];
            continue;
        }
        q->words[q->count] = apps_word(index);
        q->places[q->count++] = (uint32_t)apps_slot(a, i);
        if (q->count == block) {
            ask(b, other, q);
            at = (at + 1) % depth;
            await(b, a, &ring[at]);
        }
    }
    if (ring[at].count > 0)
        ask(b, other, &ring[at]);
    for (uint32_t i = 0; i < depth; i++)
        await(b, a, &ring[i]);
    apps_publish(b, TERN_PUBLISH_WRITE);
    apps_end(b);
}

static void one_by_one(bench *b, void *state, uint64_t n) {
    questions(b, state, 1, TERN_CALL_REQUESTS, n);
}

static void in_blocks(bench *b, void *state, uint64_t n) { questions(b, state, BLOCK, BLOCKS, n); }

/* MPI's own operations. */

static void mpi_got(bench *b, void *state, uint64_t n) {
    apps *a = state;
    MPI_Win win = a->window.win;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = apps_index(a, i);
        bench_mpi(MPI_Get(&a->got[apps_slot(a, i)], 1, MPI_UINT64_T, (int)apps_owner(index),
                          (MPI_Aint)(apps_word(index) * sizeof(uint64_t)), 1, MPI_UINT64_T, win),
                  "MPI_Get");
        if (i % APPS_EPOCH == APPS_EPOCH - 1)
            bench_mpi(MPI_Win_flush_all(win), "MPI_Win_flush_all");
    }
    bench_mpi(MPI_Win_flush_all(win), "MPI_Win_flush_all");
    bench_mpi(MPI_Barrier(b->comm), "MPI_Barrier");
}

static void exchanged(bench *b, void *state, uint64_t n) {
    static uint64_t out[APPS_RANKS * APPS_ROUND], in[APPS_ROUND];
    apps *a = state;
    apps_round *r = a->round;
    for (uint64_t i = 0; i < n; i += APPS_ROUND) {
        uint64_t count = n - i < APPS_ROUND ? n - i : APPS_ROUND;
        int asked = apps_exchange(b, a, i, count);
        for (int k = 0; k < asked; k++)
            out[k] = apps_held[r->asked[k]];
        bench_mpi(MPI_Alltoallv(out, r->asked_count, r->asked_at, MPI_UINT64_T, in, r->count, r->at,
                                MPI_UINT64_T, b->comm),
                  "MPI_Alltoallv");
        for (uint64_t k = 0; k < count; k++)
            a->got[r->places[k]] = in[k];
    }
    bench_mpi(MPI_Barrier(b->comm), "MPI_Barrier");
}

static bench_side way(const char *name, void (*origin)(bench *, void *, uint64_t), apps *a) {
    bench_side side = apps_way(name, origin, a);
    side.prepare = verify;
    return side;
}

static void fill(bench *b, apps *a) {
    for (uint64_t i = 0; i < a->words; i++) {
        apps_held[i] = value_of((uint32_t)(APPS_RANKS * i + (uint64_t)b->rank));
        if (a->window.bytes > 0)
            ((uint64_t *)a->window.base)[i] = apps_held[i];
    }
    a->in_block = 0;
    bench_meet(b);
}

void apps_gather(bench *b, apps *a) {
    bench_side mpi = {0}, exchange = way("MPI_Alltoallv, there and back", exchanged, a);
    const bench_side ways[] = {
        way("tern_get", got, a),
        way("tern_get_start, wait / 1,024", got_many, a),
        way("tern_call_start of 1", one_by_one, a),
        way("tern_call_start of blocks", in_blocks, a),
    };
    static const char *const names[] = {"rma", "rma_many", "call", "blocks"};
    const bench_side *const peers[] = {&mpi, NULL, NULL, &exchange};
    if (a->window.bytes > 0)
        mpi = way("MPI_Get, flush / 1,024", mpi_got, a);
    fill(b, a);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        bench_case c = apps_case(a, "index_gather", names[i]);
        c.measured = ways[i];
        if (b->shared)
            c.ceiling = way("load", bare, a);
        if (peers[i] != NULL)
            apps_add_peer(&c, peers[i]);
        bench_measure(b, &c);
        verify(b, a, 0);
    }
}
