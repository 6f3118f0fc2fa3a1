#ifndef TERN_MAP_MODIFY_H
#define TERN_MAP_MODIFY_H

/*
 * Read-modify-write on a map's values: a function of the application changes the value of a key,
 * and its size, too. Atomic: no other operation on the key, by RMA or by call, comes in between,
 * and no find sees the value half changed.
 *
 * No lock is held while the function runs. It works on a copy of the value, and the copy takes the
 * value's place only if the key still has that value. If another operation has changed the key
 * meanwhile, the function runs again, on the new value. Each repetition means that another
 * operation has succeeded. So a modifier must have no effect but on its value and its result.
 *
 *     by RMA    the caller runs the modifier: a find and an insert of a key that is there
 *               (tern/map.h); for a new key a find and an insert_new
 *     by call   the owner runs the modifier: one round trip. Where the owner does not reach the
 *               value's block by load and store, or key and argument do not fit a ring, the caller
 *               runs it: a find and an insert by call more
 */

#include "tern/call.h"
#include "tern/hashtable_modify.h"
#include "tern/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest result of a modifier, in bytes. */
#define TERN_MAP_MODIFY_RESULT_MAX (TERN_RESULT_MAX - 24u)

/* What a modifier may ask and change, valid while it runs. */
typedef struct tern_map_modify_info {
    tern_worker *worker;   /* the worker that runs it */
    tern_worker_id origin; /* who modifies */
    const void *key;       /* key_bytes; its alignment is that of the caller's key, or 8 bytes */
    size_t key_bytes;
    void *value;          /* a copy of the value, 8-byte aligned, which the modifier changes */
    size_t value_bytes;   /* 0 if the key is not there; tern_map_resize changes it */
    const void *argument; /* the caller's, or a copy of it that is 8-byte aligned */
    size_t argument_bytes;
    int existed;         /* whether the key is there */
    void *result;        /* room of TERN_MAP_MODIFY_RESULT_MAX bytes, 8-byte aligned */
    size_t result_bytes; /* set by the modifier; 0 at entry */
    void *user;          /* of the modifier in the process that runs it */
} tern_map_modify_info;

/* Changes info->value. TERN_OK: the copy becomes the key's value, and the key is there if it was
 * not. Anything else: nothing is changed, and it is the status of tern_map_modify; by call
 * TERN_ERR_AGAIN has it run again later. It runs where handlers run, or in the calling worker, and
 * may neither wait nor use the map. */
typedef tern_status (*tern_map_modify_function)(tern_map_modify_info *info);

/** Changes the size of the value that a modifier works on. The bytes up to the smaller size stay,
 * new ones are zeros, and info->value may be another address.
 *
 * @param info what the modifier has been given
 * @param bytes the new size, 0 to TERN_MAP_VALUE_MAX
 * @return TERN_OK; TERN_ERR_RANGE if bytes is too large; TERN_ERR_MEMORY: the value is as before
 *
 * Local, never blocks. Only modifiers call it. */
TERN_NODISCARD TERN_API tern_status tern_map_resize(tern_map_modify_info *info, size_t bytes);

/* A registered modifier; made by TERN_MAP_MODIFIER or TERN_MAP_MODIFIER_ANY_THREAD. */
typedef struct tern_map_modifier {
    tern_map_modify_function function;
    tern_function *call;
    int any_thread; /* 1: it may run in a service thread too, else 0 */
} tern_map_modifier;

/* At file scope: registers a tern_map_modify_function under its own name, with the rules of
 * TERN_FUNCTION, and declares name_modifier, whose address tern_map_modify takes. The program may
 * store a pointer in name_modifier.call->user before it creates the context. */
#define TERN_MAP_MODIFIER(name) TERN_MAP_MODIFIER_REGISTER(name, 0)

/* The same for a function that any threads may run at the same time. It runs in a service thread of
 * the owner where there are some (TERN_SERVICE_THREADS). */
#define TERN_MAP_MODIFIER_ANY_THREAD(name) TERN_MAP_MODIFIER_REGISTER(name, 1)

/* Not for applications: what both do. */
#define TERN_MAP_MODIFIER_REGISTER(name, any_thread)                                               \
    static tern_status name##_by_call(tern_call_info *call, const void *message, size_t bytes) {   \
        return tern_map_run_modifier(call, message, bytes, name);                                  \
    }                                                                                              \
    TERN_FUNCTION(name##_by_call)                                                                  \
    static const tern_map_modifier name##_modifier = {name, &name##_by_call_function, any_thread};

/** Runs a modifier on the value of a key.
 *
 * @param worker the calling worker
 * @param map the map
 * @param key key_bytes bytes; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param modifier the modifier
 * @param argument bytes bytes that the modifier gets; may be NULL if bytes is 0
 * @param bytes size of the argument
 * @param absent TERN_ABSENT_FAIL: a key that is not there is TERN_ERR_NOT_FOUND;
 *     TERN_ABSENT_INSERT: the modifier begins with a value of 0 bytes, and the key is inserted
 * @param flags a promise and a way, or 0. TERN_AUTO goes by RMA where load/store reaches the key's
 *     part of the map, otherwise by call
 * @param[out] result room for capacity bytes; may be NULL if capacity is 0
 * @param capacity bytes
 * @param[out] result_bytes size of the modifier's result; may be NULL
 * @param[out] existed 1 if the key was there, else 0; may be NULL
 * @return TERN_OK; what the modifier returned; TERN_ERR_NOT_FOUND; TERN_ERR_RANGE if the result
 *     does not fit capacity, and then the value has been modified, or if the modifier gave a result
 *     of more than TERN_MAP_MODIFY_RESULT_MAX bytes, and then it has not; otherwise the statuses of
 *     tern_map_find and tern_map_insert
 *
 * Blocking: as tern_map_insert. */
TERN_NODISCARD TERN_API tern_status tern_map_modify(
    tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
    const tern_map_modifier *modifier, const void *argument, size_t bytes, tern_absent absent,
    tern_flags flags, void *result, size_t capacity, size_t *result_bytes, int *existed);

/* Not for applications: what TERN_MAP_MODIFIER registers. */
TERN_NODISCARD TERN_API tern_status tern_map_run_modifier(tern_call_info *call, const void *message,
                                                          size_t bytes,
                                                          tern_map_modify_function function);

#ifdef __cplusplus
}
#endif

#endif
