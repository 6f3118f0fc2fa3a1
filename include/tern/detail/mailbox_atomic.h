#ifndef TERN_DETAIL_MAILBOX_ATOMIC_H
#define TERN_DETAIL_MAILBOX_ATOMIC_H

/*
 * The processor operations that a mailbox (tern/mailbox.h) needs: loads that acquire, stores that
 * release, and a few read-modify-writes that release or do both. All processors of the node see
 * them. Freestanding: C11 and C++ use the builtins of gcc and clang, CUDA device code uses PTX's
 * loads, stores and atomics of system scope. Nothing in this header is for applications.
 *
 * The loads and stores carry the order themselves. Paper 002, 7.2, has fences beside relaxed
 * accesses instead. On x86 the instructions are the same, and ThreadSanitizer can follow this form.
 */

#include <stddef.h>
#include <stdint.h>

/* libtern_mailbox, which has a copy of each inline function too, defines it otherwise. */
#ifndef TERN_MAILBOX_INLINE
#ifdef __CUDACC__
#define TERN_MAILBOX_INLINE static __host__ __device__ inline
#else
#define TERN_MAILBOX_INLINE static inline
#endif
#endif

/* Distance in bytes between flags, lock words and packets that different processors write. */
#define TERN_MAILBOX_LINE 64

#ifdef __CUDA_ARCH__

#if __CUDA_ARCH__ < 700
#error "a mailbox needs a GPU of compute capability 7.0 or more: scoped atomics, lanes that diverge"
#endif

/*
 * All accesses are of system scope, so they are also ordered for the host and for other GPUs. A
 * load or store of a flag in pinned host memory is a single transfer over PCIe, which is enough for
 * one client with one server. A read-modify-write of host memory is atomic among the threads of one
 * GPU, but need not be atomic for the host (cudaDevAttrHostNativeAtomicSupported). A mailbox needs
 * no more, because only one side changes a given lock word or word of packed flags. Therefore all
 * workers of a side must be on the host, or all on one GPU.
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

/* Returns the number of the lowest bit that is set. bits must not be 0. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_lowest(uint64_t bits) {
    return (uint32_t)__ffsll((long long)bits) - 1;
}

/* Makes the compiler read what was copied to p from p from now on, not again from the source. */
TERN_MAILBOX_INLINE void tern_mailbox_settle(void *p) {
    __asm__ volatile("" : : "l"(p) : "memory");
}

/* Pauses between two looks at a flag that another thread writes. */
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

/* Returns the number of the lowest bit that is set. bits must not be 0. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_lowest(uint64_t bits) {
    return (uint32_t)__builtin_ctzll(bits);
}

/* Makes the compiler read what was copied to p from p from now on, not again from the source. */
TERN_MAILBOX_INLINE void tern_mailbox_settle(void *p) {
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* Pauses between two looks at a flag that another thread writes. */
TERN_MAILBOX_INLINE void tern_mailbox_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif

#endif
