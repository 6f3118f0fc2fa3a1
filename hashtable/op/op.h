#ifndef TERN_HASHTABLE_OP_OP_H
#define TERN_HASHTABLE_OP_OP_H

/*
 * Op: one operation on one key of a table. It is the same for a blocking operation, a request and a
 * batch, and on the direct and the remote path. It goes on in steps, each of which never waits for
 * another rank:
 *
 *     begin    tern_op_init, and the arguments of its kind
 *     path     direct where load and store reach the bucket, otherwise remote
 *     step     looks at buckets, until it meets what ends the search, and acts on that
 *     finish   the outcome, and the results
 *
 * What a look at a bucket says is a sight. What an op does about each sight depends on its kind
 * alone (op.c). The direct and the remote path each supply the look and three actions: create an
 * entry, replace one, work on a counter:
 *
 *     direct.c   by load, store and the processor's atomics; an action is one step
 *     remote.c   by gets and put-ifs or, where the owner does not serve these, by atomics and puts
 *                under the bucket's lock; an action is a row of stages, each one round trip
 *
 * When the part has moved its keys, an op goes on in the next array (follow.c), on either path.
 *
 * Callers: tern_op_run runs an op and waits for it. A pool of requests and a pipeline of a batch
 * start ops and step them in progress (pool.c, pipeline.c). In a handler tern_op_run does not wait
 * for other ranks: it returns TERN_ERR_AGAIN and has changed nothing.
 *
 * Which array an op holds. Between steps an op may stand in an array whose memory its owner wants
 * back. tern_op_holds tells that, so no grace period ends meanwhile (growth/grace.c). An op that
 * waits for the owner itself holds no array (outside): if probes start in a later array after the
 * wait, it begins anew there.
 */

#include "hashtable/bucket/probe.h"
#include "rma/transfer.h"

typedef enum tern_op_kind {
    TERN_OP_FIND,
    TERN_OP_INSERT,
    TERN_OP_INSERT_NEW, /* a key that is there stays as it is */
    TERN_OP_REPLACE,    /* the value of a key that is there */
    TERN_OP_ERASE,
    TERN_OP_ADD,          /* to a counter */
    TERN_OP_COMPARE_SWAP, /* of a counter that is there */
    TERN_OP_COPY,         /* of an entry, into the array that its keys are moved to */
    TERN_OP_MODIFY        /* of a map: a find, a function, and a change */
} tern_op_kind;

typedef enum tern_op_stage {
    TERN_OP_DONE,
    TERN_OP_LOOK, /* at the bucket where the probe stands */
    /* remote.c */
    TERN_OP_GET,    /* buckets, whole cache lines, states and counters included */
    TERN_OP_STORE,  /* a put-if */
    TERN_OP_STATE,  /* load the state of a bucket whose entry is not whole */
    TERN_OP_COUNT,  /* an atomic of the counter */
    TERN_OP_REVIVE, /* compare and swap the counter, which was erased */
    TERN_OP_CLAIM,  /* compare and swap the state of a free bucket */
    TERN_OP_BEGIN,  /* add the first number to the counter of a claimed bucket */
    TERN_OP_LOCK,   /* compare and swap the state of a bucket that holds the key */
    TERN_OP_READ,   /* get the entry of a locked bucket */
    TERN_OP_UNLOCK, /* compare and swap the state of a locked bucket */
    /* follow.c */
    TERN_OP_GET_DESCRIPTOR, /* get the owner's array descriptor */
    TERN_OP_GOT_DESCRIPTOR, /* that get is under way */
    TERN_OP_LEFT,           /* load the state of a bucket whose counter is marked as moved */
    TERN_OP_LOADED,         /* that load is under way */
    TERN_OP_RESERVE,        /* take room in an array that keys are being moved to */
    TERN_OP_REQUEST_GROWTH  /* put the byte that asks the owner for another array */
} tern_op_stage;

/* What a look at a bucket says of the key. */
typedef enum tern_sight {
    TERN_SIGHT_FREE,   /* no rank has taken the bucket: the key is not in this array */
    TERN_SIGHT_FROZEN, /* it was free when the keys were moved on: the key is in the next array, if
                          it is anywhere */
    TERN_SIGHT_BUSY,   /* its entry is not whole: another rank may be writing it */
    TERN_SIGHT_LIVE,
    TERN_SIGHT_ERASED,
    TERN_SIGHT_MOVED,
    TERN_SIGHT_END /* the search has been at every bucket */
} tern_sight;

/*
 * A hook sees the value of a key before an op replaces or erases it, while nobody changes it: under
 * the lock of the bucket or, where owners serve put-ifs, as the put-if has found it. A remote op
 * shows the hook what a get has brought, and then what its put-if has replaced, or NULL if that was
 * no value: the last one counts. The value that the hook saw last is the one that this op, and no
 * other, has replaced. If the hook returns anything but TERN_OK, the value stays, and that status
 * is the op's outcome. A hook never waits.
 *
 * makes: the hook also makes the value that takes its place. It finds a copy of the old one in
 * next, or zeros where the key was not there, and value is NULL then.
 */
typedef struct tern_op_hook {
    tern_status (*see)(struct tern_op_hook *hook, const uint64_t *value, uint64_t *next);
    bool makes;
} tern_op_hook;

/* Why an op reads the owner's array descriptor. */
typedef enum tern_op_wants {
    TERN_OP_WANTS_NEXT, /* the array behind the one that it stands in */
    TERN_OP_WANTS_ROOM, /* a free bucket of an array that keys are being moved to */
    TERN_OP_WANTS_COPY  /* the copy of a counter that is marked as moved */
} tern_op_wants;

/* The caller owns the op, and keeps it in place until it is done. */
typedef struct tern_op {
    /* Arguments. */
    uint8_t kind, stage;
    uint8_t promise; /* of tern_flags */
    bool remote;     /* load and store do not reach the bucket */
    bool follows;    /* goes on in the next array; else its outcome is TERN_MOVED or TERN_BEYOND */
    bool grave;      /* of a copy: the entry is not whole, and its state names a rank that is dead
                     or is not writing it */
    bool once;       /* where it would have to wait for another rank, it ends */
    /* What it waits for, if it waits: the rank that state names. */
    bool waits;
    bool outside; /* while it waits it holds no array */
    tern_key_search probe;
    const void *given; /* value_bytes; of a copy the value's words, of a grave the entry */
    void *taken;       /* [out] of a find: value_bytes, or a number */
    uint64_t number;   /* of an add: what is added; of a swap: what is expected; of a copy: the
                          counter */
    union {
        uint64_t desired; /* of a swap */
        uint64_t mine;    /* of a copy: the state that takes a bucket */
    };
    tern_op_hook *hook; /* NULL: none */
    /* When done. */
    tern_status outcome; /* without a detail: TERN_OK, TERN_ERR_NOT_FOUND, TERN_ERR_FULL */
    uint32_t generation; /* of the array that it stands in, or stood in */
    uint64_t result;     /* of an insert: 1 if the key was there; of a counter: the number before */
    /* Under way. */
    uint64_t state;            /* of the bucket, when it was seen last */
    uint64_t word;             /* what an atomic gave */
    uint64_t expected;         /* what it compared with */
    uint64_t suspicious_state; /* it contradicts the entry of the bucket, */
    uint32_t suspicious_looks; /* as it also did in so many looks after the first one */
    uint8_t wants;
    bool permitted; /* to take a free bucket */
    bool asked;     /* for room, in this array */
    bool moving;    /* whether keys were being moved when it met a moved counter */
    bool over;      /* it requests growth once more, and then ends: the owner makes no room now */
    unsigned char growth_request;
    int16_t met;          /* the outcome in the array that the op leaves */
    uint64_t refused;     /* in the first descriptor that it read; UINT64_MAX: none */
    const uint64_t *seen; /* the entry, during a step */
    tern_transfer transfer;
    uint64_t *room;      /* of a remote op: the buckets that are here, and what is put */
    uint64_t first;      /* of these buckets; */
    uint32_t count, run; /* how many, and how many the last get was to bring */
} tern_op;

_Static_assert(sizeof(tern_op) <= 256, "a pool and a batch have many");

/* The arguments that every op has. key: padded words, which stay until the op is done. */
static inline void tern_op_init(tern_op *op, tern_op_kind kind, tern_worker *worker,
                                const tern_hashtable *table, const uint64_t *key, uint64_t hash,
                                tern_flags promise) {
    op->kind = (uint8_t)kind;
    op->promise = (uint8_t)promise;
    op->follows = true;
    op->grave = false;
    op->probe.worker = worker;
    op->probe.table = table;
    op->probe.key = key;
    op->probe.hash = hash;
    op->hook = NULL;
    op->result = 0;
}

/* Runs the op, by the short path (bucket/short.h) if that takes it, and waits for its end. Returns
 * the outcome. */
tern_status tern_op_run(tern_op *op);
/* The same without the short path, in array part alone; NULL: in all, from where probes start. */
tern_status tern_op_run_in(tern_op *op, const tern_table_part *part);

/* Bytes of the buffer (room) that a remote op needs until it is done. */
size_t tern_op_room(const tern_hashtable *table);
/* Whether an op on a part of that owner is remote. */
static inline bool tern_op_is_remote(const tern_hashtable *table, uint32_t owner) {
    return table->part[owner].direct == NULL;
}

/* Starts the op, in the array where probes start. room: of tern_op_room bytes, or NULL if the op is
 * not remote. Not to be called within another op's step. */
void tern_op_start(tern_op *op, uint64_t *room);
/* Takes the steps that are possible now. Returns how many. If the outcome is an error, a transfer
 * may stay under way for ever; then the room must not be freed (tern_op_leaks_room). */
size_t tern_op_step(tern_op *op);

/* Waits for the transfer that is under way, if there is one. */
void tern_op_await(tern_op *op);

static inline bool tern_op_leaks_room(const tern_op *op) { return op->transfer.under_way; }

/* Whether an op that is under way may touch an array of the owner that is older than generation. */
static inline bool tern_op_holds(const tern_op *op, uint32_t owner, uint64_t generation) {
    return !op->outside && tern_hash_owner(op->probe.table, op->probe.hash) == owner &&
           op->probe.part->generation < generation;
}

/* ---- What the files of this folder share. ---- */

/* Whether the op takes a bucket for its key if the key is absent. */
static inline bool tern_op_creates(const tern_op *op) {
    return op->kind == TERN_OP_INSERT || op->kind == TERN_OP_INSERT_NEW ||
           op->kind == TERN_OP_ADD || op->kind == TERN_OP_COPY;
}

/* op.c */

void tern_op_finish(tern_op *op, tern_status outcome);
/* Notes a transfer that was started, whose step is stage. If status is an error, the op fails. */
void tern_op_started(tern_op *op, tern_op_stage stage, tern_status status);
/* Starts an atomic on the word at bytes behind the start of the probe's bucket. */
void tern_op_atomic(tern_op *op, tern_op_stage stage, tern_atomic_op what, uint32_t at,
                    uint64_t operand, uint64_t expected);
/* Takes the free bucket that the probe is at for a new key. */
void tern_op_create(tern_op *op);
/* Acts on the sight of the bucket that the probe is at, whose state and entry are in the op. */
void tern_op_meet(tern_op *op, tern_sight sight);
/* Whether the search goes on behind a bucket whose entry is not whole. */
bool tern_op_passes(const tern_op *op, uint64_t state);
/* Makes the op wait for the rank that state names, and then look at the bucket again. */
void tern_op_wait_for(tern_op *op, uint64_t state);
/* Counts looks in a row at a state that contradicts its entry. True: they are more than looks. */
bool tern_op_suspects(tern_op *op, uint64_t state, uint32_t looks);
/* Begins the search where the probe stands. */
void tern_op_set_out(tern_op *op);
/* Acts on the word that an atomic other than an add has returned of a counter. */
void tern_op_counted(tern_op *op, uint64_t word);
/* Shows the hook, if there is one, the value before, and writes the words that the op stores to
 * value. shown: the value before, or NULL; may be the same as value. */
tern_status tern_op_fill(tern_op *op, const uint64_t *shown, uint64_t *value);

/* direct.c */

void tern_direct_look(tern_op *op);
void tern_direct_create(tern_op *op);
/* erased: whether the entry says that the key is erased. */
void tern_direct_replace(tern_op *op, bool erased);
void tern_direct_count(tern_op *op);

/* remote.c */

/* How many buckets the room of a remote op holds at most. */
static inline uint64_t tern_remote_buckets(tern_shape s) {
    enum { ROOM = 1024 };

    return s.stride < ROOM ? ROOM / s.stride : 1;
}

void tern_remote_set_out(tern_op *op);
void tern_remote_look(tern_op *op);
void tern_remote_create(tern_op *op);
void tern_remote_replace(tern_op *op, bool erased);
void tern_remote_count(tern_op *op);
/* Unlocks the bucket, whose entry could not be read, and ends the op with outcome. */
void tern_remote_give_up(tern_op *op, tern_status outcome);
void tern_remote_step(tern_op *op);

/* follow.c */

/* The op has come to the end of an array with met: TERN_MOVED, TERN_BEYOND, TERN_ERR_FULL, or
 * TERN_ERR_NOT_FOUND after a look at all buckets. */
void tern_op_leave(tern_op *op, tern_status met);
/* The op has found the key's counter marked as moved. */
void tern_op_leave_counter(tern_op *op);
/* The probe is at a free bucket, which the op may take only if the array has room for new keys. */
void tern_op_ask_room(tern_op *op);
/* The new key has its bucket. If that is far from where its probe began, asks for growth. Ends. */
void tern_op_report(tern_op *op);
/* The steps of the stages GET_DESCRIPTOR, LEFT, RESERVE and REQUEST_GROWTH. */
void tern_op_step_follow(tern_op *op);

#endif
