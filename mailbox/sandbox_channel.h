#ifndef TERN_MAILBOX_SANDBOX_CHANNEL_H
#define TERN_MAILBOX_SANDBOX_CHANNEL_H

/*
 * The memory that a sandbox shares with its server, and what its helper knows of it. The helper
 * includes this without libc.
 *
 *     0           tern_sandbox_channel, for the helper, which copies it before the program runs;
 *                 nobody reads it again
 *     mailbox     TERN_SANDBOX_SLOTS slots, the child their only client, the parent their only
 *                 server
 *     image       the program's file, then its argument: for the helper and the program
 *     memory      what the program may allocate; the file ends where what is allocated ends, so
 *                 that nothing else can be touched
 */

#include <stdint.h>

#include "tern/mailbox.h"
#include "tern/sandbox_protocol.h"

typedef struct tern_sandbox_channel {
    uint64_t bytes; /* of all, memory that is not allocated included */
    uint64_t mailbox, image, argument, memory;
    uint64_t image_bytes, argument_bytes, memory_bytes;
    uint64_t room; /* for the program and its data */
    int64_t server;
} tern_sandbox_channel;

enum {
    TERN_SANDBOX_FD = 3,       /* the channel's descriptor in the helper */
    TERN_SANDBOX_PAGE = 65536, /* parts begin at multiples, which no page is larger than */
    TERN_SANDBOX_STACK = 1 << 20
};

/* Where the helper cannot enter the sandbox it ends itself by the signal TERN_SANDBOX_SIGNAL and
 * one of these, which no program behind the filter can do. */
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
