#ifndef TERN_MAILBOX_SANDBOX_H
#define TERN_MAILBOX_SANDBOX_H

/* One run of a sandbox, at its server. */

#include <stdint.h>
#include <sys/types.h>

#include "mailbox/sandbox_channel.h"
#include "tern/sandbox.h"

typedef struct tern_sandbox_handle {
    int fd; /* -1: free */
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

/* tern's own, by number; run NULL: there is none. */
extern const tern_sandbox_operation tern_sandbox_table[TERN_SANDBOX_OWN];

/* sandbox_files.c */
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
/* What the largest file may have here: beyond that the server would get a signal. */
uint64_t tern_sandbox_file_limit(void);
/* Whether this system has openat2. */
int tern_sandbox_can_open(int directory);

/* sandbox_process.c: starts the child; kills it if kill, waits for it and fills in the result. */
tern_status tern_sandbox_start(tern_sandbox *s);
tern_status tern_sandbox_reap(tern_sandbox *s, tern_sandbox_end killed, int kill);
/* errno as a status: TERN_ERR_UNSUPPORTED where there is no such call. */
tern_status tern_sandbox_fail(const char *call);

/* sandbox_channel.c: the shared memory with the program in it. extend: bytes of it are there from
 * now on; 0, or an error number. */
int tern_sandbox_extend(int fd, uint64_t at, uint64_t bytes);
tern_status tern_sandbox_channel_open(tern_sandbox *s);

/* sandbox_serve.c: until the child has ended, or is to be killed for the reason in *why. */
int tern_sandbox_serve(tern_sandbox *s, tern_sandbox_end *why);

#endif
