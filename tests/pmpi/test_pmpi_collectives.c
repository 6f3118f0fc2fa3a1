/* Collectives of MPI under libtern_pmpi, and those that have no non-blocking form. */

#include "pmpi_tools.h"

#include <stdlib.h>
#include <unistd.h>

static int sum(void) { return size * (size - 1) / 2; }

static void of_one_value(MPI_Comm comm) {
    int value = rank == 0 ? 7 : 0, got = -1;
    MPI_Barrier(comm);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    CU_ASSERT_EQUAL(value, 7);
    MPI_Reduce(&rank, &got, 1, MPI_INT, MPI_SUM, size - 1, comm);
    CU_ASSERT_EQUAL(got, rank == size - 1 ? sum() : -1);
    MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, comm);
    CU_ASSERT_EQUAL(got, sum());
    MPI_Scan(&rank, &got, 1, MPI_INT, MPI_SUM, comm);
    CU_ASSERT_EQUAL(got, rank * (rank + 1) / 2);
    got = 0;
    MPI_Exscan(&rank, &got, 1, MPI_INT, MPI_SUM, comm);
    CU_ASSERT_EQUAL(got, rank * (rank - 1) / 2);
}

/* counts of 1 at places in reverse order. */
static void of_many_values(MPI_Comm comm) {
    int mine[MOST], got[MOST], one[MOST], at[MOST], at_bytes[MOST];
    MPI_Datatype types[MOST];
    for (int r = 0; r < size; r++) {
        mine[r] = 10 * rank + r;
        one[r] = 1;
        at[r] = size - 1 - r;
        at_bytes[r] = at[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    int right[8] = {0}, value = -1;
    MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        right[0] += got[r] == r;
    MPI_Allgatherv(&rank, 1, MPI_INT, got, one, at, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        right[1] += got[at[r]] == r;
    MPI_Alltoall(mine, 1, MPI_INT, got, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        right[2] += got[r] == 10 * r + rank;
    MPI_Alltoallv(mine, one, at, MPI_INT, got, one, at, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        right[3] += got[at[r]] == 10 * r + at[rank];
    MPI_Alltoallw(mine, one, at_bytes, types, got, one, at_bytes, types, comm);
    for (int r = 0; r < size; r++)
        right[4] += got[at[r]] == 10 * r + at[rank];
    MPI_Gather(&rank, 1, MPI_INT, got, 1, MPI_INT, 0, comm);
    for (int r = 0; r < size; r++)
        right[5] += rank != 0 || got[r] == r;
    MPI_Gatherv(&rank, 1, MPI_INT, got, one, at, MPI_INT, 0, comm);
    for (int r = 0; r < size; r++)
        right[6] += rank != 0 || got[at[r]] == r;
    for (int i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(right[i], size);
    MPI_Scatter(mine, 1, MPI_INT, &value, 1, MPI_INT, 0, comm);
    CU_ASSERT_EQUAL(value, rank);
    MPI_Scatterv(mine, one, at, MPI_INT, &value, 1, MPI_INT, 0, comm);
    CU_ASSERT_EQUAL(value, at[rank]);
    MPI_Reduce_scatter(mine, &value, one, MPI_INT, MPI_SUM, comm);
    CU_ASSERT_EQUAL(value, 10 * sum() + size * rank);
    MPI_Reduce_scatter_block(mine, &value, 1, MPI_INT, MPI_SUM, comm);
    CU_ASSERT_EQUAL(value, 10 * sum() + size * rank);
}

static void in_place(MPI_Comm comm) {
    int value = rank, got[MOST], right = 0;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
    CU_ASSERT_EQUAL(value, sum());
    value = rank;
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &value, rank == 0 ? &value : NULL, 1, MPI_INT, MPI_SUM, 0,
               comm);
    CU_ASSERT_EQUAL(value, rank == 0 ? sum() : rank);
    got[rank] = rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        right += got[r] == r;
    CU_ASSERT_EQUAL(right, size);
}

static void of_neighbours(MPI_Comm comm) {
    int round = 1, mine[2] = {rank, 100 + rank}, got[2] = {-1, -1}, one[2] = {1, 1}, at[2] = {0, 1};
    MPI_Aint at_bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm ring;
    MPI_Cart_create(comm, 1, &size, &round, 0, &ring);
    MPI_Neighbor_allgather(mine, 1, MPI_INT, got, 1, MPI_INT, ring);
    CU_ASSERT(got[0] == last && got[1] == next);
    MPI_Neighbor_allgatherv(mine, 1, MPI_INT, got, one, at, MPI_INT, ring);
    CU_ASSERT(got[0] == last && got[1] == next);
    if (size > 2) { /* with fewer MPIs differ in which of the two edges is which */
        MPI_Neighbor_alltoall(mine, 1, MPI_INT, got, 1, MPI_INT, ring);
        CU_ASSERT(got[0] == 100 + last && got[1] == next);
        MPI_Neighbor_alltoallv(mine, one, at, MPI_INT, got, one, at, MPI_INT, ring);
        CU_ASSERT(got[0] == 100 + last && got[1] == next);
        MPI_Neighbor_alltoallw(mine, one, at_bytes, types, got, one, at_bytes, types, ring);
        CU_ASSERT(got[0] == 100 + last && got[1] == next);
    }
    MPI_Comm_free(&ring);
}

/* Each rank in a communicator of its own kind, and all of them in one again. */
static void of_communicators(MPI_Comm comm) {
    MPI_Comm half, all, parts;
    MPI_Group group;
    int members = 0;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Barrier(half);
    MPI_Comm_dup(comm, &all);
    MPI_Allreduce(&rank, &members, 1, MPI_INT, MPI_SUM, all);
    CU_ASSERT_EQUAL(members, sum());
    MPI_Comm_disconnect(&all);
    MPI_Comm_group(comm, &group);
    MPI_Comm_create(comm, group, &all);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &parts);
    MPI_Barrier(parts);
    MPI_Group_free(&group);
    MPI_Comm_free(&parts);
    MPI_Comm_free(&all);
    MPI_Comm_free(&half);
}

static void of_intercommunicators(MPI_Comm comm) {
    if (size == 1)
        return;
    MPI_Comm half, across, merged;
    const bool low = rank % 2 == 0;
    int value = 0, root = low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, low ? 1 : 0, 5, &across);
    MPI_Barrier(across);
    value = rank == 0 ? 77 : 0;
    MPI_Bcast(&value, 1, MPI_INT, root, across);
    CU_ASSERT_EQUAL(value, rank == 0 || !low ? 77 : 0);
    MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_MAX, across);
    CU_ASSERT_EQUAL(value % 2, low);
    MPI_Intercomm_merge(across, !low, &merged);
    MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, merged);
    CU_ASSERT_EQUAL(value, sum());
    MPI_Comm_free(&merged);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

/* Open MPI makes no window on a communicator of one process (open-mpi/ompi#10726). */
static void of_windows(MPI_Comm comm) {
    if (size == 1)
        return;
    static int memory;
    MPI_Win window;
    memory = -1;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CU_ASSERT_EQUAL(memory, last);
    MPI_Win_free(&window);
    CU_ASSERT(window == MPI_WIN_NULL);
}

static void of_files(MPI_Comm comm) {
    static char name[64];
    MPI_File file;
    int got = -1;
    if (rank == 0)
        snprintf(name, sizeof name, "/tmp/tern-pmpi-%d", (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT,
                          MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(comm);
    MPI_File_read_at_all(file, next * (MPI_Offset)sizeof rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CU_ASSERT_EQUAL(got, next);
    MPI_File_close(&file);
}

static void all_late(void (*call)(MPI_Comm)) {
    fixture f;
    if (!open_beside(&f, NULL))
        return;
    all_late_to(&f, call);
    close_beside(&f);
}

static void one_value(void) { all_late(of_one_value); }
static void many_values(void) { all_late(of_many_values); }
static void values_in_place(void) { all_late(in_place); }
static void neighbours(void) { all_late(of_neighbours); }
static void communicators(void) { all_late(of_communicators); }
static void intercommunicators(void) { all_late(of_intercommunicators); }
static void windows(void) { all_late(of_windows); }
static void files(void) { all_late(of_files); }

/* Ranks are late to what is done with a window and a file that are there, and to their end. */
static void used_late(void) {
    fixture f;
    if (!open_beside(&f, NULL))
        return;
    static int memory;
    static char name[64];
    MPI_Win window = MPI_WIN_NULL;
    MPI_File file;
    if (rank == 0)
        snprintf(name, sizeof name, "/tmp/tern-pmpi-%d", (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, f.comm);
    if (size > 1)
        MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, f.comm, &window);
    MPI_File_open(f.comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    for (int late = 0; late < size; late++) {
        if (rank == late)
            come_late(&f);
        if (size > 1)
            MPI_Win_fence(0, window);
        if (rank == late)
            come_late(&f);
        MPI_File_write_at_all(file, 0, &rank, 0, MPI_INT, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        come_late(&f);
    if (size > 1)
        MPI_Win_free(&window);
    if (rank == size - 1)
        come_late(&f);
    MPI_File_close(&file);
    CU_ASSERT(window == MPI_WIN_NULL && file == MPI_FILE_NULL);
    close_beside(&f);
}

/* Ranks outside of the context are in the communicator: nothing is converted, and all match. */
static void half_of_the_ranks(void) {
    fixture f;
    MPI_Comm half;
    int total = 0, world_rank = tern_test_rank();
    const bool in = world_rank < (tern_test_size() + 1) / 2;
    MPI_Comm_split(MPI_COMM_WORLD, in, world_rank, &half);
    if (in)
        EXPECT_OK(tern_context_create(half, NULL, &f.context));
    for (int i = 0; i < 3; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&world_rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CU_ASSERT_EQUAL(total, tern_test_size() * (tern_test_size() - 1) / 2);
        MPI_Barrier(half);
    }
    if (in)
        EXPECT_OK(tern_context_destroy(f.context));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&half);
}

/* Before, between and after the lives of contexts, two of them at once. */
static void contexts_come_and_go(void) {
    fixture f, second;
    int value = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
        if (!open_beside(&f, NULL) || !fixture_open(&second, NULL))
            return;
        all_late_to(&f, of_one_value);
        MPI_Barrier(comm);
        fixture_close(&second);
        all_late_to(&f, of_one_value);
        MPI_Barrier(comm);
        close_beside(&f);
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"one_value", one_value},
        {"many_values", many_values},
        {"values_in_place", values_in_place},
        {"neighbours", neighbours},
        {"communicators", communicators},
        {"intercommunicators", intercommunicators},
        {"windows", windows},
        {"files", files},
        {"used_late", used_late},
        {"half_of_the_ranks", half_of_the_ranks},
        {"contexts_come_and_go", contexts_come_and_go},
    };
    return tern_test_main(argc, argv, "pmpi_collectives", tests, sizeof tests / sizeof tests[0]);
}
