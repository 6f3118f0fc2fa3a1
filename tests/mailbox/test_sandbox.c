/*
 * Sandboxes: what a program inside can do and cannot do, and that it cannot harm its server. The
 * programs are cases of tests/mailbox/sandbox_program.c.
 */

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "sandbox_tools.h"

static char printed[4096], folder[] = "/tmp/tern-sandbox-XXXXXX", inside[64], outside[64];
static size_t printed_bytes;
static unsigned char argument[SANDBOX_ARGUMENT];

static void keep(const char *text, uint32_t bytes, void *context) {
    (void)context;
    if (printed_bytes + bytes < sizeof printed)
        memcpy(printed + printed_bytes, text, bytes);
    printed_bytes += bytes;
    printed[printed_bytes < sizeof printed ? printed_bytes : 0] = 0;
}

static int put(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

static tern_sandbox_options options_of(char kind, uint64_t number, const char *path) {
    tern_sandbox_options options = tern_sandbox_defaults(TERN_TEST_PROGRAM);
    options.argument = argument;
    options.argument_bytes = sandbox_argument(argument, kind, number, path);
    options.allow = TERN_SANDBOX_ALLOW_ALL;
    options.directory = inside;
    options.print = keep;
    printed_bytes = 0;
    printed[0] = 0;
    return options;
}

static tern_sandbox_result run(const tern_sandbox_options *options) {
    tern_sandbox_result result = {TERN_SANDBOX_STOPPED, -1, 0, 0, 0, 0};
    EXPECT_OK(tern_sandbox_run(options, &result));
    return result;
}

static tern_sandbox_result run_case(char kind, uint64_t number, const char *path) {
    tern_sandbox_options options = options_of(kind, number, path);
    return run(&options);
}

static void expect_exit(tern_sandbox_result result, int code) {
    CU_ASSERT_EQUAL(result.end, TERN_SANDBOX_EXITED);
    CU_ASSERT_EQUAL(result.code, code);
}

static void ends(void) {
    int before = sandbox_descriptors(NULL);
    expect_exit(run_case('e', 0, ""), 0);
    expect_exit(run_case('e', 255, ""), 255);
    expect_exit(run_case('p', 2, ""), 0);
    CU_ASSERT_STRING_EQUAL(printed, "two -5 ff c%");
    for (uint64_t state = 0; state < 4; state++)
        CU_ASSERT_EQUAL(run_case('d', state, "").end, TERN_SANDBOX_KILLED);
    tern_sandbox_options options = options_of('x', 0, "");
    options.timeout_ns = 20000000;
    tern_sandbox_result result = run(&options);
    CU_ASSERT(result.end == TERN_SANDBOX_TIMEOUT && result.code == SIGKILL);
    CU_ASSERT_EQUAL(sandbox_descriptors(NULL), before);
    CU_ASSERT(waitpid(-1, NULL, WNOHANG) <= 0);
}

/* Linux lets the calls uretprobe (335) and uprobe (336) of x86-64 pass any filter. Without a probe,
 * the first raises SIGILL and the second returns -ENXIO. */
static void expect_refusal(int call) {
    tern_sandbox_result r = run_case('s', (uint64_t)call, "");
    CU_ASSERT(r.end == TERN_SANDBOX_REFUSED ||
              (call == 335 && r.end == TERN_SANDBOX_KILLED && r.code == SIGILL) ||
              (call == 336 && r.end == TERN_SANDBOX_EXITED && r.code == (uint8_t)-ENXIO));
}

static void system_calls(void) {
    static const int some[] = {
        SYS_read,         SYS_write,  SYS_openat,         SYS_mmap,
        SYS_mprotect,     SYS_socket, SYS_clone,          SYS_execve,
        SYS_ptrace,       SYS_kill,   SYS_io_uring_setup, SYS_process_vm_readv,
        SYS_memfd_create, SYS_futex,  SYS_prctl,          SYS_rt_sigreturn};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        CU_ASSERT_EQUAL(run_case('s', (uint64_t)some[i], "").end, TERN_SANDBOX_REFUSED);
    for (int i = 0; tern_test_full() && i < 600; i++)
        if (i != SYS_exit_group && i != SYS_sched_yield)
            expect_refusal(i);
    expect_exit(run_case('s', SYS_sched_yield, ""), 0);
#ifdef __x86_64__
    CU_ASSERT_EQUAL(run_case('s', 0x40000000u | SYS_exit_group, "").end, TERN_SANDBOX_REFUSED);
    /* exit by the 32-bit entry, or a fault if the kernel has no such entry. */
    tern_sandbox_result result = run_case('i', 1, "");
    CU_ASSERT(result.end == TERN_SANDBOX_REFUSED ||
              (result.end == TERN_SANDBOX_KILLED && result.code == SIGSEGV));
#endif
}

static void paths(void) {
    static char lengthy[5000];
    static const struct {
        const char *path;
        int code;
    } out[] = {{"../secret", EXDEV},
               {"sub/../../secret", EXDEV},
               {"/etc/passwd", EXDEV},
               {"link-out", EXDEV},
               {"link-absolute", EXDEV},
               {"link-proc", EXDEV},
               {"", EINVAL},
               {"none", ENOENT},
               {"sub", EACCES},
               {"pipe", EACCES}};
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
        expect_exit(run_case('f', TERN_SANDBOX_FOR_READING, out[i].path), out[i].code);
    memset(lengthy, 'a', 4500);
    expect_exit(run_case('f', TERN_SANDBOX_FOR_READING, lengthy), ENAMETOOLONG);
    lengthy[4096] = 0;
    expect_exit(run_case('f', TERN_SANDBOX_FOR_READING, lengthy), ENAMETOOLONG);
    CU_ASSERT_STRING_EQUAL(printed, "");
    expect_exit(run_case('f', TERN_SANDBOX_FOR_READING, "sub/../open"), 0);
    CU_ASSERT_STRING_EQUAL(printed, "open");
    expect_exit(run_case('f', TERN_SANDBOX_FOR_READING, "link-in"), 0);
    CU_ASSERT_STRING_EQUAL(printed, "open");
    expect_exit(run_case('f', TERN_SANDBOX_FOR_WRITING | TERN_SANDBOX_CREATE, "new"), 0);
    expect_exit(run_case('f', TERN_SANDBOX_FOR_READING, "new"), 0);
    CU_ASSERT_STRING_EQUAL(printed, "written");
    tern_sandbox_options options = options_of('f', TERN_SANDBOX_FOR_WRITING, "new");
    options.allow = TERN_SANDBOX_ALLOW_READING;
    expect_exit(run(&options), EACCES);
    options.allow = 0;
    expect_exit(run(&options), EPERM);
}

static atomic_int over;

static void *swap_links(void *unused) {
    (void)unused;
    for (int i = 0; !atomic_load(&over); i++) {
        (void)unlink("moving-new");
        if (symlink(i % 2 ? "../secret" : "open", "moving-new") == 0)
            (void)rename("moving-new", "moving");
    }
    return NULL;
}

static void races_of_paths(void) {
    pthread_t thread;
    int rounds = tern_test_full() ? 1000 : 50, opened = 0;
    CU_ASSERT_EQUAL_FATAL(chdir(inside), 0);
    atomic_store(&over, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, swap_links, NULL), 0);
    for (int i = 0; i < rounds; i++) {
        tern_sandbox_result result = run_case('f', TERN_SANDBOX_FOR_READING, "moving");
        opened += result.code == 0;
        CU_ASSERT(result.end == TERN_SANDBOX_EXITED && strcmp(printed, "secret") != 0);
    }
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    CU_ASSERT(opened > 0);
}

/* check stores what it saw, and returns after the program has changed both its argument and its
 * data. run must then still see the same. */
static tern_sandbox_request seen;
static unsigned char seen_data[64];
static uint64_t wrong, changed;

/* Returns how often the program has changed them. The load acquires the count that change()
 * releases. */
static uint64_t changes(const tern_sandbox *sandbox) {
    const uint64_t *count = tern_sandbox_memory(sandbox, 0, sizeof *count);
    return count == NULL ? 0 : __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static int look(tern_sandbox *sandbox, const tern_sandbox_request *request, void *unused) {
    uint64_t began = tern_now(), before = changes(sandbox);
    (void)unused;
    seen = *request;
    memcpy(seen_data, request->data, sizeof seen_data);
    /* The second change from now on begins after the first was counted, and therefore after the
     * copy. */
    while (changes(sandbox) < before + 2 && tern_now() - began < UINT64_C(40000000000))
        sched_yield();
    changed += changes(sandbox) >= before + 2;
    return 0;
}

static int64_t again(tern_sandbox *sandbox, const tern_sandbox_request *request,
                     tern_sandbox_reply *reply, void *unused) {
    (void)sandbox;
    (void)reply;
    (void)unused;
    wrong += memcmp(&seen, request, sizeof seen) != 0 ||
             memcmp(seen_data, request->data, sizeof seen_data) != 0;
    return 0;
}

static void changed_arguments(void) {
    uint64_t rounds = tern_test_full() ? 5000 : 1000;
    tern_sandbox_operation own = {TERN_SANDBOX_OWN, "look", look, again, NULL};
    tern_sandbox_options options = options_of('c', rounds, "");
    options.operations = &own;
    options.operation_count = 1;
    options.timeout_ns = 50000000000u;
    wrong = changed = 0;
    expect_exit(run(&options), 0);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(changed, rounds);
}

static void limits(void) {
    tern_sandbox_options options = options_of('h', 0, "open");
    for (uint32_t handles = 0; handles < 4; handles++) {
        options.handles = handles;
        expect_exit(run(&options), (int)handles);
    }
    options = options_of('m', 4096, "");
    for (uint64_t bytes = 4095; bytes <= 4097; bytes++) {
        options.memory_bytes = bytes;
        expect_exit(run(&options), bytes < 4096);
    }
    options.memory_bytes = 0;
    expect_exit(run(&options), 1);
    options = options_of('w', 10, "");
    for (uint64_t bytes = 9; bytes <= 11; bytes++) {
        options.write_bytes = bytes;
        expect_exit(run(&options), bytes < 10);
    }
    CU_ASSERT_EQUAL(run_case('t', 0, "").end, TERN_SANDBOX_KILLED);
}

/* Reports of the programs that make arbitrary calls: bits of the operations that succeeded, bits of
 * the operations whose check refused a call, and the number of calls until then. */
static uint64_t did, refused_by_check, calls_by_then, reports;

static int64_t report(tern_sandbox *sandbox, const tern_sandbox_request *request,
                      tern_sandbox_reply *reply, void *unused) {
    (void)sandbox;
    (void)reply;
    (void)unused;
    if (reports++ == 0) {
        did |= request->arguments[0];
        refused_by_check |= request->arguments[1];
        calls_by_then += request->arguments[2];
    }
    return 0;
}

static bool all_reached(void) {
    return did == TERN_SANDBOX_ALLOW_ALL &&
           (refused_by_check & TERN_SANDBOX_ALLOW_ALL) == TERN_SANDBOX_ALLOW_ALL;
}

/* How far the calls get depends on the scheduling, so the test makes runs until all operations were
 * reached. */
static void scribblers(void) {
    int before = sandbox_descriptors(NULL);
    uint64_t calls = 0, refused = 0;
    tern_sandbox_operation own = {TERN_SANDBOX_OWN, "report", NULL, report, NULL};
    did = refused_by_check = calls_by_then = 0;
    CU_ASSERT_FATAL(put("scribbled", "scribbled"));
    for (uint64_t i = 0; i < 500 && (tern_test_full() || i < 20 || !all_reached()); i++) {
        tern_sandbox_options options = options_of('r', tern_test_seed() * 1000 + i, "scribbled");
        options.operations = &own;
        options.operation_count = 1;
        options.creations = 0;
        options.write_bytes = i % 2 == 0 ? 20000 : 100;
        options.timeout_ns = 20000000000u;
        reports = 0;
        tern_sandbox_result result = run(&options);
        expect_exit(result, 7);
        CU_ASSERT(reports > 0);
        CU_ASSERT(result.written_bytes <= options.write_bytes);
        CU_ASSERT(result.memory_bytes <= options.memory_bytes);
        CU_ASSERT(printed_bytes <= result.written_bytes);
        calls += result.calls;
        refused += result.refused;
    }
    /* Each operation was reached, succeeded once and was refused once. Calls were also answered
     * afterwards, while the program wrote random bytes to flags and locks. */
    CU_ASSERT(all_reached());
    CU_ASSERT(calls > calls_by_then + calls_by_then / 20);
    CU_ASSERT(refused > 0 && refused < calls);
    (void)unlink("scribbled");
    expect_exit(run_case('p', 0, ""), 0);
    CU_ASSERT_STRING_EQUAL(printed, "zero -5 ff c%");
    CU_ASSERT_EQUAL(sandbox_descriptors(NULL), before);
}

/* Returns the bytes that a process has mapped, or 0 if they cannot be read. Unlike the list of
 * mappings, this number can be read by anybody, also for a process that is not dumpable. */
static uint64_t mapped(int process) {
    char path[40];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    int got = fscanf(file, "%lu", &pages);
    fclose(file);
    return got == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Counts the descriptors that a program would inherit if another thread started it now. */
static int inheritable(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && (flags & FD_CLOEXEC) == 0;
    }
    return count;
}

static int child_inheritable;
static uint64_t child_mapped;
static bool child_hidden; /* hidden by /proc's hidepid, except from root */
static int maps_wrong;    /* mappings that are not of a sandbox, if they can be listed */
static int child_open;    /* descriptors of the child, if they can be listed */

static int stop_child(tern_sandbox *sandbox, const tern_sandbox_request *request, void *unused) {
    char path[40], line[512];
    (void)request;
    (void)unused;
    child_inheritable = inheritable();
    child_mapped = mapped(tern_sandbox_process(sandbox));
    snprintf(path, sizeof path, "/proc/%d", tern_sandbox_process(sandbox));
    child_hidden = access(path, F_OK) != 0;
    snprintf(path, sizeof path, "/proc/%d/maps", tern_sandbox_process(sandbox));
    FILE *maps = fopen(path, "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        maps_wrong += (strstr(line, "/memfd:") != NULL && strstr(line, "tern-sandbox") == NULL) ||
                      strstr(line, "/dev/shm/") != NULL;
    if (maps != NULL)
        fclose(maps);
    snprintf(path, sizeof path, "/proc/%d/fd", tern_sandbox_process(sandbox));
    DIR *open = opendir(path);
    for (const struct dirent *one; open != NULL && (one = readdir(open)) != NULL;)
        child_open += one->d_name[0] != '.';
    if (open != NULL)
        closedir(open);
    kill(tern_sandbox_process(sandbox), SIGSTOP);
    return 0;
}

/* In a rank with a segment: the child has mapped less than the size of one segment, so it has
 * mapped no rank's segment. It has no descriptor open. If it is stopped, it is killed. Other
 * children inherit nothing that the run opens. */
static void in_a_rank(void) {
    fixture f;
    tern_config config;
    const uint64_t segment = (uint64_t)64 << 20;
    tern_sandbox_operation own = {TERN_SANDBOX_OWN, "stop", stop_child, again, NULL};
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = segment;
    if (!fixture_open(&f, &config))
        return;
    tern_sandbox_options options = options_of('c', 1, "");
    options.operations = &own;
    options.operation_count = 1;
    options.timeout_ns = 1000000000; /* long enough for its first call under load */
    child_mapped = 0;
    maps_wrong = child_open = 0;
    CU_ASSERT_EQUAL(run(&options).end, TERN_SANDBOX_TIMEOUT);
    CU_ASSERT_EQUAL(child_inheritable, inheritable());
    CU_ASSERT(mapped(getpid()) > segment);
    CU_ASSERT(child_hidden || (child_mapped > options.program_bytes && child_mapped < segment));
    CU_ASSERT_EQUAL(maps_wrong, 0);
    CU_ASSERT_EQUAL(child_open, 0);
    fixture_close(&f);
    if (child_hidden)
        tern_test_lack("/proc is mounted with hidepid");
}

static int stop_at_once(void *context) { return context == NULL; }

static void refusals(void) {
    tern_sandbox_operation own[2] = {{TERN_SANDBOX_OWN, "one", NULL, again, NULL},
                                     {TERN_SANDBOX_OWN, "two", NULL, again, NULL}};
    tern_sandbox_options options = options_of('e', 0, "");
    tern_sandbox_result result;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(NULL, &result));
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, NULL));
    options.operations = own;
    options.operation_count = 2;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("number 32");
    own[1].run = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("operation 1 (number 32) needs a function");
    options.operations = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("operation_count is 2, but operations is NULL");
    options.operation_count = 0;
    options.memory_bytes = TERN_SANDBOX_MEMORY_MAX + 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("memory_bytes is");
    options = options_of('e', 0, "");
    options.directory = "/nowhere";
    EXPECT(TERN_ERR_SYSTEM, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("opening directory /nowhere");
    options.directory = NULL;
    options.handles = TERN_SANDBOX_HANDLES_MAX + 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    options.handles = 1;
    options.allow = 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    options.allow = 0;
    options.directory = "/proc/self/exe";
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    options.directory = NULL;
    options.program = "/proc/self/exe";
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("-static-pie");
    options.program = "/nowhere";
    EXPECT(TERN_ERR_SYSTEM, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("/nowhere");
    options = options_of('x', 0, "");
    options.idle = stop_at_once;
    CU_ASSERT_EQUAL(run(&options).end, TERN_SANDBOX_STOPPED);
}

/* Writing a file beyond the server's own limit would raise a signal in the server. */
static void limits_of_the_server(void) {
    struct rlimit own, low;
    tern_sandbox_result result;
    tern_sandbox_options options = options_of('m', 4096, "");
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &own), 0);
    low = own;
    low.rlim_cur = 1 << 20;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &low), 0);
    expect_exit(run(&options), 1);
    low.rlim_cur = 4096;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &low), 0);
    EXPECT(TERN_ERR_MEMORY, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("ulimit");
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &own), 0);
    options.memory_bytes = 4096;
    expect_exit(run(&options), 0);
    options.program_bytes = 4096;
    EXPECT(TERN_ERR_ARGUMENT, tern_sandbox_run(&options, &result));
    EXPECT_DETAIL("program_bytes");
}

static void files_that_are_made(void) {
    tern_sandbox_options options =
        options_of('f', TERN_SANDBOX_FOR_WRITING | TERN_SANDBOX_CREATE, "new");
    (void)unlink("new");
    options.creations = 0;
    expect_exit(run(&options), EDQUOT);
    options.creations = 1;
    expect_exit(run(&options), 0);
    options.creations = 0; /* the file exists by now */
    expect_exit(run(&options), 0);
}

static void files_of_the_kernel(void) {
    tern_sandbox_options options = options_of('f', TERN_SANDBOX_FOR_READING, "self/environ");
    options.directory = "/proc";
    expect_exit(run(&options), EACCES);
    CU_ASSERT_STRING_EQUAL(printed, "");
}

static int prepare(void) {
    if (mkdtemp(folder) == NULL)
        return 0;
    snprintf(inside, sizeof inside, "%s/inside", folder);
    snprintf(outside, sizeof outside, "%s/secret", folder);
    return mkdir(inside, 0700) == 0 && put(outside, "secret") && chdir(inside) == 0 &&
           put("open", "open") && mkdir("sub", 0700) == 0 && mkfifo("pipe", 0600) == 0 &&
           symlink("../secret", "link-out") == 0 && symlink(outside, "link-absolute") == 0 &&
           symlink("/proc/self/root/etc/passwd", "link-proc") == 0 &&
           symlink("sub/../open", "link-in") == 0;
}

static void clear(void) {
    static const char *const names[] = {"open",       "pipe",     "link-out", "link-absolute",
                                        "link-proc",  "link-in",  "new",      "moving",
                                        "moving-new", "../secret"};
    if (chdir(inside) != 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(names[i]);
    if (rmdir("sub") != 0 || chdir("/") != 0 || rmdir(inside) != 0 || rmdir(folder) != 0)
        perror(folder);
}

int main(int argc, char **argv) {
    static tern_test_case tests[] = {{"ends", ends},
                                     {"system_calls", system_calls},
                                     {"paths", paths},
                                     {"races_of_paths", races_of_paths},
                                     {"changed_arguments", changed_arguments},
                                     {"limits", limits},
                                     {"scribblers", scribblers},
                                     {"in_a_rank", in_a_rank},
                                     {"refusals", refusals},
                                     {"limits_of_the_server", limits_of_the_server},
                                     {"files_that_are_made", files_that_are_made},
                                     {"files_of_the_kernel", files_of_the_kernel}};
    if (!prepare()) {
        perror(folder);
        return 1;
    }
    (void)atexit(clear);
    return sandbox_test_main(argc, argv, "sandbox", tests, sizeof tests / sizeof tests[0]);
}
