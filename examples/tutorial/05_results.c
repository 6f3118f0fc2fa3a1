/* Results of calls, several at a time; and calls without results, counted. Run: mpirun -n 3
 * 05_results */
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "results: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

enum { RANKS_MAX = 16 };

TERN_REMOTE_RETURN(double, mean, TERN_BUFFER(double, values))

tern_status mean_here(tern_call_info *call, const double *values, size_t values_count,
                      double *result) {
    double sum = 0;
    if (values_count == 0)
        return tern_call_fail(call, TERN_ERR_RANGE, "the mean of nothing");
    for (size_t i = 0; i < values_count; i++)
        sum += values[i];
    *result = sum / (double)values_count;
    return TERN_OK;
}

static unsigned marks;

static tern_status mark(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    marks++;
    return TERN_OK;
}
TERN_FUNCTION(mark)

static void ask_everybody(tern_worker *worker, uint32_t size) {
    const double values[] = {1, 2, 3, 6};
    tern_request request[RANKS_MAX] = {0};
    double result[RANKS_MAX];
    for (uint32_t i = 0; i < size; i++)
        check(mean_start(worker, (tern_worker_id){i, 0}, values, 4, &result[i], &request[i]));
    check(tern_wait_all(worker, request, size));
    printf("rank 0 got a mean of %.1f from each of %u ranks\n", result[size - 1], size);

    tern_status status = mean(worker, (tern_worker_id){0, 0}, values, 0, &result[0]);
    printf("%s\n", status == TERN_ERR_RANGE ? tern_error_detail() : "no error?");
}

/* The counter of a synchronizer falls when a call has run: no result has to come back. */
static void mark_everybody(tern_worker *worker, uint32_t size) {
    tern_synchronizer synchronizer;
    check(tern_synchronizer_create(worker, &synchronizer));
    tern_call_options options = {.synchronizer = &synchronizer, .notify = TERN_ON_EXECUTED};
    for (uint32_t i = 0; i < size; i++)
        check(tern_call_with(worker, (tern_worker_id){i, 0}, &mark_function, "", 0, &options));
    check(tern_synchronizer_wait(worker, synchronizer));
    printf("all %u ranks have a mark\n", size);
    check(tern_synchronizer_destroy(worker, &synchronizer));
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    uint32_t rank = tern_context_rank(context), size = tern_context_size(context);
    if (rank == 0 && size <= RANKS_MAX) {
        ask_everybody(worker, size);
        mark_everybody(worker, size);
    }
    check(tern_barrier(worker)); /* the others serve rank 0 in here */
    printf("rank %u has %u mark\n", rank, marks);
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
