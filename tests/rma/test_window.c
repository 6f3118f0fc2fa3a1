// tern-test: transports

/*
 * What tern hands MPI it takes back: every one-sided request has been completed when its context is
 * gone. MPI itself does not tell, so its functions are counted here.
 */

#include "fixture.h"

enum { LIVE_MAX = 256 };
static MPI_Request live[LIVE_MAX];
static size_t live_count, started, missed;

static int begun(int code, const MPI_Request *request) {
    started++;
    if (code == MPI_SUCCESS && live_count < LIVE_MAX)
        live[live_count++] = *request;
    else
        missed++;
    return code;
}

/* MPI may give several requests that are done at once the same name. */
static void ended(MPI_Request request) {
    for (size_t i = 0; i < live_count; i++) {
        if (live[i] == request) {
            live[i] = live[--live_count];
            return;
        }
    }
}

int PMPI_Rput(const void *from, int count, MPI_Datatype type, int target, MPI_Aint at, int at_count,
              MPI_Datatype at_type, MPI_Win win, MPI_Request *request) {
    return begun(MPI_Rput(from, count, type, target, at, at_count, at_type, win, request), request);
}

int PMPI_Rget(void *to, int count, MPI_Datatype type, int target, MPI_Aint at, int at_count,
              MPI_Datatype at_type, MPI_Win win, MPI_Request *request) {
    return begun(MPI_Rget(to, count, type, target, at, at_count, at_type, win, request), request);
}

int PMPI_Rget_accumulate(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                         MPI_Datatype to_type, int target, MPI_Aint at, int at_count,
                         MPI_Datatype at_type, MPI_Op op, MPI_Win win, MPI_Request *request) {
    return begun(MPI_Rget_accumulate(from, count, type, to, to_count, to_type, target, at, at_count,
                                     at_type, op, win, request),
                 request);
}

int PMPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    MPI_Request before = *request;
    int code = MPI_Test(request, done, status);
    if (code == MPI_SUCCESS && *done && before != MPI_REQUEST_NULL)
        ended(before);
    return code;
}

static tern_status echo(tern_call_info *call, const void *arguments, size_t bytes) {
    memcpy(call->result, arguments, bytes);
    call->result_bytes = bytes;
    return TERN_OK;
}
TERN_FUNCTION(echo)

/* Replies, and reports of what was consumed, are what nobody waits for. */
static void talk(fixture *f) {
    uint64_t random = fixture_seed(f, 4711), wrong = 0;
    int times = fixture_times(f, 300);
    for (int i = 0; i < times; i++) {
        char out[200], in[200] = {0};
        size_t bytes = 1 + below(&random, sizeof out), got = 0;
        tern_worker_id to = {(uint32_t)below(&random, f->size), 0};
        memset(out, i, sizeof out);
        EXPECT_OK(tern_call_return(f->worker, to, &echo_function, out, bytes, in, sizeof in, &got));
        wrong += got != bytes || memcmp(in, out, bytes) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void requests_end_with_the_context(void) {
    for (int round = 0; round < 2; round++) {
        fixture f;
        tern_config config;
        EXPECT_OK(tern_config_init(&config));
        config.segment_size = (size_t)1 << 20;
        config.ring_size = 4096;
        live_count = started = missed = 0;
        if (!fixture_open(&f, &config))
            return;
        bool rma = fixture_uses_rma(&f);
        talk(&f);
        EXPECT_OK(tern_barrier(f.worker));
        fixture_close(&f);
        CU_ASSERT(started > 0 || !rma);
        CU_ASSERT_EQUAL(missed, 0);
        CU_ASSERT_EQUAL(live_count, 0);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"requests_end_with_the_context", requests_end_with_the_context}};
    return tern_test_main(argc, argv, "window", tests, 1);
}
