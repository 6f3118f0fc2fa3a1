#ifndef TERN_HASHTABLE_ARRAYS_ARRAYS_H
#define TERN_HASHTABLE_ARRAYS_ARRAYS_H

/*
 * Arrays: which array of a part holds a key, while the owner moves keys from one to the next
 * (growth/growth.h says how, and why no key is lost). Here is what every rank does: it learns of
 * arrays from the news in the owner's anchor, and it waits for the owner.
 */

#include <pthread.h>

#include "hashtable/near/probe.h"
#include "src/progress/task.h"

/* What the byte of the anchor says (table.h). */
enum { TERN_WISH_SOON = 1, TERN_WISH_NOW = 2 };

/* An array behind a rank's first one. */
typedef struct tern_array {
    tern_table_part part;
    struct tern_array *older;
} tern_array;

typedef struct tern_growth {
    tern_task task; /* the owner's */
    tern_hashtable *table;
    atomic_uint redirected;
    pthread_mutex_t lock; /* of the next two */
    tern_array *arrays;   /* that this process knows of, of all ranks */
    tern_news news;       /* of its own part */
    atomic_bool doubted;  /* somebody has read other news: they are published again */
    /* The move, of the rank that runs the task. */
    tern_table_part *from, *to; /* to is NULL: there is none */
    uint64_t cleared;           /* buckets of to; then it is announced */
    uint64_t position;          /* in from */
    bool held;                  /* the bucket there is locked by the move */
    bool marked;                /* and its counter marked, which was: */
    uint64_t counter;
    uint32_t declined, ignored; /* wishes: in a row, and since one was looked at */
    /* The tours of its part, of the rank that runs the task. */
    bool wants_tour;       /* of the first array, which nobody has to leave */
    uint64_t tour;         /* what is under way: a generation and 1; 0: none */
    uint64_t toured;       /* the same of the last one that is over */
    uint64_t sent;         /* ns: when that under way was sent last */
    uint32_t times;        /* so often */
    bool gave_up;          /* the first was waited for too long */
    uint64_t since;        /* ns: when somebody began to wait for the next move; 0: nobody */
    _Atomic uint64_t home; /* as toured, of one that has come back */
    tern_ptr spare;        /* the memory of an array that all have left, or TERN_NULL */
    uint64_t spare_count;  /* its buckets */
} tern_growth;

/* Whether a far insert ends with a flush: whatever its promise where others may have to wait for
 * its entry in order to move it. */
static inline bool tern_growth_flushes(const tern_hashtable *table, tern_flags promise) {
    return promise != TERN_WRITE_ONLY || tern_table_moves(table);
}

/* What a rank tells of its arrays. [out] known: false if it was just writing them. */
tern_status tern_growth_learn(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                              tern_news *news, bool *known);

/* Takes what a get of a rank's news has brought. [out] known: false if they were just being
 * written. */
tern_status tern_growth_hear(tern_worker *worker, const tern_hashtable *table, uint32_t rank,
                             const tern_news *news, bool *known);

/* Whether an operation that goes on in another array looks at the news, so that later ones start
 * there when the move is over. */
bool tern_growth_looks(const tern_hashtable *table);

/* Whether a tour that the first move needs cannot pass the worker before its operation returns,
 * which is one within another. A handler returns. */
bool tern_growth_is_between(const tern_worker *worker, const tern_hashtable *table,
                            const tern_news *news);

/* For an op that does not wait for the owner's answer, on a part that is full: whether the answer
 * would be the same as last time, as far as is known. */
bool tern_growth_is_refused(const tern_key_search *p, const tern_news *news);

/* One turn of a wait for the owner of a part. */
tern_status tern_growth_wait(tern_worker *worker, uint32_t owner, tern_wait_state *wait);

/* [out] moving: whether keys are being moved out of the array that p stands in, as far as is known.
 */
tern_status tern_growth_moves(const tern_key_search *p, bool *moving);

/* Waits until no keys are moved in a rank's part. Nobody changes the table meanwhile. */
tern_status tern_growth_rest(tern_worker *worker, tern_hashtable *table, uint32_t rank);

/* Of a rank's array; made if it is not known yet. NULL: no memory. Under the lock. */
tern_table_part *tern_growth_describe(tern_worker *worker, tern_growth *growth, uint32_t rank,
                                      uint64_t generation, uint64_t offset, uint64_t count);
/* Makes known what news of a rank says. */
tern_status tern_growth_apply(tern_worker *worker, tern_growth *growth, uint32_t rank,
                              const tern_news *news);
/* The owner's news, to itself and to others. */
tern_status tern_growth_publish(tern_worker *worker, tern_growth *growth, const tern_news *news);

/* Where something of a rank's anchor lies. */
static inline tern_ptr tern_anchor_place(const tern_hashtable *table, uint32_t rank, size_t at) {
    return tern_ptr_add(table->part[rank].buckets, (int64_t)at - (int64_t)sizeof(tern_anchor));
}

/* fill.c: how full this rank's part is. Of the buckets that were looked at, which are spread over
 * the array that probes start in; all of a small one. */
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

/* A part that does not grow is made anew if so many of its buckets are erased keys': an eighth, or
 * where it is full already and somebody waits, a 64th. Then a move of n buckets makes room for n/8
 * or n/64 keys. */
bool tern_fill_is_worth(const tern_hashtable *table, const tern_fill *fill, unsigned char wish);

/* Whether a part that is full, of the owner, would be full again if its erased keys were left
 * behind. */
bool tern_fill_is_hopeless(tern_worker *worker, const tern_hashtable *table);

/* liveness.c: asks the rank that a state names whether it is writing the bucket; it marks the state
 * as wrong if it is not. Now and then, and without waiting. */
void tern_bucket_doubt(const tern_key_search *p, uint64_t state);

/* Asks rank to write its news again, which do not pass their check. Now and then. */
void tern_growth_doubt(tern_worker *worker, const tern_hashtable *table, uint32_t rank);

#endif
