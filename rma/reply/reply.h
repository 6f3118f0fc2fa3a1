#ifndef TERN_RMA_REPLY_REPLY_H
#define TERN_RMA_REPLY_REPLY_H

/*
 * Replies: the rank that answers writes the result one-sided into a cell that the asker reserved in
 * its own worker page, never into a ring. A cell's sequence number grows with each use, so that an
 * answer for which the asker did not wait cannot be taken for a later one.
 *
 * An asker may give up before the answer has come, because a rank has died. The answer may still
 * come later, and must not overwrite the answer of the cell's next use. What the asker does depends
 * on the transport of the rank that answers:
 *
 *     shm  the cell stays in use until the answer is there or the rank is dead: a process that has
 *          ended stores nothing any more.
 *     p2p  the cell is free at once. The thread that serves the late answer drops it, because of
 *          its sequence.
 *     rma  the cell stays in use until the answer is there. MPI may write what a dead rank has put
 *          at any later time. So if the rank is dead, the cell moves to fresh memory, and the old
 *          memory is left to MPI.
 *
 * A call that was never sent is answered in the asker's own process, maybe by another thread and
 * after the asker has given up. The sequence of such an answer is compared like that of one that
 * comes by message.
 */

#include "rma/memory/state.h"
#include "tern/call.h"

/* Stands for a cell when a thread without a worker waits (rma/reply/thread_reply.h). */
#define TERN_CELL_OF_THREAD TERN_CALL_REQUESTS

/* Where the answer of a request goes; travels with the request. */
typedef struct tern_return_address {
    uint32_t cell;
    uint32_t moved; /* the cell's cache line in the asker's heap, from 1; 0: not moved */
    uint64_t sequence;
} tern_return_address;

/* Prepares the cells of a worker. Its worker page must exist. */
void tern_reply_open(tern_worker *worker);
/* Whether a cell is free, after freeing those that were given up if all are in use. */
bool tern_reply_room(tern_worker *worker);
/* Reserves a cell. TERN_ERR_AGAIN: all are in use. */
tern_status tern_reply_expect(tern_worker *worker, tern_return_address *address);
/* Notes the position of the record that asks, which is the last one of the worker's ring to target.
 * The target stores the answer before it counts the record as consumed. Does nothing unless the
 * rank of target shares memory. */
void tern_reply_note_record(tern_worker *worker, const tern_return_address *address,
                            uint32_t target);
/* Whether the answer is there. The acquire pairs with the writer's release of the sequence. */
bool tern_reply_arrived(tern_worker *worker, const tern_return_address *address);
/* Whether the cell, for an answer of a rank that shares memory, holds something that no correct
 * rank would write. */
bool tern_reply_is_damaged(tern_worker *worker, const tern_return_address *address);
/* Called after a vain test of an answer: whether the worker has checked its peers since the last
 * such call about this cell. */
bool tern_reply_is_looked_at(tern_worker *worker, const tern_return_address *address);
/* The cell of an answer that has arrived; valid until tern_reply_release. */
const tern_cell *tern_reply_cell(tern_worker *worker, const tern_return_address *address);
/* Frees the cell. The answer has arrived, or the question was never sent. */
void tern_reply_release(tern_worker *worker, const tern_return_address *address);
/* Gives the cell up: the answer of rank has not arrived, and the asker no longer waits for it. */
void tern_reply_give_up(tern_worker *worker, const tern_return_address *address, uint32_t rank);

/* Writes an answer to worker `to`, by the transport to that worker's rank. payload: up to
 * TERN_RESULT_MAX bytes. */
tern_status tern_reply_send(tern_worker *worker, uint32_t to, const tern_return_address *address,
                            tern_status status, const void *payload, size_t bytes);

/* Answers a question of worker `to` of this process that was never sent, unless the worker has
 * given it up. */
void tern_reply_unsent(const tern_context *context, uint32_t to, const tern_return_address *address,
                       tern_status status, const void *payload, size_t bytes);

/* Writes an image into a cell that this process can store to. */
void tern_reply_store(tern_cell *cell, const tern_cell *image);
/* Stores an answer that came as a message to a worker of this process, unless the worker has given
 * it up. An answer with TERN_REPLY_CHECKED may have been put before, by a network that then
 * reported it as lost. The MPI lock is held. */
void tern_reply_receive(tern_worker *worker, uint32_t cell, const tern_cell *image);
/* The offset of a cell of worker `to` in the segment of its rank. */
uint64_t tern_reply_offset(const tern_context *context, uint32_t to,
                           const tern_return_address *address);

uint64_t tern_reply_checksum(const tern_context *context, const tern_cell *image);

#endif
