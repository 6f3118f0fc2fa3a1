#include "mailbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

static tern_status check_operations(const tern_sandbox_options *o) {
    if (o->operation_count > 0 && o->operations == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_sandbox_run: operation_count is %u, but operations is NULL",
                         o->operation_count);
    for (uint32_t i = 0; i < o->operation_count; i++) {
        const tern_sandbox_operation *one = &o->operations[i];
        if (one->run == NULL || one->number < TERN_SANDBOX_OWN)
            return tern_fail(TERN_ERR_ARGUMENT,
                             "tern_sandbox_run: operation %u (number %u) needs a function and "
                             "a number of %d or more",
                             i, one->number, TERN_SANDBOX_OWN);
        for (uint32_t j = 0; j < i; j++)
            if (o->operations[j].number == one->number)
                return tern_fail(TERN_ERR_ARGUMENT,
                                 "tern_sandbox_run: two operations have number %u", one->number);
    }
    return TERN_OK;
}

static tern_status sandbox_check(const tern_sandbox_options *o, const tern_sandbox_result *result) {
    if (o == NULL || result == NULL || o->program == NULL ||
        (o->argument == NULL && o->argument_bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "tern_sandbox_run: options, program, argument or "
                                            "result is NULL");
    if (o->argument_bytes > TERN_SANDBOX_ARGUMENT_MAX || o->handles > TERN_SANDBOX_HANDLES_MAX)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_sandbox_run: handles is %u and argument_bytes is %u; at most %u and "
                         "%u are allowed",
                         o->handles, o->argument_bytes, TERN_SANDBOX_HANDLES_MAX,
                         TERN_SANDBOX_ARGUMENT_MAX);
    if (o->memory_bytes > TERN_SANDBOX_MEMORY_MAX || o->program_bytes > TERN_SANDBOX_MEMORY_MAX ||
        o->program_bytes == 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_sandbox_run: memory_bytes is %llu and program_bytes is %llu; at "
                         "most %llu of each are allowed, and program_bytes is not 0",
                         (unsigned long long)o->memory_bytes, (unsigned long long)o->program_bytes,
                         (unsigned long long)TERN_SANDBOX_MEMORY_MAX);
    if ((o->allow & ~TERN_SANDBOX_ALLOW_ALL) != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_sandbox_run: allow is %#x; pass TERN_SANDBOX_ALLOW_ constants, "
                         "which are %#x together",
                         o->allow, TERN_SANDBOX_ALLOW_ALL);
    return check_operations(o);
}

static tern_status open_directory(tern_sandbox *s) {
    const char *path = s->options->directory;
    uint32_t kill = SECCOMP_RET_KILL_PROCESS;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &kill) != 0)
        return tern_fail(TERN_ERR_UNSUPPORTED, "tern_sandbox_run: no seccomp filters here: %s",
                         strerror(errno));
    if (path == NULL)
        return TERN_OK;
    s->directory_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->directory_fd < 0)
        return errno == ENOTDIR
                   ? tern_fail(TERN_ERR_ARGUMENT, "tern_sandbox_run: %s is no directory", path)
                   : tern_fail(TERN_ERR_SYSTEM, "tern_sandbox_run: opening directory %s: %s", path,
                               strerror(errno));
    if (!tern_sandbox_can_open(s->directory_fd))
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "tern_sandbox_run: no openat2 here (Linux 5.6 has it), or a container "
                         "refuses it: run without a directory");
    return TERN_OK;
}

static tern_status sandbox_run(tern_sandbox *s) {
    tern_sandbox_end why = TERN_SANDBOX_STOPPED;
    s->handles = malloc((s->options->handles + 1) * sizeof *s->handles);
    if (s->handles == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u handles", s->options->handles);
    for (uint32_t i = 0; i < s->options->handles; i++)
        s->handles[i].fd = -1;
    tern_status status = open_directory(s);
    if (status == TERN_OK)
        status = tern_sandbox_channel_open(s);
    if (status == TERN_OK)
        status = tern_sandbox_start(s);
    if (status != TERN_OK)
        return status;
    int kill = tern_sandbox_serve(s, &why);
    return tern_sandbox_reap(s, why, kill);
}

static void close_all(tern_sandbox *s) {
    int fds[] = {s->channel_fd, s->directory_fd, s->helper_fd, s->pidfd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (uint32_t i = 0; s->handles != NULL && i < s->options->handles; i++)
        if (s->handles[i].fd >= 0)
            close(s->handles[i].fd);
    if (s->channel != NULL)
        munmap(s->channel, s->shape.bytes);
    free(s->handles);
    free(s);
}

tern_status tern_sandbox_run(const tern_sandbox_options *options, tern_sandbox_result *result) {
    tern_status status = sandbox_check(options, result);
    if (status != TERN_OK)
        return status;
    tern_sandbox *s = calloc(1, sizeof *s);
    if (s == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a sandbox");
    /* Cancelling the thread in the middle of a run would leave a process and descriptors behind. */
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    s->options = options;
    s->channel_fd = s->directory_fd = s->helper_fd = s->pidfd = -1;
    status = sandbox_run(s);
    if (status == TERN_OK)
        *result = s->result;
    close_all(s);
    pthread_setcancelstate(cancel, &cancel);
    return status;
}

void *tern_sandbox_memory(const tern_sandbox *s, uint64_t offset, uint64_t bytes) {
    if (offset > s->result.memory_bytes || bytes > s->result.memory_bytes - offset)
        return NULL;
    return s->channel + s->shape.memory + offset;
}

int tern_sandbox_process(const tern_sandbox *s) { return (int)s->process; }
