#ifndef TERN_HASHTABLE_GROWTH_GROWTH_H
#define TERN_HASHTABLE_GROWTH_GROWTH_H

/*
 * Growth: when the array of a part gets full, its owner makes another one in the same segment and
 * moves the keys there, a few in each round of progress (move.c), while all ranks work in both
 * arrays. Probes start in the old array and go on in the new one when they meet
 *
 *     their own key, moved                  the key is there now (TERN_MOVED)
 *     a frozen bucket, which was free       the key is there, if anywhere (TERN_BEYOND)
 *     no free bucket in the whole array     the same
 *
 * Why no key is lost or stored twice. In the old array the probe of a key ends at the first free or
 * frozen bucket, or after all buckets. No bucket ever becomes free again, so this end only moves
 * on, and once its bucket is frozen, it stays. Until then the key can only be put there; from then
 * on it can only be put into the new array, unless it stands before that end, where every rank that
 * looks for it meets it first. The owner locks such a key while it copies it, so nobody changes it.
 * Finds that still read the old entry are right, since nobody changes the copy either before the
 * old entry says that it has moved. With three arrays in a row this holds twice.
 *
 * A lock does not keep a counter still. Instead the owner marks the counter by an atomic, which
 * returns the last number. A rank whose own atomic returns the mark has changed nothing. It repeats
 * the operation in the new array once the old state says moved: before that there may be no copy.
 *
 * Room. The new array takes all keys that may come from the old one, and as many new ones as the
 * anchor says; a rank that wants to put more waits until the move is over. A key that has its
 * bucket there, erased or not, needs no room: an op looks for it first, and again as long as there
 * is no room. So a move never runs out of room, and an op never looks at more than two arrays.
 *
 * A part whose buckets mostly hold erased keys moves into an array of the same size. In a table
 * whose parts do not grow, this is the only kind of move.
 *
 * Old arrays are kept until every rank has left them (grace.c), or until the ranks meet in a
 * collective call on the table. So no rank finds something else in the memory of an array that it
 * knows of, and late adds do no harm.
 *
 * op/follow.c takes an op from one array to the next. It waits for the owner, with progress; in a
 * handler it ends with TERN_ERR_AGAIN instead, and after the owner's death with TERN_ERR_PEER.
 */

#include "hashtable/arrays/arrays.h"

/* Makes a table's growth state. Local. When all ranks have the table, the caller adds its task. */
tern_status tern_growth_make(tern_hashtable *table);
/* Frees the growth state and the arrays in the segment. growth may be NULL. */
void tern_growth_free(tern_worker *worker, tern_growth *growth);

/* Waits until this rank's move is over, and clears a growth request that would begin another one.
 * No rank requests growth any more. Allocates no memory. */
tern_status tern_growth_come_to_rest(tern_worker *worker, tern_hashtable *table);

/* Collective, when every operation has returned on every rank: ends all moves, tells all ranks of
 * the current arrays, and frees the old ones. */
tern_status tern_growth_end_moves(tern_worker *worker, tern_hashtable *table);

/* Called after tern_growth_end_moves, before the ranks meet again. Takes this rank's part from a
 * larger array back to its first one, which is empty then. Returns whether it did. Other ranks
 * learn of this as of any move. */
bool tern_growth_shrink(tern_worker *worker, tern_hashtable *table);

/* What the files below share. */

/* grace.c: whether the grace period of the owner's current array is over: all ranks have left the
 * older arrays, and know that keys may move. */
bool tern_grace_is_over(const tern_growth *growth);
/* Begins a grace period for the owner's current array if it needs one, and sends its message again
 * if that is late. After the grace period, takes back the memory of older arrays. */
void tern_grace_advance(tern_worker *worker, tern_growth *growth);
/* Sets the grace periods of a new table. direct: all ranks reach all parts by load and store. */
void tern_grace_init(tern_hashtable *table, bool direct);
/* Returns how many older arrays of the owner some rank may not have left yet. */
uint32_t tern_grace_pending(tern_growth *growth);

/* Forgets the arrays of a rank that are older than generation; no worker of this process uses them
 * any more. If rank is this rank, also frees their memory. With keep, one array of as many buckets
 * as the current one is kept as a spare; without keep, an older spare is freed as well. */
void tern_growth_forget(tern_worker *worker, tern_growth *growth, uint32_t rank,
                        uint64_t generation, bool keep);
/* Links the rank's first array to where probes start, past the arrays that are forgotten next. */
void tern_growth_cut(tern_hashtable *table, uint32_t rank);
/* The owner's task: one round of a move. */
size_t tern_growth_run(tern_worker *worker, tern_task *task);

#endif
