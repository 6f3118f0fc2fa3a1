#ifndef TERN_HASHTABLE_ARRAYS_ARRAYS_H
#define TERN_HASHTABLE_ARRAYS_ARRAYS_H

/*
 * Arrays: which array of a part holds a key, while the owner moves keys from one to the next
 * (growth/growth.h says how, and why no key is lost). Here is what every rank does: it learns of
 * arrays from the array descriptor in the owner's anchor, and it waits for the owner.
 */

#include <pthread.h>

#include "hashtable/bucket/probe.h"
#include "src/progress/task.h"

/* The urgency of a growth request (table.h): the part is nearly full, or full. */
enum { TERN_GROW_SOON = 1, TERN_GROW_NOW = 2 };

/* An array behind a rank's first one. */
typedef struct tern_array {
    tern_table_part part;
    struct tern_array *older;
} tern_array;

typedef struct tern_growth {
    tern_task task; /* the owner's */
    tern_hashtable *table;
    atomic_uint redirected;           /* counts operations that go on in another array */
    pthread_mutex_t lock;             /* of the next two */
    tern_array *arrays;               /* that this process knows of, of all ranks */
    tern_array_descriptor descriptor; /* of its own part */
    atomic_bool publish_again;        /* another rank has read a descriptor whose check fails */
    /* The move. Used by the task alone. */
    tern_table_part *from, *to; /* to is NULL: no move */
    uint64_t cleared;           /* buckets of to; when all are, it is announced */
    uint64_t position;          /* in from: the next bucket to move */
    bool held;                  /* the bucket there is locked by the move */
    bool marked;                /* and its counter is marked as moved; before it was: */
    uint64_t counter;
    uint32_t declined, ignored; /* growth requests: declined in a row; ignored since then */
    /* Grace periods of this rank's part (growth/grace.c), named by the generation + 1 of the array
     * that they are for. Used by the task alone, except grace_returned. */
    bool needs_grace;    /* the first array needs one, too, before its first move */
    uint64_t grace_for;  /* the one under way; 0: no grace period is under way */
    uint64_t grace_done; /* the last one after which older arrays were freed */
    uint64_t sent;       /* ns: when its message was sent last */
    uint32_t times;      /* how often that was sent */
    bool gave_up;        /* the grace period for the first move took too long */
    uint64_t since;      /* ns: since when the next move waits for one; 0: it does not */
    _Atomic uint64_t grace_returned; /* the newest one whose message has come back */
    tern_ptr spare;                  /* the memory of an array that all have left, or TERN_NULL */
    uint64_t spare_count;            /* its buckets */
} tern_growth;

/* Whether a remote insert ends with a flush. It does not in a phase of writes, unless keys may
 * move: then the owner may have to wait for the entry in order to move it. */
static inline bool tern_growth_flushes(const tern_hashtable *table, tern_flags promise) {
    return promise != TERN_WRITE_ONLY || tern_table_moves(table);
}

/* Reads a rank's array descriptor, and makes its arrays known in this process. [out] known: false
 * while the owner writes the descriptor. */
tern_status tern_growth_learn(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                              tern_array_descriptor *descriptor, bool *known);

/* The same for a descriptor that a get has brought already. */
tern_status tern_growth_learn_from(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                                   const tern_array_descriptor *descriptor, bool *known);

/* Whether an operation that goes on in another array is to read the descriptor as well: now and
 * then one does, so that later operations start there when the move is over. */
bool tern_growth_looks(const tern_hashtable *table);

/* Whether the worker is in an operation within another one. The outer one keeps the grace period of
 * a first move from ending until it returns. False in handlers, which do not wait. */
bool tern_growth_is_between(const tern_worker *worker, const tern_hashtable *table,
                            const tern_array_descriptor *descriptor);

/* For an op that does not wait for the owner, on a full part: whether the owner would refuse to
 * make room as it did last time, as far as this rank knows. */
bool tern_growth_is_refused(const tern_key_search *p, const tern_array_descriptor *descriptor);

/* One turn of a wait for the owner of a part. */
tern_status tern_growth_wait(tern_worker *worker, uint32_t owner, tern_wait_state *wait);

/* [out] moving: whether keys are being moved out of the array that p stands in, as far as is known.
 */
tern_status tern_growth_moves(const tern_key_search *p, bool *moving);

/* Waits until no keys are moved in a rank's part. Nobody changes the table meanwhile. */
tern_status tern_growth_rest(tern_worker *worker, tern_hashtable *table, uint32_t rank);

/* Returns the description of a rank's array, and makes it if this process does not know the array
 * yet. NULL: no memory. The caller holds the lock. */
tern_table_part *tern_growth_describe(tern_worker *worker, tern_growth *growth, uint32_t rank,
                                      uint64_t generation, uint64_t offset, uint64_t count);
/* Makes the arrays that a rank's descriptor describes known in this process. */
tern_status tern_growth_apply(tern_worker *worker, tern_growth *growth, uint32_t rank,
                              const tern_array_descriptor *descriptor);
/* Publishes the owner's descriptor, in this process and for others. */
tern_status tern_growth_publish(tern_worker *worker, tern_growth *growth,
                                const tern_array_descriptor *descriptor);

/* Returns the global address that lies `at` bytes behind the start of a rank's anchor. */
static inline tern_ptr tern_anchor_gaddr(const tern_hashtable *table, uint32_t rank, size_t at) {
    return tern_ptr_add(table->part[rank].buckets, (int64_t)at - (int64_t)sizeof(tern_anchor));
}

/* fill.c: how full this rank's part is, by a sample of buckets spread over the array that probes
 * start in; of a small array, by all of them. */
typedef struct tern_fill {
    uint64_t looked, used;
    uint64_t live; /* used ones whose key is not erased */
} tern_fill;

tern_status tern_fill_look(tern_worker *worker, const tern_hashtable *table, tern_fill *fill);

/* At three quarters of its buckets a part grows: probes of new keys are 8 buckets long there, and
 * get longer soon. It becomes larger if more than three eighths hold keys that are not erased. */
static inline bool tern_fill_is_full(const tern_fill *fill) {
    return 4 * fill->used >= 3 * fill->looked;
}
static inline bool tern_fill_must_widen(const tern_fill *fill) {
    return 8 * fill->live > 3 * fill->looked;
}

/* Whether a move is worth its cost. A part that does not grow moves into an array of the same size
 * if erased keys have an eighth of its buckets or, where it is full already and an op waits, a
 * 64th. So a move of n buckets makes room for n/8 or n/64 keys. */
bool tern_fill_is_worth(const tern_hashtable *table, const tern_fill *fill, unsigned char urgency);

/* For the owner of a full part: whether a move without the erased keys would leave it full. */
bool tern_fill_is_hopeless(tern_worker *worker, const tern_hashtable *table);

/* liveness.c: sends a liveness query, one in tern_liveness_query_ns at most, and does not wait: the
 * rank that state names marks the bucket as wrong if it is not writing it. */
void tern_bucket_query_liveness(const tern_key_search *p, uint64_t state);

/* The same message to a rank whose descriptor fails its check: asks it to write that again. */
void tern_growth_query_descriptor(tern_worker *worker, const tern_hashtable *table, uint32_t rank);

#endif
