#include "flaky.h"
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>

#include "board.h"

enum { STATUS_PASSED = 0, STATUS_FAILED = 1, STATUS_SKIPPED = 77 };

/* A rank that failed waits this long for the others, which may be waiting for it in the test. */
static const double patience_seconds = 10;

static struct {
    MPI_Comm comm;
    int rank, size;
    int thread_level;
    bool full;
    bool survivors;
    bool draws; /* a seed of its own */
    uint64_t seed;
    double seconds; /* 0: not given */
    unsigned deadline;
    const char *only;
    const char *suite;
    char hang_report[256];
    const char *skip_reason;
    bool lacks; /* something that a test needs; then skipping all is no mistake */
    void (*after)(void);
} harness = {.thread_level = MPI_THREAD_SERIALIZED, .seed = 1};

int tern_test_rank(void) { return harness.rank; }

int tern_test_size(void) { return harness.size; }

bool tern_test_full(void) { return harness.full; }

double tern_test_seconds(double usual) {
    if (harness.seconds > 0)
        return harness.seconds;
    return harness.full ? 100 * usual : usual;
}

uint64_t tern_test_seed(void) { return harness.seed; }

void tern_test_draw_seed(void) { harness.draws = true; }

void tern_test_after(void (*end)(void)) { harness.after = end; }

uint64_t tern_test_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void tern_test_skip(const char *why) { harness.skip_reason = why; }

void tern_test_lack(const char *why) {
    harness.skip_reason = why;
    harness.lacks = true;
}

void tern_test_kill(int rank) { tern_board_kill(rank); }

void tern_test_die(void) { tern_board_die(); }

void tern_test_arrive(void) { tern_board_arrive(); }

bool tern_test_all_arrived(void) { return tern_board_all_arrived(); }

bool tern_test_dead(int rank) { return tern_board_dead(rank); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void usage(const char *program, const char *problem) {
    fprintf(stderr,
            "%s: %s\n"
            "options: --only NAME, --seed N, --seconds N, --quick, --full, --survivors,\n"
            "         --thread-level single|serialized|multiple, --deadline SECONDS\n",
            program, problem);
    exit(2);
}

static int parse_thread_level(const char *program, const char *text) {
    if (strcmp(text, "single") == 0)
        return MPI_THREAD_SINGLE;
    if (strcmp(text, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    if (strcmp(text, "multiple") == 0)
        return MPI_THREAD_MULTIPLE;
    usage(program, "unknown thread level");
    return 0;
}

static bool parse_switch(const char *option) {
    if (strcmp(option, "--quick") == 0)
        harness.full = false;
    else if (strcmp(option, "--full") == 0)
        harness.full = true;
    else if (strcmp(option, "--survivors") == 0)
        harness.survivors = true;
    else
        return false;
    return true;
}

static void parse_seed(const char *text) {
    harness.seed = strtoull(text, NULL, 0);
    harness.draws = false;
}

static void parse_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (parse_switch(option))
            continue;
        if (++i == argc)
            usage(argv[0], "an unknown option or one without its value");
        if (strcmp(option, "--only") == 0)
            harness.only = argv[i];
        else if (strcmp(option, "--seed") == 0)
            parse_seed(argv[i]);
        else if (strcmp(option, "--seconds") == 0)
            harness.seconds = strtod(argv[i], NULL);
        else if (strcmp(option, "--thread-level") == 0)
            harness.thread_level = parse_thread_level(argv[0], argv[i]);
        else if (strcmp(option, "--deadline") == 0)
            harness.deadline = (unsigned)strtoul(argv[i], NULL, 0);
        else
            usage(argv[0], "unknown option");
    }
}

/* Written beforehand: a signal handler may not format. */
static void enter(const char *test) {
    snprintf(harness.hang_report, sizeof harness.hang_report,
             "\nrank %d: hangs in %s.%s (seed %llu)\n", harness.rank, harness.suite, test,
             (unsigned long long)harness.seed);
}

static void on_deadline(int signal) {
    (void)signal;
    ssize_t written = write(STDERR_FILENO, harness.hang_report, strlen(harness.hang_report));
    (void)written;
    /* The launcher ends the others once this rank is gone: let them speak too. */
    sleep(1);
    _exit(STATUS_FAILED);
}

/* One that is easy to type. */
static void draw_seed(void) {
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed)
        harness.seed = 1 + seed % 1000000000;
    MPI_Bcast(&harness.seed, 1, MPI_UINT64_T, 0, harness.comm);
}

static void skip_program(const char *why) {
    if (harness.rank == 0)
        printf("%s: skipped: %s\n", harness.suite, why);
    MPI_Finalize();
    exit(STATUS_SKIPPED);
}

static void start(int *argc, char ***argv) {
    /* A launcher that is killed for its time limit would leave a rank that spins behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    parse_options(*argc, *argv);
    enter("MPI_Init");
    signal(SIGALRM, on_deadline);
    alarm(harness.deadline);

    int provided;
    MPI_Init_thread(argc, argv, harness.thread_level, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &harness.comm);
    MPI_Comm_rank(harness.comm, &harness.rank);
    MPI_Comm_size(harness.comm, &harness.size);
    if (harness.draws)
        draw_seed();
    if (provided < harness.thread_level)
        skip_program("this MPI lacks the thread level");
    if (harness.survivors && !tern_board_open(harness.comm))
        skip_program("ranks that are to survive others have to be on one node");
}

/* By the failing rank itself and at once: gathering could wait for a rank that hangs. */
static bool report_failures(const char *test) {
    for (CU_pFailureRecord f = CU_get_failure_list(); f; f = f->pNext)
        fprintf(stderr, "FAILED %s.%s on rank %d of %d: %s:%u: %s\n", harness.suite, test,
                harness.rank, harness.size, f->strFileName ? f->strFileName : "?", f->uiLineNumber,
                f->strCondition ? f->strCondition : "?");
    return CU_get_failure_list() != NULL;
}

static void wait_for_others(const char *test, bool failed) {
    MPI_Request request;
    MPI_Ibarrier(harness.comm, &request);
    double give_up = now() + patience_seconds;
    for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
        if (failed && now() > give_up) {
            fprintf(stderr, "rank %d: others are still in %s.%s\n", harness.rank, harness.suite,
                    test);
            MPI_Abort(harness.comm, STATUS_FAILED);
        }
        usleep(50);
    }
}

/* What is true on any rank. */
static void combine(const char *test, bool mine[2], bool any[2]) {
    if (harness.survivors) {
        tern_board_meet(mine, any);
        return;
    }
    wait_for_others(test, mine[0]);
    MPI_Allreduce(mine, any, 2, MPI_C_BOOL, MPI_LOR, harness.comm);
}

static bool speaks(void) { return harness.rank == (harness.survivors ? tern_board_lowest() : 0); }

typedef struct {
    unsigned long run, failed, skipped;
} tally;

static tally run_test(CU_pSuite suite, CU_pTest test) {
    if (speaks()) {
        printf("%s.%s ... ", harness.suite, test->pName);
        fflush(stdout);
    }
    enter(test->pName);
    harness.skip_reason = NULL;
    double begin = now();
    CU_run_test(suite, test);

    /* A test failed if it did on any rank, and was skipped if it was on every rank. */
    bool mine[2] = {report_failures(test->pName), !harness.skip_reason}, any[2];
    combine(test->pName, mine, any);
    enter("no test");
    tally t = {.run = 1, .failed = any[0], .skipped = !any[0] && !any[1]};
    if (speaks())
        printf("%s%s (%.2f s)\n",
               t.failed    ? "FAILED"
               : t.skipped ? "skipped: "
                           : "ok",
               t.skipped ? harness.skip_reason : "", now() - begin);
    fflush(stdout);
    return t;
}

static tally run_suite(const tern_test_case *tests, size_t count) {
    tally sum = {0};
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite(harness.suite, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        if (harness.only && strcmp(harness.only, tests[i].name) != 0)
            continue;
        CU_pTest test = CU_add_test(suite, tests[i].name, tests[i].run);
        if (!test) {
            fprintf(stderr, "%s.%s: %s\n", harness.suite, tests[i].name, CU_get_error_msg());
            MPI_Abort(harness.comm, STATUS_FAILED);
        }
        tally t = run_test(suite, test);
        sum.run += t.run;
        sum.failed += t.failed;
        sum.skipped += t.skipped;
    }
    if (harness.after != NULL) {
        CU_pTest after = CU_add_test(suite, "after all", harness.after);
        sum.failed += after == NULL || run_test(suite, after).failed;
    }
    CU_cleanup_registry();
    return sum;
}

static int finish(tally sum) {
    int status = STATUS_PASSED;
    if (sum.failed > 0 || sum.run == 0)
        status = STATUS_FAILED;
    else if (sum.skipped == sum.run)
        status = harness.lacks || harness.only ? STATUS_SKIPPED : STATUS_FAILED;

    if (status == STATUS_FAILED && sum.skipped == sum.run && sum.run > 0 && speaks())
        printf("%s: nothing can be tested with %d ranks, or over this transport: it is not to be "
               "registered so (tests/CMakeLists.txt)\n",
               harness.suite, harness.size);
    if (speaks())
        printf("%s: %lu run, %lu failed, %lu skipped; ranks %d, seed %llu, %s: %s\n", harness.suite,
               sum.run, sum.failed, sum.skipped, harness.size, (unsigned long long)harness.seed,
               harness.full ? "full" : "quick", status == STATUS_FAILED ? "FAILED" : "passed");
    if (harness.survivors && !tern_board_all_alive()) {
        /* MPI_Finalize would wait for the dead. */
        fflush(NULL);
        _exit(status);
    }
    enter("MPI_Finalize");
    MPI_Comm_free(&harness.comm);
    MPI_Finalize();
    return status;
}

int tern_test_main(int argc, char **argv, const char *suite, const tern_test_case *tests,
                   size_t count) {
    harness.suite = suite;
    start(&argc, &argv);
    const char *seed = getenv("FLAKY_NETWORK"); /* flaky.h */
    if (seed != NULL)
        flaky_network(strtoull(seed, NULL, 10));
    const char *connections = getenv("FLAKY_CONNECTIONS");
    if (connections != NULL)
        flaky_network_connect(strtoull(connections, NULL, 10));
    flaky_network_wide_only(getenv("FLAKY_WIDE_ONLY") != NULL);
    flaky_network_coherent(getenv("FLAKY_COHERENT") != NULL);
    return finish(run_suite(tests, count));
}
