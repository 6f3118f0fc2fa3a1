#ifndef TERN_RMA_MESSAGE_FOLLOW_H
#define TERN_RMA_MESSAGE_FOLLOW_H

/*
 * Follow-ups. MPI notices that a connection is lost only when it sends, and the message that finds
 * the connection broken may count as sent. If this process then waits for the answer, nothing tells
 * it that no answer can come (src/peers/lost.h). So when a process has sent a rank messages, and
 * then none for TERN_FOLLOW_NS, it sends one more, which the rank takes and does nothing with.
 *
 * The MPI lock protects all of it.
 */

#include <stdbool.h>
#include <stdint.h>

#define TERN_FOLLOW_NS 5000000000u

typedef struct tern_follow_rank {
    uint64_t sent;     /* messages, answers included */
    uint64_t seen;     /* how many had been sent at the last round */
    uint64_t followed; /* up to which a follow-up was sent */
} tern_follow_rank;

typedef struct tern_follow {
    tern_follow_rank *rank;
    uint32_t size, polls;
    uint64_t at;  /* when the last round began */
    bool stopped; /* no more messages may be sent */
} tern_follow;

/* Returns whether there was memory. */
bool tern_follow_open(tern_follow *follow, uint32_t size);
void tern_follow_close(tern_follow *follow);

static inline void tern_follow_sent(tern_follow *follow, uint32_t rank) {
    follow->rank[rank].sent++;
}

/* Whether a round is due; reads the clock in one of 1,024 calls. */
bool tern_follow_due(tern_follow *follow);

/* Steps through the ranks that a round sends a follow-up to: the next one behind from, or the size.
 * */
uint32_t tern_follow_next(tern_follow *follow, uint32_t from);

/* Called when the follow-up is sent or given up. */
static inline void tern_follow_done(tern_follow *follow, uint32_t rank) {
    tern_follow_rank *r = &follow->rank[rank];
    r->followed = r->seen = r->sent;
}

#endif
