#include "tern/accumulate.h"

#include "base/error.h"
#include "rma/memory/accumulate.h"
#include "rma/memory/number.h"
#include "rma/memory/state.h"
#include "rma/message/message.h"
#include "rma/transfer.h"
#include "src/profile/profile.h"
#include "src/progress/request.h"

/*
 * Updates of arrays. The agent that makes them is the one that makes the atomics of the memory's
 * domain, so that both are atomic with each other:
 *
 * - this processor, if load/store reaches the memory and the processor serves the domain;
 * - MPI or a network, word by word, if it serves the domain (rma/atomic.c);
 * - otherwise the owner's processor, by message.
 *
 * Numbers of 16 bytes are atomic with each other alone. They are always updated by a processor of
 * the owner's node, under a lock.
 */

/* What a public function was asked to do. */
typedef struct accumulation {
    const char *function;
    tern_ptr to;
    const char *values;
    char *old; /* or NULL */
    size_t count;
    tern_number type;
    tern_reduction op;
} accumulation;

enum {
    WORD_MAX = 8,  /* bytes of the largest number that atomics on a word update */
    PIECES_MAX = 8 /* messages of one tern_get_accumulate that are under way */
};

/* message->operand[1]: the operation, and whether the old numbers are wanted. */
enum { WANTS_OLD = 0x100 };

static tern_status accumulate_check(const accumulation *a, bool gets) {
    tern_status status = tern_number_check(a->function, a->type, a->op);
    if (status != TERN_OK || a->count == 0)
        return status;
    if (a->values == NULL || (gets && a->old == NULL))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL; pass memory for %zu numbers",
                         a->function, a->values == NULL ? "values" : "old", a->count);
    if (a->count > PTRDIFF_MAX / tern_number_bytes(a->type))
        return tern_fail(TERN_ERR_RANGE, "%s: %zu numbers are larger than any segment", a->function,
                         a->count);
    return TERN_OK;
}

/* The array's address if this processor updates it, else NULL. */
static char *accumulate_address(const tern_worker *worker, const accumulation *a, size_t width) {
    char *address = tern_internal_reach_address(worker, a->to, a->count * width);
    if (width <= WORD_MAX)
        return tern_internal_direct_word(worker, a->to, (unsigned)width, address);
    return a->to.domain <= TERN_DOMAIN_OWNER && (uintptr_t)address % WORD_MAX == 0 ? address : NULL;
}

/* Updates one word by the atomics of its domain. */
static tern_status word_update(tern_worker *worker, const accumulation *a, tern_ptr p,
                               unsigned width, uint64_t operand, uint64_t *before) {
    const bool is_integer = tern_number_has(a->type, TERN_REDUCE_XOR);
    const tern_atomic_op fetches[] = {[TERN_REDUCE_SUM] = TERN_ATOMIC_ADD,
                                      [TERN_REDUCE_AND] = TERN_ATOMIC_AND,
                                      [TERN_REDUCE_OR] = TERN_ATOMIC_OR,
                                      [TERN_REDUCE_XOR] = TERN_ATOMIC_XOR,
                                      [TERN_REDUCE_REPLACE] = TERN_ATOMIC_SWAP};
    const bool is_compared =
        a->op == TERN_REDUCE_PRODUCT || a->op == TERN_REDUCE_MIN || a->op == TERN_REDUCE_MAX;
    const bool is_fetched = a->op == TERN_REDUCE_REPLACE || (is_integer && !is_compared);
    if (is_fetched)
        return tern_atomic_remote(worker, p, fetches[a->op], width, operand, 0, before);
    uint64_t seen = 0;
    tern_status status = tern_atomic_remote(worker, p, TERN_ATOMIC_LOAD, width, 0, 0, &seen);
    do {
        uint64_t after = 0;
        *before = seen;
        tern_numbers_reduce(a->type, a->op, &after, before, &operand, 1);
        if (status == TERN_OK)
            status = tern_atomic_remote(worker, p, TERN_ATOMIC_CAS, width, after, *before, &seen);
    } while (status == TERN_OK && seen != *before);
    return status;
}

static tern_status accumulate_by_words(tern_worker *worker, const accumulation *a, unsigned width) {
    tern_status status = TERN_OK;
    for (size_t i = 0; status == TERN_OK && i < a->count; i++) {
        uint64_t operand = 0, before = 0;
        memcpy(&operand, a->values + i * width, width);
        status = word_update(worker, a, tern_ptr_add(a->to, (int64_t)(i * width)), width, operand,
                             &before);
        if (status == TERN_OK && a->old != NULL)
            memcpy(a->old + i * width, &before, width);
    }
    return status;
}

/* Sends a message with n bytes of the numbers. An answer means that the owner has updated these and
 * all before them, since messages are served in order. */
static tern_status piece_send(tern_worker *worker, const accumulation *a, uint64_t offset,
                              size_t at, size_t n, bool is_last, tern_transfer *asked) {
    const tern_message message = {
        .kind = TERN_MESSAGE_ACCUMULATE,
        .origin = worker->id,
        .offset = offset + at,
        .bytes = n,
        .operand = {(uint64_t)a->type, (uint64_t)a->op | (a->old != NULL ? WANTS_OLD : 0)}};
    if (a->old == NULL && !is_last)
        return tern_message_send_all(worker, a->to.rank, &message, a->values + at, n);
    tern_status status = tern_transfer_wait(worker, asked);
    if (status != TERN_OK)
        return status;
    char *answer = a->old != NULL ? a->old + at : NULL;
    return tern_transfer_ask(worker, a->to.rank, &message, a->values + at, n, answer,
                             answer != NULL ? n : 0, asked);
}

/* Has the owner update the array. [out] transfer: that of the last message. */
static tern_status accumulate_by_owner(tern_worker *worker, const accumulation *a, uint64_t offset,
                                       size_t bytes, tern_transfer *transfer) {
    tern_transfer asked[PIECES_MAX] = {{0}};
    tern_status status = TERN_OK;
    size_t last = 0;
    for (size_t at = 0, n, i = 0; status == TERN_OK && at < bytes; at += n, i++) {
        n = bytes - at < TERN_MESSAGE_MAX ? bytes - at : TERN_MESSAGE_MAX;
        last = i % PIECES_MAX;
        status = piece_send(worker, a, offset, at, n, at + n == bytes, &asked[last]);
    }
    for (size_t i = 0; i < PIECES_MAX; i++)
        if (i != last || status != TERN_OK) {
            if (status == TERN_OK)
                status = tern_transfer_wait(worker, &asked[i]);
            tern_transfer_forget(&asked[i]);
        }
    if (status == TERN_OK)
        *transfer = asked[last];
    else
        tern_transfer_forget(&asked[last]);
    return status;
}

static tern_status accumulate_remote(tern_worker *worker, const accumulation *a, size_t width,
                                     tern_transfer *transfer) {
    const tern_context *context = worker->context;
    const size_t bytes = a->count * width;
    uint64_t offset = 0;
    tern_status status =
        tern_atomic_check(worker, a->to, width < WORD_MAX ? 4 : WORD_MAX, bytes, &offset);
    if (status != TERN_OK)
        return status;
    if (width <= WORD_MAX && a->to.domain == TERN_DOMAIN_GLOBAL && tern_has_remote_atomics(context))
        return accumulate_by_words(worker, a, (unsigned)width);
    worker->stats.atomics++;
    return accumulate_by_owner(worker, a, offset, bytes, transfer);
}

static tern_status accumulate_begin(tern_worker *worker, const accumulation *a,
                                    tern_transfer *transfer) {
    const size_t width = tern_number_bytes(a->type);
    if (a->count == 0)
        return TERN_OK;
    char *address = accumulate_address(worker, a, width);
    if (__builtin_expect(address == NULL, 0))
        return accumulate_remote(worker, a, width, transfer);
    const tern_numbers to = {
        .rank = a->to.rank, .address = address, .count = a->count, .type = a->type};
    tern_numbers_update(worker->context, &to, a->op, a->values, a->old);
    return TERN_OK;
}

static tern_status accumulate_do(tern_worker *worker, const accumulation *a) {
    tern_transfer transfer = {0};
    tern_status status = accumulate_begin(worker, a, &transfer);
    if (status == TERN_OK)
        status = tern_transfer_wait(worker, &transfer);
    if (__builtin_expect(status != TERN_OK, 0))
        tern_transfer_forget(&transfer);
    return status;
}

static tern_status accumulate_wait(tern_worker *worker, const accumulation *a, bool gets) {
    tern_status status = accumulate_check(a, gets);
    if (status != TERN_OK || __builtin_expect(worker->profile == NULL, 1))
        return status == TERN_OK ? accumulate_do(worker, a) : status;
    const tern_span span = tern_span_begin(worker, TERN_SPAN_ATOMIC, TERN_NO_FUNCTION);
    status = accumulate_do(worker, a);
    tern_span_end(worker, &span, a->to.rank, a->count * tern_number_bytes(a->type), status);
    return status;
}

static tern_status accumulate_start(tern_worker *worker, const accumulation *a, bool gets,
                                    tern_request *request) {
    tern_transfer transfer = {0};
    tern_status status = tern_request_check(request, a->function);
    if (status == TERN_OK)
        status = accumulate_check(a, gets);
    if (status == TERN_OK && worker->profile != NULL) {
        const tern_span span = tern_span_begin(worker, TERN_SPAN_ATOMIC, TERN_NO_FUNCTION);
        status = accumulate_begin(worker, a, &transfer);
        tern_span_end(worker, &span, a->to.rank, a->count * tern_number_bytes(a->type), status);
    } else if (status == TERN_OK) {
        status = accumulate_begin(worker, a, &transfer);
    }
    return tern_transfer_started(request, a->to.rank, &transfer, status);
}

tern_status tern_accumulate(tern_worker *worker, tern_ptr to, const void *values, size_t count,
                            tern_number type, tern_reduction op) {
    const accumulation a = {"tern_accumulate", to, values, NULL, count, type, op};
    return accumulate_wait(worker, &a, false);
}

tern_status tern_get_accumulate(tern_worker *worker, tern_ptr to, const void *values, void *old,
                                size_t count, tern_number type, tern_reduction op) {
    const accumulation a = {"tern_get_accumulate", to, values, old, count, type, op};
    return accumulate_wait(worker, &a, true);
}

tern_status tern_accumulate_start(tern_worker *worker, tern_ptr to, const void *values,
                                  size_t count, tern_number type, tern_reduction op,
                                  tern_request *request) {
    const accumulation a = {"tern_accumulate_start", to, values, NULL, count, type, op};
    return accumulate_start(worker, &a, false, request);
}

tern_status tern_get_accumulate_start(tern_worker *worker, tern_ptr to, const void *values,
                                      void *old, size_t count, tern_number type, tern_reduction op,
                                      tern_request *request) {
    const accumulation a = {"tern_get_accumulate_start", to, values, old, count, type, op};
    return accumulate_start(worker, &a, true, request);
}

bool tern_accumulate_serve(tern_worker *worker, uint32_t source, const tern_message *message,
                           const char *payload, size_t bytes) {
    char old[TERN_MESSAGE_MAX];
    const tern_rma *rma = tern_rma_of(worker->context);
    const uint64_t offset = message->offset, op = message->operand[1] & ~(uint64_t)WANTS_OLD;
    const tern_number type = (tern_number)message->operand[0];
    if (message->operand[0] > TERN_COMPLEX_DOUBLE || op > TERN_REDUCE_REPLACE ||
        !tern_number_has(type, (tern_reduction)op))
        return false;
    const size_t width = tern_number_bytes(type);
    if (bytes == 0 || bytes > sizeof old || bytes % width != 0 ||
        offset % (width < WORD_MAX ? width : WORD_MAX) != 0 || bytes > rma->layout.bytes ||
        offset > rma->layout.bytes - bytes)
        return false;
    const bool wants_old = (message->operand[1] & WANTS_OLD) != 0;
    const tern_numbers to = {.rank = worker->context->rank,
                             .address = rma->mine + offset,
                             .count = bytes / width,
                             .type = type};
    tern_numbers_update(worker->context, &to, (tern_reduction)op, payload, wants_old ? old : NULL);
    if (message->tag != 0)
        tern_message_answer(worker, source, message->tag, old, wants_old ? bytes : 0, false);
    return true;
}
