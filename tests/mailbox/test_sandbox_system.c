/*
 * Sandboxes and the system around them: a system that lacks or refuses what they need, descriptors
 * that run out, children that another part of the process waits for, and several runs at a time.
 */

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox_tools.h"

enum { AS_IT_SHOULD = 100, WRONG_END, WRONG_DESCRIPTORS, WRONG_TEXT, NOT_PREPARED };

static const char *expected_text; /* must occur in the text of a refusal; NULL: any text */

typedef struct one_run {
    unsigned char argument[SANDBOX_ARGUMENT];
    char printed[64];
    uint32_t bytes;
} one_run;

static void keep(const char *text, uint32_t bytes, void *context) {
    one_run *r = context;
    if (r->bytes + bytes < sizeof r->printed)
        memcpy(r->printed + r->bytes, text, bytes);
    r->bytes += bytes;
}

/* Runs a program that prints. Returns the status if it cannot be run, or one of the values
 * above. */
static int prints(one_run *r) {
    static const char text[] = "two -5 ff c%";
    tern_sandbox_options options = tern_sandbox_defaults(TERN_TEST_PROGRAM);
    tern_sandbox_result result;
    memset(r, 0, sizeof *r);
    options.argument = r->argument;
    options.argument_bytes = sandbox_argument(r->argument, 'p', 2, "");
    options.allow = TERN_SANDBOX_ALLOW_ALL;
    options.directory = "/";
    options.print = keep;
    options.context = r;
    tern_status status = tern_sandbox_run(&options, &result);
    if (status != TERN_OK && expected_text != NULL &&
        strstr(tern_error_detail(), expected_text) == NULL)
        return WRONG_TEXT;
    if (status != TERN_OK)
        return (int)status;
    return result.end == TERN_SANDBOX_EXITED && result.code == 0 && strcmp(r->printed, text) == 0
               ? AS_IT_SHOULD
               : WRONG_END;
}

/* Does the same in a child process that first calls prepare, and checks that no descriptor is left
 * open. */
static int prints_after(int (*prepare)(int), int value) {
    static one_run run;
    pid_t child = fork();
    if (child == 0) {
        if (prepare(value) != 0)
            _exit(NOT_PREPARED);
        int before = sandbox_descriptors(NULL), got = prints(&run);
        _exit(sandbox_descriptors(NULL) == before ? got : WRONG_DESCRIPTORS);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int refusal; /* errno of the refused call */

static int refuse(int call) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)refusal),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0;
}

/* Allows prctl except for setting filters. */
static int refuse_filters(int error) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0;
}

/* Only root can raise a hard limit again. A process of root first drops the capability for that. */
static int limit_stack(int bytes) {
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    return setrlimit(RLIMIT_STACK, &limit) != 0 ||
           (geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) == 1 &&
            prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE) != 0);
}

/* A program that loops for ever is killed in time even if the server may not send signals by
 * pidfd. */
static int ends_what_spins(void) {
    static unsigned char argument[SANDBOX_ARGUMENT];
    pid_t child = fork();
    if (child == 0) {
        tern_sandbox_options options = tern_sandbox_defaults(TERN_TEST_PROGRAM);
        tern_sandbox_result result;
        options.argument = argument;
        options.argument_bytes = sandbox_argument(argument, 'x', 0, "");
        options.directory = "/";
        options.timeout_ns = 50000000;
        refusal = EPERM;
        if (refuse(SYS_pidfd_send_signal) != 0)
            _exit(NOT_PREPARED);
        bool timely =
            tern_sandbox_run(&options, &result) == TERN_OK && result.end == TERN_SANDBOX_TIMEOUT;
        _exit(timely ? AS_IT_SHOULD : WRONG_END);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As in a container: the server itself runs behind another filter. */
static void containers(void) {
    static const struct {
        int call;
        const char *text;
    } needed[] = {{SYS_seccomp, "no seccomp filters here"}, {SYS_openat2, "no openat2 here"},
                  {SYS_memfd_create, "memfd_create"},       {SYS_execve, "no memfd be executed"},
                  {SYS_pidfd_open, "pidfd_open"},           {SYS_close_range, "no close_range"},
                  {SYS_prctl, "prctl was refused"}};
    static const int errors[] = {EPERM, ENOSYS};
    CU_ASSERT_EQUAL(prints_after(refuse, 10000), AS_IT_SHOULD);
    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
        refusal = errors[e];
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
            expected_text = needed[i].text;
            CU_ASSERT_EQUAL(prints_after(refuse, needed[i].call), TERN_ERR_UNSUPPORTED);
        }
    }
    expected_text = "no seccomp filters";
    CU_ASSERT_EQUAL(prints_after(refuse_filters, EPERM), TERN_ERR_UNSUPPORTED);
    expected_text = "limits cannot be set";
    CU_ASSERT_EQUAL(prints_after(limit_stack, 1 << 17), TERN_ERR_UNSUPPORTED);
    expected_text = NULL;
    CU_ASSERT_EQUAL(ends_what_spins(), AS_IT_SHOULD);
}

static int limit_descriptors(int count) {
    struct rlimit limit = {(rlim_t)count, (rlim_t)count};
    return setrlimit(RLIMIT_NOFILE, &limit);
}

/* As the limit on descriptors grows, a later step of the run lacks one. */
static void no_descriptors(void) {
    int highest = 0, wrong = 0, got = 0;
    (void)sandbox_descriptors(&highest);
    for (int count = 0; count < highest + 12; count++) {
        int last = got;
        got = prints_after(limit_descriptors, count);
        wrong += got != AS_IT_SHOULD && (got != TERN_ERR_SYSTEM || last == AS_IT_SHOULD);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(got, AS_IT_SHOULD);
}

static void other_waits(void) {
    static one_run run;
    int before = sandbox_descriptors(NULL);
    void (*handler)(int) = signal(SIGCHLD, SIG_IGN);
    CU_ASSERT_EQUAL(prints(&run), TERN_ERR_STATE);
    EXPECT_DETAIL("SIGCHLD");
    (void)signal(SIGCHLD, handler);
    CU_ASSERT_EQUAL(prints(&run), AS_IT_SHOULD);
    CU_ASSERT_EQUAL(sandbox_descriptors(NULL), before);
}

typedef struct many_runs {
    int rounds, good;
    one_run one;
} many_runs;

static void *again(void *argument) {
    many_runs *m = argument;
    for (int i = 0; i < m->rounds; i++)
        m->good += prints(&m->one) == AS_IT_SHOULD;
    return NULL;
}

static void two_at_once(void) {
    static many_runs both[2];
    pthread_t threads[2];
    int before = sandbox_descriptors(NULL);
    for (int i = 0; i < 2; i++) {
        both[i].rounds = tern_test_full() ? 500 : 20;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, again, &both[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(both[i].good, both[i].rounds);
    }
    CU_ASSERT_EQUAL(sandbox_descriptors(NULL), before);
}

int main(int argc, char **argv) {
    static tern_test_case tests[] = {{"containers", containers},
                                     {"no_descriptors", no_descriptors},
                                     {"other_waits", other_waits},
                                     {"two_at_once", two_at_once}};
    return sandbox_test_main(argc, argv, "sandbox_system", tests, sizeof tests / sizeof tests[0]);
}
