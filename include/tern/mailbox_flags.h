#ifndef TERN_MAILBOX_FLAGS_H
#define TERN_MAILBOX_FLAGS_H

/*
 * The flags of one side of a mailbox (tern/mailbox.h), one for each slot: its outbox, and the inbox
 * of the other side. Three layouts with one interface, chosen at compile time by defining
 * TERN_MAILBOX_LAYOUT, the same for everybody who shares the mailbox:
 *
 *   TERN_MAILBOX_LINES  a byte for each flag, each on a cache line of its own (the default), or
 *                       TERN_MAILBOX_STRIDE bytes apart; plain loads and stores are enough
 *   TERN_MAILBOX_BITS   a bit for each flag, changed by fetch-or and fetch-and (paper 002, 8.2)
 *   TERN_MAILBOX_CAS    the same changed by compare-and-swap, whose one success carries the changes
 *                       of everybody who is about to make one (paper 002, 8.3)
 *
 * With a peer that is not trusted take lines: there a write is one store. Who keeps changing the
 * word that a swap is for could keep the swap from ever succeeding.
 *
 * Whoever writes a flag holds its slot, so a flag has one writer at a time and its writer knows its
 * value. Nothing here is for applications.
 */

#include "tern/mailbox_atomic.h"

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

/* Flags that one load shows. */
#define TERN_MAILBOX_GROUP 1u
#define TERN_MAILBOX_GROUP_BYTES (TERN_MAILBOX_STRIDE)

typedef struct tern_mailbox_flags {
    uint8_t *bytes;
} tern_mailbox_flags;

TERN_MAILBOX_INLINE tern_mailbox_flags tern_mailbox_flags_at(void *memory) {
    tern_mailbox_flags flags = {(uint8_t *)memory};
    return flags;
}

/* The flags of a group, the first in the lowest bit. What their writers wrote before them is there
 * for whoever has seen them set, or cleared. */
TERN_MAILBOX_INLINE uint64_t tern_mailbox_flags_load(const tern_mailbox_flags *flags,
                                                     uint32_t group) {
    return tern_mailbox_load8(flags->bytes + (size_t)group * TERN_MAILBOX_STRIDE);
}

TERN_MAILBOX_INLINE void tern_mailbox_flags_write(const tern_mailbox_flags *flags, uint32_t slot,
                                                  unsigned value) {
    tern_mailbox_store8(flags->bytes + (size_t)slot * TERN_MAILBOX_STRIDE, (uint8_t)value);
}

/* Ends a write that its writer died in. */
TERN_MAILBOX_INLINE void tern_mailbox_flags_repair(const tern_mailbox_flags *flags, uint32_t slot) {
    (void)flags;
    (void)slot;
}

#elif TERN_MAILBOX_LAYOUT == TERN_MAILBOX_BITS

/*
 * Order: a read-modify-write of a neighbour's bit continues the release sequence of the one before,
 * so a reader that acquires the word is behind every write it finds in it, whoever was last.
 */

#define TERN_MAILBOX_GROUP 64u
#define TERN_MAILBOX_GROUP_BYTES TERN_MAILBOX_LINE

typedef struct tern_mailbox_flags {
    uint8_t *words; /* a line for each 64 flags, the word at its start */
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
 * 64 flags are two words: one that only this side touches, where its workers stage their changes,
 * and the shared one that the other side reads. A worker stages its bit, and then publishes the
 * whole staged word until it finds its bit in the shared one, whoever published it.
 *
 * A worker that was suspended before its swap may hold an old state of the staged word, and the
 * shared word may have come back to the value that its swap expects; still the swap does no harm,
 * because it is tried only while the worker's own bit is unpublished. For let P be the first swap
 * that publishes a state of the staged word older than one published before, by R. Both are of the
 * time after P's worker staged its bit, so R's has the bit, and so has all that was published
 * since, P being the first to go back. But P expects a word without it, and fails. So states are
 * published in the order in which they were staged, and a bit once published stays until its
 * holder stages another. A swap without that look before it, even the first one, is wrong
 * (tests/spin/batch.pml shows both). A worker's swap fails at most once for each other worker that
 * was just publishing, since whoever loads the staged word later publishes this bit as well.
 *
 * Order: staging releases, the load of the staged word acquires, the swap releases: whoever
 * acquires the shared word is behind what each bit's holder wrote before it staged.
 */

#define TERN_MAILBOX_GROUP 64u
#define TERN_MAILBOX_GROUP_BYTES (2 * TERN_MAILBOX_LINE)

typedef struct tern_mailbox_flags {
    uint8_t *words; /* two lines for each 64 flags: shared, staged */
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

/* Publishes what is staged; also ends a write that its writer died in. */
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

/* Groups that hold so many slots' flags. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_flags_groups(uint32_t slots) {
    return (slots + TERN_MAILBOX_GROUP - 1) / TERN_MAILBOX_GROUP;
}

/* Memory for them, from a cache line's start, zeroed: all flags clear. */
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
