#ifndef TERN_SRC_COLLECTIVE_MEETING_H
#define TERN_SRC_COLLECTIVE_MEETING_H

/*
 * Meeting: the step with which every collective begins, in the form for ranks that all share
 * memory. The ranks wait for each other and sum up a few words. Its memory lies in the segment of
 * rank 0:
 *
 *     arrived      ranks that have come to this meeting (bits 0-19) and their names' sum (20-63),
 *                  which is word 0 of the sums
 *     gathered     sums of the other words so far, beside arrived
 *     generation   meetings that have ended; the last rank to arrive counts it up
 *     sums         of the meeting that ended last
 *
 * No rank arrives at a meeting before the meeting before has ended. The last rank to arrive has the
 * memory for itself until it increments the generation.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "src/context.h"

enum { TERN_MEETING_WORDS = 5 };
#define TERN_MEETING_COUNT ((UINT64_C(1) << 20) - 1)

struct tern_meeting {
    _Alignas(64) _Atomic uint64_t arrived;
    _Atomic uint64_t gathered[TERN_MEETING_WORDS]; /* the first word is unused */
    _Alignas(64) _Atomic uint64_t generation;
    _Atomic uint64_t sums[TERN_MEETING_WORDS];
};

/* Holds a meeting. Collective; waits with the worker's progress. words: those of this rank,
 * replaced by the sums over all ranks. Bits 0-19 of word 0 must be 1. TERN_ERR_PEER,
 * TERN_ERR_MPI: this rank has arrived and cannot take that back, so it must not come to another
 * meeting. */
tern_status tern_meeting_hold(tern_context *context, tern_worker *worker,
                              uint64_t words[TERN_MEETING_WORDS]);

#endif
