#ifndef TERN_RMA_REPLY_THREAD_REPLY_H
#define TERN_RMA_REPLY_THREAD_REPLY_H

/*
 * Replies to threads that have no worker and so no cell in a worker page. A reply comes back by a
 * message to the rank, with the number under which the thread waits:
 *
 *     thread                       any thread that serves messages
 *     entry in the list: number    finds the entry, stores the answer there
 *     serves messages, looks       (no entry: the thread has given up; the reply is dropped)
 *
 * A number is used once. An entry lies in private memory of the process. Only the waiting thread
 * takes its entry out of the list and frees it.
 */

#include "rma/reply/reply.h"

typedef struct tern_thread_replies tern_thread_replies;

tern_status tern_thread_replies_open(tern_context *context);
/* Frees the list, and the entries of threads that still wait. */
void tern_thread_replies_close(tern_context *context);

/* Makes a new entry. [out] address: where its answer goes. TERN_ERR_MEMORY. */
tern_status tern_thread_reply_expect(tern_context *context, tern_return_address *address);

/* The cell into which the entry's answer is stored. */
tern_cell *tern_thread_reply_cell(tern_context *context, uint64_t number);

/* Frees the entry, after its answer was taken or when the thread gives up. */
void tern_thread_reply_end(tern_context *context, uint64_t number);

/* Sends an answer to a thread of rank; its sequence is the entry's number. Waits for a buffer.
 * TERN_ERR_PEER, TERN_ERR_MEMORY. */
tern_status tern_thread_reply_send(tern_worker *worker, uint32_t rank, const tern_cell *image);

/* Stores an answer that has come, if its entry still exists. */
void tern_thread_reply_receive(tern_context *context, const tern_cell *image);

#endif
