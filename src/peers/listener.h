#ifndef TERN_SRC_PEERS_LISTENER_H
#define TERN_SRC_PEERS_LISTENER_H

/*
 * Listener: a TCP socket of each process. Other ranks ask questions on it, and see by it that the
 * process lives. A thread of the process answers, so this needs no progress of the rank. The thread
 * makes no call of MPI and takes no lock that is held during one. If a process may have no thread
 * the kernel still accepts connections, which shows that the process lives.
 *
 * A connection brings one question. The listener closes it after the answer. A connection that asks
 * to watch stays open instead. On it the listener sends the first death that its rank knows of;
 * and, repeatedly, the call of MPI in which its rank stays (src/peers/stuck.h), whether its rank's
 * MPI has lost the connection to the rank that watches (src/peers/lost.h), and the function that
 * its rank last reported to be in (src/peers/activity.h).
 *
 * Only the thread uses its connections. Other threads start, wake and stop it.
 */

#include "src/peers/activity.h"
#include "src/peers/address.h"

/* The most bytes of a question behind its head, and of an answer. */
#define TERN_LISTENER_MAX 320u

#define TERN_QUESTION_MAGIC UINT64_C(0x6e6f697473657571)
#define TERN_WATCH_MAGIC UINT64_C(0x68637461772d6e74)
#define TERN_ANSWER_MAGIC UINT64_C(0x21726577736e6131)
#define TERN_FULL_MAGIC UINT64_C(0x6c6c75662d6e7431)
#define TERN_DEATH_MAGIC UINT64_C(0x68746165642d6e74)
#define TERN_STUCK_MAGIC UINT64_C(0x6b637574732d6e74)
#define TERN_LOST_MAGIC UINT64_C(0x74736f6c2d6e7431)
#define TERN_REPORT_MAGIC UINT64_C(0x6f7065722d6e7431)

/* The head of a question, in the byte order of the job. The bytes of the question follow. */
typedef struct tern_wire_head {
    uint64_t magic, nonce; /* the context's */
    uint32_t from, to;     /* ranks */
    uint32_t bytes;        /* of the question; 0 to watch */
    uint32_t unused;
} tern_wire_head;

/* The head of an answer, whose bytes follow. A connection that watches gets an answer without
 * bytes, or the answer "full" (too many watch), after which the connection ends. Later it gets
 * deaths, calls, lost connections and activity, if there are any. */
typedef struct tern_wire_answer {
    uint64_t magic, nonce;
    uint32_t rank;  /* the rank that answers; for a death: the dead rank; for a call: its target;
                       for a report: its age in ms */
    uint32_t bytes; /* of the answer; for a call: its number */
} tern_wire_answer;

/* The message about the rank's activity to a connection that watches. */
typedef struct tern_wire_report {
    tern_wire_answer head;
    char name[TERN_ACTIVITY_BYTES];
} tern_wire_report;

typedef struct tern_listener tern_listener;

/* Answers a question of rank from, in the listener's thread. [out] answer: at most
 * TERN_LISTENER_MAX bytes. False: the question is malformed. */
typedef bool (*tern_listener_reply)(tern_context *context, uint32_t from, const char *question,
                                    size_t question_bytes, void *answer, size_t *bytes);

/* Starts a listener. reply NULL: it answers only the question to watch. [out] mine: its addresses.
 * Returns NULL, with errno, if there can be no listener. */
tern_listener *tern_listener_start(tern_context *context, tern_listener_reply reply,
                                   tern_listener_address *mine);
/* Stops a listener. NULL is fine. The process keeps the socket until it stops the next listener, or
 * ends, so that a rank which has destroyed its context does not seem dead while its process lives.
 */
void tern_listener_stop(tern_listener *listener);

/* Wakes the listener to send a death to its watchers. Any thread. */
void tern_listener_wake(tern_listener *listener);

/*
 * listeners.c: the listeners of a context.
 */

/* Collective: starts the listeners, exchanges their addresses, and finds out which addresses lead
 * to other machines. table: an entry for each rank, shared by the ranks of this node; the rank with
 * writes true fills it in. A rank that cannot have a listener logs the reason. */
tern_status tern_listeners_open(tern_context *context, tern_listener_reply reply,
                                tern_listener_address *table, bool writes);
/* Local. Does nothing if the listeners were not opened. */
void tern_listeners_close(tern_context *context);

#endif
