#ifndef TERN_HASHTABLE_GROWTH_GROWTH_H
#define TERN_HASHTABLE_GROWTH_GROWTH_H

/*
 * Growth: a part whose array gets full is followed by another one in the same segment. Its owner
 * moves the keys, a few in each round of progress (move.c), while everybody works in both arrays.
 * Probes start in the old one and go on in the new one when they meet
 *
 *     their own key, moved                  it is there now (TERN_MOVED)
 *     a frozen bucket, which was free       it is there if anywhere (TERN_BEYOND)
 *     nothing, and have been everywhere     the same
 *
 * Why no key is lost or there twice. No bucket of the old array is ever free again, so where the
 * probe of a key ends there, at the first free or frozen bucket or after once round, only moves on,
 * and once it is frozen it stays. Until then the key can only be put there; from then on it can
 * only be put into the new array, unless it stands before that end, where those that look for it
 * meet it first. A key that stands there is locked by the owner while it is copied, so nobody
 * changes it; finds that still read it are right, since nobody can change the copy either before
 * the old entry says that it has moved. Of three arrays in a row the same is true twice.
 *
 * A counter is not kept still by a lock: the owner marks it by an atomic, which gives it the last
 * number. A rank that sees the mark in what an atomic gave back has changed nothing, and does it
 * again in the new array once the old state says moved, for before that the copy may not be there.
 *
 * Room. The new array has room for all keys that may come from the old one, and for so many new
 * ones as the anchor says; who wants to put more waits until the move is over. A key that has its
 * bucket there, erased or not, needs no room: it is looked for first, and again as long as there is
 * none. So a move never runs out of room, and there are never more than two arrays to look at.
 *
 * A part whose buckets are mostly erased keys' moves into an array of the same size. That is all
 * that a table does whose parts do not grow.
 *
 * Old arrays are kept until every rank has left them (tour.c), or until the ranks meet in a
 * collective call on the table. So nobody meets other memory where it looks for an array that it
 * knows of, and late adds do no harm.
 *
 * What takes an op from one array to the next is op/follow.c. It waits for the owner's progress,
 * with progress; in handlers it ends with TERN_ERR_AGAIN, and if the owner died with TERN_ERR_PEER.
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

/* Local. The task is for tern_task_add when all ranks are there. */
tern_status tern_growth_make(tern_hashtable *table);
/* Frees what is in the segment, too. NULL is fine. */
void tern_growth_free(tern_worker *worker, tern_growth *growth);

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

/* Asks rank to write its news again, which do not pass their check. Now and then. */
void tern_growth_doubt(tern_worker *worker, const tern_hashtable *table, uint32_t rank);

/* One turn of a wait for the owner of a part. */
tern_status tern_growth_wait(tern_worker *worker, uint32_t owner, tern_wait_state *wait);

/* [out] moving: whether keys are being moved out of the array that p stands in, as far as is known.
 */
tern_status tern_growth_moves(const tern_key_search *p, bool *moving);

/* Waits until no keys are moved in a rank's part. Nobody changes the table meanwhile. */
tern_status tern_growth_rest(tern_worker *worker, tern_hashtable *table, uint32_t rank);

/* Ends this rank's move, and forgets a wish that would begin another one. Nobody wishes any more.
 * Takes no memory. */
tern_status tern_growth_come_to_rest(tern_worker *worker, tern_hashtable *table);

/* Collective, when every operation has returned everywhere: ends all moves, tells everybody, and
 * frees old arrays. */
tern_status tern_growth_settle(tern_worker *worker, tern_hashtable *table);

/* After that, and before the ranks meet again: whether this rank's part has gone back to its first
 * array, empty, from a larger one. Others find that as they find any move. */
bool tern_growth_shrink(tern_worker *worker, tern_hashtable *table);

/* What the files below share. */

/* tour.c: whether every rank has left the arrays before the one that the owner's part is in, and
 * reckons with moves. */
bool tern_tour_is_over(const tern_growth *growth);
/* Sends a tour about the owner's array, if one is needed and was not sent a while ago. Takes back
 * the memory of older ones when it is over. */
void tern_tour_keep(tern_worker *worker, tern_growth *growth);
/* Of a new table. near: all ranks reach all parts by load and store. */
void tern_tour_begin(tern_hashtable *table, bool near);
/* The owner's arrays that not all ranks have left yet. */
uint32_t tern_tour_behind(tern_growth *growth);

/* Forgets arrays of a rank that are older than generation, which nobody here uses any more. If it
 * is this rank, their memory is given back, but for one of as many buckets as it has now if keep;
 * without keep, what was kept before is given back as well. */
void tern_growth_forget(tern_worker *worker, tern_growth *growth, uint32_t rank,
                        uint64_t generation, bool keep);
/* Links lead past the arrays of a rank that are forgotten next. */
void tern_growth_cut(tern_hashtable *table, uint32_t rank);
/* Whether a part that is full, of the owner, would be full again if its erased keys were left
 * behind. */
bool tern_growth_is_hopeless(tern_worker *worker, const tern_growth *growth);

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

/* The owner's task. */
size_t tern_growth_run(tern_worker *worker, tern_task *task);

#endif
