#ifndef TERN_HASHTABLE_MODIFY_H
#define TERN_HASHTABLE_MODIFY_H

/*
 * Read-modify-write on a hash table's values: the owner of a key runs a function of the application
 * on its value. Atomic: no other operation on the key, by RMA or by call, comes in between, and no
 * find sees the value half changed.
 */

#include "tern/call.h"
#include "tern/hashtable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest result of a modifier, in bytes. */
#define TERN_MODIFY_RESULT_MAX (TERN_RESULT_MAX - 8u)

/* What a modifier may ask, valid while it runs. */
typedef struct tern_modify_info {
    tern_worker *worker;   /* the worker that runs it */
    tern_worker_id origin; /* who called */
    const void *key;       /* key_bytes, 8-byte aligned, like the value */
    const void *argument;  /* the caller's, or a copy of it that is 8-byte aligned */
    size_t argument_bytes;
    int existed;         /* 0: the key was not there; the value is all zeros */
    void *result;        /* room of TERN_MODIFY_RESULT_MAX bytes, 8-byte aligned */
    size_t result_bytes; /* set by the modifier; 0 at entry */
    void *user;          /* of the modifier, as it was when the context was created */
} tern_modify_info;

/* Changes value, value_bytes of it, in place. TERN_OK: the value is stored, and the key is there if
 * it was not. Anything else: nothing is changed, and it is the status of tern_hashtable_modify; by
 * call TERN_ERR_AGAIN has it run again later. A modifier may run more than once for one change, as
 * those of maps do, so it must have no effect but on its value and its result. It runs where
 * handlers run and may neither wait nor use the table. */
typedef tern_status (*tern_modify_function)(tern_modify_info *info, void *value);

/* A registered modifier; made by TERN_MODIFIER or TERN_MODIFIER_ANY_THREAD. */
typedef struct tern_modifier {
    tern_modify_function function;
    tern_function *call;
    int any_thread; /* 1: it may run in a service thread too, else 0 */
} tern_modifier;

/* At file scope: registers a tern_modify_function under its own name, with the rules of
 * TERN_FUNCTION, and declares name_modifier, whose address tern_hashtable_modify takes. The program
 * may store a pointer in name_modifier.call->user before it creates the context. */
#define TERN_MODIFIER(name) TERN_MODIFIER_REGISTER(name, 0)

/* The same for a function that any threads may run at the same time. It runs in a service thread of
 * the owner where there are some (TERN_SERVICE_THREADS), so also while the owner's application
 * computes or waits in MPI. */
#define TERN_MODIFIER_ANY_THREAD(name) TERN_MODIFIER_REGISTER(name, 1)

/* Not for applications: what both do. */
#define TERN_MODIFIER_REGISTER(name, any_thread)                                                   \
    static tern_status name##_by_call(tern_call_info *call, const void *message, size_t bytes) {   \
        return tern_hashtable_run_modifier(call, message, bytes, name);                            \
    }                                                                                              \
    TERN_FUNCTION(name##_by_call)                                                                  \
    static const tern_modifier name##_modifier = {name, &name##_by_call_function, any_thread};

/* What becomes of a key that is not there. */
typedef enum tern_absent {
    TERN_ABSENT_FAIL,  /* TERN_ERR_NOT_FOUND */
    TERN_ABSENT_INSERT /* it is inserted, with what the modifier makes of zeros */
} tern_absent;

/* Runs modifier on the value of key, at its owner: by call, or in place if that is this rank.
 * argument: bytes that it gets (NULL if bytes is 0). [out] result: up to capacity bytes of what it
 * gave; [out] result_bytes (may be NULL): how many those were; [out] existed (may be NULL): whether
 * the key was there. TERN_ERR_FULL as tern_hashtable_insert. TERN_ERR_RANGE: capacity is too small
 * (the modifier has run), or key and argument do not fit a ring (it has not). TERN_ERR_UNSUPPORTED:
 * the table has counters: see tern_hashtable_compare_swap; or flags have TERN_BY_RMA. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_modify(
    tern_worker *worker, tern_hashtable *table, const void *key, const tern_modifier *modifier,
    const void *argument, size_t bytes, tern_absent absent, tern_flags flags, void *result,
    size_t capacity, size_t *result_bytes, int *existed);

/* Not for applications: what TERN_MODIFIER registers. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_run_modifier(tern_call_info *call,
                                                                const void *message, size_t bytes,
                                                                tern_modify_function function);

#ifdef __cplusplus
}
#endif

#endif
