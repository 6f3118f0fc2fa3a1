// tern-test: transports
/*
 * MPI_Finalize while a context is there and its service threads are at work: it ends, with a word
 * about the order of things, and what is left can be destroyed.
 */

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"

static fixture left;
static tern_queue *queue; /* left too */
static int log_file = -1, log_before = -1;

/* From here on standard error, and so the log, goes to a file. */
static void catch_log(void) {
    tern_log_set_level(TERN_LOG_ERROR);
    log_before = dup(STDERR_FILENO);
    log_file = memfd_create("log", 0);
    dup2(log_file, STDERR_FILENO);
}

/* Whether the log has the line, with the queue in it, once in the job: on rank 0. */
static bool log_is_right(void) {
    static char text[1 << 16];
    dup2(log_before, STDERR_FILENO);
    ssize_t got = pread(log_file, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = 0;
    const char *line = strstr(text, "MPI_Finalize before");
    if (left.rank != 0)
        return line == NULL;
    return line != NULL && strstr(line, "1 objects: queue") != NULL &&
           strstr(line + 1, "MPI_Finalize before") == NULL;
}

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
    tern_queue_options options = {.item_bytes = 8, .capacity = 4};
    EXPECT_OK(tern_queue_create(left.worker, &options, &queue));
    EXPECT_OK(tern_barrier(left.worker));
    catch_log();
    tern_mpi_lock();
}

/* CUnit is over: says what went wrong, if anything did. */
static int after_mpi(tern_context *context) {
    tern_context *fresh = NULL;
    tern_status again = tern_context_create(MPI_COMM_WORLD, NULL, &fresh);
    bool logged = log_is_right();
    if (!logged)
        fprintf(stderr, "FAILED finalize on rank %d: not one line in the log\n", tern_test_rank());
    tern_status end = tern_context_destroy(context);
    if (again == TERN_ERR_STATE && end == TERN_OK)
        return logged ? 0 : 1;
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
