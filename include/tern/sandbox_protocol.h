#ifndef TERN_SANDBOX_PROTOCOL_H
#define TERN_SANDBOX_PROTOCOL_H

/*
 * The protocol between a program in a sandbox (tern/sandbox_child.h) and its server
 * (tern/sandbox.h). The packets of a mailbox carry calls: each has the number of an operation, a
 * few arguments and some data. Freestanding.
 */

#include <stdint.h>

/* Tern's operations. A server's own operations begin at TERN_SANDBOX_OWN. Each comment lists the
 * arguments in their order, then the data of the call, then the result; an error is -errno. */
enum {
    TERN_SANDBOX_OPEN = 1,     /* flags (below); data: the path; a handle */
    TERN_SANDBOX_READ = 2,     /* handle, offset, bytes; bytes read, which are the reply's data */
    TERN_SANDBOX_WRITE = 3,    /* handle, offset; data: the bytes; bytes written */
    TERN_SANDBOX_CLOSE = 4,    /* handle; 0 */
    TERN_SANDBOX_CLOCK = 5,    /* 0 for a clock that only grows, 1 for the time of day;
                                  nanoseconds */
    TERN_SANDBOX_ALLOCATE = 6, /* bytes; offset of the new bytes in the shared memory */
    TERN_SANDBOX_PRINT = 7,    /* data: the text; bytes printed */
    TERN_SANDBOX_OWN = 32
};

/* Flags of TERN_SANDBOX_OPEN. */
enum {
    TERN_SANDBOX_FOR_READING = 1,
    TERN_SANDBOX_FOR_WRITING = 2,
    TERN_SANDBOX_CREATE = 4,  /* creates the file if it is not there; needs FOR_WRITING */
    TERN_SANDBOX_TRUNCATE = 8 /* truncates the file to 0 bytes; needs FOR_WRITING */
};

/* Numbers that a call carries; bytes of data; slots of the mailbox. */
#define TERN_SANDBOX_ARGUMENTS 4
#define TERN_SANDBOX_DATA 4096u /* most bytes of data in a call or its reply */
#define TERN_SANDBOX_SLOTS 4u   /* slots of the mailbox */

/* The head of a packet: 64 bytes at its start. The data follow, from byte 64. The program writes
 * the packet before it posts a call, and the server writes it before it answers. */
typedef struct tern_sandbox_head {
    uint32_t operation;
    uint32_t bytes; /* bytes of data; in an answer, bytes of the reply */
    int64_t result; /* in an answer: the operation's result, or -errno */
    uint64_t arguments[TERN_SANDBOX_ARGUMENTS];
    uint64_t unused[2];
} tern_sandbox_head;

/* The size of a packet in bytes. */
#define TERN_SANDBOX_PACKET ((uint32_t)sizeof(tern_sandbox_head) + TERN_SANDBOX_DATA)

#endif
