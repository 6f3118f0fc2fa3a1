#ifndef TERN_MAILBOX_SANDBOX_H
#define TERN_MAILBOX_SANDBOX_H

/* One run of a sandbox, at its server. */

#include <stdint.h>
#include <sys/types.h>

#include "mailbox/sandbox_channel.h"
#include "tern/sandbox.h"

typedef struct tern_sandbox_handle {
    int fd; /* -1: the handle is free */
    int reads, writes;
} tern_sandbox_handle;

struct tern_sandbox {
    const tern_sandbox_options *options;
    tern_sandbox_result result;
    tern_sandbox_channel shape; /* never read back from shared memory */
    unsigned char *channel;
    int channel_fd, directory_fd, helper_fd, pidfd;
    pid_t process;
    uint32_t created;
    tern_sandbox_handle *handles;
    unsigned char data[TERN_SANDBOX_DATA + 1], reply[TERN_SANDBOX_DATA];
};

/* Tern's operations, by number. An entry whose run is NULL is no operation. */
extern const tern_sandbox_operation tern_sandbox_table[TERN_SANDBOX_OWN];

/* In sandbox_files.c. */
int tern_sandbox_open_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument);
int64_t tern_sandbox_open_run(tern_sandbox *s, const tern_sandbox_request *request,
                              tern_sandbox_reply *reply, void *argument);
int tern_sandbox_read_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument);
int64_t tern_sandbox_read_run(tern_sandbox *s, const tern_sandbox_request *request,
                              tern_sandbox_reply *reply, void *argument);
int tern_sandbox_write_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument);
int64_t tern_sandbox_write_run(tern_sandbox *s, const tern_sandbox_request *request,
                               tern_sandbox_reply *reply, void *argument);
int tern_sandbox_close_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument);
int64_t tern_sandbox_close_run(tern_sandbox *s, const tern_sandbox_request *request,
                               tern_sandbox_reply *reply, void *argument);
/* Returns the process's limit on the size of a file. Writing beyond it would raise a signal in the
 * server. */
uint64_t tern_sandbox_file_limit(void);
/* Returns whether this system has openat2 and allows it. */
int tern_sandbox_can_open(int directory);

/* In sandbox_process.c. start starts the child. reap kills it if kill is set, waits for it, and
 * fills in the result. */
tern_status tern_sandbox_start(tern_sandbox *s);
tern_status tern_sandbox_reap(tern_sandbox *s, tern_sandbox_end killed, int kill);
/* Turns errno into a status: TERN_ERR_UNSUPPORTED if the system lacks the call or refuses it. */
tern_status tern_sandbox_fail(const char *call);

/* In sandbox_channel.c: the shared memory with the program in it. extend makes bytes bytes at an
 * offset exist in the file, and returns 0 or an error number. */
int tern_sandbox_extend(int fd, uint64_t at, uint64_t bytes);
tern_status tern_sandbox_channel_open(tern_sandbox *s);

/* In sandbox_serve.c. Serves until the child has ended, and then returns 0, or until it must be
 * killed, and then returns 1 and sets *why. */
int tern_sandbox_serve(tern_sandbox *s, tern_sandbox_end *why);

#endif
