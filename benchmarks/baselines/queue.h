/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The two queues of BCL (paper 003, section III-B and table III), on tern's public API: a ring
 * buffer in the segment of one rank, the host. Head and tail count the tickets that are drawn to
 * pop and to push; ticket t has slot t modulo the capacity.
 *
 *                        circular                          checksum
 *     push, read/write   FAO of tail, W, persistent CAS    FAO of tail, W
 *     pop, read/write    FAO of head, R, persistent CAS    R, CAS of head
 *     push, write only   FAO of tail, W                    the same
 *     pop, read only     FAO of head, R                    the same
 *     by call            one round trip; the host does the operation in its own memory
 *
 * FAO is a fetch-and-add, W a put, R a get. The persistent CAS advances a second word, tail_ready
 * or head_ready, from the ticket to the next one: it succeeds once all earlier tickets are done.
 * The slot of a checksum queue holds its ticket and a checksum, so that a pop sees whether it is
 * whole. A process gets an atomic load more now and then, to learn how far the other side is.
 *
 * The paper gives no pop of the checksum queue. Since nothing tells its pushers that a slot has
 * been read, the head may pass an item only when a popper has it in hand: the pop reads first and
 * draws its ticket by CAS.
 *
 * push and pop wait for room and for items. In a phase of pushes (WRITE_ONLY) or pops (READ_ONLY),
 * which tern_barrier begins and ends, all operations of all ranks make that promise, and there is
 * nothing to wait for: TERN_ERR_FULL and TERN_ERR_EMPTY. Behind the barrier that ends a phase, the
 * host calls baseline_queue_settle, and another barrier follows.
 *
 * A push leaves its put to be delivered, but for the read/write push of the circular queue. Before
 * a rank waits for others by other means than an operation of the same queue, it calls tern_flush.
 *
 * One worker of each rank uses the queue. A rank that dies with a ticket in hand blocks the queue:
 * this is a baseline, not a container.
 */

#ifndef TERN_BASELINES_QUEUE_H
#define TERN_BASELINES_QUEUE_H

#include <mpi.h>

#include "tern/tern.h"

enum { BASELINE_ITEM_MAX = 1000 };

typedef enum baseline_queue_kind { BASELINE_CIRCULAR, BASELINE_CHECKSUM } baseline_queue_kind;

typedef struct baseline_queue baseline_queue;

/** Creates a queue. Collective over comm, which has the ranks of the context in their order.
 *
 * @param item_bytes 1 to BASELINE_ITEM_MAX
 * @param capacity items, 1 or more
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_MEMORY on all ranks if the host has no room */
tern_status baseline_queue_create(tern_worker *worker, MPI_Comm comm, baseline_queue_kind kind,
                                  uint32_t host, size_t item_bytes, uint64_t capacity,
                                  baseline_queue **queue);
/** Frees the queue. Collective. */
tern_status baseline_queue_destroy(tern_worker *worker, baseline_queue *queue);

/** Appends an item.
 *
 * @param flags TERN_READ_WRITE or TERN_WRITE_ONLY; with TERN_BY_CALL by call, otherwise by RMA
 * @return TERN_OK; TERN_ERR_FULL in a phase; what tern returns */
tern_status baseline_queue_push(tern_worker *worker, baseline_queue *queue, const void *item,
                                tern_flags flags);
/** Takes the oldest item.
 *
 * @param flags TERN_READ_WRITE or TERN_READ_ONLY; with TERN_BY_CALL by call, otherwise by RMA
 * @return TERN_OK; TERN_ERR_EMPTY in a phase; what tern returns */
tern_status baseline_queue_pop(tern_worker *worker, baseline_queue *queue, void *item,
                               tern_flags flags);

/** Makes a phase's items and free slots known to read/write operations. The host calls it between
 * two barriers; on other ranks it does nothing. */
tern_status baseline_queue_settle(tern_worker *worker, baseline_queue *queue);

#endif
