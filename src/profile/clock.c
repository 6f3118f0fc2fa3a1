#include "base/error.h"
#include "src/collective/collective.h"
#include "src/profile/trace.h"

/*
 * Clocks of machines differ. Rank 0 asks each rank that may be on another machine several times for
 * its time. The answer that came back fastest is the best: the rank has read its clock between the
 * question and the answer, so taking the middle is wrong by at most half of the time between the
 * two.
 */

enum { QUESTIONS = 8 };

/* Rank 0's side: finds out the clock of a rank. */
static tern_status clock_ask(tern_context *context, uint32_t rank) {
    tern_clock found = {.error = UINT64_MAX};
    tern_status status = TERN_OK;
    for (int i = 0; i < QUESTIONS && status == TERN_OK; i++) {
        uint64_t theirs = 0;
        const uint64_t asked = tern_now();
        status = tern_collective_pass(context, 0, rank, &theirs, sizeof theirs);
        if (status == TERN_OK)
            status = tern_collective_pass(context, rank, 0, &theirs, sizeof theirs);
        const uint64_t took = tern_now() - asked, error = took / 2 + 1;
        if (status == TERN_OK && error < found.error)
            found = (tern_clock){(int64_t)(theirs - (asked + took / 2)), theirs, error};
    }
    if (status == TERN_OK)
        status = tern_collective_pass(context, 0, rank, &found, sizeof found);
    return status;
}

static tern_status clock_answer(tern_context *context, tern_clock *clock) {
    tern_status status = TERN_OK;
    for (int i = 0; i < QUESTIONS && status == TERN_OK; i++) {
        uint64_t mine = 0;
        status = tern_collective_pass(context, 0, context->rank, &mine, sizeof mine);
        mine = tern_now();
        if (status == TERN_OK)
            status = tern_collective_pass(context, context->rank, 0, &mine, sizeof mine);
    }
    if (status == TERN_OK)
        status = tern_collective_pass(context, 0, context->rank, clock, sizeof *clock);
    return status;
}

tern_status tern_clock_compare(tern_context *context, tern_clock *clock) {
    tern_status status = TERN_OK;
    *clock = (tern_clock){.at = tern_now()};
    if (context->rank != 0)
        return tern_same_node(context, 0) ? TERN_OK : clock_answer(context, clock);
    for (uint32_t r = 1; r < context->size && status == TERN_OK; r++)
        if (!tern_same_node(context, r))
            status = clock_ask(context, r);
    return status;
}
