#ifndef TERN_RMA_TRANSFER_H
#define TERN_RMA_TRANSFER_H

/*
 * Transfer: a put, a get or an atomic under way, for tern's own use. A request of a program
 * (tern/request.h) holds one. Unlike a request it may be looked at in progress, and it tells an
 * error once.
 */

#include "rma/memory/transport_ops.h"
#include "src/context.h"
#include "tern/transfer.h"

struct tern_message;

/* Start, as tern_put_start and tern_get_start do. */
tern_status tern_transfer_put(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                              tern_transfer *transfer);
tern_status tern_transfer_get(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                              tern_transfer *transfer);
/* Asks the rank's process, and waits for room if need be. The answer completes the transfer. */
tern_status tern_transfer_ask(tern_worker *worker, uint32_t rank,
                              const struct tern_message *message, const void *payload,
                              size_t payload_bytes, void *answer, size_t bytes,
                              tern_transfer *transfer);
/* As tern_atomic_start, but it may be used in progress. */
tern_status tern_transfer_atomic(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                 uint64_t operand, uint64_t expected, uint64_t *old,
                                 tern_transfer *transfer);

/*
 * flush.c: what a flush does for puts and atomics. tern_flush does more: it waits for all that was
 * queued (rma/departure.c), which may need that others probe. What flushes for an object of tern's
 * own must not wait for that.
 */

tern_status tern_puts_flush_far(tern_worker *worker, uint32_t rank);

/* Waits until every put and atomic of this worker to rank is complete there. */
static inline tern_status tern_puts_flush(tern_worker *worker, uint32_t rank) {
    const tern_worker_view *view = &worker->view;
    if (__builtin_expect(rank >= view->inlined || view->reach[rank].bytes == 0, 0))
        return tern_puts_flush_far(worker, rank);
    /* R3: tern_flush */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return TERN_OK;
}

/* The same towards every rank; and towards all but one, or with TERN_NOBODY all, without a fence
 * for those that are near. */
tern_status tern_puts_flush_all(tern_worker *worker);
tern_status tern_puts_flush_all_but(tern_worker *worker, uint32_t except);

/* A worker calls this when it begins to wait for another rank, which may be waiting for its puts:
 * MPI may keep them back until a flush. Flushes all that it has put over rma and left unflushed.
 * Does nothing where the worker may not wait. TERN_ERR_MPI. */
tern_status tern_puts_deliver(tern_worker *worker);

/* Whether atomics on TERN_DOMAIN_GLOBAL are MPI's or a network's, and never the processor's. */
bool tern_has_far_atomics(const tern_context *context);

/*
 * put_if.c: a put that depends on a word, by the owner of both. If the word is as expected it
 * becomes `during`; then `words` are stored, the one at `last` behind all others, and then the word
 * becomes `then`, unless somebody has changed it meanwhile. While the word is `during`, nobody else
 * changes what is put: so what a put shows it has replaced, and no other put shows it. The put
 * belongs to the owner as soon as the message does: its origin may die, and nothing stays half
 * done.
 */
typedef struct tern_put_if {
    uint64_t expected, during, then;
    uint16_t at;    /* bytes from the word to the first of the words that are put */
    uint16_t last;  /* an index */
    uint32_t shows; /* 1: the answer has what was there before, too */
    uint64_t words[];
} tern_put_if;

/* The most bytes from the word to the end of what is put or seen. */
#define TERN_PUT_IF_MAX 4096u

/* Whether owners put: where they apply the atomics of other nodes, too. */
bool tern_owners_put(const tern_context *context);
/* Whether a get tells what a word is or was, also where other nodes' atomics may change it just
 * then. MPI forbids to get words that its own atomics change. */
bool tern_gets_see_words(const tern_context *context);
/* Starts one of so many words. May be used in progress. [out] seen: what the word was; if that is
 * not what was expected, or the put shows it, what lay behind it follows: so many bytes in all. */
tern_status tern_transfer_put_if(tern_worker *worker, tern_ptr word, const tern_put_if *put,
                                 size_t words, uint64_t *seen, size_t bytes,
                                 tern_transfer *transfer);

/* The owner's side: whether the message was right. The MPI lock is held. */
bool tern_put_if_serve(tern_worker *worker, uint32_t source, const struct tern_message *message,
                       const char *payload, size_t bytes);

/* Of one whose wait has failed, and whose memory is used again: a message's is MPI's no more. */
void tern_transfer_forget(tern_transfer *transfer);

/* [out] done: 1 when it is complete. One look, then progress if there may be any. Never waits.
 * TERN_ERR_PEER. */
tern_status tern_transfer_test(tern_worker *worker, tern_transfer *transfer, int *done);
tern_status tern_transfer_wait(tern_worker *worker, tern_transfer *transfer);

/* Of requests that progress ends, whatever happens: what a look and a wait do (tern_request_kind).
 */
bool tern_pending_look(tern_worker *worker, tern_request *request);
tern_status tern_pending_wait(tern_worker *worker, tern_request *request);

#endif
