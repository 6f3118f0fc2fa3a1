/*
 * The operations of a table of 8-byte keys whose instructions count.sh counts: OPERATIONS inserts
 * of new keys, as many finds, and with the argument "twice" as many inserts of keys that are there.
 */

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tern/tern.h"

enum { OPERATIONS = 1000 };

static uint64_t key_of(uint64_t i) { return (i + 1) * UINT64_C(0x9E3779B97F4A7C15); }

static int insert_all(tern_worker *worker, tern_hashtable *table, int existed) {
    int good = 0;
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        uint64_t key = key_of(i);
        int before = -1;
        good += tern_hashtable_insert(worker, table, &key, &i, 0, &before) == TERN_OK &&
                before == existed;
    }
    return good == OPERATIONS;
}

static int find_all(tern_worker *worker, tern_hashtable *table) {
    int good = 0;
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        uint64_t key = key_of(i);
        uint64_t value = 0;
        good += tern_hashtable_find(worker, table, &key, 0, &value) == TERN_OK && value == i;
    }
    return good == OPERATIONS;
}

static int fail(const char *what) {
    fprintf(stderr, "operations: %s: %s\n", what, tern_error_detail());
    return 1;
}

int main(int argc, char **argv) {
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    tern_context *context;
    if (tern_context_create(MPI_COMM_WORLD, NULL, &context) != TERN_OK)
        return fail("context");
    tern_worker *worker;
    if (tern_worker_adopt(context, 0, &worker) != TERN_OK)
        return fail("worker");
    tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = 8, .capacity = 4 * (size_t)OPERATIONS};
    tern_hashtable *table;
    if (tern_hashtable_create(worker, &options, &table) != TERN_OK)
        return fail("table");

    int good = insert_all(worker, table, 0) && find_all(worker, table);
    if (argc > 1 && strcmp(argv[1], "twice") == 0)
        good = good && insert_all(worker, table, 1);
    if (!good)
        return fail("an operation");

    if (tern_hashtable_destroy(worker, table) != TERN_OK ||
        tern_worker_release(worker) != TERN_OK || tern_context_destroy(context) != TERN_OK)
        return fail("the end");
    return MPI_Finalize() != MPI_SUCCESS;
}
