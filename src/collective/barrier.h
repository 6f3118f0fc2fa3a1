#ifndef TERN_SRC_COLLECTIVE_BARRIER_H
#define TERN_SRC_COLLECTIVE_BARRIER_H

/* Orders everything before the atomic read-modify-write that was just done before everything after
 * it, loads included. On x86 that atomic is a full barrier itself; elsewhere it is not. */
static inline void tern_fence_after_atomic(void) {
#if defined(__x86_64__) || defined(__i386__)
    /* R3; x86: the atomic before it is a full barrier */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    /* R3 */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
