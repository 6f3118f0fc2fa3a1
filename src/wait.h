#ifndef TERN_SRC_WAIT_H
#define TERN_SRC_WAIT_H

/*
 * Waiting: poll a little, then pause the processor, then give it up, so that more ranks than cores
 * still finish; look after the peers every few milliseconds. Every wait of tern is a loop around
 * tern_wait_step.
 */

#include "src/context.h"

typedef struct tern_wait_state {
    uint32_t rounds;
    uint64_t looked; /* when peers were last looked after, ns */
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
    { 0, 0 }
#define TERN_ANYBODY (UINT32_MAX - 1)

/* Call after a poll that found nothing. TERN_ERR_PEER if rank (or, for TERN_ANYBODY, any rank) is
 * dead; TERN_NOBODY waits whatever happens. */
tern_status tern_wait_step(tern_context *context, tern_wait_state *state, uint32_t rank);

/* For tests that do not wait: looks after the peers now and then. TERN_ERR_PEER if rank is dead. */
tern_status tern_glance(tern_worker *worker, uint32_t rank);

/* Nanoseconds of a clock that only grows. */
uint64_t tern_now(void);

#endif
