#ifndef TERN_TESTS_SANDBOX_TOOLS_H
#define TERN_TESTS_SANDBOX_TOOLS_H

/*
 * For suites that run tests/mailbox/sandbox_program.c in a sandbox: its argument, a count of
 * descriptors, and a main function that skips all tests if the system does not support sandboxes,
 * for example in a container.
 */

#include <fcntl.h>

#include "fixture.h"
#include "tern/sandbox.h"

enum { SANDBOX_ARGUMENT = 8192 };

/* Writes the argument of sandbox_program.c and returns its length in bytes. */
static inline uint32_t sandbox_argument(unsigned char *to, char kind, uint64_t number,
                                        const char *path) {
    memset(to, 0, SANDBOX_ARGUMENT);
    to[0] = (unsigned char)kind;
    memcpy(to + 8, &number, sizeof number);
    memcpy(to + 16, path, strlen(path) + 1);
    return (uint32_t)(17 + strlen(path));
}

/* Counts the open descriptors of this process, without opening one. */
static inline int sandbox_descriptors(int *highest) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) {
            count++;
            if (highest != NULL)
                *highest = fd;
        }
    return count;
}

static char sandbox_missing[600];

static inline void sandbox_skip(void) { tern_test_lack(sandbox_missing); }

static inline int sandbox_test_main(int argc, char **argv, const char *suite, tern_test_case *tests,
                                    size_t count) {
    static unsigned char argument[SANDBOX_ARGUMENT];
    tern_sandbox_options options = tern_sandbox_defaults(TERN_TEST_PROGRAM);
    tern_sandbox_result result;
    options.argument = argument;
    options.argument_bytes = sandbox_argument(argument, 'e', 0, "");
    options.directory = "/";
    if (tern_sandbox_run(&options, &result) == TERN_ERR_UNSUPPORTED) {
        snprintf(sandbox_missing, sizeof sandbox_missing, "%s", tern_error_detail());
        for (size_t i = 0; i < count; i++)
            tests[i].run = sandbox_skip;
    }
    return tern_test_main(argc, argv, suite, tests, count);
}

#endif
