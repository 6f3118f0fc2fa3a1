#ifndef TERN_MAP_OP_OP_H
#define TERN_MAP_OP_OP_H

/*
 * Op of a map: one operation on one key, the same for a blocking operation, a request and a batch,
 * by RMA and by call. It is a table's op (hashtable/op/op.h) with a codec around it: the table
 * stores the descriptor of the value, and the value itself may lie in a block. It takes steps:
 *
 *     block    a change makes the block of a large value before any descriptor names it
 *     table    the table's op finds, puts or erases the descriptor; or a call has the owner take
 *              these two steps (message.h)
 *     value    a find takes the value from the descriptor or gets the block. If the block is not
 *              what the descriptor says, it goes back to the table
 *     end      a change gives its own block back if its descriptor was not stored. The block that
 *              it has replaced is in old, and its caller gives that back
 *
 * A MODIFY, an ADD and a COMPARE_SWAP are a find, a new value, and a REPLACE or INSERT_NEW, on the
 * same op (modify.c).
 *
 * Blocking is tern_map_op_run. A request is tern_map_op_start, tern_map_op_step in progress, and
 * tern_map_op_end in the wait: while the table's op, the call or the get of a block is under way,
 * its worker does other things. In a handler an op never waits: TERN_ERR_AGAIN.
 *
 * docs/decisions/0139 says which operation gives back which block.
 *
 * A find linearizes where the table's find does: its descriptor is what the map held then. A change
 * linearizes where the table's op does.
 */

#include "hashtable/op/op.h"
#include "map/block.h"
#include "tern/map.h"
#include "tern/request.h"

/* The caller owns the op, and keeps it in place until it is done. */
typedef struct tern_map_op {
    tern_op_hook hook; /* first: sees the descriptor that is replaced or erased */
    tern_op op; /* FIND, INSERT, INSERT_NEW, REPLACE and ERASE are the table's; a MODIFY, an ADD and
                   a COMPARE_SWAP are made of these. Its key is the fingerprint */
    /* Arguments. */
    tern_map_key key; /* set before tern_map_op_init; its bytes stay until the op is done */
    const tern_map *map;
    uint32_t owner;
    bool by_call;
    bool at_hand; /* a find does not read a block that load and store do not reach, but leaves it to
                     its caller; a change replaces no block of another rank: TERN_ERR_STATE */
    /* Of ops that put a value. */
    bool complete;     /* d is the whole descriptor, and its block, if it names one, is there */
    const void *given; /* the value, if d is not complete */
    /* Of a find. */
    bool allocates; /* if room is too small for the value, it allocates memory */
    void *value;    /* [out] where the value goes */
    size_t room;
    void *allocated; /* that memory, or NULL; the caller frees it */
    /* Of a MODIFY, an ADD and a COMPARE_SWAP. */
    uint8_t asked;      /* the kind of the whole op; op.kind is that of a step */
    bool inserts;       /* if the key is absent, it is inserted */
    bool served;        /* this rank is the owner and does it for another rank */
    bool calls;         /* the find and the put of this op go by call */
    uint64_t number[2]; /* what an ADD adds; what a COMPARE_SWAP expects and desires */
    uint64_t before;    /* [out] the number that was there */
    /* What the function of a MODIFY sees: the argument, and a buffer for the result. */
    tern_map_modify_info info;
    size_t result_room;
    tern_map_modifier modifier;
    /* The outcome. */
    bool existed;   /* of a change: the key was there; of a REPLACE: it has replaced the value */
    bool is_other;  /* a find met another key with this one's fingerprint: TERN_ERR_NOT_FOUND */
    bool is_remote; /* at_hand, and the block is remote: the value was not read, nothing changed */
    size_t value_bytes;
    tern_ptr old; /* the block that was replaced, or TERN_NULL */
    /* Under way. */
    bool starts;  /* tern_map_op_start: returns with the first step under way */
    bool made;    /* it has made the block that d names */
    bool sent;    /* the call was sent */
    bool differs; /* the hook has seen another descriptor than the expected one */
    char *copy;   /* where the get puts the block; NULL: no get was started */
    /* Set by tern_map_op_start. */
    tern_request under_way; /* the table's op, or the call */
    tern_transfer transfer; /* the get of the block */
    /* The descriptor that a find has found or a change puts, which is given its lengths. */
    tern_map_descriptor d;
    tern_map_descriptor expected; /* of a REPLACE: the only one that it replaces */
    size_t got;                   /* bytes of the answer to a call, */
    uint64_t reply[TERN_RESULT_MAX / 8];
} tern_map_op;

/* Whether an op of this kind puts a value that is an argument. */
static inline bool tern_map_op_puts(tern_op_kind kind) {
    return kind == TERN_OP_INSERT || kind == TERN_OP_INSERT_NEW || kind == TERN_OP_REPLACE;
}

/* Bytes of the numbers that are arguments of an op of this kind. */
static inline size_t tern_map_number_bytes(tern_op_kind kind) {
    return kind == TERN_OP_ADD            ? sizeof(uint64_t)
           : kind == TERN_OP_COMPARE_SWAP ? 2 * sizeof(uint64_t)
                                          : 0;
}

/* Whether an op of this kind makes its value from the one that is there. */
static inline bool tern_map_op_modifies(tern_op_kind kind) {
    return kind == TERN_OP_MODIFY || tern_map_number_bytes(kind) > 0;
}

static inline tern_worker *tern_map_op_worker(const tern_map_op *m) { return m->op.probe.worker; }

/* Sets the arguments of any op by RMA, except the key and the room of a find. */
static inline void tern_map_op_init(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                    const tern_map *map, tern_flags promise) {
    tern_op_init(&m->op, kind, worker, map->table, m->key.fingerprint, m->key.hash, promise);
    m->map = map;
    m->owner = tern_hash_owner(map->table, m->key.hash);
    m->by_call = m->at_hand = m->complete = m->allocates = false;
    m->existed = m->is_other = m->is_remote = false;
    m->starts = m->made = m->sent = m->differs = false;
    m->copy = NULL;
    m->old = TERN_NULL;
}

/* Sets where the value of a find goes: room bytes at value. */
static inline void tern_map_op_take(tern_map_op *m, void *value, size_t room) {
    m->value = value;
    m->room = room;
    m->allocated = NULL;
}

/* Sets the arguments of a find into room bytes at value. */
static inline void tern_map_op_init_find(tern_map_op *m, tern_worker *worker, const tern_map *map,
                                         tern_flags promise, void *value, size_t room) {
    tern_map_op_init(m, TERN_OP_FIND, worker, map, promise);
    tern_map_op_take(m, value, room);
}

/* Sets the value of a change whose other arguments are set: value_bytes at value. */
static inline void tern_map_op_give(tern_map_op *m, const void *value, size_t value_bytes) {
    m->given = value;
    m->d.words[0] = tern_map_lengths(m->key.size, value_bytes);
}

/* Sets the arguments of a change that stores value_bytes at value. */
static inline void tern_map_op_init_change(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                           const tern_map *map, tern_flags promise,
                                           const void *value, size_t value_bytes) {
    tern_map_op_init(m, kind, worker, map, promise);
    tern_map_op_give(m, value, value_bytes);
}

/* Begins another step on the same key. Path and room stay as they are. */
static inline void tern_map_op_again(tern_map_op *m, tern_op_kind kind) {
    const bool by_call = m->calls;
    tern_map_op_init(m, kind, tern_map_op_worker(m), m->map, TERN_READ_WRITE);
    m->by_call = by_call;
}

/* Sets the arguments of a modification of any kind, except by_call. */
static inline void tern_map_op_init_asked(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                          const tern_map *map, bool inserts) {
    tern_map_op_init(m, kind, worker, map, TERN_READ_WRITE);
    m->asked = (uint8_t)kind;
    m->inserts = inserts;
    m->served = false;
}

/* Sets the arguments of an ADD of number, or a COMPARE_SWAP. */
static inline void tern_map_op_init_number(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                           const tern_map *map, uint64_t number, uint64_t desired) {
    tern_map_op_init_asked(m, kind, worker, map, kind == TERN_OP_ADD);
    m->number[0] = number;
    m->number[1] = desired;
    m->before = 0;
}

/* Sets the arguments of a MODIFY. For a call, the caller sets origin and user in info. */
static inline void tern_map_op_init_modify(tern_map_op *m, tern_worker *worker, const tern_map *map,
                                           const tern_map_modifier *modifier, bool inserts,
                                           const void *argument, size_t bytes, void *result,
                                           size_t result_room) {
    tern_map_op_init_asked(m, TERN_OP_MODIFY, worker, map, inserts);
    m->info = (tern_map_modify_info){.worker = worker,
                                     .origin = tern_worker_self(worker),
                                     .key = m->key.bytes,
                                     .key_bytes = m->key.size,
                                     .argument = argument,
                                     .argument_bytes = bytes,
                                     .result = result,
                                     .user = modifier->call != NULL ? modifier->call->user : NULL};
    m->modifier = *modifier;
    m->result_room = result_room;
}

/* Whether a change whose status is TERN_OK has stored its descriptor. */
static inline bool tern_map_op_is_stored(const tern_map_op *m) {
    return m->op.kind == TERN_OP_INSERT_NEW ? !m->existed
                                            : m->op.kind != TERN_OP_REPLACE || m->existed;
}

/* map.c: the beginning of an op that a program asks for. Checks the arguments that every op has,
 * and sets them; an op of another kind is initialized once more with what that needs. */
tern_status tern_map_op_prepare(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                tern_map *map, const void *key, size_t key_bytes, tern_flags flags,
                                const char *name);
/* Chooses the path of the op: sets by_call and at_hand. kind, may_measure: as in a question
 * (path/choose.h). TERN_ERR_STATE: the op might wait, and this is a handler. */
tern_status tern_map_op_choose(tern_map_op *m, tern_path_kind kind, bool may_measure,
                               tern_flags flags, const char *name, tern_pick *pick);
/* Runs the op, gives back the block that it replaced, and returns the outcome with its detail. */
tern_status tern_map_op_finish(tern_map_op *m);
/* All that follows tern_map_op_prepare, as one blocking operation. */
tern_status tern_map_op_do(tern_map_op *m, tern_path_kind kind, tern_flags flags, const char *name);

/* Runs the op, and waits for it. TERN_ERR_FULL and TERN_ERR_NOT_FOUND have no detail.
 * TERN_ERR_EXISTS: the map holds another key with the same fingerprint. */
tern_status tern_map_op_run(tern_map_op *m);

/* Starts the op. On an error nothing is under way. */
tern_status tern_map_op_start(tern_map_op *m);
/* In progress: takes the steps of an op under way that are possible now. Returns whether the op
 * needs no other rank any more, unless a block is not what its descriptor says. */
bool tern_map_op_step(tern_map_op *m);
/* Waits for what is under way, and takes the steps that are left. Returns as tern_map_op_run. */
tern_status tern_map_op_end(tern_map_op *m);

/* Makes room for the value of a find, from malloc. */
tern_status tern_map_op_allocate(tern_map_op *m, size_t bytes);

/* Returns TERN_ERR_EXISTS: the map holds another key with this one's fingerprint. */
tern_status tern_map_fingerprints_meet(const tern_map_key *key);

/* ---- What the files of this folder share. ---- */

/* Does the first step, by the table's op or by a call. It is under way afterwards if it is a call
 * or the op starts (starts), else done. */
tern_status tern_map_op_begin(tern_map_op *m);
/* Waits for a first step that is under way. Returns its outcome. */
tern_status tern_map_op_await(tern_map_op *m);

/* find.c: the steps after the first look, whose outcome is status. */
tern_status tern_map_op_find(tern_map_op *m, tern_status status);

/* modify.c: the steps after the owner's answer, whose outcome is status; without one, all steps. */
tern_status tern_map_op_modify(tern_map_op *m, tern_status status);

#endif
