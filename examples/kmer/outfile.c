#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int kmer_outfile_create(kmer_outfile *file, const char *name, kmer_error *error) {
    *file = (kmer_outfile){.name = name, .fd = -1};
    if (name == NULL)
        return 0;
    /* A rename would replace a device by a file. */
    struct stat info;
    if (stat(name, &info) == 0 && !S_ISREG(info.st_mode))
        return kmer_fail(error, "cannot write %s: it is not a regular file", name);

    int length = snprintf(file->part, sizeof file->part, "%s.%ld.part", name, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof file->part) {
        errno = ENAMETOOLONG;
        return kmer_fail_system(error, "write", name);
    }
    file->fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return kmer_fail_system(error, "write", file->part);
    file->created = true;
    return 0;
}

int kmer_outfile_probe(const char *name, kmer_error *error) {
    kmer_outfile file;
    int result = kmer_outfile_create(&file, name, error);
    kmer_outfile_discard(&file);
    return result;
}

int kmer_outfile_join(kmer_outfile *file, const char *name, const char *part, kmer_error *error) {
    *file = (kmer_outfile){.name = name, .fd = -1};
    if (name == NULL)
        return 0;
    file->fd = open(part, O_WRONLY | O_CLOEXEC);
    return file->fd < 0 ? kmer_fail_system(error, "write", part) : 0;
}

int kmer_outfile_write(kmer_outfile *file, const void *data, size_t size, uint64_t offset,
                       kmer_error *error) {
    const char *bytes = data;
    while (size > 0) {
        ssize_t written = pwrite(file->fd, bytes, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return kmer_fail_system(error, "write", file->name);
        bytes += written;
        size -= (size_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

int kmer_outfile_close(kmer_outfile *file, kmer_error *error) {
    if (file->name == NULL || file->fd < 0)
        return 0;
    int result = close(file->fd);
    file->fd = -1;
    return result == 0 ? 0 : kmer_fail_system(error, "write", file->name);
}

int kmer_outfile_commit(kmer_outfile *file, kmer_error *error) {
    if (!file->created)
        return 0;
    if (rename(file->part, file->name) != 0)
        return kmer_fail_system(error, "write", file->name);
    file->created = false;
    return 0;
}

void kmer_outfile_discard(kmer_outfile *file) {
    if (file->name == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->created)
        unlink(file->part);
    file->fd = -1;
    file->created = false;
}
