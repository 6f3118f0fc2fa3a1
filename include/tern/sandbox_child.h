#ifndef TERN_SANDBOX_CHILD_H
#define TERN_SANDBOX_CHILD_H

/*
 * For programs that run in a sandbox (tern/sandbox.h). Freestanding: there is no libc, and every
 * system call except exit_group and sched_yield ends the program. The program reaches the outside
 * by calls to the server, which returns -errno for a call that it does not allow.
 *
 * A program is a position-independent executable that needs no library. Its entry point is
 *
 *     int tern_sandbox_main(tern_sandbox_box *box);
 *
 * and its exit status is the value that this function returns. Build it with gcc or clang:
 *
 *     cc -O2 -ffreestanding -fPIE -fno-stack-protector -nostdlib -static-pie
 *        -Wl,-e,tern_sandbox_main -Wl,--no-dynamic-linker program.c -o program
 *
 * For aarch64 add -mno-outline-atomics; without it, atomics are calls of functions that need libc.
 *
 * One source file of the program defines TERN_SANDBOX_PROGRAM before it includes this header. That
 * defines memcpy, memmove, memset and memcmp, which compilers call on their own. The program has 1
 * MiB of stack, one thread, and no thread-local variables. It may write its static data, and may
 * also execute them: nothing protects the program from itself. The layout of the mailbox is
 * TERN_MAILBOX_LINES.
 */

#include <stddef.h>

#include "tern/mailbox.h"
#include "tern/sandbox_protocol.h"

#if TERN_MAILBOX_LAYOUT != TERN_MAILBOX_LINES
#error "a sandbox's mailbox has TERN_MAILBOX_LAYOUT TERN_MAILBOX_LINES"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the program gets at its start. */
typedef struct tern_sandbox_box {
    tern_mailbox_client client;
    /* Shared with the server. Touching a byte that is not allocated ends the program. */
    uint8_t *memory;
    uint64_t memory_bytes;   /* most bytes that can be allocated in all */
    const uint8_t *argument; /* the argument that the server's caller gave */
    uint32_t argument_bytes;
} tern_sandbox_box;

/* The program defines this function. */
int tern_sandbox_main(tern_sandbox_box *box);

/* ---- The two system calls that are left ---- */

/* Makes a system call with one argument, and returns what the kernel returns. All but sched_yield
 * and exit_group end the program. */
TERN_MAILBOX_INLINE long tern_sandbox_system(long number, long argument) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(argument)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = argument;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8) : "memory");
    return x0;
#else
#error "sandboxes are for x86-64 and aarch64"
#endif
}

/* Ends the program with a status from 0 to 255. */
TERN_MAILBOX_INLINE void tern_sandbox_exit(int status) {
#if defined(__x86_64__)
    enum { EXIT_GROUP = 231 };
#else
    enum { EXIT_GROUP = 94 };
#endif
    for (;;)
        (void)tern_sandbox_system(EXIT_GROUP, status);
}

/* A hook for tern_mailbox_wait: lets other processes run, such as the server. */
TERN_MAILBOX_INLINE int tern_sandbox_yield(void *argument, uint32_t calls) {
#if defined(__x86_64__)
    enum { SCHED_YIELD = 24 };
#else
    enum { SCHED_YIELD = 124 };
#endif
    (void)argument;
    (void)calls;
    (void)tern_sandbox_system(SCHED_YIELD, 0);
    return 0;
}

/* ---- Calls ---- */

/* A call. The program fills in all fields except result and reply_bytes. */
typedef struct tern_sandbox_message {
    uint32_t operation;
    uint32_t bytes; /* bytes of data, at most TERN_SANDBOX_DATA */
    uint64_t arguments[TERN_SANDBOX_ARGUMENTS];
    const void *data;
    void *reply; /* memory for room bytes of the reply; NULL if room is 0 */
    uint32_t room;
    uint32_t reply_bytes; /* bytes of the reply that were stored */
    int64_t result;
} tern_sandbox_message;

/* Not for applications: fills the packet of a call. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_fill(void *packet, uint32_t slot, void *argument) {
    const tern_sandbox_message *m = (const tern_sandbox_message *)argument;
    tern_sandbox_head head = {m->operation,
                              m->bytes,
                              0,
                              {m->arguments[0], m->arguments[1], m->arguments[2], m->arguments[3]},
                              {0, 0}};
    (void)slot;
    __builtin_memcpy(packet, &head, sizeof head);
    if (m->bytes > 0)
        __builtin_memcpy((uint8_t *)packet + sizeof head, m->data, m->bytes);
}

/* Not for applications: takes the result from the packet of an answer. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_use(void *packet, uint32_t slot, void *argument) {
    tern_sandbox_message *m = (tern_sandbox_message *)argument;
    tern_sandbox_head head;
    (void)slot;
    __builtin_memcpy(&head, packet, sizeof head);
    m->result = head.result;
    m->reply_bytes = head.bytes < m->room ? head.bytes : m->room;
    if (m->reply_bytes > 0)
        __builtin_memcpy(m->reply, (uint8_t *)packet + sizeof head, m->reply_bytes);
}

/** Makes a call and waits for its answer. Returns the result of the operation, or -errno; -22
 * (EINVAL) if there is more data than a call carries. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_call(tern_sandbox_box *box,
                                              tern_sandbox_message *message) {
    tern_mailbox_wait wait = {tern_sandbox_yield, 0};
    if (message->bytes > TERN_SANDBOX_DATA)
        return message->result = -22;
    (void)tern_mailbox_call(&box->client, tern_internal_sandbox_fill, tern_internal_sandbox_use,
                            message, &wait);
    return message->result;
}

/* Returns the number of bytes of a text, as strlen does. */
TERN_MAILBOX_INLINE size_t tern_sandbox_length(const char *text) {
    size_t length = 0;
    while (text[length] != 0)
        length++;
    return length;
}

/** Opens a file beneath the server's directory, with flags of tern/sandbox_protocol.h. Returns a
 * handle, which is 0 or more, or -errno. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_open(tern_sandbox_box *box, const char *path,
                                              uint64_t flags) {
    size_t length = tern_sandbox_length(path);
    if (length > TERN_SANDBOX_DATA)
        return -36; /* ENAMETOOLONG */
    tern_sandbox_message m = {
        TERN_SANDBOX_OPEN, (uint32_t)length, {flags, 0, 0, 0}, path, 0, 0, 0, 0};
    return tern_sandbox_call(box, &m);
}

/** Reads up to bytes bytes at offset. Returns how many it read, which may be fewer, 0 at the end of
 * the file, or -errno. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_read(tern_sandbox_box *box, int64_t handle,
                                              uint64_t offset, void *to, uint64_t bytes) {
    uint32_t piece = bytes < TERN_SANDBOX_DATA ? (uint32_t)bytes : TERN_SANDBOX_DATA;
    tern_sandbox_message m = {
        TERN_SANDBOX_READ, 0, {(uint64_t)handle, offset, piece, 0}, 0, to, piece, 0, 0};
    return tern_sandbox_call(box, &m);
}

/** Writes up to bytes bytes at offset. Returns how many it wrote, which may be fewer, or -errno. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_write(tern_sandbox_box *box, int64_t handle,
                                               uint64_t offset, const void *from, uint64_t bytes) {
    uint32_t piece = bytes < TERN_SANDBOX_DATA ? (uint32_t)bytes : TERN_SANDBOX_DATA;
    tern_sandbox_message m = {
        TERN_SANDBOX_WRITE, piece, {(uint64_t)handle, offset, 0, 0}, from, 0, 0, 0, 0};
    return tern_sandbox_call(box, &m);
}

/** Closes a handle. Returns 0 or -errno. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_close(tern_sandbox_box *box, int64_t handle) {
    tern_sandbox_message m = {TERN_SANDBOX_CLOSE, 0, {(uint64_t)handle, 0, 0, 0}, 0, 0, 0, 0, 0};
    return tern_sandbox_call(box, &m);
}

/** Returns nanoseconds of a clock that only grows (which 0), or since 1970 (which 1), or -errno. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_clock(tern_sandbox_box *box, uint64_t which) {
    tern_sandbox_message m = {TERN_SANDBOX_CLOCK, 0, {which, 0, 0, 0}, 0, 0, 0, 0, 0};
    return tern_sandbox_call(box, &m);
}

/** Returns memory that the server also sees. It is zeroed, begins at the start of a cache line, and
 * lasts as long as the program. Returns NULL if there is no more. */
TERN_MAILBOX_INLINE void *tern_sandbox_allocate(tern_sandbox_box *box, uint64_t bytes) {
    tern_sandbox_message m = {TERN_SANDBOX_ALLOCATE, 0, {bytes, 0, 0, 0}, 0, 0, 0, 0, 0};
    int64_t at = tern_sandbox_call(box, &m);
    return at < 0 ? 0 : box->memory + at;
}

/** Prints text, by one call for each TERN_SANDBOX_DATA bytes. Returns bytes, or -errno. */
TERN_MAILBOX_INLINE int64_t tern_sandbox_print(tern_sandbox_box *box, const char *text,
                                               size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        size_t left = bytes - done;
        uint32_t piece = left < TERN_SANDBOX_DATA ? (uint32_t)left : TERN_SANDBOX_DATA;
        tern_sandbox_message m = {TERN_SANDBOX_PRINT, piece, {0, 0, 0, 0}, text + done, 0, 0, 0, 0};
        if (tern_sandbox_call(box, &m) < 0)
            return m.result;
        done += piece;
    }
    return (int64_t)bytes;
}

/* ---- What compilers expect ---- */

#ifdef TERN_SANDBOX_PROGRAM

/* The empty asm statements keep a compiler from turning each loop into a call of the function
 * itself. */

void *memcpy(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
        __asm__ volatile("");
    }
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        return memcpy(to, from, bytes);
    while (bytes-- > 0) {
        ((uint8_t *)to)[bytes] = ((const uint8_t *)from)[bytes];
        __asm__ volatile("");
    }
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)to)[i] = (uint8_t)value;
        __asm__ volatile("");
    }
    return to;
}

int memcmp(const void *left, const void *right, size_t bytes) {
    const uint8_t *a = (const uint8_t *)left, *b = (const uint8_t *)right;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
