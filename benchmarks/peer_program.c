/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Peers that are programs of their own (--peer NAME=PROGRAM): libraries that tern-bench is not
 * linked with. The origin runs `PROGRAM SUBJECT CASE BYTES` when it has measured a case, and reads
 * from its standard output the time of one operation in ns. A program prints nothing for a case
 * that it does not have. Meanwhile the other ranks sleep, so the program has their cores.
 */

#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { RUNS = 3, PATIENCE_S = 120, ANSWER_MAX = 256 };

/* Variables of the launcher would make an MPI program believe that it is a rank of this job, so a
 * program gets only those below. */
static bool is_passed_on(const char *variable) {
    static const char *const passed[] = {
        "PATH=", "HOME=", "LD_LIBRARY_PATH=", "FI_", "UCX_", "TERN_PEER_"};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (strncmp(variable, passed[i], strlen(passed[i])) == 0)
            return true;
    return false;
}

/* The child's part. The shell splits `program`, which may contain arguments. */
static _Noreturn void become(const char *program, char *subject, char *name, char *bytes, int out) {
    char line[4096];
    char *arguments[] = {"sh", "-c", line, "sh", subject, name, bytes, NULL};
    char **to = environ;
    cpu_set_t all;
    for (char **from = environ; *from != NULL; from++)
        if (is_passed_on(*from))
            *to++ = *from;
    *to = NULL;
    CPU_ZERO(&all);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &all);
    (void)sched_setaffinity(0, sizeof all, &all); /* the rank may be pinned */
    (void)setpgid(0, 0);
    snprintf(line, sizeof line, "%s \"$@\"", program);
    if (dup2(out, STDOUT_FILENO) >= 0)
        execv("/bin/sh", arguments);
    _exit(127);
}

/* Reads the answer until the program closes its output. False: its time was up. */
static bool read_answer(int in, char *answer) {
    size_t got = 0;
    struct pollfd wait = {.fd = in, .events = POLLIN};
    for (const double end = bench_now() + PATIENCE_S * 1e9;;) {
        const double left = (end - bench_now()) / 1e6;
        const int ready = left > 0 ? poll(&wait, 1, (int)left + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        char more[ANSWER_MAX];
        const ssize_t count = read(in, more, sizeof more);
        if (count <= 0)
            return true;
        const size_t room = ANSWER_MAX - 1 - got;
        const size_t kept = (size_t)count < room ? (size_t)count : room;
        memcpy(answer + got, more, kept);
        answer[got += kept] = '\0';
    }
}

/* Runs the program once. [out] ns: 0: it does not have the case. False: it failed; a note says
 * how. */
static bool run_once(bench *b, const bench_peer_program *p, const bench_case *c, double *ns) {
    char answer[ANSWER_MAX] = "", bytes[24] = "0", subject[32], name[64];
    int ends[2], status = 0;
    for (size_t i = 0; i < BENCH_PARAMS && c->params[i].name != NULL; i++)
        if (strcmp(c->params[i].name, "bytes") == 0)
            snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)c->params[i].value);
    snprintf(subject, sizeof subject, "%s", b->subject);
    snprintf(name, sizeof name, "%s", c->name);
    *ns = 0;
    if (pipe(ends) != 0)
        bench_fail("pipe", TERN_ERR_SYSTEM);
    const pid_t child = fork();
    if (child < 0)
        bench_fail("fork", TERN_ERR_SYSTEM);
    if (child == 0) {
        close(ends[0]);
        become(p->program, subject, name, bytes, ends[1]);
    }
    (void)setpgid(child, child); /* the child does it, too: whichever comes first */
    close(ends[1]);
    const bool answered = read_answer(ends[0], answer);
    close(ends[0]);
    if (!answered)
        kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    char *rest = answer;
    *ns = strtod(answer, &rest);
    const bool number = rest != answer && rest[strspn(rest, " \n")] == '\0' && *ns > 0;
    if (answered && status == 0 && (number || answer[0] == '\0'))
        return true;
    if (!answered)
        bench_note(b, "%s: '%s %s %s %s' has not ended after %d s and is killed", p->name,
                   p->program, subject, name, bytes, PATIENCE_S);
    else if (status != 0)
        bench_note(b, "%s: '%s %s %s %s' has failed, status %d", p->name, p->program, subject, name,
                   bytes, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    else
        bench_note(b, "%s: '%s %s %s %s' has to print the ns of one operation, not '%.*s'", p->name,
                   p->program, subject, name, bytes, (int)strcspn(answer, "\n"), answer);
    return false;
}

void bench_ask_programs(bench *b, bench_case *c, bench_times *times) {
    const bench_options *o = &b->options;
    for (size_t i = 0; i < o->program_count && c->peer_count < BENCH_PEERS; i++) {
        double *to = times->peer[c->peer_count];
        for (size_t pair = 0; pair < times->pairs; pair++)
            to[pair] = -1;
        size_t pair = 0;
        while (pair < RUNS && pair < times->pairs && run_once(b, &o->programs[i], c, &to[pair]) &&
               to[pair] > 0)
            pair++;
        if (pair < RUNS && pair < times->pairs)
            to[pair] = -1; /* that run had no figure */
        if (pair > 0)
            c->peers[c->peer_count++] = (bench_peer){.side = {.name = o->programs[i].name}};
    }
}
