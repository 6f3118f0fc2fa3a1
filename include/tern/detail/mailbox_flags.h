#ifndef TERN_DETAIL_MAILBOX_FLAGS_H
#define TERN_DETAIL_MAILBOX_FLAGS_H

/*
 * The flags of one side of a mailbox (tern/mailbox.h), one for each slot. The side writes its
 * flags, and the other side reads them. There are three layouts with one interface.
 * TERN_MAILBOX_LAYOUT chooses one at compile time; all programs that share a mailbox must choose
 * the same:
 *
 *   TERN_MAILBOX_LINES  a byte for each flag, each on a cache line of its own (the default), or
 *                       TERN_MAILBOX_STRIDE bytes apart; plain loads and stores are enough
 *   TERN_MAILBOX_BITS   a bit for each flag, changed by fetch-or and fetch-and (paper 002, 8.2)
 *   TERN_MAILBOX_CAS    a bit for each flag, changed by compare-and-swap; one that succeeds also
 *                       publishes the changes of all workers about to make one (paper 002, 8.3)
 *
 * If the other side is not trusted, use TERN_MAILBOX_LINES: there a write is a single store. With
 * TERN_MAILBOX_CAS, a peer that keeps changing the shared word could keep a swap from ever
 * succeeding.
 *
 * A worker that writes a flag holds its slot. So each flag has one writer at a time, and the writer
 * knows its value. Nothing in this header is for applications.
 */

#include "tern/detail/mailbox_atomic.h"

#define TERN_MAILBOX_LINES 1
#define TERN_MAILBOX_BITS 2
#define TERN_MAILBOX_CAS 3

#ifndef TERN_MAILBOX_LAYOUT
#define TERN_MAILBOX_LAYOUT TERN_MAILBOX_LINES
#endif

#if TERN_MAILBOX_LAYOUT == TERN_MAILBOX_LINES

#ifndef TERN_MAILBOX_STRIDE
#define TERN_MAILBOX_STRIDE TERN_MAILBOX_LINE
#endif

/* Number of flags that one load reads. */
#define TERN_MAILBOX_GROUP 1u
#define TERN_MAILBOX_GROUP_BYTES (TERN_MAILBOX_STRIDE)

typedef struct tern_mailbox_flags {
    uint8_t *bytes;
} tern_mailbox_flags;

TERN_MAILBOX_INLINE tern_mailbox_flags tern_mailbox_flags_at(void *memory) {
    tern_mailbox_flags flags = {(uint8_t *)memory};
    return flags;
}

/* Loads the flags of a group, the first in the lowest bit. It acquires: a thread that sees a flag
 * set or cleared also sees what the flag's writer wrote before that. */
TERN_MAILBOX_INLINE uint64_t tern_mailbox_flags_load(const tern_mailbox_flags *flags,
                                                     uint32_t group) {
    return tern_mailbox_load8(flags->bytes + (size_t)group * TERN_MAILBOX_STRIDE);
}

TERN_MAILBOX_INLINE void tern_mailbox_flags_write(const tern_mailbox_flags *flags, uint32_t slot,
                                                  unsigned value) {
    tern_mailbox_store8(flags->bytes + (size_t)slot * TERN_MAILBOX_STRIDE, (uint8_t)value);
}

/* Completes a write during which its writer died. Here a write is one store, so nothing is left to
 * do. */
TERN_MAILBOX_INLINE void tern_mailbox_flags_repair(const tern_mailbox_flags *flags, uint32_t slot) {
    (void)flags;
    (void)slot;
}

#elif TERN_MAILBOX_LAYOUT == TERN_MAILBOX_BITS

/*
 * Order: a read-modify-write of another bit of the word continues the release sequence of the one
 * before. So a reader that acquires the word sees what every writer whose bit it finds there wrote
 * before it, even if another writer changed the word last.
 */

#define TERN_MAILBOX_GROUP 64u
#define TERN_MAILBOX_GROUP_BYTES TERN_MAILBOX_LINE

typedef struct tern_mailbox_flags {
    uint8_t *words; /* one cache line for each 64 flags, with the word at its start */
} tern_mailbox_flags;

TERN_MAILBOX_INLINE tern_mailbox_flags tern_mailbox_flags_at(void *memory) {
    tern_mailbox_flags flags = {(uint8_t *)memory};
    return flags;
}

TERN_MAILBOX_INLINE uint64_t *tern_mailbox_flags_word(const tern_mailbox_flags *flags,
                                                      uint32_t group) {
    return (uint64_t *)(void *)(flags->words + (size_t)group * TERN_MAILBOX_GROUP_BYTES);
}

TERN_MAILBOX_INLINE uint64_t tern_mailbox_flags_load(const tern_mailbox_flags *flags,
                                                     uint32_t group) {
    return tern_mailbox_load64(tern_mailbox_flags_word(flags, group));
}

TERN_MAILBOX_INLINE void tern_mailbox_flags_write(const tern_mailbox_flags *flags, uint32_t slot,
                                                  unsigned value) {
    uint64_t *word = tern_mailbox_flags_word(flags, slot / TERN_MAILBOX_GROUP);
    uint64_t bit = (uint64_t)1 << slot % TERN_MAILBOX_GROUP;
    if (value)
        tern_mailbox_or64(word, bit);
    else
        tern_mailbox_and64(word, ~bit);
}

TERN_MAILBOX_INLINE void tern_mailbox_flags_repair(const tern_mailbox_flags *flags, uint32_t slot) {
    (void)flags;
    (void)slot;
}

#elif TERN_MAILBOX_LAYOUT == TERN_MAILBOX_CAS

/*
 * 64 flags take two words: a staged word, which only this side touches, and a shared word, which
 * the other side reads. A worker changes its bit in the staged word. Then it publishes the whole
 * staged word, and repeats that until it finds its bit in the shared word, where another worker
 * may have published it.
 *
 * A worker that was suspended before its swap may hold an old value of the staged word, and
 * meanwhile the shared word may have returned to the value that its swap expects. Such a swap does
 * no harm, because a worker tries a swap only while its own bit is unpublished. Proof: let P be the
 * first swap that publishes a value of the staged word older than a value published before, by a
 * swap R. Both values were staged after P's worker staged its bit, so R's value has the bit, and so
 * do all values published since, because P is the first to go back. But P expects a shared word
 * without the bit, and therefore fails. So values are published in the order in which they were
 * staged, and a published bit stays until its holder stages another. The look before the swap is
 * needed every time, even the first; without it the algorithm is wrong (tests/spin/batch.pml shows
 * both). A worker's swap fails at most once for each other worker that was about to publish,
 * because a worker that loads the staged word later publishes this bit as well.
 *
 * Order: the change of the staged word releases, the load of the staged word acquires, and the swap
 * releases. So a thread that acquires the shared word sees what the holder of each bit wrote before
 * it staged the bit.
 */

#define TERN_MAILBOX_GROUP 64u
#define TERN_MAILBOX_GROUP_BYTES (2 * TERN_MAILBOX_LINE)

typedef struct tern_mailbox_flags {
    uint8_t *words; /* two cache lines for each 64 flags: the shared word, then the staged word */
} tern_mailbox_flags;

TERN_MAILBOX_INLINE tern_mailbox_flags tern_mailbox_flags_at(void *memory) {
    tern_mailbox_flags flags = {(uint8_t *)memory};
    return flags;
}

TERN_MAILBOX_INLINE uint64_t *tern_mailbox_flags_shared(const tern_mailbox_flags *flags,
                                                        uint32_t group) {
    return (uint64_t *)(void *)(flags->words + (size_t)group * TERN_MAILBOX_GROUP_BYTES);
}

TERN_MAILBOX_INLINE uint64_t *tern_mailbox_flags_staged(const tern_mailbox_flags *flags,
                                                        uint32_t group) {
    return tern_mailbox_flags_shared(flags, group) + TERN_MAILBOX_LINE / sizeof(uint64_t);
}

TERN_MAILBOX_INLINE uint64_t tern_mailbox_flags_load(const tern_mailbox_flags *flags,
                                                     uint32_t group) {
    return tern_mailbox_load64(tern_mailbox_flags_shared(flags, group));
}

/* Publishes the staged word until it contains this slot's bit. It also completes a write during
 * which its writer died. */
TERN_MAILBOX_INLINE void tern_mailbox_flags_repair(const tern_mailbox_flags *flags, uint32_t slot) {
    uint64_t *shared = tern_mailbox_flags_shared(flags, slot / TERN_MAILBOX_GROUP);
    uint64_t *staged = tern_mailbox_flags_staged(flags, slot / TERN_MAILBOX_GROUP);
    for (;;) {
        uint64_t seen = tern_mailbox_load64(shared);
        uint64_t wanted = tern_mailbox_load64(staged);
        if (((seen ^ wanted) >> slot % TERN_MAILBOX_GROUP & 1) == 0)
            return;
        if (tern_mailbox_cas64(shared, seen, wanted))
            return;
    }
}

TERN_MAILBOX_INLINE void tern_mailbox_flags_write(const tern_mailbox_flags *flags, uint32_t slot,
                                                  unsigned value) {
    uint64_t *staged = tern_mailbox_flags_staged(flags, slot / TERN_MAILBOX_GROUP);
    uint64_t bit = (uint64_t)1 << slot % TERN_MAILBOX_GROUP;
    if (value)
        tern_mailbox_or64(staged, bit);
    else
        tern_mailbox_and64(staged, ~bit);
    tern_mailbox_flags_repair(flags, slot);
}

#else
#error "TERN_MAILBOX_LAYOUT is TERN_MAILBOX_LINES, TERN_MAILBOX_BITS or TERN_MAILBOX_CAS"
#endif

/* Returns the number of groups for that many slots. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_flags_groups(uint32_t slots) {
    return (slots + TERN_MAILBOX_GROUP - 1) / TERN_MAILBOX_GROUP;
}

/* Returns the bytes of memory for that many flags. The memory begins at the start of a cache line,
 * and is zeroed at first: all flags are clear. */
TERN_MAILBOX_INLINE size_t tern_mailbox_flags_bytes(uint32_t slots) {
    size_t bytes = (size_t)tern_mailbox_flags_groups(slots) * TERN_MAILBOX_GROUP_BYTES;
    return (bytes + TERN_MAILBOX_LINE - 1) / TERN_MAILBOX_LINE * TERN_MAILBOX_LINE;
}

TERN_MAILBOX_INLINE unsigned tern_mailbox_flags_one(const tern_mailbox_flags *flags,
                                                    uint32_t slot) {
    return (unsigned)(tern_mailbox_flags_load(flags, slot / TERN_MAILBOX_GROUP) >>
                          slot % TERN_MAILBOX_GROUP &
                      1);
}

#endif
