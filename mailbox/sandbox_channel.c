#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "mailbox/sandbox.h"
#include "mailbox/sandbox_image.h"

static uint64_t sandbox_channel_pages(uint64_t bytes) {
    return (bytes + TERN_SANDBOX_PAGE - 1) / TERN_SANDBOX_PAGE * TERN_SANDBOX_PAGE;
}

static void sandbox_channel_lay_out(tern_sandbox *s, uint64_t image_bytes) {
    tern_sandbox_channel *c = &s->shape;
    c->image_bytes = image_bytes;
    c->argument_bytes = s->options->argument_bytes;
    c->memory_bytes = s->options->memory_bytes;
    c->room = sandbox_channel_pages(s->options->program_bytes);
    c->server = getpid();
    c->mailbox = sandbox_channel_pages(sizeof *c);
    c->image = c->mailbox +
               sandbox_channel_pages(tern_mailbox_bytes(TERN_SANDBOX_SLOTS, TERN_SANDBOX_PACKET));
    c->argument = c->image + sandbox_channel_pages(image_bytes);
    c->memory = c->argument + sandbox_channel_pages(c->argument_bytes);
    c->bytes = c->memory + sandbox_channel_pages(c->memory_bytes);
}

int tern_sandbox_extend(int fd, uint64_t at, uint64_t bytes) {
    int error;
    do
        error = fallocate(fd, 0, (off_t)at, (off_t)bytes) != 0 ? errno : 0;
    while (error == EINTR);
    return error;
}

static tern_status sandbox_channel_make(tern_sandbox *s) {
    if (s->shape.memory > tern_sandbox_file_limit())
        return tern_fail(TERN_ERR_MEMORY,
                         "tern_sandbox_run: a channel of %llu bytes is beyond this process's limit "
                         "on files (ulimit -f)",
                         (unsigned long long)s->shape.memory);
    s->channel_fd = memfd_create("tern-sandbox-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (s->channel_fd < 0)
        return tern_sandbox_fail("memfd_create");
    if (tern_sandbox_extend(s->channel_fd, 0, s->shape.memory) != 0 ||
        fcntl(s->channel_fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return tern_fail_system("memory for a sandbox's channel");
    void *memory = mmap(NULL, s->shape.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        s->channel_fd, 0);
    if (memory == MAP_FAILED)
        return tern_fail_system("mapping a sandbox's channel");
    s->channel = memory;
    return TERN_OK;
}

/* Reads the file. If the file has become shorter meanwhile, the rest stays zero. */
static tern_status sandbox_channel_take(int fd, unsigned char *to, uint64_t bytes,
                                        const char *path) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + done, bytes - done, (off_t)done);
        if (got < 0 && errno != EINTR)
            return tern_fail(TERN_ERR_SYSTEM, "tern_sandbox_run: reading %s: %s", path,
                             strerror(errno));
        if (got == 0)
            return TERN_OK;
        done += got > 0 ? (uint64_t)got : 0;
    }
    return TERN_OK;
}

static tern_status sandbox_channel_fill(tern_sandbox *s, int fd, uint64_t bytes) {
    const char *path = s->options->program;
    uint64_t entry = 0, parts = 0;
    tern_image_list list;
    sandbox_channel_lay_out(s, bytes);
    tern_status status = sandbox_channel_make(s);
    if (status == TERN_OK)
        status = sandbox_channel_take(fd, s->channel + s->shape.image, bytes, path);
    if (status != TERN_OK)
        return status;
    /* No other process has this memory yet, so the bytes cannot change during the check. */
    const char *wrong =
        tern_image_check(s->channel + s->shape.image, bytes, s->shape.room, &entry, &parts, &list);
    if (wrong != NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_sandbox_run: %s is no program for a sandbox: %s",
                         path, wrong);
    if (s->shape.argument_bytes > 0)
        memcpy(s->channel + s->shape.argument, s->options->argument, s->shape.argument_bytes);
    memcpy(s->channel, &s->shape, sizeof s->shape);
    return TERN_OK;
}

tern_status tern_sandbox_channel_open(tern_sandbox *s) {
    const char *path = s->options->program;
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info) != 0) {
        tern_status status =
            tern_fail(TERN_ERR_SYSTEM, "tern_sandbox_run: opening %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    tern_status status;
    if (!S_ISREG(info.st_mode))
        status = tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_sandbox_run: %s is no program for a sandbox: it is no regular file", path);
    else if ((uint64_t)info.st_size > s->options->program_bytes)
        status = tern_fail(TERN_ERR_ARGUMENT,
                           "tern_sandbox_run: %s is no program for a sandbox: its %llu bytes are "
                           "more than program_bytes (%llu): strip it, or allow more",
                           path, (unsigned long long)info.st_size,
                           (unsigned long long)s->options->program_bytes);
    else
        status = sandbox_channel_fill(s, fd, (uint64_t)info.st_size);
    close(fd);
    return status;
}
