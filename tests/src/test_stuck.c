// tern-test: transports

/* The stuck report: one line for a wait that lasts, with the rank that waits, the function, the
 * rank waited for, and what that rank has last reported. */

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "src/peers/activity.h"
#include "src/peers/long_wait.h"
#include "tern/combine.h"
#include "tern/hashtable.h"
#include "tern/map.h"
#include "tern/team.h"

enum { SECONDS = 1 };

/* Away from tern for so much longer that the others have warned by then, on a busy machine too. */
enum { LONGER = 3 };
static void stay_away(void) {
    const struct timespec time = {SECONDS + LONGER, 0};
    nanosleep(&time, NULL);
}

/* Reports as a wait in the function does. */
static void report(const fixture *f, const char *function) {
    tern_wait_state wait = TERN_WAIT_IN(function);
    tern_long_wait_look(f->context, &wait, TERN_NOBODY, tern_now());
}

/* Away for as long, and reports meanwhile to be in the function. */
static void stay_in(const fixture *f, const char *function) {
    const struct timespec time = {0, 100000000};
    for (int i = 0; i < 10 * (SECONDS + LONGER); i++) {
        report(f, function);
        nanosleep(&time, NULL);
    }
}

/* All ranks have left tern. */
static void leave_tern(fixture *f) {
    EXPECT_OK(tern_barrier(f->worker));
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    tern_mpi_unlock();
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

/* The last rank comes late to a barrier, from outside tern; the others have waited for it. They
 * warn a second after its report of the first barrier is out of date. */
static void wait_for_any(void) {
    fixture f;
    if (!set_up(&f, 2 * SECONDS))
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
        snprintf(whole, sizeof whole, "rank %u of context ", f.rank);
        CU_ASSERT(expect_text(&c, whole));
        CU_ASSERT(expect_text(&c, " s in tern_barrier for any rank; rank "));
        CU_ASSERT(expect_text(&c, "has waited"));
        snprintf(other, sizeof other, "rank %u is outside tern: it computes", late);
        CU_ASSERT(strstr(c.text, other) != NULL || strstr(c.text, "has been outside tern") != NULL);
        CU_ASSERT(expect_text(&c, "Remedies: docs/howto/debugging-a-hang.md"));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(answer)

/* All ranks in the other order: a context that does not number them as MPI_COMM_WORLD does. */
static bool set_up_turned(fixture *f) {
    tern_config config;
    MPI_Comm turned;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.stuck_report = SECONDS;
    const bool opened = fixture_open_on(f, turned, &config);
    MPI_Comm_free(&turned);
    return opened;
}

/* Rank 0 is in something that it reports, while the last rank waits for its answer. */
static void wait_for_one(void) {
    fixture f;
    if (!set_up_turned(&f))
        return;
    const bool waits = f.size > 1 && f.rank == f.size - 1;
    tern_status status = TERN_OK;
    capture c;
    /* The first call of a pair would wait for its ring. */
    if (waits)
        EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){0, 0}, &answer_function, NULL, 0,
                                   NULL, 0, NULL));
    leave_tern(&f);
    capture_begin(&c);
    if (f.rank == 0)
        stay_in(&f, "MPI_Barrier");
    else if (waits)
        status = tern_call_return(f.worker, (tern_worker_id){0, 0}, &answer_function, NULL, 0, NULL,
                                  0, NULL);
    capture_end(&c);
    EXPECT_OK(status);
    if (waits) {
        char whole[200];
        snprintf(whole, sizeof whole, "tern[0]: warning: rank %u (0 of MPI_COMM_WORLD) of context ",
                 f.rank);
        CU_ASSERT(expect_text(&c, whole));
        snprintf(whole, sizeof whole,
                 " s in tern_call_return for rank 0 (%u of MPI_COMM_WORLD), for the result of "
                 "answer; rank 0 (%u of MPI_COMM_WORLD) is in MPI_Barrier. Remedies",
                 f.size - 1, f.size - 1);
        CU_ASSERT(expect_text(&c, whole));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* The others are in a collective of a team for which rank 0 comes late, from another function: the
 * warning names both functions. */
static void wait_in_a_team(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    EXPECT_OK(tern_team_barrier(f.worker, NULL));
    leave_tern(&f);
    capture c;
    capture_begin(&c);
    if (f.rank == 0)
        stay_in(&f, "tern_barrier");
    const tern_status status = tern_team_barrier(f.worker, NULL);
    capture_end(&c);
    EXPECT_OK(status);
    if (f.rank == 1) /* it waits for rank 0 first */
        CU_ASSERT(expect_text(&c, " s in tern_team_barrier for rank 0; rank 0 is in tern_barrier"));
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* A rank that has left what it was in is said to have been there. */
static void has_left(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        report(&f, "MPI_Recv");
    tern_mpi_lock();
    MPI_Barrier(MPI_COMM_WORLD); /* it has reported before the others wait */
    tern_mpi_unlock();
    capture c;
    capture_begin(&c);
    if (f.rank == 0)
        stay_away();
    tern_status status = tern_barrier(f.worker);
    capture_end(&c);
    EXPECT_OK(status);
    if (f.rank > 0) {
        CU_ASSERT(expect_text(&c, "rank 0 has been outside tern for "));
        CU_ASSERT(expect_text(&c, " s, after MPI_Recv: it computes"));
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* The last rank waits for the effect of a call that it holds back itself, while the others loop
 * around tern_progress: its warning says both. */
static void what_is_held_back(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    const bool waits = f.size > 1 && f.rank == f.size - 1;
    const double end = MPI_Wtime() + SECONDS + LONGER;
    tern_await wait = TERN_AWAIT_START;
    capture c;
    EXPECT_OK(tern_barrier(f.worker));
    if (waits) {
        tern_call_cork(f.worker);
        EXPECT_OK(tern_call_policy(f.worker, (tern_worker_id){0, 0}, TERN_PUBLISH_BATCHED, 4096));
        EXPECT_OK(tern_call(f.worker, (tern_worker_id){0, 0}, &answer_function, NULL, 0));
    }
    capture_begin(&c);
    while (MPI_Wtime() < end) {
        const size_t found = tern_progress(f.worker);
        if (waits)
            EXPECT_OK(tern_await_round(f.worker, &wait, found));
    }
    capture_end(&c);
    if (waits) {
        CU_ASSERT(expect_text(&c, "is in a loop of tern_progress, _test or _probe. This rank has "
                                  "not sent "));
        CU_ASSERT(expect_text(&c, " bytes of records to rank 0 (the worker is corked: "
                                  "tern_call_uncork sends them) itself. Remedies"));
        tern_call_uncork(f.worker);
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* The same of keys in buffers and of updates in a combiner. */
static void what_buffers_hold_back(void) {
    fixture f;
    if (!set_up(&f, SECONDS))
        return;
    const bool waits = f.size > 1 && f.rank == f.size - 1;
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    tern_hashtable_buffer *keys = NULL, *none = NULL;
    tern_map_buffer *changes = NULL;
    tern_combiner *combiner = NULL;
    const tern_hashtable_options shape = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
    EXPECT_OK(tern_hashtable_create(f.worker, &shape, &table));
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 1000}, &map));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 0, &keys));
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 0, &none));
    EXPECT_OK(tern_map_buffer_create(f.worker, map, 0, &changes));
    EXPECT_OK(tern_combiner_create(
        f.worker, &(tern_combiner_options){.function = &answer_function, .bytes = 8}, &combiner));
    uint64_t found = 0;
    for (uint64_t key = 0; waits && found < 2; key++)
        if (tern_hashtable_owner(table, &key) == 0 &&
            EXPECT_OK(tern_hashtable_buffer_insert(f.worker, keys, &key, &key)))
            found++;
    for (uint64_t key = 0; waits && found < 3; key++)
        if (tern_map_owner(map, &key, 8) == 0 &&
            EXPECT_OK(tern_map_buffer_insert(f.worker, changes, &key, 8, &key, 8)))
            found++;
    if (waits)
        EXPECT_OK(tern_combine(f.worker, combiner, (tern_worker_id){0, 0}, 1, &found));
    EXPECT_OK(tern_barrier(f.worker));
    capture c;
    capture_begin(&c);
    const double end = MPI_Wtime() + SECONDS + LONGER;
    tern_await wait = TERN_AWAIT_START;
    while (MPI_Wtime() < end) {
        const size_t events = tern_progress(f.worker);
        if (waits)
            EXPECT_OK(tern_await_round(f.worker, &wait, events));
    }
    capture_end(&c);
    if (waits)
        CU_ASSERT(expect_text(
            &c, "This rank has not sent 1 update in a combiner (tern_combiner_flush sends it), "
                "1 key in a buffer (tern_map_buffer_flush sends it), "
                "2 keys in a buffer (tern_hashtable_buffer_flush sends them) itself. Remedies"));
    EXPECT_OK(tern_combiner_destroy(f.worker, combiner));
    EXPECT_OK(tern_map_buffer_destroy(f.worker, changes, NULL));
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, keys, NULL));
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, none, NULL));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
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
        {"wait_in_a_team", wait_in_a_team},
        {"has_left", has_left},
        {"what_is_held_back", what_is_held_back},
        {"what_buffers_hold_back", what_buffers_hold_back},
        {"switched_off", switched_off},
    };
    return tern_test_main(argc, argv, "stuck", tests, sizeof tests / sizeof tests[0]);
}
