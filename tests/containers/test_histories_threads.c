// tern-test: transports

/* As test_histories.c, with several workers of each rank, in threads of their own. */

#include "histories/crew.h"

static void several_workers_a_rank(void) {
    fixture f;
    history_crew crew;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = CREW_THREADS + 1;
    config.segment_size = (size_t)16 << 20;
    if (!fixture_open(&f, &config))
        return;
    if (history_crew_open(&crew, &f, CREW_THREADS)) {
        for (int c = 0; c < HISTORY_CONTAINERS; c++)
            history_campaign(&crew, (history_container)c);
        history_crew_close(&crew);
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"several_workers_a_rank", several_workers_a_rank},
    };
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "histories_threads", tests, 1);
}
