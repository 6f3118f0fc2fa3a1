/* Messages of MPI under libtern_pmpi, waits for requests, threads and handlers. */

#include "pmpi_tools.h"

#include <stdlib.h>

#include "src/peers/activity.h"

enum { LARGE = 1 << 18 }; /* beyond what MPI sends before it is received */

static int large[LARGE], room[LARGE];

static bool alone(void) {
    if (tern_test_size() > 1)
        return false;
    tern_test_skip("needs a message of another rank");
    return true;
}

/* Receives from the one before, which may be late; even ranks send first. */
static void in_turn(MPI_Comm comm,
                    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm)) {
    MPI_Status status = {.MPI_ERROR = 4711};
    int count = 0;
    MPI_Request request;
    large[LARGE - 1] = rank;
    /* A receive must be there before a ready send. */
    MPI_Irecv(room, LARGE, MPI_INT, last, 3, comm, &request);
    MPI_Barrier(comm);
    send(large, LARGE, MPI_INT, next, 3, comm);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CU_ASSERT(room[LARGE - 1] == last && count == LARGE);
    CU_ASSERT(status.MPI_SOURCE == last && status.MPI_TAG == 3 && status.MPI_ERROR == 4711);
}

static void sends_of(MPI_Comm comm) {
    in_turn(comm, MPI_Send);
    in_turn(comm, MPI_Ssend);
    in_turn(comm, MPI_Rsend);
}

static void receives_of(MPI_Comm comm) {
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int got = -1;
    MPI_Isend(&rank, 1, MPI_INT, next, 1, comm, &request);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
    CU_ASSERT_EQUAL(got, last);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Isend(&rank, 1, MPI_INT, next, 2, comm, &request);
    MPI_Probe(MPI_ANY_SOURCE, 2, comm, &status);
    CU_ASSERT_EQUAL(status.MPI_SOURCE, last);
    MPI_Mprobe(last, MPI_ANY_TAG, comm, &message, &status);
    CU_ASSERT_EQUAL(status.MPI_TAG, 2);
    got = -1;
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    CU_ASSERT(got == last && message == MPI_MESSAGE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchanges_of(MPI_Comm comm) {
    MPI_Datatype every_other;
    MPI_Status status;
    int got = -1, row[4] = {rank, -1, 10 + rank, -2};
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &got, 1, MPI_INT, last, 1, comm, &status);
    CU_ASSERT(got == last && status.MPI_SOURCE == last);
    large[LARGE - 1] = rank;
    MPI_Sendrecv_replace(large, LARGE, MPI_INT, next, 1, last, 1, comm, MPI_STATUS_IGNORE);
    CU_ASSERT_EQUAL(large[LARGE - 1], last);
    MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Sendrecv_replace(row, 1, every_other, next, 1, last, 1, comm, &status);
    CU_ASSERT(row[0] == last && row[1] == -1 && row[2] == 10 + last && row[3] == -2);
    MPI_Type_free(&every_other);
}

static void waits_of(MPI_Comm comm) {
    int got[4] = {-1, -1, -1, -1}, index = -1, count = 0, total = 0, indices[4];
    MPI_Request requests[4], sends[4];
    MPI_Status statuses[4];
    /* gcc takes MPICH's value for the address of an array, unless it does not see it. */
    MPI_Status *volatile ignored = MPI_STATUSES_IGNORE;
    for (int i = 0; i < 4; i++) {
        MPI_Recv_init(&got[i], 1, MPI_INT, last, i, comm, &requests[i]);
        MPI_Send_init(&rank, 1, MPI_INT, next, i, comm, &sends[i]);
    }
    for (int time = 0; time < 2; time++) {
        MPI_Startall(4, requests);
        MPI_Startall(4, sends);
        MPI_Waitany(4, requests, &index, statuses);
        CU_ASSERT(index >= 0 && index < 4 && got[index] == last);
        for (total = 1; total < 4; total += count) {
            MPI_Waitsome(4, requests, &count, indices, statuses);
            CU_ASSERT_FATAL(count > 0 && count < 4);
            CU_ASSERT(got[indices[0]] == last && statuses[0].MPI_TAG == indices[0]);
        }
        MPI_Waitall(4, sends, ignored);
        /* Inactive by now. */
        MPI_Waitsome(4, requests, &count, indices, statuses);
        CU_ASSERT_EQUAL(count, MPI_UNDEFINED);
        MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
        CU_ASSERT_EQUAL(index, MPI_UNDEFINED);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&requests[i]);
        MPI_Request_free(&sends[i]);
    }
}

static void nobody_of(MPI_Comm comm) {
    MPI_Status status;
    MPI_Message message;
    int count = -1, got = 5;
    MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CU_ASSERT(got == 5 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Send(&got, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Sendrecv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, &got, 1, MPI_INT, MPI_PROC_NULL, 0, comm,
                 &status);
    MPI_Probe(MPI_PROC_NULL, 0, comm, &status);
    CU_ASSERT_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, &status);
    CU_ASSERT_EQUAL(message, MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    MPI_Barrier(comm);
}

static void all_late(const tern_config *config, void (*call)(MPI_Comm)) {
    fixture f;
    if (!open_beside(&f, config))
        return;
    all_late_to(&f, call);
    close_beside(&f);
}

static void sends(void) { all_late(NULL, sends_of); }
static void receives(void) { all_late(NULL, receives_of); }
static void exchanges(void) { all_late(NULL, exchanges_of); }
static void waits(void) { all_late(NULL, waits_of); }
static void nobody(void) { all_late(NULL, nobody_of); }

/* MPICH raises errors of requests on MPI_COMM_WORLD, so its handler returns too. */
static void errors(void) {
    fixture f;
    if (alone() || !open_beside(&f, NULL))
        return;
    MPI_Comm comm;
    int two[2] = {1, 2}, got[2] = {0, 0}, class = 0, count = 0, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int some = 0; some < 2; some++) {
        MPI_Irecv(&got[0], 1, MPI_INT, last, 0, comm, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, last, 1, comm, &requests[1]);
        MPI_Send(two, 1, MPI_INT, next, 0, comm);
        MPI_Send(two, 2, MPI_INT, next, 1, comm);
        if (some) {
            int failed = 0;
            for (int total = 0; total < 2; total += count) {
                int code = MPI_Waitsome(2, requests, &count, indices, statuses);
                CU_ASSERT_FATAL(count > 0 && count <= 2);
                for (int i = 0; i < count && code != MPI_SUCCESS; i++)
                    failed += indices[i] == 1 && statuses[i].MPI_ERROR != MPI_SUCCESS;
            }
            CU_ASSERT_EQUAL(failed, 1);
            continue;
        }
        MPI_Error_class(MPI_Waitall(2, requests, statuses), &class);
        CU_ASSERT_EQUAL(class, MPI_ERR_IN_STATUS);
        CU_ASSERT_EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
        MPI_Error_class(statuses[1].MPI_ERROR, &class);
        CU_ASSERT_EQUAL(class, MPI_ERR_TRUNCATE);
    }
    MPI_Isend(two, 2, MPI_INT, next, 2, comm, &requests[0]);
    MPI_Error_class(MPI_Recv(got, 1, MPI_INT, last, 2, comm, MPI_STATUS_IGNORE), &class);
    CU_ASSERT_EQUAL(class, MPI_ERR_TRUNCATE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Error_class(MPI_Send(two, 1, MPI_INT, size + 7, 2, comm), &class);
    CU_ASSERT_EQUAL(class, MPI_ERR_RANK);
    MPI_Error_class(MPI_Bcast(two, 1, MPI_INT, size + 7, comm), &class);
    CU_ASSERT_EQUAL(class, MPI_ERR_ROOT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
    close_beside(&f);
}

/* Service threads call MPI at any time, so every call of MPI takes the lock, and one that the
 * program makes with the lock gives it back while it waits. */
static void locked_of(MPI_Comm comm) {
    int total = 0;
    tern_mpi_lock();
    MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, comm);
    receives_of(comm);
    tern_mpi_unlock();
    CU_ASSERT_EQUAL(total, size * (size - 1) / 2);
}

static void with_service_threads(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.service_threads = 1;
    all_late(&config, exchanges_of);
    all_late(&config, waits_of);
    all_late(&config, locked_of);
}

/* An operation of the program's that calls MPI, which holds the lock by then. */
static void add_ints(void *in, void *to, int *count, MPI_Datatype *type) {
    int bytes = 0;
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *count; i++)
        ((int *)to)[i] += ((int *)in)[i] + bytes - (int)sizeof(int);
}

static int copied;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *made) {
    (void)extra;
    (void)value;
    (void)copy;
    (void)key;
    int members = 0;
    MPI_Comm_size(comm, &members);
    copied += members == size;
    *made = 0;
    return MPI_SUCCESS;
}

static void callbacks_of(MPI_Comm comm) {
    MPI_Op op;
    MPI_Comm marked, copy;
    int total = 0, key = MPI_KEYVAL_INVALID;
    MPI_Op_create(add_ints, 1, &op);
    MPI_Allreduce(&rank, &total, 1, MPI_INT, op, comm);
    CU_ASSERT_EQUAL(total, size * (size - 1) / 2);
    MPI_Op_free(&op);
    copied = 0;
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(comm, &marked);
    MPI_Comm_set_attr(marked, key, &total);
    MPI_Comm_dup(marked, &copy);
    CU_ASSERT_EQUAL(copied, 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&marked);
    MPI_Comm_free_keyval(&key);
}

static void callbacks(void) {
    tern_config config;
    all_late(NULL, callbacks_of);
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.service_threads = 1;
    all_late(&config, callbacks_of);
}

/* How often it was called; it calls MPI itself, which runs no handler meanwhile. */
static int called, deepest, depth;

static tern_status talk_here(tern_call_info *call, const void *arguments, size_t bytes) {
    int got = 0;
    (void)call;
    (void)arguments;
    (void)bytes;
    depth++;
    deepest = depth > deepest ? depth : deepest;
    MPI_Sendrecv(&depth, 1, MPI_INT, 0, 9, &got, 1, MPI_INT, 0, 9, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    called += got == depth;
    depth--;
    return TERN_OK;
}
TERN_FUNCTION(talk_here)

/* Each rank calls the next ones and waits in MPI until that many came by; only a handler tells. */
static void handlers(void) {
    fixture f;
    enum { CALLS = 20 };
    called = deepest = 0;
    if (!open_beside(&f, NULL))
        return;
    for (int i = 0; i < CALLS; i++) {
        tern_worker_id to = {(uint32_t)next, 0};
        EXPECT_OK(tern_call_return(f.worker, to, &talk_here_function, NULL, 0, NULL, 0, NULL));
        MPI_Barrier(f.comm);
    }
    MPI_Barrier(f.comm);
    CU_ASSERT_EQUAL(called, CALLS);
    CU_ASSERT_EQUAL(deepest, 1);
    close_beside(&f);
}

static void no_handlers(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.pmpi_handlers = 0;
    if (!fixture_open(&f, &config))
        return;
    CU_ASSERT(!f.context->pmpi);
    const tern_worker_id to = {(f.rank + 1) % f.size, 0};
    /* Opens the ring, which may need the other one's progress. */
    EXPECT_OK(tern_call_return(f.worker, to, &talk_here_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    called = 0;
    MPI_Barrier(f.comm);
    EXPECT_OK(tern_call(f.worker, to, &talk_here_function, NULL, 0));
    for (int i = 0; i < 10; i++)
        MPI_Barrier(f.comm);
    CU_ASSERT_EQUAL(called, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(called, 1);
    fixture_close(&f);
}

static bool reports(const tern_activity *activity, const char *name) {
    uint64_t words[TERN_ACTIVITY_WORDS];
    for (size_t i = 0; i < TERN_ACTIVITY_WORDS; i++)
        words[i] = atomic_load(&activity->name[i]);
    return strncmp((const char *)words, name, sizeof words) == 0;
}

/* A rank that waits in MPI tells the ranks of its node in which call, for their stuck reports. */
static void reported(void) {
    fixture f;
    if (alone() || !open_beside(&f, NULL))
        return;
    const tern_activity *activity = f.context->activity(f.context, 0);
    int got = 0;
    if (rank == 0)
        MPI_Recv(&got, 1, MPI_INT, 1, 5, f.comm, MPI_STATUS_IGNORE);
    if (rank == 1) {
        for (double end = MPI_Wtime() + TERN_TEST_PATIENCE; activity != NULL && MPI_Wtime() < end;
             sched_yield())
            if (reports(activity, "MPI_Recv"))
                break;
        CU_ASSERT(activity == NULL || reports(activity, "MPI_Recv"));
        MPI_Send(&rank, 1, MPI_INT, 0, 5, f.comm);
    }
    close_beside(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"sends", sends},
        {"receives", receives},
        {"exchanges", exchanges},
        {"waits", waits},
        {"nobody", nobody},
        {"errors", errors},
        {"with_service_threads", with_service_threads},
        {"callbacks", callbacks},
        {"handlers", handlers},
        {"no_handlers", no_handlers},
        {"reported", reported},
    };
    return tern_test_main(argc, argv, "pmpi_messages", tests, sizeof tests / sizeof tests[0]);
}
