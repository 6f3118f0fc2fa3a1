// tern-test: transports
/*
 * MPI_Finalize while a context is there and its service threads are at work: it ends, with a word
 * about the order of things, and what is left can be destroyed.
 */

#include <stdio.h>

#include "fixture.h"

static fixture left;

static tern_status count(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    call->result_bytes = 0;
    return TERN_OK;
}
TERN_FUNCTION(count)

/* From here on all calls of MPI are made under the lock, those of the harness too. */
static void a_context_is_left(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.service_threads = 2;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&left, &config))
        return;
    if (fixture_uses_rma(&left)) {
        tern_test_skip("MPICH over UCX aborts by itself where a window is left");
        fixture_close(&left);
        left.context = NULL;
        return;
    }
    for (uint32_t r = 0; r < left.size; r++)
        EXPECT_OK(tern_call_return(left.worker, tern_context_service(left.context, r),
                                   &count_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(left.worker));
    tern_mpi_lock();
}

/* CUnit is over: says what went wrong, if anything did. */
static int after_mpi(tern_context *context) {
    tern_context *fresh = NULL;
    tern_status again = tern_context_create(MPI_COMM_WORLD, NULL, &fresh);
    tern_status end = tern_context_destroy(context);
    if (again == TERN_ERR_STATE && end == TERN_OK)
        return 0;
    fprintf(stderr, "FAILED finalize on rank %d: create gave '%s', destroy '%s'\n",
            tern_test_rank(), tern_strerror(again), tern_strerror(end));
    return 1;
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_context_is_left", a_context_is_left}};
    int status = tern_test_main(argc, argv, "finalize", tests, 1);
    if (left.context == NULL)
        return status;
    tern_mpi_unlock();
    return status != 0 ? status : after_mpi(left.context);
}
