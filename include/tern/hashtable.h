#ifndef TERN_HASHTABLE_H
#define TERN_HASHTABLE_H

/*
 * Distributed hash table (BCL, paper 003). Keys and values are bytes of sizes fixed at
 * creation. The hash of a key says which rank owns it; open addressing places it in that rank's
 * part. Every operation can go by RMA or by a call; both kinds may work on the same table at the
 * same time. With each operation the caller can promise what else runs meanwhile, and the promise
 * decides what the operation costs. tern/container.h says what tables share with other containers:
 * flags, batches, buffers, requests, modifiers and files.
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
 * (R is a get, W a put, A an atomic; each is one round trip. The table holds without collisions. If
 * the owner shares memory with the caller, all of these are plain loads, stores and processor
 * atomics and cost nothing extra.) If the owner applies the atomics of other nodes, which is so
 * unless TERN_RMA_ATOMICS says otherwise, the owner also writes the entry that goes with the
 * atomic, provided that a bucket has at most 4 KiB (middle column). In the other cases (right
 * column) an insert starts with the operations that the insert before it needed: when new keys and
 * known ones alternate, it costs one R or CAS more. Over MPI's own atomics a find of an absent key
 * or of a counter costs one more A, except in a phase of reads. Where owners do not put, an insert
 * flushes after its put of an entry, except in a phase of writes: that phase ends with a
 * tern_barrier, which flushes once for all. All operations but find may run in a phase of writes.
 *
 * Any worker of the context may use the table, several at the same time, except for the collective
 * functions.
 *
 * Linearizable: all operations, of all ranks, on all keys and tables, happen in one order, each
 * between its begin and its return. Operations that begin after another has returned see its
 * effect, and if two ranks each change a key and then look at the other's key, at least one sees
 * the other's change. In terms of C11, operations are sequentially consistent, as accesses of one
 * atomic object for each key; a program that orders them with other memory (tern_put, variables of
 * its own) needs tern_flush in between. Two things are weaker. A change made in a phase of writes
 * is certain to be seen only after the tern_barrier that ends the phase. The operations of a batch
 * happen one by one, in no particular order, before the batch returns, and two ranks that look at
 * its keys meanwhile may see them appear in different orders.
 *
 * Values are never torn. If another rank is just writing a bucket that may hold the same key, an
 * operation waits for it, making progress; TERN_ERR_PEER if that rank died. On a key that the
 * caller's rank owns, an operation by call is done in place, and makes progress. On other keys it
 * takes one of the worker's TERN_CALL_REQUESTS, and returns TERN_ERR_AGAIN if the program holds
 * them all.
 *
 * Handlers: operations by RMA are allowed if load/store reaches the owner. Where they would have to
 * wait they return TERN_ERR_AGAIN and change nothing. On keys that the caller's rank owns,
 * operations by call are allowed too, since they are done in place. Everything else returns
 * TERN_ERR_STATE, and add_many always does.
 *
 * An erased key keeps its bucket at first, in case it is inserted again. When three quarters of a
 * part's buckets are taken, and an eighth of all by erased keys, the owner moves the other keys
 * into a second array of the same size during its progress, and the next time back into the first.
 * So a table in which keys come and go takes twice the memory from then on. All ranks have to make
 * progress for that, since an array can be used again only when all ranks have left it. If one rank
 * makes no progress for long the owner takes more memory, and if its segment has none left an
 * insert returns TERN_ERR_FULL. An insert that finds a part full waits for the owner, making
 * progress; in handlers it returns TERN_ERR_AGAIN or TERN_ERR_FULL.
 *
 * If a table does not grow, and not all ranks reach it by load and store, its first move waits for
 * all ranks: TERN_ERR_FULL if one has made no progress for 10 s. From then on finds in phases of
 * reads, inserts in phases of writes, and requests cost what they cost in a table that grows.
 *
 * A table that grows begins with its capacity. When three quarters of the buckets of a rank's part
 * are taken, the owner makes a larger part in its segment and moves the keys there during its
 * progress; it leaves erased keys behind. All operations go on meanwhile. An operation on a key
 * that is just being moved waits for the move of that key. An operation with a new key waits if the
 * part is full and the larger part has taken as many new keys as it may during the move. Both waits
 * make progress; in handlers the operation returns TERN_ERR_AGAIN instead, and TERN_ERR_PEER if the
 * owner died. TERN_ERR_FULL means only that the owner's segment or heap has no memory. The memory
 * of smaller parts is given back when all ranks have left it, at the latest in tern_hashtable_size,
 * _clear and _destroy. While keys are moved an operation may cost one more operation on each of the
 * two parts; a find in a phase of reads costs what other finds do, and an insert over a network is
 * flushed in every phase.
 */

#include "tern/call.h"
#include "tern/container.h"
#include "tern/context.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A hash table over all ranks. Its members are tern's own. */
typedef struct tern_hashtable tern_hashtable;

/* Options of tern_hashtable_create. Zeroed fields take the defaults in brackets. */
typedef struct tern_hashtable_options {
    size_t key_bytes;   /* 1 to 1,024 */
    size_t value_bytes; /* 0 to 65,536; values are plain bytes, stored as a whole. By call, a value
                           of up to TERN_RESULT_MAX can be found, and one that fits TERN_RING_SIZE /
                           2 - 96 together with its key can be inserted */
    int counter;        /* 1: each key has a counter in place of a value. It starts at 0;
                           tern_hashtable_add and _compare_swap change it. It has 62 bits and wraps
                           around from 2^61 - 1 to -2^61 (as the uint64_t of the same two's
                           complement); value_bytes must be 0 [0] */
    uint64_t capacity;  /* keys that must fit into the whole table, 1 or more; the table takes
                           memory for more keys, so that its load stays below 0.8 on average */
    int call_only;      /* 1: no operation will use TERN_BY_RMA; owners then use the processor's
                           atomics on every transport [0] */
    int grow;           /* 1: a rank's part grows when it gets full; see above [0] */
    /* key_hash returns a hash of a key of key_bytes. tern hashes that number again, so it need not
     * be well spread [XXH3]. key_equal returns non-zero if two keys are the same; their hashes must
     * be equal then [the same bytes]. Keys are 8-byte aligned. Both functions must give the same
     * results on every rank, where they may have other addresses, and must be safe in all threads
     * that use the table, owners' handlers included. Of several keys that are the same, the table
     * holds the one that was inserted last, or for counters the first. key_argument is passed to
     * all three functions. */
    uint64_t (*key_hash)(const void *key, size_t key_bytes, void *key_argument);
    int (*key_equal)(const void *a, const void *b, size_t key_bytes, void *key_argument);
    /* key_owner decides which keys lie on one rank: keys for which it returns the same number
     * belong to the same rank, such as the edges of a graph with the same source. tern spreads the
     * numbers over the ranks, so they may be consecutive [the key's hash says its rank]. The rules
     * of key_hash apply to it too, and it must return the same number for keys that are the same. A
     * rank may get more keys than others: leave room for that in capacity, or set grow to 1. */
    uint64_t (*key_owner)(const void *key, size_t key_bytes, void *key_argument);
    void *key_argument;
} tern_hashtable_options;

/* Creates a table. Collective over the ranks, one worker of each; blocks. Calls to a rank's part go
 * to that worker, or to the rank's service threads if there are any (tern/context.h).
 * TERN_ERR_ARGUMENT: options out of range, key_equal without key_hash; TERN_ERR_MISMATCH: the
 * options differ between ranks; TERN_ERR_MEMORY: a segment cannot hold its part (the detail says
 * how much memory that takes; TERN_SEGMENT_SIZE); TERN_ERR_UNSUPPORTED: call_only with values that
 * no call can return; TERN_ERR_PEER: a rank died. Other ranks may have got the table nevertheless
 * and may use this rank's part until the context is destroyed; key_argument and the functions that
 * get it must stay valid that long. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_create(tern_worker *worker,
                                                          const tern_hashtable_options *options,
                                                          tern_hashtable **table);
/* Destroys a table. Collective; every operation must have returned on every rank. NULL is fine.
 * After TERN_ERR_PEER the table is destroyed, too, but without waiting for the other ranks; their
 * calls to this rank's part return TERN_ERR_PEER from now on. TERN_ERR_MISMATCH: the other ranks
 * are in another collective function; the table stays as it was. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_destroy(tern_worker *worker,
                                                           tern_hashtable *table);

/* Stores value under key, whether the key is there or not. [out] existed (may be NULL): 1 if the
 * key was there, else 0. TERN_ERR_FULL: every bucket of the owner's part holds another key; the
 * table is unchanged. TERN_ERR_UNSUPPORTED: the table has counters, or is call_only and flags have
 * TERN_BY_RMA, or key and value are too large for a call. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert(tern_worker *worker,
                                                          tern_hashtable *table, const void *key,
                                                          const void *value, tern_flags flags,
                                                          int *existed);

/* Stores value under key if the key is not there; otherwise changes nothing. [out] existed (may be
 * NULL): 1 if the key was there, else 0. Returns the same errors as tern_hashtable_insert. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_new(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              const void *key, const void *value,
                                                              tern_flags flags, int *existed);

/* Removes key, with its value or counter, from the table. TERN_ERR_NOT_FOUND: no such key.
 * TERN_ERR_UNSUPPORTED: the table is call_only and flags have TERN_BY_RMA. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_erase(tern_worker *worker, tern_hashtable *table,
                                                         const void *key, tern_flags flags);

/* Adds delta to the counter of key, inserting the key if it is absent. [out] before (may be NULL):
 * the counter before. TERN_ERR_FULL: no room for a new key; nothing was added.
 * TERN_ERR_UNSUPPORTED: the table has values, or is call_only and flags have TERN_BY_RMA. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_add(tern_worker *worker, tern_hashtable *table,
                                                       const void *key, uint64_t delta,
                                                       tern_flags flags, uint64_t *before);

/* Sets the counter of key to desired if it equals expected. [out] before (may be NULL): the counter
 * before; it was changed if this equals expected. TERN_ERR_NOT_FOUND: no such key. TERN_ERR_RANGE:
 * desired or expected does not fit the 62 bits of a counter. TERN_ERR_UNSUPPORTED: as for
 * tern_hashtable_add. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_compare_swap(tern_worker *worker,
                                                                tern_hashtable *table,
                                                                const void *key, uint64_t expected,
                                                                uint64_t desired, tern_flags flags,
                                                                uint64_t *before);

/* Adds delta to the counters of count keys that lie one after the other at keys. By call it sends
 * one message for some 500 keys of an owner; by RMA operations on several keys are under way at
 * once. Serves other ranks meanwhile. TERN_ERR_FULL: keys that found no room were skipped; delta
 * was added to the others. [out] done (may be NULL; set whatever the status, once adding has
 * begun): the number of keys to whose counter delta was added. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_add_many(tern_worker *worker,
                                                            tern_hashtable *table, const void *keys,
                                                            size_t count, uint64_t delta,
                                                            tern_flags flags, size_t *done);

/* Looks key up. [out] value: value_bytes bytes, or the uint64_t counter. TERN_ERR_NOT_FOUND: no
 * such key. TERN_ERR_UNSUPPORTED: the table is call_only and flags have TERN_BY_RMA, or the value
 * is too large for a call. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find(tern_worker *worker, tern_hashtable *table,
                                                        const void *key, tern_flags flags,
                                                        void *value);

/* Calls visit for each key of the part that this rank owns, with its value (or the address of a
 * copy of its counter), in no particular order. If visit returns non-zero the walk ends, with
 * TERN_OK. No rank may change the table meanwhile. visit gets 8-byte aligned copies, valid until it
 * returns. Not collective. If a move of the part's keys is under way, the function waits for its
 * end first. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_for_each(
    tern_worker *worker, tern_hashtable *table,
    int (*visit)(const void *key, const void *value, void *argument), void *argument);

/* Does what tern_hashtable_for_each does, for the keys of all ranks. Not collective: any ranks may
 * call it, one or several at a time, while the owners make progress. Parts that load and store do
 * not reach are got in large pieces. TERN_ERR_PEER: an owner that is needed has died. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_for_each_anywhere(
    tern_worker *worker, tern_hashtable *table,
    int (*visit)(const void *key, const void *value, void *argument), void *argument);

/* Counts the keys of the whole table. Collective, ends phases as tern_barrier does; blocks. [out]
 * count: the same on every rank. TERN_ERR_PEER; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_size(tern_worker *worker, tern_hashtable *table,
                                                        uint64_t *count);

/* Removes all keys from the table. Collective, ends phases as tern_barrier does; blocks. A part
 * that has grown goes back to its first size; its memory is given back when all ranks have left it.
 * TERN_ERR_PEER; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_clear(tern_worker *worker,
                                                         tern_hashtable *table);

/* Counts the keys of this rank's part. [out] count. Local; exact while nobody changes the table. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_local_size(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              uint64_t *count);

/* Returns the rank that owns key, by key_owner if that was given; UINT32_MAX if table or key is
 * NULL. Local. */
TERN_API uint32_t tern_hashtable_owner(const tern_hashtable *table, const void *key);

/* Explains which path this worker's operations by TERN_AUTO on the part of a rank take, and why.
 * The text is for people and may change between versions. Its first line has the rank, where it is
 * and the measured costs of the components of operations on it, in ns. Then each kind of operation
 * has a line: its name, the chosen path, and the costs that the model predicts for both, in ns.
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

/* Stores count values under count keys, whether these are there or not. Keys lie one after the
 * other, each of key_bytes, and so do values, which may be NULL if value_bytes is 0. By call some
 * hundred keys of an owner go in one message, and results come back in one or two messages; by RMA
 * gets and atomics of several keys are under way at once, and where load/store reaches the table,
 * the buckets of the next keys are prefetched. [out] done (may be NULL; set whatever the status,
 * once the arguments have been checked): the number of keys that are known to be stored.
 * TERN_ERR_UNSUPPORTED: the table has counters, is call_only and flags have TERN_BY_RMA, or key and
 * value are too large for a call. TERN_ERR_ARGUMENT: also if count is too large for any memory.
 * TERN_ERR_PEER: an owner, or the rank that writes a bucket, has died; values that come after that
 * key may be lost. TERN_ERR_AGAIN: by call, and the program holds all TERN_CALL_REQUESTS; some
 * values may have been stored. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_many(tern_worker *worker,
                                                               tern_hashtable *table,
                                                               const void *keys, const void *values,
                                                               size_t count, tern_flags flags,
                                                               size_t *done);

/* Looks count keys up. [out] values: value_bytes each, or a uint64_t counter, in the order of the
 * keys; values of absent keys stay as they are. [out] found (may be NULL): 1 or 0 for each key.
 * [out] done (may be NULL): how many of the keys are there. keys may not overlap the outputs. After
 * an error the content of values and found is undefined. By call a value has to fit TERN_RING_SIZE
 * / 2 with 640 bytes to spare (TERN_ERR_UNSUPPORTED), but may be larger than TERN_RESULT_MAX. Other
 * errors are those of tern_hashtable_insert_many. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find_many(tern_worker *worker,
                                                             tern_hashtable *table,
                                                             const void *keys, size_t count,
                                                             tern_flags flags, void *values,
                                                             unsigned char *found, size_t *done);

/* A buffer of one worker for one table (tern/container.h). Its members are tern's own. Keys of the
 * caller's own part are gathered too, and handled in place. A buffer uses up to 16 of the worker's
 * TERN_CALL_REQUESTS. */
typedef struct tern_hashtable_buffer tern_hashtable_buffer;

/* The most keys that are gathered for one owner. */
#define TERN_HASHTABLE_BUFFER_KEYS 512u

/* Creates a buffer. keys: how many keys it gathers for one owner before it sends them, 1 to
 * TERN_HASHTABLE_BUFFER_KEYS, or fewer if a message does not hold so many; 0: the most that a
 * message holds. [out] buffer: in this process's own memory, which grows with the number of owners
 * in use. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; TERN_ERR_UNSUPPORTED: key and value are too large for
 * a call. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_create(tern_worker *worker,
                                                                 tern_hashtable *table, size_t keys,
                                                                 tern_hashtable_buffer **buffer);

/* Takes a key with its value (which may be NULL if value_bytes is 0); both are copied. When the
 * keys of an owner are enough for a message the call sends it, and may then wait for the oldest
 * reply, making progress. The next flush reports keys that the owner refused or that failed. On an
 * error the buffer has not taken the key: TERN_ERR_ARGUMENT; TERN_ERR_UNSUPPORTED: the table has
 * counters; TERN_ERR_MEMORY; TERN_ERR_AGAIN: the program holds all TERN_CALL_REQUESTS;
 * TERN_ERR_PEER and others: an earlier message failed, which the next flush reports too;
 * TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_insert(tern_worker *worker,
                                                                 tern_hashtable_buffer *buffer,
                                                                 const void *key,
                                                                 const void *value);

/* Takes a key with a number to add to its counter; both are copied. TERN_ERR_UNSUPPORTED: the table
 * has values. Otherwise as tern_hashtable_buffer_insert. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_add(tern_worker *worker,
                                                              tern_hashtable_buffer *buffer,
                                                              const void *key, uint64_t delta);

/* Sends all keys of the buffer and waits until their owners have handled them. Reports, once, what
 * became of all keys that were given since the last report. TERN_OK: they are all in the table.
 * TERN_ERR_FULL: some found no room, the others are in the table. [out] refused (may be NULL): the
 * number of keys that found no room, or 0. TERN_ERR_PEER and others: the detail says of how many
 * keys it is not known whether they are in the table; those that are not in it now will not come
 * later. TERN_ERR_STATE in a handler: nothing is done. TERN_ERR_AGAIN: the program holds all
 * TERN_CALL_REQUESTS; the buffer keeps the keys that could not be sent, and the next flush reports.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_flush(tern_worker *worker,
                                                                tern_hashtable_buffer *buffer,
                                                                uint64_t *refused);

/* Flushes the buffer, with the status and refused of tern_hashtable_buffer_flush, and frees it. It
 * does not free the buffer if the status is TERN_ERR_ARGUMENT, TERN_ERR_AGAIN or, in a handler,
 * TERN_ERR_STATE. NULL is fine. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_destroy(tern_worker *worker,
                                                                  tern_hashtable_buffer *buffer,
                                                                  uint64_t *refused);

/* The largest result of a modifier, in bytes. */
#define TERN_HASHTABLE_MODIFY_RESULT_MAX (TERN_RESULT_MAX - 8u)

/* What a modifier learns about its call, and where its result goes. Valid while it runs. */
typedef struct tern_hashtable_modify_info {
    tern_worker *worker;   /* the worker that runs it */
    tern_worker_id origin; /* the worker that has called */
    const void *key;       /* key_bytes, 8-byte aligned, like the value */
    const void *argument;  /* the caller's memory, or a copy that is 8-byte aligned */
    size_t argument_bytes;
    int existed;         /* 0: the key was not there; the value is all zeros */
    void *result;        /* memory for TERN_HASHTABLE_MODIFY_RESULT_MAX bytes, 8-byte aligned */
    size_t result_bytes; /* set by the modifier; 0 at entry */
    void *user;          /* of the modifier, as it was when the context was created */
} tern_hashtable_modify_info;

/* A modifier: changes the value, of value_bytes, in place. tern/container.h says what its status
 * means and what it may do. It runs at the key's owner, in the threads that run handlers there. */
typedef tern_status (*tern_hashtable_modify_function)(tern_hashtable_modify_info *info,
                                                      void *value);

/* A registered modifier; made by TERN_HASHTABLE_MODIFIER or TERN_HASHTABLE_MODIFIER_ANY_THREAD. */
typedef struct tern_hashtable_modifier {
    tern_hashtable_modify_function function;
    tern_function *call;
    int any_thread; /* 1: it may run in a service thread too, else 0 */
} tern_hashtable_modifier;

/* At file scope: registers a tern_hashtable_modify_function under its own name, and declares
 * name_modifier.
 */
#define TERN_HASHTABLE_MODIFIER(name) TERN_INTERNAL_HASHTABLE_MODIFIER(name, 0)

/* TERN_HASHTABLE_MODIFIER for a function that any threads may run at the same time. */
#define TERN_HASHTABLE_MODIFIER_ANY_THREAD(name) TERN_INTERNAL_HASHTABLE_MODIFIER(name, 1)

/* Not for applications: what both macros do. */
#define TERN_INTERNAL_HASHTABLE_MODIFIER(name, any_thread)                                         \
    static tern_status name##_by_call(tern_call_info *call, const void *message, size_t bytes) {   \
        return tern_internal_hashtable_run_modifier(call, message, bytes, name);                   \
    }                                                                                              \
    TERN_FUNCTION(name##_by_call)                                                                  \
    static const tern_hashtable_modifier name##_modifier = {name, &name##_by_call_function,        \
                                                            any_thread};

/* Runs modifier on the value of key, at its owner: by call, or in place if that is this rank.
 * options (tern/container.h): the modifier's argument and result, and what becomes of an absent
 * key; NULL: all zero. [out] existed (may be NULL): whether the key was there. TERN_ERR_FULL as
 * tern_hashtable_insert. TERN_ERR_RANGE: the capacity is too small (the modifier has run), or key
 * and argument do not fit a ring (the modifier has not run). TERN_ERR_UNSUPPORTED: the table has
 * counters (use tern_hashtable_compare_swap), or flags have TERN_BY_RMA. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_modify(tern_worker *worker,
                                                          tern_hashtable *table, const void *key,
                                                          const tern_hashtable_modifier *modifier,
                                                          const tern_modify_options *options,
                                                          tern_flags flags, int *existed);

/* Not for applications: the handler of the calls that TERN_HASHTABLE_MODIFIER registers. */
TERN_NODISCARD TERN_API tern_status
tern_internal_hashtable_run_modifier(tern_call_info *call, const void *message, size_t bytes,
                                     tern_hashtable_modify_function function);

/* How many requests a worker may have under way by RMA on one table; by call up to
 * TERN_CALL_REQUESTS in all. By RMA a request is a chain of gets, puts and atomics that do not
 * block, also on tables whose keys move. The owner makes all changes of an insert or an add to a
 * bucket in one step. A request that meets a full part goes on when the owner has made room during
 * its progress. If load/store reaches the key the operation is done when its start returns, and so
 * are inserts and adds if owners do not put.
 *
 * The outcome, beside TERN_OK: TERN_ERR_NOT_FOUND; TERN_ERR_FULL; TERN_ERR_PEER: the owner, or the
 * rank that is writing the bucket, has died, and an insert or an add at a dead owner may or may not
 * have been done; other errors are those of the blocking operation.
 *
 * With TERN_AUTO a request takes the path that blocking operations take, or RMA before the first
 * blocking operation: requests do not measure costs and are not timed. */
#define TERN_HASHTABLE_REQUESTS 64u

/* Starts tern_hashtable_find. The other starts below have the same rules. Key, flags and errors are
 * those of the blocking operations. key is copied. A value to insert must not change until the
 * request is complete; memory for a found value belongs to tern until then, and is written if the
 * key is there. TERN_ERR_AGAIN: the worker has as many requests under way as it may have: wait for
 * one. Also, in a handler: another rank is writing the bucket. In a handler only operations that
 * load/store reaches may be started by RMA; all others return TERN_ERR_STATE. TERN_ERR_MEMORY:
 * there is no memory for the worker's requests on this table, which its first one allocates for
 * all. If the status is not TERN_OK nothing was started, and the request is as it was. tern_wait
 * tells that the key is absent or the table full. A start may wait for a ring or a message buffer,
 * making progress. It waits for the outcome only if the operation is done at once. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find_start(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              const void *key, tern_flags flags,
                                                              void *value, tern_request *request);

/* Starts tern_hashtable_insert, as tern_hashtable_find_start says. tern_request_result is 1 if the
 * key was there, else 0. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_start(tern_worker *worker,
                                                                tern_hashtable *table,
                                                                const void *key, const void *value,
                                                                tern_flags flags,
                                                                tern_request *request);

/* Starts tern_hashtable_insert_new. tern_request_result is 1 if the key was there, else 0. */
TERN_NODISCARD TERN_API tern_status
tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                const void *value, tern_flags flags, tern_request *request);

/* Starts tern_hashtable_add. tern_request_result is the counter before. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_add_start(tern_worker *worker,
                                                             tern_hashtable *table, const void *key,
                                                             uint64_t delta, tern_flags flags,
                                                             tern_request *request);

/* What a file says about the table in it. */
typedef struct tern_hashtable_file {
    size_t key_bytes, value_bytes;
    int counter;
    uint64_t keys;
    size_t note_bytes;
    unsigned char note[TERN_NOTE_MAX + 1]; /* zeros follow the note, so a text ends with a zero */
} tern_hashtable_file;

/* Saves the table to a file. Collective over the ranks, one worker of each; blocks. Nobody may
 * change the table meanwhile. note, note_bytes: the application's note, the same on every rank;
 * pass NULL and 0 to write the file without a note. The file is written under another name beside
 * path, synced, and renamed when it is complete: an older file at path stays as it was until then.
 * Only a regular file is replaced. The new one gets its mode and its owner; other hard links to it
 * keep the old content. If path is a symbolic link to a regular file, the link stays and the file
 * it leads to is replaced. If one rank has an error all ranks get an error, and the new file is
 * removed. Each rank needs memory for one section of the file (256 KiB at most). TERN_ERR_ARGUMENT:
 * also a note of more than TERN_NOTE_MAX bytes, and a path to something that is not a regular file,
 * such as a folder, a device or a link that leads nowhere; TERN_ERR_MISMATCH: the paths or the
 * notes differ; TERN_ERR_SYSTEM, and for a folder that is not there TERN_ERR_NOT_FOUND: the file
 * cannot be written (no permission, disk full, larger than RLIMIT_FSIZE), or its owner cannot be
 * kept; TERN_ERR_PEER: a rank has died, and path leads to the old file or to the whole new one. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_save(tern_worker *worker, tern_hashtable *table,
                                                        const char *path, const void *note,
                                                        size_t note_bytes);

/* Creates a table from a file. Collective over the ranks, one worker of each, to which calls to the
 * rank's part go then; blocks. [out] table: a new table with the keys of the file; the caller
 * destroys it with tern_hashtable_destroy. options (may be NULL): call_only, grow, key_hash,
 * key_equal and key_owner are used, since the file does not hold them; capacity is raised to the
 * number of keys in the file; key_bytes, value_bytes and counter must be 0 or equal those of the
 * file. [out] file (may be NULL): the description of the table in the file that was loaded.
 * TERN_ERR_ARGUMENT: also if the file is damaged, not a file of tern, not a regular file, or holds
 * a map (tern/map.h); TERN_ERR_NOT_FOUND: no such file; TERN_ERR_UNSUPPORTED: the file has another
 * version of the format or another byte order; TERN_ERR_SYSTEM: it cannot be read; and the errors
 * of tern_hashtable_create. After an error there is no table; after TERN_ERR_PEER other ranks may
 * have one, as after tern_hashtable_create. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_load(tern_worker *worker, const char *path,
                                                        const tern_hashtable_options *options,
                                                        tern_hashtable_file *file,
                                                        tern_hashtable **table);

/* Reads the description of the table in a file, but not the table. So a program can choose
 * tern_config.segment_size by the number of keys before it creates its context, and look at the
 * note before it takes time to load. Local; needs no context and no MPI; any thread, handlers too.
 * Checks the header and the file's size, not the keys. Another program may replace the file before
 * it is loaded: compare with the description that tern_hashtable_load returns. [out] file.
 * TERN_ERR_ARGUMENT, TERN_ERR_NOT_FOUND, TERN_ERR_UNSUPPORTED: as tern_hashtable_load;
 * TERN_ERR_SYSTEM: it cannot be read. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_file_read(const char *path,
                                                             tern_hashtable_file *file);

#ifdef __cplusplus
}
#endif

#endif
