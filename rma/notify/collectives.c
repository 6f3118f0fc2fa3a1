#include "tern/collective.h"

#include "base/error.h"
#include "rma/notify/collectives.h"
#include "src/collective/collective.h"

/* The algorithms of collectives over notifications (rma/notify/collectives.h): which rank sends
 * which fragment to which rank. A rank opens its rings before it sends any fragment, since it may
 * lack memory for them (rma/notify/conflict.c). */

/* A stream's round tells the streams of one collective between two ranks apart. Barriers and
 * recursive doubling begin at 0. */
enum { ROUND_DOWN = 0, ROUND_BACKWARD = 32, ROUND_EXTRA = 64, ROUND_RESULT = 65, ROUND_AHEAD = 96 };

/* Opens the ring to rank, before the first fragment is sent to anyone. */
static tern_status open_ring(tern_worker *worker, uint32_t rank) {
    const uint32_t target = rank * worker->context->workers + worker->index;
    tern_wait_state wait = TERN_WAIT_START;
    tern_out *out = NULL;
    tern_status status;
    while ((status = tern_ring_open(worker, target, &out)) != TERN_OK)
        if ((status = tern_notified_again(worker, &wait, status)) != TERN_OK)
            break;
    return status;
}

/* Whether the caller may begin a collective. */
static tern_status notified_check(const tern_worker *worker, const char *name) {
    tern_status status = tern_worker_may_wait(worker, name);
    return status == TERN_OK ? tern_collective_may_begin(worker->context) : status;
}

static void notified_begin(tern_worker *worker, uint32_t kind, size_t bytes) {
    tern_notify *n = tern_notify_of(worker);
    n->sequence = worker->notified;
    n->kind = kind;
    n->bytes = bytes;
    worker->in_notified = true;
}

/* Ends the collective: counts it, whether or not it failed, so that all ranks have the same
 * number. */
static tern_status notified_end(tern_worker *worker, tern_status status) {
    tern_notify *n = tern_notify_of(worker);
    worker->in_notified = false;
    worker->notified = n->sequence + 1;
    n->failures = n->failures << 1 | (status != TERN_OK);
    if (n->fragments != NULL)
        tern_notified_fragments_discard(worker, worker->notified);
    return status;
}

/* Dissemination barrier: after round k each rank knows, directly or through others, that the
 * 2^(k+1) ranks up to its own have come. */
static tern_status notified_barrier(tern_worker *worker, uint32_t round) {
    uint32_t rank = worker->context->rank, size = worker->context->size;
    tern_status status = TERN_OK;
    for (uint32_t reach = 1; reach < size && status == TERN_OK; reach *= 2)
        status = open_ring(worker, (rank + reach) % size);
    for (uint32_t reach = 1; reach < size && status == TERN_OK; reach *= 2, round++) {
        tern_notified_stream stream = {.origin = (rank + size - reach) % size, .round = round};
        status = tern_stream_send(worker, (rank + reach) % size, round, NULL, 0);
        if (status == TERN_OK)
            status = tern_stream_receive(worker, &stream);
    }
    return status;
}

tern_status tern_notify_barrier(tern_worker *worker) {
    TERN_COLLECTIVE(worker, tern_notified_names[TERN_NOTIFY_BARRIER]);
    tern_status status = notified_check(worker, tern_notified_names[TERN_NOTIFY_BARRIER]);
    if (status != TERN_OK)
        return status;
    notified_begin(worker, TERN_NOTIFY_BARRIER, 0);
    return notified_end(worker, notified_barrier(worker, 0));
}

/* A rank's place in the binary tree of a broadcast. In rank numbers that count from the root, rank
 * r has the children 2r + 1 and 2r + 2. */
typedef struct tree_place {
    uint32_t parent, child[2]; /* ranks */
    uint32_t children;
    bool is_root;
} tree_place;

static tree_place tree_place_of(const tern_context *context, uint32_t root) {
    const uint64_t size = context->size, mine = (context->rank + size - root) % size;
    tree_place place = {.is_root = mine == 0};
    if (mine > 0)
        place.parent = (uint32_t)(((mine - 1) / 2 + root) % size);
    for (uint64_t child = 2 * mine + 1; child <= 2 * mine + 2 && child < size; child++)
        place.child[place.children++] = (uint32_t)((child + root) % size);
    return place;
}

/* Passes each fragment on to the children as soon as it has come from the parent. */
static tern_status broadcast_pass_down(tern_worker *worker, const tree_place *place, char *data,
                                       size_t bytes) {
    const size_t fragments = tern_stream_fragments(tern_notify_of(worker), bytes);
    tern_notified_stream stream = {
        .origin = place->parent, .round = ROUND_DOWN, .data = data, .bytes = bytes};
    tern_status status = TERN_OK;
    if (!place->is_root)
        tern_stream_begin(worker, &stream);
    for (size_t at = 0; at < fragments && status == TERN_OK; at++) {
        if (!place->is_root)
            status = tern_stream_wait(worker, &stream, at + 1);
        for (uint32_t c = 0; c < place->children && status == TERN_OK; c++)
            status =
                tern_stream_send_fragment(worker, place->child[c], ROUND_DOWN, data, bytes, at);
        if (!place->is_root && status == TERN_OK)
            status = tern_stream_acknowledge(worker, &stream, at);
    }
    if (!place->is_root)
        tern_stream_end(worker, &stream);
    return status;
}

static tern_status notified_broadcast(tern_worker *worker, uint32_t root, void *data,
                                      size_t bytes) {
    enum { AHEAD_MAX = TERN_NOTIFIED_AHEAD_MAX };
    const tree_place place = tree_place_of(worker->context, root);
    /* The root waits for no other rank, so it looks here for meetings and other collectives. */
    tern_status status = tern_notified_look(worker);
    if (status == TERN_OK && tern_notify_of(worker)->sequence % AHEAD_MAX == AHEAD_MAX - 1)
        status = notified_barrier(worker, ROUND_AHEAD);
    for (uint32_t c = 0; c < place.children && status == TERN_OK; c++)
        status = open_ring(worker, place.child[c]);
    return status == TERN_OK ? broadcast_pass_down(worker, &place, data, bytes) : status;
}

tern_status tern_notify_broadcast(tern_worker *worker, uint32_t root, void *data, size_t bytes) {
    TERN_COLLECTIVE(worker, tern_notified_names[TERN_NOTIFY_BROADCAST]);
    tern_status status = notified_check(worker, tern_notified_names[TERN_NOTIFY_BROADCAST]);
    if (status != TERN_OK)
        return status;
    const uint32_t size = worker->context->size;
    if (root >= size)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_broadcast: root is %u, but there are only %u ranks", root,
                         size);
    if (data == NULL && bytes > 0)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_notify_broadcast: data is NULL and bytes is %zu; pass memory of that "
            "many bytes, or 0",
            bytes);
    notified_begin(worker, TERN_NOTIFY_BROADCAST, bytes);
    return notified_end(worker, notified_broadcast(worker, root, data, bytes));
}

/* An all-reduce. The first 2^k ranks, as many as there can be, reduce. Each rank beyond them first
 * sends its numbers to one of these and gets the result from it at the end. */
typedef struct reduction {
    tern_worker *worker;
    tern_number type;
    tern_reduction op;
    char *values;
    size_t count;
    uint32_t rank, most; /* 2^k */
} reduction;

/* A range of the numbers. */
typedef struct share {
    size_t first, count;
} share;

/* Returns the share on which a rank works after the vector was halved once for each bit of the
 * rank's number, from the highest bit down to `bit`. A bit that is set takes the upper half. */
static share share_of(const reduction *r, uint32_t rank, uint32_t bit) {
    share s = {0, r->count};
    for (uint32_t b = r->most / 2; b >= bit; b /= 2) {
        const size_t half = s.count / 2;
        s.first += (rank & b) != 0 ? half : 0;
        s.count = (rank & b) != 0 ? s.count - half : half;
    }
    return s;
}

static tern_notified_stream share_stream(const reduction *r, uint32_t origin, uint32_t round,
                                         share s, bool reduces) {
    return (tern_notified_stream){
        .origin = origin,
        .round = round,
        .reduces = reduces,
        .theirs_first = origin<r->rank, .type = r->type, .op = r->op, .data = r->count> 0
                            ? r->values + s.first * 8
                            : NULL,
        .bytes = s.count * 8};
}

static tern_status share_exchange(const reduction *r, uint32_t rank, uint32_t round, share out,
                                  share in, bool reduces) {
    tern_notified_stream stream = share_stream(r, rank, round, in, reduces);
    return tern_stream_exchange(r->worker, r->count > 0 ? r->values + out.first * 8 : NULL,
                                out.count * 8, &stream);
}

/* Recursive doubling, for small vectors: in each round both ranks of a pair reduce all numbers, and
 * the partner of the next round is twice as far away. */
static tern_status reduce_whole(const reduction *r) {
    const share all = {0, r->count};
    tern_status status = TERN_OK;
    for (uint32_t bit = 1, round = 0; bit < r->most && status == TERN_OK; bit *= 2, round++) {
        tern_notified_stream stream = share_stream(r, r->rank ^ bit, round, all, true);
        status = tern_stream_send(r->worker, r->rank ^ bit, round, r->values, r->count * 8);
        if (status == TERN_OK)
            status = tern_stream_receive(r->worker, &stream);
    }
    return status;
}

/* Recursive halving: in each round each rank of a pair reduces one half of the numbers that both
 * still work on. In the end each rank has 1 / 2^k of the result. Then the ranks collect the whole
 * result by the same rounds in reverse. */
static tern_status reduce_halves(const reduction *r) {
    tern_status status = TERN_OK;
    uint32_t round = 0;
    for (uint32_t bit = r->most / 2; bit > 0 && status == TERN_OK; bit /= 2, round++)
        status = share_exchange(r, r->rank ^ bit, round, share_of(r, r->rank ^ bit, bit),
                                share_of(r, r->rank, bit), true);
    round = ROUND_BACKWARD;
    for (uint32_t bit = 1; bit < r->most && status == TERN_OK; bit *= 2, round++)
        status = share_exchange(r, r->rank ^ bit, round, share_of(r, r->rank, bit),
                                share_of(r, r->rank ^ bit, bit), false);
    return status;
}

static tern_status open_partners(const reduction *r) {
    tern_status status = TERN_OK;
    if (r->rank >= r->most)
        return open_ring(r->worker, r->rank - r->most);
    for (uint32_t bit = 1; bit < r->most && status == TERN_OK; bit *= 2)
        status = open_ring(r->worker, r->rank ^ bit);
    if (r->rank + r->most < r->worker->context->size && status == TERN_OK)
        status = open_ring(r->worker, r->rank + r->most);
    return status;
}

static tern_status notified_allreduce(const reduction *r) {
    const share all = {0, r->count};
    const uint32_t extra = r->rank ^ r->most;
    const bool has_extra = extra < r->worker->context->size;
    tern_status status = open_partners(r);
    if (status != TERN_OK)
        return status;
    if (r->rank >= r->most) {
        tern_notified_stream result = share_stream(r, extra, ROUND_RESULT, all, false);
        status = tern_stream_send(r->worker, extra, ROUND_EXTRA, r->values, r->count * 8);
        return status == TERN_OK ? tern_stream_receive(r->worker, &result) : status;
    }
    if (has_extra) {
        tern_notified_stream stream = share_stream(r, extra, ROUND_EXTRA, all, true);
        status = tern_stream_receive(r->worker, &stream);
    }
    if (status == TERN_OK)
        status = r->count * 8 <= TERN_NOTIFIED_SMALL ? reduce_whole(r) : reduce_halves(r);
    if (has_extra && status == TERN_OK)
        status = tern_stream_send(r->worker, extra, ROUND_RESULT, r->values, r->count * 8);
    return status;
}

tern_status tern_notify_allreduce(tern_worker *worker, tern_number type, tern_reduction op,
                                  void *values, size_t count) {
    TERN_COLLECTIVE(worker, "tern_notify_allreduce");
    tern_status status = notified_check(worker, "tern_notify_allreduce");
    if (status != TERN_OK)
        return status;
    if ((unsigned)type > TERN_DOUBLE || (unsigned)op > TERN_REDUCE_MAX)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_allreduce: type is %d and op is %d; the largest that are "
                         "allowed are %d and %d",
                         (int)type, (int)op, (int)TERN_DOUBLE, (int)TERN_REDUCE_MAX);
    if ((values == NULL && count > 0) || count > PTRDIFF_MAX / 8)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_allreduce: count is %zu and values is %p; pass memory of 8 "
                         "bytes for each number",
                         count, values);
    const size_t bytes = count * 8;
    const bool is_small = bytes <= TERN_NOTIFIED_SMALL;
    uint64_t words[TERN_NOTIFIED_SMALL / 8];
    reduction r = {.worker = worker,
                   .type = type,
                   .op = op,
                   .values = is_small ? (char *)words : values,
                   .count = count,
                   .rank = worker->context->rank,
                   .most = 1};
    while (r.most <= worker->context->size / 2)
        r.most *= 2;
    if (is_small && count > 0)
        memcpy(words, values, bytes); /* values change on success only */
    notified_begin(worker, TERN_NOTIFY_ALLREDUCE + (uint32_t)type * TERN_REDUCTIONS + (uint32_t)op,
                   bytes);
    status = notified_end(worker, notified_allreduce(&r));
    if (is_small && status == TERN_OK && count > 0)
        memcpy(values, words, bytes);
    return status;
}
