// tern-test: unit

/* Statuses and the detail of failures. */

#include "fixture.h"

#include <pthread.h>

static void every_status_has_its_own_text(void) {
    for (int s = 0; s < TERN_STATUS_COUNT; s++) {
        const char *text = tern_strerror((tern_status)s);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT(text[0] != 0);
        for (int t = 0; t < s; t++)
            CU_ASSERT(strcmp(text, tern_strerror((tern_status)t)) != 0);
    }
}

static void no_status_has_a_text_too(void) {
    static const int wrong[] = {-1, TERN_STATUS_COUNT, TERN_STATUS_COUNT + 1, 1 << 30};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *text = tern_strerror((tern_status)wrong[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT(text[0] != 0);
        for (int s = 0; s < TERN_STATUS_COUNT; s++)
            CU_ASSERT(strcmp(text, tern_strerror((tern_status)s)) != 0);
    }
}

/* What a thread of its own sees, for the main thread to judge. */
typedef struct {
    char before[16], after[256];
    tern_status status;
} seen;

static void *fail_elsewhere(void *argument) {
    seen *s = argument;
    tern_config config;
    snprintf(s->before, sizeof s->before, "%s", tern_error_detail());
    s->status = tern_config_set(&config, "TERN_ELSEWHERE", "1");
    snprintf(s->after, sizeof s->after, "%s", tern_error_detail());
    return NULL;
}

static void detail_is_of_the_thread(void) {
    tern_config config;
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_HERE", "1"));
    EXPECT_DETAIL("TERN_HERE");

    seen s = {.before = "x"};
    pthread_t thread;
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, fail_elsewhere, &s) == 0);
    pthread_join(thread, NULL);
    CU_ASSERT_STRING_EQUAL(s.before, "");
    CU_ASSERT_EQUAL(s.status, TERN_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.after, "TERN_ELSEWHERE"));
    EXPECT_DETAIL("TERN_HERE");
}

static void detail_stays_until_the_next_failure(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_FIRST", "1"));
    CU_ASSERT_EQUAL(tern_config_set(&config, "TERN_WORKERS", "2"), TERN_OK);
    EXPECT_DETAIL("TERN_FIRST");
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_SECOND", "1"));
    EXPECT_DETAIL("TERN_SECOND");
    CU_ASSERT_PTR_NULL(strstr(tern_error_detail(), "TERN_FIRST"));
}

/* However long what the user gave: cut, never overrun. */
static void detail_has_a_limit(void) {
    static char name[100000], value[100000];
    memset(name, 'N', sizeof name - 1);
    memset(value, '7', sizeof value - 1);
    memcpy(name, "TERN_", 5);
    tern_config config;
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, name, "1"));
    CU_ASSERT(strlen(tern_error_detail()) < 10000);
    EXPECT_DETAIL("TERN_NNN");
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_WORKERS", value));
    CU_ASSERT(strlen(tern_error_detail()) < 10000);
    EXPECT_DETAIL("TERN_WORKERS");
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"every_status_has_its_own_text", every_status_has_its_own_text},
        {"no_status_has_a_text_too", no_status_has_a_text_too},
        {"detail_is_of_the_thread", detail_is_of_the_thread},
        {"detail_stays_until_the_next_failure", detail_stays_until_the_next_failure},
        {"detail_has_a_limit", detail_has_a_limit},
    };
    return tern_test_main(argc, argv, "status", tests, sizeof tests / sizeof tests[0]);
}
