// tern-test: transports

/*
 * Waiting in MPI that is waiting in tern: while a rank waits by tern_mpi_wait or _waitall, others
 * work on its part of a table by call, each of which needs the rank's progress.
 */

#include "table_tools.h"
#include "tern/progress.h"

enum { KEYS = 20 };

static tern_hashtable *table;
static MPI_Comm returning; /* errors return */

static bool open_table(fixture *f) {
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    if (!fixture_open(f, NULL))
        return false;
    MPI_Comm_dup(f->comm, &returning);
    MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
    return EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
}

static void close_table(fixture *f) {
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    MPI_Comm_free(&returning);
    fixture_close(f);
}

/* Inserts and finds keys of every other rank, which has to serve each. */
static void work_by_call(fixture *f) {
    for (uint32_t r = 0; r < f->size; r++) {
        for (uint64_t i = 0, key = f->rank * 1000; r != f->rank && i < KEYS; i++, key++) {
            uint64_t value = 0;
            key = number_owned_by(table, r, key);
            EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, &key, TERN_BY_CALL, NULL));
            EXPECT_OK(tern_hashtable_find(f->worker, table, &key, TERN_BY_CALL, &value));
            CU_ASSERT_EQUAL(value, key);
        }
    }
}

static void meet_by_mpi(const fixture *f) {
    MPI_Request request;
    tern_mpi_lock();
    MPI_Ibarrier(f->comm, &request);
    tern_mpi_unlock();
    EXPECT_OK(tern_mpi_wait(f->worker, &request, MPI_STATUS_IGNORE));
}

/* One rank after the other comes late, because it works on the parts of those that wait. */
static void in_a_barrier(void) {
    fixture f;
    if (!open_table(&f))
        return;
    for (uint32_t late = 0; late < f.size; late++) {
        if (f.rank == late)
            work_by_call(&f);
        meet_by_mpi(&f);
    }
    close_table(&f);
}

/* Rank 0 sends each rank a message after it has worked on its part. */
static void for_a_message(void) {
    fixture f;
    if (!open_table(&f))
        return;
    int got = 0;
    MPI_Status status = {.MPI_ERROR = 4711};
    MPI_Request request = MPI_REQUEST_NULL;
    if (f.rank > 0)
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, f.comm, &request);
    if (f.rank == 0)
        work_by_call(&f);
    for (uint32_t r = 1; r < f.size && f.rank == 0; r++) {
        int number = 100 + (int)r;
        MPI_Isend(&number, 1, MPI_INT, (int)r, (int)r, f.comm, &request);
        EXPECT_OK(tern_mpi_wait(f.worker, &request, MPI_STATUS_IGNORE));
    }
    EXPECT_OK(tern_mpi_wait(f.worker, &request, &status));
    CU_ASSERT(request == MPI_REQUEST_NULL);
    if (f.rank > 0) {
        CU_ASSERT_EQUAL(got, 100 + (int)f.rank);
        CU_ASSERT_EQUAL(status.MPI_SOURCE, 0);
        CU_ASSERT_EQUAL(status.MPI_TAG, (int)f.rank);
        CU_ASSERT_EQUAL(status.MPI_ERROR, 4711);
    }
    close_table(&f);
}

/* Each rank waits for messages of all, one of them by a persistent request, and comes late once. */
static void for_many_messages(void) {
    fixture f;
    if (!open_table(&f))
        return;
    const int size = (int)f.size;
    int mine[2] = {(int)f.rank, 1000 + (int)f.rank}, got[2][64];
    MPI_Request requests[4 * 64], persistent;
    MPI_Status statuses[4 * 64];
    int count = 0;
    for (int r = 0; r < size; r++) {
        MPI_Irecv(&got[0][r], 1, MPI_INT, r, 0, f.comm, &requests[count++]);
        if (r > 0)
            MPI_Irecv(&got[1][r], 1, MPI_INT, r, 1, f.comm, &requests[count++]);
    }
    MPI_Recv_init(&got[1][0], 1, MPI_INT, 0, 1, f.comm, &persistent);
    MPI_Start(&persistent);
    requests[count++] = persistent;
    for (uint32_t late = 0; late < f.size; late++) {
        if (f.rank == late)
            work_by_call(&f);
        meet_by_mpi(&f);
    }
    for (int r = 0; r < 2 * size; r++)
        MPI_Isend(&mine[r % 2], 1, MPI_INT, r / 2, r % 2, f.comm, &requests[count++]);
    EXPECT_OK(tern_mpi_waitall(f.worker, count, requests, statuses));
    for (int r = 0; r < size; r++)
        CU_ASSERT(got[0][r] == r && got[1][r] == 1000 + r);
    CU_ASSERT_EQUAL(statuses[0].MPI_SOURCE, 0);
    CU_ASSERT(requests[0] == MPI_REQUEST_NULL && requests[2 * size - 1] == persistent);
    /* Nothing is left to wait for: the persistent request is inactive. */
    EXPECT_OK(tern_mpi_waitall(f.worker, count, requests, MPI_STATUSES_IGNORE));
    EXPECT_OK(tern_mpi_waitall(f.worker, 0, NULL, MPI_STATUSES_IGNORE));
    MPI_Request_free(&persistent);
    close_table(&f);
}

/* Each rank sends the next two messages, the second longer than its receive. */
static void send_one_too_long(fixture *f, MPI_Request *requests, int *numbers) {
    const int next = (int)((f->rank + 1) % f->size),
              last = (int)((f->rank + f->size - 1) % f->size);
    MPI_Irecv(&numbers[0], 1, MPI_INT, last, 0, returning, &requests[0]);
    MPI_Irecv(&numbers[1], 1, MPI_INT, last, 1, returning, &requests[1]);
    MPI_Send(numbers + 2, 1, MPI_INT, next, 0, returning);
    MPI_Send(numbers + 2, 2, MPI_INT, next, 1, returning);
}

/* MPICH raises errors of requests on MPI_COMM_WORLD; Open MPI overlooks one in a message to the own
 * rank. */
static void errors_of_mpi(void) {
    fixture f;
    if (tern_test_size() == 1) {
        tern_test_skip("needs a message of another rank");
        return;
    }
    if (!open_table(&f))
        return;
    int numbers[4] = {0, 0, 42, 43}, class = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    send_one_too_long(&f, requests, numbers);
    EXPECT_OK(tern_mpi_wait(f.worker, &requests[0], MPI_STATUS_IGNORE));
    EXPECT(TERN_ERR_MPI, tern_mpi_wait(f.worker, &requests[1], MPI_STATUS_IGNORE));
    EXPECT_DETAIL("runcate");
    CU_ASSERT_PTR_NULL(strchr(tern_error_detail(), '\n'));
    send_one_too_long(&f, requests, numbers);
    EXPECT(TERN_ERR_MPI, tern_mpi_waitall(f.worker, 2, requests, statuses));
    CU_ASSERT_EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    MPI_Error_class(statuses[1].MPI_ERROR, &class);
    CU_ASSERT_EQUAL(class, MPI_ERR_TRUNCATE);
    CU_ASSERT_EQUAL(numbers[0], 42);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    close_table(&f);
}

static void bad_arguments(void) {
    fixture f;
    if (!open_table(&f))
        return;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_mpi_wait(NULL, &request, MPI_STATUS_IGNORE));
    EXPECT(TERN_ERR_ARGUMENT, tern_mpi_wait(f.worker, NULL, MPI_STATUS_IGNORE));
    EXPECT_DETAIL("tern_mpi_wait");
    EXPECT(TERN_ERR_ARGUMENT, tern_mpi_waitall(f.worker, -1, &request, MPI_STATUSES_IGNORE));
    EXPECT(TERN_ERR_ARGUMENT, tern_mpi_waitall(f.worker, 1, NULL, MPI_STATUSES_IGNORE));
    close_table(&f);
}

/* The status that each function gives in a handler. */
static tern_status wait_here(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_status given[2];
    MPI_Request request = MPI_REQUEST_NULL;
    (void)arguments;
    (void)bytes;
    given[0] = tern_mpi_wait(call->worker, &request, MPI_STATUS_IGNORE);
    given[1] = tern_mpi_waitall(call->worker, 1, &request, MPI_STATUSES_IGNORE);
    memcpy(call->result, given, sizeof given);
    call->result_bytes = sizeof given;
    return TERN_OK;
}
TERN_FUNCTION(wait_here)

static void not_in_handlers(void) {
    fixture f;
    if (!open_table(&f))
        return;
    tern_status given[2] = {TERN_OK, TERN_OK};
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    EXPECT_OK(
        tern_call_return(f.worker, next, &wait_here_function, NULL, 0, given, sizeof given, NULL));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(given[i], TERN_ERR_STATE);
    close_table(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"in_a_barrier", in_a_barrier},           {"for_a_message", for_a_message},
        {"for_many_messages", for_many_messages}, {"errors_of_mpi", errors_of_mpi},
        {"bad_arguments", bad_arguments},         {"not_in_handlers", not_in_handlers},
    };
    return tern_test_main(argc, argv, "mpi_wait", tests, sizeof tests / sizeof tests[0]);
}
