#ifndef TERN_MAP_CALL_H
#define TERN_MAP_CALL_H

/*
 * Operations by call. The owner makes the block for a key and value that come in a message, so that
 * later handlers reach it by load and store. A key and value too large for a ring stay in a block
 * of the caller's segment, and the message carries the descriptor alone. A handler must not get a
 * block from another node or give a block back to another rank. It answers with the descriptor or
 * the block, and the caller does these things.
 */

#include "hashtable/call.h"
#include "map/block.h"
#include "tern/request.h"

/* The head of every message. */
typedef struct tern_map_head {
    tern_table_head head;
    uint64_t fingerprint[2];
    uint64_t seed;
    uint64_t lengths; /* as in a descriptor; the value's length only in an insert */
    uint64_t flags;   /* of an insert */
} tern_map_head;

tern_map_head tern_map_head_to(const tern_map *map, const tern_map_key *key, size_t value_bytes,
                               uint64_t flags);

/* Reads the head of a message. [out] m: the head; map: the map that the message is for; key: the
 * key that it names, without its bytes, which may follow the head. */
tern_status tern_map_read_message(tern_call_info *call, const void *message, size_t bytes,
                                  tern_map_head *m, tern_map **map, tern_map_key *key);

/* A call, which its caller waits for or a request is for, and its answer. */
typedef struct tern_map_call {
    tern_request request; /* of a call that is started; zero before */
    size_t got;           /* [out] bytes of the answer; a started one's request tells them */
    uint64_t reply[TERN_RESULT_MAX / 8];
} tern_map_call;

/* Makes a call, and waits for its answer unless it only starts it. */
tern_status tern_map_call_to(tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *message, size_t bytes,
                             tern_map_call *call, bool starts);

/* In a handler: gives a replaced block of the own rank back. Returns a block of another rank, which
 * the caller has to give back, or TERN_NULL. */
tern_ptr tern_map_free_own(tern_worker *worker, const tern_map *map, tern_ptr old);

/* In a handler: returns the map that a message is for; NULL if there is none, or the message has
 * fewer than least bytes. */
tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least);

/* The same as tern_map_insertion_do, by a call to the owner. */
tern_status tern_map_call_put(tern_worker *worker, const tern_map *map, uint32_t owner,
                              tern_map_insertion *in);

/* The same as tern_map_remove, by a call to the owner. */
tern_status tern_map_call_remove(tern_worker *worker, const tern_map *map, uint32_t owner,
                                 const tern_map_key *key, tern_ptr *old);

/* The same as tern_map_look, by a call to the owner. [out] verdict: TERN_BLOCK_MINE if the answer
 * also had the value of a large descriptor, which is now in value; TERN_BLOCK_STALE if the caller
 * has to read it. */
tern_status tern_map_call_look(tern_worker *worker, const tern_map *map, uint32_t owner,
                               const tern_map_key *key, tern_map_descriptor *d, void *value,
                               size_t room, tern_block_verdict *verdict);

/* The two halves of tern_map_call_put and of tern_map_call_look. starts: the first half does not
 * wait, and if it fails there is no second half. The second half of an insertion has to come in any
 * case; status: what the call came to. */
tern_status tern_map_call_put_send(tern_worker *worker, const tern_map *map, uint32_t owner,
                                   tern_map_insertion *in, tern_map_call *call, bool starts);
tern_status tern_map_call_put_end(tern_worker *worker, const tern_map *map, uint32_t owner,
                                  tern_status status, const tern_map_call *call,
                                  tern_map_insertion *in);
tern_status tern_map_call_look_send(tern_worker *worker, const tern_map *map, uint32_t owner,
                                    const tern_map_key *key, tern_map_call *call, bool starts);
tern_status tern_map_call_look_end(const tern_map *map, uint32_t owner, const tern_map_call *call,
                                   tern_map_descriptor *d, void *value, size_t room,
                                   tern_block_verdict *verdict);

#endif
