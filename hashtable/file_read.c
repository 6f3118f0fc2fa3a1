#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hashtable/file_format.h"
#include "hashtable/file_target.h"
#include "src/error.h"

/* Reads as much of the header as there is. */
static ssize_t read_head(int fd, tern_file_header *h) {
    size_t got = 0;
    while (got < sizeof *h) {
        ssize_t more = pread(fd, (char *)h + got, sizeof *h - got, (off_t)got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

static tern_status read_and_check(const char *path, int fd, tern_file_header *h) {
    struct stat info;
    ssize_t got = -1;
    if (fd >= 0 && fstat(fd, &info) == 0)
        got = read_head(fd, h);
    if (got < 0)
        return tern_fail(errno == ENOENT ? TERN_ERR_NOT_FOUND : TERN_ERR_SYSTEM,
                         "cannot read '%s': %s", path, strerror(errno));
    return tern_file_header_check(path, h, (size_t)got, (uint64_t)info.st_size);
}

tern_status tern_hashtable_file_read(const char *path, tern_hashtable_file *file) {
    if (path == NULL || path[0] == '\0' || file == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_hashtable_file_read: %s",
                         file == NULL ? "file is NULL" : "path is NULL or empty; name a file");
    char *target = NULL;
    tern_status status = tern_file_target(path, "cannot read", &target);
    free(target);
    if (status != TERN_OK)
        return status;
    tern_file_header h = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    status = read_and_check(path, fd, &h);
    if (fd >= 0)
        close(fd);
    if (status == TERN_OK)
        *file = tern_file_header_tell(&h);
    return status;
}
