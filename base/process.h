#ifndef TERN_BASE_PROCESS_H
#define TERN_BASE_PROCESS_H

/* What concerns this process alone: its clock, its limits, and its reads of shared memory. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* Nanoseconds of a clock that only grows. */
uint64_t tern_now(void);

/* The limits of this process (getrlimit). */

/* ftruncate, but a size beyond RLIMIT_FSIZE is EFBIG, where the kernel would send SIGXFSZ, which
 * ends a process. Returns 0, or -1 and errno. */
int tern_file_resize(int fd, size_t bytes);

/* pwrite, with EFBIG in the same case. A write that would go across the limit writes nothing. */
ssize_t tern_file_put(int fd, const void *from, size_t bytes, uint64_t offset);

/* [out] text: what to do about a system call that failed with error, if that is a limit of this
 * process; else "". */
void tern_limit_advice(int error, char *text, size_t room);

/*
 * Reading what other processes may change at any time: the arguments of a call and the payload of a
 * record lie in a ring, which each rank of the node can write. A number that is checked there and
 * read again could be another one by then, so it is copied first, and the copy is checked and used.
 */

/* Copies bytes. The compiler may not read the source again afterwards in place of the copy. */
static inline void tern_read_once(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    __asm__ volatile("" : : "r"(to) : "memory");
}

#endif
