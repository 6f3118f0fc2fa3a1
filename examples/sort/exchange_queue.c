/*
 * The exchange through queues: each rank hosts one queue, which takes blocks of its keys from all
 * other ranks. A rank learns beforehand how many keys it will have in the end, so it knows when it
 * is done; then nobody sends to it any more. A rank that finds another's queue full takes blocks
 * out of its own queue meanwhile, so some rank always goes on, however small the queues are.
 */
#include <sched.h>
#include <string.h>

#include "job.h"

typedef struct {
    uint32_t count; /* keys in the block; only a bucket's last block may have fewer than the full
                       number */
    uint32_t keys[];
} block;

static tern_queue **queues; /* one of each rank */
static block *out, *in;

static size_t block_bytes(const job *j) { return sizeof(block) + j->options->block * 4; }

static void open_queues(job *j) {
    queues = need(NULL, j->size, sizeof(tern_queue *));
    for (uint32_t host = 0; host < j->size; host++) {
        tern_queue_options o = {
            .host = host, .item_bytes = block_bytes(j), .capacity = j->options->queue};
        check(tern_queue_create(j->worker, &o, &queues[host]));
    }
    out = need(NULL, 1, block_bytes(j));
    in = need(NULL, 1, block_bytes(j));
}

/* Returns how many keys will be in this rank's bucket. No rank gets its answer before all ranks are
 * here, so no block comes from a rank that is an iteration ahead. */
static size_t announce(const job *j) {
    uint64_t *keys = need(NULL, j->size, sizeof *keys);
    for (uint32_t to = 0; to < j->size; to++)
        keys[to] = bucket_size(j, to);
    check(tern_team_allreduce(j->worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, keys, j->size));
    const size_t mine = keys[j->rank];
    free(keys);
    return mine;
}

static void keep(job *j, const uint32_t *keys, size_t count) {
    if (count > j->room - j->have)
        give_up("more keys have come than were announced");
    memcpy(j->mine + j->have, keys, count * sizeof *keys);
    j->have += count;
}

/* Takes a block, if one has come. The queue is this rank's own, so that is load and store. */
static bool receive(job *j) {
    tern_status status = tern_queue_try_pop(j->worker, queues[j->rank], in, TERN_BY_RMA);
    if (status == TERN_ERR_EMPTY || status == TERN_ERR_AGAIN)
        return false;
    check(status);
    keep(j, in->keys, in->count);
    return true;
}

/* The same for a rank that has nothing else to do. */
static void receive_or_rest(job *j) {
    if (!receive(j) && tern_progress(j->worker) == 0)
        sched_yield();
}

static void send(job *j, uint32_t to, const uint32_t *keys, size_t count) {
    tern_status status;
    out->count = (uint32_t)count;
    memcpy(out->keys, keys, count * sizeof *keys);
    while ((status = tern_queue_try_push(j->worker, queues[to], out, j->options->via)) != TERN_OK) {
        if (status != TERN_ERR_FULL && status != TERN_ERR_AGAIN)
            check(status);
        receive_or_rest(j);
    }
}

static void run_queues(job *j) {
    size_t due = announce(j), block = j->options->block;
    job_expect(j, due);
    keep(j, j->outgoing + j->start[j->rank], bucket_size(j, j->rank));
    bool more = true;
    /* One block to each rank in turn, beginning with the next rank, so that not all ranks begin
     * with the same one. */
    for (size_t at = 0; more; at += block) {
        more = false;
        for (uint32_t k = 1; k < j->size; k++) {
            uint32_t to = (j->rank + k) % j->size;
            size_t left = bucket_size(j, to) > at ? bucket_size(j, to) - at : 0;
            if (left == 0)
                continue;
            send(j, to, j->outgoing + j->start[to] + at, left < block ? left : block);
            more |= left > block;
            if (j->have < due)
                receive(j);
        }
    }
    while (j->have < due)
        receive_or_rest(j);
}

static void close_queues(job *j) {
    for (uint32_t host = 0; host < j->size; host++)
        check(tern_queue_destroy(j->worker, queues[host]));
    free(queues);
    free(out);
    free(in);
}

const exchange exchange_queue = {"queue", open_queues, run_queues, close_queues};
