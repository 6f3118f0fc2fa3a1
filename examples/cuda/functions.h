/*
 * What kernels and their host agree on: the functions that one asks the other for, the words of a
 * lane's line, and what a kernel is given.
 */

#ifndef TERN_EXAMPLES_CUDA_FUNCTIONS_H
#define TERN_EXAMPLES_CUDA_FUNCTIONS_H

#include <stdint.h>

/* Word 0 of a line: which function. Of an answer: its result, or minus an errno. */
enum {
    ASK_ALLOCATE = 1, /* word 1: bytes. The offset of so many in the pool */
    ASK_FREE,         /* word 1: that offset */
    ASK_PRINT,        /* a text. Its bytes */
    ASK_OPEN,         /* a text, the name of a file to write. A descriptor */
    ASK_WRITE,        /* words 1 to 3: descriptor, offset, bytes. How many were written */
    ASK_CLOSE,        /* word 1: descriptor */
    ASK_SUM,          /* of a kernel; word 1: n. The sum of 1 to n, by adding */
    ASK_STOP          /* of a kernel: to end */
};

/* A text takes as many packets as it needs; its slot and lane say which text a packet belongs to
 * (paper 002, 8.4). Word 1: bytes of the whole; words 2 to 7: some of them. */
enum { ASK_PIECE = 48, ASK_TEXT_MAX = 480 };

/* What a kernel is given: memory that it shares with the host, at the kernel's addresses. */
typedef struct channel {
    void *mailbox;
    uint8_t *pool;
    uint32_t *failures; /* a word for each thread: what ended it before its time */
    uint32_t slots;
    uint64_t timeout_ns; /* a kernel waits no longer for its host */
} channel;

#endif
