#ifndef TERN_SRC_PROGRESS_WAIT_H
#define TERN_SRC_PROGRESS_WAIT_H

/*
 * Waiting: a wait first polls, then pauses the processor between polls, then gives the processor
 * up, so that programs with more ranks than cores finish; every few milliseconds it looks for
 * deaths. Every wait of tern is a loop around tern_wait_step, or around tern_wait_round if polls
 * also find other events than the one it waits for. Functions that do not wait, but around which
 * programs loop, call tern_look_vainly when they find nothing.
 */

#include "base/process.h"
#include "base/error.h"
#include "src/context.h"

typedef tern_await tern_wait_state;

/* The function for which this thread last called tern_worker_may_wait. */
extern _Thread_local const char *tern_waits_in __attribute__((tls_model("initial-exec")));

/* A number that no other thread of the process has. */
static inline uintptr_t tern_thread_self(void) { return (uintptr_t)&tern_waits_in; }

/* Tells the processor that this is a polling loop. */
static inline void tern_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* For waits after a tern_worker_may_wait. */
#define TERN_WAIT_START TERN_WAIT_IN(NULL)
/* For other waits, with the function's name for the stuck report (src/peers/activity.h). */
#define TERN_WAIT_IN(name)                                                                         \
    { 0, 0, false, false, 0, 0, 0, 0, name, NULL, NULL, UINT64_MAX }
/* After a tern_worker_may_wait, with what the function waits for, such as "lock", NULL, 3. */
#define TERN_WAIT_FOR(what, name, number)                                                          \
    { 0, 0, false, false, 0, 0, 0, 0, NULL, what, name, number }
#define TERN_ANYBODY (UINT32_MAX - 1)

/* Gives the processor up, unless the worker runs a handler, and counts it. */
void tern_worker_yield(tern_worker *worker) __attribute__((cold));

/* Call it after a poll that found nothing. TERN_ERR_PEER: rank (for TERN_ANYBODY: any rank) is
 * dead. With TERN_NOBODY no death ends the wait. */
tern_status tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank);

/* Does the same after a poll that found something; call it only now and then. */
tern_status tern_wait_look(tern_context *context, tern_wait_state *state, uint32_t rank);

/* Call it after each poll, with the number of events that the poll found. It looks for deaths even
 * if every poll finds events, so a rank that calls without pause cannot hide another rank's death.
 */
static inline tern_status tern_wait_round(tern_context *context, tern_wait_state *state,
                                          size_t found, uint32_t rank) {
    enum { FOUND_PER_LOOK = 4096 };
    if (found == 0)
        return tern_wait_step(context, state, rank);
    tern_error_clear_again();
    state->rounds = 0;
    return ++state->found % FOUND_PER_LOOK == 0 ? tern_wait_look(context, state, rank) : TERN_OK;
}

/* Called by functions that do not wait when they find nothing: a program may loop around them, and
 * the rank that it loops for may need this processor. Gives the processor up once in some hundreds
 * of such calls in a row. */
static inline void tern_look_vainly(tern_worker *worker) {
    enum {
        LOOKS_PER_YIELD = 256
    }; /* chosen by measuring: a yield costs as much as some 20 looks */
    if (__builtin_expect(++worker->vain % LOOKS_PER_YIELD == 0, 0))
        tern_worker_yield(worker);
}

/* Called by tests that do not wait: looks for deaths now and then. TERN_ERR_PEER: rank is dead. */
tern_status tern_glance(tern_worker *worker, uint32_t rank);

#endif
