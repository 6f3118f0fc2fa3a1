#include "tern/collective.h"

#include <stdlib.h>

#include "rma/notify.h"
#include "rma/state.h"
#include "src/error.h"
#include "src/wait.h"

/*
 * Collectives over notifications of tern's own: records that progress consumes. The payload of one
 * is {sequence, data}: the number of its collective, which every rank counts alike; the record's id
 * is its round. What arrives before it is waited for is kept. Nobody is far ahead: a barrier or an
 * all-reduce ends for no rank before all have come to it, and one is put before every AHEAD_MAX-th
 * broadcast in a row.
 */

enum { AHEAD_MAX = 16, ROUND_EXTRA = 64, ROUND_BACK = 65, WORDS = TERN_COLLECTIVE_MAX / 8 };

/* A part of a collective that has arrived. */
typedef struct tern_part {
    struct tern_part *next;
    uint64_t sequence;
    uint32_t origin, round; /* origin: rank */
    size_t bytes;
    uint64_t data[];
} tern_part;

size_t tern_collectives_consume(tern_worker *worker, tern_in *in) {
    tern_notify *n = tern_notify_of(worker);
    uint64_t header = tern_ring_peek(worker, in), sequence = 0;
    size_t bytes = tern_record_bytes(header);
    bool good = tern_ring_check(in, header) && bytes >= 8 && bytes <= 8 + TERN_COLLECTIVE_MAX &&
                in->origin_id.index == worker->index;
    if (good)
        memcpy(&sequence, tern_ring_payload(in), 8);
    if (good && (int64_t)(sequence - n->sequence) < 0) { /* of one that failed here */
        tern_ring_advance(in, header);
        return 1;
    }
    if (!good || sequence - n->sequence > 2 * AHEAD_MAX) {
        tern_ring_refuse(worker, in, header, "no part of a collective");
        return 0;
    }
    bytes -= 8;
    tern_part *part = malloc(sizeof *part + bytes);
    if (part == NULL)
        return 0; /* later */
    part->sequence = sequence;
    part->origin = in->origin_id.rank;
    part->round = tern_record_id(header);
    part->bytes = bytes;
    memcpy(part->data, tern_ring_payload(in) + 8, bytes);
    part->next = n->parts;
    n->parts = part;
    tern_ring_advance(in, header);
    return 1;
}

void tern_collectives_discard(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    while (n->parts != NULL) {
        tern_part *part = n->parts;
        n->parts = part->next;
        free(part);
    }
}

/* One round of waiting for a rank. */
static tern_status step(tern_worker *worker, tern_wait_state *wait) {
    return tern_wait_round(worker->context, wait, tern_progress_round(worker), TERN_ANYBODY);
}

static tern_status try_send(tern_worker *worker, uint32_t rank, uint32_t round, const void *data,
                            size_t bytes) {
    tern_context *context = worker->context;
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status = tern_ring_open(worker, rank * context->workers + worker->index, &out);
    if (status == TERN_OK)
        status = tern_ring_reserve(worker, out, 8 + bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, &tern_notify_of(worker)->sequence, 8);
    if (bytes > 0)
        memcpy((char *)room + 8, data, bytes);
    tern_ring_commit(out, tern_record_header(TERN_RECORD_COLLECTIVE, round, 8 + bytes));
    tern_ring_publish(worker, out);
    return TERN_OK;
}

static tern_status send(tern_worker *worker, uint32_t rank, uint32_t round, const void *data,
                        size_t bytes) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = try_send(worker, rank, round, data, bytes)) == TERN_ERR_AGAIN)
        if ((status = step(worker, &wait)) != TERN_OK)
            break;
    return status;
}

/* [out] data: exactly bytes. */
static tern_status receive(tern_worker *worker, uint32_t rank, uint32_t round, void *data,
                           size_t bytes) {
    tern_notify *n = tern_notify_of(worker);
    tern_wait_state wait = TERN_WAIT_START;
    for (;;) {
        tern_part **link = &n->parts, *part;
        for (; (part = *link) != NULL; link = &part->next)
            if (part->sequence == n->sequence && part->origin == rank && part->round == round)
                break;
        if (part == NULL) {
            tern_status status = step(worker, &wait);
            if (status != TERN_OK)
                return status;
            continue;
        }
        *link = part->next;
        tern_status status = TERN_OK;
        if (part->bytes == bytes && bytes > 0)
            memcpy(data, part->data, bytes);
        else if (part->bytes != bytes)
            status = tern_fail(TERN_ERR_MISMATCH,
                               "a collective of %zu bytes here is one of %zu bytes on rank %u",
                               bytes, part->bytes, rank);
        free(part);
        return status;
    }
}

static tern_status begin(tern_worker *worker, const char *function) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", function);
    return tern_worker_may_wait(worker, function);
}

/* Dissemination: after round k each rank has heard, of itself or through others, of the 2^(k+1)
 * ranks up to its own. */
static tern_status barrier(tern_worker *worker) {
    uint32_t rank = worker->context->rank, size = worker->context->size;
    tern_notify *n = tern_notify_of(worker);
    tern_status status = TERN_OK;
    uint32_t round = 0;
    for (uint32_t reach = 1; reach < size && status == TERN_OK; reach *= 2, round++) {
        status = send(worker, (rank + reach) % size, round, NULL, 0);
        if (status == TERN_OK)
            status = receive(worker, (rank + size - reach) % size, round, NULL, 0);
    }
    n->sequence++;
    n->broadcasts = 0;
    return status;
}

tern_status tern_notify_barrier(tern_worker *worker) {
    tern_status status = begin(worker, "tern_notify_barrier");
    return status == TERN_OK ? barrier(worker) : status;
}

/* Binomial: in rank numbers that count from root, a rank hears from the one without its lowest bit
 * and tells those with one lower bit more. */
tern_status tern_notify_broadcast(tern_worker *worker, uint32_t root, void *data, size_t bytes) {
    tern_status status = begin(worker, "tern_notify_broadcast");
    if (status != TERN_OK)
        return status;
    uint32_t rank = worker->context->rank, size = worker->context->size;
    if (root >= size || bytes > TERN_COLLECTIVE_MAX || (data == NULL && bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_broadcast: %zu bytes from rank %u of %u; %u bytes are the "
                         "limit",
                         bytes, root, size, TERN_COLLECTIVE_MAX);
    tern_notify *n = tern_notify_of(worker);
    if (n->broadcasts + 1 == AHEAD_MAX)
        status = barrier(worker);
    uint32_t mine = (rank + size - root) % size, bit = 1;
    while (bit < size && (mine & bit) == 0)
        bit *= 2;
    if (mine != 0 && status == TERN_OK)
        status = receive(worker, (mine - bit + root) % size, 0, data, bytes);
    for (bit /= 2; bit > 0 && status == TERN_OK; bit /= 2)
        if (mine + bit < size)
            status = send(worker, (mine + bit + root) % size, 0, data, bytes);
    n->sequence++;
    n->broadcasts++;
    return status;
}

#define REDUCE(name, type, sum)                                                                    \
    static type name(tern_reduction op, type a, type b) {                                          \
        if (op == TERN_REDUCE_SUM)                                                                 \
            return sum;                                                                            \
        return (op == TERN_REDUCE_MIN ? b < a : a < b) ? b : a;                                    \
    }

REDUCE(reduce_unsigned, uint64_t, a + b)
REDUCE(reduce_signed, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))
REDUCE(reduce_double, double, a + b)

/* mine and theirs, in the order of their ranks: the same bits on both sides. */
static void reduce(tern_number type, tern_reduction op, uint64_t *to, const uint64_t *first,
                   const uint64_t *second, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (type == TERN_UINT64) {
            to[i] = reduce_unsigned(op, first[i], second[i]);
        } else if (type == TERN_INT64) {
            to[i] = (uint64_t)reduce_signed(op, (int64_t)first[i], (int64_t)second[i]);
        } else {
            double a, b;
            memcpy(&a, &first[i], 8);
            memcpy(&b, &second[i], 8);
            a = reduce_double(op, a, b);
            memcpy(&to[i], &a, 8);
        }
    }
}

/* Recursive doubling among the first 2^k ranks; those beyond hand theirs in before and get the
 * result after. */
static tern_status allreduce(tern_worker *worker, tern_number type, tern_reduction op,
                             uint64_t *values, size_t count) {
    uint32_t rank = worker->context->rank, size = worker->context->size, most = 1;
    uint64_t other[WORDS];
    size_t bytes = count * 8;
    while (most * 2 <= size)
        most *= 2;
    if (rank >= most) {
        tern_status status = send(worker, rank - most, ROUND_EXTRA, values, bytes);
        return status == TERN_OK ? receive(worker, rank - most, ROUND_BACK, values, bytes) : status;
    }
    tern_status status = TERN_OK;
    if (rank + most < size) {
        status = receive(worker, rank + most, ROUND_EXTRA, other, bytes);
        if (status == TERN_OK)
            reduce(type, op, values, values, other, count);
    }
    uint32_t round = 0;
    for (uint32_t bit = 1; bit < most && status == TERN_OK; bit *= 2, round++) {
        status = send(worker, rank ^ bit, round, values, bytes);
        if (status == TERN_OK)
            status = receive(worker, rank ^ bit, round, other, bytes);
        if (status == TERN_OK)
            reduce(type, op, values, (rank & bit) == 0 ? values : other,
                   (rank & bit) == 0 ? other : values, count);
    }
    if (rank + most < size && status == TERN_OK)
        status = send(worker, rank + most, ROUND_BACK, values, bytes);
    return status;
}

tern_status tern_notify_allreduce(tern_worker *worker, tern_number type, tern_reduction op,
                                  void *values, size_t count) {
    tern_status status = begin(worker, "tern_notify_allreduce");
    if (status != TERN_OK)
        return status;
    if ((unsigned)type > TERN_DOUBLE || (unsigned)op > TERN_REDUCE_MAX || count > WORDS ||
        (values == NULL && count > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_notify_allreduce: %zu numbers of type %d, operation %d; %d numbers "
                         "are the limit",
                         count, (int)type, (int)op, WORDS);
    uint64_t words[WORDS];
    if (count > 0)
        memcpy(words, values, count * 8);
    status = allreduce(worker, type, op, words, count);
    if (status == TERN_OK && count > 0)
        memcpy(values, words, count * 8);
    tern_notify *n = tern_notify_of(worker);
    n->sequence++;
    n->broadcasts = 0;
    return status;
}
