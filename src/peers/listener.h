#ifndef TERN_SRC_PEERS_LISTENER_H
#define TERN_SRC_PEERS_LISTENER_H

/*
 * Listener: a TCP socket of each process on which other ranks ask questions, and on which they see
 * that the process is there. A thread of the process answers, so nobody needs progress of the rank.
 * The thread makes no call of MPI and takes no lock that is held during one. Where a process may
 * have no thread the kernel still accepts connections, which shows that the process is there.
 *
 * A connection brings one question. The listener closes it after the answer. A connection that asks
 * to watch stays open instead. The listener tells it of the first death that its rank knows of, and
 * again and again of a call of MPI in which its rank stays (src/peers/stuck.h), and of what its
 * rank last reported to be in (src/peers/activity.h).
 *
 * The thread alone uses its connections. Others start, wake and stop it.
 */

#include "src/peers/activity.h"
#include "src/peers/address.h"

#define TERN_LISTENER_MAX 320u /* bytes of a question behind its head, and of an answer */

#define TERN_QUESTION_MAGIC UINT64_C(0x6e6f697473657571)
#define TERN_WATCH_MAGIC UINT64_C(0x68637461772d6e74)
#define TERN_ANSWER_MAGIC UINT64_C(0x21726577736e6131)
#define TERN_FULL_MAGIC UINT64_C(0x6c6c75662d6e7431)
#define TERN_DEATH_MAGIC UINT64_C(0x68746165642d6e74)
#define TERN_STUCK_MAGIC UINT64_C(0x6b637574732d6e74)
#define TERN_REPORT_MAGIC UINT64_C(0x6f7065722d6e7431)

/* What a connection brings, in the byte order of the job. The bytes of the question follow. */
typedef struct tern_wire_head {
    uint64_t magic, nonce; /* the context's */
    uint32_t from, to;     /* ranks */
    uint32_t bytes;        /* none to watch */
    uint32_t unused;
} tern_wire_head;

/* What it takes back. The answer follows. To one that watches: an answer without bytes, or full:
 * too many watch, and the connection ends; then perhaps deaths, calls, and what the rank is in. */
typedef struct tern_wire_answer {
    uint64_t magic, nonce;
    uint32_t rank;  /* that answers; of a death: that has died; of a call: its target; of a report:
                       ms since it was made */
    uint32_t bytes; /* of the answer; of a call: its number */
} tern_wire_answer;

/* What one that watches is told of the rank's activity. */
typedef struct tern_wire_report {
    tern_wire_answer head;
    char name[TERN_ACTIVITY_BYTES];
} tern_wire_report;

typedef struct tern_listener tern_listener;

/* Answers a question of rank from, in the listener's thread. [out] answer: at most
 * TERN_LISTENER_MAX bytes. False: the question is malformed. */
typedef bool (*tern_listener_reply)(tern_context *context, uint32_t from, const char *question,
                                    size_t question_bytes, void *answer, size_t *bytes);

/* reply NULL: no question is answered but that to watch. [out] mine: filled in. NULL, with errno:
 * no listener. */
tern_listener *tern_listener_start(tern_context *context, tern_listener_reply reply,
                                   tern_listener_address *mine);
/* NULL is fine. The process keeps the socket until it stops the next listener, or ends: a rank that
 * has destroyed its context is there as long as its process is. */
void tern_listener_stop(tern_listener *listener);

/* There is a death to be told. Any thread. */
void tern_listener_wake(tern_listener *listener);

/*
 * listeners.c: the listeners of a context.
 */

/* Collective: starts the listeners, tells where they are, and finds out which addresses lead to
 * other machines. table: for each rank, shared by the ranks of this node, of which one writes it. A
 * rank that cannot have a listener says why in its log. */
tern_status tern_listeners_open(tern_context *context, tern_listener_reply reply,
                                tern_listener_address *table, bool writes);
/* Local. Fine if they were not opened. */
void tern_listeners_close(tern_context *context);

#endif
