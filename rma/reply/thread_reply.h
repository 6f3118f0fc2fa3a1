#ifndef TERN_RMA_REPLY_THREAD_REPLY_H
#define TERN_RMA_REPLY_THREAD_REPLY_H

/*
 * Replies to threads that have no worker, and so no cell in a board. A reply comes back by message,
 * to the rank, and carries the number under which the thread waits:
 *
 *     thread                       any thread that serves messages
 *     entry in the list: number    finds the entry, stores the answer there
 *     serves messages, looks       (none: the thread has given up; the reply is dropped)
 *
 * A number is used once. An entry is in memory of the process that no other rank reaches. Only the
 * thread that waits takes it out of the list and frees it.
 */

#include "rma/reply/reply.h"

typedef struct tern_thread_replies tern_thread_replies;

tern_status tern_thread_replies_open(tern_context *context);
/* Entries of threads that still wait go with the list. */
void tern_thread_replies_close(tern_context *context);

/* [out] address: of a new entry. TERN_ERR_MEMORY. */
tern_status tern_thread_reply_expect(tern_context *context, tern_return_address *address);

/* Where the answer of the entry arrives, in the manner of a cell. */
tern_cell *tern_thread_reply_cell(tern_context *context, uint64_t number);

/* The entry's answer has been taken, or is not wanted any more. */
void tern_thread_reply_end(tern_context *context, uint64_t number);

/* Sends an answer to a thread of rank; its sequence is the entry's number. Waits for a buffer.
 * TERN_ERR_PEER, TERN_ERR_MEMORY. */
tern_status tern_thread_reply_send(tern_worker *worker, uint32_t rank, const tern_cell *image);

/* Stores an answer that has come. */
void tern_thread_reply_receive(tern_context *context, const tern_cell *image);

#endif
