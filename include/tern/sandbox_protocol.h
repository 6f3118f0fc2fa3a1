#ifndef TERN_SANDBOX_PROTOCOL_H
#define TERN_SANDBOX_PROTOCOL_H

/*
 * What a program in a sandbox (tern/sandbox_child.h) and its server (tern/sandbox.h) say to each
 * other: calls by number with a few arguments and some data, in the packets of a mailbox.
 * Freestanding.
 */

#include <stdint.h>

/* The operations that tern has. A server's own begin at TERN_SANDBOX_OWN. */
enum {
    TERN_SANDBOX_OPEN = 1,     /* data: path; flags below. A handle */
    TERN_SANDBOX_READ = 2,     /* handle, offset, bytes. Bytes read; reply: these */
    TERN_SANDBOX_WRITE = 3,    /* handle, offset; data. Bytes written */
    TERN_SANDBOX_CLOSE = 4,    /* handle. 0 */
    TERN_SANDBOX_CLOCK = 5,    /* 0: a clock that only grows, 1: time of day. ns */
    TERN_SANDBOX_ALLOCATE = 6, /* bytes. Where they begin in the shared memory */
    TERN_SANDBOX_PRINT = 7,    /* data: text. Its bytes */
    TERN_SANDBOX_OWN = 32
};

/* Flags of open. */
enum {
    TERN_SANDBOX_FOR_READING = 1,
    TERN_SANDBOX_FOR_WRITING = 2,
    TERN_SANDBOX_CREATE = 4,  /* the file if there is none; with FOR_WRITING only */
    TERN_SANDBOX_TRUNCATE = 8 /* to no bytes; with FOR_WRITING only */
};

#define TERN_SANDBOX_ARGUMENTS 4
#define TERN_SANDBOX_DATA 4096u /* bytes, that a call or its reply carries at most */
#define TERN_SANDBOX_SLOTS 4u   /* of the mailbox */

/* The head of a packet; data follow. */
typedef struct tern_sandbox_head {
    uint32_t operation;
    uint32_t bytes; /* of data; in an answer, of the reply */
    int64_t result; /* in an answer: what the operation gave, or -errno */
    uint64_t arguments[TERN_SANDBOX_ARGUMENTS];
    uint64_t unused[2];
} tern_sandbox_head;

#define TERN_SANDBOX_PACKET ((uint32_t)sizeof(tern_sandbox_head) + TERN_SANDBOX_DATA)

#endif
