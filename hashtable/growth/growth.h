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

#include "hashtable/arrays/arrays.h"

/* Local. The task is for tern_task_add when all ranks are there. */
tern_status tern_growth_make(tern_hashtable *table);
/* Frees what is in the segment, too. NULL is fine. */
void tern_growth_free(tern_worker *worker, tern_growth *growth);

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
/* The owner's task. */
size_t tern_growth_run(tern_worker *worker, tern_task *task);

#endif
