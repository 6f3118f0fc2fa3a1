/* Calls functions that headers inline, in a program that is compiled with TERN_NO_INLINE.
 * no_inline_tool.c, which stands between, says what it did. */

#include <stdio.h>
#include <tern/tern.h>

static tern_status add(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t by = 0;
    if (bytes != sizeof by)
        return TERN_ERR_ARGUMENT;
    memcpy(&by, arguments, sizeof by);
    *(uint64_t *)call->user += by;
    return TERN_OK;
}

static uint64_t sum;
static tern_function add_function = {.name = "add", .handler = add, .user = &sum};

static tern_status work(tern_worker *worker) {
    tern_ptr place = TERN_NULL;
    uint64_t number = 7, old = 0;
    const tern_worker_id here = {0, 0};
    tern_status status = tern_alloc(worker, sizeof number, 0, TERN_DOMAIN_NODE, &place);
    for (int i = 0; i < 3 && status == TERN_OK; i++)
        status = tern_put(worker, place, &number, sizeof number);
    for (int i = 0; i < 2 && status == TERN_OK; i++)
        status = tern_get(worker, &number, place, sizeof number);
    if (status == TERN_OK)
        status = tern_flush(worker, 0);
    for (int i = 0; i < 4 && status == TERN_OK; i++)
        status = tern_atomic_fetch_add(worker, place, 1, &old);
    for (int i = 0; i < 5 && status == TERN_OK; i++)
        status = tern_call(worker, here, &add_function, &number, sizeof number);
    if (status == TERN_OK)
        status = tern_quiesce(worker);
    if (status == TERN_OK && (old != 10 || sum != 35))
        status = TERN_ERR_CORRUPT;
    return status == TERN_OK ? tern_free(worker, place) : status;
}

int main(int argc, char **argv) {
    tern_context *context = NULL;
    tern_worker *worker = NULL;
    MPI_Init(&argc, &argv);
    tern_status status = tern_function_register(&add_function);
    if (status == TERN_OK)
        status = tern_context_create(MPI_COMM_SELF, NULL, &context);
    if (status == TERN_OK)
        status = tern_worker_adopt(context, 0, &worker);
    if (status == TERN_OK)
        status = work(worker);
    if (status == TERN_OK)
        status = tern_context_destroy(context);
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", tern_strerror(status), tern_error_detail());
    MPI_Finalize();
    return status != TERN_OK;
}
