/*
 * Each process claims a PID namespace of its own, which is all that tern goes by: no rank has a
 * pidfd of another one. For one file of a program.
 */

#ifndef TERN_TESTS_HARNESS_DISTANT_H
#define TERN_TESTS_HARNESS_DISTANT_H

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "src/context.h"

int stat(const char *path, struct stat *info) {
    const int code = fstatat(AT_FDCWD, path, info, 0);
    if (code == 0 && strcmp(path, "/proc/self/ns/pid") == 0)
        info->st_ino = 1 + (ino_t)tern_test_rank();
    return code;
}

/* A rank that was late at the creation may have been found by its number. */
static inline void forget_pidfds(fixture *f) {
    tern_peers *peers = &f->context->peers;
    for (uint32_t i = 0; i < peers->sibling_count; i++)
        if (peers->siblings[i].fd >= 0) {
            close(peers->siblings[i].fd);
            peers->siblings[i].fd = -1;
        }
}

#endif
