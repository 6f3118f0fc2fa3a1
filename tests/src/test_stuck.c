// tern-test: transports

/* The stuck report: one line for a wait that lasts, with who waits in what for whom, and what that
 * rank has last reported. */

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "src/peer/activity.h"

enum { SECONDS = 1 };

/* Away from tern for longer than that. */
static void stay_away(void) {
    const struct timespec time = {SECONDS, 800000000};
    nanosleep(&time, NULL);
}

/* Reports as a wait in the function does. */
static void report(const fixture *f, const char *function) {
    tern_wait_state wait = TERN_WAIT_IN(function);
    tern_activity_wait(f->context, &wait, TERN_NOBODY, tern_now());
}

/* Away for as long, and reports meanwhile to be in the function. */
static void stay_in(const fixture *f, const char *function) {
    const struct timespec time = {0, 100000000};
    for (int i = 0; i < 10 * SECONDS + 8; i++) {
        report(f, function);
        nanosleep(&time, NULL);
    }
}

/* Standard error goes into a file meanwhile. */
typedef struct capture {
    int file, saved;
    char text[4096];
} capture;

static void capture_begin(capture *c) {
    memset(c, 0, sizeof *c);
    c->file = memfd_create("stderr", 0);
    c->saved = dup(STDERR_FILENO);
    CU_ASSERT_FATAL(c->file >= 0 && c->saved >= 0 && dup2(c->file, STDERR_FILENO) >= 0);
}

static void capture_end(capture *c) {
    dup2(c->saved, STDERR_FILENO);
    ssize_t got = pread(c->file, c->text, sizeof c->text - 1, 0);
    CU_ASSERT(got >= 0);
    close(c->file);
    close(c->saved);
}

static int count(const capture *c, const char *part) {
    int times = 0;
    for (const char *at = c->text; (at = strstr(at, part)) != NULL; at++)
        times++;
    return times;
}

static bool expect_text(const capture *c, const char *part) {
    if (count(c, part) == 1)
        return true;
    fprintf(stderr, "not once '%s' in '%s'\n", part, c->text);
    return false;
}

static bool set_up(fixture *f, size_t seconds) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.stuck_report = seconds;
    return fixture_open(f, &config);
}

/* The last rank comes late to a barrier, from outside tern; the others have waited for it. */
static void wait_for_any(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    const uint32_t late = f.size - 1;
    EXPECT_OK(tern_barrier(f.worker));
    capture c;
    capture_begin(&c);
    if (f.rank == late)
        stay_away();
    tern_status status = tern_barrier(f.worker);
    capture_end(&c);
    EXPECT_OK(status);
    if (f.rank == late) {
        CU_ASSERT_EQUAL(count(&c, "has waited"), 0);
    } else {
        char whole[100], other[100];
        snprintf(whole, sizeof whole, "rank %u has waited 1 s in tern_barrier for any rank; rank ",
                 f.rank);
        CU_ASSERT(expect_text(&c, whole));
        CU_ASSERT(expect_text(&c, "has waited"));
        snprintf(other, sizeof other, "rank %u has not reported", late);
        CU_ASSERT(!fixture_all_near(&f) || strstr(c.text, other) != NULL ||
                  strstr(c.text, "last reported to be in") != NULL);
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(answer)

/* Rank 0 is in something that it reports, while the last rank waits for its answer. */
static void wait_for_one(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    tern_transport transport = TERN_P2P;
    EXPECT_OK(tern_context_transport(f.context, 0, &transport));
    tern_status status = TERN_OK;
    size_t got;
    /* The first call of a pair would wait for its ring. */
    if (f.rank > 0 && f.rank == f.size - 1)
        EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){0, 0}, &answer_function, NULL, 0,
                                   NULL, 0, &got));
    EXPECT_OK(tern_barrier(f.worker));
    capture c;
    capture_begin(&c);
    if (f.rank == 0) {
        stay_in(&f, "MPI_Barrier");
    } else if (f.rank == f.size - 1) {
        usleep(200000); /* rank 0 may still be in the barrier, and would answer there */
        status = tern_call_return(f.worker, (tern_worker_id){0, 0}, &answer_function, NULL, 0, NULL,
                                  0, &got);
    }
    capture_end(&c);
    EXPECT_OK(status);
    if (f.rank > 0 && f.rank == f.size - 1) {
        char whole[100];
        snprintf(whole, sizeof whole, "rank %u has waited 1 s in tern_call_return for rank 0; ",
                 f.rank);
        CU_ASSERT(expect_text(&c, whole));
        CU_ASSERT(expect_text(&c, transport == TERN_SHM ? "rank 0 is in MPI_Barrier\n"
                                                        : "rank 0 is on another node, so what"));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* A rank that has left what it was in is said to have been there. */
static void has_left(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    capture c;
    capture_begin(&c);
    if (f.rank == 0) {
        report(&f, "MPI_Recv");
        stay_away();
    }
    tern_status status = tern_barrier(f.worker);
    capture_end(&c);
    EXPECT_OK(status);
    if (f.rank > 0 && fixture_all_near(&f))
        CU_ASSERT(expect_text(&c, "rank 0 last reported to be in MPI_Recv, 1."));
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static void switched_off(void) {
    fixture f;
    if (!set_up(&f, 0))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    capture c;
    capture_begin(&c);
    if (f.rank == 0)
        stay_away();
    tern_status status = tern_barrier(f.worker);
    capture_end(&c);
    EXPECT_OK(status);
    CU_ASSERT_STRING_EQUAL(c.text, "");
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"wait_for_any", wait_for_any},
        {"wait_for_one", wait_for_one},
        {"has_left", has_left},
        {"switched_off", switched_off},
    };
    return tern_test_main(argc, argv, "stuck", tests, sizeof tests / sizeof tests[0]);
}
