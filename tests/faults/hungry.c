#include "hungry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

static _Atomic uint64_t calls, first_failing, last_failing, failures;

void hungry_begin(uint64_t first, uint64_t last) {
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&first_failing, first);
    atomic_store(&last_failing, last);
}

uint64_t hungry_end(void) {
    atomic_store(&last_failing, 0);
    return atomic_load(&failures);
}

uint64_t hungry_pause(void) { return atomic_exchange(&first_failing, UINT64_MAX); }

void hungry_go_on(uint64_t paused) { atomic_store(&first_failing, paused); }

/* Whether this call fails, with errno set. */
static bool fails(int error) {
    if (atomic_load(&first_failing) == UINT64_MAX)
        return false;
    uint64_t number = atomic_fetch_add(&calls, 1) + 1;
    if (number < atomic_load(&first_failing) || number > atomic_load(&last_failing))
        return false;
    atomic_fetch_add(&failures, 1);
    errno = error;
    return true;
}

void *hungry_malloc(size_t bytes) { return fails(ENOMEM) ? NULL : malloc(bytes); }

void *hungry_calloc(size_t count, size_t bytes) {
    return fails(ENOMEM) ? NULL : calloc(count, bytes);
}

void *hungry_realloc(void *old, size_t bytes) { return fails(ENOMEM) ? NULL : realloc(old, bytes); }

void *hungry_aligned_alloc(size_t alignment, size_t bytes) {
    return fails(ENOMEM) ? NULL : aligned_alloc(alignment, bytes);
}

char *hungry_strdup(const char *text) { return fails(ENOMEM) ? NULL : strdup(text); }

void *hungry_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return fails(ENOMEM) ? MAP_FAILED : mmap(at, bytes, protection, flags, fd, offset);
}

int hungry_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return fails(EMFILE) ? -1 : open(path, flags, mode);
}

int hungry_socket(int domain, int type, int protocol) {
    return fails(EMFILE) ? -1 : socket(domain, type, protocol);
}

ssize_t hungry_sendmsg(int fd, const struct msghdr *message, int flags) {
    return fails(ENOMEM) ? -1 : sendmsg(fd, message, flags);
}

int hungry_memfd_create(const char *name, unsigned flags) {
    return fails(EMFILE) ? -1 : memfd_create(name, flags);
}
