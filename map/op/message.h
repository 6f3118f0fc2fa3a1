#ifndef TERN_MAP_OP_MESSAGE_H
#define TERN_MAP_OP_MESSAGE_H

/*
 * Ops by call. A message is a head, which says what the ops in it are, and one item for each op
 * (item.h). The owner makes the block for a key and value that come in a message, so that later
 * handlers reach it by load and store. A key and value too large for a ring stay in a block of the
 * caller's segment, and the message carries the descriptor in their place. A handler must not get a
 * block from another node or give a block back to another rank. It answers with the descriptor or
 * the block, and the caller does these things.
 */

#include "map/op/item.h"
#include "map/op/op.h"

/* In a handler: returns the map that a message is for; NULL if this rank has no such map, or the
 * message has fewer than least bytes. */
tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least);

/* In a handler: gives a replaced block of the own rank back. Returns a block of another rank, which
 * the caller has to give back, or TERN_NULL. */
tern_ptr tern_map_free_own(tern_worker *worker, const tern_map *map, tern_ptr old);

/* Whether the message of a change has its value in it, so that the owner makes the block. */
bool tern_map_message_has_value(const tern_map_op *m);

/* Sends the op to the owner. The call is under way. */
tern_status tern_map_message_send(tern_map_op *m);

/* Tells of an answer that no owner gives to this op: TERN_ERR_SYSTEM. */
tern_status tern_map_message_is_wrong(const tern_map_op *m);

/* Takes the answer to a change. */
tern_status tern_map_message_changed(tern_map_op *m);
/* Takes the answer to a find. [out] verdict: MINE if it had the value of a large descriptor, which
 * is now in its place; STALE if the value is still to be taken from the descriptor. */
tern_status tern_map_message_found(tern_map_op *m, tern_block_verdict *verdict);

#endif
