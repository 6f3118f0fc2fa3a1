#ifndef TERN_MAP_OP_OP_H
#define TERN_MAP_OP_OP_H

/*
 * Op of a map: one operation on one key, whatever asks for it and whatever way it takes. It is an
 * op of the table (hashtable/op/op.h) with a codec around it: what the table stores is the
 * descriptor of the value, and the value itself may lie in a block. It goes on in steps:
 *
 *     block    a change makes the block of a large value, before a descriptor names it
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
 * Which blocks are given back, and by which operation, says docs/decisions/0139.
 *
 * A find linearizes where the table's find does: its descriptor is what the map held then. A change
 * linearizes where the table's op does.
 */

#include "hashtable/op/op.h"
#include "map/block.h"
#include "tern/map.h"
#include "tern/request.h"

/* Its caller owns its memory, which does not move until it is done. */
typedef struct tern_map_op {
    tern_op_hook hook; /* first: sees the descriptor that is replaced or erased */
    tern_op op; /* FIND, INSERT, INSERT_NEW, REPLACE and ERASE are the table's; a MODIFY, an ADD and
                   a COMPARE_SWAP are made of these. Its key is the fingerprint */
    /* Arguments. */
    tern_map_key key; /* set before tern_map_op_init; its bytes stay until the op is done */
    const tern_map *map;
    uint32_t owner;
    bool by_call;
    bool at_hand; /* a find leaves a block that load and store do not reach to its caller; a change
                     replaces no block of another rank: TERN_ERR_STATE */
    /* Of what puts. */
    bool complete;     /* d is the whole descriptor, and its block, if it names one, is there */
    const void *given; /* the value, if d is not complete */
    /* Of a find. */
    bool allocates; /* a value that has too little room gets memory */
    void *value;    /* [out] room for so many bytes */
    size_t room;
    void *allocated; /* which is this, or NULL; the caller gives it to free */
    /* Of what modifies. */
    uint8_t asked;      /* its kind, while op.kind is that of a step */
    bool inserts;       /* a key that is not there is new */
    bool served;        /* the op is another rank's, and this one is the owner */
    bool calls;         /* find and put go by call */
    uint64_t number[2]; /* what an ADD adds; what a COMPARE_SWAP expects and desires */
    uint64_t before;    /* [out] the number that was there */
    /* What the function of a MODIFY sees, with argument and room for a result. */
    tern_map_modify_info info;
    size_t result_room;
    tern_map_modifier modifier;
    /* What came of it. */
    bool existed;  /* of a change: the key was there; of a REPLACE: and its value was replaced */
    bool is_other; /* a find met another key with this one's fingerprint: TERN_ERR_NOT_FOUND */
    bool is_far;   /* at_hand, and the block is far: the value was not read, and nothing changed */
    size_t value_bytes;
    tern_ptr old; /* the block that was replaced, or TERN_NULL */
    /* Under way. */
    bool starts;  /* its first step is under way when it returns */
    bool made;    /* it has made the block that d names */
    bool sent;    /* the call was sent */
    bool differs; /* the hook has seen another descriptor than the expected one */
    char *copy;   /* of the block, which comes here; NULL: no get was started */
    /* Set where an op starts. */
    tern_request under_way; /* the table's op, or the call */
    tern_transfer transfer; /* the get of the block */
    /* The descriptor that a change puts, of which the lengths are an argument, or that a find has
     * found. */
    tern_map_descriptor d;
    tern_map_descriptor expected; /* of a REPLACE: the only one that it replaces */
    size_t got;                   /* bytes of the answer to a call, */
    uint64_t reply[TERN_RESULT_MAX / 8];
} tern_map_op;

/* Whether an op of this kind puts a value that it is given. */
static inline bool tern_map_op_puts(tern_op_kind kind) {
    return kind == TERN_OP_INSERT || kind == TERN_OP_INSERT_NEW || kind == TERN_OP_REPLACE;
}

/* Bytes of the numbers that an op of this kind is given. */
static inline size_t tern_map_number_bytes(tern_op_kind kind) {
    return kind == TERN_OP_ADD            ? sizeof(uint64_t)
           : kind == TERN_OP_COMPARE_SWAP ? 2 * sizeof(uint64_t)
                                          : 0;
}

/* Whether an op of this kind makes its value of the one that is there. */
static inline bool tern_map_op_modifies(tern_op_kind kind) {
    return kind == TERN_OP_MODIFY || tern_map_number_bytes(kind) > 0;
}

static inline tern_worker *tern_map_op_worker(const tern_map_op *m) { return m->op.probe.worker; }

/* The arguments of any kind of op whose key is set; by RMA. The room of a find stays as it is. */
static inline void tern_map_op_init(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                    const tern_map *map, tern_flags promise) {
    tern_op_init(&m->op, kind, worker, map->table, m->key.fingerprint, m->key.hash, promise);
    m->map = map;
    m->owner = tern_hash_owner(map->table, m->key.hash);
    m->by_call = m->at_hand = m->complete = m->allocates = false;
    m->existed = m->is_other = m->is_far = false;
    m->starts = m->made = m->sent = m->differs = false;
    m->copy = NULL;
    m->old = TERN_NULL;
}

/* Where the value of a find goes: room bytes at value. */
static inline void tern_map_op_take(tern_map_op *m, void *value, size_t room) {
    m->value = value;
    m->room = room;
    m->allocated = NULL;
}

/* A find into room bytes at value. */
static inline void tern_map_op_init_find(tern_map_op *m, tern_worker *worker, const tern_map *map,
                                         tern_flags promise, void *value, size_t room) {
    tern_map_op_init(m, TERN_OP_FIND, worker, map, promise);
    tern_map_op_take(m, value, room);
}

/* The change of an op whose other arguments are set: stores value_bytes at value. */
static inline void tern_map_op_give(tern_map_op *m, const void *value, size_t value_bytes) {
    m->given = value;
    m->d.words[0] = tern_map_lengths(m->key.size, value_bytes);
}

/* A change that stores value_bytes at value. */
static inline void tern_map_op_init_change(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                           const tern_map *map, tern_flags promise,
                                           const void *value, size_t value_bytes) {
    tern_map_op_init(m, kind, worker, map, promise);
    tern_map_op_give(m, value, value_bytes);
}

/* Another step on the same key; way and room stay as they are. */
static inline void tern_map_op_again(tern_map_op *m, tern_op_kind kind) {
    const bool by_call = m->calls;
    tern_map_op_init(m, kind, tern_map_op_worker(m), m->map, TERN_READ_WRITE);
    m->by_call = by_call;
}

/* A modification of any kind. The caller sets by_call. */
static inline void tern_map_op_init_asked(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                          const tern_map *map, bool inserts) {
    tern_map_op_init(m, kind, worker, map, TERN_READ_WRITE);
    m->asked = (uint8_t)kind;
    m->inserts = inserts;
    m->served = false;
}

/* An ADD of number, or a COMPARE_SWAP. */
static inline void tern_map_op_init_number(tern_map_op *m, tern_op_kind kind, tern_worker *worker,
                                           const tern_map *map, uint64_t number, uint64_t desired) {
    tern_map_op_init_asked(m, kind, worker, map, kind == TERN_OP_ADD);
    m->number[0] = number;
    m->number[1] = desired;
    m->before = 0;
}

/* A MODIFY. The caller sets of info what the function is to see of its call. */
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
/* Chooses how it is done: by_call and at_hand. kind: to the selector. may_measure: as of a
 * question. TERN_ERR_STATE: it may wait, and a handler must not. */
tern_status tern_map_op_choose(tern_map_op *m, tern_path_kind kind, bool may_measure,
                               tern_flags flags, const char *name, tern_pick *pick);
/* Does it, and gives back the block that it has replaced. The outcome with its detail. */
tern_status tern_map_op_finish(tern_map_op *m);
/* All that is behind prepare, as a blocking operation. */
tern_status tern_map_op_do(tern_map_op *m, tern_path_kind kind, tern_flags flags, const char *name);

/* Does it, and waits for it. TERN_ERR_FULL and TERN_ERR_NOT_FOUND have no detail. TERN_ERR_EXISTS:
 * the map holds another key with the same fingerprint. */
tern_status tern_map_op_run(tern_map_op *m);

/* Starts it. On an error nothing is under way. */
tern_status tern_map_op_start(tern_map_op *m);
/* Takes the steps of an op that is under way whose time has come; in progress. Whether what is left
 * needs no other rank, but where a block is not what its descriptor says. */
bool tern_map_op_step(tern_map_op *m);
/* Waits for what is under way, and takes the steps that are left. The outcome, as of a run. */
tern_status tern_map_op_end(tern_map_op *m);

/* Makes room for the value of a find, from malloc. */
tern_status tern_map_op_allocate(tern_map_op *m, size_t bytes);

/* What it means that the map holds another key with this one's fingerprint: TERN_ERR_EXISTS. */
tern_status tern_map_fingerprints_meet(const tern_map_key *key);

/* ---- What the files of this folder share. ---- */

/* Has the table's op or a call do the first step: done, or under way if it is a call or the op
 * starts. */
tern_status tern_map_op_begin(tern_map_op *m);
/* Waits for what a begin has left under way. The outcome. */
tern_status tern_map_op_await(tern_map_op *m);

/* find.c: the steps behind the first look, whose outcome is status. */
tern_status tern_map_op_find(tern_map_op *m, tern_status status);

/* modify.c: the steps behind the owner's answer, whose outcome is status, or all of them. */
tern_status tern_map_op_modify(tern_map_op *m, tern_status status);

#endif
