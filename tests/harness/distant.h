/*
 * Lets each process claim a PID namespace of its own. tern looks at nothing else, so no rank gets a
 * pidfd of another one. Only one file of a program may include this.
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

/* Drops the pidfds that exist all the same: of a rank that was late at the creation, and was found
 * by its number. */
static inline void forget_pidfds(fixture *f) {
    tern_peers *peers = &f->context->peers;
    for (uint32_t i = 0; i < peers->sibling_count; i++)
        if (peers->siblings[i].fd >= 0) {
            close(peers->siblings[i].fd);
            peers->siblings[i].fd = -1;
        }
}

#endif
