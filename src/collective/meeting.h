#ifndef TERN_SRC_COLLECTIVE_MEETING_H
#define TERN_SRC_COLLECTIVE_MEETING_H

/*
 * Meeting: where all ranks share memory, the step that every collective begins with. The ranks come
 * together and sum up a few words. Its memory lies in the segment of rank 0:
 *
 *     arrived      ranks that have come to this meeting (bits 0-19) and their names' sum (20-63),
 *                  which is word 0 of the sums
 *     gathered     sums of the other words so far, beside arrived
 *     generation   meetings that have ended; the last rank to arrive counts it up
 *     sums         of the meeting that ended last
 *
 * Nobody arrives at a meeting before the one before has ended, and the last to arrive is alone with
 * all of it until it counts the generation up.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "src/context.h"

enum { TERN_MEETING_WORDS = 5 };
#define TERN_MEETING_COUNT ((UINT64_C(1) << 20) - 1)

struct tern_meeting {
    _Alignas(64) _Atomic uint64_t arrived;
    _Atomic uint64_t gathered[TERN_MEETING_WORDS]; /* the first is unused */
    _Alignas(64) _Atomic uint64_t generation;
    _Atomic uint64_t sums[TERN_MEETING_WORDS];
};

/* Collective; waits with the worker's progress. words: this rank's, then the sums over all ranks.
 * Word 0 has 1 in its bits 0-19. TERN_ERR_PEER; then this rank must not come to another one: it has
 * arrived already. */
tern_status tern_meeting_hold(tern_context *context, tern_worker *worker,
                              uint64_t words[TERN_MEETING_WORDS]);

#endif
