#ifndef TERN_SANDBOX_H
#define TERN_SANDBOX_H

/*
 * Sandbox: runs a program that is not trusted in a process that can do nothing but compute, and
 * reach the outside by calls to this one (paper 002, 6.3). No line of the program runs before its
 * process has closed every descriptor, has nothing mapped of this process but the channel of its
 * calls, and has given up all system calls but exit_group and sched_yield: another one kills it.
 * Neither MPI nor a context is needed; docs/sandbox.md says what this keeps out and what not.
 *
 * The caller's thread is the server. Each call is copied once out of the shared memory, looked up
 * in a table of what is allowed, checked, and only then done with what was checked. Files are known
 * to the program by small numbers, handles, never by descriptors.
 *
 * How a program is written and built: tern/sandbox_child.h.
 */

#include <stddef.h>

#include "tern/sandbox_protocol.h"
#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run, for operations. */
typedef struct tern_sandbox tern_sandbox;

/* A call, in memory that the program cannot reach. */
typedef struct tern_sandbox_request {
    uint32_t operation;
    uint32_t bytes; /* of data */
    uint64_t arguments[TERN_SANDBOX_ARGUMENTS];
    const unsigned char *data; /* a 0 follows them */
} tern_sandbox_request;

/* What goes back beside the result. */
typedef struct tern_sandbox_reply {
    unsigned char *data; /* room for TERN_SANDBOX_DATA bytes */
    uint32_t bytes;      /* of it that are sent; 0 at first */
} tern_sandbox_reply;

/* An operation of the table. Its functions run in the thread that serves, and get argument. */
typedef struct tern_sandbox_operation {
    uint32_t number; /* tern's own below TERN_SANDBOX_OWN, others from there on */
    const char *name;
    /* Whether this call is allowed: 0, or -errno, which is the result. NULL: any is. */
    int (*check)(tern_sandbox *sandbox, const tern_sandbox_request *request, void *argument);
    /* Does it. The result, or -errno. */
    int64_t (*run)(tern_sandbox *sandbox, const tern_sandbox_request *request,
                   tern_sandbox_reply *reply, void *argument);
    void *argument;
} tern_sandbox_operation;

/* Bits of tern's operations. */
#define TERN_SANDBOX_ALLOW(number) (1u << (number))
#define TERN_SANDBOX_ALLOW_READING                                                                 \
    (TERN_SANDBOX_ALLOW(TERN_SANDBOX_OPEN) | TERN_SANDBOX_ALLOW(TERN_SANDBOX_READ) |               \
     TERN_SANDBOX_ALLOW(TERN_SANDBOX_CLOSE))
#define TERN_SANDBOX_ALLOW_FILES                                                                   \
    (TERN_SANDBOX_ALLOW_READING | TERN_SANDBOX_ALLOW(TERN_SANDBOX_WRITE))
#define TERN_SANDBOX_ALLOW_ALL 0xfeu

/* The most handles, and bytes of the argument. */
#define TERN_SANDBOX_HANDLES_MAX 1024u
#define TERN_SANDBOX_ARGUMENT_MAX 65536u
/* The most bytes of memory, and of a program with its data. */
#define TERN_SANDBOX_MEMORY_MAX (UINT64_C(1) << 36)
/* A time that never comes. */
#define TERN_SANDBOX_FOREVER UINT64_MAX

/* What is run, and what it may do. Begin with tern_sandbox_defaults. */
typedef struct tern_sandbox_options {
    const char *program;  /* path of the executable */
    const void *argument; /* bytes for the program to read */
    uint32_t argument_bytes;
    uint32_t allow;        /* which of tern's operations: TERN_SANDBOX_ALLOW_... [none] */
    const char *directory; /* files are opened beneath it; NULL: none are */
    const tern_sandbox_operation *operations; /* of your own; not needed after the run */
    uint32_t operation_count;
    uint32_t handles;       /* that are open at once [16] */
    uint32_t creations;     /* files that are made in all [256] */
    uint64_t write_bytes;   /* that are written and printed in all; no file is written beyond that
                               offset [1 MiB] */
    uint64_t memory_bytes;  /* that can be allocated in all [16 MiB] */
    uint64_t program_bytes; /* of the program with its static data [16 MiB] */
    uint64_t timeout_ns;    /* then it is killed [10 s] */
    /* Gets what is printed, as it comes; NULL: it goes to stdout, all but printable ASCII, newline
     * and tab replaced by '?'. As with all that the server writes there, a pipe whose reader has
     * left is SIGPIPE, and a full one is waited for. */
    void (*print)(const char *text, uint32_t bytes, void *context);
    /* Called now and then, at least each millisecond but while an operation runs, for progress of
     * your own. Not 0: the program is killed. NULL: nothing is called. */
    int (*idle)(void *context);
    void *context; /* of these two */
} tern_sandbox_options;

static inline tern_sandbox_options tern_sandbox_defaults(const char *program) {
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
    TERN_SANDBOX_EXITED,  /* code: its status */
    TERN_SANDBOX_REFUSED, /* it tried a system call; code: SIGSYS */
    TERN_SANDBOX_KILLED,  /* code: the signal, of its own fault or from outside */
    TERN_SANDBOX_TIMEOUT, /* killed by the server after timeout_ns */
    TERN_SANDBOX_STOPPED  /* killed by the server since idle said so */
} tern_sandbox_end;

typedef struct tern_sandbox_result {
    tern_sandbox_end end;
    int code;
    uint64_t calls;         /* that were answered */
    uint64_t refused;       /* of these, not in the table or against a check */
    uint64_t written_bytes; /* written and printed */
    uint64_t memory_bytes;  /* allocated */
} tern_sandbox_result;

/* Runs a program in a sandbox, serves it and waits for its end, timeout_ns at most but for what an
 * operation takes meanwhile. [out] result: how it ended, and what it did; TERN_OK whatever the
 * program did. No process and no descriptor is left, whatever happens; the program is killed when
 * the calling thread ends. Any thread; several runs at a time do not know of each other; not in
 * handlers. Makes no progress of tern's.
 * TERN_ERR_ARGUMENT: NULL, a limit beyond the most, an operation that has no function or a number
 * that is taken, a file that cannot be loaded as such a program (the text says why), or no
 * directory. TERN_ERR_SYSTEM: the program or the directory cannot be opened; no descriptors, no
 * process. TERN_ERR_MEMORY. TERN_ERR_STATE: somebody else of this process waited for the child
 * (SIGCHLD is ignored, or a handler reaps any child). TERN_ERR_UNSUPPORTED: this system lacks
 * seccomp filters, openat2, close_range or /proc, or lets no memfd be executed; or the container
 * that this process is in refuses one of these. */
TERN_NODISCARD TERN_API tern_status tern_sandbox_run(const tern_sandbox_options *options,
                                                     tern_sandbox_result *result);

/* For operations: bytes of the shared memory from an offset on, which the program may change at any
 * time: copy, then check, then use. NULL: not all of these have been allocated. Never blocks. */
TERN_API void *tern_sandbox_memory(const tern_sandbox *sandbox, uint64_t offset, uint64_t bytes);

/* For operations: the number of the program's process. Never blocks. */
TERN_API int tern_sandbox_process(const tern_sandbox *sandbox);

#ifdef __cplusplus
}
#endif

#endif
