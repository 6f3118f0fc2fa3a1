#ifndef TERN_MAILBOX_ATOMIC_H
#define TERN_MAILBOX_ATOMIC_H

/*
 * What a mailbox (tern/mailbox.h) needs of the machine: loads that acquire, stores that release and
 * a few read-modify-writes that do both, all of them visible to every processor of the node.
 * Freestanding: C11 or C++ by the builtins of gcc and clang, CUDA device code by volatile accesses
 * and fences of system scope. Nothing here is for applications.
 *
 * They are loads and stores with an order of their own, not fences beside relaxed ones as in paper
 * 002, 7.2: the same instructions on x86, and ThreadSanitizer can follow them.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TERN_MAILBOX_INLINE static __host__ __device__ inline
#else
#define TERN_MAILBOX_INLINE static inline
#endif

/* Flags, lock words and packets that different processors write lie this far apart. */
#define TERN_MAILBOX_LINE 64

#ifdef __CUDA_ARCH__

/* A fence behind a load is an acquire, one before a store a release; around a read-modify-write
 * they are both. */

TERN_MAILBOX_INLINE uint8_t tern_mailbox_load8(const uint8_t *p) {
    uint8_t value = *(const volatile uint8_t *)p;
    __threadfence_system();
    return value;
}

TERN_MAILBOX_INLINE void tern_mailbox_store8(uint8_t *p, uint8_t value) {
    __threadfence_system();
    *(volatile uint8_t *)p = value;
}

TERN_MAILBOX_INLINE uint32_t tern_mailbox_load32(const uint32_t *p) {
    uint32_t value = *(const volatile uint32_t *)p;
    __threadfence_system();
    return value;
}

TERN_MAILBOX_INLINE void tern_mailbox_store32(uint32_t *p, uint32_t value) {
    __threadfence_system();
    *(volatile uint32_t *)p = value;
}

TERN_MAILBOX_INLINE int tern_mailbox_cas32(uint32_t *p, uint32_t expected, uint32_t value) {
    __threadfence_system();
    int done = atomicCAS_system((unsigned *)p, expected, value) == expected;
    __threadfence_system();
    return done;
}

TERN_MAILBOX_INLINE uint64_t tern_mailbox_load64(const uint64_t *p) {
    uint64_t value = *(const volatile uint64_t *)p;
    __threadfence_system();
    return value;
}

TERN_MAILBOX_INLINE void tern_mailbox_or64(uint64_t *p, uint64_t bits) {
    __threadfence_system();
    atomicOr_system((unsigned long long *)p, bits);
    __threadfence_system();
}

TERN_MAILBOX_INLINE void tern_mailbox_and64(uint64_t *p, uint64_t bits) {
    __threadfence_system();
    atomicAnd_system((unsigned long long *)p, bits);
    __threadfence_system();
}

TERN_MAILBOX_INLINE int tern_mailbox_cas64(uint64_t *p, uint64_t expected, uint64_t value) {
    __threadfence_system();
    int done = atomicCAS_system((unsigned long long *)p, expected, value) == expected;
    __threadfence_system();
    return done;
}

/* Of bits, which are not zero. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_lowest(uint64_t bits) {
    return (uint32_t)__ffsll((long long)bits) - 1;
}

/* What was copied to p is read from there from now on, not once more from where it came. */
TERN_MAILBOX_INLINE void tern_mailbox_settle(void *p) {
    (void)p;
    __threadfence_block();
}

/* Between two looks at a flag of somebody else. */
TERN_MAILBOX_INLINE void tern_mailbox_pause(void) {
#if __CUDA_ARCH__ >= 700
    __nanosleep(64);
#endif
}

#else

TERN_MAILBOX_INLINE uint8_t tern_mailbox_load8(const uint8_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

TERN_MAILBOX_INLINE void tern_mailbox_store8(uint8_t *p, uint8_t value) {
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

TERN_MAILBOX_INLINE uint32_t tern_mailbox_load32(const uint32_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

TERN_MAILBOX_INLINE void tern_mailbox_store32(uint32_t *p, uint32_t value) {
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

TERN_MAILBOX_INLINE int tern_mailbox_cas32(uint32_t *p, uint32_t expected, uint32_t value) {
    return __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

TERN_MAILBOX_INLINE uint64_t tern_mailbox_load64(const uint64_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

TERN_MAILBOX_INLINE void tern_mailbox_or64(uint64_t *p, uint64_t bits) {
    (void)__atomic_fetch_or(p, bits, __ATOMIC_ACQ_REL);
}

TERN_MAILBOX_INLINE void tern_mailbox_and64(uint64_t *p, uint64_t bits) {
    (void)__atomic_fetch_and(p, bits, __ATOMIC_ACQ_REL);
}

TERN_MAILBOX_INLINE int tern_mailbox_cas64(uint64_t *p, uint64_t expected, uint64_t value) {
    return __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Of bits, which are not zero. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_lowest(uint64_t bits) {
    return (uint32_t)__builtin_ctzll(bits);
}

/* What was copied to p is read from there from now on, not once more from where it came. */
TERN_MAILBOX_INLINE void tern_mailbox_settle(void *p) {
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* Between two looks at a flag of somebody else. */
TERN_MAILBOX_INLINE void tern_mailbox_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif

#endif
