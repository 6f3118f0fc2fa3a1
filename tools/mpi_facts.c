/*
 * What the MPI of this job really does, by trying it: the thread level that it grants, whether a
 * put lands in a rank that is outside of MPI, whether its atomics of many ranks lose an update,
 * what they cost.
 */

#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tools/info.h"

enum { ROUNDS = 1000 };

static const double PATIENCE = 0.3; /* seconds outside of MPI */

/* Collective. Whether a put of rank 0 and its flush have landed in the last rank while that one is
 * outside of MPI. */
static int puts_are_one_sided(MPI_Win window, _Atomic long *memory, int rank, int last) {
    const long mark = 7;
    int landed = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Put(&mark, 1, MPI_LONG, last, 0, 1, MPI_LONG, window);
        MPI_Win_flush(last, window);
    }
    if (rank == last) {
        const double end = MPI_Wtime() + PATIENCE;
        /* pairs with MPI's write of the put */
        while (!landed && MPI_Wtime() < end)
            landed = atomic_load_explicit(memory, memory_order_acquire) == mark;
    }
    MPI_Bcast(&landed, 1, MPI_INT, last, MPI_COMM_WORLD);
    return landed;
}

/* Collective. [out] ns: of one atomic, in the mean. Whether the counter in rank 0 has the sum. */
static int atomics_are_sound(MPI_Win window, MPI_Datatype type, MPI_Aint offset, int size,
                             double *ns) {
    const long one = 1; /* little-endian: also an int of 1 */
    long before = 0, sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &before, type, 0, offset, MPI_SUM, window);
        MPI_Win_flush(0, window);
    }
    *ns = (MPI_Wtime() - begin) * 1e9 / ROUNDS;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(&one, &sum, type, 0, offset, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    return sum == (long)size * ROUNDS;
}

static const char *level_name(int level) {
    return level == MPI_THREAD_MULTIPLE     ? "multiple"
           : level == MPI_THREAD_SERIALIZED ? "serialized"
           : level == MPI_THREAD_FUNNELED   ? "funneled"
                                            : "single";
}

int info_mpi(report *r, int thread_level) {
    int rank, size, near, found, *value;
    MPI_Comm node;
    MPI_Win window;
    long *memory;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) !=
        MPI_SUCCESS)
        return 1;
    MPI_Comm_size(node, &near);
    MPI_Comm_free(&node);
    if (MPI_Win_allocate(3 * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) !=
        MPI_SUCCESS)
        return 1;
    memory[0] = memory[1] = memory[2] = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Win_sync(window);
    int one_sided = 0;
    double ns_of_8, ns_of_4;
    if (size > 1)
        one_sided = puts_are_one_sided(window, (_Atomic long *)memory, rank, size - 1);
    const int sound_of_8 = atomics_are_sound(window, MPI_LONG, sizeof(long), size, &ns_of_8);
    const int sound_of_4 = atomics_are_sound(window, MPI_INT, 2 * sizeof(long), size, &ns_of_4);
    if (r != NULL) {
        report_open(r, "MPI as tested");
        report_number(r, "ranks", size);
        report_number(r, "ranks on the node of rank 0", near);
        report_text(r, "thread level", level_name(thread_level));
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&value, &found);
        report_number(r, "largest tag", found ? *value : 0);
        MPI_Win_get_attr(window, MPI_WIN_MODEL, (void *)&value, &found);
        report_text(r, "memory model", found && *value == MPI_WIN_UNIFIED ? "unified" : "separate");
        if (size > 1)
            report_yes(r, "puts land outside of MPI", one_sided);
        report_yes(r, "8-byte atomics lose nothing", sound_of_8);
        report_yes(r, "4-byte atomics lose nothing", sound_of_4);
        report_number(r, "8-byte atomic, ns", (double)(long)ns_of_8);
        report_close(r);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    return 0;
}
