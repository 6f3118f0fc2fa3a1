#ifndef TERN_MAILBOX_ATOMIC_H
#define TERN_MAILBOX_ATOMIC_H

/*
 * What a mailbox (tern/mailbox.h) needs of the machine: loads that acquire, stores that release and
 * a few read-modify-writes that release, or do both, all of them visible to every processor of the
 * node. Freestanding: C11 or C++ by the builtins of gcc and clang, CUDA device code by PTX's own
 * loads, stores and atomics of system scope. Nothing here is for applications.
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

#if __CUDA_ARCH__ < 700
#error "a mailbox needs a GPU of compute capability 7.0 or more: scoped atomics, lanes that diverge"
#endif

/*
 * Of system scope: the host and other GPUs are among those for whom they are ordered. Loads and
 * stores of a flag in pinned host memory are single transfers over PCIe, and enough for a pair.
 * Read-modify-writes of host memory need not be atomic for the host
 * (cudaDevAttrHostNativeAtomicSupported), only among the threads of one GPU. That is all a mailbox
 * asks for: a lock word, and a word of packed flags, is changed by one side alone. So a side is on
 * the host or on one GPU, never both.
 */

TERN_MAILBOX_INLINE uint8_t tern_mailbox_load8(const uint8_t *p) {
    uint32_t value;
    __asm__ volatile("ld.acquire.sys.u8 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return (uint8_t)value;
}

TERN_MAILBOX_INLINE void tern_mailbox_store8(uint8_t *p, uint8_t value) {
    __asm__ volatile("st.release.sys.u8 [%0], %1;" : : "l"(p), "r"((uint32_t)value) : "memory");
}

TERN_MAILBOX_INLINE uint32_t tern_mailbox_load32(const uint32_t *p) {
    uint32_t value;
    __asm__ volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

TERN_MAILBOX_INLINE void tern_mailbox_store32(uint32_t *p, uint32_t value) {
    __asm__ volatile("st.release.sys.u32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
}

TERN_MAILBOX_INLINE int tern_mailbox_cas32(uint32_t *p, uint32_t expected, uint32_t value) {
    uint32_t seen;
    __asm__ volatile("atom.acq_rel.sys.cas.b32 %0, [%1], %2, %3;"
                     : "=r"(seen)
                     : "l"(p), "r"(expected), "r"(value)
                     : "memory");
    return seen == expected;
}

TERN_MAILBOX_INLINE uint64_t tern_mailbox_load64(const uint64_t *p) {
    uint64_t value;
    __asm__ volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
    return value;
}

TERN_MAILBOX_INLINE void tern_mailbox_or64(uint64_t *p, uint64_t bits) {
    __asm__ volatile("red.release.sys.or.b64 [%0], %1;" : : "l"(p), "l"(bits) : "memory");
}

TERN_MAILBOX_INLINE void tern_mailbox_and64(uint64_t *p, uint64_t bits) {
    __asm__ volatile("red.release.sys.and.b64 [%0], %1;" : : "l"(p), "l"(bits) : "memory");
}

TERN_MAILBOX_INLINE int tern_mailbox_cas64(uint64_t *p, uint64_t expected, uint64_t value) {
    uint64_t seen;
    __asm__ volatile("atom.acq_rel.sys.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(seen)
                     : "l"(p), "l"(expected), "l"(value)
                     : "memory");
    return seen == expected;
}

/* Of bits, which are not zero. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_lowest(uint64_t bits) {
    return (uint32_t)__ffsll((long long)bits) - 1;
}

/* What was copied to p is read from there from now on, not once more from where it came. */
TERN_MAILBOX_INLINE void tern_mailbox_settle(void *p) {
    __asm__ volatile("" : : "l"(p) : "memory");
}

/* Between two looks at a flag of somebody else. */
TERN_MAILBOX_INLINE void tern_mailbox_pause(void) { __nanosleep(64); }

#else

TERN_MAILBOX_INLINE uint8_t tern_mailbox_load8(const uint8_t *p) {
    /* R1: tern_mailbox_store8 */
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

TERN_MAILBOX_INLINE void tern_mailbox_store8(uint8_t *p, uint8_t value) {
    /* R1: tern_mailbox_load8 */
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

TERN_MAILBOX_INLINE uint32_t tern_mailbox_load32(const uint32_t *p) {
    /* R6: tern_mailbox_store32, tern_mailbox_cas32 */
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

TERN_MAILBOX_INLINE void tern_mailbox_store32(uint32_t *p, uint32_t value) {
    /* R6: tern_mailbox_cas32, tern_mailbox_load32 */
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

TERN_MAILBOX_INLINE int tern_mailbox_cas32(uint32_t *p, uint32_t expected, uint32_t value) {
    /* R6: tern_mailbox_store32 */
    return __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

TERN_MAILBOX_INLINE uint64_t tern_mailbox_load64(const uint64_t *p) {
    /* R8: tern_mailbox_or64, tern_mailbox_and64, tern_mailbox_cas64 */
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

TERN_MAILBOX_INLINE void tern_mailbox_or64(uint64_t *p, uint64_t bits) {
    /* R8: tern_mailbox_load64 */
    (void)__atomic_fetch_or(p, bits, __ATOMIC_ACQ_REL);
}

TERN_MAILBOX_INLINE void tern_mailbox_and64(uint64_t *p, uint64_t bits) {
    /* R8: tern_mailbox_load64 */
    (void)__atomic_fetch_and(p, bits, __ATOMIC_ACQ_REL);
}

TERN_MAILBOX_INLINE int tern_mailbox_cas64(uint64_t *p, uint64_t expected, uint64_t value) {
    /* R8: tern_mailbox_load64 */
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
