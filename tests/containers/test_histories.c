// tern-test: transports crowd

/*
 * Hash tables, maps and queues linearize: short random histories of all ranks on few objects, by
 * RMA, by call and by requests, one by one and in batches, under every promise, judged by
 * histories/linearize.h. Each run draws other histories; --seed repeats one.
 */

#include "histories/crew.h"

static void run(history_container container) {
    fixture f;
    history_crew crew;
    if (!fixture_open(&f, NULL))
        return;
    if (history_crew_open(&crew, &f, 0)) {
        history_campaign(&crew, container);
        history_crew_close(&crew);
    }
    fixture_close(&f);
}

static void of_values(void) { run(HISTORY_VALUES); }

static void of_counters(void) { run(HISTORY_COUNTERS); }

static void of_growing_values(void) { run(HISTORY_GROWING); }

static void of_growing_counters(void) { run(HISTORY_GROWING_COUNTERS); }

static void of_maps(void) { run(HISTORY_MAPS); }

static void of_a_queue(void) { run(HISTORY_QUEUE); }

static void of_waits(void) { run(HISTORY_PAIRS); }

static void of_parts(void) { run(HISTORY_PARTS); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"of_values", of_values},
        {"of_counters", of_counters},
        {"of_growing_values", of_growing_values},
        {"of_growing_counters", of_growing_counters},
        {"of_maps", of_maps},
        {"of_a_queue", of_a_queue},
        {"of_waits", of_waits},
        {"of_parts", of_parts},
    };
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "histories", tests, sizeof tests / sizeof *tests);
}
