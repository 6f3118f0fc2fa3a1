#ifndef TERN_RMA_TRANSFER_H
#define TERN_RMA_TRANSFER_H

/*
 * A transfer is a put, a get or an atomic under way, for tern's own use. A request of a program
 * (tern/request.h) holds one. Unlike a request, a transfer may be tested in progress, and it
 * reports an error only once.
 */

#include "rma/memory/transport_ops.h"
#include "src/context.h"
#include "tern/transfer.h"

struct tern_message;

/* Start a put or a get, as tern_put_start and tern_get_start do. */
tern_status tern_transfer_put(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                              tern_transfer *transfer);
tern_status tern_transfer_get(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                              tern_transfer *transfer);
/* Sends a question to the rank's process; waits for a send buffer if need be. The answer completes
 * the transfer. */
tern_status tern_transfer_ask(tern_worker *worker, uint32_t rank,
                              const struct tern_message *message, const void *payload,
                              size_t payload_bytes, void *answer, size_t bytes,
                              tern_transfer *transfer);
/* As tern_atomic_start, but may also be called in progress. */
tern_status tern_transfer_atomic(tern_worker *worker, tern_ptr p, tern_atomic_op op,
                                 uint64_t operand, uint64_t expected, uint64_t *old,
                                 tern_transfer *transfer);

/*
 * flush.c: flushes of puts and atomics. tern_flush does more: it also waits until everything queued
 * has left (rma/departure.c), for which other ranks may have to probe. Objects of tern, which must
 * not wait for that, use these flushes.
 */

tern_status tern_puts_flush_remote(tern_worker *worker, uint32_t rank);

/* Waits until every put and atomic of this worker to rank is complete there. */
static inline tern_status tern_puts_flush(tern_worker *worker, uint32_t rank) {
    const tern_worker_view *view = &worker->view;
    if (__builtin_expect(rank >= view->inlined || view->reach[rank].bytes == 0, 0))
        return tern_puts_flush_remote(worker, rank);
    /* R3: tern_flush */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return TERN_OK;
}

/* _all: the same for every rank. _all_but: for all ranks but one (TERN_NOBODY: all), without the
 * fence that direct ranks need. After a put of the program was lost, each of these fails once, and
 * the program's next flush fails all the same. */
tern_status tern_puts_flush_all(tern_worker *worker);
tern_status tern_puts_flush_all_but(tern_worker *worker, uint32_t except);

/* The flushes of the program, which take the losses away that they tell of. */
tern_status tern_puts_flush_program(tern_worker *worker, uint32_t rank);
tern_status tern_puts_flush_all_program(tern_worker *worker);

/* A worker calls this when it begins to wait for another rank. That rank may itself be waiting for
 * puts of this worker, which MPI may keep back until a flush. So this flushes all puts over rma
 * that no flush has covered. It does nothing in handlers and in progress, which must not wait.
 * TERN_ERR_MPI. */
tern_status tern_puts_deliver(tern_worker *worker);

/* Checks an array of words for atomics of this worker, which may have to wait for them. width: of a
 * word, 4 or 8. bytes: of the array. [out] offset: in the segment. */
tern_status tern_atomic_check(tern_worker *worker, tern_ptr p, unsigned width, uint64_t bytes,
                              uint64_t *offset);
/* Makes an atomic that the processor's atomics do not serve. */
tern_status tern_atomic_remote(tern_worker *worker, tern_ptr p, tern_atomic_op op, unsigned width,
                               uint64_t operand, uint64_t expected, uint64_t *old);
/* Makes a request of a started transfer to rank. status: that of the start, which is returned. */
tern_status tern_transfer_started(tern_request *request, uint32_t rank,
                                  const tern_transfer *transfer, tern_status status);
/* Updates numbers for another rank (rma/accumulate.c). payload: the numbers. Returns whether the
 * message was well formed. The MPI lock is held. */
bool tern_accumulate_serve(tern_worker *worker, uint32_t source, const struct tern_message *message,
                           const char *payload, size_t bytes);

/* Whether MPI or a network makes the atomics of other nodes on TERN_DOMAIN_GLOBAL. */
bool tern_has_remote_atomics(const tern_context *context);
/* Whether the processor makes those of ranks that share memory: not if it would be at odds with
 * these. */
bool tern_processor_serves_global(const tern_context *context);

/*
 * put_if.c: a put that depends on a word; the owner of the memory makes it. If the word is
 * `expected`, the owner sets it to `during`, stores `words`, the one at index `last` after all
 * others, and then sets the word to `then`, unless another rank has changed it meanwhile. While the
 * word is `during`, no other rank changes the words that are put. So the old words that a put shows
 * are those that it has replaced, and no other put shows them. Once the message has been sent, the
 * origin may die: the owner does all of the put or none of it.
 */
typedef struct tern_put_if {
    uint64_t expected, during, then;
    uint16_t at;    /* bytes from the word to where words[0] is stored */
    uint16_t last;  /* index of the word that is stored last */
    uint32_t shows; /* 1: the answer shows the old words, too */
    uint64_t words[];
} tern_put_if;

/* The most bytes from the word to the end of the words that are put or shown. */
#define TERN_PUT_IF_MAX 4096u

/* Whether owners make such puts. They do if they also apply the atomics of other nodes. */
bool tern_owners_put(const tern_context *context);
/* Whether a get may read a word that atomics of other nodes may change at the same time, and
 * returns its old or new value. MPI forbids to get words that its own atomics change. */
bool tern_gets_see_words(const tern_context *context);
/* Starts such a put. words: the number of put->words. May be called in progress. [out] seen,
 * which has room for `bytes`: the word as the owner saw it. If the word was not `expected`, or if
 * put->shows is set, the words behind it follow. */
tern_status tern_transfer_put_if(tern_worker *worker, tern_ptr word, const tern_put_if *put,
                                 size_t words, uint64_t *seen, size_t bytes,
                                 tern_transfer *transfer);

/* The owner's side. Returns whether the message was well formed. The MPI lock is held. */
bool tern_put_if_serve(tern_worker *worker, uint32_t source, const struct tern_message *message,
                       const char *payload, size_t bytes);

/* Called when a wait has failed and the caller will reuse the memory: takes back the receive of an
 * answer by message, so that MPI does not write there any more. */
void tern_transfer_forget(tern_transfer *transfer);

/* Tests once, then makes progress if the transfer is not complete. [out] done: 1 if it is complete.
 * Never waits. TERN_ERR_PEER. */
tern_status tern_transfer_test(tern_worker *worker, tern_transfer *transfer, int *done);
tern_status tern_transfer_wait(tern_worker *worker, tern_transfer *transfer);

/* The functions look and wait (tern_request_kind) of requests that end only during progress. */
bool tern_pending_look(tern_worker *worker, tern_request *request);
tern_status tern_pending_wait(tern_worker *worker, tern_request *request);

#endif
