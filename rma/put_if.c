#include "rma/memory/state.h"
#include "rma/message/message.h"
#include "rma/region/region.h"
#include "rma/transfer.h"
#include "src/profile/profile.h"

/*
 * Puts that depend on a word. If atomics of other nodes are messages that the owner serves, a put
 * that follows such an atomic can travel in the same message. Then three steps take one round trip
 * instead of three: compare and lock the word, put, and release the word. Ranks of the owner's node
 * see the same as if the origin did the steps: first the word as the origin's lock, then the new
 * words, then the released word.
 */

bool tern_owners_put(const tern_context *context) {
    return tern_rma_of(context)->remote != NULL && !tern_has_remote_atomics(context);
}

bool tern_gets_see_words(const tern_context *context) {
    return tern_owners_put(context) || tern_rma_of(context)->native != NULL;
}

static tern_status transfer_put_if(tern_worker *worker, tern_ptr word, const tern_put_if *put,
                                   size_t words, uint64_t *seen, size_t bytes,
                                   tern_transfer *transfer) {
    uint64_t offset = 0;
    tern_status status = tern_segment_check(worker->context, word, bytes, &offset);
    if (status == TERN_OK && worker->in_handler)
        status = tern_worker_may_wait(worker, "a put to another node");
    if (status != TERN_OK)
        return status;
    const tern_message message = {
        .kind = TERN_MESSAGE_PUT_IF, .origin = worker->id, .offset = offset, .bytes = bytes};
    seen[0] = ~put->expected; /* stays if the owner refuses the message */
    worker->stats.atomics++;
    return tern_transfer_ask(worker, word.rank, &message, put, sizeof *put + 8 * words, seen, bytes,
                             transfer);
}

tern_status tern_transfer_put_if(tern_worker *worker, tern_ptr word, const tern_put_if *put,
                                 size_t words, uint64_t *seen, size_t bytes,
                                 tern_transfer *transfer) {
    if (__builtin_expect(worker->profile == NULL, 1))
        return transfer_put_if(worker, word, put, words, seen, bytes, transfer);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_ATOMIC, TERN_NO_FUNCTION);
    const tern_status status = transfer_put_if(worker, word, put, words, seen, bytes, transfer);
    tern_span_end(worker, &span, word.rank, 8 * words, status);
    return status;
}

/* Stores the words at `to`, the one at index `last` after all others. The fence keeps these stores
 * behind the change of the word that locks it. */
static void put_words(uint64_t *to, const uint64_t *words, size_t count, size_t last) {
    /* R2: tern_state_reload */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t i = 0; i < count; i++)
        if (i != last)
            /* R1: tern_entry_copy; the words are checked: R2 */
            __atomic_store_n(to + i, words[i], __ATOMIC_RELAXED);
    /* R7: tern_entry_copy */
    __atomic_store_n(to + last, words[last], __ATOMIC_SEQ_CST);
}

/* Reads count words. [out] to: the word as it was seen, then the words behind it. An atomic that
 * the origin sends because of these words is served after they are read. */
static void put_if_read(const uint64_t *word, uint64_t seen, uint64_t count, uint64_t *to) {
    to[0] = seen;
    for (uint64_t i = 1; i < count; i++)
        /* R2: put_words, tern_entry_put; behind the word */
        to[i] = __atomic_load_n(word + i, __ATOMIC_RELAXED);
    /* R2: tern_entry_put; the counter that the entry belongs to is changed behind it */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

bool tern_put_if_serve(tern_worker *worker, uint32_t source, const tern_message *message,
                       const char *payload, size_t bytes) {
    const tern_rma *rma = tern_rma_of(worker->context);
    uint64_t words[TERN_PUT_IF_MAX / 8], there[TERN_PUT_IF_MAX / 8];
    const uint64_t size = message->bytes, offset = message->offset;
    tern_put_if put;
    if (bytes <= sizeof put || bytes % 8 != 0 || size < 8 || size > TERN_PUT_IF_MAX ||
        size % 8 != 0 || offset % 8 != 0 || size > rma->layout.bytes ||
        offset > rma->layout.bytes - size || message->tag == 0)
        return false;
    memcpy(&put, payload, sizeof put);
    const uint64_t count = (bytes - sizeof put) / 8;
    if (put.at < 8 || put.at % 8 != 0 || put.at > size || count > (size - put.at) / 8 ||
        put.last >= count)
        return false;
    memcpy(words, payload + sizeof put, 8 * count);
    uint64_t *word = (uint64_t *)(void *)(rma->mine + offset), seen = put.expected;
    /* R7: tern_state_load; locks are taken by it, too: R6 */
    const bool taken =
        __atomic_compare_exchange_n(word, &seen, put.during, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (!taken || put.shows != 0)
        put_if_read(word, seen, size / 8, there);
    if (taken) {
        put_words(word + put.at / 8, words, count, put.last);
        uint64_t during = put.during;
        if (put.then != during)
            /* R6: tern_state_cas, tern_state_load */
            __atomic_compare_exchange_n(word, &during, put.then, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
    }
    if (taken && put.shows == 0)
        tern_message_answer(worker, source, message->tag, &seen, sizeof seen, false);
    else
        tern_message_answer(worker, source, message->tag, there, size, false);
    return true;
}
