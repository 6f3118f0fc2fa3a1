#ifndef TERN_HASHTABLE_H
#define TERN_HASHTABLE_H

/*
 * Distributed hash table (BCL, paper 003). Keys and values are bytes of sizes fixed at
 * creation. A key belongs to one rank, by its hash; there open addressing places it. Every
 * operation can be done by RMA or by a call, on the same table at the same time, and takes a
 * promise of what else may run meanwhile, which decides what it costs. tern/container.h says what
 * tables share with other containers: flags, batches, buffers, requests, modifiers and files.
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

#include "tern/call.h"
#include "tern/container.h"
#include "tern/context.h"
#include "tern/request.h"

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

/* Stores count values under count keys, whether these are there or not. Keys lie one after the
 * other, each of key_bytes, and so do values, which may be NULL where value_bytes is 0. By call
 * some hundred keys of an owner are one message, and results come back in one or two; by RMA gets
 * and atomics of several keys are under way at once, and where load/store reaches the table, the
 * buckets of keys ahead are prefetched. [out] done (may be NULL; set whatever the status, once the
 * arguments have been checked): keys that are known to be stored. TERN_ERR_UNSUPPORTED: the table
 * has counters, is call_only and flags have TERN_BY_RMA, or key and value are too large for a call.
 * TERN_ERR_ARGUMENT: too many keys for the memory there is, too. TERN_ERR_PEER: an owner, or the
 * rank that writes a bucket, has died; what was to be stored behind that key may be lost.
 * TERN_ERR_AGAIN: by call, and the program holds all TERN_CALL_REQUESTS; some may have been stored.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_many(tern_worker *worker,
                                                               tern_hashtable *table,
                                                               const void *keys, const void *values,
                                                               size_t count, tern_flags flags,
                                                               size_t *done);

/* Looks count keys up. [out] values: value_bytes each, or a uint64_t counter, at the place of its
 * key; those of absent keys stay as they are. [out] found (may be NULL): 1 or 0 for each key. [out]
 * done (may be NULL): how many are there. keys may not overlap what is written. On an error what
 * is written to values and found is not defined. By call a value has to fit TERN_RING_SIZE / 2 with
 * 640 bytes to spare, TERN_ERR_UNSUPPORTED, but may be larger than TERN_RESULT_MAX. Other errors
 * are those of tern_hashtable_insert_many. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find_many(tern_worker *worker,
                                                             tern_hashtable *table,
                                                             const void *keys, size_t count,
                                                             tern_flags flags, void *values,
                                                             unsigned char *found, size_t *done);

/* A buffer of one worker for one table (tern/container.h). Its members are tern's own. Keys of the
 * caller's own part are gathered too and done in place. It uses up to 16 of the worker's
 * TERN_CALL_REQUESTS. */
typedef struct tern_hashtable_buffer tern_hashtable_buffer;

/* The most keys that are gathered for one owner. */
#define TERN_HASHTABLE_BUFFER_KEYS 512u

/* keys: gathered for one owner before they are sent, 1 to TERN_HASHTABLE_BUFFER_KEYS, or less if no
 * message takes so many; 0: as many as can be. [out] buffer: in this process's own memory, which
 * grows with the owners that are used. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; TERN_ERR_UNSUPPORTED:
 * key and value are too large for a call. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_create(tern_worker *worker,
                                                                 tern_hashtable *table, size_t keys,
                                                                 tern_hashtable_buffer **buffer);

/* Takes a key with its value (which may be NULL where value_bytes is 0), or with what is to be
 * added to its counter; both are copied. Sends what is full, and then may wait for the oldest
 * reply, with progress. What is refused or fails there is told by the next flush. On an error the
 * key has not been taken: TERN_ERR_ARGUMENT; TERN_ERR_UNSUPPORTED: the table has counters, has
 * values; TERN_ERR_MEMORY; TERN_ERR_AGAIN: the program holds all TERN_CALL_REQUESTS; TERN_ERR_PEER
 * and others: of what was sent before, which the next flush tells of too; TERN_ERR_STATE in a
 * handler.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_insert(tern_worker *worker,
                                                                 tern_hashtable_buffer *buffer,
                                                                 const void *key,
                                                                 const void *value);
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_add(tern_worker *worker,
                                                              tern_hashtable_buffer *buffer,
                                                              const void *key, uint64_t delta);

/* Sends everything and waits until it has been done. Reports, once, what became of all that was
 * given since the last report. TERN_OK: it is in the table. TERN_ERR_FULL: [out] refused (may be
 * NULL; also set to 0 where nothing was): so many found no room, the others are there.
 * TERN_ERR_PEER and others: the detail says of how many it is not known whether they are there;
 * those that are not will never be. TERN_ERR_STATE in a handler: nothing is done. TERN_ERR_AGAIN:
 * the program holds all TERN_CALL_REQUESTS; what could not be sent is kept, and the report is still
 * to come. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_flush(tern_worker *worker,
                                                                tern_hashtable_buffer *buffer,
                                                                uint64_t *refused);

/* Flushes, which the status and refused tell of, and frees the buffer whatever they are, but for
 * TERN_ERR_ARGUMENT, TERN_ERR_AGAIN and TERN_ERR_STATE, in a handler. NULL is fine. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_destroy(tern_worker *worker,
                                                                  tern_hashtable_buffer *buffer,
                                                                  uint64_t *refused);

/* The largest result of a modifier, in bytes. */
#define TERN_HASHTABLE_MODIFY_RESULT_MAX (TERN_RESULT_MAX - 8u)

/* What a modifier may ask, valid while it runs. */
typedef struct tern_hashtable_modify_info {
    tern_worker *worker;   /* the worker that runs it */
    tern_worker_id origin; /* who called */
    const void *key;       /* key_bytes, 8-byte aligned, like the value */
    const void *argument;  /* the caller's, or a copy of it that is 8-byte aligned */
    size_t argument_bytes;
    int existed;         /* 0: the key was not there; the value is all zeros */
    void *result;        /* room of TERN_HASHTABLE_MODIFY_RESULT_MAX bytes, 8-byte aligned */
    size_t result_bytes; /* set by the modifier; 0 at entry */
    void *user;          /* of the modifier, as it was when the context was created */
} tern_hashtable_modify_info;

/* Changes value, value_bytes of it, in place. tern/container.h says what its status means and what
 * it may do. It runs at the key's owner, where handlers run. */
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

/* The same for a function that any threads may run at the same time. */
#define TERN_HASHTABLE_MODIFIER_ANY_THREAD(name) TERN_INTERNAL_HASHTABLE_MODIFIER(name, 1)

/* Not for applications: what both do. */
#define TERN_INTERNAL_HASHTABLE_MODIFIER(name, any_thread)                                         \
    static tern_status name##_by_call(tern_call_info *call, const void *message, size_t bytes) {   \
        return tern_internal_hashtable_run_modifier(call, message, bytes, name);                   \
    }                                                                                              \
    TERN_FUNCTION(name##_by_call)                                                                  \
    static const tern_hashtable_modifier name##_modifier = {name, &name##_by_call_function,        \
                                                            any_thread};

/* Runs modifier on the value of key, at its owner: by call, or in place if that is this rank.
 * argument: bytes that it gets (NULL if bytes is 0). [out] result: up to capacity bytes of what it
 * gave; [out] result_bytes (may be NULL): how many those were; [out] existed (may be NULL): whether
 * the key was there. TERN_ERR_FULL as tern_hashtable_insert. TERN_ERR_RANGE: capacity is too small
 * (the modifier has run), or key and argument do not fit a ring (it has not). TERN_ERR_UNSUPPORTED:
 * the table has counters: see tern_hashtable_compare_swap; or flags have TERN_BY_RMA. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_modify(
    tern_worker *worker, tern_hashtable *table, const void *key,
    const tern_hashtable_modifier *modifier, const void *argument, size_t bytes, tern_absent absent,
    tern_flags flags, void *result, size_t capacity, size_t *result_bytes, int *existed);

/* Not for applications: what TERN_HASHTABLE_MODIFIER registers. */
TERN_NODISCARD TERN_API tern_status
tern_internal_hashtable_run_modifier(tern_call_info *call, const void *message, size_t bytes,
                                     tern_hashtable_modify_function function);

/* How many requests a worker may have under way by RMA on one table; by call up to
 * TERN_CALL_REQUESTS in all. By RMA a request is a chain of gets, puts and atomics that do not
 * block, on tables whose keys move, too: the owner does in one go what an insert or an add does to
 * a bucket, and one that meets a full part goes on when the owner has made room, in its progress.
 * Where load/store reaches the key the operation is done when its start returns, and so are inserts
 * and adds where owners do not put.
 *
 * The outcome, beside TERN_OK: TERN_ERR_NOT_FOUND; TERN_ERR_FULL; TERN_ERR_PEER: the owner, or the
 * rank that is writing the bucket, has died, and an insert or an add to the dead may or may not
 * have been done; other errors as of the blocking operation.
 *
 * TERN_AUTO takes the way that blocking operations take, or RMA before the first of them:
 * requests measure nothing and are not timed. */
#define TERN_HASHTABLE_REQUESTS 64u

/* Start operations. Key, flags and errors as of the blocking ones. key is copied; a value
 * to insert has to stay as it is until the request is complete, and where a found one goes belongs
 * to tern until then (it is written if the key is there). TERN_ERR_AGAIN: as many as can be are
 * under way, wait for one; the bucket is being written, in a handler, where only what load/store
 * reaches may be started by RMA, all else is TERN_ERR_STATE. TERN_ERR_MEMORY: the first request of
 * a worker on a table allocates room for all. Whatever is not TERN_OK: nothing was started, and the
 * request is as it was. That the key is absent, or the table full, tern_wait tells. May wait for
 * a ring or a message buffer, with progress; never for the outcome, but where the operation is done
 * at once. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find_start(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              const void *key, tern_flags flags,
                                                              void *value, tern_request *request);
/* Its tern_request_result is 1 if the key was there, else 0; and so is that of the next. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_start(tern_worker *worker,
                                                                tern_hashtable *table,
                                                                const void *key, const void *value,
                                                                tern_flags flags,
                                                                tern_request *request);
TERN_NODISCARD TERN_API tern_status
tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                const void *value, tern_flags flags, tern_request *request);
/* Its result is the counter before. */
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
    unsigned char note[TERN_NOTE_MAX + 1]; /* zeros follow the note, so text ends with a zero */
} tern_hashtable_file;

/* Collective over the ranks, one worker of each; blocks. Nobody may change the table meanwhile.
 * note, note_bytes: the application's note, the same on every rank; NULL and 0 if there is none.
 * The file is written under another name beside path, synced, and renamed when it is whole: a file
 * that is there already stays as it was until then. Only a regular file is replaced. The new one
 * gets its mode and its owner; other hard links to it keep the old content. If path is a symbolic
 * link to a regular file, the link stays and the file it leads to is replaced. An error on one rank
 * is one on all: the new file is removed. Needs memory for one block (256 KiB at most) a rank.
 * TERN_ERR_ARGUMENT: also a note of more than TERN_NOTE_MAX bytes, and a path to something else,
 * such as a folder, a device or a link that leads nowhere; TERN_ERR_MISMATCH: the paths or the
 * notes differ; TERN_ERR_SYSTEM, and for a folder that is not there TERN_ERR_NOT_FOUND: the file
 * cannot be written (no permission, disk full, larger than RLIMIT_FSIZE), or its owner cannot be
 * kept; TERN_ERR_PEER: a rank has died, and path leads to the old file or to the whole new one. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_save(tern_worker *worker, tern_hashtable *table,
                                                        const char *path, const void *note,
                                                        size_t note_bytes);

/* Collective over the ranks, one worker of each, which then takes the table's calls; blocks.
 * [out] table: a new one with what the file holds, to be destroyed by tern_hashtable_destroy.
 * options (may be NULL): capacity is raised to what the file takes; call_only, grow, key_hash,
 * key_equal and key_owner count, and are not in the file; key_bytes, value_bytes and counter must
 * be 0 or what the file has. [out] file (may be NULL): what the file that was loaded says.
 * TERN_ERR_ARGUMENT: also a file that is damaged, none of tern's or not a regular file, or that
 * holds a map (tern/map.h); TERN_ERR_NOT_FOUND: no such file; TERN_ERR_UNSUPPORTED: of another
 * version of the format or another byte order; TERN_ERR_SYSTEM: it cannot be read; and as
 * tern_hashtable_create. After an error there is no table, but for TERN_ERR_PEER, after which
 * others may have one, as there. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_load(tern_worker *worker, const char *path,
                                                        const tern_hashtable_options *options,
                                                        tern_hashtable_file *file,
                                                        tern_hashtable **table);

/* Reads what a file says about its table, and not the table. So a program can choose
 * tern_config.segment_size by the number of keys before it creates its context, and look at the
 * note before it takes time to load. Local; needs no context and no MPI; any thread, handlers too.
 * Checks the header and the file's size, not the keys. Another program may replace the file before
 * it is loaded: compare with what tern_hashtable_load says. [out] file.
 * TERN_ERR_ARGUMENT, TERN_ERR_NOT_FOUND, TERN_ERR_UNSUPPORTED: as tern_hashtable_load;
 * TERN_ERR_SYSTEM: it cannot be read. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_file_read(const char *path,
                                                             tern_hashtable_file *file);

#ifdef __cplusplus
}
#endif

#endif
