// tern-test: transports

/* TERN_STATS: the table says what the ranks did, by the same numbers over every transport, and
 * there is none if nobody asks for it. */

#include "call_tools.h"
#include "caught.h"
#include "tern/notify.h"

#include "src/context.h"

enum { PUTS = 20, ATOMICS = 12, GETS = 7, CALLS = 10, ANSWERS = 5, NOTICES = 4 };

static uint64_t noted;

static tern_status note(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    noted++;
    if (bytes == 0)
        return TERN_OK;
    call->result_bytes = bytes;
    memcpy(call->result, arguments, bytes);
    return TERN_OK;
}
TERN_FUNCTION(note)

/* Each rank towards the next one. */
static void work(fixture *f) {
    tern_ptr *all = calloc(f->size, sizeof *all);
    const uint32_t next = (f->rank + 1) % f->size;
    uint64_t word = 0, answer = 0;
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
    for (uint64_t i = 0; i < CALLS; i++)
        EXPECT_OK(tern_call(f->worker, to(next), &note_function, &i, 0));
    for (uint64_t i = 0; i < ANSWERS; i++) {
        EXPECT_OK(tern_call_return(f->worker, to(next), &note_function, &i, sizeof i, &answer,
                                   sizeof answer, NULL));
        CU_ASSERT_EQUAL(answer, i);
    }
    for (uint64_t i = 0; i < NOTICES; i++)
        EXPECT_OK(tern_put_notify(f->worker, to(next), tern_ptr_add(all[next], 8), &i, sizeof i, 0,
                                  &i, sizeof i, TERN_NOTIFY_NO_LOCAL));
    for (uint64_t i = 0; i < NOTICES; i++) {
        tern_event event;
        EXPECT_OK(tern_event_wait(f->worker, TERN_PROBE_REMOTE, &event));
    }
    EXPECT_OK(tern_quiesce(f->worker));
    CU_ASSERT_EQUAL(noted, CALLS + ANSWERS);
    fixture_free_all(f, all);
    free(all);
}

static char *worked(int stats) {
    tern_config config;
    fixture f;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.stats = stats;
    if (!fixture_open(&f, &config))
        return NULL;
    CU_ASSERT(stats != 0 || f.worker->profile == NULL);
    work(&f);
    caught c = caught_begin();
    fixture_close(&f);
    return caught_end(&c);
}

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
    expect_line(text, "operations", "calls issued", "15 ");
    expect_line(text, "operations", "calls executed", "15 40");
    expect_line(text, "operations", "notified puts", "4 32");
    expect_line(text, "operations", "notifications received", "4 32");
    expect_line(text, "functions called", "note", "15 ");
    expect_line(text, "functions executed", "note", "15 40");
    expect_line(text, "counters", "calls_sent", "15");
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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"table_tells_what_was_done", table_tells_what_was_done},
        {"nobody_asked", nobody_asked},
    };
    return tern_test_main(argc, argv, "profile", tests, sizeof tests / sizeof tests[0]);
}
