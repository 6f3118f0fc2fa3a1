/*
 * That the checker bites: containers that are wrong on purpose (src/broken.h) are caught within a
 * bounded number of histories.
 */

#include "histories/crew.h"
#include "src/broken.h"

tern_break tern_broken = TERN_BREAK_NOTHING;

static void caught(tern_break place, history_container container) {
    enum { BATCH = 16, BATCHES = 2000 };
    fixture f;
    history_crew crew;
    if (!fixture_open(&f, NULL))
        return;
    if (history_crew_open(&crew, &f, 0)) {
        history_outcome outcome = {0};
        uint64_t judged = 0;
        tern_broken = place;
        for (uint64_t number = 0; number < BATCHES && outcome.wrong == 0; number++) {
            outcome = history_batch(&crew, container, number, BATCH, true);
            judged += outcome.judged;
        }
        CU_ASSERT(outcome.wrong > 0);
        tern_broken = TERN_BREAK_NOTHING;
        if (f.rank == 0)
            printf("by %llu histories ... ", (unsigned long long)judged);
        history_crew_close(&crew);
    }
    fixture_close(&f);
}

static void settle(void) { caught(TERN_BREAK_SETTLE, HISTORY_VALUES); }
static void entry(void) { caught(TERN_BREAK_ENTRY, HISTORY_VALUES); }
static void update(void) { caught(TERN_BREAK_UPDATE, HISTORY_VALUES); }
static void add(void) { caught(TERN_BREAK_ADD, HISTORY_COUNTERS); }
static void ticket(void) { caught(TERN_BREAK_TICKET, HISTORY_QUEUE); }
static void empty(void) { caught(TERN_BREAK_EMPTY, HISTORY_QUEUE); }
static void late(void) { caught(TERN_BREAK_LATE, HISTORY_QUEUE); }
static void order(void) { caught(TERN_BREAK_ORDER, HISTORY_QUEUE); }
static void steal(void) { caught(TERN_BREAK_STEAL, HISTORY_PARTS); }
static void flush(void) { caught(TERN_BREAK_FLUSH, HISTORY_VALUES); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"settle", settle}, {"entry", entry}, {"update", update}, {"add", add},
        {"ticket", ticket}, {"empty", empty}, {"late", late},     {"order", order},
        {"steal", steal},   {"flush", flush},
    };
    return tern_test_main(argc, argv, "broken", tests, sizeof tests / sizeof *tests);
}
