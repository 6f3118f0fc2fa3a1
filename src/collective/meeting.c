#include "src/collective/meeting.h"

#include "src/progress/wait.h"

/* Ends a meeting. The last rank to arrive calls this, while every other rank waits for the
 * generation. */
static void meeting_end(tern_meeting *meeting, uint64_t generation, uint64_t arrived,
                        uint64_t words[TERN_MEETING_WORDS]) {
    words[0] = arrived;
    /* R9: tern_meeting_hold; behind the last addition to arrived */
    for (size_t i = 1; i < TERN_MEETING_WORDS; i++) {
        words[i] = atomic_load_explicit(&meeting->gathered[i], memory_order_relaxed);
        if (words[i] != 0)
            atomic_store_explicit(&meeting->gathered[i], 0, memory_order_relaxed);
    }
    /* R9: tern_meeting_hold; before the generation, which each rank looks at before it adds */
    for (size_t i = 0; i < TERN_MEETING_WORDS; i++)
        atomic_store_explicit(&meeting->sums[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&meeting->arrived, 0, memory_order_relaxed);
    /* R1: tern_meeting_hold; a rank that leaves sees what each rank did before it came */
    atomic_store_explicit(&meeting->generation, generation + 1, memory_order_release);
}

tern_status tern_meeting_hold(tern_context *context, tern_worker *worker,
                              uint64_t words[TERN_MEETING_WORDS]) {
    tern_meeting *meeting = context->meeting;
    _Atomic uint64_t *generation = &meeting->generation;
    /* R1: meeting_end; before anything of the next meeting */
    const uint64_t mine = atomic_load_explicit(generation, memory_order_acquire);
    /* R9: meeting_end; the addition to arrived releases them */
    for (size_t i = 1; i < TERN_MEETING_WORDS; i++)
        if (words[i] != 0)
            atomic_fetch_add_explicit(&meeting->gathered[i], words[i], memory_order_relaxed);
    /* R8: tern_meeting_hold; the last to arrive sees what all others did */
    const uint64_t arrived = atomic_fetch_add(&meeting->arrived, words[0]) + words[0];
    if ((arrived & TERN_MEETING_COUNT) == context->size) {
        meeting_end(meeting, mine, arrived, words);
        return TERN_OK;
    }
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    /* R1: meeting_end */
    while (status == TERN_OK && atomic_load_explicit(generation, memory_order_acquire) == mine)
        status = tern_wait_round(context, &wait, tern_progress_process(worker), TERN_ANYBODY);
    /* R1: meeting_end; the last may have come while a death was noticed */
    if (status != TERN_OK && atomic_load_explicit(generation, memory_order_acquire) == mine)
        return status;
    /* R9: meeting_end; nobody stores new ones before this rank has come to the next meeting */
    for (size_t i = 0; i < TERN_MEETING_WORDS; i++)
        words[i] = atomic_load_explicit(&meeting->sums[i], memory_order_relaxed);
    return TERN_OK;
}
