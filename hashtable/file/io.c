#include "hashtable/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "src/collective/collective.h"

tern_status tern_file_arguments(tern_worker *worker, tern_status others, const char *path,
                                const char *function) {
    tern_status status = tern_worker_may_wait(worker, function);
    if (status != TERN_OK)
        return status;
    if (path == NULL || path[0] == '\0')
        others = tern_fail(TERN_ERR_ARGUMENT, "%s: path is %s; name a file", function,
                           path == NULL ? "NULL" : "empty");
    status = tern_collective_agree(worker->context, worker, others, function);
    if (status != TERN_OK)
        return status;
    return tern_collective_same_text(worker->context, worker, path, "the path of a file",
                                     "give every rank the same");
}

tern_status tern_file_fail(const char *what, const char *path) {
    char text[PATH_MAX + 64];
    const int error = errno;
    if (error == ENOENT)
        return tern_fail(TERN_ERR_NOT_FOUND, "%s '%s': %s", what, path, strerror(error));
    snprintf(text, sizeof text, "%s '%s'", what, path);
    errno = error;
    return tern_fail_system(text);
}

tern_status tern_file_open(tern_worker *worker, const char *path, int flags, const char *what,
                           int *file) {
    const int opened = open(path, flags | O_CLOEXEC);
    tern_status status = opened < 0 ? tern_file_fail(what, path) : TERN_OK;
    status = tern_collective_agree(worker->context, worker, status, what);
    if (status == TERN_OK)
        *file = opened;
    else if (opened >= 0)
        close(opened);
    return status;
}

tern_status tern_file_read(int file, uint64_t offset, void *to, size_t bytes, const char *what,
                           const char *path, size_t *got) {
    for (*got = 0; *got < bytes;) {
        const ssize_t some = pread(file, (char *)to + *got, bytes - *got, (off_t)(offset + *got));
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return tern_file_fail(what, path);
        if (some == 0)
            break;
        *got += (size_t)some;
    }
    return TERN_OK;
}

tern_status tern_file_read_header(int file, const char *path, const char *what,
                                  tern_file_header *header) {
    struct stat info;
    size_t got = 0;
    if (fstat(file, &info) != 0)
        return tern_file_fail(what, path);
    const tern_status status = tern_file_read(file, 0, header, sizeof *header, what, path, &got);
    return status == TERN_OK ? tern_file_header_check(path, header, got, (uint64_t)info.st_size)
                             : status;
}

tern_status tern_file_write(int file, uint64_t offset, const void *from, size_t bytes,
                            const char *path) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t some =
            tern_file_put(file, (const char *)from + done, bytes - done, offset + done);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return tern_file_fail("cannot save to", path);
        done += (size_t)some;
    }
    return TERN_OK;
}
