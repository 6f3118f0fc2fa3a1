/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Histogram and index-gather: the table, the indices, and the code that both kernels share. */

#include "bench_apps.h"

#include <stdlib.h>

uint64_t *apps_held;

void apps_begin(bench *b, void *state, uint64_t n) {
    apps *a = state;
    (void)b;
    a->first += a->in_block;
    a->in_block = n;
}

bench_side apps_way(const char *name, void (*origin)(bench *, void *, uint64_t), apps *a) {
    bench_side side = bench_way(name, origin, origin, a);
    side.prepare = apps_begin;
    return side;
}

void apps_end(bench *b) { bench_ok(tern_quiesce(b->worker), "tern_quiesce"); }

void apps_publish(bench *b, tern_publish policy) {
    for (uint32_t rank = 0; rank < APPS_RANKS; rank++)
        bench_ok(tern_call_policy(b->worker, (tern_worker_id){rank, 0}, policy, 0),
                 "tern_call_policy");
}

static void sort_by_owner(const apps *a, uint64_t from, uint64_t count) {
    apps_round *r = a->round;
    int next[APPS_RANKS];
    memset(r->count, 0, sizeof r->count);
    for (uint64_t i = 0; i < count; i++)
        r->count[apps_owner(apps_index(a, from + i))]++;
    for (int rank = 0, at = 0; rank < APPS_RANKS; at += r->count[rank++])
        r->at[rank] = next[rank] = at;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t index = apps_index(a, from + i);
        int to = next[apps_owner(index)]++;
        r->words[to] = apps_word(index);
        r->places[to] = (uint32_t)apps_slot(a, from + i);
    }
}

int apps_exchange(bench *b, const apps *a, uint64_t i, uint64_t count) {
    apps_round *r = a->round;
    int asked = 0;
    sort_by_owner(a, i, count);
    bench_mpi(MPI_Alltoall(r->count, 1, MPI_INT, r->asked_count, 1, MPI_INT, b->comm),
              "MPI_Alltoall");
    for (int rank = 0; rank < APPS_RANKS; asked += r->asked_count[rank++])
        r->asked_at[rank] = asked;
    bench_mpi(MPI_Alltoallv(r->words, r->count, r->at, MPI_UINT32_T, r->asked, r->asked_count,
                            r->asked_at, MPI_UINT32_T, b->comm),
              "MPI_Alltoallv");
    return asked;
}

bench_case apps_case(const apps *a, const char *name, const char *way) {
    return (bench_case){
        .name = name, .params = {{"table", 0, a->table}, {"way", 0, way}}, .unit = BENCH_RATE};
}

void apps_add_peer(bench_case *c, const bench_side *side) {
    if (side->name != NULL)
        c->peers[c->peer_count++] = (bench_peer){*side, 0};
}

static void draw(const bench *b, apps *a) {
    uint64_t random = 11 + (uint64_t)b->rank;
    for (size_t i = 0; i < APPS_DRAWN; i++)
        a->drawn[i] = (uint32_t)ceiling_random(&random, APPS_RANKS * a->words);
}

/* Runs both kernels on a table of so many bytes in each rank. */
static void measure(bench *b, apps *a, size_t bytes, const char *table) {
    a->words = bytes / sizeof(uint64_t);
    a->table = table;
    for (int rank = 0; rank < APPS_RANKS; rank++) {
        void *address;
        a->part[rank] = bench_place(b, rank, bytes, &address);
        a->address[rank] = address;
    }
    apps_held = a->address[b->rank];
    bench_window_open(b, &a->window, bytes);
    draw(b, a);
    apps_histogram(b, a);
    apps_gather(b, a);
    bench_window_close(b, &a->window);
    for (int rank = 0; rank < APPS_RANKS; rank++)
        bench_unplace(b, rank, a->part[rank]);
}

void bench_apps(bench *b) {
    apps a = {.drawn = malloc(APPS_DRAWN * sizeof *a.drawn),
              .got = malloc(APPS_DRAWN * sizeof *a.got),
              .round = malloc(sizeof *a.round)};
    if (a.drawn == NULL || a.got == NULL || a.round == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    measure(b, &a, (size_t)64 << 10, "64 KiB");
    if (b->options.quick)
        measure(b, &a, (size_t)8 << 20, "8 MiB");
    else
        measure(b, &a, (size_t)64 << 20, "64 MiB");
    free(a.drawn);
    free(a.got);
    free(a.round);
}
