// tern-test: ranks survivors least=2

/* A rank dies while its context is profiled: the others destroy theirs, and write no table and no
 * timeline. */

#include "caught.h"
#include "survivors.h"

static void nobody_waits_for_a_table(void) {
    const uint32_t victim = (uint32_t)tern_test_size() - 1;
    tern_config config;
    fixture f;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.stats = 1;
    snprintf(config.trace, sizeof config.trace, "/dev/null");
    if (!fixture_open(&f, &config))
        return;
    fixture_lose(&f, victim);
    caught c = caught_begin();
    fixture_close(&f);
    char *text = caught_end(&c);
    CU_ASSERT_PTR_NULL(strstr(text, "statistics"));
    free(text);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"nobody_waits_for_a_table", nobody_waits_for_a_table},
    };
    return tern_test_main(argc, argv, "profile_faults", tests, sizeof tests / sizeof tests[0]);
}
