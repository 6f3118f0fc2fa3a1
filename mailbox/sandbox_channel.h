#ifndef TERN_MAILBOX_SANDBOX_CHANNEL_H
#define TERN_MAILBOX_SANDBOX_CHANNEL_H

/*
 * The memory that a sandbox shares with its server. The helper includes this header without libc.
 *
 *     offset      content                                   written by
 *     0           tern_sandbox_channel                      server, before the start
 *     mailbox     TERN_SANDBOX_SLOTS slots                  both; the child is the only client, the
 *                                                           parent the only server
 *     image       the program's file                        server, before the start
 *     argument    the program's argument                    server, before the start
 *     memory      what the program may allocate             both
 *
 * Each part begins at a multiple of TERN_SANDBOX_PAGE. The helper copies tern_sandbox_channel
 * before the program runs, and nobody reads it again. The file ends where the allocated memory
 * ends, so that nothing behind it can be touched.
 */

#include <stdint.h>

#include "tern/mailbox.h"
#include "tern/sandbox_protocol.h"

typedef struct tern_sandbox_channel {
    uint64_t bytes; /* of the whole channel, with memory that is not allocated yet */
    uint64_t mailbox, image, argument, memory;
    uint64_t image_bytes, argument_bytes, memory_bytes;
    uint64_t room; /* bytes for the program and its data */
    int64_t server;
} tern_sandbox_channel;

enum {
    TERN_SANDBOX_FD = 3,       /* the channel's descriptor in the helper */
    TERN_SANDBOX_PAGE = 65536, /* parts begin at its multiples; no page is larger */
    TERN_SANDBOX_STACK = 1 << 20
};

/* If the helper cannot enter the sandbox, it ends itself by the signal TERN_SANDBOX_SIGNAL plus one
 * of these reasons. A program behind the filter cannot send a signal. */
enum {
    TERN_SANDBOX_SIGNAL = 48,
    TERN_SANDBOX_NO_CHANNEL = 1,
    TERN_SANDBOX_NO_MEMORY,
    TERN_SANDBOX_NO_CLOSE,
    TERN_SANDBOX_NO_LIMITS,
    TERN_SANDBOX_NO_PRCTL,
    TERN_SANDBOX_NO_PARENT,
    TERN_SANDBOX_NO_FILTER
};

#endif
