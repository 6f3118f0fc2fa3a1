#ifndef TERN_HASHTABLE_H
#define TERN_HASHTABLE_H

/*
 * Distributed hash table (BCL, paper 003). Keys and values are bytes of sizes fixed at
 * creation. A key belongs to one rank, by its hash; there open addressing places it. Every
 * operation can be done by RMA or by a call, on the same table at the same time, and takes a
 * promise of what else may run meanwhile, which decides what it costs.
 *
 *     operation                        by RMA     by RMA, where owners do not put
 *     insert, new key                  A          CAS + W
 *     insert, key is or was there      A + A      R + CAS + W + A
 *     insert_new, key is there         A          R
 *     erase, key is there              R + A      R + CAS + W + A
 *     find, present / absent           R / R      R / R
 *     add                              A + A      R + A
 *     add, new key                     A          R + CAS + A + W
 *     compare_swap, erase a counter    R + A      R + A
 *     any by call                      one round trip
 *
 * (R a get, W a put, A an atomic; each is one round trip, away from collisions. What load/store
 * reaches costs none of them.) Where atomics of other nodes are applied by their owner, which is so
 * unless TERN_RMA_ATOMICS says otherwise, the owner also puts the entry that goes with the atomic,
 * if a bucket has at most 4 KiB. In the other cases an insert starts with what the one before it
 * needed: when new keys and known ones alternate, it costs one R or CAS more; and over MPI's own
 * atomics a find of an absent key or of a counter costs an A more, but in a phase of reads. There a
 * phase of writes saves the flush after a put, which operations of other phases need: its end, a
 * tern_barrier, is one flush for all. All operations but find may run in a phase of writes.
 *
 * Any worker of the context may use the table, several at once, but for what is collective.
 *
 * Linearizable: all operations, of all ranks, on all keys and tables, happen in one order, each
 * between its begin and its return. An operation that has returned is seen by all that begin later,
 * and of two ranks that change a key each and then look at the other's key, one sees the other's
 * change. In terms of C11, operations are sequentially consistent, as accesses of one atomic object
 * for each key; a program that orders them with other memory (tern_put, variables of its own) needs
 * tern_flush in between. Two things are weaker. What is changed in a phase of writes is seen for
 * certain once the tern_barrier that ends it has returned. The operations of a batch happen one by
 * one, in no order, before it returns, and ranks that look at two of its keys meanwhile may see
 * them come in different orders.
 *
 * Values are never torn. A bucket that another rank is just writing is waited for, with progress,
 * if it may hold the same key; TERN_ERR_PEER if that rank died. On a key that the caller's rank
 * owns, an operation by call is done in place, and makes progress; elsewhere it takes one of the
 * worker's TERN_CALL_REQUESTS, and is TERN_ERR_AGAIN if the program holds them all.
 *
 * In handlers: by RMA where load/store reaches the owner, with TERN_ERR_AGAIN in place of a wait,
 * nothing changed; on keys of the own rank by call too, which is done in place. All else is
 * TERN_ERR_STATE, add_many always.
 *
 * A key that was erased keeps its bucket at first, for when it comes back. When three quarters of a
 * part's buckets are taken, and an eighth by keys that were erased, its owner moves the others into
 * a second array of the same size, and next time back, in its progress; so a table in which keys
 * come and go takes the memory of two for good. All ranks have to make progress for that: memory is
 * used again when all have left it. Where one makes none for long the owner takes more memory, and
 * if its segment has none left an insert is TERN_ERR_FULL. An insert that finds a part full waits
 * for the owner, with progress; in handlers it is TERN_ERR_AGAIN or TERN_ERR_FULL.
 *
 * The first move of a table that does not grow, and that not all ranks reach by load and store,
 * waits for all of them: TERN_ERR_FULL if one has made no progress for 10 s. From then on finds in
 * phases of reads, inserts in phases of writes, and requests cost there what they do in a table
 * that grows.
 *
 * A table that grows begins with its capacity. When a rank's part has three quarters of its buckets
 * taken, its owner makes a larger one in its segment and moves the keys there, in its progress;
 * keys that were erased are left behind. All operations go on meanwhile; an operation on a key that
 * is just being moved waits for it, and so does one that brings a new key when the part, and what
 * may be put into the larger one during the move, is full: with progress, in handlers
 * TERN_ERR_AGAIN, TERN_ERR_PEER if the owner died. TERN_ERR_FULL is only for want of memory in the
 * owner's segment or heap. The memory of smaller parts is given back when all ranks have left it,
 * at the latest in tern_hashtable_size, _clear and _destroy. While keys are moved an operation may
 * cost an operation more on each of both; a find in a phase of reads costs what others do, and an
 * insert over a network is flushed in every phase.
 */

#include "tern/context.h"
#include "tern/flags.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A hash table over all ranks. Its members are tern's own. */
typedef struct tern_hashtable tern_hashtable;

/* What a table is made of. Zeroed fields take the defaults in brackets. */
typedef struct tern_hashtable_options {
    size_t key_bytes;   /* 1 to 1,024 */
    size_t value_bytes; /* 0 to 65,536; plain values, put whole. By call: found up to
                           TERN_RESULT_MAX, inserted if key and value fit TERN_RING_SIZE / 2 - 96 */
    int counter;        /* 1: each key has a counter, from 0, changed by tern_hashtable_add and
                           _compare_swap; a number of 62 bits, which wraps around from 2^61 - 1 to
                           -2^61 (as the uint64_t of the same two's complement); value_bytes must
                           be 0 [0] */
    uint64_t capacity;  /* keys that must fit into the whole table, 1 or more; the table takes more
                           room than that, so that its load stays below 0.8 on average */
    int call_only;      /* 1: no operation will use TERN_BY_RMA; owners then use the processor's
                           atomics on every transport [0] */
    int grow;           /* 1: a rank's part that gets full becomes larger; see above [0] */
    /* Hash of a key of key_bytes, from which tern makes its own, so it need not be well spread
     * [XXH3]; and whether two keys are the same: non-zero, only if their hashes are equal [the same
     * bytes]. Keys come 8-byte aligned. Both must say the same on every rank, though the functions
     * may have other addresses there, and must be safe in all threads that use the table, owners'
     * handlers included. Of keys that are the same, the table holds the one that was last inserted,
     * or of counters the first. key_argument: passed to all. */
    uint64_t (*key_hash)(const void *key, size_t key_bytes, void *key_argument);
    int (*key_equal)(const void *a, const void *b, size_t key_bytes, void *key_argument);
    /* Places keys by a part of them: keys for which it gives the same number belong to one rank,
     * such as edges to the rank of their source. tern spreads the numbers over the ranks, so they
     * may follow each other [a key's hash says its rank]. The rules of key_hash are its rules, and
     * keys that are the same must have the same number. A rank may get more keys than others:
     * capacity must leave room for that, or grow be 1. */
    uint64_t (*key_owner)(const void *key, size_t key_bytes, void *key_argument);
    void *key_argument;
} tern_hashtable_options;

/* Collective over the ranks, one worker of each; blocks. Calls to a rank's part go to that worker,
 * or to the rank's service threads if there are any (tern/context.h).
 * TERN_ERR_ARGUMENT: options out of range, key_equal without key_hash; TERN_ERR_MISMATCH: they
 * differ between ranks; TERN_ERR_MEMORY: a segment cannot hold its share (the detail says how much
 * it takes; TERN_SEGMENT_SIZE); TERN_ERR_UNSUPPORTED: call_only with values that no call can
 * return; TERN_ERR_PEER: a rank died; others may have got the table nevertheless, and this rank's
 * part may stay with them until the context goes: key_argument and the functions that get it must
 * last as long then. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_create(tern_worker *worker,
                                                          const tern_hashtable_options *options,
                                                          tern_hashtable **table);
/* Collective; every operation must have returned everywhere. NULL is fine. The table is gone even
 * where the status is TERN_ERR_PEER: then it was destroyed without waiting for the others, whose
 * calls to this rank's part get TERN_ERR_PEER from now on. TERN_ERR_MISMATCH: the other ranks are
 * in another collective function; the table stays as it was. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_destroy(tern_worker *worker,
                                                           tern_hashtable *table);

/* Stores value under key, whether the key is there or not. [out] existed (may be NULL).
 * TERN_ERR_FULL: every bucket of the owner's part holds another key; the table is unchanged.
 * TERN_ERR_UNSUPPORTED: the table has counters, or is call_only and flags have TERN_BY_RMA, or key
 * and value are too large for a call. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert(tern_worker *worker,
                                                          tern_hashtable *table, const void *key,
                                                          const void *value, tern_flags flags,
                                                          int *existed);

/* The same, but a value that is there is left alone. [out] existed (may be NULL): it is. Errors as
 * tern_hashtable_insert. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_new(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              const void *key, const void *value,
                                                              tern_flags flags, int *existed);

/* Takes key, with its value or counter, out of the table. TERN_ERR_NOT_FOUND: no such key.
 * TERN_ERR_UNSUPPORTED: the table is call_only and flags have TERN_BY_RMA. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_erase(tern_worker *worker, tern_hashtable *table,
                                                         const void *key, tern_flags flags);

/* Adds delta to the counter of key, inserting the key if it is absent. [out] before (may be NULL):
 * the counter before. TERN_ERR_FULL: no room for a new key; nothing was counted.
 * TERN_ERR_UNSUPPORTED: the table has values, or as above. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_add(tern_worker *worker, tern_hashtable *table,
                                                       const void *key, uint64_t delta,
                                                       tern_flags flags, uint64_t *before);

/* Makes the counter of key desired if it is expected. [out] before (may be NULL): the counter
 * before; it was changed if this equals expected. TERN_ERR_NOT_FOUND: no such key. TERN_ERR_RANGE:
 * a number that no counter has. TERN_ERR_UNSUPPORTED as above. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_compare_swap(tern_worker *worker,
                                                                tern_hashtable *table,
                                                                const void *key, uint64_t expected,
                                                                uint64_t desired, tern_flags flags,
                                                                uint64_t *before);

/* Adds delta to the counters of count keys that lie one after the other at keys. By call: one
 * message per owner and some 500 keys; by RMA: pipelined. Serves other ranks meanwhile. Keys that
 * find no room are passed over: TERN_ERR_FULL, and the others were counted; [out] done (may be
 * NULL; set whatever the status, once counting has begun): how many were. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_add_many(tern_worker *worker,
                                                            tern_hashtable *table, const void *keys,
                                                            size_t count, uint64_t delta,
                                                            tern_flags flags, size_t *done);

/* [out] value: value_bytes bytes, or the uint64_t counter. TERN_ERR_NOT_FOUND: no such key.
 * TERN_ERR_UNSUPPORTED: as above, or the value is too large for a call. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find(tern_worker *worker, tern_hashtable *table,
                                                        const void *key, tern_flags flags,
                                                        void *value);

/* Calls visit for each key of the part that this rank owns, with its value (or the address of a
 * copy of its counter), in no order, until visit returns non-zero, which ends it with TERN_OK. No
 * rank may change the table meanwhile; both copies are 8-byte aligned and gone when visit returns.
 * Not collective; the part of a table that grows may have to be moved first, which is waited for.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_for_each(
    tern_worker *worker, tern_hashtable *table,
    int (*visit)(const void *key, const void *value, void *argument), void *argument);

/* The same for the keys of all ranks. Not collective: any ranks may call it, one or several
 * at a time, while the owners make progress; what load and store do not reach is got in large
 * pieces. TERN_ERR_PEER: an owner that is needed has died. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_for_each_anywhere(
    tern_worker *worker, tern_hashtable *table,
    int (*visit)(const void *key, const void *value, void *argument), void *argument);

/* Collective, ends phases as tern_barrier does; blocks. [out] count: keys in the whole table, on
 * every rank. TERN_ERR_PEER; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_size(tern_worker *worker, tern_hashtable *table,
                                                        uint64_t *count);

/* Collective, ends phases as tern_barrier does; blocks. Takes all keys out of the table. A part
 * that has grown goes back to its first size; its memory is given back when all ranks have left it.
 * TERN_ERR_PEER; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_clear(tern_worker *worker,
                                                         tern_hashtable *table);

/* [out] count: keys in this rank's part. Local; exact when nobody changes the table. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_local_size(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              uint64_t *count);

/* The rank that owns key, by key_owner if that is given; UINT32_MAX if table or key is NULL. Local.
 */
TERN_API uint32_t tern_hashtable_owner(const tern_hashtable *table, const void *key);

/* Explains which way this worker's operations by TERN_AUTO on the part of a rank go, and why.
 * The text is for people and may change between versions. Its first line names the rank, where it
 * is and what the components of operations were measured to cost there, in ns. A line for each kind
 * of operation follows: its name, the way, and what the cost model says of both ways, in ns.
 *
 * [in] owner: the rank whose part is asked about.
 * [out] text: the caller's memory of room bytes; the text is cut to fit, and ends with a zero byte
 * unless room is 0. May be NULL if room is 0.
 * [out] bytes: of the whole text, without the zero byte, as snprintf counts them. May be NULL.
 *
 * TERN_ERR_ARGUMENT: worker or table is NULL, or of another context; text is NULL and room is not
 * 0; there is no rank owner. Nothing is written then.
 * Local: it measures nothing and never blocks. Handlers may call it. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_explain(const tern_worker *worker,
                                                           const tern_hashtable *table,
                                                           uint32_t owner, char *text, size_t room,
                                                           size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
