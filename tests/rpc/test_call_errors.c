// tern-test: transports

/*
 * Errors of handlers: their text comes home to a caller who waits; of calls that nobody waits for,
 * the first of each function is logged as a warning, with the text.
 */

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call_tools.h"

typedef struct {
    int status;
    uint32_t bytes; /* of the text, which is made of one letter; 0: none */
} failure;

static tern_status fail_as_told(tern_call_info *call, const void *arguments, size_t bytes) {
    failure f;
    char text[4096];
    CU_ASSERT_EQUAL_FATAL(bytes, sizeof f);
    memcpy(&f, arguments, sizeof f);
    if (f.bytes == 0)
        return (tern_status)f.status;
    memset(text, 'x', f.bytes);
    text[f.bytes] = 0;
    return tern_call_fail(call, (tern_status)f.status, "row %d: %s", 7, text);
}
TERN_FUNCTION(fail_as_told)

static tern_status fail_through_tern(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    return tern_register(call->worker, NULL, 0, NULL);
}
TERN_FUNCTION(fail_through_tern)

static tern_status recover(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    tern_ignore(tern_call_fail(call, TERN_ERR_FULL, "an earlier failure"));
    return TERN_ERR_EXISTS;
}
TERN_FUNCTION(recover)

TERN_REMOTE_RETURN(uint64_t, measured, TERN_BUFFER(double, values), (int, status))

tern_status measured_here(tern_call_info *call, const double *values, size_t count, int status,
                          uint64_t *result) {
    (void)values;
    *result = count;
    return tern_call_fail(call, (tern_status)status, "%zu values are not enough", count);
}

static tern_status call_failing(fixture *f, uint32_t rank, tern_status status, uint32_t bytes) {
    failure asked = {(int)status, bytes};
    return tern_call_return(f->worker, to(rank), &fail_as_told_function, &asked, sizeof asked, NULL,
                            0, NULL);
}

/* How many letters the detail has that fail_as_told gives. */
static size_t letters(void) {
    const char *first = strchr(tern_error_detail(), 'x');
    return first != NULL ? strspn(first, "x") : 0;
}

static void text_comes_home(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (uint32_t r = 0; r < f.size; r++) {
        char place[32];
        snprintf(place, sizeof place, "rank %u: row 7: x", r);
        for (int s = TERN_ERR_ARGUMENT; s < TERN_STATUS_COUNT; s++) {
            if (s == TERN_ERR_AGAIN)
                continue;
            EXPECT((tern_status)s, call_failing(&f, r, (tern_status)s, 1 + (uint32_t)s));
            EXPECT_DETAIL(place);
            CU_ASSERT_EQUAL(letters(), 1 + (size_t)s);
        }
        EXPECT(TERN_ERR_ARGUMENT, tern_call_return(f.worker, to(r), &fail_through_tern_function,
                                                   NULL, 0, NULL, 0, NULL));
        EXPECT_DETAIL("tern_register");
        EXPECT_OK(call_failing(&f, r, TERN_OK, 0));
        EXPECT_OK(call_failing(&f, r, TERN_OK, 5));
    }
    fixture_close(&f);
}

/* Cut, never overrun, at the handler's side and at the caller's. */
static void text_has_a_limit(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    for (uint32_t bytes = 980; bytes <= 1060; bytes++) {
        EXPECT(TERN_ERR_FULL, call_failing(&f, next, TERN_ERR_FULL, bytes));
        CU_ASSERT(letters() == bytes || letters() >= 980);
        CU_ASSERT(letters() <= 1024);
    }
    EXPECT(TERN_ERR_FULL, call_failing(&f, next, TERN_ERR_FULL, 4000));
    CU_ASSERT(letters() >= 980 && letters() <= 1024);
    fixture_close(&f);
}

/* A handler without a text is not given that of something else. */
static void text_is_of_this_failure(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    EXPECT(TERN_ERR_EXISTS, tern_call_fail(NULL, TERN_ERR_EXISTS, "of this thread"));
    EXPECT_DETAIL("of this thread");
    CU_ASSERT_EQUAL(tern_barrier(f.worker), TERN_OK);
    EXPECT(TERN_ERR_EXISTS, call_failing(&f, next, TERN_ERR_EXISTS, 0));
    EXPECT_DETAIL("tern_call_fail");
    CU_ASSERT_PTR_NULL(strstr(tern_error_detail(), "of this thread"));
    EXPECT(TERN_ERR_EXISTS,
           tern_call_return(f.worker, to(next), &recover_function, NULL, 0, NULL, 0, NULL));
    CU_ASSERT_PTR_NULL(strstr(tern_error_detail(), "earlier"));
    fixture_close(&f);
}

/* With arguments in the ring, and with such as the target fetches. */
static void text_of_declared_functions(void) {
    static double values[30000];
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    static const size_t counts[] = {1, 100, 2000, 30000};
    for (uint32_t r = 0; r < f.size; r++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            uint64_t got = 0;
            char text[64];
            snprintf(text, sizeof text, "rank %u: %zu values are not enough", r, counts[i]);
            EXPECT(TERN_ERR_EMPTY,
                   measured(f.worker, to(r), values, counts[i], TERN_ERR_EMPTY, &got));
            EXPECT_DETAIL(text);
            EXPECT_OK(measured(f.worker, to(r), values, counts[i], TERN_OK, &got));
            CU_ASSERT_EQUAL(got, counts[i]);
        }
    fixture_close(&f);
}

/* Standard error meanwhile goes to a file. */
static int catch_log(int *file) {
    int before = dup(STDERR_FILENO);
    *file = memfd_create("log", 0);
    CU_ASSERT_FATAL(before >= 0 && *file >= 0);
    dup2(*file, STDERR_FILENO);
    return before;
}

static void read_log(int before, int file, char *text, size_t room) {
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t got = pread(file, text, room - 1, 0);
    text[got > 0 ? got : 0] = 0;
    close(file);
}

static size_t times(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

/* Of each function once, however it was called. */
static void first_error_is_a_warning(void) {
    static char log[1 << 16];
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    int file = -1, before = catch_log(&file);
    failure asked = {TERN_ERR_RANGE, 3};
    tern_call_options options = {.transfer = TERN_BUFFER_INSIDE, .buffer = "b", .buffer_bytes = 2};
    uint32_t next = (f.rank + 1) % f.size;
    for (int i = 0; i < 5; i++) {
        EXPECT_OK(tern_call(f.worker, to(next), &fail_as_told_function, &asked, sizeof asked));
        EXPECT_OK(tern_call(f.worker, tern_by_message(to(next)), &fail_as_told_function, &asked,
                            sizeof asked));
        EXPECT_OK(tern_call_with(f.worker, to(next), &fail_as_told_function, &asked, sizeof asked,
                                 &options));
        EXPECT_OK(tern_call_all(f.worker, &fail_through_tern_function, NULL, 0, NULL));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT(TERN_ERR_EXISTS,
           tern_call_return(f.worker, to(next), &recover_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    read_log(before, file, log, sizeof log);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, 15 + 5 * f.size + 1);
    char origin[64];
    snprintf(origin, sizeof origin, "fail_as_told, called by rank %u",
             (f.rank + f.size - 1) % f.size);
    CU_ASSERT_EQUAL(times(log, "fail_as_told, called"), 1);
    CU_ASSERT_EQUAL(times(log, origin), 1);
    CU_ASSERT_EQUAL(times(log, "row 7: xxx"), 1);
    CU_ASSERT_EQUAL(times(log, "fail_through_tern, called"), 1);
    CU_ASSERT_EQUAL(times(log, "tern_register: "), 1);
    CU_ASSERT_EQUAL(times(log, "recover, called"), 0); /* its caller was told */
    CU_ASSERT_EQUAL(times(log, "warning"), 2);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"text_comes_home", text_comes_home},
        {"text_has_a_limit", text_has_a_limit},
        {"text_is_of_this_failure", text_is_of_this_failure},
        {"text_of_declared_functions", text_of_declared_functions},
        {"first_error_is_a_warning", first_error_is_a_warning},
    };
    return tern_test_main(argc, argv, "call_errors", tests, sizeof tests / sizeof tests[0]);
}
