#ifndef TERN_QUEUE_ENDING_H
#define TERN_QUEUE_ENDING_H

/*
 * Finds out when the work in a distributed queue has ended. An item is begun when its push draws a
 * ticket of a part, and finished when the worker that popped it pops again;
 * tern_distributed_queue_hold and _release begin and finish something without an item. Both numbers
 * only grow. The work has ended if as many are finished as are begun, and every rank waits for
 * items.
 *
 * Ranks form a tree in which each has up to TERN_ENDING_CHILDREN children. They count in rounds: a
 * worker that waits and has found nothing adds its rank's numbers to those of its children and
 * reports them to its parent. Rank 0 compares the number begun in this round with the number
 * finished in the last one, and sends its verdict down the tree. The verdict begins the next round.
 *
 * Why that is right: let t be a moment between the two rounds, f the finished ones as counted in
 * the first round, all before t, and b the begun ones as counted in the second, all after t. At t
 * at least f are finished and at most b begun. So if b = f, then at t everything that was begun is
 * finished; and every rank waited, since it reported. Nothing begins any more, because only work
 * pushes items. For this the reader that counts a finished item has to see the pushes of that
 * item's work: finished is stored with release, reports and verdicts pass that on, and a part's
 * tail is read after the verdict of the first round.
 *
 * Cost: a rank that waits sends one report and up to TERN_ENDING_CHILDREN verdicts a round, and a
 * round ends when every rank waits. A rank that works takes no part, and delays it.
 */

#include "queue/queue.h"

enum { TERN_ENDING_CHILDREN = 8 };

typedef struct tern_ending_sums {
    uint64_t begun, finished;
} tern_ending_sums;

/* The numbers of one worker, written by that worker and its handlers. */
typedef struct tern_ending_line {
    _Alignas(TERN_QUEUE_LINE) _Atomic uint64_t held; /* items it works on */
    _Atomic uint64_t finished;                       /* items and releases */
    _Atomic uint64_t holds;
    uint64_t seen; /* ends that this worker has returned */
} tern_ending_line;

typedef struct tern_ending {
    tern_context *context;
    tern_queue *parts; /* by rank */
    uint64_t nonce;
    tern_callee callee;
    tern_ending_line *lines; /* by worker */
    _Atomic uint64_t ends;

    atomic_flag stepping; /* a worker is in tern_ending_step, and uses these: */
    bool reported;        /* in this round */
    bool counted;         /* rank 0: finished is set */
    uint32_t told;        /* children that know the verdict */
    uint64_t round;       /* 1, 2, ... */
    uint64_t finished;    /* rank 0: in the last round */

    _Atomic uint64_t verdict; /* of rank 0: 2 * round, + 1 if the work has ended */
    struct {
        _Atomic uint64_t round; /* of the last report */
        tern_ending_sums sums;
    } child[TERN_ENDING_CHILDREN];
} tern_ending;

/* parts: by rank; they outlive the ending. Reports may come from now on. */
tern_status tern_ending_open(tern_context *context, tern_ending *ending, tern_queue *parts);
/* Called after all ranks have stopped. ending may be all zeros. */
void tern_ending_close(tern_ending *ending);

/* Notes that the worker has popped so many items. */
void tern_ending_take(tern_worker *worker, tern_ending *ending, size_t items);
/* Notes that the worker pops again, so the items that it had are finished. In a handler it notes
 * nothing: the code that the handler has interrupted still works on the items. */
void tern_ending_finish(tern_worker *worker, tern_ending *ending);
void tern_ending_hold(const tern_worker *worker, tern_ending *ending);
void tern_ending_release(const tern_worker *worker, tern_ending *ending);

/* Whether the work has ended and this worker was not told so yet. True once for each end. */
bool tern_ending_has_come(const tern_worker *worker, tern_ending *ending);

/* Takes one step of the rounds. A worker that waits and has found no item calls it. */
tern_status tern_ending_step(tern_worker *worker, tern_ending *ending);

#endif
