/*
 * The interface between kernels and their host: the functions that one asks the other for, the
 * words of a lane's line, and the arguments of a kernel.
 */

#ifndef TERN_EXAMPLES_CUDA_FUNCTIONS_H
#define TERN_EXAMPLES_CUDA_FUNCTIONS_H

#include <stdint.h>

/* Word 0 of a line: the function. In an answer: its result, or a negative errno. */
enum {
    ASK_ALLOCATE = 1, /* word 1: bytes. Returns the offset of so many bytes in the pool */
    ASK_FREE,         /* word 1: that offset */
    ASK_PRINT,        /* a text. Returns its number of bytes */
    ASK_OPEN,         /* a text, the name of a file to write. Returns a descriptor */
    ASK_WRITE,        /* words 1 to 3: descriptor, offset, bytes. Returns how many were written */
    ASK_CLOSE,        /* word 1: descriptor */
    ASK_SUM,          /* by a kernel; word 1: n. Returns the sum of 1 to n, by adding */
    ASK_STOP          /* by a kernel: ends it */
};

/* A text takes as many packets as it needs; slot and lane identify the text of a packet (paper 002,
 * 8.4). Word 1: bytes of the whole text; words 2 to 7: some of them. */
enum { ASK_PIECE = 48, ASK_TEXT_MAX = 480 };

/* The arguments of a kernel: memory that it shares with the host, at the kernel's addresses. */
typedef struct channel {
    void *mailbox;
    uint8_t *pool;
    uint32_t *failures; /* a word for each thread: the error that ended it early */
    uint32_t slots;
    uint64_t timeout_ns; /* the longest time that a kernel waits for its host */
} channel;

#endif
