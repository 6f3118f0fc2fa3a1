#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mailbox/sandbox.h"

/*
 * Files of a sandbox. The kernel resolves a path beneath the directory in one call
 * (RESOLVE_BENEATH), so changing a directory meanwhile gives the program no way out. Symbolic links
 * are followed if they stay beneath the directory; those of /proc are never followed. Only regular
 * files are opened. A file is first opened without any effect (O_PATH), because opening a device or
 * a pipe may have an effect, and then opened for reading or writing through that descriptor.
 */

static int sandbox_files_beneath(int directory, const char *path, uint64_t flags, uint64_t mode) {
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .mode = mode,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int tern_sandbox_can_open(int directory) {
    int fd = sandbox_files_beneath(directory, ".", O_PATH, 0);
    if (fd < 0)
        return errno != ENOSYS && errno != EPERM; /* old kernel, or a container that refuses it */
    close(fd);
    return 1;
}

static int access_of(uint64_t flags) {
    int both = TERN_SANDBOX_FOR_READING | TERN_SANDBOX_FOR_WRITING;
    int access = (int)(flags & (uint64_t)both);
    return access == both ? O_RDWR : access == TERN_SANDBOX_FOR_WRITING ? O_WRONLY : O_RDONLY;
}

/* Files of the kernel's own file systems are refused, because /proc/self would be the server. */
static int is_kernels(int fd) {
    struct statfs info;
    return fstatfs(fd, &info) != 0 || info.f_type == PROC_SUPER_MAGIC ||
           info.f_type == SYSFS_MAGIC || info.f_type == CGROUP_SUPER_MAGIC ||
           info.f_type == CGROUP2_SUPER_MAGIC || info.f_type == DEBUGFS_MAGIC ||
           info.f_type == TRACEFS_MAGIC;
}

/* Opens the regular file behind a descriptor of O_PATH, and closes that descriptor. */
static int open_again(int found, uint64_t flags) {
    char path[40];
    struct stat info;
    int fd = -1, error = EACCES;
    snprintf(path, sizeof path, "/proc/self/fd/%d", found);
    if (fstat(found, &info) == 0 && S_ISREG(info.st_mode) && !is_kernels(found)) {
        fd = open(path, access_of(flags) | O_CLOEXEC | O_NOCTTY |
                            (flags & TERN_SANDBOX_TRUNCATE ? O_TRUNC : 0));
        error = errno;
    }
    close(found);
    errno = error;
    return fd;
}

static int sandbox_files_create(tern_sandbox *s, const char *path, uint64_t flags) {
    if (s->created >= s->options->creations) {
        errno = EDQUOT;
        return -1;
    }
    int fd = sandbox_files_beneath(s->directory_fd, path,
                                   (uint64_t)access_of(flags) | O_CREAT | O_EXCL, 0600);
    s->created += fd >= 0;
    return fd;
}

/* Another process may create the file between the two attempts, or rename a directory on the path.
 * Another try then succeeds, unless the process does so again and again. */
static int sandbox_files_open_file(tern_sandbox *s, const char *path, uint64_t flags) {
    enum { TRIES = 8 };
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        int found = sandbox_files_beneath(s->directory_fd, path, O_PATH, 0);
        if (found >= 0)
            return open_again(found, flags);
        if (errno == ENOENT && (flags & TERN_SANDBOX_CREATE))
            fd = sandbox_files_create(s, path, flags);
        if (fd < 0 && errno != EEXIST && errno != EAGAIN)
            break;
    }
    return fd;
}

uint64_t tern_sandbox_file_limit(void) {
    struct rlimit own;
    return getrlimit(RLIMIT_FSIZE, &own) == 0 ? own.rlim_cur : 0;
}

static int free_handle(const tern_sandbox *s) {
    for (uint32_t i = 0; i < s->options->handles; i++)
        if (s->handles[i].fd < 0)
            return (int)i;
    return -1;
}

int tern_sandbox_open_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    uint64_t flags = request->arguments[0];
    uint64_t changes = TERN_SANDBOX_CREATE | TERN_SANDBOX_TRUNCATE;
    uint64_t all = TERN_SANDBOX_FOR_READING | TERN_SANDBOX_FOR_WRITING | changes;
    (void)argument;
    if ((flags & ~all) != 0 || (flags & ~changes) == 0 ||
        ((flags & changes) != 0 && !(flags & TERN_SANDBOX_FOR_WRITING)))
        return -EINVAL;
    if (request->bytes == 0 || memchr(request->data, 0, request->bytes) != NULL)
        return -EINVAL;
    if (s->directory_fd < 0 || ((flags & TERN_SANDBOX_FOR_WRITING) &&
                                !(s->options->allow & TERN_SANDBOX_ALLOW(TERN_SANDBOX_WRITE))))
        return -EACCES;
    return free_handle(s) < 0 ? -EMFILE : 0;
}

int64_t tern_sandbox_open_run(tern_sandbox *s, const tern_sandbox_request *request,
                              tern_sandbox_reply *reply, void *argument) {
    uint64_t flags = request->arguments[0];
    int handle = free_handle(s);
    (void)reply;
    (void)argument;
    int fd = sandbox_files_open_file(s, (const char *)request->data, flags);
    if (fd < 0)
        return -errno;
    s->handles[handle] = (tern_sandbox_handle){fd, (flags & TERN_SANDBOX_FOR_READING) != 0,
                                               (flags & TERN_SANDBOX_FOR_WRITING) != 0};
    return handle;
}

static tern_sandbox_handle *handle_of(tern_sandbox *s, const tern_sandbox_request *request) {
    uint64_t handle = request->arguments[0];
    if (handle >= s->options->handles || s->handles[handle].fd < 0)
        return NULL;
    return &s->handles[handle];
}

int tern_sandbox_read_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    const tern_sandbox_handle *handle = handle_of(s, request);
    (void)argument;
    if (handle == NULL || !handle->reads)
        return -EBADF;
    if (request->arguments[2] > TERN_SANDBOX_DATA ||
        request->arguments[1] > INT64_MAX - TERN_SANDBOX_DATA)
        return -EINVAL;
    return 0;
}

int64_t tern_sandbox_read_run(tern_sandbox *s, const tern_sandbox_request *request,
                              tern_sandbox_reply *reply, void *argument) {
    (void)argument;
    ssize_t got = pread(handle_of(s, request)->fd, reply->data, request->arguments[2],
                        (off_t)request->arguments[1]);
    if (got < 0)
        return -errno;
    reply->bytes = (uint32_t)got;
    return got;
}

int tern_sandbox_write_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    const tern_sandbox_handle *handle = handle_of(s, request);
    uint64_t most = s->options->write_bytes, own = tern_sandbox_file_limit();
    (void)argument;
    if (handle == NULL || !handle->writes)
        return -EBADF;
    if (request->bytes > most - s->result.written_bytes)
        return -EDQUOT;
    most = most < own ? most : own;
    if (request->bytes > most || request->arguments[1] > most - request->bytes)
        return -EFBIG;
    return 0;
}

int64_t tern_sandbox_write_run(tern_sandbox *s, const tern_sandbox_request *request,
                               tern_sandbox_reply *reply, void *argument) {
    (void)reply;
    (void)argument;
    ssize_t done = pwrite(handle_of(s, request)->fd, request->data, request->bytes,
                          (off_t)request->arguments[1]);
    if (done < 0)
        return -errno;
    s->result.written_bytes += (uint64_t)done;
    return done;
}

int tern_sandbox_close_check(tern_sandbox *s, const tern_sandbox_request *request, void *argument) {
    (void)argument;
    return handle_of(s, request) == NULL ? -EBADF : 0;
}

int64_t tern_sandbox_close_run(tern_sandbox *s, const tern_sandbox_request *request,
                               tern_sandbox_reply *reply, void *argument) {
    tern_sandbox_handle *handle = handle_of(s, request);
    (void)reply;
    (void)argument;
    close(handle->fd);
    handle->fd = -1;
    return 0;
}
