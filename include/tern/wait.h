#ifndef TERN_WAIT_H
#define TERN_WAIT_H

/*
 * Waiting for memory: until a word of this process's memory compares with a value as the program
 * wants it. Other ranks change such words by puts, notified puts and atomics, other threads by
 * atomic stores. The waits make progress and end when the rank that was to change the word dies.
 * The tests look once and do not wait.
 *
 *     tern_put(worker, data, ...); tern_fence(worker, rank); tern_put(worker, flag, &one, 8);
 *
 *     status = tern_wait_until(worker, flag, TERN_EQUAL, 1);   // on that rank; data is there
 *
 * Words: 8 or 4 bytes, naturally aligned, in the segment or anywhere else. Single puts of such a
 * word are never torn over shm and p2p; over rma they may be, and then a comparison may see a value
 * that nobody has put, unless only one byte of the word differs (tern/transfer.h).
 *
 * Order: a word that satisfies the comparison is loaded with acquire. What its writer put before,
 * with tern_fence between, or did before an atomic on the word, is visible after the wait or test.
 *
 * Signed and unsigned: TERN_EQUAL and TERN_NOT_EQUAL serve both. The other comparisons have a form
 * for unsigned words and one for signed words; convert the value to uint64_t or uint32_t, for
 * example (uint64_t)-1.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a word is compared with a value: word < value for TERN_LESS, and so on. */
typedef enum tern_comparison {
    TERN_EQUAL,
    TERN_NOT_EQUAL,
    TERN_LESS,
    TERN_LESS_EQUAL,
    TERN_GREATER,
    TERN_GREATER_EQUAL,
    TERN_LESS_SIGNED,
    TERN_LESS_EQUAL_SIGNED,
    TERN_GREATER_SIGNED,
    TERN_GREATER_EQUAL_SIGNED
} tern_comparison;

/* Several words and what is wanted of each. Zero what is not needed. The memory that it names
 * belongs to the program, and the functions change nothing of it. */
typedef struct tern_word_list {
    const void *words; /* count words, one behind the other */
    size_t count;
    size_t width; /* bytes of a word: 4 or 8; 0: 8 */
    tern_comparison comparison;
    uint64_t value;       /* for every word; its low half, if words have 4 bytes */
    const void *values;   /* a value of width bytes for each word; NULL: value */
    const int *skip;      /* for each word: not 0: leave it out; NULL: all words count */
    const uint32_t *peer; /* the rank whose death ends a wait; NULL: the death of any rank does */
} tern_word_list;

/* Index of no word. */
#define TERN_NO_WORD SIZE_MAX

/* Waits until a word of 8 bytes satisfies the comparison with value, making progress. Every wait of
 * this header first completes what this worker has put and MPI may hold back.
 *
 * TERN_ERR_PEER: a rank of the context has died, and the word does not satisfy the comparison; the
 * rank that was to change it may be alive, so name it in tern_word_list. TERN_ERR_STATE: in a
 * handler, and the word does not satisfy the comparison yet. TERN_ERR_ARGUMENT: a pointer is NULL,
 * the word is not aligned, or there is no such comparison. Blocks; a wait that lasts is logged
 * (TERN_STUCK_REPORT). Cost: a round of progress for each look but the first. */
TERN_NODISCARD TERN_API tern_status tern_wait_until(tern_worker *worker, const uint64_t *word,
                                                    tern_comparison comparison, uint64_t value);

/* Waits as tern_wait_until does, for a word of 4 bytes. */
TERN_NODISCARD TERN_API tern_status tern_wait_until32(tern_worker *worker, const uint32_t *word,
                                                      tern_comparison comparison, uint32_t value);

/* Waits until each word has satisfied its comparison once. Returns at once if no word counts.
 * TERN_ERR_PEER: the peer of words has died. TERN_ERR_ARGUMENT: also a width or a peer that does
 * not exist. Otherwise as tern_wait_until. */
TERN_NODISCARD TERN_API tern_status tern_wait_until_all(tern_worker *worker,
                                                        const tern_word_list *words);

/* Waits until one word satisfies its comparison. start: where the search begins; it goes on from
 * the first word behind the last one. Pass the index of the last time plus 1, and every word gets
 * its turn; any number is allowed, modulo the count. [out] index: of the word; TERN_NO_WORD,
 * without a wait, if no word counts. Otherwise as tern_wait_until_all. */
TERN_NODISCARD TERN_API tern_status tern_wait_until_any(tern_worker *worker,
                                                        const tern_word_list *words, size_t start,
                                                        size_t *index);

/* Waits until at least one word satisfies its comparison. [out] indices: room for count numbers;
 * the indices of all words that do, ascending. [out] found: how many; 0, without a wait, if no word
 * counts. Otherwise as tern_wait_until_all. */
TERN_NODISCARD TERN_API tern_status tern_wait_until_some(tern_worker *worker,
                                                         const tern_word_list *words,
                                                         size_t *indices, size_t *found);

/* Tests whether a word satisfies the comparison. If not, it makes a round of progress, unless in a
 * handler, and looks once more. [out] holds: 1 or 0. Never waits for another rank, and does not
 * look for deaths. TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_API tern_status tern_test_until(tern_worker *worker, const uint64_t *word,
                                                    tern_comparison comparison, uint64_t value,
                                                    int *holds);

/* Tests as tern_test_until does, for a word of 4 bytes. */
TERN_NODISCARD TERN_API tern_status tern_test_until32(tern_worker *worker, const uint32_t *word,
                                                      tern_comparison comparison, uint32_t value,
                                                      int *holds);

/* Tests whether every word satisfies its comparison. [out] holds: 1, also if no word counts, or 0.
 * TERN_ERR_PEER: the rank that words names as peer has died, and some word does not satisfy its
 * comparison. Otherwise as tern_test_until. */
TERN_NODISCARD TERN_API tern_status tern_test_until_all(tern_worker *worker,
                                                        const tern_word_list *words, int *holds);

/* Tests whether a word satisfies its comparison. start: as for tern_wait_until_any. [out] index: of
 * the word, or TERN_NO_WORD. Otherwise as tern_test_until_all. */
TERN_NODISCARD TERN_API tern_status tern_test_until_any(tern_worker *worker,
                                                        const tern_word_list *words, size_t start,
                                                        size_t *index);

/* Finds all words that satisfy their comparisons. [out] indices, found: as for
 * tern_wait_until_some. Otherwise as tern_test_until_all. */
TERN_NODISCARD TERN_API tern_status tern_test_until_some(tern_worker *worker,
                                                         const tern_word_list *words,
                                                         size_t *indices, size_t *found);

#ifdef __cplusplus
}
#endif

#endif
