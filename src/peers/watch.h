#ifndef TERN_SRC_PEERS_WATCH_H
#define TERN_SRC_PEERS_WATCH_H

/*
 * Watches: how a process notices the death of a rank for which it has no pidfd, because the rank is
 * on another machine or in another PID namespace. A wait that has lasted for TERN_PEER_PATIENCE
 * connects to the listener of the rank (src/peers/listener.h), and the process keeps the connection
 * as long as a worker waits for the rank. A rank has died if one of these holds:
 *
 *   - Its host refuses a connection to its listener. The host does not refuse while the rank is
 *     stopped, computes or has a full queue of connections.
 *   - The port answers as something else, because another program uses it now.
 *   - Its host has been silent for TERN_HOST_TIMEOUT: it has acknowledged nothing, and has not even
 *     refused a connection to a port on which no process listens.
 *   - A watched rank reports the death.
 *
 * A watched rank also says in which call of MPI it stays; then the target of the call is watched,
 * too. It says that its MPI has lost the connection to this rank (src/peers/lost.h). It says which
 * function it last reported to be in, for the warning of a long wait.
 *
 * Each of these counts only at a proven address, at which some listener of the machine has answered
 * (src/peers/listeners.c). A connection that ends proves nothing; if the rank is dead its host
 * refuses the next one.
 *
 * A wait for any rank watches all ranks of a context with up to TERN_WATCH_ALL ranks. In larger
 * contexts it watches those whose distance is a power of two, which report the deaths of others. If
 * listeners have no thread that could report, it watches all.
 *
 * Any thread may look. One thread at a time uses the watches; others that come meanwhile return at
 * once. The next look closes watches that no wait wants any more; a rank that only computes makes
 * no looks.
 */

#include "src/context.h"

struct tern_wire_answer;

enum { TERN_WATCH_ALL = 32 };

/* Local. */
tern_status tern_watches_open(tern_context *context);
void tern_watches_close(tern_context *context);

/* Called by a wait for rank, or for TERN_ANYBODY, that began at since and finds nothing: watches
 * rank if the wait is long, and checks all watched ranks. since 0: the caller is a test that does
 * not wait. */
void tern_watches_look(tern_context *context, uint32_t rank, uint64_t since, uint64_t now);

static inline void tern_watch(tern_context *context, uint32_t rank, uint64_t since, uint64_t now) {
    if (context->peers.watches != NULL)
        tern_watches_look(context, rank, since, now);
}

typedef enum tern_ask {
    TERN_ASK_SILENT,    /* some rank has not accepted a connection, or ranks are not watched */
    TERN_ASK_CONNECTED, /* each connection exists, or each rank has a pidfd */
    TERN_ASK_BUSY       /* another thread looks */
} tern_ask;

/* Connects to the listener of rank at once, or, for TERN_ANYBODY, to the listeners that a wait for
 * any rank watches. Call it again and again until the answer is known. */
tern_ask tern_watches_ask(tern_context *context, uint32_t rank, uint64_t now);

/* The call of MPI (src/peers/stuck.h) in which a watched rank recently said that it stays; or
 * TERN_NO_CALL. otherwise: the value to return while another thread looks. */
uint64_t tern_watches_call(const tern_context *context, uint32_t rank, uint64_t now,
                           uint64_t otherwise);

/* The function that a watched rank recently said it is in. False: it has not said it, or another
 * thread looks. */
struct tern_reported;
bool tern_watches_reported(const tern_context *context, uint32_t rank, uint64_t now,
                           struct tern_reported *reported);

/* How many connections were begun to watch ranks, and how many ranks are watched now; for tests. */
uint64_t tern_watches_begun(const tern_context *context);
uint32_t tern_watches_count(const tern_context *context);

/* Asks to watch, on an established connection. Returns 0, or the error with which the connection
 * has ended. */
int tern_watch_ask(const tern_context *context, int fd, uint32_t rank);
bool tern_watch_is_answer(const tern_context *context, uint32_t rank,
                          const struct tern_wire_answer *answer);

#endif
