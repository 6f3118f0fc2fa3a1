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

static _Atomic uint64_t calls, first_failing, last_failing, distance = 1, failures;
static _Atomic unsigned failing_kinds = HUNGRY_ALL;

static void begin(unsigned kinds, uint64_t first, uint64_t last, uint64_t every) {
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&failing_kinds, kinds);
    atomic_store(&distance, every);
    atomic_store(&first_failing, first);
    atomic_store(&last_failing, last);
}

void hungry_begin(uint64_t first, uint64_t last) { begin(HUNGRY_ALL, first, last, 1); }

void hungry_every(unsigned kinds, uint64_t first, uint64_t every) {
    begin(kinds, first, UINT64_MAX, every);
}

uint64_t hungry_end(void) {
    atomic_store(&last_failing, 0);
    return atomic_load(&failures);
}

uint64_t hungry_pause(void) { return atomic_exchange(&first_failing, UINT64_MAX); }

void hungry_go_on(uint64_t paused) { atomic_store(&first_failing, paused); }

/* Whether this call fails, with errno set. */
static bool fails(unsigned kind, int error) {
    if (atomic_load(&first_failing) == UINT64_MAX || (atomic_load(&failing_kinds) & kind) == 0)
        return false;
    uint64_t number = atomic_fetch_add(&calls, 1) + 1, first = atomic_load(&first_failing);
    if (number < first || number > atomic_load(&last_failing) ||
        (number - first) % atomic_load(&distance) != 0)
        return false;
    atomic_fetch_add(&failures, 1);
    errno = error;
    return true;
}

void *hungry_malloc(size_t bytes) { return fails(HUNGRY_MEMORY, ENOMEM) ? NULL : malloc(bytes); }

void *hungry_calloc(size_t count, size_t bytes) {
    return fails(HUNGRY_MEMORY, ENOMEM) ? NULL : calloc(count, bytes);
}

void *hungry_realloc(void *old, size_t bytes) {
    return fails(HUNGRY_MEMORY, ENOMEM) ? NULL : realloc(old, bytes);
}

void *hungry_aligned_alloc(size_t alignment, size_t bytes) {
    return fails(HUNGRY_MEMORY, ENOMEM) ? NULL : aligned_alloc(alignment, bytes);
}

char *hungry_strdup(const char *text) { return fails(HUNGRY_MEMORY, ENOMEM) ? NULL : strdup(text); }

/* The sanitizer's, if there is one. NOLINTNEXTLINE(bugprone-reserved-identifier) */
__attribute__((weak)) void __lsan_register_root_region(const void *memory, size_t bytes);

/* Tables of pointers lie in mappings, and the sanitizer is to find there what is not lost. */
void *hungry_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (fails(HUNGRY_MAPPINGS, ENOMEM))
        return MAP_FAILED;
    void *memory = mmap(at, bytes, protection, flags, fd, offset);
    const bool table = (flags & MAP_PRIVATE) != 0 && protection != PROT_NONE;
    if (memory != MAP_FAILED && table && __lsan_register_root_region != NULL)
        __lsan_register_root_region(memory, bytes);
    return memory;
}

int hungry_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return fails(HUNGRY_FILES, EMFILE) ? -1 : open(path, flags, mode);
}

int hungry_socket(int domain, int type, int protocol) {
    return fails(HUNGRY_SOCKETS, EMFILE) ? -1 : socket(domain, type, protocol);
}

ssize_t hungry_sendmsg(int fd, const struct msghdr *message, int flags) {
    return fails(HUNGRY_SENDS, ENOMEM) ? -1 : sendmsg(fd, message, flags);
}

int hungry_memfd_create(const char *name, unsigned flags) {
    return fails(HUNGRY_FILES, EMFILE) ? -1 : memfd_create(name, flags);
}
