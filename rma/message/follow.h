#ifndef TERN_RMA_MESSAGE_FOLLOW_H
#define TERN_RMA_MESSAGE_FOLLOW_H

/*
 * Follow-ups. MPI notices that a connection is lost only when it sends, and the message that finds
 * the connection broken may count as sent. If this process then waits for the answer, nothing tells
 * it that no answer can come (src/peers/lost.h). So when a process has sent a rank messages, and
 * then none for TERN_FOLLOW_NS, it sends one more, which the rank takes and does nothing with.
 * Only a process that makes progress does so. Ranks of its own machine, and those of which it has a
 * pidfd, get none, since no link lies between.
 *
 * A list links the ranks to which something was sent behind the last follow-up; a round walks that
 * alone. The MPI lock protects all of it.
 */

#include <stdbool.h>
#include <stdint.h>

#define TERN_FOLLOW_NS 5000000000u

typedef struct tern_follow_rank {
    uint32_t next; /* in the list: 1 + rank, or 0 at its end */
    bool listed;
    bool fresh; /* something was sent since the last round, answers included */
} tern_follow_rank;

typedef struct tern_follow {
    tern_follow_rank *rank;
    uint32_t first; /* of the list: 1 + rank, or 0 */
    uint32_t polls;
    uint64_t at;  /* when the last round began */
    bool stopped; /* no more messages may be sent */
} tern_follow;

/* Returns whether there was memory. */
bool tern_follow_open(tern_follow *follow, uint32_t size);
void tern_follow_close(tern_follow *follow);

static inline void tern_follow_sent(tern_follow *follow, uint32_t rank) {
    tern_follow_rank *r = &follow->rank[rank];
    r->fresh = true;
    if (r->listed)
        return;
    r->listed = true;
    r->next = follow->first;
    follow->first = 1 + rank;
}

/* Whether a round is due; reads the clock in one of 1,024 calls. */
bool tern_follow_due(tern_follow *follow);

/* Sends a follow-up to rank. True: it is sent or given up; false: the next round tries again. */
typedef bool tern_follow_send(void *argument, uint32_t rank);

/* A round: calls send for each rank in the list to which nothing was sent since the last round, and
 * takes it out of the list if send returns true. */
void tern_follow_round(tern_follow *follow, tern_follow_send *send, void *argument);

#endif
