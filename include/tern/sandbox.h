#ifndef TERN_SANDBOX_H
#define TERN_SANDBOX_H

/*
 * Sandbox: runs an untrusted program in a process that can only compute and make calls to this
 * process (paper 002, 6.3). Before the first instruction of the program runs, its process has
 * closed all descriptors, shares no memory with this process but the channel for its calls, and has
 * given up all system calls except exit_group and sched_yield. The kernel kills the process at any
 * other system call. Neither MPI nor a context is needed. docs/sandbox.md describes what a sandbox
 * keeps out, and what it does not.
 *
 * The caller's thread is the server. It copies each call out of the shared memory once, looks it up
 * in a table of what is allowed, checks it, and then carries out what it has checked. The program
 * knows files by small numbers, called handles, and never by descriptors.
 *
 * tern/sandbox_child.h describes how a program is written and built.
 */

#include <stddef.h>

#include "tern/sandbox_protocol.h"
#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run of a program; operations get it. */
typedef struct tern_sandbox tern_sandbox;

/* A call, in memory that the program cannot reach. */
typedef struct tern_sandbox_request {
    uint32_t operation;
    uint32_t bytes; /* bytes of data */
    uint64_t arguments[TERN_SANDBOX_ARGUMENTS];
    const unsigned char *data; /* a 0 byte follows the data */
} tern_sandbox_request;

/* What goes back to the program beside the result. */
typedef struct tern_sandbox_reply {
    unsigned char *data; /* memory for TERN_SANDBOX_DATA bytes */
    uint32_t bytes;      /* bytes of data to send; 0 at first */
} tern_sandbox_reply;

/* An operation of the table. The serving thread runs its functions, with argument. */
typedef struct tern_sandbox_operation {
    uint32_t number; /* TERN_SANDBOX_OWN or more; smaller numbers are tern's */
    const char *name;
    /* Returns 0 if the call is allowed, or -errno, which is then the call's result. NULL allows
     * every call. */
    int (*check)(tern_sandbox *sandbox, const tern_sandbox_request *request, void *argument);
    /* Carries out the call and returns its result, or -errno. */
    int64_t (*run)(tern_sandbox *sandbox, const tern_sandbox_request *request,
                   tern_sandbox_reply *reply, void *argument);
    void *argument;
} tern_sandbox_operation;

/* Bits for the field allow. */
#define TERN_SANDBOX_ALLOW(number) (1u << (number))
#define TERN_SANDBOX_ALLOW_READING                                                                 \
    (TERN_SANDBOX_ALLOW(TERN_SANDBOX_OPEN) | TERN_SANDBOX_ALLOW(TERN_SANDBOX_READ) |               \
     TERN_SANDBOX_ALLOW(TERN_SANDBOX_CLOSE))
#define TERN_SANDBOX_ALLOW_FILES                                                                   \
    (TERN_SANDBOX_ALLOW_READING | TERN_SANDBOX_ALLOW(TERN_SANDBOX_WRITE))
#define TERN_SANDBOX_ALLOW_ALL 0xfeu

/* The largest number of handles, and of bytes of the argument. */
#define TERN_SANDBOX_HANDLES_MAX 1024u
#define TERN_SANDBOX_ARGUMENT_MAX 65536u
/* The largest value in bytes of memory_bytes and of program_bytes. */
#define TERN_SANDBOX_MEMORY_MAX (UINT64_C(1) << 36)
/* A timeout that never ends. */
#define TERN_SANDBOX_FOREVER UINT64_MAX

/* The program to run, and what it may do. tern_sandbox_defaults gives each field its default, in
 * brackets. */
typedef struct tern_sandbox_options {
    const char *program;  /* path of the executable */
    const void *argument; /* bytes that the program can read */
    uint32_t argument_bytes;
    uint32_t allow;        /* allowed operations of tern: TERN_SANDBOX_ALLOW_... [none] */
    const char *directory; /* the program opens files beneath it; NULL: it opens none */
    const tern_sandbox_operation *operations; /* of your own; not used after the run */
    uint32_t operation_count;
    uint32_t handles;       /* most handles open at once [16] */
    uint32_t creations;     /* most files created in all [256] */
    uint64_t write_bytes;   /* most bytes written and printed in all; no file is written beyond this
                               offset [1 MiB] */
    uint64_t memory_bytes;  /* most bytes allocated in all [16 MiB] */
    uint64_t program_bytes; /* most bytes of the program with its static data [16 MiB] */
    uint64_t timeout_ns;    /* time after which the program is killed [10 s] */
    /* Gets the text that the program prints, at once. If it is NULL, the server writes the text to
     * stdout, with '?' in place of every character except printable ASCII, newline and tab. As for
     * everything that the server writes there, a pipe whose reader has gone raises SIGPIPE, and the
     * server waits for a full pipe. */
    void (*print)(const char *text, uint32_t bytes, void *context);
    /* Called repeatedly, so that you can make progress of your own: at least once a millisecond,
     * except while an operation runs. If it returns a value other than 0, the program is killed.
     * NULL: not called. */
    int (*idle)(void *context);
    void *context; /* argument of print and idle */
} tern_sandbox_options;

/** Returns the default options for the program at a path, which must stay valid during the run. */
TERN_INLINE tern_sandbox_options tern_sandbox_defaults(const char *program) {
    tern_sandbox_options options = {program,
                                    NULL,
                                    0,
                                    0,
                                    NULL,
                                    NULL,
                                    0,
                                    16,
                                    256,
                                    UINT64_C(1) << 20,
                                    UINT64_C(1) << 24,
                                    UINT64_C(1) << 24,
                                    UINT64_C(10000000000),
                                    NULL,
                                    NULL,
                                    NULL};
    return options;
}

/* How a program ended. */
typedef enum tern_sandbox_end {
    TERN_SANDBOX_EXITED,  /* it exited; code: its status */
    TERN_SANDBOX_REFUSED, /* it tried another system call; code: SIGSYS */
    TERN_SANDBOX_KILLED,  /* a signal killed it, through its own fault or from outside; code: the
                             signal */
    TERN_SANDBOX_TIMEOUT, /* the server killed it after timeout_ns */
    TERN_SANDBOX_STOPPED  /* the server killed it because idle asked for that */
} tern_sandbox_end;

/* What became of a program in a sandbox. */
typedef struct tern_sandbox_result {
    tern_sandbox_end end;
    int code;
    uint64_t calls;         /* calls that were answered */
    uint64_t refused;       /* of these, not in the table or refused by a check */
    uint64_t written_bytes; /* bytes written and printed */
    uint64_t memory_bytes;  /* bytes allocated */
} tern_sandbox_result;

/** Runs a program in a sandbox, serves its calls, and waits for its end.
 *
 * @param options the program and its limits; not used after the return
 * @param[out] result how the program ended and what it did
 * @return TERN_OK however the program ended; TERN_ERR_ARGUMENT if a pointer is NULL, a value is
 *     beyond its limit, an operation has no function or a number that is taken, the program's file
 *     cannot be loaded (the detail text says why), or directory is no directory; TERN_ERR_SYSTEM if
 *     the program or the directory cannot be opened, or the system grants no descriptor or no
 *     process; TERN_ERR_MEMORY; TERN_ERR_STATE if something else in this process waited for the
 *     child (SIGCHLD is ignored, or a handler reaps any child); TERN_ERR_UNSUPPORTED if this system
 *     lacks seccomp filters, openat2, close_range or /proc, or does not execute a memfd, or if the
 *     container of this process refuses one of these
 *
 * No process and no descriptor is left after the return. The program is also killed when the
 * calling thread ends.
 *
 * Blocking: for up to timeout_ns, plus the time that an operation takes. Makes no progress for
 * tern.
 * Handlers: not allowed. Any thread may call it, and several runs at a time are independent. */
TERN_NODISCARD TERN_API tern_status tern_sandbox_run(const tern_sandbox_options *options,
                                                     tern_sandbox_result *result);

/** For operations: returns the address of bytes bytes of the shared memory at an offset, or NULL if
 * not all of them have been allocated. The program may change these bytes at any time: copy them,
 * then check the copy, then use the copy. Never blocks. */
TERN_API void *tern_sandbox_memory(const tern_sandbox *sandbox, uint64_t offset, uint64_t bytes);

/** For operations: returns the process id of the program. Never blocks. */
TERN_API int tern_sandbox_process(const tern_sandbox *sandbox);

#ifdef __cplusplus
}
#endif

#endif
