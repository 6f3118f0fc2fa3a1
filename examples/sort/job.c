#include "job.h"

#include <inttypes.h>

#include "keys.h"

enum { BUCKETS, EXCHANGE, SORT, TOTAL, TIMES };

void job_expect(job *j, size_t keys) {
    j->have = 0;
    if (keys <= j->room)
        return;
    j->mine = need(j->mine, keys, sizeof *j->mine);
    j->scratch = need(j->scratch, keys, sizeof *j->scratch);
    j->room = keys;
}

static void open_job(tern_worker *worker, const options *o, job *j) {
    tern_context *context = tern_worker_context(worker);
    *j = (job){.worker = worker, .options = o};
    j->rank = tern_context_rank(context);
    j->size = tern_context_size(context);
    uint64_t rank = j->rank, size = j->size, all = o->strong ? o->keys : o->keys * size;
    j->first = all / size * rank + (rank < all % size ? rank : all % size);
    j->drawn = all / size + (rank < all % size);
    j->keys = need(NULL, j->drawn, sizeof *j->keys);
    j->outgoing = need(NULL, j->drawn, sizeof *j->outgoing);
    j->start = need(NULL, j->size, sizeof *j->start);
    j->mine = need(NULL, 0, sizeof *j->mine);
    j->scratch = need(NULL, 0, sizeof *j->scratch);
    o->exchange->open(j);
}

static void close_job(job *j) {
    j->options->exchange->close(j);
    free(j->keys);
    free(j->outgoing);
    free(j->start);
    free(j->mine);
    free(j->scratch);
}

/* [out] seconds: of the slowest rank, for each phase. */
static void sort(job *j, double *seconds) {
    double at[TIMES];
    check(tern_team_barrier(j->worker, NULL));
    at[0] = MPI_Wtime();
    buckets_fill(j->keys, j->drawn, j->size, j->outgoing, j->start);
    at[1] = MPI_Wtime();
    j->options->exchange->run(j);
    at[2] = MPI_Wtime();
    uint32_t *sorted = keys_sort(j->mine, j->scratch, j->have);
    at[3] = MPI_Wtime();
    if (sorted != j->mine) {
        j->scratch = j->mine;
        j->mine = sorted;
    }
    for (int phase = BUCKETS; phase < TOTAL; phase++)
        seconds[phase] = at[phase + 1] - at[phase];
    seconds[TOTAL] = at[3] - at[0];
    check(tern_team_allreduce(j->worker, NULL, TERN_DOUBLE, TERN_REDUCE_MAX, seconds, TIMES));
}

/* Checks that every rank has the keys of its range, in order, and that all ranks together have the
 * keys that they drew. [out] result: the content. */
static bool verify(const job *j, content *result) {
    enum { BEFORE, AFTER, BOTH };
    struct {
        content of[BOTH];
        uint64_t wrong; /* number of ranks */
    } all = {.of = {keys_content(j->keys, j->drawn), keys_content(j->mine, j->have)}};
    all.wrong = !keys_in_order(j->mine, j->have, bucket_first(j->rank, j->size),
                               bucket_first(j->rank + 1, j->size));
    check(tern_team_allreduce(j->worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &all,
                              sizeof all / sizeof(uint64_t)));
    const content *before = &all.of[BEFORE], *after = &all.of[AFTER];
    *result = *after;
    bool same = before->count == after->count && before->sum == after->sum &&
                before->hashes == after->hashes;
    if (j->rank == 0 && all.wrong > 0)
        fprintf(stderr, "sort: %" PRIu64 " ranks have keys out of order or range\n", all.wrong);
    if (j->rank == 0 && !same)
        fprintf(stderr, "sort: %" PRIu64 " keys were drawn and %" PRIu64 " others are there\n",
                before->count, after->count);
    return all.wrong == 0 && same;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const job *j, const double *seconds, const content *c) {
    const options *o = j->options;
    const char *via = o->exchange == &exchange_queue ? options_via_name(o) : "mpi";
    double rate = seconds[TOTAL] > 0 ? (double)c->count / seconds[TOTAL] : 0;
    if (o->json)
        printf("{\"ranks\":%u,\"keys\":%" PRIu64 ",\"draw\":\"%s\",\"seed\":%" PRIu64
               ",\"exchange\":\"%s\",\"via\":\"%s\",\"block\":%zu,\"queue\":%" PRIu64
               ",\"iterations\":%u,\"seconds\":{\"buckets\":%.9f,\"exchange\":%.9f,\"sort\":%.9f,"
               "\"total\":%.9f},\"keys_per_second\":%.0f,\"sum\":%" PRIu64
               ",\"hashes\":\"%016" PRIx64 "\"}\n",
               j->size, c->count, options_draw_name(o), o->seed, o->exchange->name, via, o->block,
               o->queue, o->iterations, seconds[BUCKETS], seconds[EXCHANGE], seconds[SORT],
               seconds[TOTAL], rate, c->sum, c->hashes);
    else
        printf("%" PRIu64 " keys on %u ranks by %s (%s), verified: content %016" PRIx64 "\n"
               "buckets %.6f s, exchange %.6f s, sort %.6f s, total %.6f s: %.1f M keys/s\n",
               c->count, j->size, o->exchange->name, via, c->hashes, seconds[BUCKETS],
               seconds[EXCHANGE], seconds[SORT], seconds[TOTAL], rate / 1e6);
}

bool job_run(tern_worker *worker, const options *o) {
    job j;
    content c = {0};
    bool good = true;
    double median[TIMES];
    open_job(worker, o, &j);
    double *times = need(NULL, (size_t)TIMES * o->iterations, sizeof *times);
    for (unsigned i = 0; good && i < o->iterations; i++) {
        double seconds[TIMES];
        keys_draw(j.keys, j.first, j.drawn, o->seed + i, o->draw);
        sort(&j, seconds);
        good = verify(&j, &c);
        for (int phase = 0; phase < TIMES; phase++)
            times[(size_t)phase * o->iterations + i] = seconds[phase];
    }
    for (int phase = 0; phase < TIMES; phase++) {
        double *of = times + (size_t)phase * o->iterations;
        qsort(of, o->iterations, sizeof *of, compare);
        median[phase] = of[o->iterations / 2];
    }
    if (good && j.rank == 0)
        print(&j, median, &c);
    free(times);
    close_job(&j);
    return good;
}
