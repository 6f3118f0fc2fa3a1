/* What would an operation cost by RMA, and what by call? The model says, and a table tells what it
 * chose. Run: mpirun -n 2 10_choose */
#include <stdio.h>
#include <tern/model.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "choose: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static const char *cheaper(const tern_costs *target, const tern_costs *own,
                           tern_model_operation operation) {
    double rma, call;
    check(tern_model_predict(operation, TERN_BY_RMA, target, own, &rma));
    check(tern_model_predict(operation, TERN_BY_CALL, target, own, &call));
    return rma <= call ? "RMA" : "call";
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_hashtable *table;
    tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    tern_costs own, target, busy;
    char text[2048];
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_hashtable_create(worker, &options, &table));
    uint32_t rank = tern_context_rank(context), other = tern_context_size(context) - 1;

    if (rank == 0) { /* messages between nodes: a target that attends, and one that computes */
        tern_costs_guess(TERN_SHM, &own);
        tern_costs_guess(TERN_RMA, &target);
        tern_costs_computing(&target, TERN_RMA, 1e6, &busy);
        printf("find: %s; ", cheaper(&target, &own, TERN_MODEL_FIND));
        printf("update: %s; ", cheaper(&target, &own, TERN_MODEL_UPDATE));
        printf("update where the owner computes: %s\n", cheaper(&busy, &own, TERN_MODEL_UPDATE));
    }

    for (uint64_t key = 0; key < 100; key++) /* either path works on the same table */
        check(tern_hashtable_insert(worker, table, &key, &key, key % 2 ? TERN_BY_RMA : TERN_BY_CALL,
                                    NULL));
    if (rank == 0) {
        check(tern_hashtable_explain(worker, table, other, text, sizeof text, NULL));
        printf("%s", text);
    }

    check(tern_hashtable_destroy(worker, table));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
