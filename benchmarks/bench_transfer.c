/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Put, get and atomics. With shared memory the ceilings are the processor's own stores, loads,
 * locked instructions and memcpy on the same memory. Otherwise they are the operation on which the
 * transport is built: MPI's one-sided operation with its flush, or a round trip of messages.
 */

#include "bench.h"
#include "library_calls.h"
#include "window.h"
#include "ceilings/ceilings.h"
#include "ceilings/message.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { WORD = 8, CHAIN_SMALL = 4096, CHAIN_LARGE = 64 << 20, COPY_MAX = 4 << 20 };

/* The target's memory that a side works on, as a global pointer and as this process's address. */
typedef struct place {
    tern_ptr p;
    void *address;
    size_t bytes;    /* of one operation */
    void *local;     /* this process's own, COPY_MAX bytes */
    uint64_t cursor; /* position of a walk */
    ceiling_messages messages;
} place;

/* 8 bytes: store, load, atomics. */

/* The value to put lies in memory, as in a program; the bare store has it in a register. */
static void put_flush(bench *b, void *state, uint64_t n) {
    const place *at = state;
    const uint64_t *from = at->local;
    for (uint64_t i = 0; i < n; i++) {
        tern_ptr p = bench_opaque(at->p);
        bench_ok(tern_put(b->worker, p, &from[i % 64], WORD), "tern_put");
        bench_ok(tern_flush(b->worker, p.rank), "tern_flush");
        __asm__ volatile("" : : : "memory");
    }
}

static void put_flush_by_calls(bench *b, void *state, uint64_t n) {
    const place *at = state;
    bench_library_put_flush(b, at->p, at->local, n);
}

static void store_fence(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_store_fence(((place *)state)->address, n);
}

static void get_chain(bench *b, void *state, uint64_t n) {
    place *at = state;
    tern_ptr p = at->p;
    p.offset = at->cursor;
    while (n-- > 0) {
        uint64_t next;
        p = bench_opaque(p);
        bench_ok(tern_get(b->worker, &next, p, WORD), "tern_get");
        p.offset = next;
        __asm__ volatile("" : : : "memory");
    }
    at->cursor = p.offset;
}

static void load_chain(bench *b, void *state, uint64_t n) {
    place *at = state;
    (void)b;
    at->cursor = ceiling_load_chain((char *)at->address - at->p.offset, at->cursor, n);
}

static void fetch_add(bench *b, void *state, uint64_t n) {
    const place *at = state;
    while (n-- > 0) {
        uint64_t old;
        bench_ok(tern_atomic_fetch_add(b->worker, bench_opaque(at->p), 1, &old),
                 "tern_atomic_fetch_add");
        bench_use(old);
    }
}

static void bare_fetch_add(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)ceiling_fetch_add(((place *)state)->address, n);
}

static void compare_and_swap(bench *b, void *state, uint64_t n) {
    const place *at = state;
    uint64_t seen;
    bench_ok(tern_atomic_load(b->worker, at->p, &seen), "tern_atomic_load");
    while (n-- > 0) {
        uint64_t old;
        bench_ok(tern_atomic_cas(b->worker, bench_opaque(at->p), seen, seen + 1, &old),
                 "tern_atomic_cas");
        seen = old + 1;
        bench_use(seen);
    }
}

static void bare_compare_and_swap(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)ceiling_compare_and_swap(((place *)state)->address, n);
}

/* Any size, which the compiler does not know. */

static void put(bench *b, void *state, uint64_t n) {
    const place *at = state;
    size_t bytes = at->bytes;
    while (n-- > 0) {
        bench_ok(tern_put(b->worker, bench_opaque(at->p), at->local, bytes), "tern_put");
        __asm__ volatile("" : "+r"(bytes) : : "memory");
    }
}

static void put_flush_many(bench *b, void *state, uint64_t n) {
    const place *at = state;
    while (n-- > 0) {
        bench_ok(tern_put(b->worker, at->p, at->local, at->bytes), "tern_put");
        bench_ok(tern_flush(b->worker, at->p.rank), "tern_flush");
    }
}

static void get(bench *b, void *state, uint64_t n) {
    const place *at = state;
    size_t bytes = at->bytes;
    while (n-- > 0) {
        bench_ok(tern_get(b->worker, at->local, bench_opaque(at->p), bytes), "tern_get");
        __asm__ volatile("" : "+r"(bytes) : : "memory");
    }
}

static void copy_there(bench *b, void *state, uint64_t n) {
    const place *at = state;
    (void)b;
    ceiling_copy(at->address, at->local, at->bytes, n);
}

static void copy_back(bench *b, void *state, uint64_t n) {
    const place *at = state;
    (void)b;
    ceiling_copy(at->local, at->address, at->bytes, n);
}

/* Round trips: the bytes there and a word back, and the other way round. */

static void ask_put(bench *b, void *state, uint64_t n) {
    place *at = state;
    uint64_t back;
    (void)b;
    ceiling_messages_ask(&at->messages, at->local, at->bytes, &back, WORD, n);
}

static void answer_put(bench *b, void *state, uint64_t n) {
    place *at = state;
    uint64_t back = 0;
    (void)b;
    ceiling_messages_answer(&at->messages, at->local, at->bytes, &back, WORD, n);
}

static void ask_get(bench *b, void *state, uint64_t n) {
    place *at = state;
    uint64_t there = 0;
    (void)b;
    ceiling_messages_ask(&at->messages, &there, WORD, at->local, at->bytes, n);
}

static void answer_get(bench *b, void *state, uint64_t n) {
    place *at = state;
    uint64_t there;
    (void)b;
    ceiling_messages_answer(&at->messages, &there, WORD, at->local, at->bytes, n);
}

/* A window of each kind that MPI has, for operations of a word. */
typedef struct windows {
    bench_window of[BENCH_WINDOW_KINDS];
    bench_window_operation operation[BENCH_WINDOW_KINDS];
    size_t count;
} windows;

static void windows_open(bench *b, windows *all) {
    enum { BYTES = 4096 };
    all->count = 0;
    for (int kind = 0; kind < BENCH_WINDOW_KINDS && b->shared; kind++) {
        bench_window *window = &all->of[all->count];
        if (!bench_window_open_kind(b, window, (bench_window_kind)kind, BYTES))
            continue;
        all->operation[all->count] = (bench_window_operation){window, WORD};
        all->count++;
    }
}

static void windows_close(bench *b, windows *all) {
    for (size_t i = 0; i < all->count; i++)
        bench_window_close(b, &all->of[i]);
}

/* Adds MPI's operation on each kind of window as a peer. */
static void add_kinds(bench_case *c, windows *all, const char *name,
                      void (*origin)(bench *, void *, uint64_t), double at_least) {
    c->fastest = "MPI";
    c->fastest_at_least = at_least;
    for (size_t i = 0; i < all->count; i++)
        c->peers[c->peer_count++].side =
            bench_way(bench_window_name(&all->of[i], name), origin, NULL, &all->operation[i]);
}

/* Of what add_kinds has added: Open MPI 4.1.4 ends with a segmentation fault in a compare-and-swap
 * on a window that MPI_Win_allocate has made. */
static void leave_out(bench_case *c, const windows *all, bench_window_kind kind) {
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->of[i].kind != kind)
            c->peers[kept++] = c->peers[i];
    c->peer_count = kept;
}

/* Adds MPI's way of an operation as a peer, if there is a window. */
static void add_peer(bench_case *c, bench_window_operation *o, const char *name,
                     void (*origin)(bench *, void *, uint64_t)) {
    if (o->window->bytes < o->bytes)
        return;
    c->peers[c->peer_count++].side = bench_way(bench_window_name(o->window, name), origin, NULL, o);
}

/* Over rma the ceiling is MPI's operation, over p2p a round trip of messages. */
static bench_side remote_ceiling(bench *b, place *at, bench_window_operation *o, const char *name,
                                 void (*origin)(bench *, void *, uint64_t), bool to_target) {
    if (b->transport == TERN_RMA) {
        if (o->window->bytes < o->bytes)
            return bench_way(NULL, NULL, NULL, NULL);
        return bench_way(bench_window_name(o->window, name), origin, NULL, o);
    }
    return to_target ? bench_way("round trip of messages", ask_put, answer_put, at)
                     : bench_way("round trip of messages", ask_get, answer_get, at);
}

/* Checks byte for byte that the data arrived; both ranks. */
static void verify(bench *b, const place *at) {
    if (b->rank == BENCH_ORIGIN)
        for (size_t i = 0; i < at->bytes; i++)
            ((unsigned char *)at->local)[i] = (unsigned char)(i * 7 + at->bytes % 251);
    if (b->rank == BENCH_ORIGIN) {
        bench_ok(tern_put(b->worker, at->p, at->local, at->bytes), "tern_put");
        bench_ok(tern_flush(b->worker, at->p.rank), "tern_flush");
    }
    bench_meet(b);
    if (b->rank == BENCH_TARGET) {
        const unsigned char *there = tern_local(b->context, at->p);
        for (size_t i = 0; i < at->bytes; i++)
            if (there[i] != (unsigned char)(i * 7 + at->bytes % 251))
                bench_fail("a put did not arrive as it was", TERN_ERR_SYSTEM);
    } else {
        memset(at->local, 0, at->bytes);
        bench_ok(tern_get(b->worker, at->local, at->p, at->bytes), "tern_get");
        for (size_t i = 0; i < at->bytes; i++)
            if (((unsigned char *)at->local)[i] != (unsigned char)(i * 7 + at->bytes % 251))
                bench_fail("a get did not bring what was put", TERN_ERR_SYSTEM);
    }
    bench_meet(b);
}

static void words(bench *b, place *at, bench_window *window, windows *all) {
    bench_window_operation o = {window, WORD};
    bool mpich = strncmp(b->mpi, "MPICH", 5) == 0;
    at->bytes = WORD;
    bench_case c = {
        .name = "put_flush", .params = {{"bytes", WORD, NULL}}, .ratio_target = 2, .steps = true};
    c.measured = bench_way("tern_put + tern_flush", put_flush, NULL, at);
    if (b->shared) {
        c.ceiling = bench_way("store + fence", store_fence, NULL, at);
        add_kinds(&c, all, "MPI_Put", bench_window_put, mpich ? 20 : 0);
    } else {
        c.ceiling = remote_ceiling(b, at, &o, "MPI_Put", bench_window_put, true);
        c.ratio_target = 0;
    }
    bench_measure(b, &c);
    if (b->shared) { /* as no call of MPI's is inlined */
        c.name = "put_flush_not_inlined";
        c.ratio_target = c.fastest_at_least = 0;
        c.measured.origin = put_flush_by_calls;
        bench_measure(b, &c);
    }

    c = (bench_case){
        .name = "fetch_add", .params = {{"bytes", WORD, NULL}}, .ratio_target = 3, .steps = true};
    c.measured = bench_way("tern_atomic_fetch_add", fetch_add, NULL, at);
    if (b->shared) {
        c.ceiling = bench_way("lock xadd", bare_fetch_add, NULL, at);
        add_kinds(&c, all, "MPI_Fetch_and_op", bench_window_fetch_add, 0);
    } else {
        c.ceiling = remote_ceiling(b, at, &o, "MPI_Fetch_and_op", bench_window_fetch_add, true);
        c.ratio_target = 0;
    }
    bench_measure(b, &c);

    c = (bench_case){
        .name = "compare_and_swap", .params = {{"bytes", WORD, NULL}}, .ratio_target = 3};
    c.measured = bench_way("tern_atomic_cas", compare_and_swap, NULL, at);
    if (b->shared) {
        c.ceiling = bench_way("lock cmpxchg", bare_compare_and_swap, NULL, at);
        add_kinds(&c, all, "MPI_Compare_and_swap", bench_window_compare_and_swap, 0);
        if (!mpich)
            leave_out(&c, all, BENCH_WINDOW_ALLOCATE);
    } else {
        c.ceiling =
            remote_ceiling(b, at, &o, "MPI_Compare_and_swap", bench_window_compare_and_swap, true);
        c.ratio_target = 0;
    }
    bench_measure(b, &c);
}

/* A chain of gets of words in bytes of memory. Each get has the offset that the one before
 * returned. */
static void chain(bench *b, const place *scratch, size_t bytes, bench_window *window,
                  windows *all) {
    if (b->options.osu)
        return; /* it sweeps over no sizes */
    bench_window_operation o = {window, WORD};
    place tern = *scratch;
    tern.p = bench_place(b, BENCH_TARGET, bytes, &tern.address);
    tern.bytes = WORD;
    tern.cursor = tern.p.offset;
    if (b->rank == BENCH_TARGET)
        ceiling_chain_make(tern_local(b->context, tern.p), bytes, tern.p.offset);
    bench_meet(b);
    place bare = tern; /* walks the same cycle in other memory */
    bare.cursor += bytes / 2;
    bench_case c = {
        .name = "get", .params = {{"bytes", WORD, NULL}, {"within", bytes, NULL}}, .steps = true};
    c.measured = bench_way("tern_get", get_chain, NULL, &tern);
    if (b->shared) {
        c.ceiling = bench_way("load", load_chain, NULL, &bare);
        c.ratio_target = 2;
        if (bytes == CHAIN_SMALL)
            add_kinds(&c, all, "MPI_Get", bench_window_get, 0);
    } else {
        c.ceiling = remote_ceiling(b, &bare, &o, "MPI_Get", bench_window_get, false);
    }
    bench_measure(b, &c);
    bench_unplace(b, BENCH_TARGET, tern.p);
}

static void sizes(bench *b, place *at, bench_window *window, bool to_target) {
    static const size_t all[] = {8,        64,       256,       1 << 10, 4 << 10,
                                 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    static const size_t few[] = {64, 4 << 10, 1 << 20};
    const bench_sizes sweep = bench_sweep(b, BENCH_SIZES(all), BENCH_SIZES(few));
    for (size_t i = 0; i < sweep.count; i++) {
        const size_t bytes = sweep.bytes[i];
        bench_window_operation o = {window, bytes};
        const char *name = to_target ? "MPI_Put" : "MPI_Get";
        void (*mpi)(bench *, void *, uint64_t) = to_target ? bench_window_put : bench_window_get;
        at->bytes = bytes;
        bench_case c = {.name = to_target ? "put" : "get",
                        .params = {{"bytes", bytes, NULL}},
                        .unit = BENCH_BANDWIDTH,
                        .bytes = bytes};
        if (b->shared) {
            c.measured = to_target ? bench_way("tern_put", put, NULL, at)
                                   : bench_way("tern_get", get, NULL, at);
            c.ceiling = bench_way(bytes <= CEILING_COPY_INLINE ? "copy in line" : "memcpy",
                                  to_target ? copy_there : copy_back, NULL, at);
            c.ratio_target = bytes == 1 << 20 ? 1 / 0.9 : 0;
            if (b->options.osu || bytes == 64 || bytes == 4 << 10 || bytes == 1 << 20)
                add_peer(&c, &o, name, mpi);
        } else {
            c.measured = to_target ? bench_way("tern_put + tern_flush", put_flush_many, NULL, at)
                                   : bench_way("tern_get", get, NULL, at);
            c.ceiling = remote_ceiling(b, at, &o, name, mpi, to_target);
        }
        bench_measure(b, &c);
        verify(b, at);
    }
}

void bench_transfer(bench *b) {
    place at = {.bytes = WORD};
    bench_window window;
    windows all;
    at.p = bench_place(b, BENCH_TARGET, COPY_MAX, &at.address);
    at.local = mmap(NULL, COPY_MAX, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at.local == MAP_FAILED)
        bench_fail("mmap", TERN_ERR_MEMORY);
    memset(at.local, 1, COPY_MAX);
    at.messages.other = 1 - b->rank;
    at.messages.how = CEILING_RECEIVE_PROBED;
    bench_mpi(MPI_Comm_dup(b->comm, &at.messages.comm), "MPI_Comm_dup");
    bench_window_open(b, &window, COPY_MAX);
    windows_open(b, &all);
    words(b, &at, &window, &all);
    chain(b, &at, CHAIN_SMALL, &window, &all);
    windows_close(b, &all);
    if (!b->options.quick)
        chain(b, &at, CHAIN_LARGE, &window, &all);
    sizes(b, &at, &window, true);
    sizes(b, &at, &window, false);
    bench_window_close(b, &window);
    MPI_Comm_free(&at.messages.comm);
    munmap(at.local, COPY_MAX);
    bench_unplace(b, BENCH_TARGET, at.p);
}
