/* Work that makes more work: ranges of numbers are cut in halves, and primes are counted in small
 * ones. A map keeps a line about each rank. Run: mpirun -n 3 07_work */
#include <stdio.h>
#include <string.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "work: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct range {
    uint32_t first, end;
} range;

static int is_prime(uint32_t n) {
    for (uint32_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return 0;
    return n > 1;
}

/* Cuts a large range in two, of which other ranks may steal one; counts in a small one. */
static uint32_t work(tern_worker *worker, tern_distributed_queue *queue, range r) {
    uint32_t primes = 0;
    if (r.end - r.first > 64) {
        const uint32_t middle = r.first + (r.end - r.first) / 2;
        range half[2] = {{r.first, middle}, {middle, r.end}};
        check(tern_distributed_queue_try_push(worker, queue, &half[0], 0));
        check(tern_distributed_queue_try_push(worker, queue, &half[1], 0));
        return 0;
    }
    for (uint32_t n = r.first; n < r.end; n++)
        primes += (uint32_t)is_prime(n);
    return primes;
}

static int print_line(const tern_map_item *item, void *argument) {
    (void)argument;
    printf("%.*s %.*s\n", (int)item->key_bytes, (const char *)item->key, (int)item->value_bytes,
           (const char *)item->value);
    return 0;
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_distributed_queue *queue;
    tern_map *map;
    tern_queue_options queue_options = {.item_bytes = sizeof(range), .capacity = 1024};
    tern_map_options map_options = {.capacity = 100};
    tern_status status;
    range r = {0, 10000};
    uint64_t primes = 0;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_distributed_queue_create(worker, &queue_options, &queue));
    check(tern_map_create(worker, &map_options, &map));
    uint32_t rank = tern_context_rank(context);

    if (rank == 0)
        check(tern_distributed_queue_try_push(worker, queue, &r, 0));
    while ((status = tern_distributed_queue_pop(worker, queue, &r, 0)) == TERN_OK)
        primes += work(worker, queue, r);
    if (status != TERN_ERR_DONE) /* DONE: no work is left, on any rank */
        check(status);

    char key[32];
    const char *value = rank == 0 ? "has begun, and is done" : "is done";
    snprintf(key, sizeof key, "rank %u", rank);
    check(tern_map_insert(worker, map, key, strlen(key), value, strlen(value), 0, NULL));
    check(tern_sum(worker, &primes, 1));
    check(tern_barrier(worker));
    if (rank == 0) {
        check(tern_map_for_each_anywhere(worker, map, print_line, NULL));
        printf("%u primes below 10000\n", (unsigned)primes);
    }

    check(tern_map_destroy(worker, map));
    check(tern_distributed_queue_destroy(worker, queue));
    check(tern_context_destroy(context));
    return MPI_Finalize();
}
