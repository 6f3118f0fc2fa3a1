/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls with one large argument (paper 004, figure 5): as an RMA chunk, as a pointer chunk and
 * copied; one way, and both ways at once. The ceiling moves the same bytes once and runs nothing:
 * the target copies them from where they are, into the same memory each time.
 */

#include "bench_zerocopy.h"
#include "window.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum { AT_ONCE = 8 };

typedef struct zerocopy {
    size_t bytes;
    bool both;
    tern_vector vector;  /* the argument, in this rank's segment */
    const char *address; /* of the other rank's, if load and store reach it */
    char *memory;        /* private memory of as many bytes, for peers and ceilings */
    char *other;         /* more of it */
    bench_window window;
    MPI_Comm comm;
} zerocopy;

static uint64_t calls_run, calls_wrong;

void bench_zerocopy_fill(void *memory, size_t bytes) {
    unsigned char *data = memory;
    memset(data, 7, bytes);
    data[0] = 1;
    data[bytes - 1] = 2;
}

bool bench_zerocopy_arrived(const tern_call_info *call, const void *arguments, size_t bytes) {
    tern_reader reader;
    const unsigned char *data = NULL;
    size_t count = 0;
    if (tern_call_reader(call, arguments, bytes, &reader) == TERN_OK)
        (void)TERN_READ_ARRAY(&reader, &data, &count);
    return tern_reader_close(&reader) == TERN_OK && data[0] == 1 && data[count - 1] == 2;
}

static tern_status run(tern_call_info *call, const void *arguments, size_t bytes) {
    calls_wrong += !bench_zerocopy_arrived(call, arguments, bytes);
    calls_run++;
    return TERN_OK;
}
TERN_FUNCTION(run)

static void write_argument(tern_writer *writer, const bench_argument *a, bench_zerocopy_way how) {
    bench_ok(tern_writer_reset(writer), "tern_writer_reset");
    if (how == BENCH_RMA_CHUNK)
        bench_ok(tern_write_vector(writer, a->vector), "tern_write_vector");
    else
        bench_ok(TERN_WRITE(writer, (const unsigned char *)a->memory, a->bytes), "TERN_WRITE");
}

void bench_zerocopy_call(tern_worker *worker, tern_worker_id target, const tern_function *function,
                         const bench_argument *argument, bench_zerocopy_way how, uint64_t n) {
    tern_synchronizer reusable;
    tern_archive_options options = {.reusable = &reusable};
    tern_writer writer;
    bench_ok(tern_synchronizer_create(worker, &reusable), "tern_synchronizer_create");
    bench_ok(tern_writer_open(&writer, NULL, 0, 2 * argument->bytes + 64), "tern_writer_open");
    if (how != BENCH_COPIED)
        bench_ok(tern_writer_share(&writer, worker, 1), "tern_writer_share");
    for (uint64_t i = 0; i < n; i++) {
        write_argument(&writer, argument, how);
        tern_status status;
        /* Copies for the calls of other workers may fill the segment, and the call does not wait
         * for them. */
        while ((status = tern_call_archive(worker, target, function, &writer, &options)) ==
               TERN_ERR_MEMORY)
            (void)tern_progress(worker);
        bench_ok(status, "tern_call_archive");
    }
    bench_ok(tern_synchronizer_wait(worker, reusable), "tern_synchronizer_wait");
    tern_writer_close(&writer);
    bench_ok(tern_synchronizer_destroy(worker, &reusable), "tern_synchronizer_destroy");
}

tern_ptr bench_zerocopy_swap(bench *b, tern_ptr mine) {
    tern_ptr theirs;
    if (b->rank == BENCH_ORIGIN)
        bench_send(b, &mine, sizeof mine);
    bench_receive(b, &theirs, sizeof theirs);
    if (b->rank == BENCH_TARGET)
        bench_send(b, &mine, sizeof mine);
    return theirs;
}

static void make_calls(bench *b, const zerocopy *z, bench_zerocopy_way how, uint64_t n) {
    const bench_argument argument = {.bytes = z->bytes, .vector = &z->vector, .memory = z->memory};
    bench_zerocopy_call(b->worker, b->other, &run_function, &argument, how, n);
}

static void take_calls(bench *b, uint64_t n) {
    while (calls_run < n)
        tern_progress(b->worker);
    if (calls_wrong > 0)
        bench_fail("an argument did not arrive as it was", TERN_ERR_SYSTEM);
    calls_run = 0;
}

static void origin_calls(bench *b, zerocopy *z, bench_zerocopy_way how, uint64_t n) {
    make_calls(b, z, how, n);
    if (z->both)
        take_calls(b, n);
}

static void target_takes(bench *b, zerocopy *z, bench_zerocopy_way how, uint64_t n) {
    if (z->both)
        make_calls(b, z, how, n);
    take_calls(b, n);
}

#define WAY(name, how)                                                                             \
    static void name##_origin(bench *b, void *state, uint64_t n) {                                 \
        origin_calls(b, state, how, n);                                                            \
    }                                                                                              \
    static void name##_target(bench *b, void *state, uint64_t n) { target_takes(b, state, how, n); }
WAY(rma_chunk, BENCH_RMA_CHUNK)
WAY(pointer_chunk, BENCH_POINTER_CHUNK)
WAY(copied, BENCH_COPIED)

static void get(bench *b, zerocopy *z, uint64_t n) {
    if (b->shared) {
        ceiling_copy(z->other, z->address, z->bytes, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        bench_mpi(MPI_Get(z->other, (int)z->bytes, MPI_BYTE, 1 - b->rank, 0, (int)z->bytes,
                          MPI_BYTE, z->window.win),
                  "MPI_Get");
        bench_mpi(MPI_Win_flush(1 - b->rank, z->window.win), "MPI_Win_flush");
    }
}

static void get_origin(bench *b, void *state, uint64_t n) {
    zerocopy *z = state;
    if (z->both)
        get(b, z, n);
}

static void get_target(bench *b, void *state, uint64_t n) { get(b, state, n); }

/* Several messages under way each way, as in the OSU benchmarks. */
static void messages(zerocopy *z, bool sends, bool receives, int other, uint64_t n) {
    for (uint64_t left = n; left > 0;) {
        MPI_Request requests[2 * AT_ONCE];
        MPI_Status statuses[2 * AT_ONCE];
        int count = 0;
        for (uint64_t i = 0; i < AT_ONCE && left > 0; i++, left--) {
            if (receives)
                MPI_Irecv(z->other, (int)z->bytes, MPI_BYTE, other, 0, z->comm, &requests[count++]);
            if (sends)
                MPI_Isend(z->memory, (int)z->bytes, MPI_BYTE, other, 0, z->comm,
                          &requests[count++]);
        }
        bench_mpi(MPI_Waitall(count, requests, statuses), "MPI_Waitall");
    }
}

static void send_origin(bench *b, void *state, uint64_t n) {
    zerocopy *z = state;
    messages(z, true, z->both, 1 - b->rank, n);
}

static void send_target(bench *b, void *state, uint64_t n) {
    zerocopy *z = state;
    messages(z, z->both, true, 1 - b->rank, n);
}

static bench_side ceiling(bench *b, zerocopy *z) {
    if (b->shared)
        return bench_way("memcpy by the target", get_origin, get_target, z);
    if (b->transport == TERN_RMA && z->window.bytes >= z->bytes)
        return bench_way("MPI_Get", get_origin, get_target, z);
    return bench_way("MPI_Isend, MPI_Irecv", send_origin, send_target, z);
}

static void open_size(bench *b, zerocopy *z, size_t bytes) {
    z->bytes = bytes;
    bench_ok(TERN_VECTOR_CREATE(b->worker, unsigned char, bytes, &z->vector), "tern_vector_create");
    size_t pages = (bytes + 4095) & ~(size_t)4095;
    z->memory = aligned_alloc(4096, pages);
    z->other = aligned_alloc(4096, pages);
    if (z->memory == NULL || z->other == NULL)
        bench_fail("aligned_alloc", TERN_ERR_MEMORY);
    bench_zerocopy_fill(tern_vector_data(&z->vector), bytes);
    bench_zerocopy_fill(z->memory, bytes);
    memset(z->other, 1, bytes);
    z->address = tern_local(b->context, bench_zerocopy_swap(b, tern_vector_place(&z->vector)));
    if (b->transport == TERN_RMA)
        bench_window_open(b, &z->window, bytes);
}

static void close_size(bench *b, zerocopy *z) {
    bench_meet(b);
    if (b->transport == TERN_RMA)
        bench_window_close(b, &z->window);
    tern_vector_destroy(&z->vector);
    free(z->memory);
    free(z->other);
}

static void add_peer(bench_case *c, bench_side side, double at_least) {
    c->peers[c->peer_count++] = (bench_peer){side, at_least};
}

static void size(bench *b, zerocopy *z, const char *name, size_t bytes) {
    bench_case c = {
        .name = name, .params = {{"bytes", bytes, NULL}}, .unit = BENCH_BANDWIDTH, .bytes = bytes};
    if (!bench_selected(b, name) || !bench_time_for(b, 1))
        return;
    open_size(b, z, bytes);
    c.measured = bench_way("call, RMA chunk", rma_chunk_origin, rma_chunk_target, z);
    c.ceiling = ceiling(b, z);
    if (b->shared && bytes >= 64 << 10)
        c.ratio_target = 1 / 0.9;
    add_peer(&c, bench_way("call, pointer chunk", pointer_chunk_origin, pointer_chunk_target, z),
             0);
    add_peer(&c, bench_way("call, copied", copied_origin, copied_target, z),
             b->shared && bytes == 1 << 20 ? 1.5 : 0);
    add_peer(&c, bench_way("MPI_Isend, MPI_Irecv", send_origin, send_target, z), 0);
    bench_measure(b, &c);
    close_size(b, z);
}

void bench_zerocopy(bench *b) {
    zerocopy z = {.bytes = 0};
    bench_mpi(MPI_Comm_dup(b->comm, &z.comm), "MPI_Comm_dup");
    for (int both = 0; both < 2; both++) {
        z.both = both != 0;
        for (size_t bytes = 1 << 10; bytes <= 64 << 20; bytes *= b->options.quick ? 16 : 4)
            size(b, &z, both != 0 ? "both ways" : "one way", bytes);
    }
    MPI_Comm_free(&z.comm);
    bench_zerocopy_workers(b);
}
