#ifndef TERN_SRC_PROGRESS_WAIT_H
#define TERN_SRC_PROGRESS_WAIT_H

/*
 * Waiting: poll a little, then pause the processor, then give it up, so that more ranks than cores
 * still finish; look after the peers every few milliseconds. Every wait of tern is a loop around
 * tern_wait_step, or tern_wait_round where polls find other things than what is waited for. Calls
 * that do not wait, and that programs loop around, end a look in vain with tern_look_vainly.
 */

#include "base/process.h"
#include "base/error.h"
#include "src/context.h"

typedef tern_await tern_wait_state;

/* The function that tern_worker_may_wait was last asked about in this thread. */
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

/* Where tern_worker_may_wait comes before. */
#define TERN_WAIT_START TERN_WAIT_IN(NULL)
/* Elsewhere, with a name for the stuck report (src/peers/activity.h). */
#define TERN_WAIT_IN(name)                                                                         \
    { 0, 0, false, false, 0, 0, 0, 0, name, NULL, NULL, UINT64_MAX }
/* The same in the function that may wait, with what it waits for: "lock", NULL, 3. */
#define TERN_WAIT_FOR(what, name, number)                                                          \
    { 0, 0, false, false, 0, 0, 0, 0, NULL, what, name, number }
#define TERN_ANYBODY (UINT32_MAX - 1)

/* Gives the processor up, unless the worker runs a handler, and counts it. */
void tern_worker_yield(tern_worker *worker) __attribute__((cold));

/* Call after a poll that found nothing. TERN_ERR_PEER if rank (or, for TERN_ANYBODY, any rank) is
 * dead; TERN_NOBODY waits whatever happens. */
tern_status tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank);

/* The same now and then after a poll that found something. */
tern_status tern_wait_look(tern_context *context, tern_wait_state *state, uint32_t rank);

/* After a poll that found so many things. A rank that never ceases to call does not delay the news
 * of another rank's death. */
static inline tern_status tern_wait_round(tern_context *context, tern_wait_state *state,
                                          size_t found, uint32_t rank) {
    enum { FOUND_PER_LOOK = 4096 };
    if (found == 0)
        return tern_wait_step(context, state, rank);
    tern_error_clear_again();
    state->rounds = 0;
    return ++state->found % FOUND_PER_LOOK == 0 ? tern_wait_look(context, state, rank) : TERN_OK;
}

/* For calls that do not wait, after a look that found nothing: a program may loop around them, and
 * what it loops for may need this processor. Gives the processor up once in some hundreds of such
 * looks in a row. */
static inline void tern_look_vainly(tern_worker *worker) {
    enum {
        LOOKS_PER_YIELD = 256
    }; /* chosen by measuring: a yield costs as much as some 20 looks */
    if (__builtin_expect(++worker->vain % LOOKS_PER_YIELD == 0, 0))
        tern_worker_yield(worker);
}

/* For tests that do not wait: looks after the peers now and then. TERN_ERR_PEER if rank is dead. */
tern_status tern_glance(tern_worker *worker, uint32_t rank);

#endif
