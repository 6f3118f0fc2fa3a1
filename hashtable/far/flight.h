#ifndef TERN_HASHTABLE_FAR_FLIGHT_H
#define TERN_HASHTABLE_FAR_FLIGHT_H

/*
 * Flight: an operation on a key of another node by RMA. It takes steps one by one, each when the
 * one before is complete, and never waits; blocking operations wait for one (run.c). Each stage is
 * one round trip:
 *
 *     LOOK     get buckets, whole cache lines, states and counters included
 *     STORE    put_if (rma/transfer.h): compare the state of a bucket, put its entry, and set the
 *              state, all at the owner; what it says is the bucket if the state was another one
 *     STATE    load the state of a bucket whose entry is not whole
 *     COUNTER  load the counter, or add to it
 *     REVIVE   CAS of the counter, if it was erased
 *
 * and where keys move (follow.c) NEWS, LEFT, RESERVE and WISH.
 *
 * What a flight costs where the key's first bucket is free or holds the key:
 *
 *     find                LOOK; of a counter that is 0: LOOK COUNTER
 *     insert, new key     STORE
 *     insert, known key   STORE STORE
 *     erase               LOOK STORE
 *     add                 STORE; known key: STORE COUNTER
 *
 * An insert or an add begins with the STORE of a new entry, as if the bucket were free. If it is
 * not, the answer has all that a get would have brought. So a new key costs one trip and a known
 * one two, whatever came before. Where the bucket is larger than TERN_FLIGHT_GUESS bytes, a LOOK
 * comes first.
 *
 * Why a find may believe a state that a get has brought. Beside the entry in the same get the state
 * may be older or newer than it. But a bucket is free once only, until somebody takes it: if the
 * state was seen free, the bucket was free at some moment of the find, and its key was absent then.
 * The same is true of frozen. Of a counter that is not 0 the first add had come before. Anything
 * else that the state says about an entry which is not whole must be newer than the entry
 * (probe.h): STATE.
 *
 * Why STORE is right. The owner's compare-and-swap of the state decides, as it does for ranks of
 * its node. What it compares with may be old: a free bucket has had no other key yet; a taken one
 * has the same key for good, and its state says whether it is erased. An entry that was changed and
 * changed back meanwhile makes no difference to an insert, which replaces it, whatever it is.
 *
 * STORE needs owners that put (tern_owners_put), and buckets of at most TERN_PUT_IF_MAX bytes. Else
 * only finds fly, and the others are done with locks, gets and puts (near/lock.h, operations.c).
 *
 * A bucket that another rank is just writing is looked at again and again; if that rank died, the
 * flight ends with TERN_ERR_PEER. What a flight does to a bucket the owner does in one go, so
 * nobody ever waits for the origin.
 */

#include "hashtable/batch/run.h"
#include "hashtable/near/probe.h"
#include "rma/transfer.h"

typedef enum tern_flight_kind {
    TERN_FLIGHT_FIND,
    TERN_FLIGHT_LOCATE, /* a find that waits for inserts that are under way */
    TERN_FLIGHT_INSERT,
    TERN_FLIGHT_INSERT_NEW,
    TERN_FLIGHT_ERASE, /* of a value */
    TERN_FLIGHT_ADD
} tern_flight_kind;

typedef enum tern_flight_stage {
    TERN_FLIGHT_DONE,
    TERN_FLIGHT_LOOK,
    TERN_FLIGHT_STORE,
    TERN_FLIGHT_STATE,
    TERN_FLIGHT_COUNTER,
    TERN_FLIGHT_REVIVE,
    TERN_FLIGHT_NEWS,    /* get what the owner tells of its arrays */
    TERN_FLIGHT_LEFT,    /* load the state of a counter that is marked as moved */
    TERN_FLIGHT_RESERVE, /* take room in an array that keys are being moved to */
    TERN_FLIGHT_WISH     /* put a byte that asks the owner for another array */
} tern_flight_stage;

/* What is to be done. */
typedef struct tern_flight_plan {
    tern_flight_kind kind;
    tern_flags promise;
    const void *given;              /* the value to insert */
    void *taken;                    /* where a find's value goes */
    uint64_t delta;                 /* of an add */
    bool follows;                   /* goes on in the next array; else that is left to the caller */
    struct tern_replace_hook *hook; /* sees the value that is replaced or erased; NULL: nobody */
} tern_flight_plan;

/* What a flight looks at the owner's news for. */
typedef enum tern_flight_wants {
    TERN_FLIGHT_WANTS_NEXT, /* the array behind the one that it stands in */
    TERN_FLIGHT_WANTS_ROOM, /* a free bucket of an array that keys are being moved to */
    TERN_FLIGHT_WANTS_COPY  /* of a counter that is marked as moved */
} tern_flight_wants;

/* Not to be moved until it is done. */
typedef struct tern_flight {
    tern_worker *worker;
    const tern_hashtable *table;
    tern_flight_plan plan;
    tern_flight_stage stage;
    tern_status outcome; /* when done: TERN_OK, TERN_ERR_NOT_FOUND or TERN_ERR_FULL, or the error;
                            of one that does not follow, TERN_MOVED or TERN_BEYOND, too */
    uint64_t result;     /* of an insert: 1 if the key was there; of an add: the counter before */
    tern_key_search probe;
    tern_transfer transfer; /* what is under way */
    uint64_t first, count;  /* the buckets that are here */
    uint64_t run;           /* buckets of the last get */
    uint64_t *bucket;       /* the one that the probe is at, here */
    uint64_t word;          /* what an atomic gave */
    uint64_t expected;      /* what it compared with */
    uint64_t doubted;       /* the state of a bucket that does not go with its entry, */
    uint32_t doubts;        /* and how often it was looked at in vain */
    bool waits;             /* for the rank that word names */
    tern_wait_state wait;   /* for the bucket that is looked at, or for the owner */
    tern_flight_wants wants;
    tern_status met;     /* how the array ended that the flight leaves */
    uint32_t generation; /* of the array that it stands in, or stood in */
    bool outside;        /* it holds no array, and a tour may pass (growth/tour.c) */
    bool permitted;      /* to take a free bucket */
    bool asked;          /* for room, in this array */
    bool moving;         /* whether keys were, when a moved counter was looked at */
    unsigned char wish;  /* what is put */
    uint64_t refused;    /* what the news said at first; UINT64_MAX: not looked yet */
    tern_put_if *put;
    uint64_t key[TERN_KEY_MAX / 8];
    uint64_t memory[]; /* the buckets, and what is put */
} tern_flight;

/* Bytes of buckets that a flight has room for, if one has no more. */
enum { TERN_FLIGHT_ROOM = 1024, TERN_FLIGHT_GUESS = 256 };

static inline uint64_t tern_flight_buckets(tern_shape s) {
    return s.stride < TERN_FLIGHT_ROOM ? TERN_FLIGHT_ROOM / s.stride : 1;
}

static inline size_t tern_flight_bytes(const tern_hashtable *table) {
    const tern_shape s = table->shape;
    return sizeof(tern_flight) + tern_flight_buckets(s) * s.stride + sizeof(tern_put_if) +
           8 * (1 + tern_entry_words(s));
}

/* Whether flights do this to a key of a rank's part. */
static inline bool tern_flight_takes(const tern_hashtable *table, uint32_t owner,
                                     tern_flight_kind kind) {
    return table->part[owner].near == NULL && (table->owners_put || kind <= TERN_FLIGHT_LOCATE);
}

/* Starts one that flights take. key and hash: of the key's own size; the key is copied. What the
 * plan points to has to stay until the flight is done. */
void tern_flight_begin(tern_flight *flight, tern_worker *worker, const tern_hashtable *table,
                       const void *key, uint64_t hash, const tern_flight_plan *plan);
/* Starts one where a probe stands, whose key stays. */
void tern_flight_resume(tern_flight *flight, const tern_key_search *probe,
                        const tern_flight_plan *plan);

/* Takes the steps whose time has come; may be used in progress. Returns how many. If an error is
 * the outcome, the transfer may be under way for ever, and the flight's memory is MPI's. */
size_t tern_flight_advance(tern_flight *flight);

static inline bool tern_flight_is_lost(const tern_flight *flight) {
    return flight->transfer.under_way;
}

/* Whether a new key gets a bucket. */
static inline bool tern_flight_creates(const tern_flight *flight) {
    return flight->plan.kind > TERN_FLIGHT_LOCATE && flight->plan.kind != TERN_FLIGHT_ERASE;
}

/* Whether a flight that is under way may touch an array of the owner that is older than generation.
 */
static inline bool tern_flight_holds(const tern_flight *flight, uint32_t owner,
                                     uint64_t generation) {
    return !flight->outside && tern_hash_owner(flight->table, flight->probe.hash) == owner &&
           flight->probe.part->generation < generation;
}

/* What flight.c and follow.c share. */

void tern_flight_finish(tern_flight *flight, tern_status outcome);
/* What was started is under way, or has failed. */
void tern_flight_started(tern_flight *flight, tern_flight_stage stage, tern_status status);
/* An atomic of a word that lies at bytes from the start of the probe's bucket. */
void tern_flight_atomic(tern_flight *flight, tern_flight_stage stage, tern_atomic_op op,
                        uint32_t at, uint64_t operand, uint64_t expected);
/* Gets the bucket that the probe is at, and others behind it. */
void tern_flight_look(tern_flight *flight);
/* Takes the bucket that the probe is at for a new key, if it is free. */
void tern_flight_create(tern_flight *flight);
/* Begins where the probe stands. */
void tern_flight_set_out(tern_flight *flight);

/* follow.c: at the end of an array: TERN_MOVED, TERN_BEYOND, TERN_ERR_FULL, or TERN_ERR_NOT_FOUND
 * after a look at all buckets. */
void tern_flight_leave(tern_flight *flight, tern_status met);
/* The key's counter is marked as moved. */
void tern_flight_leave_counter(tern_flight *flight);
/* The probe is at a free bucket, which the flight is not permitted to take. */
void tern_flight_ask_room(tern_flight *flight);
/* A new key has its bucket, maybe far from where its probe began: asks for growth, and ends. */
void tern_flight_report(tern_flight *flight);
/* The steps of the stages NEWS, LEFT, RESERVE and WISH. */
void tern_flight_step_follow(tern_flight *flight);

/*
 * run.c: a flight that is waited for. The probe goes on in the next array if need be, and is where
 * the key was found, or is put. [out] result, unless NULL; entry, unless NULL: a key's that was
 * located, or is erased. TERN_MOVED, TERN_BEYOND.
 */
tern_status tern_flight_run(tern_key_search *probe, const tern_flight_plan *plan, uint64_t *result,
                            uint64_t *entry);
/* The same from where probes start, by a flight that follows. */
tern_status tern_flight_operate(tern_worker *worker, const tern_hashtable *table,
                                const uint64_t *key, uint64_t hash, const tern_flight_plan *plan,
                                uint64_t *result);

/*
 * pipeline.c: a batch by RMA of which some parts are far. Several keys are under way at once, each
 * of which takes round trips. Items are begun and ended in their order, and no two of one key are
 * under way together, so of several values the last stays. What flights do not take is done apart,
 * when nothing is under way: it may wait for others, who may wait for this.
 */

/* As tern_run_insert and tern_run_find. Nothing is flushed. */
tern_status tern_pipeline_insert(tern_worker *worker, tern_hashtable *table,
                                 const tern_items *items, size_t *stored);
tern_status tern_pipeline_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               tern_flags promise, char *values, unsigned char *found,
                               size_t *present);

#endif
