/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Groups of some of the ranks: the first ones of world, with a context of their own. The other
 * ranks sleep and look only seldom whether they have a part, because a rank that waits inside MPI
 * spins and would take a core away.
 */

#include "bench.h"

#include <unistd.h>

enum { TAG_TURN = 7, NAP_US = 50000, CROWDED = 10 };

/* Finds the farthest transport, for which the figures hold. */
static void look_around(bench *own) {
    bool direct = false;
    own->shared = true;
    own->transport = TERN_SHM;
    for (uint32_t rank = 0; rank < (uint32_t)own->ranks; rank++) {
        tern_transport transport;
        bench_ok(tern_context_transport(own->context, rank, &transport), "tern_context_transport");
        if (transport != TERN_SHM)
            own->transport = transport;
        else
            direct |= rank != (uint32_t)own->rank;
        own->shared &= transport == TERN_SHM;
    }
    own->mixed = direct && !own->shared;
    int shared = own->shared, all;
    bench_mpi(MPI_Allreduce(&shared, &all, 1, MPI_INT, MPI_MIN, own->comm), "MPI_Allreduce");
    own->shared = all != 0;
}

void bench_group_open(bench *b, bench *own, int ranks, const tern_config *config, int threads) {
    const int first[1][3] = {{0, ranks - 1, 1}};
    int range[1][3];
    MPI_Group all, part;
    *own = *b;
    memcpy(range, first, sizeof range);
    MPI_Comm_group(b->world, &all);
    MPI_Group_range_incl(all, 1, range, &part);
    bench_mpi(MPI_Comm_create_group(b->world, part, ranks, &own->comm), "MPI_Comm_create_group");
    MPI_Group_free(&part);
    MPI_Group_free(&all);
    own->ranks = ranks;
    own->other.rank = b->rank == BENCH_ORIGIN ? BENCH_TARGET : BENCH_ORIGIN;
    bench_pin(own);
    own->threads *= threads;
    if (bench_crowded(own))
        own->options.block_ns *= CROWDED; /* many time slices */
    bench_ok(tern_context_create(own->comm, config, &own->context), "tern_context_create");
    own->helped = tern_context_config(own->context)->service_threads > 0;
    bench_ok(tern_worker_adopt(own->context, 0, &own->worker), "tern_worker_adopt");
    tern_mpi_lock();
    look_around(own);
    tern_mpi_unlock();
}

void bench_group_close(bench *own) {
    bench_meet(own);
    bench_ok(tern_worker_release(own->worker), "tern_worker_release");
    bench_ok(tern_context_destroy(own->context), "tern_context_destroy");
    MPI_Comm_free(&own->comm);
}

/* The sizes: 2, 3, 4, 6, 8, 12, ... and the number of all ranks. 0 ends them. */
static int next_size(int size, int all) {
    int next = size < 2 ? 2 : (size & (size - 1)) == 0 ? size + size / 2 : size + size / 3;
    return size == all ? 0 : next < all ? next : all;
}

static void await_turn(bench *b) {
    for (int there = 0; !there;) {
        bench_mpi(MPI_Iprobe(0, TAG_TURN, b->world, &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
        if (!there)
            usleep(NAP_US);
    }
    bench_mpi(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_TURN, b->world, MPI_STATUS_IGNORE), "MPI_Recv");
}

void bench_group_each(bench *b, void (*measure)(bench *own)) {
    int all, before = 1;
    MPI_Comm_size(b->world, &all);
    for (int size = next_size(b->options.whole ? all - 1 : 1, all); size > 0;
         before = size, size = next_size(size, all)) {
        bench own;
        if (b->rank >= size)
            continue;
        for (int rank = before; b->rank == 0 && rank < size; rank++)
            bench_mpi(MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_TURN, b->world), "MPI_Send");
        if (b->rank >= before)
            await_turn(b);
        bench_group_open(b, &own, size, NULL, 1);
        bench_note(&own, "%d ranks, over %s%s", size, own.mixed ? "shm and " : "",
                   tern_transport_name(own.transport));
        measure(&own);
        bench_group_close(&own);
    }
}
