#ifndef TERN_SRC_WAIT_H
#define TERN_SRC_WAIT_H

/*
 * Waiting: poll a little, then pause the processor, then give it up, so that more ranks than cores
 * still finish; look after the peers every few milliseconds. Every wait of tern is a loop around
 * tern_wait_step, or tern_wait_round where polls find other things than what is waited for.
 */

#include "src/context.h"
#include "src/error.h"

typedef struct tern_wait_state {
    uint32_t rounds; /* in a row that found nothing */
    uint32_t found;  /* rounds that found something */
    bool doomed;     /* at the last look in those who is waited for was dead */
    uint64_t looked; /* when peers were last looked after in vain rounds, ns */
} tern_wait_state;

/* Tells the processor that this is a polling loop. */
static inline void tern_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#define TERN_WAIT_START                                                                            \
    { 0, 0, false, 0 }
#define TERN_ANYBODY (UINT32_MAX - 1)

/* Call after a poll that found nothing. TERN_ERR_PEER if rank (or, for TERN_ANYBODY, any rank) is
 * dead; TERN_NOBODY waits whatever happens. */
tern_status tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank);

/* The same now and then after a poll that found something. */
tern_status tern_wait_look(tern_context *context, tern_wait_state *state, uint32_t rank);

/* After a poll that found so many things: who never ceases to call does not keep the news of
 * another one's death away. */
static inline tern_status tern_wait_round(tern_context *context, tern_wait_state *state,
                                          size_t found, uint32_t rank) {
    enum { FOUND_PER_LOOK = 4096 };
    if (found == 0)
        return tern_wait_step(context, state, rank);
    tern_error_clear_again();
    state->rounds = 0;
    return ++state->found % FOUND_PER_LOOK == 0 ? tern_wait_look(context, state, rank) : TERN_OK;
}

/* For tests that do not wait: looks after the peers now and then. TERN_ERR_PEER if rank is dead. */
tern_status tern_glance(tern_worker *worker, uint32_t rank);

/* Nanoseconds of a clock that only grows. */
uint64_t tern_now(void);

#endif
