#include "examples/games/hex/engine.h"

/* Short enough to show progress, and long enough not to cost noticeable time. */
static const double RUN_SECONDS = 0.25;

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

bool hex_think(hex_engine *engine, const hex_record *record, const tern_search_limits *limits,
               hex_progress show, tern_search_result *result) {
    double seconds = hex_record_seconds(record, record->board.player, limits->seconds);
    double taken = 0, done = 0;
    uint64_t rollouts = 0;
    while (done < 1) {
        /* If nobody watches, there is one run only. With a limit of rollouts it can be repeated
         * exactly. */
        tern_search_limits run = {.seconds = show != NULL ? RUN_SECONDS : 0};
        if (limits->rollouts > 0)
            run.rollouts = limits->rollouts - rollouts;
        if (seconds > 0 && (show == NULL || seconds - taken < RUN_SECONDS))
            run.seconds = seconds - taken;
        if (!hex_engine_think(engine, record, &run, result))
            return false;
        taken += result->seconds;
        rollouts += result->rollouts;
        double by_time = share(taken, seconds);
        double by_rollouts = share((double)rollouts, (double)limits->rollouts);
        done = by_time > by_rollouts ? by_time : by_rollouts;
        if (show != NULL)
            show(record, result, done);
    }
    /* The first rollout of a tree tries no move, so a very short run may have found none. */
    if (result->move_count == 0) {
        const tern_search_limits few = {.rollouts = 16};
        if (!hex_engine_think(engine, record, &few, result))
            return false;
        taken += result->seconds;
        rollouts += result->rollouts;
    }
    result->rollouts = rollouts;
    result->seconds = taken;
    return true;
}
