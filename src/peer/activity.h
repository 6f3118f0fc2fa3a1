#ifndef TERN_SRC_PEER_ACTIVITY_H
#define TERN_SRC_PEER_ACTIVITY_H

/*
 * Activity: what a rank last reported to be in, one line in its segment, for the stuck report of
 * ranks that wait for it. A wait of tern reports after its first 5 ms and then every 5 ms, so
 * functions that end at once store nothing. Several threads of a process share the line, and the
 * last one to report is what others read.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "src/progress/wait.h"

enum { TERN_ACTIVITY_WORDS = 6, TERN_ACTIVITY_BYTES = 8 * TERN_ACTIVITY_WORDS };

struct tern_activity {
    _Alignas(64) _Atomic uint64_t version;      /* odd while a thread writes the rest */
    _Atomic uint64_t seen;                      /* ns of tern_now when it was in it */
    _Atomic uint64_t name[TERN_ACTIVITY_WORDS]; /* padded with zeros; empty: nothing reported yet */
};

/* Of a wait that has lasted some ms: reports that this rank is in it, and, once a wait, logs a
 * warning when it has lasted for TERN_STUCK_REPORT. */
void tern_activity_wait(tern_context *context, tern_wait_state *wait, uint32_t rank, uint64_t now);

#endif
