/*
 * Child processes of the suites on mailboxes. They are forked, use only the mailbox (neither MPI
 * nor CUnit), and report by the way they end.
 */

#ifndef TERN_TESTS_MAILBOX_CHILDREN_H
#define TERN_TESTS_MAILBOX_CHILDREN_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

/* Runs body in a child process, whose exit status is the result of body; 0 means success. */
static inline pid_t start_child(int (*body)(void *), void *argument) {
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    _exit(body(argument));
}

/* Returns how a child ended: its exit status, or minus the signal that killed it. */
static inline int end_of_child(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        return -1000;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int kill_child(pid_t child) {
    kill(child, SIGKILL);
    return end_of_child(child);
}

#endif
