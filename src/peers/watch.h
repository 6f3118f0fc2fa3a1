#ifndef TERN_SRC_PEERS_WATCH_H
#define TERN_SRC_PEERS_WATCH_H

/*
 * Watches: how a death is noticed of a rank that no pidfd tells of, because it is on another
 * machine or in another PID namespace. A wait that has lasted for TERN_PEER_PATIENCE connects to
 * the listener of the rank (src/peers/listener.h), and the process keeps the connection as long as
 * somebody waits. A rank has died
 *   - if its host refuses a connection to its listener. The host of a rank that is stopped,
 * computes or has a full queue of connections does not;
 *   - if the port answers as something else, because it is used again;
 *   - if its host has been silent for TERN_HOST_TIMEOUT: it has acknowledged nothing, and refused
 * no connection to a port on which nobody listens;
 *   - if a rank that is watched says so.
 * A rank that is watched also says in which call of MPI it stays, and the target is watched, too.
 * It says what it last reported to be in, for the warning of a long wait.
 * Each is believed only at an address that is proven: some listener of the machine has answered
 * there (src/peers/listeners.c). A connection that ends is no proof; the next one is refused.
 *
 * A wait for anybody watches all of up to TERN_WATCH_ALL ranks, and of more those whose distance is
 * a power of two. The others hear from these of a death. Where listeners have no thread to tell it
 * all are watched.
 *
 * Any thread may look. One at a time has the watches, and the others leave it to that one. Watches
 * that nobody wants any more are closed by the next look, which a rank that only computes makes
 * none of.
 */

#include "src/context.h"

struct tern_wire_answer;

enum { TERN_WATCH_ALL = 32 };

/* Local. */
tern_status tern_watches_open(tern_context *context);
void tern_watches_close(tern_context *context);

/* Of a wait for rank, or TERN_ANYBODY, that began at since and finds nothing: watches rank if the
 * wait is long, and looks at all that is watched. since 0: a test that does not wait. */
void tern_watches_look(tern_context *context, uint32_t rank, uint64_t since, uint64_t now);

static inline void tern_watch(tern_context *context, uint32_t rank, uint64_t since, uint64_t now) {
    if (context->peers.watches != NULL)
        tern_watches_look(context, rank, since, now);
}

/* The call of MPI (src/peers/stuck.h) in which rank, which is watched, said of late to stay; or
 * TERN_NO_CALL. otherwise: returned while another thread looks. */
uint64_t tern_watches_call(const tern_context *context, uint32_t rank, uint64_t now,
                           uint64_t otherwise);

/* What rank, which is watched, said of late to be in. False: it has not said it, or another thread
 * looks. */
struct tern_reported;
bool tern_watches_reported(const tern_context *context, uint32_t rank, uint64_t now,
                           struct tern_reported *reported);

/* Connections that were begun to watch ranks, and ranks that are watched now: for tests. */
uint64_t tern_watches_begun(const tern_context *context);
uint32_t tern_watches_count(const tern_context *context);

/* Asks to watch, on a connection that is made. Returns 0, or the error that it has ended with. */
int tern_watch_ask(const tern_context *context, int fd, uint32_t rank);
bool tern_watch_is_answer(const tern_context *context, uint32_t rank,
                          const struct tern_wire_answer *answer);

#endif
