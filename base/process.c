#include "base/process.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t tern_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether a file that ends there is larger than this process may make one. */
static bool is_too_large(uint64_t end) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && end > limit.rlim_cur;
}

int tern_file_resize(int fd, size_t bytes) {
    if (!is_too_large(bytes))
        return ftruncate(fd, (off_t)bytes);
    errno = EFBIG;
    return -1;
}

ssize_t tern_file_put(int fd, const void *from, size_t bytes, uint64_t offset) {
    if (!is_too_large(offset + bytes))
        return pwrite(fd, from, bytes, (off_t)offset);
    errno = EFBIG;
    return -1;
}

static void limits_advise(__rlimit_resource_t resource, const char *name, const char *command,
                          char *text, size_t room) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text, room, "; %s is %llu: raise it (%s)", name,
                 (unsigned long long)limit.rlim_cur, command);
}

void tern_limit_advice(int error, char *text, size_t room) {
    text[0] = '\0';
    if (error == EMFILE)
        limits_advise(RLIMIT_NOFILE, "RLIMIT_NOFILE", "ulimit -n", text, room);
    else if (error == EFBIG)
        limits_advise(RLIMIT_FSIZE, "RLIMIT_FSIZE", "ulimit -f", text, room);
}
