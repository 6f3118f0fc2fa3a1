#include "hashtable/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char *kind_name(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
        return "a character device";
    case S_IFBLK:
        return "a block device";
    default:
        return "no regular file";
    }
}

static tern_status target_of_link(const char *path, const char *what, char **target) {
    struct stat info;
    char *end = realpath(path, NULL);
    if (end == NULL || stat(end, &info) != 0) {
        free(end);
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s '%s': it is a symbolic link that leads nowhere (%s); remove the link",
                         what, path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        tern_status status = tern_fail(
            TERN_ERR_ARGUMENT, "%s '%s': the link leads to '%s', which is %s; name a regular file",
            what, path, end, kind_name(info.st_mode));
        free(end);
        return status;
    }
    *target = end;
    return TERN_OK;
}

tern_status tern_file_target(const char *path, const char *what, char **target) {
    struct stat info;
    bool there = lstat(path, &info) == 0;
    if (there && S_ISLNK(info.st_mode))
        return target_of_link(path, what, target);
    if (there && !S_ISREG(info.st_mode))
        return tern_fail(TERN_ERR_ARGUMENT, "%s '%s': it is %s; name a regular file", what, path,
                         kind_name(info.st_mode));
    char *copy = strdup(path);
    if (copy == NULL)
        return tern_fail(TERN_ERR_MEMORY, "%s '%s': no memory for the path", what, path);
    *target = copy;
    return TERN_OK;
}

/* Copies owner and mode of the old file. The owner first: a change of it may clear mode bits. */
static tern_status file_resemble(int fd, const struct stat *old, const char *target) {
    struct stat new;
    if (fstat(fd, &new) == 0 && (new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        return tern_fail(
            TERN_ERR_SYSTEM,
            "cannot save to '%s': its owner %u:%u cannot be kept (%s); save to another "
            "path, or remove the file first",
            target, (unsigned)old->st_uid, (unsigned)old->st_gid, strerror(errno));
    if (fchmod(fd, old->st_mode & 0777) != 0)
        return tern_fail(TERN_ERR_SYSTEM, "cannot save to '%s': fchmod: %s", target,
                         strerror(errno));
    return TERN_OK;
}

tern_status tern_file_create(const char *part, const char *target) {
    struct stat old;
    bool there = lstat(target, &old) == 0;
    if (there && faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0)
        return tern_fail(TERN_ERR_SYSTEM, "cannot save to '%s': it is write-protected (%s)", target,
                         strerror(errno));
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, there ? 0600 : 0666);
    if (fd < 0)
        return tern_fail(
            errno == ENOENT ? TERN_ERR_NOT_FOUND : TERN_ERR_SYSTEM,
            "cannot save to '%s': open '%s': %s; the folder must be there and writable", target,
            part, strerror(errno));
    tern_status status = there ? file_resemble(fd, &old, target) : TERN_OK;
    close(fd);
    if (status != TERN_OK)
        (void)unlink(part);
    return status;
}
