/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Non-contiguous transfers. A column of words stands beside a loop that is written for it; the
 * faces of a cube of 128 x 128 x 128 doubles stand beside packing them into a buffer, a put of the
 * buffer, and unpacking it there, as programs do without strided puts. Both work on the same memory
 * with the same strides.
 */

#include "bench.h"

#include <stdlib.h>

enum { WORD = 8, COLUMN = 1024, SIDE = 128, PLANE = SIDE * SIDE, CUBE = SIDE * PLANE };

typedef struct strided {
    tern_ptr p;      /* memory of the target, */
    char *address;   /* and where load and store reach it */
    char *local;     /* memory of this process, as large */
    tern_ptr packed; /* room for a face at the target, */
    char *there;
    char *buffer; /* and here */
    tern_section section;
} strided;

static void put_section(bench *b, void *state, uint64_t n) {
    const strided *s = state;
    while (n-- > 0) {
        bench_ok(tern_put_strided(b->worker, bench_opaque(s->p), s->local, &s->section),
                 "tern_put_strided");
        __asm__ volatile("" : : : "memory");
    }
}

static void get_section(bench *b, void *state, uint64_t n) {
    const strided *s = state;
    while (n-- > 0) {
        bench_ok(tern_get_strided(b->worker, s->local, bench_opaque(s->p), &s->section),
                 "tern_get_strided");
        __asm__ volatile("" : : : "memory");
    }
}

/* Copies the section's elements by two loops of words. */
static inline void copy_words(char *to, const char *from, const tern_section *s,
                              const int64_t *to_stride, const int64_t *from_stride) {
    const size_t rows = s->dimensions > 1 ? s->count[1] : 1;
    for (size_t j = 0; j < rows; j++) {
        char *restrict there = to + (int64_t)j * to_stride[1];
        const char *restrict here = from + (int64_t)j * from_stride[1];
        for (size_t i = 0; i < s->count[0]; i++)
            *(uint64_t *)(void *)(there + (int64_t)i * to_stride[0]) =
                *(const uint64_t *)(const void *)(here + (int64_t)i * from_stride[0]);
    }
}

static void put_loop(bench *b, void *state, uint64_t n) {
    const strided *s = state;
    (void)b;
    while (n-- > 0) {
        copy_words(s->address, s->local, &s->section, s->section.remote_stride,
                   s->section.local_stride);
        __asm__ volatile("" : : : "memory");
    }
}

static void get_loop(bench *b, void *state, uint64_t n) {
    const strided *s = state;
    (void)b;
    while (n-- > 0) {
        copy_words(s->local, s->address, &s->section, s->section.local_stride,
                   s->section.remote_stride);
        __asm__ volatile("" : : : "memory");
    }
}

/* Packs a face and puts it; the target would still have to unpack it. */
static void pack_and_put(bench *b, void *state, uint64_t n) {
    const strided *s = state;
    const int64_t dense[TERN_DIMENSIONS_MAX] = {WORD, (int64_t)(WORD * s->section.count[0])};
    const size_t bytes = WORD * s->section.count[0] * s->section.count[1];
    while (n-- > 0) {
        copy_words(s->buffer, s->local, &s->section, dense, s->section.local_stride);
        bench_ok(tern_put(b->worker, bench_opaque(s->packed), s->buffer, bytes), "tern_put");
        __asm__ volatile("" : : : "memory");
    }
}

/* Packs a face, puts it, and unpacks it where it belongs. */
static void pack_put_unpack(bench *b, void *state, uint64_t n) {
    const strided *s = state;
    const int64_t dense[TERN_DIMENSIONS_MAX] = {WORD, (int64_t)(WORD * s->section.count[0])};
    while (n-- > 0) {
        pack_and_put(b, state, 1);
        copy_words(s->address, s->there, &s->section, s->section.remote_stride, dense);
    }
}

static void columns(bench *b, strided *s) {
    static const int64_t strides[] = {16, 64, 1024};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        s->section = (tern_section){.element_bytes = WORD,
                                    .dimensions = 1,
                                    .count = {COLUMN},
                                    .remote_stride = {strides[i]},
                                    .local_stride = {WORD}};
        bench_case c = {.name = "put_column",
                        .params = {{"words", COLUMN, NULL}, {"stride", (uint64_t)strides[i], NULL}},
                        .measured = bench_way("tern_put_strided", put_section, NULL, s)};
        if (b->shared) {
            c.ceiling = bench_way("loop", put_loop, NULL, s);
            c.ratio_target = 1 / 0.8;
        }
        bench_measure(b, &c);
        c.name = "get_column";
        c.measured = bench_way("tern_get_strided", get_section, NULL, s);
        if (b->shared)
            c.ceiling = bench_way("loop", get_loop, NULL, s);
        bench_measure(b, &c);
    }
}

/* The three faces of a cube by the direction that is left out: their rows have 1 or 128 doubles. */
static void halo(bench *b, strided *s) {
    static const int64_t strides[3][2] = {
        {WORD * SIDE, WORD * PLANE}, {WORD, WORD * PLANE}, {WORD, WORD * SIDE}};
    static const char *const names[] = {"x", "y", "z"};
    for (size_t i = 0; i < 3; i++) {
        s->section = (tern_section){.element_bytes = WORD,
                                    .dimensions = 2,
                                    .count = {SIDE, SIDE},
                                    .remote_stride = {strides[i][0], strides[i][1]},
                                    .local_stride = {strides[i][0], strides[i][1]}};
        bench_case c = {.name = "halo",
                        .params = {{"side", SIDE, NULL}, {"face", 0, names[i]}},
                        .measured = bench_way("tern_put_strided", put_section, NULL, s)};
        if (b->shared) {
            c.ceiling = bench_way("loop", put_loop, NULL, s);
            c.peers[c.peer_count++] =
                (bench_peer){bench_way("packed, tern_put, unpacked", pack_put_unpack, NULL, s), 1};
        }
        c.peers[c.peer_count++] =
            (bench_peer){bench_way("packed, tern_put", pack_and_put, NULL, s), 0};
        bench_measure(b, &c);
    }
}

void bench_strided(bench *b) {
    void *address, *there;
    const size_t bytes = (size_t)WORD * CUBE;
    strided s = {.local = calloc(CUBE, WORD), .buffer = calloc(PLANE, WORD)};
    if (s.local == NULL || s.buffer == NULL)
        bench_fail("calloc", TERN_ERR_MEMORY);
    s.p = bench_place(b, BENCH_TARGET, bytes, &address);
    s.packed = bench_place(b, BENCH_TARGET, (size_t)WORD * PLANE, &there);
    s.address = address;
    s.there = there;
    columns(b, &s);
    halo(b, &s);
    bench_unplace(b, BENCH_TARGET, s.packed);
    bench_unplace(b, BENCH_TARGET, s.p);
    free(s.local);
    free(s.buffer);
}
