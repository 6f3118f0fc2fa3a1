// tern-test: transports

/* TERN_STATS: the table says what the ranks did, by the same numbers over every transport, and
 * no table is written if nobody asks for it. TERN_TRACE: the timeline says the same. */

#include <limits.h>

#include "call_tools.h"
#include "caught.h"
#include "tern/notify.h"

#include "src/context.h"
#include "src/profile/profile.h"

#ifdef TERN_HAVE_JANSSON
#include "timeline.h"
#endif

enum { PUTS = 20, ATOMICS = 12, GETS = 7, CALLS = 10, ANSWERS = 5, NOTICES = 4 };
/* Calls by message: without arguments, with a result, with a buffer. And one that no ring takes. */
enum { PLAIN = 3, ANSWERED = 2, BUFFERED = 1, MESSAGES = PLAIN + ANSWERED + BUFFERED, LARGE = 1 };
enum { LARGE_BYTES = 200000 };
enum { ALL_CALLS = CALLS + ANSWERS + MESSAGES + LARGE };

static uint64_t noted;

static tern_status note(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    noted++;
    if (bytes != sizeof(uint64_t))
        return TERN_OK;
    call->result_bytes = bytes;
    memcpy(call->result, arguments, bytes);
    return TERN_OK;
}
TERN_FUNCTION(note)

static void call(fixture *f, uint32_t next) {
    const tern_worker_id by_message = tern_by_message(to(next));
    const tern_call_options with_buffer = {
        .transfer = TERN_BUFFER_INSIDE, .buffer = "buffer", .buffer_bytes = sizeof "buffer"};
    char *large = calloc(1, LARGE_BYTES);
    uint64_t answer = 0;
    for (uint64_t i = 0; i < CALLS; i++)
        EXPECT_OK(tern_call(f->worker, to(next), &note_function, &i, 0));
    for (uint64_t i = 0; i < PLAIN; i++)
        EXPECT_OK(tern_call(f->worker, by_message, &note_function, &i, 0));
    for (uint64_t i = 0; i < BUFFERED; i++)
        EXPECT_OK(tern_call_with(f->worker, by_message, &note_function, &i, 0, &with_buffer));
    for (uint64_t i = 0; i < ANSWERS + ANSWERED; i++) {
        EXPECT_OK(tern_call_return(f->worker, i < ANSWERS ? to(next) : by_message, &note_function,
                                   &i, sizeof i, &answer, sizeof answer, NULL));
        CU_ASSERT_EQUAL(answer, i);
    }
    for (uint64_t i = 0; i < LARGE; i++)
        EXPECT_OK(tern_call(f->worker, to(next), &note_function, large, LARGE_BYTES));
    free(large);
}

/* Each rank towards the next one. */
static void work(fixture *f) {
    tern_ptr *all = calloc(f->size, sizeof *all);
    const uint32_t next = (f->rank + 1) % f->size;
    uint64_t word = 0;
    noted = 0;
    fixture_alloc_all(f, 64, TERN_DOMAIN_OWNER, all);
    for (uint64_t i = 0; i < PUTS; i++)
        EXPECT_OK(tern_put(f->worker, all[next], &i, sizeof i));
    EXPECT_OK(tern_flush(f->worker, next));
    for (uint64_t i = 0; i < ATOMICS; i++)
        EXPECT_OK(tern_atomic_fetch_add(f->worker, all[next], 1, &word));
    CU_ASSERT_EQUAL(word, PUTS - 1 + ATOMICS - 1);
    for (uint64_t i = 0; i < GETS; i++)
        EXPECT_OK(tern_get(f->worker, &word, all[next], sizeof word));
    CU_ASSERT_EQUAL(word, PUTS - 1 + ATOMICS);
    call(f, next);
    for (uint64_t i = 0; i < NOTICES; i++)
        EXPECT_OK(tern_put_notify(f->worker, to(next), tern_ptr_add(all[next], 8), &i, sizeof i,
                                  &(tern_notify_options){.cid = &i,
                                                         .cid_bytes = sizeof i,
                                                         .flags = TERN_NOTIFY_NO_LOCAL}));
    for (uint64_t i = 0; i < NOTICES; i++) {
        tern_event event;
        EXPECT_OK(tern_event_wait(f->worker, TERN_PROBE_REMOTE, &event));
    }
    EXPECT_OK(tern_quiesce(f->worker));
    CU_ASSERT_EQUAL(noted, ALL_CALLS);
    fixture_free_all(f, all);
    free(all);
}

/* trace: the file, or NULL. Returns what rank 0 has written when the context went. */
static char *worked_tracing(int stats, const char *trace, size_t events) {
    tern_config config;
    fixture f;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.stats = stats;
    if (trace != NULL)
        snprintf(config.trace, sizeof config.trace, "%s", trace);
    config.trace_events = events;
    if (!fixture_open(&f, &config))
        return NULL;
    CU_ASSERT(stats != 0 || trace != NULL || f.worker->profile == NULL);
    work(&f);
    caught c = caught_begin();
    fixture_close(&f);
    return caught_end(&c);
}

static char *worked(int stats) { return worked_tracing(stats, NULL, 1); }

/* Whether the line name of a part of the table has these cells first. */
static void expect_line(const char *text, const char *part, const char *name, const char *cells) {
    char heading[64], start[64], wanted[128], got[128] = "no such line";
    snprintf(heading, sizeof heading, "\n%s ", part);
    snprintf(start, sizeof start, "\n%-40s ", name);
    const char *at = strstr(text, heading);
    at = at != NULL ? strstr(at, start) : NULL;
    if (at != NULL) {
        char first[32] = "", second[32] = "";
        sscanf(at + strlen(start), "%31s %31s", first, second);
        snprintf(got, sizeof got, "%s %s", first, second);
    }
    snprintf(wanted, sizeof wanted, "%s", cells);
    if (strncmp(got, wanted, strlen(wanted)) != 0)
        fprintf(stderr, "%s, %s: '%s', not '%s', in\n%s", part, name, got, wanted, text);
    CU_ASSERT_EQUAL(strncmp(got, wanted, strlen(wanted)), 0);
}

static void table_tells_what_was_done(void) {
    char *text = worked(1), pair[64];
    if (text == NULL)
        return;
    if (tern_test_rank() != 0) {
        CU_ASSERT_STRING_EQUAL(text, "");
        free(text);
        return;
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "tern: statistics of "));
    expect_line(text, "operations", "puts", "20 160");
    expect_line(text, "operations", "gets", "7 56");
    expect_line(text, "operations", "atomics", "12 96");
    expect_line(text, "operations", "calls issued", "22 ");
    expect_line(text, "operations", "calls executed", "22 200K");
    expect_line(text, "operations", "notified puts", "4 32");
    expect_line(text, "operations", "notifications received", "4 32");
    expect_line(text, "functions called", "note", "22 ");
    expect_line(text, "functions executed", "note", "22 200K");
    expect_line(text, "counters", "calls_sent", "22");
    snprintf(pair, sizeof pair, "rank 0 to rank %d", 1 % tern_test_size());
    /* A flush, if it has something to wait for, is one more. */
    CU_ASSERT_PTR_NOT_NULL(strstr(text, pair));
    free(text);
}

static void nobody_asked(void) {
    char *text = worked(0);
    if (text != NULL)
        CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
}

static void the_file_cannot_be_written(void) {
    tern_config config;
    tern_context *context = NULL;
    EXPECT_OK(tern_config_init(&config));
    snprintf(config.trace, sizeof config.trace, "/no such folder/timeline.json");
    EXPECT(TERN_ERR_CONFIG, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("TERN_TRACE: rank 0 cannot write /no such folder/timeline.json");
    CU_ASSERT_PTR_NULL(context);
}

#ifdef TERN_HAVE_JANSSON

/* Nodes, which are virtual, have clocks of their own: one begins 1,000 s after another, and gains
 * 100 ms a second. The linker puts this function in the place of tern_now. */
static uint64_t node;
/* NOLINTBEGIN(bugprone-reserved-identifier) */
uint64_t __real_tern_now(void);
uint64_t __wrap_tern_now(void);
uint64_t __wrap_tern_now(void) {
    const uint64_t now = __real_tern_now();
    return now + node * (1000000000000 + now / 10);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void set_clock(void) {
    const char *text = getenv("TERN_RANKS_PER_NODE");
    const int ranks = text != NULL ? atoi(text) : 0;
    node = ranks > 0 ? (uint64_t)(tern_test_rank() / ranks) : 0;
}

/* [out] name: the same on all ranks; file: what rank 0 makes of it, the first time the same. */
static void name_files(char name[64], char file[80]) {
    static unsigned before;
    snprintf(name, 64, "/tmp/tern-timeline-XXXXXX");
    if (tern_test_rank() == 0) {
        const int fd = mkstemp(name);
        CU_ASSERT_FATAL(fd >= 0);
        close(fd);
    }
    MPI_Bcast(name, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(file, 80, "%s", name);
    if (before++ > 0)
        snprintf(file, 80, "%s.%u", name, before);
}

/* The cells of the table: the least, the middle and the largest number of a rank. */
static void expect_same_numbers(const char *table, const timeline *t, const char *category) {
    unsigned count[64] = {0}, least = UINT_MAX, most = 0;
    const int ranks = tern_test_size();
    for (int r = 0; r < ranks; r++) {
        count[r] = timeline_count(t, r, category);
        least = count[r] < least ? count[r] : least;
        most = count[r] > most ? count[r] : most;
    }
    char heading[64], cells[64] = "-";
    snprintf(heading, sizeof heading, "\n%-40s ", category);
    const char *at = strstr(table, heading);
    if (at != NULL)
        sscanf(at + strlen(heading), "%63s", cells);
    unsigned low = 0, middle, high = 0;
    const int numbers = sscanf(cells, "%u/%u/%u", &low, &middle, &high);
    if (most > 9999) /* which the table shortens */
        return;
    CU_ASSERT_EQUAL(low, least);
    CU_ASSERT_EQUAL(numbers == 3 ? high : low, most);
}

static void timeline_shows_what_was_done(void) {
    static const char *const kinds[TERN_SPAN_KINDS] = {
#define X(name, text, one) text,
        TERN_SPANS(X)
#undef X
    };
    char name[64], file[80];
    name_files(name, file);
    set_clock();
    char *text = worked_tracing(1, name, 100000);
    node = 0;
    if (text == NULL)
        return;
    if (tern_test_rank() == 0) {
        timeline t = timeline_read(file);
        timeline_check_threads(&t);
        CU_ASSERT_EQUAL(timeline_check_arrows(&t),
                        (ALL_CALLS + NOTICES) * (unsigned)tern_test_size());
        for (int k = TERN_SPAN_OTHER + 1; k < TERN_SPAN_WAIT; k++)
            expect_same_numbers(text, &t, kinds[k]);
        for (int r = 0; r < tern_test_size(); r++) {
            CU_ASSERT_EQUAL(timeline_count(&t, r, "puts"), PUTS);
            CU_ASSERT_EQUAL(timeline_count(&t, r, "calls issued"), ALL_CALLS);
            CU_ASSERT_EQUAL(timeline_count(&t, r, "calls executed"), ALL_CALLS);
            CU_ASSERT_EQUAL(timeline_count(&t, r, "notifications received"), NOTICES);
        }
        timeline_free(&t);
        unlink(file);
        unlink(name);
    }
    free(text);
}

static void a_full_timeline_says_what_it_lacks(void) {
    enum { ROOM = PUTS };
    char name[64], file[80];
    name_files(name, file);
    char *text = worked_tracing(0, name, ROOM);
    if (text == NULL)
        return;
    if (tern_test_rank() == 0) {
        timeline t = timeline_read(file);
        const json_t *data = json_object_get(t.file, "otherData");
        const long long dropped = json_integer_value(json_object_get(data, "dropped"));
        char warning[128];
        snprintf(warning, sizeof warning, "%s lacks %lld events", file, dropped);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, warning));
        CU_ASSERT(dropped >= (ATOMICS + GETS) * tern_test_size());
        for (int r = 0; r < tern_test_size(); r++)
            CU_ASSERT(timeline_count(&t, r, "puts") <= ROOM);
        timeline_check_threads(&t);
        timeline_free(&t);
        unlink(file);
        unlink(name);
    }
    free(text);
}

#endif

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"table_tells_what_was_done", table_tells_what_was_done},
        {"nobody_asked", nobody_asked},
#ifdef TERN_HAVE_JANSSON
        {"timeline_shows_what_was_done", timeline_shows_what_was_done},
        {"a_full_timeline_says_what_it_lacks", a_full_timeline_says_what_it_lacks},
#endif
        {"the_file_cannot_be_written", the_file_cannot_be_written},
    };
    return tern_test_main(argc, argv, "profile", tests, sizeof tests / sizeof tests[0]);
}
