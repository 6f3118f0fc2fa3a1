#ifndef TERN_BASE_ONCE_H
#define TERN_BASE_ONCE_H

/*
 * Reading what other processes may change at any time: the arguments of a call and the payload of a
 * record lie in a ring, which each rank of the node can write. A number that is checked there and
 * read again could be another one by then, so it is copied first, and the copy is checked and used.
 */

#include <stddef.h>
#include <string.h>

/* Copies bytes. The compiler may not read the source again afterwards in place of the copy. */
static inline void tern_read_once(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    __asm__ volatile("" : : "r"(to) : "memory");
}

#endif
