/*
 * A program with a context and a table calls a stencil that knows nothing of tern. Rank after rank
 * comes late to it, because it works by call on the parts of those that are in it already. With
 * libtern_pmpi it prints "finished"; without, the first late rank waits for the others and they for
 * it, and it prints "stalled" after some seconds (its argument).
 */

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tern/tern.h>

double stencil(MPI_Comm comm, int steps);

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "beside: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void stalled(int signal) {
    (void)signal;
    static const char text[] = "stalled\n";
    _exit(write(STDOUT_FILENO, text, sizeof text - 1) < 0 ? 2 : 3);
}

static void work(tern_worker *worker, tern_hashtable *table) {
    for (uint64_t key = 0; key < 200; key++) {
        uint64_t value = 0;
        check(tern_hashtable_insert(worker, table, &key, &key, TERN_BY_CALL, NULL));
        check(tern_hashtable_find(worker, table, &key, TERN_BY_CALL, &value));
    }
}

int main(int argc, char **argv) {
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    tern_context *context;
    tern_worker *worker;
    tern_hashtable *table;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_hashtable_create(worker, &options, &table));
    signal(SIGALRM, stalled);
    alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 50);
    const uint32_t rank = tern_context_rank(context);
    double total = 1;
    for (uint32_t late = 0; late < tern_context_size(context); late++) {
        if (rank == late)
            work(worker, table);
        total = fmin(total, stencil(MPI_COMM_WORLD, 50));
    }
    alarm(0);
    check(tern_hashtable_destroy(worker, table));
    check(tern_context_destroy(context));
    if (rank == 0)
        puts(fabs(total - 1) < 1e-9 ? "finished" : "wrong");
    return MPI_Finalize();
}
