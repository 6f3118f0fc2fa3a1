#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "mailbox/sandbox.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3 has it; the headers of glibc may be older */
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* TERN_SANDBOX_HELPER is the path of the helper as a string literal; the build defines it. The
 * assembler includes the helper's bytes here, so that nothing has to be found at run time. */
__asm__(".pushsection .rodata\n"
        ".global tern_sandbox_helper\n"
        ".hidden tern_sandbox_helper\n"
        ".global tern_sandbox_helper_end\n"
        ".hidden tern_sandbox_helper_end\n"
        "tern_sandbox_helper:\n"
        ".incbin \"" TERN_SANDBOX_HELPER "\"\n"
        "tern_sandbox_helper_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char tern_sandbox_helper[], tern_sandbox_helper_end[];

tern_status tern_sandbox_fail(const char *call) {
    int error = errno;
    if (error != ENOSYS && error != EPERM)
        return tern_fail_system(call);
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "tern_sandbox_run: %s: %s: Linux 5.9 is needed, and a container that lets "
                     "this through",
                     call, strerror(error));
}

/* Writes the helper to a memfd, with a descriptor number that the channel's does not replace. */
static tern_status open_helper(tern_sandbox *s) {
    size_t bytes = (size_t)(tern_sandbox_helper_end - tern_sandbox_helper);
    int fd = memfd_create("tern-sandbox", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("tern-sandbox", MFD_CLOEXEC);
    if (fd < 0)
        return errno == EACCES
                   ? tern_fail(TERN_ERR_UNSUPPORTED,
                               "tern_sandbox_run: this system lets no memfd be executed: set the "
                               "sysctl vm.memfd_noexec to less than 2")
                   : tern_sandbox_fail("memfd_create");
    s->helper_fd = fcntl(fd, F_DUPFD_CLOEXEC, TERN_SANDBOX_FD + 1);
    int error = errno;
    close(fd);
    errno = error;
    if (s->helper_fd < 0 || write(s->helper_fd, tern_sandbox_helper, bytes) != (ssize_t)bytes)
        return tern_fail_system("memory for a sandbox's helper");
    return TERN_OK;
}

/* Opens the helper again for reading only, because exec refuses a file that is open for writing. */
static int read_only(int fd, char *path, size_t room) {
    snprintf(path, room, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY | O_CLOEXEC);
    int high = again < 0 ? -1 : fcntl(again, F_DUPFD_CLOEXEC, TERN_SANDBOX_FD + 1);
    if (again >= 0)
        close(again);
    return high;
}

static int sandbox_process_spawn(tern_sandbox *s, const char *path) {
    char *const arguments[] = {(char[]){"tern-sandbox"}, NULL}, *const environment[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    const struct sched_param usual = {0};
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&files, s->channel_fd, TERN_SANDBOX_FD);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        /* If the server has a real-time priority and is bound to one core, a program with the same
         * priority could keep the server from running at its deadline. So the program gets normal
         * priority. */
        (void)posix_spawnattr_setschedpolicy(&attributes, SCHED_OTHER);
        (void)posix_spawnattr_setschedparam(&attributes, &usual);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                        POSIX_SPAWN_SETSCHEDULER);
        if (error == 0)
            error = posix_spawn(&s->process, path, &files, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Starts the helper, and closes the helper's descriptor, which is not needed after that. */
static tern_status sandbox_process_execute(tern_sandbox *s) {
    char path[40];
    int fd = read_only(s->helper_fd, path, sizeof path);
    close(s->helper_fd);
    s->helper_fd = fd;
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE
                   ? tern_fail_system("opening the memory of a sandbox's helper")
                   : tern_fail(TERN_ERR_UNSUPPORTED, "tern_sandbox_run: %s cannot be used: %s",
                               path, strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int error = sandbox_process_spawn(s, path);
    close(fd);
    s->helper_fd = -1;
    if (error == EACCES || error == ENOENT || error == ENOSYS || error == EPERM)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "tern_sandbox_run: this system lets no memfd be executed: %s",
                         strerror(error));
    if (error != 0)
        return tern_fail(TERN_ERR_SYSTEM, "tern_sandbox_run: starting a process: %s",
                         strerror(error));
    return TERN_OK;
}

static tern_status somebody_waited(const tern_sandbox *s) {
    return tern_fail(
        TERN_ERR_STATE,
        "tern_sandbox_run: other code has waited for process %d, which tern has started; do "
        "not ignore SIGCHLD, and wait for no children but your own",
        (int)s->process);
}

tern_status tern_sandbox_start(tern_sandbox *s) {
    tern_status status = open_helper(s);
    if (status == TERN_OK)
        status = sandbox_process_execute(s);
    if (status != TERN_OK)
        return status;
    s->pidfd = (int)syscall(SYS_pidfd_open, s->process, 0);
    if (s->pidfd >= 0)
        return TERN_OK;
    if (errno == ESRCH)
        return somebody_waited(s);
    status = tern_sandbox_fail("pidfd_open");
    kill(s->process, SIGKILL);
    (void)waitpid(s->process, NULL, 0);
    return status;
}

static tern_status not_entered(int why) {
    static const char *const texts[] = {
        [TERN_SANDBOX_NO_CHANNEL] = "it cannot map its channel",
        [TERN_SANDBOX_NO_MEMORY] = "no memory of program_bytes that may be executed",
        [TERN_SANDBOX_NO_CLOSE] = "no close_range: Linux 5.9 is needed",
        [TERN_SANDBOX_NO_LIMITS] = "limits cannot be set; is the one of the stack less than 1 MiB?",
        [TERN_SANDBOX_NO_PRCTL] = "prctl was refused",
        [TERN_SANDBOX_NO_PARENT] = "its parent is not this process",
        [TERN_SANDBOX_NO_FILTER] = "no seccomp filters"};
    return tern_fail(why == TERN_SANDBOX_NO_MEMORY ? TERN_ERR_MEMORY : TERN_ERR_UNSUPPORTED,
                     "tern_sandbox_run: no sandbox can be entered here: %s", texts[why]);
}

tern_status tern_sandbox_reap(tern_sandbox *s, tern_sandbox_end killed, int kills) {
    siginfo_t info;
    /* The process id remains the child's until it has been waited for, and nobody else should wait
     * for it. */
    if (kills && syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0) != 0 && errno != ESRCH)
        (void)kill(s->process, SIGKILL);
    int error;
    do
        error =
            waitid((idtype_t)P_PIDFD, (id_t)s->pidfd, &info, WEXITED | WNOWAIT) != 0 ? errno : 0;
    while (error == EINTR);
    if (error != 0)
        return somebody_waited(s);
    (void)waitid((idtype_t)P_PIDFD, (id_t)s->pidfd, &info, WEXITED);
    s->result.code = info.si_status;
    if (info.si_code == CLD_EXITED)
        s->result.end = TERN_SANDBOX_EXITED;
    else if (info.si_status == SIGSYS)
        s->result.end = TERN_SANDBOX_REFUSED;
    else
        s->result.end = kills && info.si_status == SIGKILL ? killed : TERN_SANDBOX_KILLED;
    int why = info.si_code == CLD_KILLED ? info.si_status - TERN_SANDBOX_SIGNAL : 0;
    return why > 0 && why <= TERN_SANDBOX_NO_FILTER ? not_entered(why) : TERN_OK;
}
