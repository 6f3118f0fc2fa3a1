#ifndef TERN_SRC_PEERS_ACTIVITY_H
#define TERN_SRC_PEERS_ACTIVITY_H

/*
 * Activity: the function that a rank last reported to be in. It is one cache line in the rank's
 * segment, for the warnings of ranks that wait for it. A wait of tern reports after its first 5 ms
 * and then every 5 ms, and so does a program that loops around calls which find nothing. Functions
 * that return at once report nothing, so an old report means that the rank is outside tern. Several
 * threads of a process share the line, and other ranks read the last report.
 *
 * Ranks of the node read the line in shared memory. Ranks of the machine that do not map it use the
 * system call that reads another process's memory. The listener tells it to ranks of other machines
 * (src/peers/watch.h).
 */

#include <stdatomic.h>
#include <stdint.h>

#include "src/context.h"

enum { TERN_ACTIVITY_WORDS = 6, TERN_ACTIVITY_BYTES = 8 * TERN_ACTIVITY_WORDS };

struct tern_activity {
    _Alignas(64) _Atomic uint64_t version;      /* odd while a thread writes the rest */
    _Atomic uint64_t seen;                      /* ns of tern_now when the rank was in the function
                                                 */
    _Atomic uint64_t name[TERN_ACTIVITY_WORDS]; /* padded with zeros; empty: nothing reported yet */
};

/* A copy of an activity line. */
typedef struct tern_reported {
    char name[TERN_ACTIVITY_BYTES]; /* empty: nothing has been reported */
    uint64_t ago;                   /* ns */
} tern_reported;

/* [out] reported: its name is empty if the line is just being written. */
void tern_activity_copy(const tern_activity *activity, uint64_t now, tern_reported *reported);

/* Reports that this rank is in function name now. */
void tern_activity_report(tern_context *context, const char *name, uint64_t now);

/* Reads what a rank, which may be this one, has reported. False: this process cannot read it. */
bool tern_activity_read(tern_context *context, uint32_t rank, uint64_t now,
                        tern_reported *reported);

/* Whether a rank that reported this is still in a function of tern. */
static inline bool tern_reported_is_fresh(const tern_reported *reported) {
    /* A wait reports every 5 ms, if the system lets it run. */
    return reported->name[0] != 0 && reported->ago < 1000000000u;
}

#endif
